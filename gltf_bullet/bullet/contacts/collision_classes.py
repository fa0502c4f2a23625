"""Collision bits of a world: one per contact class, shared by all scenes in it.

The rule is the model's pure predicate; the bits only encode it. Group and mask are symmetric, so
they mean the same in Bullet's OR mode (PyBullet's default, measured) and in AND mode. Links that
collide with links of all classes keep the bits that PyBullet gives every body.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import pybullet

from gltf_bullet.bullet.contacts.pair_rules import PairRules
from gltf_bullet.bullet.session import EngineLink, EngineSession
from gltf_bullet.model import may_collide
from gltf_bullet.planning.body_plans import ContactClass, SurfaceClass

DEFAULT_GROUP, STATIC_GROUP = 1, 2
"""Groups that PyBullet gives to moving and to fixed bodies."""

FOREIGN_GROUPS = DEFAULT_GROUP | STATIC_GROUP
"""Groups in every mask: other people's bodies have one of the two, and a ray has the first
(measured: a ray hits a body only if the body's mask has the ray's group).
"""

FIRST_BIT, BIT_COUNT = 2, 29
"""Highest usable bit plus one; bit 31 overflows PyBullet's signed argument (measured)."""

_NO_BODY = -1
"""Body id that PyBullet never assigns."""

ANYTHING = ContactClass()

NEEDS_NONE = 0
"""Value of :attr:`_Registered.bit` for a class that collides with all others."""


class LinkKind(NamedTuple):
    """Collision rule of links with colliders."""

    contact_class: ContactClass
    is_fixed: bool
    """True for static and kinematic links."""
    only_against: SurfaceClass | None = None
    """Surface class of the only partner of a pair-specific surface; ``None`` for main links."""

    @property
    def has_default_bits(self) -> bool:
        """True if such links keep the bits that PyBullet gives every body."""
        return self.contact_class == ANYTHING and self.only_against is None


class ClassedLinks(Protocol):
    """The links of one scene; ``kind_of`` is built on first use, which most copies never need."""

    @property
    def kind_of(self) -> Mapping[EngineLink, LinkKind]:
        """Collision rule of each link."""
        ...


@dataclass(slots=True, eq=False)
class _Registered:
    bit: int | None
    """Collision bit; :data:`NEEDS_NONE`, or ``None`` if no bit was left and pair rules do it
    instead.
    """
    scenes: set[ClassedLinks] = field(default_factory=set)
    """Scenes with links of the class."""


