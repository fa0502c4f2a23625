"""Materials and filters of all colliders: one surface per engine link, right for every pair.

Implements "Physics Materials" and "Collision Filtering" of KHR_physics_rigid_bodies. Surfaces whose
pairs contradict each other (an average is no product) get pair-specific links, which collide only
with the partner in question (measured: a collider split in this way slides exactly as a plain one).
The file is long since the split of a pair depends on all materials, filters and bodies at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct

from gltf_bullet import model
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, note, warning
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.body_plans import (
    BodyPlan,
    ContactClass,
    StaticPlan,
    SurfaceClass,
    SurfaceKey,
    SurfacePlan,
)
from gltf_bullet.planning.contacts.pair_factors import (
    HAIR,
    Factors,
    PairTargets,
    factor_pairs,
    pair_specific_factor,
)
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    PlacedShape,
    ShapePlan,
)
from gltf_bullet.records import replace
from gltf_bullet.transforms import BoolArray, FloatArray, Pose

# --- Pairs of shapes that lose restitution in flat landings ---------------------------------------
#
# PyBullet finds one contact point of such a pair per step; a flat landing is then stopped at one
# corner, and the body turns instead of rising.

FLAT_LANDING = warning(
    "FLAT_LANDING",
    "a {mover} that lands flat on a {ground} (node {other}) may lose up to {loss:.2g} of the "
    "restitution of {restitution:.2g}: PyBullet finds one contact point of such a pair at a time",
)

_NAMES: Final[dict[type[ShapePlan], str]] = {
    BoxPlan: "box",
    BvhPlan: "triangle mesh",
    ConvexPartsPlan: "convex hull",
    CylinderPlan: "cylinder",
    HullPlan: "convex hull",
    InfinitePlanePlan: "box",  # which replaces a plane that things bounce on
}
_FLAT: Final = ("box", "convex hull", "cylinder")
_LOSSES: Final[dict[tuple[str, str], float]] = {
    **{(mover, ground): 0.55 for mover in ("convex hull", "cylinder") for ground in _FLAT},
    **{("box", ground): 0.40 for ground in ("convex hull", "cylinder")},
    ("box", "triangle mesh"): 0.22,
}
"""Lost share of a restitution of 1, less in proportion (measured, drops of 0.3 to 3 m at 60 and
240 Hz). Balls, capsules, boxes on boxes, hulls on meshes: below 0.04."""

Shown: TypeAlias = "tuple[int, Iterable[ShapePlan]]"
"""A node, and the shapes of its collider."""


def report_flat_landings(
    pairs: Iterable[tuple[Hashable, Hashable, float]],
    kinds: Mapping[Hashable, Mapping[str, Sequence[int]]],
    owner_of: Mapping[int, int],
    diagnostics: Diagnostics,
) -> None:
    """Report each kind of pair once, at the first node that may land on another body.

    Args:
        pairs: Two surfaces that may meet, the first of which moves, and their restitution.
        kinds: From :func:`kinds_of_surfaces`.
        owner_of: From :func:`owners_of_colliders`.
        diagnostics: Receives the findings.
    """
    worst: dict[tuple[str, str], tuple[float, int, int]] = {}
    for one, other, restitution in pairs:
        for mover, nodes in kinds.get(one, {}).items():
            for ground, partners in kinds.get(other, {}).items():
                pair = (mover, ground)
                apart = [(a, b) for a in nodes for b in partners if owner_of[a] != owner_of[b]]
                known = worst.get(pair, (0.0, 0, 0))[0]
                if pair in _LOSSES and apart and restitution > known:
                    worst[pair] = (restitution, *apart[0])
    for (mover, ground), (restitution, node, partner) in worst.items():
        diagnostics.report(
            FLAT_LANDING,
            JsonPointer(f"/nodes/{node}"),
            mover=mover,
            ground=ground,
            other=partner,
            loss=_LOSSES[mover, ground] * restitution,
            restitution=restitution,
        )


def kinds_of_surfaces(
    shown: Mapping[Hashable, Sequence[Shown]], owner_of: Mapping[int, int]
) -> dict[Hashable, dict[str, list[int]]]:
    """The first nodes with each kind of shape, of two bodies, for surfaces with these colliders."""
    return {surface: _kinds(colliders, owner_of) for surface, colliders in shown.items()}


def _kinds(colliders: Iterable[Shown], owner_of: Mapping[int, int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for node, shapes in colliders:
        for shape in shapes:
            if type(shape) not in _NAMES:
                continue
            nodes = found.setdefault(_NAMES[type(shape)], [])
            if not nodes or (len(nodes) == 1 and owner_of[nodes[0]] != owner_of[node]):
                nodes.append(node)
    return found


# --- Distinct surfaces of a scene, and the pairs of them that may meet ----------------------------

FEW_USES = 40
"""Number of uses up to which each pair is tested: faster than arrays, and nearly all scenes."""


class SurfaceUse(Struct, frozen=True):
    """A distinct combination of surface and filter, and the bodies that have it."""

    key: SurfaceKey
    filter: model.CollisionFilter | None


def surface_key(material: model.PhysicsMaterial, kind: model.MotionKind | None) -> SurfaceKey:
    """The key of a material on a body of a kind; ``None``: of a collider without motion."""
    return SurfaceKey(material=material, is_dynamic=kind is model.MotionKind.DYNAMIC)


def alone_friction(key: SurfaceKey) -> float:
    """Friction factor of a surface towards bodies of other scenes, and of the user.

    A dynamic body keeps its own coefficient, as Bullet's users expect beside their bodies. Ground
    gives a dynamic body of the default material the coefficient that the spec combines: 1 if the
    ground has the default material too, and its own coefficient if it multiplies.
    """
    material = key.material
    if key.is_dynamic:
        return material.dynamic_friction
    partner = model.DEFAULT_MATERIAL.dynamic_friction
    modes = material.friction_combine, model.DEFAULT_MATERIAL.friction_combine
    return model.combine(material.dynamic_friction, partner, *modes) / partner


def alone_restitution(key: SurfaceKey) -> float:
    """Restitution factor towards other scenes; 1 for ground that does not multiply."""
    multiplies = key.material.restitution_combine is model.CombineMode.MULTIPLY
    return key.material.restitution if key.is_dynamic or multiplies else 1.0


def surface_uses(bodies: BodyPlans) -> dict[SurfaceUse, set[int]]:
    """All uses, each with at most two of the bodies that have it; -1 stands for fixed colliders."""
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
    """The colliders of each use, as node and shapes."""
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


def owners_of_colliders(bodies: BodyPlans) -> dict[int, int]:
    """The motion node of each collider's body; a fixed collider is its own."""
    owners = {static.node: static.node for static in bodies.statics}
    for plan in bodies.bodies.values():
        for group in plan.groups:
            owners.update(dict.fromkeys(group.collider_nodes, plan.node))
    return owners


