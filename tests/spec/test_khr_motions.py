"""KHR_physics_rigid_bodies, "Motions" (000, 001)."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tests.spec.files import KHR, G, Json, Khr, codes, loaded, node
from tools.gltf_builder import GltfBuilder


def body(motion: Json, collider: Json | None = None) -> Json:
    return {KHR: {"motion": motion, **({} if collider is None else {"collider": collider})}}


def test_a_node_with_motion_is_a_dynamic_rigid_body(khr: Khr) -> None:
    """It falls 1/2 g t^2, by symplectic steps of dt: 1/2 g t (t + dt)."""
    with loaded(khr.file([node(body({}, khr.box(1, 1, 1)))])) as scene:
        scene.step(240)
        fallen = -scene.world_from_node(0)[1, 3]
        assert fallen == pytest.approx(0.5 * G * (1 + 1 / 240), rel=1e-4)


def test_the_nodes_local_transform_is_updated_after_every_step(khr: Khr) -> None:
    """Below a node that stands at 3 m and is turned by 90 degrees, down is along -X."""
    turned = [0, 0, math.sqrt(0.5), math.sqrt(0.5)]
    nodes = [
        node(translation=[0, 3, 0], rotation=turned, children=[1]),
        node(body({}, khr.box(1, 1, 1))),
    ]
    with loaded(khr.file(nodes)) as scene:
        scene.step(60)
        fallen = 3 - scene.world_from_node(1)[1, 3]
        assert scene.get("/nodes/1/translation") == pytest.approx((-fallen, 0, 0), abs=1e-9)


def test_all_descendants_move_with_the_node(khr: Khr) -> None:
    nodes = [
        node(body({"angularVelocity": [0, 0, 2]}, khr.box(1, 1, 1)), children=[1]),
        node(translation=[2, 0, 0]),
    ]
    with loaded(khr.file(nodes), gravity=0.0) as scene:
        scene.step(120)
        ahead = scene.world_from_node(1)[:3, 3]
        assert ahead == pytest.approx((2 * math.cos(1), 2 * math.sin(1), 0), abs=1e-2)


def test_a_descendant_with_motion_is_independent(khr: Khr) -> None:
    nodes = [
        node(body({"linearVelocity": [1, 0, 0]}, khr.box(1, 1, 1)), children=[1]),
        node(body({}, khr.box(1, 1, 1)), translation=[0, 5, 0]),
    ]
    with loaded(khr.file(nodes), gravity=0.0) as scene:
        scene.step(240)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx((1, 0, 0), abs=1e-5)
        assert scene.world_from_node(1)[:3, 3] == pytest.approx((0, 5, 0), abs=1e-9)


@pytest.mark.parametrize("motion", [{"mass": 1}, {"isKinematic": True}])
def test_animations_take_priority_over_the_simulation(motion: Json) -> None:
    builder = GltfBuilder()
    builder.root_extension("KHR_implicit_shapes", {"shapes": [{"type": "box"}]})
    extension = body(motion, {"geometry": {"shape": 0}})
    builder.node("Body", extensions=extension)
    keys = ([0.0, 1.0, 9.0], [(0, 0, 0), (2, 1, 0), (2, 1, 0)], "LINEAR")
    builder.animation("Move", [(0, "translation", *keys)])
    with loaded(builder.glb()) as scene:
        scene.step(120)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx((1, 0.5, 0), abs=1e-6)
        scene.step(240)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx((2, 1, 0), abs=1e-6)


def test_is_kinematic_has_infinite_mass_and_a_constant_velocity(khr: Khr) -> None:
    """A heavy ball hits it, and it goes on."""
    nodes = [
        node(body({"isKinematic": True, "linearVelocity": [1, 0, 0]}, khr.box(1, 1, 1))),
        node(body({"mass": 1e3}, khr.ball(0.5)), translation=[0.5, 2, 0]),
    ]
    with loaded(khr.file(nodes)) as scene:
        scene.step(240)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx((1, 0, 0), abs=1e-5)


@pytest.mark.parametrize("mass", [0.5, 2.0])
def test_mass_is_what_an_impulse_meets(khr: Khr, mass: float) -> None:
    with loaded(khr.file([node(body({"mass": mass}, khr.box(1, 1, 1)))]), gravity=0.0) as scene:
        scene.apply_impulse(0, (3, 0, 0), (0, 0, 0))
        assert scene.bodies[0].linear_velocity[0] == pytest.approx(3 / mass)


def test_inertia_is_the_product_of_orientation_and_diagonal(khr: Khr) -> None:
    """R diag R^T, a quarter turn about Z: the moments about X and Y change places."""
    quarter = [0, 0, math.sqrt(0.5), math.sqrt(0.5)]
    motion = {"mass": 1, "inertiaDiagonal": [1, 2, 2.5], "inertiaOrientation": quarter}
    for axis, moment in enumerate((2, 1, 2.5)):
        with loaded(khr.file([node(body(motion, khr.box(1, 1, 1)))]), gravity=0.0) as scene:
            scene.apply_impulse(0, (0, 0, 0), np.eye(3)[axis])
            spin = np.zeros(3)
            spin[axis] = 1 / moment
            assert scene.bodies[0].angular_velocity == pytest.approx(spin, abs=1e-6)


def test_the_center_of_mass_is_in_node_space(khr: Khr) -> None:
    """Scaled by 2 and turned: it stays where a free spin leaves it."""
    motion = {"mass": 1, "centerOfMass": [0.5, 0, 0], "angularVelocity": [0, 0, 3]}
    quarter = [0, 0, math.sqrt(0.5), math.sqrt(0.5)]
    nodes = [node(body(motion, khr.box(1, 1, 1)), rotation=quarter, scale=[2, 2, 2])]
    with loaded(khr.file(nodes), gravity=0.0) as scene:
        for _ in range(100):
            scene.step()
            pose = scene.world_from_node(0)
            assert pose @ (0.5, 0, 0, 1) == pytest.approx((0, 1, 0, 1), abs=1e-3)


def test_velocities_are_in_node_space(khr: Khr) -> None:
    """Turned with the node, and no faster where it is scaled."""
    quarter = [0, 0, math.sqrt(0.5), math.sqrt(0.5)]
    motion = {"mass": 1, "linearVelocity": [1, 0, 0], "angularVelocity": [2, 0, 0]}
    nodes = [node(body(motion, khr.ball(0.5)), rotation=quarter, scale=[3, 3, 3])]
    with loaded(khr.file(nodes), gravity=0.0) as scene:
        assert scene.bodies[0].linear_velocity == pytest.approx((0, 1, 0))
        assert scene.bodies[0].angular_velocity == pytest.approx((0, 2, 0))


def test_mass_and_inertia_are_derived_from_the_volume_of_the_colliders(khr: Khr) -> None:
    """At 1000 kg/m^3: 1 x 2 x 3 m are 6 t, and m (b^2 + c^2)/12 about each axis."""
    with loaded(khr.file([node(body({}, khr.box(1, 2, 3)))])) as scene:
        at = f"/nodes/0/extensions/{KHR}/motion"
        assert scene.get(f"{at}/mass") == pytest.approx(6000)
        moments = [500 * (4 + 9), 500 * (1 + 9), 500 * (1 + 4)]
        assert scene.get(f"{at}/inertiaDiagonal") == pytest.approx(moments)


@pytest.mark.parametrize("center", [None, [0, 0, 0], [0.5, 0.25, 0]])
def test_derived_inertia_is_about_the_center_of_mass(khr: Khr, center: list[float] | None) -> None:
    """The parallel axis theorem, for a box 1 m along X and a centre that is derived or stated."""
    motion: Json = {"mass": 3, **({} if center is None else {"centerOfMass": center})}
    nodes = [
        node(body(motion), children=[1]),
        node({KHR: {"collider": khr.box(1, 1, 1)}}, translation=[1, 0, 0]),
    ]
    away = np.array([1.0, 0, 0]) - (center if center is not None else [1.0, 0, 0])
    tensor = 3 * (np.eye(3) / 6 + (away @ away) * np.eye(3) - np.outer(away, away))
    for axis in range(3):
        with loaded(khr.file(nodes), gravity=0.0) as scene:
            scene.apply_impulse(0, (0, 0, 0), np.eye(3)[axis])
            wanted = np.linalg.solve(tensor, np.eye(3)[axis])
            assert scene.bodies[0].angular_velocity == pytest.approx(wanted, rel=1e-4, abs=1e-6)


def test_a_stated_center_moves_mass_along_that_is_derived_too(khr: Khr) -> None:
    """RigidBodies_Joint_08 is written for this reading; the text leaves it open."""
    content = khr.file([node(body({"centerOfMass": [0, 0, 0.25]}, khr.box(1, 1, 1)))])
    with loaded(content, gravity=0.0) as scene:
        scene.apply_impulse(0, (0, 0, 0), (100, 0, 0))
        assert scene.bodies[0].angular_velocity[0] == pytest.approx(100 / (1000 / 6))


@pytest.mark.parametrize(
    "motion",
    [{"mass": 0}, {"mass": 1, "inertiaDiagonal": [0, 0, 0]}],
)
def test_zero_is_infinite(khr: Khr, motion: Json) -> None:
    content = khr.file([node(body(motion, khr.box(1, 1, 1)))])
    with loaded(content, gravity=0.0) as scene:
        scene.apply_impulse(0, (1, 0, 0), (1, 0, 0))
        moved = scene.bodies[0].linear_velocity if "inertiaDiagonal" not in motion else None
        turned = scene.bodies[0].angular_velocity
        assert np.abs(moved if moved is not None else turned).max() < 1e-6
    assert codes(content) == {"INFINITE_AS_LARGE"}


def test_one_zero_moment_leaves_the_other_axes_free(khr: Khr) -> None:
    motion = {"mass": 1, "inertiaDiagonal": [0, 1, 1], "angularVelocity": [0, 2, 0]}
    with loaded(khr.file([node(body(motion, khr.box(1, 1, 1)))]), gravity=0.0) as scene:
        scene.step(60)
        assert scene.bodies[0].angular_velocity == pytest.approx((0, 2, 0), abs=1e-3)


@pytest.mark.parametrize("factor", [0.0, 0.5, -1.0])
def test_gravity_factor_multiplies_gravity(khr: Khr, factor: float) -> None:
    content = khr.file([node(body({"gravityFactor": factor}, khr.box(1, 1, 1)))])
    with loaded(content) as scene:
        scene.step(240)
        assert scene.bodies[0].linear_velocity[1] == pytest.approx(-G * factor, abs=2e-3)


def test_motion_without_colliders_and_mass_is_named(khr: Khr) -> None:
    assert codes(khr.file([node(body({}))])) == {"MASS_UNDEFINED", "INERTIA_UNDEFINED"}


def test_a_negative_mass_is_refused(khr: Khr) -> None:
    assert "MASS_NEGATIVE" in codes(khr.file([node(body({"mass": -1}, khr.ball(1)))]))


def test_every_key_of_the_schema_is_known(khr: Khr) -> None:
    motion = {
        "isKinematic": False, "mass": 1, "centerOfMass": [0, 0, 0], "inertiaDiagonal": [1, 1, 1],
        "inertiaOrientation": [0, 0, 0, 1], "linearVelocity": [0, 0, 0],
        "angularVelocity": [0, 0, 0], "gravityFactor": 1, "extras": {}, "extensions": {},
    }  # fmt: skip
    content = khr.file([node(body(motion, khr.box(1, 1, 1)))])
    assert json.loads(content)
    assert codes(content) == set()
