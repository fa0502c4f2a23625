"""Views of triggers for users, with the colliders inside.

KHR_physics_rigid_bodies, "Trigger event nodes".
"""

from __future__ import annotations

from gltf_bullet.bullet.world_lock import holds_world_lock
from gltf_bullet.model import MeshShape, Shape
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.bodies import Body


@holds_world_lock("_core.session.lock")
class TriggerView:
    """One trigger of a scene."""

    __slots__ = ("_core", "node")

    def __init__(self, core: SceneCore, node: int) -> None:
        self._core = core
        self.node = node
        """Index of the trigger's node."""

    @property
    def name(self) -> str:
        """The node's name."""
        return self._core.asset.tree.names[self.node]

    @property
    def shape_kind(self) -> str:
        """``"compound"``, ``"convex"``, ``"mesh"`` or the implicit shape in lower case."""
        shape: Shape | None = self._core.model.now.triggers[self.node].shape
        if shape is None:
            return "compound"
        if isinstance(shape, MeshShape):
            return "convex" if shape.convex_hull else "mesh"
        return type(shape).__name__.lower()

    @property
    def overlapping(self) -> tuple[int, ...]:
        """Collider nodes inside at the last step, in file order; empty before the first."""
        self._core.require_alive()
        return self._core.reports.overlapping(self.node)

    @property
    def overlapping_bodies(self) -> tuple[Body, ...]:
        """The bodies of those colliders, each once, in the order of their first collider."""
        motion_node_of = self._core.world.plan.motion_node_of
        owners = (int(motion_node_of[node]) for node in self.overlapping)
        return tuple(Body(self._core, node) for node in dict.fromkeys(owners) if node >= 0)

    def __repr__(self) -> str:
        return f"TriggerView(node={self.node}, name={self.name!r}, shape={self.shape_kind!r})"
