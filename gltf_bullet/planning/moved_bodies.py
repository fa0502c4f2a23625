"""The bodies of a plan elsewhere in the world, each of them moved when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.transforms import Vec3

__all__ = ["MovedBodies"]


class MovedBodies(Mapping[int, BodyPlan]):
    """By motion node. A copy asks for few: its links stand where their base does."""

    def __init__(self, unmoved: Mapping[int, BodyPlan], offset: Vec3) -> None:
        self.unmoved = unmoved
        self._offset = offset
        self._moved: dict[int, BodyPlan] = {}

    def __getitem__(self, node: int) -> BodyPlan:
        found = self._moved.get(node)
        if found is None:
            plan = self.unmoved[node]
            found = self._moved[node] = plan.at(plan.world_from_body.moved(self._offset))
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self.unmoved)

    def __len__(self) -> int:
        return len(self.unmoved)

    def __contains__(self, node: object) -> bool:
        return node in self.unmoved
