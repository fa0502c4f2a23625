"""OMI_physics_joint (002): joints of OMI_physics_body, limits, drives and the first form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.spec.files import G, Json, codes, file, loaded, node

BODY, JOINT = "OMI_physics_body", "OMI_physics_joint"
MOTION: Json = {"type": "dynamic", "mass": 2, "inertiaDiagonal": [1, 1, 1]}
WELD: Json = {"linearAxes": [0, 1, 2], "angularAxes": [0, 1, 2], "min": 0, "max": 0}


def jointed(limits: list[Json], drives: list[Json] | None = None) -> bytes:
    """A static body (1), and a dynamic one (0) that holds the joint to it."""
    description: Json = {"limits": limits, **({"drives": drives} if drives else {})}
    nodes = [
        node({BODY: {"motion": MOTION}, JOINT: {"joint": 0, "connectedNode": 1}}),
        node({BODY: {"motion": {"type": "static"}}}),
    ]
    return file(nodes, {JOINT: {"physicsJoints": [description]}})


def test_a_limit_of_both_lists_holds_linear_and_angular_axes() -> None:
    content = jointed([WELD])
    with loaded(content) as scene:
        scene.apply_impulse(0, (1, 0, 0), (1, 1, 1))
        scene.step(240)
        assert scene.world_from_node(0) == pytest.approx(np.eye(4), abs=1e-3)
    assert codes(content) == set()


def test_an_empty_list_limits_nothing_and_is_no_error() -> None:
    limit = {"linearAxes": [0, 1, 2], "angularAxes": [], "min": 0, "max": 0}
    content = jointed([limit])
    with loaded(content, gravity=0.0) as scene:
        scene.apply_impulse(0, (0, 0, 0), (0, 1, 0))
        scene.step(24)
        assert scene.bodies[0].angular_velocity[1] == pytest.approx(1.0, rel=1e-3)
    assert codes(content) == set()


@pytest.mark.parametrize("stiffness", [{}, {"stiffness": -1}, {"stiffness": -0.001}])
def test_a_stiffness_that_is_negative_or_not_given_is_rigid(stiffness: Json) -> None:
    content = jointed([{**WELD, **stiffness}])
    with loaded(content) as scene:
        scene.step(240)
        assert scene.world_from_node(0)[1, 3] == pytest.approx(0.0, abs=1e-4)
    assert codes(content) == set()


@pytest.mark.parametrize("stiffness", [100.0, 400.0])
def test_a_positive_stiffness_is_in_newtons_per_metre(stiffness: float) -> None:
    limits = [
        {"linearAxes": [0, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": [1], "min": 0, "max": 0, "stiffness": stiffness, "damping": 40},
    ]
    with loaded(jointed(limits)) as scene:
        scene.step(960)
        assert scene.world_from_node(0)[1, 3] == pytest.approx(-2 * G / stiffness, abs=1e-3)


def slide(**drive: object) -> bytes:
    limits = [
        {"linearAxes": [1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
    ]
    return jointed(limits, [{"type": "linear", "mode": "force", "axis": 0, **drive}])


@pytest.mark.parametrize("force", [{}, {"maxForce": -1}])
def test_a_max_force_that_is_negative_or_not_given_is_unlimited(force: Json) -> None:
    """The joint's own node has the motion: it goes to -0.5."""
    content = slide(positionTarget=0.5, stiffness=1e4, damping=500, **force)
    with loaded(content, gravity=0.0) as scene:
        scene.step(480)
        assert scene.world_from_node(0)[0, 3] == pytest.approx(-0.5, abs=1e-3)


def test_a_max_force_is_the_most_that_a_drive_applies() -> None:
    content = slide(positionTarget=100, stiffness=1e4, damping=1, maxForce=4)
    with loaded(content, gravity=0.0) as scene:
        scene.step(240)
        assert scene.bodies[0].linear_velocity[0] == pytest.approx(-4 / 2, rel=0.01)


def test_a_gain_without_its_target_has_no_effect() -> None:
    content = slide(stiffness=100)
    with loaded(content, gravity=0.0) as scene:
        scene.apply_impulse(0, (2, 0, 0), (0, 0, 0))
        scene.step(240)
        assert scene.world_from_node(0)[0, 3] == pytest.approx(1.0, rel=1e-3)
    assert codes(content) == {"DRIVE_GAIN_UNUSED"}


# --- the first form -------------------------------------------------------------------------------


