"""Collision bits of a world: one per class of links, shared by all scenes in it.

The rule is the model's pure predicate; the bits only encode it. Group and mask are symmetric, so
they mean the same in Bullet's OR mode (PyBullet's default, measured) and in AND mode. Links without
filter and without extra surfaces keep the bits that PyBullet gives every body: they meet all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pybullet

from gltf_bullet.bullet.bodies.engine_link import EngineLink
from gltf_bullet.bullet.contacts.pair_rules import PairRules
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.model import may_collide
from gltf_bullet.planning.body_plans import ContactClass, SurfaceClass

__all__ = ["ClassedLink", "CollisionClasses", "collision_classes"]

DEFAULT_GROUP, STATIC_GROUP = 1, 2
"""What PyBullet gives to bodies that move and to fixed ones."""

FOREIGN_GROUPS = DEFAULT_GROUP | STATIC_GROUP
"""In every mask: other people's bodies have one of the two, and a ray has the first (measured: a
body is hit only when its mask holds the ray's group)."""

FIRST_BIT, BIT_COUNT = 2, 29
"""Bit 31 overflows PyBullet's signed argument (measured)."""

ANYTHING = ContactClass()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassedLink:
    """A link with colliders, and what it may meet."""

    link: EngineLink
    contact_class: ContactClass
    is_fixed: bool
    """Static or kinematic."""
    only_against: SurfaceClass | None = None
    """The only partner of an extra surface."""


@dataclass(slots=True, eq=False)
class _Registered:
    bit: int | None
    """``None``: no bit was left; pairs are forbidden one by one."""
    links: dict[EngineLink, ClassedLink] = field(default_factory=dict)


class CollisionClasses:
    """The classes of one life of one client's world."""

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        self._classes: dict[ContactClass, _Registered] = {}
        self._apart: dict[frozenset[SurfaceClass], int] = {}

    def add(
        self,
        links: list[ClassedLink],
        apart: frozenset[frozenset[SurfaceClass]],
        pair_rules: PairRules,
    ) -> int:
        """Set group and mask of new links, and of older ones that must know the new classes.

        Args:
            links: Of one scene.
            apart: Pairs of surface classes whose main links must not meet.
            pair_rules: Of that scene; takes the pairs for which no bit is left.

        Returns:
            How many of the classes got no bit.
        """
        for pair in apart:
            self._apart[pair] = self._apart.get(pair, 0) + 1
        fresh = {link.contact_class for link in links} - set(self._classes) - {ANYTHING}
        for contact_class in sorted(fresh, key=repr):
            self._classes[contact_class] = _Registered(self._free_bit())
        for link in links:
            if link.contact_class != ANYTHING:
                self._classes[link.contact_class].links[link.link] = link
        for link in links:
            # New bodies have the bits of ``ANYTHING`` already.
            if link.contact_class != ANYTHING or link.only_against is not None:
                self.write(link)
        self._refresh(fresh, {link.link for link in links})
        crowded = {c for c in fresh if self._classes[c].bit is None}
        if crowded:
            self._forbid(links, pair_rules)
        return len(crowded)

    def discard(self, links: list[ClassedLink], apart: frozenset[frozenset[SurfaceClass]]) -> None:
        """Forget the links of a scene that goes; classes without links free their bits."""
        for link in links:
            registered = self._classes.get(link.contact_class)
            if registered is None:
                continue
            registered.links.pop(link.link, None)
            if not registered.links:
                del self._classes[link.contact_class]
        for pair in apart:
            self._apart[pair] -= 1
            if not self._apart[pair]:
                del self._apart[pair]

    def _free_bit(self) -> int | None:
        taken = {registered.bit for registered in self._classes.values()}
        free = (1 << k for k in range(FIRST_BIT, FIRST_BIT + BIT_COUNT))
        return next((bit for bit in free if bit not in taken), None)

    def _meet(self, one: ContactClass, other: ContactClass) -> bool:
        """Whether main links of two classes collide."""
        # A pair of one class with itself is a set of one.
        surfaces = one.surface, other.surface
        if all(surfaces) and frozenset(surfaces) in self._apart:
            return False
        return may_collide(one.filter, other.filter)

    def _bits(self, link: ClassedLink) -> tuple[int, int]:
        """Group and mask of a link."""
        if link.only_against is not None:
            # Group 0: nobody can be willing to meet it but by its own mask (OR mode), so foreign
            # bodies and rays pass through the extra surface.
            mask = 0
            for other, registered in self._classes.items():
                if (
                    registered.bit
                    and other.surface == link.only_against
                    and may_collide(link.contact_class.filter, other.filter)
                ):
                    mask |= registered.bit
            return 0, mask
        registered_self = self._classes.get(link.contact_class)
        if registered_self is None or registered_self.bit is None:
            # As PyBullet does it: fixed bodies do not meet fixed ones.
            return (STATIC_GROUP, ~STATIC_GROUP) if link.is_fixed else (DEFAULT_GROUP, -1)
        mask = FOREIGN_GROUPS
        for other, registered in self._classes.items():
            if registered.bit and self._meet(link.contact_class, other):
                mask |= registered.bit
        return registered_self.bit, mask

    def mask_of(self, link: ClassedLink) -> int:
        """The groups that a link meets."""
        return self._bits(link)[1]

    def meet(self, one: ClassedLink, other: ClassedLink) -> bool:
        """Whether two links collide."""
        (group, mask), (other_group, other_mask) = self._bits(one), self._bits(other)
        return bool(group & other_mask or other_group & mask)

    def write(self, link: ClassedLink) -> None:
        """Set group and mask of a link; the same ones again renew its cached contacts."""
        group, mask = self._bits(link)
        pybullet.setCollisionFilterGroupMask(
            *link.link, group, mask, physicsClientId=self._client_id
        )

    def _refresh(self, fresh: set[ContactClass], done: set[EngineLink]) -> None:
        """Tell the links of older scenes about new classes."""
        if not fresh:
            return
        for registered in self._classes.values():
            for at, link in registered.links.items():
                if at not in done:
                    self.write(link)

    def _forbid(self, links: list[ClassedLink], pair_rules: PairRules) -> None:
        """Pair rules for classes without a bit, within one scene."""
        crowded = [
            link
            for link in links
            if link.contact_class != ANYTHING and self._classes[link.contact_class].bit is None
        ]
        pair_rules.forbid(
            (link.link, other.link)
            for link in crowded
            for other in links
            if link.link[0] != other.link[0]
            and not (link.is_fixed and other.is_fixed)
            and not self._meet(link.contact_class, other.contact_class)
        )


def collision_classes(session: EngineSession) -> CollisionClasses:
    """The classes of a world; to be asked for by ``session.shared``."""
    return CollisionClasses(session.client_id)
