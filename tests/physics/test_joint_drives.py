"""Drives of joints in the engine against formulas, at 240 and at 60 Hz."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pybullet
import pytest

from gltf_bullet.transforms import Pose
from tests.physics.joint_bench import (
    ANGULAR,
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


def test_spring_swings_with_its_period_and_keeps_its_amplitude(bench: Bench) -> None:
    bench.gravity = WEIGHTLESS
    body = bench.body((0.1, 0, 0), mass=2)
    joint = bench.connect(
        -1, body, (0, 0, 0), slider(0), [drive(LINEAR, 0, stiffness=200.0)], position_b=(0.1, 0, 0)
    )
    bench.start()
    x = []
    for _ in range(round(5.0 / bench.dt)):
        bench.step()
        x.append(bench.relative(joint).translation[0])
    down = np.flatnonzero((np.array(x[:-1]) > 0) & (np.array(x[1:]) <= 0))
    period = (down[-1] - down[0]) / (len(down) - 1) * bench.dt
    assert period == pytest.approx(math.tau * math.sqrt(2 / 200), rel=0.01)
    assert max(x[-round(0.7 / bench.dt) :]) > 0.09


def test_stiff_spring_holds_its_load_at_once(bench: Bench) -> None:
    body = bench.body((0, 0, 0), mass=2)
    joint = bench.connect(-1, body, (0, 0, 0), slider(2), [drive(LINEAR, 2, stiffness=1e7)])
    bench.start()
    for _ in range(60):
        bench.step()
        assert abs(bench.relative(joint).translation[2]) < 1e-5
    assert bench.relative(joint).translation[2] == pytest.approx(-2 * G / 1e7, rel=0.01)


def test_motor_reaches_its_speed_under_load(bench: Bench) -> None:
    body = bench.body((0, 0, 0), mass=2, inertial=Pose.from_translation((0.5, 0, 0)))
    motor = drive(ANGULAR, 1, damping=1000.0, velocity_target=2.0)
    joint = bench.connect(-1, body, (0, 0, 0), hinge(1), [motor])
    bench.start()
    bench.run(1.0)
    handle = bench.art.controls.dofs(joint)[0]
    speed = bench.art.controls.dof_state(handle).velocity[0]
    assert speed == pytest.approx(2.0, abs=2 * G * 0.5 / 1000 * 1.1)


def test_max_force_bounds_the_acceleration(bench: Bench) -> None:
    bench.gravity = WEIGHTLESS
    body = bench.body((0, 0, 0), mass=2)
    motor = drive(LINEAR, 0, damping=1e6, velocity_target=100.0, max_force=10.0)
    bench.connect(-1, body, (0, 0, 0), slider(0), [motor])
    bench.start()
    bench.run(1.0)
    assert bench.art.velocities_of(body)[0][0] == pytest.approx(5.0, rel=0.01)


def test_acceleration_drives_do_not_depend_on_the_mass(bench: Bench) -> None:
    """x(t) = 1 - (1 + w t) exp(-w t), critically damped, w = 10 rad/s."""
    bench.gravity = WEIGHTLESS
    joints = []
    for k, mass in enumerate((0.1, 50.0)):
        body = bench.body((0, 5.0 * k, 0), mass=mass)
        spring = drive(
            LINEAR, 0, acceleration=True, stiffness=100.0, damping=20.0, position_target=1.0
        )
        joints.append(bench.connect(-1, body, (0, 5.0 * k, 0), slider(0), [spring]))
    bench.start()
    bench.run(0.2)
    x = [bench.relative(joint).translation[0] for joint in joints]
    assert x[0] == pytest.approx(x[1], abs=1e-6)
    assert x[0] == pytest.approx(1 - 3 * math.exp(-2), abs=3 * bench.dt)


def test_drive_on_a_hard_limit_presses_with_its_spring(bench: Bench) -> None:
    bench.gravity = WEIGHTLESS
    body = bench.body((0, 0, 0), mass=2)
    joint = bench.connect(
        -1,
        body,
        (0, 0, 0),
        [lock(LINEAR, 1, 2), lock(ANGULAR, 0, 1, 2), span(LINEAR, 0, -1, 0.05)],
        [drive(LINEAR, 0, stiffness=1e4, damping=100.0, position_target=0.15)],
    )
    bench.start()
    bench.run(1.0)
    assert bench.relative(joint).translation[0] == pytest.approx(0.05, abs=1e-6)
    assert bench.art.controls.drive_states()[2][0] == pytest.approx(1000.0, rel=0.01)


@pytest.mark.parametrize("stiffness", [1e4, 1e6])
def test_drive_blocked_by_a_contact_presses_with_its_spring(bench: Bench, stiffness: float) -> None:
    bench.gravity = WEIGHTLESS
    body = bench.body((0, 0, 0), mass=2, half=(0.1, 0.1, 0.1))
    spring = drive(LINEAR, 0, stiffness=stiffness, damping=stiffness / 100, position_target=0.15)
    joint = bench.connect(-1, body, (0, 0, 0), slider(0), [spring])
    bench.start()
    bench.box((0.25, 0, 0), (0.1, 0.5, 0.5))
    bench.run(2.0)
    law = stiffness * (0.15 - bench.relative(joint).translation[0])
    contacts = pybullet.getContactPoints(bench.art.body_ids[0], physicsClientId=bench.client)
    assert sum(contact[9] for contact in contacts) == pytest.approx(law, rel=0.01)
    assert bench.art.controls.drive_states()[2][0] == pytest.approx(law, rel=0.01)


def test_a_stiff_arm_holds_its_load_without_jitter(bench: Bench) -> None:
    above, last = -1, -1
    for k in range(3):
        last = bench.body((0.5 + k, 0, 0), mass=2, inertia=(0.01, 0.2, 0.2))
        servo = drive(ANGULAR, 1, stiffness=1e5, damping=1e3)
        bench.connect(above, last, (k, 0, 0), hinge(1), [servo])
        above = last
    bench.start()
    bench.run(3.0)
    heights = []
    for _ in range(round(0.5 / bench.dt)):
        bench.step()
        heights.append(bench.position(last)[2])
    torques = [sum(2 * G * (0.5 + i - j) for i in range(j, 3)) for j in range(3)]
    sag = sum(torque / 1e5 * (2.5 - j) for j, torque in enumerate(torques))
    assert np.mean(heights) == pytest.approx(-sag, rel=0.01)
    assert np.ptp(heights) < 1e-5