def first_form(constraints: list[Json]) -> bytes:
    nodes = [
        node({BODY: {"motion": {"type": "static"}}}),
        node({BODY: {"motion": {**MOTION, "linearVelocity": [0, 5, 0]}}}),
        node({JOINT: {"constraints": list(range(len(constraints))), "nodeA": 0, "nodeB": 1}}),
    ]
    return file(nodes, {JOINT: {"constraints": constraints}})


@pytest.mark.parametrize(("stated", "damping"), [({}, 1.0), ({"damping": 0.0}, 0.0),
                                                 ({"damping": 3.0}, 3.0)])  # fmt: skip
def test_first_form_the_damping_of_a_spring_is_1_by_default(stated: Json, damping: float) -> None:
    """k = 200 N/m, m = 2 kg, 5 m/s at the start: 0.5 e^(-c t / 2 m) m, 0.236 after 3 s."""
    constraints = [
        {"linearAxes": [0, 2]},
        {"angularAxes": [0, 1, 2]},
        {"linearAxes": [1], "stiffness": 200.0, **stated},
    ]
    with loaded(first_form(constraints), gravity=0.0, rate=1920.0) as scene:
        heights = []
        for _ in range(int(1920 * 3.2)):
            scene.step()
            heights.append(abs(float(scene.world_from_node(1)[1, 3])))
        # A peak for every half period of 0.31 s.
        start = int(1920 * 2.84)
        last = start + int(np.argmax(heights[start:]))
        wanted = 0.5 * math.exp(-damping * last / 1920 / 4)
        assert heights[last] == pytest.approx(wanted, rel=0.03)


def test_first_form_a_constraint_without_a_range_holds_its_axes() -> None:
    constraints = [{"linearAxes": [0, 1, 2]}, {"angularAxes": [0, 1, 2]}]
    with loaded(first_form(constraints)) as scene:
        scene.step(240)
        assert scene.world_from_node(1) == pytest.approx(np.eye(4), abs=2e-3)


def test_first_form_lower_and_upper_limit_are_the_range() -> None:
    constraints = [
        {"linearAxes": [0, 2]},
        {"angularAxes": [0, 1, 2]},
        {"linearAxes": [1], "lowerLimit": -0.25, "upperLimit": 0.5},
    ]
    with loaded(first_form(constraints)) as scene:
        scene.step(480)
        assert scene.world_from_node(1)[1, 3] == pytest.approx(-0.25, abs=1e-3)


# --- nodes ----------------------------------------------------------------------------------------


def test_the_attachment_frames_stand_relative_to_their_bodies() -> None:
    """Nodes of their own: the frame below the dynamic body is 1 m above it, and is held."""
    nodes = [
        node({BODY: {"motion": {"type": "static"}}}, children=[1], translation=[0, 5, 0]),
        node(translation=[2, 0, 0]),
        node({BODY: {"motion": MOTION}}, children=[3], translation=[2, 4, 0]),
        node({JOINT: {"joint": 0, "connectedNode": 1}}, translation=[0, 1, 0]),
    ]
    content = file(nodes, {JOINT: {"physicsJoints": [{"limits": [WELD]}]}})
    with loaded(content) as scene:
        scene.step(240)
        assert scene.world_from_node(2)[:3, 3] == pytest.approx((2, 4, 0), abs=1e-3)
    assert codes(content) == set()


@pytest.mark.parametrize("kind", ["static", "kinematic", "dynamic"])
def test_the_connected_node_may_be_of_a_body_of_any_type(kind: str) -> None:
    nodes = [
        node({BODY: {"motion": MOTION}, JOINT: {"joint": 0, "connectedNode": 1}}),
        node({BODY: {"motion": {**MOTION, "type": kind}}}),
    ]
    content = file(nodes, {JOINT: {"physicsJoints": [{"limits": [WELD]}]}})
    with loaded(content, gravity=0.0) as scene:
        scene.apply_impulse(0, (2, 0, 0), (0, 0, 0))
        scene.step(60)
        speed = float(scene.bodies[0].linear_velocity[0])
        assert speed == pytest.approx(0.5 if kind == "dynamic" else 0.0, abs=2e-3)


@pytest.mark.parametrize("joint", [{"joint": 0}, {"connectedNode": 1}, {}])
def test_joint_and_connected_node_are_required(joint: Json) -> None:
    nodes = [
        node({BODY: {"motion": MOTION}, JOINT: joint}),
        node({BODY: {"motion": {"type": "static"}}}),
    ]
    content = file(nodes, {JOINT: {"physicsJoints": [{"limits": [WELD]}]}})
    assert {"ABSENCE_MENDED"} <= codes(content)


