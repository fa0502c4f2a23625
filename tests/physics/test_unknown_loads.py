"""Loads that the solve is not told of: the rest pose is the one of the drive's own law."""

from __future__ import annotations

import numpy as np
import pybullet
import pytest

from tests.physics.joint_bench import ANGULAR, Bench, drive, hinge
from tests.physics.scenes import Scenery, world

RATES = [60.0, 120.0, 240.0, 480.0, 1000.0]
STIFFNESSES = [250.0, 1e4, 1e5]


def lever(rate: float, stiffness: float, gravity: float) -> tuple[Bench, int, tuple[int, int]]:
    """1 kg at the end of 0.5 m, held level by a spring about y; body, then its link."""
    bench = Bench(dt=1.0 / rate, gravity=(0.0, 0.0, -gravity))
    body = bench.body((0.5, 0, 0), mass=1.0, inertia=(0.01, 0.02, 0.02))
    spring = drive(ANGULAR, 1, stiffness=stiffness, damping=stiffness / 20.0)
    bench.connect(-1, body, (0, 0, 0), hinge(1), [spring])
    bench.start()
    return bench, body, bench.art.link_of[body]


def rest(bench: Bench) -> tuple[float, float]:
    """Angle and applied force of the one degree of freedom."""
    controls = bench.art.controls
    state = controls.dof_state(controls.dofs(controls.joint_nodes[0])[0])
    return state.position[0], state.applied_force[0]


@pytest.mark.parametrize("stiffness", STIFFNESSES)
@pytest.mark.parametrize("rate", RATES)
def test_a_force_that_others_apply_bends_a_drive_as_its_law_says(
    rate: float, stiffness: float
) -> None:
    bench, body, (body_id, link) = lever(rate, stiffness, 0.0)
    for _ in range(round(2.0 * rate)):
        pybullet.applyExternalForce(
            body_id, link, [0, 0, -50.0], bench.position(body).tolist(), pybullet.WORLD_FRAME,
            physicsClientId=bench.client,
        )  # fmt: skip
        bench.step()
    angle, force = rest(bench)
    torque = 50.0 * 0.5 * np.cos(angle)
    assert angle == pytest.approx(torque / stiffness, rel=5e-3)
    assert -force == pytest.approx(torque, rel=5e-3)
    bench.close()


@pytest.mark.parametrize("stiffness", STIFFNESSES)
@pytest.mark.parametrize("rate", RATES)
def test_a_mass_that_others_change_bends_a_drive_as_its_law_says(
    rate: float, stiffness: float
) -> None:
    bench, _, (body_id, link) = lever(rate, stiffness, 9.81)
    pybullet.changeDynamics(body_id, link, mass=3.0, physicsClientId=bench.client)
    bench.run(2.0)
    angle, force = rest(bench)
    torque = 3.0 * 9.81 * 0.5 * np.cos(angle)
    assert angle == pytest.approx(torque / stiffness, rel=5e-3)
    assert -force == pytest.approx(torque, rel=5e-3)
    bench.close()


def test_a_push_that_is_over_is_not_taken_for_a_load() -> None:
    """After a force of one step the spring acts on the motion alone: no torque stays."""
    bench, body, (body_id, link) = lever(240.0, 1e4, 0.0)
    pybullet.applyExternalForce(
        body_id, link, [0, 0, -50.0], bench.position(body).tolist(), pybullet.WORLD_FRAME,
        physicsClientId=bench.client,
    )  # fmt: skip
    bench.run(2.0)
    angle, force = rest(bench)
    assert abs(angle) < 1e-6
    assert abs(force) < 1e-2
    bench.close()


@pytest.mark.parametrize("rate", RATES)
def test_a_force_that_is_announced_acts_for_one_step_and_is_reckoned_with(rate: float) -> None:
    """The drive of 1e5 N m/rad answers 50 N in the same step: it hardly moves at all."""
    stiffness = 1e5
    bench, body, _ = lever(rate, stiffness, 0.0)
    largest = 0.0
    for _ in range(round(1.0 * rate)):
        bench.art.apply_force(body, np.array([0.0, 0.0, -50.0]), np.zeros(3))
        bench.step()
        largest = max(largest, abs(rest(bench)[0]))
    angle, force = rest(bench)
    assert angle == pytest.approx(25.0 / stiffness, rel=1e-3)
    assert largest <= 1.01 * 25.0 / stiffness
    assert -force == pytest.approx(25.0, rel=1e-3)
    bench.run(1.0)
    assert abs(rest(bench)[0]) < 1e-6
    bench.close()


def test_bodies_take_forces_and_torques_from_users() -> None:
    """Newton's law over 1 s of a free body: v = F t / m, w = T t / I."""
    scenery = Scenery()
    node = scenery.node(
        "Box", motion={"mass": 2.0, "inertiaDiagonal": [0.5] * 3, "gravityFactor": 0}
    )
    with world(scenery.bytes()) as scene:
        body = scene.bodies[node]
        for _ in range(240):
            body.apply_force((3.0, 0.0, 0.0))
            body.apply_torque((0.0, 0.0, 0.25))
            scene.step()
        assert body.linear_velocity == pytest.approx([1.5, 0.0, 0.0], rel=1e-3, abs=1e-6)
        assert body.angular_velocity == pytest.approx([0.0, 0.0, 0.5], rel=1e-3, abs=1e-6)
