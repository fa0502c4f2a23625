"""Which distinct surfaces a scene has, and which of them may meet."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gltf_bullet.model import (
    DEFAULT_MATERIAL,
    CollisionFilter,
    CombineMode,
    MotionKind,
    PhysicsMaterial,
    combine,
    may_collide,
)
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.body_plans import SurfaceKey
from gltf_bullet.planning.contacts.flat_landings import Shown
from gltf_bullet.planning.shapes.shape_plans import BvhPlan
from gltf_bullet.transforms import BoolArray

__all__ = [
    "SurfaceUse",
    "alone_friction",
    "alone_restitution",
    "colliders_by_use",
    "meetings",
    "surface_key",
    "surface_uses",
    "uses_on_triangles",
]

FEW_USES = 40
"""Up to which each pair is looked at: quicker than arrays, and nearly all scenes."""


@dataclass(frozen=True, slots=True)
class SurfaceUse:
    """A distinct combination of surface and filter, and the bodies that have it."""

    key: SurfaceKey
    filter: CollisionFilter | None


def surface_key(material: PhysicsMaterial, kind: MotionKind | None) -> SurfaceKey:
    """The key of a material on a body of a kind; ``None``: of a collider without motion."""
    return SurfaceKey(material=material, is_dynamic=kind is MotionKind.DYNAMIC)


def alone_friction(key: SurfaceKey) -> float:
    """What decides how a surface rubs on bodies of other scenes, and of the user.

    A pushed one keeps its own number, as Bullet's users expect beside their bodies; ground gives
    such a body of the default material what the spec combines: 1 if it has that as well, and its
    own number if it multiplies.
    """
    material = key.material
    if key.is_dynamic:
        return material.dynamic_friction
    partner = DEFAULT_MATERIAL.dynamic_friction
    modes = material.friction_combine, DEFAULT_MATERIAL.friction_combine
    return combine(material.dynamic_friction, partner, *modes) / partner


def alone_restitution(key: SurfaceKey) -> float:
    """Likewise; of ground that does not multiply the partner alone decides."""
    multiplies = key.material.restitution_combine is CombineMode.MULTIPLY
    return key.material.restitution if key.is_dynamic or multiplies else 1.0


def surface_uses(bodies: BodyPlans) -> dict[SurfaceUse, set[int]]:
    """All uses, with two at most of the bodies that have them; -1 stands for fixed colliders."""
    uses: dict[SurfaceUse, set[int]] = {}
    for plan in bodies.bodies.values():
        for group in plan.groups:
            use = SurfaceUse(surface_key(group.material, plan.kind), group.filter)
            owners = uses.setdefault(use, set())
            if len(owners) < 2:
                owners.add(plan.node)
    for static in bodies.statics:
        uses.setdefault(SurfaceUse(surface_key(static.material, None), static.filter), set()).add(
            -1
        )
    return uses


def colliders_by_use(bodies: BodyPlans) -> dict[Hashable, list[Shown]]:
    """The colliders of each use."""
    shown: dict[Hashable, list[Shown]] = {}
    for plan in bodies.bodies.values():
        for group in plan.groups:
            use = SurfaceUse(surface_key(group.material, plan.kind), group.filter)
            shapes = [placed.shape for placed in group.shapes]
            shown.setdefault(use, []).append((group.collider_nodes[0], shapes))
    for static in bodies.statics:
        use = SurfaceUse(surface_key(static.material, None), static.filter)
        shown.setdefault(use, []).append((static.node, [static.shape.shape]))
    return shown


def meetings(
    uses: Mapping[SurfaceUse, set[int]],
    alike: Callable[[SurfaceUse], Hashable] = lambda use: use.key,
) -> Iterator[tuple[SurfaceUse, SurfaceUse]]:
    """The pairs of uses that may meet; of partners that are alike to one of them perhaps only one.

    Args:
        uses: All uses and their bodies.
        alike: Partners for which it is the same make no difference to the caller. Of many filters
            there are too many pairs to look at each.
    """
    listed = list(uses.items())
    if len(listed) > FEW_USES:
        yield from _meetings_of_many(listed, alike)
        return
    for at, (use, owners) in enumerate(listed):
        for other, other_owners in listed[at:]:
            if not (use.key.is_dynamic or other.key.is_dynamic):
                continue
            if len(owners | other_owners) >= 2 and may_collide(use.filter, other.filter):
                yield use, other


def _meetings_of_many(
    listed: Sequence[tuple[SurfaceUse, set[int]]], alike: Callable[[SurfaceUse], Hashable]
) -> Iterator[tuple[SurfaceUse, SurfaceUse]]:
    """For each use the first partner of each kind, which may stand before it."""
    filters = list(dict.fromkeys(use.filter for use, _ in listed))
    number_of = {found: number for number, found in enumerate(filters)}
    filter_of = np.array([number_of[use.filter] for use, _ in listed])
    kinds: dict[Hashable, int] = {}
    kind_of = np.array([kinds.setdefault(alike(use), len(kinds)) for use, _ in listed])
    is_dynamic = np.array([use.key.is_dynamic for use, _ in listed])
    # Who belongs to one body alone does not meet it.
    only_owner = np.array([next(iter(o)) if len(o) == 1 else -2 for _, o in listed])
    meet = _filters_meet(filters)
    for number, (use, owners) in enumerate(listed):
        may = meet[filter_of[number]][filter_of]
        if not use.key.is_dynamic:
            may &= is_dynamic
        if len(owners) == 1:
            may &= only_owner != only_owner[number]
        partners = np.flatnonzero(may)
        for first in np.unique(kind_of[partners], return_index=True)[1].tolist():
            yield use, listed[int(partners[first])][0]


def _filters_meet(filters: Sequence[CollisionFilter | None]) -> BoolArray:
    """``may_collide`` of each two, shape [filter_count, filter_count].

    By the systems that filters name: as long as the lists of the file are, not their square.
    """
    members: dict[str, list[int]] = {}
    for number, found in enumerate(filters):
        for system in found.systems if found is not None else ():
            members.setdefault(system, []).append(number)
    members_of = {system: np.array(numbers) for system, numbers in members.items()}
    sizes = np.array([0 if found is None else len(found.systems) for found in filters])
    admits: BoolArray = np.ones((len(filters), len(filters)), dtype=bool)
    for row, found in zip(admits, filters, strict=True):
        if found is not None and found.collide_with is not None:
            row[:] = sizes == 0
            for system in found.collide_with & members_of.keys():
                row[members_of[system]] = True
        if found is not None and found.not_collide_with is not None:
            refused = np.zeros(len(filters), dtype=np.int64)
            for system in found.not_collide_with & members_of.keys():
                refused[members_of[system]] += 1
            row &= (refused < sizes) | (sizes == 0)
    return admits & admits.T


def uses_on_triangles(
    bodies: BodyPlans, uses: Mapping[SurfaceUse, set[int]]
) -> frozenset[SurfaceUse]:
    """The uses that may meet some triangle mesh."""
    meshes = {
        SurfaceUse(surface_key(static.material, None), static.filter)
        for static in bodies.statics
        if isinstance(static.shape.shape, BvhPlan)
    }
    for plan in bodies.bodies.values():
        meshes |= {
            SurfaceUse(surface_key(group.material, plan.kind), group.filter)
            for group in plan.groups
            if isinstance(group.shapes[0].shape, BvhPlan)
        }
    if not meshes:
        return frozenset()
    return frozenset(
        use
        for one, other in meetings(uses, meshes.__contains__)
        for use, partner in ((one, other), (other, one))
        if partner in meshes
    )
