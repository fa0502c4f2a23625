"""What a scene shows: nodes, bodies, joints, triggers, animations, made when somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeVar

from gltf_bullet.runtime.animation.players import Animations
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.bodies import Body
from gltf_bullet.runtime.views.joints import JointView
from gltf_bullet.runtime.views.nodes import ByNode, Nodes
from gltf_bullet.runtime.views.pictures import CameraView, Pictures
from gltf_bullet.runtime.views.triggers import TriggerView

__all__ = ["SceneViews"]

V = TypeVar("V")


class SceneViews:
    """Of one scene: many scenes are only stepped."""

    core: SceneCore
    """What runs: for tools that need more than its users see."""

    @property
    def animations(self) -> Animations:
        """The file's animations: play, pause, stop, seek, speed, loop, time of each."""
        return self.core.followers.animations

    @cached_property
    def nodes(self) -> Nodes:
        """All nodes of the file, in file order."""
        return Nodes(self.core)

    @cached_property
    def bodies(self) -> ByNode[Body]:
        """Bodies by node index or name."""
        return self._views("bodies", Body, self.core.world.plan.bodies.bodies)

    @cached_property
    def joints(self) -> ByNode[JointView]:
        """Simulated joints by node index or name."""
        return self._views("joints", JointView, self.core.joint_controls.joint_nodes)

    @cached_property
    def triggers(self) -> ByNode[TriggerView]:
        """Triggers by node index or name; the parts of a compound are in the compound."""
        return self._views("triggers", TriggerView, self.core.world.plan.triggers.nodes)

    def _views(
        self, what: str, view: Callable[[SceneCore, int], V], at: Iterable[int]
    ) -> ByNode[V]:
        return ByNode(
            what, {node: view(self.core, node) for node in at}, self.core.asset.tree.names
        )

    @cached_property
    def pictures(self) -> Pictures:
        """Pictures for films and tools; :meth:`render` takes single ones."""
        return Pictures(self.core)

    @property
    def cameras(self) -> ByNode[CameraView]:
        """Cameras of the file by node index or name."""
        return self.pictures.cameras
