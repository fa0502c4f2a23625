"""OMI_physics_body: motion, collider, trigger, physics materials (its schemas and README)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.spec.files import Json, codes, file, loaded, node, slowing

BODY = "OMI_physics_body"
SHAPE = "OMI_physics_shape"
UNIT: Json = {"type": "box", "box": {"size": [1, 1, 1]}}
SHAPES: Json = {SHAPE: {"shapes": [UNIT, {"type": "sphere", "sphere": {"radius": 0.25}}]}}


def body(**members: object) -> Json:
    return {BODY: members}


def turning(content: bytes, axis: int) -> float:
    """The moment of inertia about the centre of mass that an angular impulse of 1 N m s meets."""
    with loaded(content, gravity=0.0) as scene:
        scene.apply_impulse(0, (0, 0, 0), np.eye(3)[axis])
        return 1.0 / float(scene.bodies[0].angular_velocity[axis])


# --- motion ---------------------------------------------------------------------------------------


def test_type_static_does_not_move() -> None:
    motion = {"type": "static"}
    with loaded(file([node(body(motion=motion, collider={"shape": 0}))], SHAPES)) as scene:
        scene.step(60)
        assert scene.world_from_node(0)[1, 3] == 0.0


def test_type_kinematic_moves_by_its_velocity_and_does_not_fall() -> None:
    motion = {"type": "kinematic", "linearVelocity": [2, 0, 0]}
    with loaded(file([node(body(motion=motion, collider={"shape": 0}))], SHAPES)) as scene:
        scene.step(240)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx((2.0, 0.0, 0.0), abs=1e-6)


def test_type_dynamic_falls() -> None:
    motion = {"type": "dynamic"}
    with loaded(file([node(body(motion=motion, collider={"shape": 0}))], SHAPES)) as scene:
        scene.step(240)
        assert scene.bodies[0].linear_velocity[1] == pytest.approx(-9.81, rel=0.01)


def test_mass_is_1_by_default() -> None:
    content = file([node(body(motion={"type": "dynamic"}, collider={"shape": 0}))], SHAPES)
    with loaded(content) as scene:
        assert scene.bodies[0].mass == 1.0


def test_center_of_mass_is_the_origin_by_default() -> None:
    content = file(
        [
            node(body(motion={"type": "dynamic"}), children=[1]),
            node(body(collider={"shape": 0}), translation=[1, 0, 0]),
        ],
        SHAPES,
    )
    with loaded(content) as scene:
        assert scene.get(f"/nodes/0/extensions/{BODY}/motion/centerOfMass") == pytest.approx(
            (0, 0, 0)
        )


@pytest.mark.parametrize("stated", [{}, {"inertiaDiagonal": [0, 0, 0]}])
def test_inertia_that_is_zero_or_not_specified_is_calculated(stated: Json) -> None:
    motion = {"type": "dynamic", "mass": 6, **stated}
    content = file([node(body(motion=motion, collider={"shape": 0}))], SHAPES)
    assert turning(content, 1) == pytest.approx(6 * (1 + 1) / 12)


@pytest.mark.parametrize(("axis", "distance"), [(0, 0.0), (1, 1.0), (2, 1.0)])
def test_inertia_is_calculated_about_the_center_of_mass(axis: int, distance: float) -> None:
    """The collider stands 1 m along X; the body turns about its origin: I + m d^2."""
    content = file(
        [
            node(body(motion={"type": "dynamic", "mass": 3}), children=[1]),
            node(body(collider={"shape": 0}), translation=[1, 0, 0]),
        ],
        SHAPES,
    )
    assert turning(content, axis) == pytest.approx(3 * (1 + 1) / 12 + 3 * distance**2)


def test_inertia_is_calculated_about_a_center_of_mass_that_is_set() -> None:
    content = file(
        [node(body(motion={"type": "dynamic", "mass": 3}, collider={"shape": 0}))], SHAPES
    )
    with loaded(content, gravity=0.0) as scene:
        scene.set(f"/nodes/0/extensions/{BODY}/motion/centerOfMass", (0, 2, 0))
        scene.apply_impulse(0, (0, 0, 0), (1, 0, 0))
        moment = 3 * (1 + 1) / 12 + 3 * 2**2
        assert scene.bodies[0].angular_velocity[0] == pytest.approx(1 / moment)


def test_inertia_follows_a_mass_that_is_set_about_the_same_center() -> None:
    content = file(
        [
            node(body(motion={"type": "dynamic", "mass": 3}), children=[1]),
            node(body(collider={"shape": 0}), translation=[1, 0, 0]),
        ],
        SHAPES,
    )
    with loaded(content, gravity=0.0) as scene:
        scene.set(f"/nodes/0/extensions/{BODY}/motion/mass", 6.0)
        scene.apply_impulse(0, (0, 0, 0), (0, 1, 0))
        assert scene.bodies[0].angular_velocity[1] == pytest.approx(1 / (6 * 2 / 12 + 6))


# --- collider -------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [{}, {"physicsMaterial": -1}, {"physicsMaterial": 0}])
@pytest.mark.parametrize(
    ("mode", "coefficient"),
    [("average", 0.8), ("minimum", 0.8), ("maximum", 0.8), ("multiply", 0.8)],
)
def test_the_default_material_states_average(index: Json, mode: str, coefficient: float) -> None:
    """1.0 over the default 0.6: average outranks whatever the other material states."""
    tables = {
        SHAPE: {
            "shapes": [
                {"type": "box", "box": {"size": [200, 1, 20]}},
                {"type": "box", "box": {"size": [0.6, 0.2, 0.6]}},
            ]
        },
        BODY: {
            "physicsMaterials": [
                {},
                {"staticFriction": 1, "dynamicFriction": 1, "frictionCombine": mode},
            ]
        },
    }
    motion = {"type": "dynamic", "linearVelocity": [5, 0, 0]}
    nodes = [
        node(body(collider={"shape": 0, **index}), translation=[50, -0.5, 0]),
        node(
            body(motion=motion, collider={"shape": 1, "physicsMaterial": 1}),
            translation=[0, 0.1, 0],
        ),
    ]
    with loaded(file(nodes, tables)) as scene:
        assert slowing(scene, 1) == pytest.approx(coefficient, abs=0.02)


@pytest.mark.parametrize("mode", ["average", "minimum", "maximum", "multiply"])
def test_the_default_materials_average_is_that_of_restitution_too(mode: str) -> None:
    """1.0 against the default 0: 0.5, a quarter of the height of 1 m."""
    tables = {
        **SHAPES,
        BODY: {"physicsMaterials": [{"restitution": 1, "restitutionCombine": mode}]},
    }
    nodes = [
        node(body(collider={"shape": 0}), translation=[0, -0.5, 0]),
        node(
            body(motion={"type": "dynamic"}, collider={"shape": 1, "physicsMaterial": 0}),
            translation=[0, 1.25, 0],
        ),
    ]
    with loaded(file(nodes, tables)) as scene:
        heights = []
        has_hit = False
        for _ in range(240):
            scene.step()
            has_hit |= bool(scene.bodies[1].linear_velocity[1] > 0.0)
            if has_hit:
                heights.append(scene.world_from_node(1)[1, 3] - 0.25)
        assert max(heights) == pytest.approx(0.25, abs=0.02)


# --- trigger --------------------------------------------------------------------------------------


def test_a_trigger_with_an_empty_list_of_nodes_is_no_compound() -> None:
    content = file([node(body(trigger={"shape": 0, "nodes": []}))], SHAPES)
    with loaded(content) as scene:
        assert list(scene.triggers) == [0]
    assert codes(content) == {"LIST_EMPTY"}


# --- shapes on nodes, as files of 2023 have them -------------------------------------------------


@pytest.mark.parametrize("kind", ["static", "kinematic", "dynamic"])
def test_a_shape_on_a_node_is_solid(kind: str) -> None:
    content = file(
        [node({BODY: {"type": kind}}, children=[1]), node({SHAPE: {"shape": 0}})], SHAPES
    )
    with loaded(content) as scene:
        hit = scene.ray_cast((0, 5, 0), (0, -5, 0))
        assert hit is not None
        assert (hit.node, hit.fraction) == (1, pytest.approx(0.45))
    assert codes(content) == {"BODY_IN_OLDER_FORM", "SHAPE_ON_NODE"}


def test_a_shape_on_a_node_without_a_body_is_a_static_collider() -> None:
    content = file([node({SHAPE: {"shape": 0}})], SHAPES)
    with loaded(content) as scene:
        assert scene.ray_cast((0, 5, 0), (0, -5, 0)) is not None
    assert codes(content) == {"SHAPE_ON_NODE"}


def test_a_shape_on_the_node_of_a_body_belongs_to_it() -> None:
    content = file([node({BODY: {"type": "dynamic"}, SHAPE: {"shape": 0}})], SHAPES)
    with loaded(content) as scene:
        hit = scene.ray_cast((0, 5, 0), (0, -5, 0))
        assert hit is not None
        assert scene.body_of(0) is not None


@pytest.mark.parametrize("trigger", [{"type": "trigger"}, {"trigger": {}}])
def test_a_shape_below_a_body_that_is_a_trigger_is_one(trigger: Json) -> None:
    ball = node(body(motion={"type": "dynamic"}, collider={"shape": 1}), translation=[0, 0.3, 0])
    nodes = [node({BODY: trigger}, children=[1]), node({SHAPE: {"shape": 0}}), ball]
    with loaded(file(nodes, SHAPES)) as scene:
        assert scene.ray_cast((0.4, 5, 0.4), (0.4, -5, 0.4)) is None
        scene.step(2)
        events = [event.kind for event in scene.events]
        assert events or scene.triggers


def test_a_shape_on_a_node_gives_a_collider_its_shape_that_names_none() -> None:
    content = file([node({BODY: {"collider": {}}, SHAPE: {"shape": 0}})], SHAPES)
    with loaded(content) as scene:
        assert scene.ray_cast((0, 5, 0), (0, -5, 0)) is not None


def test_a_shape_on_a_node_beside_a_collider_with_another_is_ignored() -> None:
    content = file([node({BODY: {"collider": {"shape": 1}}, SHAPE: {"shape": 0}})], SHAPES)
    with loaded(content) as scene:
        assert scene.ray_cast((0.4, 5, 0), (0.4, -5, 0)) is None
    assert codes(content) == {"SHAPE_ON_NODE_UNUSED"}
