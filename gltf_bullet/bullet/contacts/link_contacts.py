"""Collision classes, friction, restitution and slip of all links of one scene."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pybullet

from gltf_bullet.bullet.contacts.collision_classes import LinkKind, collision_classes
from gltf_bullet.bullet.contacts.pair_rules import PairRules
from gltf_bullet.bullet.contacts.restitution_tuning import (
    MULTIBODY,
    RestitutionTuning,
    surface_values,
)
from gltf_bullet.bullet.contacts.slip_friction import SlipFriction, SlipState
from gltf_bullet.bullet.exchange.native_calls import engine_row
from gltf_bullet.bullet.session import EngineLink, EngineSession, EngineSettings, SolidLink
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.planning.body_plans import (
    ENGINE_FRICTION,
    BodyPlan,
    ColliderGroup,
    StaticPlan,
    SurfaceClass,
)
from gltf_bullet.planning.contacts.surfaces import ContactPlan
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.planning.shapes.shape_plans import BoxPlan, SpherePlan
from gltf_bullet.transforms import FloatArray

_FOUND_ANEW = frozenset({BoxPlan, SpherePlan})
"""Shapes for which the engine computes all contact points among each other in each step; those of
others it adds one by one and keeps (measured). Spheres have one point with anything.
"""

_NO_SLIPS = SlipState({}, {}, {}, frozenset())
_NO_TABLE: FloatArray = np.zeros(0)


_LINK_KINDS: MemoKey[_Found] = MemoKey("how links meet")


class LinkContacts:
    """Groups, masks, friction and restitution of all solid links of one scene."""

    def __init__(
        self,
        session: EngineSession,
        contacts: ContactPlan,
        links: Sequence[SolidLink],
        body_ids: Sequence[int],
        with_friction: Container[int],
        pair_rules: PairRules,
        memo: PlanMemo,
        *,
        slip_friction: bool,
    ) -> None:
        """Write all contact properties into the engine.

        Args:
            session: The world, whose scenes share the collision classes.
            contacts: The pairs of surfaces.
            links: All links with colliders; built on first use, which most copies never need.
            body_ids: All bodies of the scene.
            with_friction: Ids of bodies that were created with their friction.
            pair_rules: Pair rules of the scene, for pairs without a collision bit.
            memo: Values that are the same for all copies of the plan.
            slip_friction: True if friction follows slip.
        """
        self._session = session
        self._client_id = session.client_id
        self._has_slip_friction = slip_friction
        self._pair_rules = pair_rules
        self._solid = links
        self._body_ids = body_ids
        found = memo.get(_LINK_KINDS, lambda: _found(contacts, links, with_friction))
        self._kind_of_link = found.kinds
        self._kinds = found.distinct
        self._split_pairs = found.split_pairs
        self._classes = session.shared(collision_classes)
        self.has_default_bits = found.has_default_bits
        """True if all links keep PyBullet's own bits, so that no collision class is registered."""
        if not self.has_default_bits:
            self._classes.add(self, body_ids, self._kinds, self._split_pairs, pair_rules)
        self._slip: SlipFriction | None = None
        self._apply(contacts, found.surfaces)
        if found.surfaces.bounce:  # now, for callers that never call before_step
            self.before_step(session.settings())
        self._overrule()

    @cached_property
    def kind_of(self) -> Mapping[EngineLink, LinkKind]:
        """Collision rule of each link."""
        return {link: kind for (link, _), kind in zip(self._solid, self._kind_of_link, strict=True)}

    def _overrule(self) -> None:
        """Forbid pairs that must not collide although an old pair rule for their ids allows it."""
        left = self._pair_rules.left
        for link, other in left.of(self.kind_of) if left.are_any else ():
            kind = self.kind_of.get(other) or self._classes.kind_at(other)
            if kind is None or self._classes.meet(self.kind_of[link], kind):
                continue
            if other in self.kind_of:
                self._pair_rules.forbid([(link, other)])
            else:
                left.forbid_across(self._pair_rules, link, other)

    def change(
        self, contacts: ContactPlan, links: Sequence[SolidLink], settings: EngineSettings
    ) -> None:
        """Give the same links other surfaces; ``settings``: of the engine's steps, as known."""
        self._solid = links
        unknown = [None] * len(links)
        self._apply(contacts, _surfaces(links, unknown), self._restitution)
        self.before_step(settings)
        # Cached contacts of resting hulls keep the old numbers otherwise (measured).
        self.renew()

    def _apply(
        self,
        contacts: ContactPlan,
        surfaces: _Surfaces,
        former: RestitutionTuning | None = None,
    ) -> None:
        self._restitution = RestitutionTuning(
            self._client_id, contacts, self._solid, surfaces.to_write, former
        )
        if not (surfaces.slip and self._has_slip_friction):
            self._slip = None
        elif self._slip is not None:
            self._slip.begin(contacts, self._solid)
        else:
            self._slip = SlipFriction(
                self._client_id, contacts, self._solid, self.kind_of, self._classes,
                self._keep_points,
            )  # fmt: skip
            self._slip.find_row = partial(engine_row, self._session)

    def _keep_points(self, link: EngineLink, partner: EngineLink) -> bool:
        """Return True if the engine keeps contact points of two links while they rest."""
        kinds, others = self._shapes_of[link], self._shapes_of[partner]
        if {SpherePlan} in (kinds, others):
            return False
        return not kinds | others <= _FOUND_ANEW

    @cached_property
    def _shapes_of(self) -> dict[EngineLink, frozenset[type]]:
        return {link: _shapes(part) for link, part in self._solid}

    @property
    def slips(self) -> bool:
        """True if the friction of some surface follows its slip."""
        return self._slip is not None

    def before_step(self, settings: EngineSettings) -> None:
        """Adapt restitution to the time step if that has changed."""
        self._restitution.adapt(settings.time_step / max(settings.substeps, 1))

    @property
    def slip_table(self) -> FloatArray:
        """The table by which kernels see which bodies slide; empty without any."""
        return _NO_TABLE if self._slip is None else self._slip.values

    def after_step(self, settings: EngineSettings, *, is_seen: bool) -> None:
        """Update which surfaces slide; ``is_seen``: kernels have looked."""
        if self._slip is not None:
            self._slip.after_step(settings.time_step, settings.gravity, is_seen=is_seen)

    def renew(self) -> None:
        """Make all collision pairs of the scene anew, with the present bits."""
        for body_id in self._renewable:
            self._classes.renew(body_id)

    @cached_property
    def _renewable(self) -> tuple[int, ...]:
        """All bodies but fixed ones in maximal coordinates, whose partners are renewed instead.

        Renewed themselves, they would be others to the engine, which then refuses to restore any
        earlier state (measured: ``reset`` of a scene with more than 64 fixed colliders).
        """
        bodies = dict.fromkeys(body_id for body_id, _ in self.kind_of)
        return tuple(
            body_id
            for body_id in bodies
            if pybullet.getDynamicsInfo(body_id, -1, physicsClientId=self._client_id)[10]
            == MULTIBODY
        )

    def rewrite(self, links: Iterable[EngineLink]) -> None:
        """Write the bits of links again, of a body that became fixed or movable.

        The engine gave it default bits when its mass crossed zero.
        """
        for link in links:
            if link in self.kind_of:
                self._classes.write(link, self.kind_of[link])

    def settle(self, link: EngineLink) -> None:
        """Give the link of a new fixed body the contact properties of its predecessor."""
        self._restitution.settle(link)
        if self._slip is not None:
            self._slip.settle(link)
        self._classes.write(link, self.kind_of[link])

    def renew_in_order(self) -> None:
        """Make all collision pairs of the scene anew, in one fixed order.

        The order in which contacts came about decides the order in which Bullet solves them. A
        save and every restore begin with fresh contacts in the same order, so that what follows is
        identical to the bit, in another process as well.
        """
        self.renew()
        self._session.detect_collisions()

    def state(self) -> SlipState:
        """Return the slip friction's state, which ``pybullet.saveState`` leaves out."""
        return _NO_SLIPS if self._slip is None else self._slip.state()

    def restore(self, state: SlipState) -> None:
        """Restore a :meth:`state`."""
        if self._slip is not None:
            self._slip.restore(state)

    def mask_of(self, body_id: int) -> int:
        """Return the mask for a ray that hits what the links of a body collide with."""
        mask = 0
        for kind in self._kinds_of_body.get(body_id, ()):
            mask |= self._classes.mask_of(kind)
        return mask

    @cached_property
    def _kinds_of_body(self) -> dict[int, set[LinkKind]]:
        kinds: dict[int, set[LinkKind]] = {}
        for (body_id, _), kind in self.kind_of.items():
            kinds.setdefault(body_id, set()).add(kind)
        return kinds

    def bits_of(self, link: EngineLink) -> tuple[int, int]:
        """Return group and mask of a link with colliders."""
        return self._classes.bits_of(self.kind_of[link])

    def set_pair_restitution(self, landings: Collection[tuple[EngineLink, EngineLink]]) -> None:
        """Give links that begin the coming step at a surface their full restitution against it."""
        self._restitution.set_pair_restitution(landings)

    def is_untouched(self, link: EngineLink) -> bool:
        """Return True if the engine still has the friction and restitution that we gave a link."""
        return self._restitution.is_untouched(link)

    def may_meet(self, one: EngineLink, other: EngineLink) -> bool:
        """Return True if rules and classes let two links collide; foreign links may always."""
        if self._pair_rules.forbids(one, other):
            return False
        first, second = self.kind_of.get(one), self.kind_of.get(other)
        return first is None or second is None or self._classes.meet(first, second)

    def release(self) -> None:
        """Free the collision bits."""
        self._classes.discard(self, self._body_ids, self._kinds, self._split_pairs)
        self._solid, self._kind_of_link, self._kinds = (), [], ()
        for name in ("kind_of", "_kinds_of_body", "_renewable"):
            self.__dict__.pop(name, None)