def meetings(
    uses: Mapping[SurfaceUse, set[int]],
    alike: Callable[[SurfaceUse], Hashable] = lambda use: use.key,
) -> Iterator[tuple[SurfaceUse, SurfaceUse]]:
    """Pairs of uses that may meet; of partners with the same ``alike`` possibly only one.

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
            if len(owners | other_owners) >= 2 and model.may_collide(use.filter, other.filter):
                yield use, other


def _meetings_of_many(
    listed: Sequence[tuple[SurfaceUse, set[int]]], alike: Callable[[SurfaceUse], Hashable]
) -> Iterator[tuple[SurfaceUse, SurfaceUse]]:
    """The first partner of each kind for each use; the partner may precede the use."""
    filters = list(dict.fromkeys(use.filter for use, _ in listed))
    number_of = {found: number for number, found in enumerate(filters)}
    filter_of = np.array([number_of[use.filter] for use, _ in listed])
    kinds: dict[Hashable, int] = {}
    kind_of = np.array([kinds.setdefault(alike(use), len(kinds)) for use, _ in listed])
    is_dynamic = np.array([use.key.is_dynamic for use, _ in listed])
    # A use that belongs to one body alone does not meet itself.
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


def _filters_meet(filters: Sequence[model.CollisionFilter | None]) -> BoolArray:
    """Matrix of ``may_collide`` for each two filters, shape [filter_count, filter_count].

    The cost is that of the lists of systems in the file, not their square.
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


# --- Surfaces of all colliders, for every pair of them --------------------------------------------

MATERIALS_APPROXIMATED = warning(
    "MATERIALS_APPROXIMATED",
    "{count} materials need {needed} collision classes and Bullet has {available}; pairs share "
    "factors, friction is off by up to {friction:.3g} and restitution by up to {restitution:.3g}",
)
SLOW_BOUNCE = note(
    "SLOW_BOUNCE",
    "what meets at less than {threshold:g} m/s does not bounce in PyBullet: it should part at up "
    "to {speed:.2g} m/s (restitution {restitution:.2g} towards node {other})",
)
PLANE_AS_BOX = note(
    "PLANE_AS_BOX",
    "an infinite plane that things bounce on stands as a box that ends {extent:g} m from its "
    "origin: flat landings on Bullet's plane lose their bounce",
)

