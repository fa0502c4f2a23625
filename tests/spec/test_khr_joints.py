"""KHR_physics_rigid_bodies, "Joints" and the appendix "Joint Limit Metrics" (000, 001)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gltf_bullet as gb
from tests.spec.files import KHR, G, Json, codes, file, loaded, node

MOTION: Json = {"mass": 1, "inertiaDiagonal": [0.1, 0.1, 0.1]}


def jointed(
    limits: list[Json], drives: list[Json] | None = None, *, at: tuple[float, ...] = (0, 0, 0)
) -> bytes:
    """A body (1) on a joint whose node (0) stands in the world; frames at the origin."""
    description: Json = {"limits": limits, **({"drives": drives} if drives else {})}
    nodes = [
        node({KHR: {"joint": {"connectedNode": 1, "joint": 0}}}),
        node({KHR: {"motion": MOTION}}, translation=list(at)),
    ]
    return file(nodes, {KHR: {"physicsJoints": [description]}})


def pushed(
    scene: gb.Scene,
    force: tuple[float, ...],
    torque: tuple[float, ...] = (0, 0, 0),
    steps: int = 480,
) -> np.ndarray:
    """Where body 1 is after a steady force and torque, damped by hand."""
    for _ in range(steps):
        body = scene.bodies[1]
        body.apply_force(np.array(force) - 2.0 * np.array(body.linear_velocity))
        body.apply_torque(np.array(torque) - 0.3 * np.array(body.angular_velocity))
        scene.step()
    return scene.world_from_node(1)


def angle_of(matrix: np.ndarray) -> float:
    return math.acos(min(1.0, max(-1.0, (np.trace(matrix[:3, :3]) - 1) / 2)))


ALL_LOCKED = [
    {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
    {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
]


# --- attachment frames ----------------------------------------------------------------------------


def test_a_joint_of_no_freedom_aligns_the_nodes() -> None:
    with loaded(jointed(ALL_LOCKED)) as scene:
        scene.step(240)
        assert scene.world_from_node(1) == pytest.approx(np.eye(4), abs=1e-4)


def test_a_joint_of_no_freedom_brings_nodes_that_are_apart_together() -> None:
    content = jointed(ALL_LOCKED, at=(0.1, 0, 0))
    with loaded(content, gravity=0.0) as scene:
        scene.step(480)
        assert scene.world_from_node(1)[:3, 3] == pytest.approx((0, 0, 0), abs=1e-3)
    assert codes(content) == {"JOINT_STARTS_VIOLATED"}


def test_a_frame_stands_relative_to_the_first_motion_above_it() -> None:
    """The body hangs 1 m below its attachment node: a pendulum of that length."""
    nodes = [
        node({KHR: {"joint": {"connectedNode": 2, "joint": 0}}}, translation=[0, 5, 0]),
        node({KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1e-3] * 3}}}, children=[2],
             translation=[math.sin(0.1), 5 - math.cos(0.1), 0],
             rotation=[0, 0, math.sin(0.05), math.cos(0.05)]),
        node(translation=[0, 1, 0]),
    ]  # fmt: skip
    joint = {
        "limits": [
            {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
            {"angularAxes": [0, 1], "min": 0, "max": 0},
        ]
    }
    with loaded(file(nodes, {KHR: {"physicsJoints": [joint]}}), rate=960.0) as scene:
        xs = []
        for _ in range(1, 960 * 3):
            scene.step()
            xs.append(float(scene.world_from_node(1)[0, 3]))
        crossings = [k for k in range(1, len(xs)) if xs[k - 1] > 0 >= xs[k]]
        period = (crossings[1] - crossings[0]) / 960
        # Of a physical pendulum; at 0.1 rad 0.06 % longer.
        wanted = 2 * math.pi * math.sqrt((1 + 1e-3) / G) * (1 + 0.1**2 / 16)
        assert period == pytest.approx(wanted, rel=2e-3)


def test_one_of_the_nodes_should_have_motion() -> None:
    nodes = [node({KHR: {"joint": {"connectedNode": 1, "joint": 0}}}), node()]
    content = file(nodes, {KHR: {"physicsJoints": [{"limits": ALL_LOCKED}]}})
    assert codes(content) == {"JOINT_MOVES_NOTHING"}


def test_a_joint_must_have_a_connected_node_and_a_description() -> None:
    tables = {KHR: {"physicsJoints": [{"limits": ALL_LOCKED}]}}
    for joint in ({"joint": 0}, {"connectedNode": 1}):
        nodes = [node({KHR: {"joint": joint}}), node({KHR: {"motion": MOTION}})]
        assert codes(file(nodes, tables)) == {"ABSENCE_MENDED"}


def test_descriptions_are_shared() -> None:
    joint = {"connectedNode": 1, "joint": 0}
    nodes = [
        node({KHR: {"joint": joint}}),
        node({KHR: {"motion": MOTION}}),
        node({KHR: {"joint": {**joint, "connectedNode": 3}}}, translation=[5, 0, 0]),
        node({KHR: {"motion": MOTION}}, translation=[5, 0, 0]),
    ]
    tables = {KHR: {"physicsJoints": [{"limits": [*ALL_LOCKED]}]}}
    with loaded(file(nodes, tables)) as scene:
        scene.step(120)
        assert scene.world_from_node(1)[1, 3] == pytest.approx(0, abs=1e-4)
        assert scene.world_from_node(3)[1, 3] == pytest.approx(0, abs=1e-4)


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_1d_linear_limit_is_a_signed_distance_from_a_plane(axis: int) -> None:
    """e_i . (t_b - t_a) within -0.3 and 0.2; along the other axes it is free."""
    limit = {"linearAxes": [axis], "min": -0.3, "max": 0.2}
    away = [k for k in range(3) if k != axis]
    for sign, end in ((1, 0.2), (-1, -0.3)):
        with loaded(jointed([limit]), gravity=0.0) as scene:
            at = pushed(scene, tuple(5.0 * sign * np.ones(3)))[:3, 3]
            assert at[axis] == pytest.approx(end, abs=1e-3)
            assert np.abs(at[away]).min() > 0.5


@pytest.mark.parametrize("axes", list(itertools.combinations(range(3), 2)))
def test_a_2d_linear_limit_is_a_distance_from_a_line(axes: tuple[int, int]) -> None:
    (free,) = {0, 1, 2} - set(axes)
    with loaded(jointed([{"linearAxes": list(axes), "max": 0.2}]), gravity=0.0) as scene:
        at = pushed(scene, (3.0, 3.0, 3.0))[:3, 3]
        assert math.hypot(*at[list(axes)]) == pytest.approx(0.2, abs=1e-3)
        assert at[free] > 0.5


def test_a_3d_linear_limit_is_a_distance_from_a_point() -> None:
    with loaded(jointed([{"linearAxes": [0, 1, 2], "max": 0.2}]), gravity=0.0) as scene:
        at = pushed(scene, (3.0, 1.0, -2.0))[:3, 3]
        assert at == pytest.approx(0.2 * np.array([3, 1, -2]) / math.sqrt(14), abs=2e-3)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_1d_angular_limit_is_an_angle_about_its_axis(axis: int) -> None:
    """A hinge, as the text builds one: locks, and a range about the remaining axis."""
    limits = [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [k for k in range(3) if k != axis], "min": 0, "max": 0},
        {"angularAxes": [axis], "min": -0.4, "max": 0.9},
    ]
    for sign, end in ((1, 0.9), (-1, 0.4)):
        with loaded(jointed(limits), gravity=0.0) as scene:
            pose = pushed(scene, (0, 0, 0), tuple(sign * np.eye(3)[axis]))
            assert angle_of(pose) == pytest.approx(end, abs=4e-3)


@pytest.mark.parametrize("pole", [0, 1, 2])
def test_a_2d_angular_limit_is_a_cone_about_the_remaining_axis(pole: int) -> None:
    """arccos(q_a e_k . q_b e_k) <= 0.5, and free to spin about the pole."""
    axes = [k for k in range(3) if k != pole]
    limits = [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": axes, "max": 0.5},
    ]
    with loaded(jointed(limits), gravity=0.0) as scene:
        torque = np.zeros(3)
        torque[axes[0]], torque[axes[1]] = 0.6, 0.8
        pose = pushed(scene, (0, 0, 0), tuple(torque))
        assert math.acos(pose[pole, pole]) == pytest.approx(0.5, abs=4e-3)


def test_a_3d_angular_limit_is_the_total_angle() -> None:
    limits = [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "max": 0.5},
    ]
    with loaded(jointed(limits), gravity=0.0) as scene:
        pose = pushed(scene, (0, 0, 0), (0.6, 0.0, 0.8))
        assert angle_of(pose) == pytest.approx(0.5, abs=4e-3)


@pytest.mark.parametrize(("bound", "stays"), [("min", -1), ("max", 1)])
def test_a_bound_that_is_not_provided_is_none(bound: str, stays: int) -> None:
    limit = {"linearAxes": [0], bound: 0.1 * stays}
    with loaded(jointed([limit]), gravity=0.0) as scene:
        assert pushed(scene, (4.0 * stays, 0, 0))[0, 3] == pytest.approx(0.1 * stays, abs=1e-3)
    with loaded(jointed([limit]), gravity=0.0) as scene:
        assert abs(pushed(scene, (-4.0 * stays, 0, 0))[0, 3]) > 1.0


def test_within_the_range_no_corrective_force_is_applied() -> None:
    limit = {"linearAxes": [0, 1, 2], "max": 5.0}
    with loaded(jointed([limit]), gravity=0.0) as scene:
        scene.apply_impulse(1, (1, 0, 0), (0, 0, 0))
        scene.step(240)
        assert scene.world_from_node(1)[0, 3] == pytest.approx(1.0, abs=1e-6)


def test_a_finite_stiffness_makes_a_limit_soft() -> None:
    """F / k beyond the limit."""
    limits = [
        {"linearAxes": [0, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": [1], "min": -0.1, "stiffness": 100, "damping": 20},
    ]
    with loaded(jointed(limits)) as scene:
        scene.step(960)
        assert scene.world_from_node(1)[1, 3] == pytest.approx(-0.1 - G / 100, abs=1e-3)


def test_damping_is_applied_beyond_the_limit() -> None:
    """An oscillator of k = 200 N/m, c = 2 N s/m, m = 1 kg: amplitude e^(-c t / 2 m)."""
    limits = [
        {"linearAxes": [0, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": [1], "min": 0, "max": 0, "stiffness": 200, "damping": 2},
    ]
    content = jointed(limits)
    with loaded(content, gravity=0.0, rate=1920.0) as scene:
        scene.apply_impulse(1, (0, 2, 0), (0, 0, 0))
        heights = []
        for _ in range(1920 * 2):
            scene.step()
            heights.append(abs(float(scene.world_from_node(1)[1, 3])))
        start, end = max(heights[:960]), max(heights[1920:2880])
        peaks = (np.argmax(heights[:960]), 1920 + np.argmax(heights[1920:2880]))
        time = float(peaks[1] - peaks[0]) / 1920
        assert end / start == pytest.approx(math.exp(-time), rel=0.05)


def test_each_limit_must_provide_axes() -> None:
    assert "LIMIT_WITHOUT_AXES" in codes(jointed([{"min": 0, "max": 0}]))


def test_both_lists_of_axes_are_named() -> None:
    both = {"linearAxes": [0], "angularAxes": [0], "min": 0, "max": 0}
    assert "LIMIT_BOTH_AXES" in codes(jointed([both]))


# --- drives ---------------------------------------------------------------------------------------


def sliding(**drive: object) -> bytes:
    """Along X, free."""
    limits = [
        {"linearAxes": [1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
    ]
    return jointed(limits, [{"type": "linear", "mode": "force", "axis": 0, **drive}])


def test_a_drive_is_a_forced_damped_spring() -> None:
    """k (x* - x) + d (v* - v): at rest under 3 N it is off by 3/k."""
    content = sliding(positionTarget=0.5, stiffness=50, damping=20)
    with loaded(content, gravity=0.0) as scene:
        for _ in range(960):
            scene.bodies[1].apply_force((3, 0, 0))
            scene.step()
        assert scene.world_from_node(1)[0, 3] == pytest.approx(0.5 + 3 / 50, abs=1e-3)


def test_a_velocity_target_is_reached_by_damping() -> None:
    with loaded(sliding(velocityTarget=0.7, damping=30), gravity=0.0) as scene:
        scene.step(240)
        assert scene.bodies[1].linear_velocity[0] == pytest.approx(0.7, abs=1e-3)


def test_max_force_is_the_most_that_a_drive_applies() -> None:
    """2 N on 1 kg for a second."""
    content = sliding(positionTarget=100, stiffness=1e4, damping=10, maxForce=2)
    with loaded(content, gravity=0.0) as scene:
        scene.step(240)
        assert scene.bodies[1].linear_velocity[0] == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize("mass", [0.5, 4.0])
def test_acceleration_mode_scales_by_the_effective_mass(mass: float) -> None:
    """The same course whatever the mass."""
    content = sliding(mode="acceleration", positionTarget=0.5, stiffness=9, damping=2)
    courses = []
    for value in (1.0, mass):
        with loaded(content, gravity=0.0) as scene:
            scene.set(f"/nodes/1/extensions/{KHR}/motion/mass", value)
            scene.step(120)
            courses.append(float(scene.world_from_node(1)[0, 3]))
    assert courses[1] == pytest.approx(courses[0], rel=1e-3)
    assert courses[0] > 0.1


def test_an_angular_drive_turns_about_its_axis() -> None:
    limits = [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1], "min": 0, "max": 0},
    ]
    drive = {
        "type": "angular", "mode": "force", "axis": 2, "positionTarget": 0.8,
        "stiffness": 20, "damping": 3,
    }  # fmt: skip
    with loaded(jointed(limits, [drive]), gravity=0.0) as scene:
        scene.step(960)
        pose = scene.world_from_node(1)
        assert math.atan2(pose[1, 0], pose[0, 0]) == pytest.approx(0.8, abs=1e-3)


def test_the_sign_of_a_drive_is_that_of_the_connected_node() -> None:
    """The joint's own node moves instead where it has the motion: the other way."""
    drive = {
        "type": "linear", "mode": "force", "axis": 0, "positionTarget": 0.3,
        "stiffness": 50, "damping": 20,
    }  # fmt: skip
    joint = {
        "limits": [
            {"linearAxes": [1, 2], "min": 0, "max": 0},
            {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        ],
        "drives": [drive],
    }
    nodes = [
        node({KHR: {"motion": MOTION, "joint": {"connectedNode": 1, "joint": 0}}}),
        node(),
    ]
    with loaded(file(nodes, {KHR: {"physicsJoints": [joint]}}), gravity=0.0) as scene:
        scene.step(960)
        assert scene.world_from_node(0)[0, 3] == pytest.approx(-0.3, abs=1e-3)


# --- collisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("enabled", [None, False, True])
def test_jointed_bodies_collide_only_with_enable_collision(enabled: bool | None) -> None:
    """Two balls that overlap by 5 cm on a slide: pushed apart, or left where they are."""
    joint: Json = {"connectedNode": 1, "joint": 0}
    if enabled is not None:
        joint["enableCollision"] = enabled
    ball = {"geometry": {"shape": 0}}
    description = {"limits": [{"linearAxes": [1, 2], "min": 0, "max": 0}]}
    nodes = [
        node({KHR: {"motion": {"mass": 1}, "collider": ball, "joint": joint}}),
        node({KHR: {"motion": {"mass": 1}, "collider": ball}}, translation=[0.95, 0, 0]),
    ]
    tables = {
        KHR: {"physicsJoints": [description]},
        "KHR_implicit_shapes": {"shapes": [{"type": "sphere"}]},
    }
    with loaded(file(nodes, tables), gravity=0.0) as scene:
        scene.step(6 * 240)  # jointed ones are let out at 10 mm/s
        gap = scene.world_from_node(1)[0, 3] - scene.world_from_node(0)[0, 3]
        assert (gap > 0.99) == bool(enabled)
