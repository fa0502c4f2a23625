"""The state of a scene as a value."""

from __future__ import annotations

from dataclasses import dataclass

from gltf_bullet.bullet.state import BodyStates, EngineSnapshot
from gltf_bullet.bullet.triggers.triggers import TriggerMemory
from gltf_bullet.bullet.world.restorable_world import EngineWorldState
from gltf_bullet.model import PhysicsScene
from gltf_bullet.runtime.animation.animator import AnimatorState
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SceneState:
    """The state of a scene; treat as opaque. Picklable."""

    time: float
    """Simulated time [s]."""
    physics: PhysicsScene
    """The model, changes by pointer and drive targets included."""
    engine: EngineSnapshot | BodyStates
    world: EngineWorldState
    animations: AnimatorState
    """State of the animations, with the local transforms of all nodes."""
    triggers: TriggerMemory
    frames: NodeFrames
    """Frames that the bodies were made from: bodies made of others differ in the last bits."""
    matrices: FloatArray
    """world_from_node of all nodes, shape [node_count, 4, 4]."""
    acting: object = None
    """State of the behavior graph; ``None`` without one."""


def require_own(state: object, physics: PhysicsScene, node_count: int) -> None:
    """Raise an error for a state that a scene cannot go back to, before anything changes.

    Args:
        state: The caller's value.
        physics: The model of the scene.
        node_count: Number of its nodes.

    Raises:
        TypeError: It is no state.
        ValueError: It is one of another asset.
    """
    if not isinstance(state, SceneState):
        raise TypeError(f"state is {state!r}; must be what save_state returned")
    of_state = state.physics
    if of_state is physics and len(state.matrices) == node_count:
        return
    if (
        len(state.matrices) != node_count
        or of_state.motions.keys() != physics.motions.keys()
        or of_state.joints.keys() != physics.joints.keys()
    ):
        raise ValueError("state is of another asset; its bodies and joints are at other nodes")
