"""Materials and filters of all colliders: one surface per engine link, right for every pair.

Implements "Physics Materials" and "Collision Filtering" of KHR_physics_rigid_bodies. Surfaces whose
pairs contradict each other (an average is no product) get links of their own that meet only the
partner in question (measured: a collider split in this way slides exactly as a plain one).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.model import (
    DEFAULT_MATERIAL,
    Collider,
    CollisionFilter,
    combine,
)
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.body_plans import (
    BodyPlan,
    ColliderGroup,
    ContactClass,
    StaticPlan,
    SurfaceClass,
    SurfaceKey,
    SurfacePlan,
)
from gltf_bullet.planning.contacts.flat_landings import (
    Shown,
    kinds_of_surfaces,
    report_flat_landings,
)
from gltf_bullet.planning.contacts.pair_factors import (
    HAIR,
    Factors,
    PairTargets,
    aimed_factor,
    factor_pairs,
)
from gltf_bullet.planning.contacts.surface_uses import (
    SurfaceUse,
    alone_friction,
    alone_restitution,
    colliders_by_use,
    meetings,
    surface_key,
    surface_uses,
    uses_on_triangles,
)
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    InfinitePlanePlan,
    PlacedShape,
)
from gltf_bullet.transforms import BoolArray, FloatArray, Pose

__all__ = ["SLOW_BOUNCE", "ContactPlan", "plan_contacts", "with_materials"]

MATERIALS_APPROXIMATED = IssueKind(
    "MATERIALS_APPROXIMATED",
    Severity.WARNING,
    "{count} materials need {needed} collision classes and Bullet has {available}; pairs share "
    "factors, friction is off by up to {friction:.3g} and restitution by up to {restitution:.3g}",
)
SLOW_BOUNCE = IssueKind(
    "SLOW_BOUNCE",
    Severity.INFO,
    "what meets at less than {threshold:g} m/s does not bounce in PyBullet: it should part at up "
    "to {speed:.2g} m/s (restitution {restitution:.2g} towards node {other})",
)
PLANE_AS_BOX = IssueKind(
    "PLANE_AS_BOX",
    Severity.INFO,
    "an infinite plane that things bounce on stands as a box that ends {extent:g} m from its "
    "origin: flat landings on Bullet's plane lose their bounce",
)

COMPOUND_TOO_LARGE = IssueKind(
    "COMPOUND_TOO_LARGE",
    Severity.WARNING,
    "the body's colliders need {groups} engine links; only {kept} fit, the others do not collide",
)

MAX_GROUPS = 120
"""Links of a body: Bullet drops those beyond 127 without a word (measured)."""

MAX_CLASSES = 24
"""Collision classes that materials may take; a few bits stay for other scenes of the world."""

SLOWEST_BOUNCE = 0.2
"""[m/s] ``restitutionVelocityThreshold`` of a PyBullet world that nobody has told another one."""

PLANE_BOX_EXTENT = 1000.0
"""[m] Half the width of the box that stands for a bouncing plane (DESIGN section 6)."""
PLANE_BOX_DEPTH = 50.0
"""[m] How far down that box reaches: a body that sinks in by less is still pushed out upwards."""


@dataclass(frozen=True, eq=False)
class ContactPlan:
    """The pairs of surface classes, kept for what depends on the time step and on slip."""

    keys: tuple[SurfaceKey, ...]
    targets: PairTargets
    factors: Factors
    static_friction: FloatArray
    """Coefficient at rest per pair, shape [count, count]."""
    bouncing: frozenset[SurfaceUse] = frozenset()
    """Those that admit some partner towards which restitution is not 0."""
    on_triangles: frozenset[SurfaceUse] = frozenset()
    """Those that admit some triangle mesh."""
    self_excluding: frozenset[CollisionFilter] = frozenset()
    """Filters that forbid what joints forbid already; see :func:`self_exclusions`."""

    @cached_property
    def index_of(self) -> dict[SurfaceKey, int]:
        """Row of each surface key."""
        return {key: index for index, key in enumerate(self.keys)}

    def surface_class(self, row: int) -> SurfaceClass:
        """What extra surfaces towards the key of a row are aimed at."""
        return SurfaceClass(
            key=self.keys[row],
            has_friction=bool(self.factors.friction[row] > HAIR),
            has_restitution=bool(self.factors.restitution[row] > HAIR),
        )

    @cached_property
    def split_pairs(self) -> frozenset[frozenset[SurfaceClass]]:
        """Pairs whose main surfaces must not meet."""
        return frozenset(
            frozenset((self.surface_class(i), self.surface_class(j))) for i, j in self.factors.split
        )


def plan_contacts(
    bodies: BodyPlans,
    diagnostics: Diagnostics,
    self_excluding: frozenset[CollisionFilter] = frozenset(),
) -> tuple[BodyPlans, ContactPlan]:
    """Give every collider group and static collider its surface; split where pairs contradict.

    Args:
        bodies: With the materials and filters of the file.
        diagnostics: Receives the findings.
        self_excluding: Filters that concern nobody but the bodies that have them.
    """
    uses = surface_uses(bodies)
    targets, static_friction, keys = _pair_targets(uses)
    factors = factor_pairs(targets, may_split=True)
    if factors.split:
        involved = {c for edge in factors.split for c in edge}
        classes = {
            (use.filter, use.key if keys.index(use.key) in involved else None) for use in uses
        }
        if len(classes) > MAX_CLASSES:
            factors = factor_pairs(targets, may_split=False)
            _report_residual(keys, targets, factors, len(classes), diagnostics)
    contacts = ContactPlan(
        keys,
        targets,
        factors,
        static_friction,
        _bouncing(uses, targets, keys),
        uses_on_triangles(bodies, uses),
        self_excluding,
    )
    if contacts.bouncing:
        row = contacts.index_of
        shown = kinds_of_surfaces(colliders_by_use(bodies))
        met = [
            (one, other, float(targets.restitution[row[one.key], row[other.key]]))
            for pair in meetings(uses, lambda use: (use.key, frozenset(shown.get(use, ()))))
            for one, other in (pair, pair[::-1])
            if one.key.is_dynamic
        ]
        report_flat_landings(met, shown, diagnostics)
        _report_slow_bounces(met, colliders_by_use(bodies), diagnostics)
    return _with_surfaces(bodies, contacts, diagnostics), contacts


def _report_slow_bounces(
    met: Sequence[tuple[SurfaceUse, SurfaceUse, float]],
    shown: Mapping[Hashable, Sequence[Shown]],
    diagnostics: Diagnostics,
) -> None:
    """Name the pair that bounces most, once, and what slow meetings of it lose."""
    mover, other, restitution = max(met, key=lambda pair: pair[2], default=(None, None, 0.0))
    if mover is None or other is None or restitution <= HAIR:
        return
    diagnostics.report(
        SLOW_BOUNCE,
        JsonPointer(f"/nodes/{shown[mover][0][0]}"),
        threshold=SLOWEST_BOUNCE,
        speed=SLOWEST_BOUNCE * restitution,
        restitution=restitution,
        other=shown[other][0][0],
    )


def with_materials(
    bodies: BodyPlans,
    contacts: ContactPlan,
    colliders: Mapping[int, Collider],
    diagnostics: Diagnostics,
) -> tuple[BodyPlans, ContactPlan] | None:
    """The same bodies with other materials; ``None`` where links of another number are needed.

    Args:
        bodies: Planned with surfaces.
        contacts: Their pairs.
        colliders: The edited colliders by node.
        diagnostics: Receives the findings.
    """
    planned: dict[int, BodyPlan] = {}
    for node, plan in bodies.bodies.items():
        groups = []
        for group in plan.groups:
            if group.surface.only_against is not None:
                continue
            materials = {colliders[k].material or DEFAULT_MATERIAL for k in group.collider_nodes}
            if len(materials) > 1:
                return None
            groups.append(replace(group, material=materials.pop()))
        planned[node] = replace(plan, groups=tuple(groups))
    statics = tuple(
        replace(static, material=colliders[static.node].material or DEFAULT_MATERIAL)
        for static in bodies.statics
    )
    found, changed = plan_contacts(
        BodyPlans(bodies=planned, statics=statics), diagnostics, contacts.self_excluding
    )
    return (found, changed) if _links(found) == _links(bodies) else None


def _links(bodies: BodyPlans) -> list[object]:
    """What of the surfaces is built into links."""
    listed: list[object] = [
        [(g.surface.contact_class, g.surface.only_against) for g in plan.groups]
        for plan in bodies.bodies.values()
    ]
    listed += [(static.shape, static.surface.contact_class) for static in bodies.statics]
    return listed


def _pair_targets(
    uses: Mapping[SurfaceUse, set[int]],
) -> tuple[PairTargets, FloatArray, tuple[SurfaceKey, ...]]:
    keys = tuple(dict.fromkeys(use.key for use in uses))
    row = {key: index for index, key in enumerate(keys)}
    count = len(keys)
    friction, static, restitution = (np.zeros((count, count)) for _ in range(3))
    for i, a in enumerate(keys):
        for j, b in enumerate(keys):
            one, two = a.material, b.material
            modes = one.friction_combine, two.friction_combine
            friction[i, j] = combine(one.dynamic_friction, two.dynamic_friction, *modes)
            static[i, j] = combine(one.static_friction, two.static_friction, *modes)
            restitution[i, j] = combine(
                one.restitution, two.restitution, one.restitution_combine, two.restitution_combine
            )
    edges: set[tuple[int, int]] = set()
    for use, other in meetings(uses):
        i, j = sorted((row[use.key], row[other.key]))
        # A fixed collider is one link and carries nothing besides.
        edges.add((i, j) if keys[i].is_dynamic else (j, i))
    # Things on fixed ground first: the pairs that a viewer watches.
    ordered = sorted(
        edges, key=lambda e: (keys[e[0]].is_dynamic and keys[e[1]].is_dynamic, e[0] == e[1], e)
    )
    targets = PairTargets(
        friction,
        restitution,
        tuple(ordered),
        np.array([alone_friction(key) for key in keys]),
        np.array([alone_restitution(key) for key in keys]),
        frozenset(row[key] for key in keys if not key.is_dynamic),
    )
    return targets, static, keys


def _bouncing(
    uses: Mapping[SurfaceUse, set[int]], targets: PairTargets, keys: tuple[SurfaceKey, ...]
) -> frozenset[SurfaceUse]:
    row = {key: index for index, key in enumerate(keys)}
    return frozenset(
        use
        for pair in meetings(uses)
        if targets.restitution[row[pair[0].key], row[pair[1].key]] > 0.0
        for use in pair
    )


def _report_residual(
    keys: tuple[SurfaceKey, ...],
    targets: PairTargets,
    factors: Factors,
    needed: int,
    diagnostics: Diagnostics,
) -> None:
    worst = [0.0, 0.0]
    for i, j in targets.edges:
        for k, (got, wanted) in enumerate(
            ((factors.friction, targets.friction), (factors.restitution, targets.restitution))
        ):
            worst[k] = max(worst[k], float(abs(got[i] * got[j] - wanted[i, j])))
    materials = {key.material for key in keys}
    pointer = next((m.pointer for m in materials if m.pointer), ROOT)
    diagnostics.report(
        MATERIALS_APPROXIMATED, pointer,
        count=len(materials), needed=needed, available=MAX_CLASSES,
        friction=worst[0], restitution=worst[1],
    )  # fmt: skip


def _with_surfaces(bodies: BodyPlans, contacts: ContactPlan, diagnostics: Diagnostics) -> BodyPlans:
    surfaces = _Surfaces(contacts)
    planned: dict[int, BodyPlan] = {}
    for node, plan in bodies.bodies.items():
        keys = [surface_key(group.material, plan.kind) for group in plan.groups]
        groups = [
            _surfaced(group, surfaces.main(key, group.filter))
            for group, key in zip(plan.groups, keys, strict=True)
        ]
        for group, key in zip(plan.groups, keys, strict=True):
            groups += [_surfaced(group, aimed) for aimed in surfaces.aimed(key, group.filter)]
        if len(groups) > MAX_GROUPS:
            at = JsonPointer(f"/nodes/{node}")
            diagnostics.report(COMPOUND_TOO_LARGE, at, groups=len(groups), kept=MAX_GROUPS)
        planned[node] = plan.with_groups(tuple(groups[:MAX_GROUPS]))
    statics = []
    for static in bodies.statics:
        key = surface_key(static.material, None)
        surface = surfaces.main(key, static.filter)
        if surface.bounces and isinstance(static.shape.shape, InfinitePlanePlan):
            diagnostics.report(PLANE_AS_BOX, _pointer(static), extent=PLANE_BOX_EXTENT)
            static = _as_box(static)
        statics.append(replace(static, surface=surface))
    return BodyPlans(bodies=planned, statics=tuple(statics))


def _surfaced(group: ColliderGroup, surface: SurfacePlan) -> ColliderGroup:
    # dataclasses.replace costs 7 us, a sixth of what loading a body may cost.
    return ColliderGroup(
        shapes=group.shapes,
        collider_nodes=group.collider_nodes,
        material=group.material,
        filter=group.filter,
        surface=surface,
    )


def _pointer(static: StaticPlan) -> JsonPointer:
    return JsonPointer(f"/nodes/{static.node}")


def _as_box(static: StaticPlan) -> StaticPlan:
    half = (PLANE_BOX_EXTENT, 0.5 * PLANE_BOX_DEPTH, PLANE_BOX_EXTENT)
    below = Pose.from_translation((0.0, -0.5 * PLANE_BOX_DEPTH, 0.0))
    return replace(static, shape=PlacedShape(BoxPlan(half), static.shape.body_from_shape @ below))


class _Surfaces:
    """Surface plans by surface key and filter."""

    def __init__(self, contacts: ContactPlan) -> None:
        self._contacts = contacts
        self._row = contacts.index_of
        self._involved = {c for edge in contacts.factors.split for c in edge}
        self._slips = np.zeros(len(contacts.keys), dtype=bool)
        differs: BoolArray = np.abs(contacts.static_friction - contacts.targets.friction) > 1e-9
        for i, j in contacts.targets.edges:
            self._slips[[i, j]] |= differs[i, j]
        self._main: dict[tuple[SurfaceKey, CollisionFilter | None], SurfacePlan] = {}

    def main(self, key: SurfaceKey, collision_filter: CollisionFilter | None) -> SurfacePlan:
        known = self._main.get((key, collision_filter))
        if known is None:
            row = self._row[key]
            known = SurfacePlan(
                key=key,
                friction=float(self._contacts.factors.friction[row]),
                restitution=float(self._contacts.factors.restitution[row]),
                contact_class=ContactClass(
                    filter=self._outward(collision_filter),
                    surface=self._contacts.surface_class(row) if row in self._involved else None,
                ),
                bounces=SurfaceUse(key, collision_filter) in self._contacts.bouncing,
                on_triangles=SurfaceUse(key, collision_filter) in self._contacts.on_triangles,
                slips=bool(self._slips[row]) and key.is_dynamic,
            )
            self._main[key, collision_filter] = known
        return known

    def _outward(self, collision_filter: CollisionFilter | None) -> CollisionFilter | None:
        """What a filter means to others; its systems stay, of which other files may speak."""
        if collision_filter is None or collision_filter not in self._contacts.self_excluding:
            return collision_filter
        return replace(collision_filter, not_collide_with=None)

    def aimed(self, key: SurfaceKey, collision_filter: CollisionFilter | None) -> list[SurfacePlan]:
        """The surfaces that a collider needs besides its main one, each for one partner."""
        contacts, main = self._contacts, self.main(key, collision_filter)
        result = []
        for carrier, partner in contacts.factors.split:
            if carrier != self._row[key]:
                continue
            targets, factors = contacts.targets, contacts.factors
            result.append(
                replace(
                    main,
                    friction=aimed_factor(
                        targets.friction[carrier, partner], factors.friction[partner]
                    ),
                    restitution=aimed_factor(
                        targets.restitution[carrier, partner], factors.restitution[partner]
                    ),
                    only_against=contacts.surface_class(partner),
                )
            )
        return result