COMPOUND_TOO_LARGE = warning(
    "COMPOUND_TOO_LARGE",
    "the body's colliders need {groups} engine links; only {kept} fit, the others do not collide",
)

MAX_GROUPS = 120
"""Links of a body: Bullet drops those beyond 127 without a word (measured)."""

MAX_CLASSES = 24
"""Collision classes that materials may take; a few bits stay for other scenes of the world."""

LEAST_BOUNCE = 0.1
"""Restitution up to which slow bounces are not missed: they would part at 2 cm/s at most."""

SLOWEST_BOUNCE = 0.2
"""Default ``restitutionVelocityThreshold`` of a PyBullet world [m/s]."""

PLANE_BOX_EXTENT = 1000.0
"""[m] Half the width of the box that stands for a bouncing plane (DESIGN section 6)."""
PLANE_BOX_DEPTH = 50.0
"""Depth of that box [m]: a body that sinks in by less is still pushed out upwards."""


@dataclass(frozen=True, eq=False)
class ContactPlan:
    """Pairs of surface classes, cached for what depends on the time step and on slip."""

    keys: tuple[SurfaceKey, ...]
    targets: PairTargets
    factors: Factors
    static_friction: FloatArray
    """Coefficient at rest per pair, shape [count, count]."""
    bouncing: frozenset[SurfaceUse] = frozenset()
    """Uses with at least one partner towards which restitution is above 0."""
    on_triangles: frozenset[SurfaceUse] = frozenset()
    """Uses that may meet a triangle mesh."""
    self_excluding: frozenset[model.CollisionFilter] = frozenset()
    """Filters that forbid only collisions which joints exclude too; see :func:`self_exclusions`."""

    @cached_property
    def index_of(self) -> dict[SurfaceKey, int]:
        """Row of each surface key."""
        return {key: index for index, key in enumerate(self.keys)}

    def surface_class(self, row: int) -> SurfaceClass:
        """The class that pair-specific surfaces for a row are made for."""
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
    self_excluding: frozenset[model.CollisionFilter] = frozenset(),
) -> tuple[BodyPlans, ContactPlan]:
    """Give every collider group and static collider its surface; split where pairs contradict.

    Args:
        bodies: With the materials and filters of the file.
        diagnostics: Receives the findings.
        self_excluding: Filters that act only within the bodies that have them.
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
        owner_of = owners_of_colliders(bodies)
        shown = kinds_of_surfaces(colliders_by_use(bodies), owner_of)
        met = [
            (one, other, float(targets.restitution[row[one.key], row[other.key]]))
            for pair in meetings(uses, lambda use: (use.key, frozenset(shown.get(use, ()))))
            for one, other in (pair, pair[::-1])
            if one.key.is_dynamic
        ]
        report_flat_landings(met, shown, owner_of, diagnostics)
        _report_slow_bounces(met, colliders_by_use(bodies), owner_of, diagnostics)
    return _with_surfaces(bodies, contacts, diagnostics), contacts


def _report_slow_bounces(
    met: Sequence[tuple[SurfaceUse, SurfaceUse, float]],
    shown: Mapping[Hashable, Sequence[Shown]],
    owner_of: Mapping[int, int],
    diagnostics: Diagnostics,
) -> None:
    """Report once the pair that bounces most, and the speed that its slow contacts lose."""
    found = [
        (restitution, movers[0][0], partners[0])
        for mover, other, restitution in met
        if restitution > LEAST_BOUNCE
        and (movers := shown[mover])
        # Bodies of one surface share a use: the partner is another of its bodies.
        and (partners := [n for n, *_ in shown[other] if owner_of[n] != owner_of[movers[0][0]]])
    ]
    if not found:
        return
    restitution, mover, other = max(found, key=lambda pair: pair[0])
    diagnostics.report(
        SLOW_BOUNCE,
        JsonPointer(f"/nodes/{mover}"),
        threshold=SLOWEST_BOUNCE,
        speed=SLOWEST_BOUNCE * restitution,
        restitution=restitution,
        other=other,
    )


def with_materials(
    bodies: BodyPlans,
    contacts: ContactPlan,
    colliders: Mapping[int, model.Collider],
    diagnostics: Diagnostics,
) -> tuple[BodyPlans, ContactPlan] | None:
    """Give the same bodies other materials; ``None`` if links have to be made anew.

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
            materials = {
                colliders[k].material or model.DEFAULT_MATERIAL for k in group.collider_nodes
            }
            if len(materials) > 1:
                return None
            groups.append(replace(group, material=materials.pop()))
        planned[node] = plan.with_groups(tuple(groups))
    statics = tuple(
        replace(static, material=colliders[static.node].material or model.DEFAULT_MATERIAL)
        for static in bodies.statics
    )
    found, changed = plan_contacts(
        BodyPlans(bodies=planned, statics=statics), diagnostics, contacts.self_excluding
    )
    return (found, changed) if _links(found) == _links(bodies) else None