class CollisionClasses:
    """The contact classes of one session."""

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        self._classes: dict[ContactClass, _Registered] = {}
        self._apart: dict[frozenset[SurfaceClass], int] = {}
        self._scene_of: dict[int, ClassedLinks] = {}
        """Scene of each body id, in the order in which scenes were added."""

    def add(
        self,
        scene: ClassedLinks,
        body_ids: Sequence[int],
        kinds: Sequence[LinkKind],
        apart: frozenset[frozenset[SurfaceClass]],
        pair_rules: PairRules,
    ) -> int:
        """Set group and mask of new links, and of older ones that must know new classes.

        Args:
            scene: The new links.
            body_ids: All bodies of the scene.
            kinds: The distinct kinds of its links: the same objects.
            apart: Pairs of surface classes whose main links must not collide.
            pair_rules: Pair rules of the scene, for classes without a bit.

        Returns:
            The number of classes that got no bit.
        """
        for pair in apart:
            self._apart[pair] = self._apart.get(pair, 0) + 1
        known = [self._classes.get(kind.contact_class) for kind in kinds]
        fresh: set[ContactClass] = set()
        if None in known:
            fresh = self._register({kind.contact_class for kind in kinds} - {ANYTHING})
            known = [self._classes.get(kind.contact_class) for kind in kinds]
        self._scene_of.update(dict.fromkeys(body_ids, scene))
        bits = {}
        for kind, found in zip(kinds, known, strict=True):
            if found is not None:
                found.scenes.add(scene)
            # New bodies have the bits of ``ANYTHING`` already.
            if not ((found is not None and found.bit == NEEDS_NONE) or kind.has_default_bits):
                bits[id(kind)] = self.bits_of(kind)  # equal kinds are one object; hashing is slow
        if bits:
            for link, kind in scene.kind_of.items():
                if id(kind) in bits:
                    self._write(link, bits[id(kind)])
        if not fresh:
            return 0
        self._refresh(scene)
        crowded = {c for c in fresh if self._classes[c].bit is None}
        if crowded:
            self._forbid(scene.kind_of, pair_rules)
        return len(crowded)

    def _register(self, classes: set[ContactClass]) -> set[ContactClass]:
        """Register new classes; return the classes, also older ones, that have got a bit."""
        fresh = classes - set(self._classes)
        in_order = sorted(fresh, key=repr) if len(fresh) > 1 else fresh  # repr is slow
        for contact_class in in_order:
            self._classes[contact_class] = _Registered(NEEDS_NONE)
        return self._give_bits() if fresh else fresh

    def discard(
        self,
        scene: ClassedLinks,
        body_ids: Iterable[int],
        kinds: Iterable[LinkKind],
        apart: frozenset[frozenset[SurfaceClass]],
    ) -> None:
        """Remove the links of a scene; classes without links free their bits."""
        for body_id in body_ids:
            if self._scene_of.get(body_id) is scene:
                del self._scene_of[body_id]
        for contact_class in {kind.contact_class for kind in kinds}:
            registered = self._classes.get(contact_class)
            if registered is None:
                continue
            registered.scenes.discard(scene)
            if not registered.scenes:
                del self._classes[contact_class]
        for pair in apart:
            self._apart[pair] -= 1
            if not self._apart[pair]:
                del self._apart[pair]

    def _give_bits(self) -> set[ContactClass]:
        """Give bits to classes that do not collide any more with some class or themselves.

        Returns:
            The classes whose bit, or lack of one, is new.
        """
        given = set()
        for contact_class, registered in self._classes.items():
            if registered.bit == NEEDS_NONE and (
                contact_class.surface is not None
                or not all(self._meet(contact_class, other) for other in self._classes)
            ):
                registered.bit = self._free_bit()
                given.add(contact_class)
        return given

    def _free_bit(self) -> int | None:
        taken = {registered.bit for registered in self._classes.values()}
        free = (1 << k for k in range(FIRST_BIT, FIRST_BIT + BIT_COUNT))
        return next((bit for bit in free if bit not in taken), None)

    def _meet(self, one: ContactClass, other: ContactClass) -> bool:
        """Return True if main links of two classes collide."""
        # A pair of one class with itself is a set of one.
        surfaces = one.surface, other.surface
        if all(surfaces) and frozenset(surfaces) in self._apart:
            return False
        return may_collide(one.filter, other.filter)

    def bits_of(self, kind: LinkKind) -> tuple[int, int]:
        """Return group and mask of links of a kind."""
        if kind.only_against is not None:
            # Group 0: only its own mask can make it collide (OR mode), so foreign bodies and rays
            # pass through the pair-specific surface.
            mask = 0
            for other, registered in self._classes.items():
                if (
                    registered.bit
                    and other.surface == kind.only_against
                    and may_collide(kind.contact_class.filter, other.filter)
                ):
                    mask |= registered.bit
            return 0, mask
        registered_self = self._classes.get(kind.contact_class)
        if registered_self is None or not registered_self.bit:
            # PyBullet's default: fixed bodies do not collide with fixed ones.
            return (STATIC_GROUP, ~STATIC_GROUP) if kind.is_fixed else (DEFAULT_GROUP, -1)
        mask = FOREIGN_GROUPS
        for other, registered in self._classes.items():
            if registered.bit and self._meet(kind.contact_class, other):
                mask |= registered.bit
        return registered_self.bit, mask

    def mask_of(self, kind: LinkKind) -> int:
        """Return the groups that links of a kind collide with."""
        return self.bits_of(kind)[1]

    def meet(self, one: LinkKind, other: LinkKind) -> bool:
        """Return True if links of two kinds collide."""
        (group, mask), (other_group, other_mask) = self.bits_of(one), self.bits_of(other)
        return bool(group & other_mask or other_group & mask)

    def kind_at(self, link: EngineLink) -> LinkKind | None:
        """Return the collision rule of a link of any scene; ``None`` if it collides with all."""
        scene = self._scene_of.get(link[0])
        kind = None if scene is None else scene.kind_of.get(link)
        return kind if kind is not None and kind.contact_class in self._classes else None

    def write(self, link: EngineLink, kind: LinkKind) -> None:
        """Set group and mask of a link; the same ones again renew its cached contacts."""
        self._write(link, self.bits_of(kind))

    def renew(self, body_id: int) -> None:
        """Renew the cached contacts of all links of a body without changing its bits.

        The user may have changed those, which PyBullet cannot report. A pair rule renews the
        contacts of both bodies (measured); this one is for a pair without a second body.
        """
        pybullet.setCollisionFilterPair(
            body_id, _NO_BODY, -1, -1, enableCollision=1, physicsClientId=self._client_id
        )

    def _write(self, link: EngineLink, bits: tuple[int, int]) -> None:
        pybullet.setCollisionFilterGroupMask(*link, *bits, physicsClientId=self._client_id)

    def _refresh(self, done: ClassedLinks) -> None:
        """Write the bits of older scenes' links again, with the bits of new classes."""
        for scene in dict.fromkeys(self._scene_of.values()):
            for link, kind in () if scene is done else scene.kind_of.items():
                if kind.contact_class in self._classes:
                    self.write(link, kind)

    def _forbid(self, links: Mapping[EngineLink, LinkKind], pair_rules: PairRules) -> None:
        """Write pair rules for classes without a bit, within one scene."""
        crowded = [
            (link, kind)
            for link, kind in links.items()
            if kind.contact_class != ANYTHING and self._classes[kind.contact_class].bit is None
        ]
        pair_rules.forbid(
            (link, other)
            for link, kind in crowded
            for other, others in links.items()
            if link[0] != other[0]
            and not (kind.is_fixed and others.is_fixed)
            and not self._meet(kind.contact_class, others.contact_class)
        )


def collision_classes(session: EngineSession) -> CollisionClasses:
    """Create the classes of a world; for ``session.shared``."""
    return CollisionClasses(session.client_id)
