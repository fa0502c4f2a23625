"""Loads that the solve is not told of: the rest pose is the one of the drive's own law."""

from __future__ import annotations

import numpy as np
import pybullet
import pytest

from tests.physics.joint_bench import ANGULAR, LINEAR, Bench, drive, hinge, slider
from tests.physics.scenes import Scenery, world

RATES = [60.0, 120.0, 240.0, *(pytest.param(k, marks=pytest.mark.slow) for k in (480.0, 1e3))]
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


def hang(bench: Bench, lever_link: tuple[int, int], kind: int) -> None:
    """Hang 5 kg by PyBullet's own constraint, 0.3 m below the lever's end."""
    client = bench.client
    ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.05, physicsClientId=client)
    load = pybullet.createMultiBody(
        5.0, ball, basePosition=[0.5, 0.0, -0.3], physicsClientId=client
    )
    pybullet.createConstraint(
        *lever_link, load, -1, kind, [0, 0, 0], [0, 0, 0], [0, 0, 0.3], physicsClientId=client
    )


@pytest.mark.parametrize("stiffness", [1e4, 1e5])
@pytest.mark.parametrize("rate", RATES)
def test_what_others_hang_on_an_arm_bends_its_drive_as_the_law_says(
    rate: float, stiffness: float
) -> None:
    """Measured without rows for the constraint: at 60 Hz the arm swings by 0.35 rad."""
    bench, _, link = lever(rate, stiffness, 9.81)
    hang(bench, link, pybullet.JOINT_POINT2POINT)
    largest = 0.0
    for _ in range(round(2.0 * rate)):
        bench.step()
        largest = max(largest, rest(bench)[0])
    angle, force = rest(bench)
    torque = 6.0 * 9.81 * 0.5 * np.cos(angle)
    assert angle == pytest.approx(torque / stiffness, rel=1e-3)
    assert -force == pytest.approx(torque, rel=1e-3)
    assert largest < 1.2 * torque / stiffness
    bench.close()


@pytest.mark.parametrize("rate", RATES)
def test_what_others_weld_to_an_arm_bends_its_drive_as_the_law_says(rate: float) -> None:
    """The load turns with the arm: it swings 0.3 m inwards."""
    stiffness = 1e4
    bench, _, link = lever(rate, stiffness, 9.81)
    hang(bench, link, pybullet.JOINT_FIXED)
    bench.run(2.0)
    angle, _ = rest(bench)
    torque = 9.81 * (6.0 * 0.5 * np.cos(angle) - 5.0 * 0.3 * np.sin(angle))
    assert angle == pytest.approx(torque / stiffness, rel=1e-3)
    bench.close()


@pytest.mark.parametrize("motor", ["force", "speed", "place"])
@pytest.mark.parametrize("stiffness", [1e4, 1e5])
@pytest.mark.parametrize("rate", RATES)
def test_a_robot_of_others_that_presses_on_a_drive_moves_it_as_the_law_says(
    rate: float, stiffness: float, motor: str
) -> None:
    """Measured without a balance of the robot's own momentum: 37 times as far at 60 Hz."""
    bench = Bench(dt=1.0 / rate, gravity=(0.0, 0.0, 0.0))
    body = bench.body((0, 0, 0), mass=1.0, half=(0.1, 0.1, 0.1))
    spring = drive(LINEAR, 0, stiffness=stiffness, damping=stiffness / 20.0)
    bench.connect(-1, body, (0, 0, 0), slider(0), [spring])
    bench.start()
    client = bench.client
    robot = pybullet.createMultiBody(
        basePosition=[0.5, 0, 0], linkMasses=[2.0], linkPositions=[[-0.295, 0, 0]],
        linkCollisionShapeIndices=[pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=[0.1, 0.1, 0.1], physicsClientId=client
        )],
        linkVisualShapeIndices=[-1], linkOrientations=[[0, 0, 0, 1]],
        linkInertialFramePositions=[[0, 0, 0]], linkInertialFrameOrientations=[[0, 0, 0, 1]],
        linkParentIndices=[0], linkJointTypes=[pybullet.JOINT_PRISMATIC],
        linkJointAxis=[[1, 0, 0]], physicsClientId=client,
    )  # fmt: skip

    def order(mode: int, **values: float) -> None:
        pybullet.setJointMotorControl2(robot, 0, mode, physicsClientId=client, **values)

    if motor == "speed":
        order(pybullet.VELOCITY_CONTROL, targetVelocity=-1.0, force=50.0)
    elif motor == "place":
        order(pybullet.POSITION_CONTROL, targetPosition=-2.0, force=50.0)
    else:
        order(pybullet.VELOCITY_CONTROL, force=0.0)
    for _ in range(round(2.0 * rate)):
        if motor == "force":
            order(pybullet.TORQUE_CONTROL, force=-50.0)
        bench.step()
    assert bench.position(body)[0] == pytest.approx(-50.0 / stiffness, rel=1e-2)
    bench.close()