def _links(bodies: BodyPlans) -> list[object]:
    """The parts of the surfaces that are built into links."""
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
        for j, b in enumerate(keys[: i + 1]):
            one, two = a.material, b.material
            modes = one.friction_combine, two.friction_combine
            bounces = one.restitution_combine, two.restitution_combine
            for table, first, second, how in (
                (friction, one.dynamic_friction, two.dynamic_friction, modes),
                (static, one.static_friction, two.static_friction, modes),
                (restitution, one.restitution, two.restitution, bounces),
            ):
                table[i, j] = table[j, i] = model.combine(first, second, *how)
    edges: set[tuple[int, int]] = set()
    for use, other in meetings(uses):
        i, j = sorted((row[use.key], row[other.key]))
        # A fixed collider is one link and has no pair-specific surfaces.
        edges.add((i, j) if keys[i].is_dynamic else (j, i))
    # Pairs with fixed ground come first: they are the ones that a viewer sees.
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
    if not targets.restitution.any():
        return frozenset()
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
        found = [
            surfaces.of(surface_key(group.material, plan.kind), group.filter)
            for group in plan.groups
        ]
        groups = [
            replace(group, surface=main)
            for group, (main, *_) in zip(plan.groups, found, strict=True)
        ]
        for group, (_, *pair_specific) in zip(plan.groups, found, strict=True):
            groups += [replace(group, surface=surface) for surface in pair_specific]
        if len(groups) > MAX_GROUPS:
            at = JsonPointer(f"/nodes/{node}")
            diagnostics.report(COMPOUND_TOO_LARGE, at, groups=len(groups), kept=MAX_GROUPS)
        planned[node] = plan.with_groups(tuple(groups[:MAX_GROUPS]))
    statics = []
    for static in bodies.statics:
        key = surface_key(static.material, None)
        surface, *_ = surfaces.of(key, static.filter)  # it has no pair-specific ones
        if surface.bounces and isinstance(static.shape.shape, InfinitePlanePlan):
            diagnostics.report(PLANE_AS_BOX, _pointer(static), extent=PLANE_BOX_EXTENT)
            static = _as_box(static)
        statics.append(replace(static, surface=surface))
    return BodyPlans(bodies=planned, statics=tuple(statics))


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
        differs = (np.abs(contacts.static_friction - contacts.targets.friction) > 1e-9).tolist()
        self._slipping = {c for i, j in contacts.targets.edges if differs[i][j] for c in (i, j)}
        self._known: dict[SurfaceUse, tuple[SurfacePlan, ...]] = {}

    def of(
        self, key: SurfaceKey, collision_filter: model.CollisionFilter | None
    ) -> tuple[SurfacePlan, ...]:
        """The main surface of a collider, and the pair-specific ones that it needs besides."""
        use = SurfaceUse(key, collision_filter)
        known = self._known.get(use)
        if known is None:
            main = self._main(use)
            known = self._known[use] = (main, *self._pair_specific(main))
        return known

    def _main(self, use: SurfaceUse) -> SurfacePlan:
        contacts, row = self._contacts, self._row[use.key]
        return SurfacePlan(
            key=use.key,
            friction=float(contacts.factors.friction[row]),
            restitution=float(contacts.factors.restitution[row]),
            contact_class=ContactClass(
                filter=self._outward(use.filter),
                surface=contacts.surface_class(row) if row in self._involved else None,
            ),
            bounces=use in contacts.bouncing,
            on_triangles=use in contacts.on_triangles,
            slips=row in self._slipping and use.key.is_dynamic,
        )

    def _outward(
        self, collision_filter: model.CollisionFilter | None
    ) -> model.CollisionFilter | None:
        """The filter as other scenes see it; its systems stay, since other files may name them."""
        if collision_filter is None or collision_filter not in self._contacts.self_excluding:
            return collision_filter
        return replace(collision_filter, not_collide_with=None)

    def _pair_specific(self, main: SurfacePlan) -> Iterator[SurfacePlan]:
        targets, factors = self._contacts.targets, self._contacts.factors
        row = self._row[main.key]
        for owner, partner in factors.split:
            if owner == row:
                yield replace(
                    main,
                    friction=pair_specific_factor(
                        targets.friction[owner, partner], factors.friction[partner]
                    ),
                    restitution=pair_specific_factor(
                        targets.restitution[owner, partner], factors.restitution[partner]
                    ),
                    only_against=self._contacts.surface_class(partner),
                )