def solid_links(
    statics: Iterable[tuple[int, StaticPlan]],
    bodies: Iterable[tuple[BodyPlan, list[EngineLink]]],
) -> Iterator[SolidLink]:
    """Yield all links with colliders: static bodies by id, then the collider groups of bodies."""
    for body_id, static in statics:
        yield (body_id, -1), static
    for plan, links in bodies:
        # A body without colliders still has a link.
        yield from zip(links, plan.groups, strict=False)


class _Surfaces(NamedTuple):
    """Facts about the surfaces that are the same for all copies of a scene."""

    bounce: bool
    """True if any of them has restitution."""
    slip: bool
    """True if the friction of any of them follows its slip."""
    to_write: list[tuple[int, dict[str, float]]]
    """Numbers of the links with other than the engine's defaults, and the values to write."""


def _surfaces(links: Sequence[SolidLink], frictions: Sequence[float | None]) -> _Surfaces:
    """Collect the facts; ``frictions`` are the links' present ones, ``None`` if unknown."""
    surfaces = [part.surface for _, part in links]
    changes = map(surface_values, surfaces, frictions)
    return _Surfaces(
        any(surface.key.material.restitution > 0.0 for surface in surfaces),
        any(surface.slips for surface in surfaces),
        [(k, values) for k, values in enumerate(changes) if values],
    )


