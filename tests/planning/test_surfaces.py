"""Surfaces of links: one each where products do, extra ones where pairs contradict."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import CollisionFilter, CombineMode, MotionKind, PhysicsMaterial
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.body_plans import BodyPlan, ColliderGroup, StaticPlan
from gltf_bullet.planning.contacts.surfaces import (
    COMPOUND_TOO_LARGE,
    FEW_USES,
    MATERIALS_APPROXIMATED,
    MAX_GROUPS,
    PLANE_AS_BOX,
    SLOW_BOUNCE,
    SurfaceUse,
    meetings,
    plan_contacts,
    surface_key,
)
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    InfinitePlanePlan,
    PlacedShape,
    SpherePlan,
)
from gltf_bullet.transforms import IDENTITY_POSE

DYNAMIC = MotionKind.DYNAMIC
BALL = PlacedShape(SpherePlan(0.5))


def body(node: int, material: PhysicsMaterial) -> BodyPlan:
    group = ColliderGroup(shapes=(BALL,), collider_nodes=(node,), material=material)
    return BodyPlan(
        node=node,
        kind=MotionKind.DYNAMIC,
        world_from_body=IDENTITY_POSE,
        mass=1.0,
        inertia_diagonal=(1.0, 1.0, 1.0),
        groups=(group,),
    )


def ground(node: int, material: PhysicsMaterial, shape: object = None) -> StaticPlan:
    plan = BoxPlan((1.0, 1.0, 1.0)) if shape is None else shape
    return StaticPlan(
        node=node,
        world_from_collider=IDENTITY_POSE,
        shape=PlacedShape(plan),
        material=material,
    )


def rubber(mu: float) -> PhysicsMaterial:
    return PhysicsMaterial(
        static_friction=mu, dynamic_friction=mu, friction_combine=CombineMode.AVERAGE
    )


def test_one_material_needs_one_surface_per_link(diagnostics: Diagnostics) -> None:
    bodies = BodyPlans(
        bodies={k: body(k, rubber(0.5)) for k in range(3)}, statics=(ground(9, rubber(0.5)),)
    )
    planned, contacts = plan_contacts(bodies, diagnostics)
    assert not contacts.factors.split
    own = planned.bodies[0].groups[0].surface.friction
    other = planned.statics[0].surface.friction
    assert np.isclose(own * other, 0.5, atol=1e-4)
    assert np.isclose(own * own, 0.5, atol=1e-4)


def test_contradictory_averages_get_extra_surfaces_that_meet_one_partner(
    diagnostics: Diagnostics,
) -> None:
    mus = (0.1, 0.5, 0.9)
    bodies = BodyPlans(
        bodies={k: body(k, rubber(mu)) for k, mu in enumerate(mus)},
        statics=tuple(ground(10 + k, rubber(mu)) for k, mu in enumerate(mus)),
    )
    planned, contacts = plan_contacts(bodies, diagnostics)
    assert contacts.factors.split
    surface_of = {s.material: s.surface for s in planned.statics}
    for plan, mu in zip(planned.bodies.values(), mus, strict=True):
        aimed = {
            g.surface.only_against.key.material: g.surface
            for g in plan.groups
            if g.surface.only_against is not None and not g.surface.only_against.key.is_dynamic
        }
        for other in mus:
            partner = surface_of[rubber(other)]
            surface = aimed.get(rubber(other), plan.groups[0].surface)
            assert np.isclose(surface.friction * partner.friction, 0.5 * (mu + other), atol=0.01)


def test_more_materials_than_classes_share_factors_with_a_named_error(
    diagnostics: Diagnostics,
) -> None:
    mus = np.linspace(0.05, 1.0, 30)
    bodies = BodyPlans(
        bodies={k: body(k, rubber(float(mu))) for k, mu in enumerate(mus)},
        statics=tuple(ground(100 + k, rubber(float(mu))) for k, mu in enumerate(mus)),
    )
    planned, contacts = plan_contacts(bodies, diagnostics)
    assert all(len(plan.groups) == 1 for plan in planned.bodies.values())
    issue = diagnostics.take(MATERIALS_APPROXIMATED)
    factors, wanted = contacts.factors.friction, contacts.targets.friction
    worst = max(abs(factors[i] * factors[j] - wanted[i, j]) for i, j in contacts.targets.edges)
    assert np.isclose(float(str(issue.values["friction"])), worst)


def test_a_plane_that_things_bounce_on_becomes_a_box(diagnostics: Diagnostics) -> None:
    bouncy = PhysicsMaterial(restitution=0.8)
    bodies = BodyPlans(
        bodies={0: body(0, bouncy)}, statics=(ground(1, bouncy, InfinitePlanePlan()),)
    )
    planned, _ = plan_contacts(bodies, diagnostics)
    assert isinstance(planned.statics[0].shape.shape, BoxPlan)
    diagnostics.take(PLANE_AS_BOX)
    diagnostics.take(SLOW_BOUNCE)


def test_what_bounces_says_once_how_slow_meetings_end(diagnostics: Diagnostics) -> None:
    """Of pairs that average, 1 and 0.5 make 0.75: of 0.2 m/s 0.15 should be left."""
    bodies = BodyPlans(
        bodies={k: body(k, PhysicsMaterial(restitution=0.5)) for k in range(2)},
        statics=(ground(2, PhysicsMaterial(restitution=1.0)),),
    )
    plan_contacts(bodies, diagnostics)
    issue = diagnostics.take(SLOW_BOUNCE)
    assert issue.pointer == "/nodes/0"
    assert (issue.values["speed"], issue.values["other"]) == (0.2 * 0.75, 2)


def test_a_slow_bounce_is_towards_another_body(diagnostics: Diagnostics) -> None:
    """Bodies of one surface share a collision class; a body still does not meet itself."""
    bouncy = PhysicsMaterial(restitution=0.5)
    plan_contacts(BodyPlans(bodies={k: body(k, bouncy) for k in range(2)}, statics=()), diagnostics)
    issue = diagnostics.take(SLOW_BOUNCE)
    assert {issue.pointer, issue.values["other"]} in ({"/nodes/0", 1}, {"/nodes/1", 0})


def test_slow_bounces_that_nobody_sees_are_not_named(diagnostics: Diagnostics) -> None:
    """Restitution 0.1 of 0.2 m/s leaves 2 cm/s; the sink fails the test if anything is said."""
    faint = PhysicsMaterial(restitution=0.1)
    plan_contacts(BodyPlans(bodies={0: body(0, faint)}, statics=(ground(1, faint),)), diagnostics)


def test_a_body_of_more_links_than_the_engine_holds_says_what_it_loses(
    diagnostics: Diagnostics,
) -> None:
    """Mass and inertia are those of the whole body all the same."""
    crowded = body(0, rubber(0.5))
    crowded = crowded.with_groups(crowded.groups * (MAX_GROUPS + 5))
    planned, _ = plan_contacts(BodyPlans(bodies={0: crowded}, statics=()), diagnostics)
    assert len(planned.bodies[0].groups) == MAX_GROUPS
    assert diagnostics.take(COMPOUND_TOO_LARGE).values["groups"] == MAX_GROUPS + 5


def test_many_filters_meet_as_each_two_do(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)

    def some() -> frozenset[str] | None:
        chosen = frozenset(f"s{k}" for k in random.choice(6, random.integers(0, 4), replace=False))
        return None if random.random() < 0.4 else chosen

    keys = [surface_key(rubber(0.1 * k), kind) for k in range(2) for kind in (None, DYNAMIC)]
    uses = {
        SurfaceUse(
            keys[random.integers(len(keys))],
            CollisionFilter(
                systems=some() or frozenset(), collide_with=some(), not_collide_with=some()
            ),
        ): set(random.choice([-1, 3, 4, 5], random.integers(1, 3), replace=False).tolist())
        for _ in range(80)
    }
    uses |= {SurfaceUse(key, None): {-1, 7} for key in keys}
    assert len(uses) > FEW_USES

    def kinds(pairs: Iterable[tuple[SurfaceUse, SurfaceUse]]) -> set[tuple[object, object]]:
        both = [(a, b) for pair in pairs for a, b in (pair, pair[::-1])]
        return {(one, other.key) for one, other in both}

    reduced = list(meetings(uses))
    monkeypatch.setattr("gltf_bullet.planning.contacts.surfaces.FEW_USES", 10**9)
    every = list(meetings(uses))
    assert set(map(frozenset, reduced)) <= set(map(frozenset, every))
    assert kinds(reduced) == kinds(every)
    assert len(every) > 100
