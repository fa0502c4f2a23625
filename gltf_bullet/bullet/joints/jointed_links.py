"""Which engine links the jointed bodies of a scene are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations

from gltf_bullet.bullet.engine_link import EngineLink
from gltf_bullet.planning.joints.link_places import LinkPlaces

__all__ = ["JointedLinks"]


class JointedLinks:
    """Worked out for who asks: copies of a robot differ in the ids of bodies alone."""

    def __init__(self, places: LinkPlaces, body_ids: tuple[int, ...]) -> None:
        self._places = places
        self.body_ids = body_ids
        """Every multibody of the articulations."""
        self.own_shapes: frozenset[int] = frozenset()
        """Bodies that do not share their shapes."""
        self.apart: Sequence[tuple[int, Sequence[tuple[int, int]]]] = ()
        """Bodies, and pairs of links within them that the engine keeps apart by itself."""

    @cached_property
    def link_of(self) -> dict[int, EngineLink]:
        """(body id, link index) by motion node; -1 is a base."""
        return {node: self.link_at(node) for node in self._places.bodies}

    def link_at(self, node: int) -> EngineLink:
        """The same for one node: to look up few of many."""
        number, link = self._places.bodies[node]
        return self.body_ids[number], link

    def links_of(self, node: int) -> list[EngineLink]:
        """All links that carry a body's colliders."""
        further = self._places.groups.get(node, ())
        return [self.link_at(node), *((self.body_ids[number], link) for number, link in further)]

    def sharers(self) -> Iterator[int]:
        """The motion nodes of bodies that share their shapes with others."""
        if not self.own_shapes.issuperset(self.body_ids):
            for node, (body, _) in self.link_of.items():
                if body not in self.own_shapes:
                    yield node

    def pairs_within_bodies(self) -> Iterator[tuple[EngineLink, EngineLink]]:
        """Links that carry colliders of one body, and must not collide."""
        for node in self._places.groups:
            yield from combinations(self.links_of(node), 2)

    @property
    def kept_apart(self) -> Iterator[tuple[EngineLink, EngineLink]]:
        """All pairs that the engine keeps apart: a robot of 26 links has 325."""
        for body, pairs in self.apart:
            yield from (((body, link), (body, other)) for link, other in pairs)
