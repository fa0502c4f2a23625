"""Plans with other masses are what planning anew gives, or there are none."""

from __future__ import annotations

import math

import pytest

import gltf_bullet as gb
from gltf_bullet.model import MotionKind, PhysicsScene
from gltf_bullet.planning.changed_masses import differ_in_masses, with_masses
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.records import replace
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.translation import Translation, translate, translate_at
from tests.physics.scenes import Scenery
from tools.bench.assets import ASSETS

NAMES = sorted(path.stem for path in ASSETS.glob("*.gltf"))
OPTIONS = gb.LoadOptions()
LOOPED = {"four_bar", "suspension_bridge"}
"""Constraints close loops; the load on them counts all masses."""


def planned(source: object, **options: bool) -> tuple[gb.Asset, Translation]:
    asset = gb.read_asset(source)
    placement = Placement.of((0.0, 0.0, 0.0))
    return asset, translate_at(asset, placement, replace(OPTIONS, **options))


def edited(physics: PhysicsScene, node: int, **values: object) -> PhysicsScene:
    motion = replace(physics.motions[node], **values)
    return replace(physics, motions={**physics.motions, node: motion})


def planned_anew(asset: gb.Asset, found: Translation, physics: PhysicsScene) -> ScenePlan:
    return translate(asset, physics, found.plan.frames, None, OPTIONS).plan


@pytest.mark.parametrize("name", NAMES)
def test_other_masses_are_planned_as_if_the_file_said_so(name: str) -> None:
    asset, found = planned(ASSETS / f"{name}.gltf")
    bodies = found.plan.bodies.bodies
    dynamic = [n for n in found.physics(asset).motions if bodies[n].kind is MotionKind.DYNAMIC]
    refused = 0
    for node in (*dynamic[:3], *dynamic[-2:]):
        for factor in (0.999, 1.3):
            other = edited(found.physics(asset), node, mass=factor * bodies[node].mass)
            assert differ_in_masses(found.physics(asset), other)
            plan = with_masses(found.plan, found.physics(asset), other, OPTIONS)
            if plan is None:
                refused += 1
                continue
            anew = planned_anew(asset, found, other)
            assert plan.bodies.bodies == {
                n: replace(anew.bodies.bodies[n], groups=body.groups)
                for n, body in plan.bodies.bodies.items()
            }
            assert plan.articulations == anew.articulations
    assert (refused > 0) == (name in LOOPED), refused


def two_links(*, first: float, second: float) -> bytes:
    """Two bodies side by side, hinged to each other and to nothing else."""
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.1)
    hinge = scenery.entry(
        "physicsJoints",
        limits=[
            {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
            {"angularAxes": [0, 1], "min": 0, "max": 0},
        ],
    )
    scenery.node("First", shape=ball, motion={"mass": first})
    scenery.node(
        "Second", at=(1, 0, 0), shape=ball, motion={"mass": second},
        joint={"connectedNode": 0, "joint": hinge},
    )  # fmt: skip
    return scenery.bytes()


def test_another_body_that_becomes_the_heaviest_is_another_base() -> None:
    asset, found = planned(two_links(first=2.0, second=1.0))
    before = found.plan.articulations.articulations[0].multibodies[0].root_node
    for mass, stays in ((1.9, True), (2.0, False), (2.1, False)):
        other = edited(found.physics(asset), 1, mass=mass)
        anew = planned_anew(asset, found, other).articulations
        plan = with_masses(found.plan, found.physics(asset), other, OPTIONS)
        assert (plan is not None) is stays
        if plan is not None:
            assert plan.articulations == anew
    assert anew.articulations[0].multibodies[0].root_node != before


def test_what_stands_for_infinite_follows_the_largest_mass() -> None:
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.1)
    scenery.node("Endless", shape=ball, motion={"mass": 0})
    scenery.node("Heavy", at=(1, 0, 0), shape=ball, motion={"mass": 2.0})
    asset, found = planned(scenery.bytes())
    assert found.physics(asset).motions[0].mass == math.inf
    other = edited(found.physics(asset), 1, mass=8.0)
    plan = with_masses(found.plan, found.physics(asset), other, OPTIONS)
    assert plan is not None
    assert plan.bodies.bodies[0].mass == pytest.approx(4.0 * found.plan.bodies.bodies[0].mass)
    assert plan.bodies.bodies == planned_anew(asset, found, other).bodies.bodies


def tilted() -> bytes:
    """A box on its edge: the principal axes are not those of the body."""
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 2, 3])
    scenery.node("Body", motion={"mass": 2.0}, children=[1])
    eighth = [0.0, 0.0, math.sin(math.pi / 8), math.cos(math.pi / 8)]
    scenery.node("Box", shape=box, rotation=eighth)
    return scenery.bytes()


def test_axes_that_follow_from_shapes_are_the_same_for_every_mass() -> None:
    asset, found = planned(tilted())
    assert found.plan.bodies.bodies[0].body_from_inertial.rotation_xyzw != (0, 0, 0, 1)
    for mass in (0.7, 3.1, 1234.5):
        other = edited(found.physics(asset), 0, mass=mass)
        plan = with_masses(found.plan, found.physics(asset), other, OPTIONS)
        assert plan is not None
        assert plan.bodies.bodies == planned_anew(asset, found, other).bodies.bodies


def test_axes_that_turn_take_another_body() -> None:
    asset, found = planned(tilted())
    other = edited(found.physics(asset), 0, inertia_diagonal=(1.0, 1.5, 2.0))
    assert differ_in_masses(found.physics(asset), other)
    assert with_masses(found.plan, found.physics(asset), other, OPTIONS) is None


def test_any_other_difference_takes_another_plan() -> None:
    asset, found = planned(tilted())
    for values in ({"center_of_mass": (0.0, 0.1, 0.0)}, {"gravity_factor": 0.5}):
        other = edited(found.physics(asset), 0, mass=3.0, **values)
        assert not differ_in_masses(found.physics(asset), other)
        assert with_masses(found.plan, found.physics(asset), other, OPTIONS) is None


def test_a_strict_scene_is_planned_anew() -> None:
    """Its translation may refuse what it finds of the new masses."""
    asset, found = planned(tilted())
    other = edited(found.physics(asset), 0, mass=3.0)
    strict = replace(OPTIONS, strict=True)
    assert with_masses(found.plan, found.physics(asset), other, strict) is None