class _Found(NamedTuple):
    """Facts about the links that are the same for all copies of a scene."""

    surfaces: _Surfaces
    kinds: list[LinkKind]
    """Kind of each link; equal ones are one object."""
    distinct: tuple[LinkKind, ...]
    """The distinct kinds."""
    split_pairs: frozenset[frozenset[SurfaceClass]]
    """Pairs of surface classes of the plan that must not collide."""
    has_default_bits: bool
    """True if all links keep PyBullet's own bits, so that no collision class is registered."""


def _found(
    contacts: ContactPlan, links: Sequence[SolidLink], with_friction: Container[int]
) -> _Found:
    distinct: dict[LinkKind, LinkKind] = {}
    kinds = []
    for _, part in links:
        surface = part.surface
        kind = LinkKind(surface.contact_class, not surface.key.is_dynamic, surface.only_against)
        kinds.append(distinct.setdefault(kind, kind))
    apart = contacts.split_pairs
    has_default_bits = not apart and all(kind.has_default_bits for kind in distinct)
    frictions = [
        part.surface.friction if body_id in with_friction else ENGINE_FRICTION
        for (body_id, _), part in links
    ]
    return _Found(_surfaces(links, frictions), kinds, tuple(distinct), apart, has_default_bits)


def _shapes(part: ColliderGroup | StaticPlan) -> frozenset[type]:
    """Return the shape types of a link."""
    return frozenset(type(placed.shape) for placed in part.shapes)
