"""Jointed bodies in the engine against formulas, at 240 and at 60 Hz."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pybullet
import pytest

from gltf_bullet.model import MotionKind
from tests.physics.joint_bench import (
    ANGULAR,
    BALL,
    LINEAR,
    Bench,
    drive,
    hinge,
    lock,
    slider,
    span,
)

WEIGHTLESS = (0.0, 0.0, 0.0)
G = 9.81


@pytest.fixture(params=[1 / 240, 1 / 60], ids=["240Hz", "60Hz"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(dt=request.param)
    yield made
    if hasattr(made, "client"):
        made.close()


# --- passive joints ---------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [hinge(1), BALL], ids=["hinge", "ball"])
def test_pendulum_keeps_its_energy(bench: Bench, limits) -> None:
    body = bench.body((1, 0, 0), mass=2, inertia=(0.1, 0.2, 0.3))
    bench.connect(-1, body, (0, 0, 0), limits)
    bench.start()
    swing = 2 * G * 1.0
    for _ in range(5):
        bench.run(1.0)
        assert abs(bench.energy()) < 0.1 * swing * 60 * bench.dt


@pytest.mark.parametrize("limits", [hinge(1), BALL], ids=["hinge", "ball"])
def test_a_double_pendulum_keeps_its_energy(bench: Bench, limits) -> None:
    """Two rods of 1 m from rest, level: m l^2 / 12 each; they swing about 24.5 J up and down."""
    upper = bench.body((0.5, 0, 0), mass=2, inertia=(0.01, 2 / 12, 2 / 12))
    lower = bench.body((1.5, 0, 0), mass=1, inertia=(0.01, 1 / 12, 1 / 12))
    bench.connect(-1, upper, (0, 0, 0), limits)
    bench.connect(upper, lower, (1, 0, 0), limits)
    bench.start()
    swing = 2 * G * 0.5 + 1 * G * 1.5
    worst = 0.0
    for _ in range(round(5.0 / bench.dt)):
        bench.step()
        worst = max(worst, abs(bench.energy()))
    assert worst < 0.01 * swing * 240 * bench.dt


def test_a_whirling_ball_pendulum_keeps_its_energy(bench: Bench) -> None:
    """The engine alone goes from 4.1 to 9 J in these 5 s at 240 Hz (explicit Coriolis terms)."""
    body = bench.body(
        (0.5, 0, 0), mass=2, inertia=(0.1, 0.2, 0.3), velocity=(0, 2, 1.5), spin=(3, 4, 1)
    )
    bench.connect(-1, body, (0, 0, 0), BALL)
    bench.start()
    start = bench.energy()
    bench.run(5.0)
    assert bench.energy() == pytest.approx(start, rel=0.01)


def test_a_free_joint_graph_conserves_momentum(bench: Bench) -> None:
    bench.gravity = WEIGHTLESS
    a = bench.body((0, 0, 0), inertia=(0.1, 0.2, 0.3), velocity=(1, 0, 0), spin=(1, 5, 0.1))
    b = bench.body((1, 0, 0), mass=2, inertia=(0.1, 0.3, 0.15), spin=(0, -3, 1))
    c = bench.body((2, 0, 0), mass=0.5, inertia=(0.02, 0.02, 0.03), spin=(6, 1, 1))
    bench.connect(a, b, (0.5, 0, 0), BALL)
    bench.connect(b, c, (1.5, 0, 0), hinge(2))
    bench.start()
    linear, angular = bench.momentum()
    bench.run(5.0)
    later_linear, later_angular = bench.momentum()
    tolerance = 0.002 if bench.dt < 0.01 else 0.02
    assert np.linalg.norm(later_linear - linear) < tolerance * np.linalg.norm(linear)
    assert np.linalg.norm(later_angular - angular) < tolerance * np.linalg.norm(angular)


def test_a_falling_rope_of_balls_stays_whole_and_finite(bench: Bench) -> None:
    """Bullet alone reaches 1e10 J here at 60 Hz: the whip cannot be resolved, so it is damped."""
    above = -1
    joints = []
    for k in range(12):
        body = bench.body((0.25 + 0.5 * k, 0, 0), mass=0.5, inertia=(0.01, 0.01, 0.01))
        joints.append(bench.connect(above, body, (0.5 * k, 0, 0), BALL))
        above = body
    bench.start()
    for _ in range(5):
        bench.run(1.0)
        assert bench.energy() < 100.0
    assert all(np.linalg.norm(bench.relative(j).translation) < 1e-6 for j in joints)


# --- limits -----------------------------------------------------------------------------------


def test_a_hinge_falls_onto_its_stop_and_stays(bench: Bench) -> None:
    body = bench.body((1, 0, 0), mass=2)
    stop = math.radians(45)
    limits = [*BALL, lock(ANGULAR, 0, 2), span(ANGULAR, 1, -1, stop)]
    bench.connect(-1, body, (0, 0, 0), limits)
    bench.start()
    handle = bench.art.controls.dofs(next(iter(bench.joints)))[0]
    for _ in range(round(2.0 / bench.dt)):
        bench.step()
        assert bench.art.controls.dof_state(handle).position[0] < stop + math.radians(0.01)
    assert bench.art.controls.dof_state(handle).position[0] == pytest.approx(stop, abs=1e-4)


def test_a_soft_limit_gives_way_by_the_load_over_its_stiffness(bench: Bench) -> None:
    body = bench.body((0, 0, 0), mass=2)
    soft = span(LINEAR, 2, -0.1, 1, stiffness=500.0, damping=20.0)
    joint = bench.connect(-1, body, (0, 0, 0), [lock(LINEAR, 0, 1), lock(ANGULAR, 0, 1, 2), soft])
    bench.start()
    bench.run(5.0)
    assert bench.relative(joint).translation[2] == pytest.approx(-0.1 - 2 * G / 500, rel=0.01)


def test_a_body_outside_of_its_limit_comes_back_without_a_jump(bench: Bench) -> None:
    body = bench.body((0, 0, 0), mass=2)
    limits = [lock(LINEAR, 0, 1), lock(ANGULAR, 0, 1, 2), span(LINEAR, 2, 0.5, 0.8)]
    joint = bench.connect(-1, body, (0, 0, 0), limits)
    bench.start()
    heights = []
    for _ in range(round(1.0 / bench.dt)):
        bench.step()
        heights.append(bench.relative(joint).translation[2])
    assert max(heights) < 0.51
    assert heights[-1] == pytest.approx(0.5, abs=1e-3)


def test_a_rope_keeps_its_length_and_never_gains_energy(bench: Bench) -> None:
    body = bench.body((0.7, 0, -0.7), mass=2, inertia=(0.02, 0.02, 0.02))
    joint = bench.connect(
        -1, body, (0, 0, 0), [span(LINEAR, (0, 1, 2), 0, 1)], position_b=(0.7, 0, -0.7)
    )
    bench.start()
    start = bench.energy()
    for _ in range(round(10.0 / bench.dt)):
        bench.step()
        assert np.linalg.norm(bench.relative(joint).translation) < 1.005
    assert bench.energy() <= start + 1e-6


@pytest.mark.parametrize("opening", [40.0, 85.0])
@pytest.mark.parametrize("spin", [0.0, 9.0])
def test_a_cone_holds_within_a_tenth_of_a_degree(bench: Bench, opening: float, spin: float) -> None:
    body = bench.body(
        (0.05, 0, 1), mass=2, inertia=(0.1, 0.1, 0.05), spin=(0, 0, spin), velocity=(0.5, 0.3, 0)
    )
    cone = span(ANGULAR, (0, 1), 0, math.radians(opening))
    joint = bench.connect(-1, body, (0, 0, 0), [*BALL, cone])
    bench.start()
    for _ in range(round(4.0 / bench.dt)):
        bench.step()
        tilt = math.acos(min(1.0, bench.relative(joint).matrix()[2, 2]))
        assert math.degrees(tilt) < opening + 0.1


# --- topology ---------------------------------------------------------------------------------


def test_a_four_bar_linkage_stays_closed(bench: Bench) -> None:
    crank = bench.body((0, 0, 0.25), inertia=(0.02, 0.02, 0.02), spin=(0, 3, 0))
    coupler = bench.body((0.5, 0, 0.5), inertia=(0.02, 0.05, 0.05))
    rocker = bench.body((1, 0, 0.25), inertia=(0.02, 0.02, 0.02))
    joints = [
        bench.connect(-1, crank, (0, 0, 0), hinge(1)),
        bench.connect(crank, coupler, (0, 0, 0.5), hinge(1)),
        bench.connect(coupler, rocker, (1, 0, 0.5), hinge(1)),
        bench.connect(rocker, -1, (1, 0, 0), hinge(1)),
    ]
    bench.start()
    for _ in range(round(10.0 / bench.dt)):
        bench.step()
    gaps = [np.linalg.norm(bench.relative(joint).translation) for joint in joints]
    assert max(gaps) < 1e-4


def test_a_loop_with_a_gap_of_50_mm_closes_gently(bench: Bench) -> None:
    bench.gravity = WEIGHTLESS
    a = bench.body((0, 0, 0.25), inertia=(0.02, 0.02, 0.02))
    b = bench.body((0.5, 0, 0.5), inertia=(0.02, 0.05, 0.05))
    c = bench.body((1, 0, 0.25), inertia=(0.02, 0.02, 0.02))
    joints = [
        bench.connect(-1, a, (0, 0, 0), BALL),
        bench.connect(a, b, (0, 0, 0.5), BALL),
        bench.connect(b, c, (1, 0, 0.5), BALL, position_b=(1.05, 0, 0.5)),
        bench.connect(c, -1, (1, 0, 0), BALL),
    ]
    bench.start()
    for _ in range(round(2.0 / bench.dt)):
        bench.step()
        assert bench.energy() < 1.0
    assert max(np.linalg.norm(bench.relative(j).translation) for j in joints) < 1e-4


@pytest.mark.parametrize("carrier", ["kinematic body", "animated node"])
def test_an_accelerating_anchor_swings_what_hangs_on_it(bench: Bench, carrier: str) -> None:
    """theta'' = -(m g l sin theta + m l x'' cos theta) / (I + m l^2), x = A (1 - cos w t)."""
    anchor = -1
    if carrier == "kinematic body":
        anchor = bench.body((0, 0, 0), kind=MotionKind.KINEMATIC)
    body = bench.body((0, 0, -0.5), mass=2, inertia=(0.05, 0.05, 0.05))
    joint = bench.connect(anchor, body, (0, 0, 0), hinge(1))
    if anchor < 0:
        bench.moving = [joint]
        anchor = joint
    bench.start()
    amplitude, w, length, substeps = 0.2, 4.0, 0.5, 20
    theta = rate = time = 0.0
    h = bench.dt / substeps
    for _ in range(round(3.0 / bench.dt)):
        here, there = (amplitude * (1 - math.cos(w * t)) for t in (time, time + bench.dt))
        velocity = ((there - here) / bench.dt, 0, 0)
        bench.art.set_anchor(anchor, (here, 0, 0), (0, 0, 0, 1), velocity, (0, 0, 0), bench.dt)
        bench.step()
        for _ in range(substeps):
            pull = G * math.sin(theta) + amplitude * w * w * math.cos(w * time) * math.cos(theta)
            rate -= h * 2 * length * pull / (0.05 + 2 * length**2)
            theta += h * rate
            time += h
    x, _, z = bench.position(body)
    found = math.atan2(x - amplitude * (1 - math.cos(w * time)), -z)
    assert found == pytest.approx(theta, abs=0.02)


def test_bodies_of_one_articulation_collide_unless_jointed(bench: Bench) -> None:
    """Two arms on one trunk fall towards each other and meet; each passes through the trunk."""
    trunk = bench.body((0, 0, 0), mass=5, inertia=(1, 1, 1), half=(0.1, 0.1, 0.1))
    bench.connect(-1, trunk, (0, 0, 0), [lock(LINEAR, 0, 1, 2), lock(ANGULAR, 0, 1, 2)])
    arms = []
    for side in (-1, 1):
        arm = bench.body((side * 0.5, 0, 0), half=(0.05, 0.05, 0.05), inertia=(0.01, 0.01, 0.01))
        bench.connect(trunk, arm, (0, 0, 0), hinge(1))
        arms.append(arm)
    bench.start()
    bench.run(3.0)
    gap = np.linalg.norm(bench.position(arms[0]) - bench.position(arms[1]))
    assert gap > 0.095


def test_initial_velocities_are_projected_onto_the_joints(bench: Bench) -> None:
    """A slider along x keeps the x part only: 3 of (3, 4, 5) m/s."""
    bench.gravity = WEIGHTLESS
    body = bench.body((0, 0, 0), velocity=(3, 4, 5), spin=(1, 2, 3))
    bench.connect(-1, body, (0, 0, 0), slider(0))
    bench.start()
    linear, angular = bench.art.velocities_of(body)
    np.testing.assert_allclose(linear, (3, 0, 0), atol=1e-9)
    np.testing.assert_allclose(angular, 0.0, atol=1e-9)


def test_a_body_welded_to_the_world_ignores_its_velocity_and_impulses(bench: Bench) -> None:
    body = bench.body((1, 2, 3), velocity=(3, 4, 5), spin=(1, 2, 3))
    bench.connect(-1, body, (0, 0, 0), [lock(LINEAR, 0, 1, 2), lock(ANGULAR, 0, 1, 2)])
    bench.start()
    bench.art.apply_impulse(body, (7, 0, 5), (1, 2, 3))
    bench.run(0.1)
    np.testing.assert_allclose(bench.position(body), (1, 2, 3), atol=1e-9)
    np.testing.assert_allclose(bench.art.velocities_of(body), 0.0, atol=1e-9)


def test_a_welded_tower_too_long_for_one_multibody_stands(bench: Bench) -> None:
    """The engine keeps 127 links; the rest of the tower hangs on the lower part by a load."""
    below, bodies = -1, []
    for k in range(150):
        bodies.append(bench.body((0, 0, 0.1 * k), inertia=(0.01, 0.01, 0.01)))
        bench.connect(
            below, bodies[-1], (0, 0, 0.1 * k), [lock(LINEAR, 0, 1, 2), lock(ANGULAR, 0, 1, 2)]
        )
        below = bodies[-1]
    bench.start()
    bench.run(0.2)
    for k in (0, 100, 149):
        np.testing.assert_allclose(bench.position(bodies[k]), (0, 0, 0.1 * k), atol=1e-4)


def test_an_impulse_goes_through_the_joints_at_once(bench: Bench) -> None:
    """A hinge at distance r: w = J r / (I + m r^2)."""
    bench.gravity = WEIGHTLESS
    body = bench.body((1, 0, 0), mass=2, inertia=(0.1, 0.5, 0.1))
    bench.connect(-1, body, (0, 0, 0), hinge(1))
    bench.start()
    bench.art.apply_impulse(body, (7, 0, 5), (0, 0, 0))
    assert bench.art.velocities_of(body)[1][1] == pytest.approx(-5 * 1 / (0.5 + 2))


def test_gravity_factor_acts_on_jointed_bodies(bench: Bench) -> None:
    body = bench.body((0, 0, 0), mass=2, gravity_factor=-0.5)
    bench.connect(-1, body, (0, 0, 0), slider(2))
    bench.start()
    bench.run(0.5)
    assert bench.art.velocities_of(body)[0][2] == pytest.approx(0.5 * G * 0.5)


def test_a_restored_state_repeats_the_run_exactly(bench: Bench) -> None:
    above = -1
    for k in range(3):
        body = bench.body((0.5 + k, 0, 0), mass=2, inertia=(0.01, 0.2, 0.2))
        bench.connect(
            above,
            body,
            (k, 0, 0),
            [*hinge(1), span(ANGULAR, 1, -0.3, 0.4)],
            [drive(ANGULAR, 1, stiffness=50.0, damping=1.0)],
        )
        above = body
    bench.start()
    bench.run(0.3)
    engine = pybullet.saveState(physicsClientId=bench.client)
    state = bench.art.state(1.0 / 240.0)
    bench.run(0.5)
    first = bench.position(above)
    pybullet.restoreState(engine, physicsClientId=bench.client)
    bench.art.restore(state)
    bench.run(0.5)
    np.testing.assert_array_equal(bench.position(above), first)


def test_targets_and_limits_change_while_running(bench: Bench) -> None:
    bench.gravity = WEIGHTLESS
    body = bench.body((0, 0, 0), mass=2)
    joint = bench.connect(
        -1,
        body,
        (0, 0, 0),
        [lock(LINEAR, 1, 2), lock(ANGULAR, 0, 1, 2), span(LINEAR, 0, -1, 1)],
        [drive(LINEAR, 0, stiffness=1e3, damping=200.0)],
    )
    bench.start()
    bench.art.controls.set_drive_targets([0.7])
    bench.run(3.0)
    assert bench.relative(joint).translation[0] == pytest.approx(0.7, abs=1e-3)
    assert bench.art.controls.set_limit(joint, 2, maximum=0.4)
    bench.run(3.0)
    assert bench.relative(joint).translation[0] == pytest.approx(0.4, abs=1e-3)
    assert not bench.art.controls.set_limit(joint, 0, maximum=0.4), "a lock has no dof to open"


def test_a_six_axis_arm_follows_targets_from_plain_pybullet_kinematics(bench: Bench) -> None:
    """calculateInverseKinematics on our multibody, targets through one array, getJointState."""
    above, position = -1, 0.0
    joints = []
    for k, axis in enumerate((2, 1, 1, 0, 1, 0)):
        body = bench.body((0, 0, position + 0.15), mass=1, inertia=(0.02, 0.02, 0.01))
        servo = drive(ANGULAR, axis, stiffness=2e4, damping=2e2)
        joints.append(bench.connect(above, body, (0, 0, position), hinge(axis), [servo]))
        above, position = body, 0.3 * (k + 1)
    bench.start()
    hand, hand_link = bench.art.link_of[above]
    bench.art.controls.set_drive_targets([0.3, 0.5, 0.5, 0.2, 0.4, 0.1])
    bench.run(1.0)
    goal = np.array([0.6, 0.3, 1.0])
    for _ in range(60):
        solution = pybullet.calculateInverseKinematics(
            hand, hand_link, goal.tolist(), physicsClientId=bench.client
        )
        bench.art.controls.set_drive_targets(solution)
        bench.step(2)
    bench.run(1.0)
    for joint, target in zip(joints, solution, strict=True):
        link = bench.art.controls.dofs(joint)[0].link_index
        state = pybullet.getJointState(hand, link, physicsClientId=bench.client)
        assert state[0] == pytest.approx(target, abs=5e-3)
    assert np.linalg.norm(bench.position(above) - goal) < 0.02