def test_settings_without_limits_and_drives_are_useless() -> None:
    nodes = [
        node({BODY: {"motion": MOTION}, JOINT: {"joint": 0, "connectedNode": 1}}),
        node({BODY: {"motion": {"type": "static"}}}),
    ]
    assert codes(file(nodes, {JOINT: {"physicsJoints": [{}]}})) >= {"JOINT_WITHOUT_EFFECT"}


def test_a_limit_without_axes_is_invalid_and_one_without_a_range_useless() -> None:
    assert "LIMIT_WITHOUT_AXES" in codes(jointed([{"min": 0, "max": 0}, WELD]))
    assert "LIMIT_RESTRICTS_NOTHING" in codes(jointed([{"linearAxes": [0]}, WELD]))


# --- special cases --------------------------------------------------------------------------------


def moved(limits: list[Json]) -> tuple[np.ndarray, np.ndarray]:
    """How far a body gets along each axis, and about each, pushed along and about all of them."""
    with loaded(jointed(limits), gravity=0.0) as scene:
        for _ in range(120):
            scene.bodies[0].apply_force((4, 4, 4))
            scene.bodies[0].apply_torque((0.3, 0.3, 0.3))
            scene.step()
        pose = scene.world_from_node(0)
        spin = np.array(scene.bodies[0].angular_velocity)
        return np.abs(pose[:3, 3]), np.abs(spin)


def fixed(key: str, *axes: int) -> Json:
    return {key: list(axes), "min": 0, "max": 0}


def test_a_pin_joint_fixes_all_linear_axes() -> None:
    way, spin = moved([fixed("linearAxes", 0, 1, 2)])
    assert way.max() < 1e-3
    assert spin.min() > 0.05


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_hinge_joint_turns_about_one_axis(axis: int) -> None:
    others = [k for k in range(3) if k != axis]
    limits = [fixed("linearAxes", 0, 1, 2), fixed("angularAxes", *others)]
    way, spin = moved([*limits, {"angularAxes": [axis], "min": -1, "max": 1}])
    assert way.max() < 1e-3
    assert spin[axis] > 0.1
    assert spin[others].max() < 1e-3


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_slider_joint_goes_along_one_axis(axis: int) -> None:
    others = [k for k in range(3) if k != axis]
    limits = [fixed("angularAxes", 0, 1, 2), fixed("linearAxes", *others)]
    way, spin = moved([*limits, {"linearAxes": [axis], "min": -0.1, "max": 0.1}])
    assert way[axis] == pytest.approx(0.1, abs=1e-3)
    assert way[others].max() < 1e-3
    assert spin.max() < 1e-3


# --- drives ---------------------------------------------------------------------------------------


def test_a_drive_with_a_position_target_is_a_damped_spring() -> None:
    """Without a velocity target its damping brakes: an overdamped course, no overshoot."""
    content = slide(positionTarget=0.5, stiffness=8, damping=12)
    with loaded(content, gravity=0.0) as scene:
        course = []
        for _ in range(1200):
            scene.step()
            course.append(float(scene.world_from_node(0)[0, 3]))
        # m x'' + c x' + k x = 0 of roots (-c -+ sqrt(c^2 - 4 k m)) / 2 m.
        slow, fast = (-12 + math.sqrt(80)) / 4, (-12 - math.sqrt(80)) / 4
        time = 240 / 240
        left = (fast * math.exp(slow * time) - slow * math.exp(fast * time)) / (fast - slow)
        assert course[239] == pytest.approx(-0.5 * (1 - left), abs=5e-3)
        assert min(course) >= -0.5 - 1e-4


def test_a_drive_with_a_velocity_target_alone_is_a_motor() -> None:
    with loaded(slide(velocityTarget=0.4, damping=50), gravity=0.0) as scene:
        scene.step(480)
        assert scene.bodies[0].linear_velocity[0] == pytest.approx(-0.4, abs=1e-3)


@pytest.mark.parametrize("missing", ["type", "mode", "axis"])
def test_type_mode_and_axis_are_required(missing: str) -> None:
    drive = {"type": "linear", "mode": "force", "axis": 0, "velocityTarget": 1, "damping": 5}
    del drive[missing]
    assert "ABSENCE_MENDED" in codes(jointed([fixed("linearAxes", 1, 2)], [drive]))
