"""A moment of a scene as a value."""

from __future__ import annotations

from dataclasses import dataclass

from gltf_bullet.bullet.state.body_states import BodyStates
from gltf_bullet.bullet.state.snapshots import EngineSnapshot
from gltf_bullet.bullet.triggers.triggers import TriggerMemory
from gltf_bullet.bullet.world.world_state import EngineWorldState
from gltf_bullet.later import Later
from gltf_bullet.model import PhysicsScene
from gltf_bullet.runtime.animation.animator import AnimatorState
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import FloatArray

__all__ = ["SceneState"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SceneState:
    """A moment of a scene; treat as opaque. Picklable."""

    time: float
    """Simulated [s]."""
    model: Later[PhysicsScene]
    """Of :attr:`physics`."""
    engine: EngineSnapshot | BodyStates
    world: EngineWorldState
    animations: AnimatorState
    """With the local transforms of all nodes."""
    triggers: TriggerMemory
    frames: NodeFrames
    """What the bodies were made from: only bodies made alike go on alike, to the last bit."""
    matrices: FloatArray
    """world_from_node of all nodes, shape [node_count, 4, 4]."""

    @property
    def physics(self) -> PhysicsScene:
        """The model, changes by pointer and drive targets included."""
        return self.model()
