"""Which links of a scene show which meshes of its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pybullet

from gltf_bullet.bullet.engine_link import EngineLink
from gltf_bullet.rendering.visual_plans import NodeVisual, VisualMesh
from gltf_bullet.transforms import FloatArray, quats_from_matrices

__all__ = ["ShownLink", "ShownLinks", "move_links"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownLink:
    """A link that shows nodes of the file."""

    body_id: int
    link: int
    visual: NodeVisual
    owner: int | None
    """The motion node or animated node that it stands with; ``None``: it stands still."""


class ShownLinks:
    """Those of one scene; listed when somebody looks."""

    def __init__(
        self,
        visuals: Mapping[int, NodeVisual],
        link_of: Callable[[int], EngineLink],
        scenery: Sequence[ShownLink],
    ) -> None:
        """Take what exists.

        Args:
            visuals: By motion node.
            link_of: The engine link of a motion node's body.
            scenery: What no body carries.
        """
        self._visuals, self._link_of = visuals, link_of
        self.scenery = tuple(scenery)
        """What no body carries."""

    @property
    def are_any(self) -> bool:
        """Whether any link shows a mesh of the file."""
        return bool(self._visuals or self.scenery)

    @cached_property
    def all(self) -> tuple[ShownLink, ...]:
        """The scenery, and all bodies with meshes."""
        carried = []
        for node, visual in self._visuals.items():
            body, link = self._link_of(node)
            carried.append(ShownLink(body_id=body, link=link, visual=visual, owner=node))
        return (*self.scenery, *carried)

    @cached_property
    def _mesh_of(self) -> dict[EngineLink, VisualMesh]:
        return {(shown.body_id, shown.link): shown.visual.mesh for shown in self.all}

    def mesh_of(self, link: EngineLink) -> VisualMesh | None:
        """What a link of the scene shows."""
        return self._mesh_of.get(link)


def move_links(client_id: int, links: Sequence[ShownLink], matrices: FloatArray) -> None:
    """Put bodies that only show something where they belong.

    Args:
        client_id: The world.
        links: Bases of bodies.
        matrices: Rigid, in the same order, shape [k, 4, 4].
    """
    rotations = quats_from_matrices(matrices[:, :3, :3]).tolist()
    for shown, matrix, rotation in zip(links, matrices, rotations, strict=True):
        pybullet.resetBasePositionAndOrientation(
            shown.body_id, matrix[:3, 3].tolist(), rotation, physicsClientId=client_id
        )
