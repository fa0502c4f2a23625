"""A robot loaded from glTF is to PyBullet code what its URDF is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.bullet.reading.robot_loading import read_robot
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import checked_file
from gltf_bullet.solver.island_layout import ITERATIONS
from tests.convert.robots import (
    DATA,
    ROBOTS,
    WITHOUT_BALLS,
    WITHOUT_MASS,
    axes,
    body_of,
    converted,
    load_native,
)

NO_VISUALS = gb.LoadOptions(visuals="none")
BY_VALUE = (6, 7, 8, 9, 10, 11)
"""getJointInfo: damping, friction, lower and upper limit, effort, speed limit."""
BY_NAME = (0, 1, 2, 3, 4, 12, 16)
"""getJointInfo: indices, names, type and parent."""


@pytest.fixture(params=ROBOTS)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[int, int, int]]:
    """A client, a native robot and the same from glTF, 5 m beside it."""
    with headless_world() as client:
        native = load_native(client, request.param)
        scene = converted(request.param).instantiate(
            client, position=(5.0, 0.0, 0.0), options=NO_VISUALS
        )
        yield client, native, body_of(scene)


def test_names_limits_effort_masses_and_inertias_are_those_of_load_urdf(
    pair: tuple[int, int, int],
) -> None:
    client, native, ours = pair
    assert pybullet.getBodyInfo(ours, client) == pybullet.getBodyInfo(native, client)
    count = pybullet.getNumJoints(native, physicsClientId=client)
    assert pybullet.getNumJoints(ours, physicsClientId=client) == count
    for link in range(-1, count):
        wanted = pybullet.getDynamicsInfo(native, link, physicsClientId=client)
        found = pybullet.getDynamicsInfo(ours, link, physicsClientId=client)
        assert found[0] == pytest.approx(wanted[0], abs=WITHOUT_MASS)
        assert found[2] == pytest.approx(wanted[2], abs=WITHOUT_MASS)
        if link < 0:
            continue
        wanted = pybullet.getJointInfo(native, link, physicsClientId=client)
        found = pybullet.getJointInfo(ours, link, physicsClientId=client)
        assert [found[k] for k in BY_NAME] == [wanted[k] for k in BY_NAME]
        if wanted[2] in (pybullet.JOINT_REVOLUTE, pybullet.JOINT_PRISMATIC):
            assert [found[k] for k in BY_VALUE] == pytest.approx([wanted[k] for k in BY_VALUE])
            assert found[13] == pytest.approx(wanted[13], abs=1e-9)  # the axis


def test_forward_kinematics_at_20_random_poses(pair: tuple[int, int, int]) -> None:
    client, native, ours = pair
    count = pybullet.getNumJoints(native, physicsClientId=client)
    chance = np.random.default_rng(16)
    for _ in range(20):
        for joint in axes(client, native):
            position = chance.uniform(-1.5, 1.5)
            for body in (native, ours):
                pybullet.resetJointState(body, joint, position, physicsClientId=client)
        for link in range(count):
            wanted, found = (
                pybullet.getLinkState(
                    body, link, computeForwardKinematics=1, physicsClientId=client
                )
                for body in (native, ours)
            )
            assert np.subtract(found[0], (5, 0, 0)) == pytest.approx(wanted[0], abs=1e-6)
            assert abs(np.dot(found[1], wanted[1])) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("pair", WITHOUT_BALLS, indirect=True)
def test_inverse_kinematics_dynamics_jacobian_and_mass_matrix_are_equal(
    pair: tuple[int, int, int],
) -> None:
    client, native, ours = pair
    moving = axes(client, native)
    q = [0.1 * (-1) ** k * (k % 4) for k in range(len(moving))]
    speed, gain = [0.2] * len(q), [0.3] * len(q)
    masses = [
        np.array(pybullet.calculateMassMatrix(b, q, physicsClientId=client)) for b in (native, ours)
    ]
    assert masses[1] == pytest.approx(masses[0], abs=1e-6)
    torques = [
        pybullet.calculateInverseDynamics(b, q, speed, gain, physicsClientId=client)
        for b in (native, ours)
    ]
    # Links without mass have 1e-6 of the lightest one's, at arm's length, under gravity.
    assert torques[1] == pytest.approx(torques[0], abs=1e-5)
    tip = moving[-1]
    jacobians = [
        pybullet.calculateJacobian(b, tip, [0.0] * 3, q, speed, gain, physicsClientId=client)
        for b in (native, ours)
    ]
    assert np.array(jacobians[1]) == pytest.approx(np.array(jacobians[0]), abs=1e-6)
    place = pybullet.getLinkState(native, tip, computeForwardKinematics=1, physicsClientId=client)
    target = np.array(place[4]) * 0.95
    solved = [
        pybullet.calculateInverseKinematics(
            b, tip, (target + shift).tolist(), maxNumIterations=50, physicsClientId=client
        )
        for b, shift in ((native, 0.0), (ours, np.array([5.0, 0.0, 0.0])))
    ]
    assert solved[1] == pytest.approx(solved[0], abs=1e-6)


def test_resetting_a_fixed_base_moves_all_of_it() -> None:
    with headless_world() as client:
        scene = converted("kuka_iiwa/model.urdf").instantiate(client, options=NO_VISUALS)
        body = body_of(scene)
        pybullet.resetBasePositionAndOrientation(
            body, [0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 1.0], physicsClientId=client
        )
        hit = pybullet.rayTest([0.0, 3.0, 5.0], [0.0, 3.0, -1.0], physicsClientId=client)[0]
        gone = pybullet.rayTest([0.0, 0.0, 5.0], [0.0, 0.0, -1.0], physicsClientId=client)[0]
        assert (hit[0], gone[0]) == (body, -1)
        scene.step(10)
        base = scene.world_from_node(scene.node("lbr_iiwa_link_0").index)[:3, 3]
        assert base == pytest.approx([0.0, 3.0, 0.0], abs=1e-9)
        state = pybullet.getLinkState(body, 0, computeForwardKinematics=1, physicsClientId=client)
        assert state[0][1] == pytest.approx(3.0, abs=0.05)


def test_without_link_names_equal_robots_share_their_shapes() -> None:
    plain = dataclasses.replace(NO_VISUALS, link_names=False)
    with headless_world() as client:
        scene = converted("kuka_iiwa/model.urdf").instantiate(client, options=plain)
        body = body_of(scene)
        assert pybullet.getJointInfo(body, 0, physicsClientId=client)[1] == b"joint1"
        assert scene.joints["lbr_iiwa_joint_1"].degrees_of_freedom[0].link_index == 0


# --- motion -----------------------------------------------------------------------------------


def _free_fall_of_arms(robot: str) -> gb.Asset:
    """The robot on a fixed base, without limits, damping and mimic rules."""
    world = read_robot(DATA / robot, Diagnostics(), fixed_base=True)
    bodies = tuple(
        dataclasses.replace(
            body,
            links=tuple(
                link
                if link.joint is None
                else dataclasses.replace(
                    link,
                    joint=dataclasses.replace(
                        link.joint, lower=-math.inf, upper=math.inf, damping=0.0, mimic=None
                    ),
                )
                for link in body.links
            ),
        )
        for body in world.bodies
    )
    return checked_file(dataclasses.replace(world, bodies=bodies), Diagnostics())[1]


def _start(client: int, body: int) -> list[int]:
    moving = axes(client, body)
    for k, joint in enumerate(moving):
        pybullet.resetJointState(body, joint, 0.21 * (-1) ** k, physicsClientId=client)
    return moving


def _positions(client: int, body: int, joints: list[int]) -> np.ndarray:
    return np.array([pybullet.getJointState(body, j, physicsClientId=client)[0] for j in joints])


def _native_swing(robot: str, dt: float) -> np.ndarray:
    with headless_world(time_step=dt) as client:
        body = load_native(client, robot)
        pybullet.changeDynamics(
            body, -1, linearDamping=0.0, angularDamping=0.0, physicsClientId=client
        )
        for joint in range(pybullet.getNumJoints(body, physicsClientId=client)):
            kind = pybullet.getJointInfo(body, joint, physicsClientId=client)[2]
            if kind == pybullet.JOINT_SPHERICAL:
                pybullet.setJointMotorControlMultiDof(
                    body, joint, pybullet.POSITION_CONTROL, targetPosition=[0, 0, 0, 1],
                    targetVelocity=[0, 0, 0], positionGain=0, velocityGain=0, force=[0, 0, 0],
                    physicsClientId=client,
                )  # fmt: skip
        moving = _start(client, body)
        for joint in moving:
            pybullet.setJointMotorControl2(
                body, joint, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=client
            )
            pybullet.changeDynamics(
                body, joint, jointLowerLimit=-1e30, jointUpperLimit=1e30, physicsClientId=client
            )
            pybullet.changeDynamics(body, joint, jointDamping=0.0, physicsClientId=client)
        for _ in range(round(1.0 / dt)):
            pybullet.stepSimulation(physicsClientId=client)
        return _positions(client, body, moving)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ROBOTS)
def test_a_passive_swing_is_no_farther_from_the_truth_than_the_native_one(robot: str) -> None:
    truth = _native_swing(robot, 1.0 / 9600.0)
    native = _native_swing(robot, 1.0 / 240.0)
    with headless_world() as client:
        scene = _free_fall_of_arms(robot).instantiate(client, options=NO_VISUALS)
        body = body_of(scene)
        moving = _start(client, body)
        scene.step(240)
        ours = _positions(client, body, moving)
    allowed = float(np.abs(native - truth).max())
    assert float(np.abs(ours - truth).max()) <= max(1.02 * allowed, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["kuka_iiwa/model.urdf", "franka_panda/panda.urdf",
                                   "xarm/xarm6_robot.urdf"])  # fmt: skip
def test_a_pose_held_by_pybullets_motors_is_that_of_the_native_robot(robot: str) -> None:
    targets = [0.3, 0.4, -0.2, -1.2, 0.1, 1.0, 0.2]
    held = []
    for is_native in (True, False):
        with headless_world() as client:
            if is_native:
                scene = None
                body = load_native(client, robot)
            else:
                scene = converted(robot).instantiate(client, options=NO_VISUALS)
                body = body_of(scene)
            moving = axes(client, body)[:7]
            for joint, target in zip(moving, targets, strict=False):
                effort = pybullet.getJointInfo(body, joint, physicsClientId=client)[10]
                pybullet.resetJointState(body, joint, target, physicsClientId=client)
                pybullet.setJointMotorControl2(
                    body, joint, pybullet.POSITION_CONTROL, target, force=effort,
                    physicsClientId=client,
                )  # fmt: skip
            for _ in range(480):
                if scene is None:
                    pybullet.stepSimulation(physicsClientId=client)
                else:
                    scene.step()
            held.append(_positions(client, body, moving))
    assert held[1] == pytest.approx(held[0], abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["a1/a1.urdf", "laikago/laikago_toes.urdf"])
def test_a_quadruped_stands_for_5_s(robot: str) -> None:
    pose = {"hip": 0.0, "upper": 0.7, "thigh": 0.7, "lower": -1.4, "calf": -1.4}
    with headless_world() as client:
        plane = str(DATA / "plane.urdf")
        pybullet.loadURDF(plane, physicsClientId=client)
        if robot.startswith("a1"):
            turn, height = (0.0, 0.0, 0.0, 1.0), 0.32
        else:
            turn, height = (0.0, 0.5, 0.5, 0.0), 0.48
        scene = converted(robot, fixed_base=False).instantiate(
            client, position=(0, 0, height), orientation=turn, options=NO_VISUALS
        )
        body = body_of(scene)
        for joint in axes(client, body):
            info = pybullet.getJointInfo(body, joint, physicsClientId=client)
            name = info[1].decode().lower()
            if robot.startswith("a1"):
                target = next((v for key, v in pose.items() if key in name), 0.0)
            else:
                target = 0.0
            pybullet.resetJointState(body, joint, target, physicsClientId=client)
            pybullet.setJointMotorControl2(
                body, joint, pybullet.POSITION_CONTROL, target, force=max(info[10], 30.0),
                physicsClientId=client,
            )  # fmt: skip
        heights = []
        for _ in range(5):
            scene.step(240)
            heights.append(pybullet.getBasePositionAndOrientation(body, client)[0][2])
        assert min(heights) > 0.6 * heights[0] > 0.1
        assert heights[-1] == pytest.approx(heights[1], abs=0.01)


@pytest.mark.slow
def test_the_husky_drives() -> None:
    with headless_world() as client:
        pybullet.loadURDF(str(DATA / "plane.urdf"), physicsClientId=client)
        scene = converted("husky/husky.urdf", fixed_base=False).instantiate(
            client, position=(0, 0, 0.15), options=NO_VISUALS
        )
        body = body_of(scene)
        scene.step(120)
        wheels = [
            j
            for j in axes(client, body)
            if b"wheel" in pybullet.getJointInfo(body, j, physicsClientId=client)[1]
        ]
        assert len(wheels) == 4
        for joint in wheels:
            pybullet.setJointMotorControl2(
                body, joint, pybullet.VELOCITY_CONTROL, targetVelocity=4.0, force=50.0,
                physicsClientId=client,
            )  # fmt: skip
        start = np.array(pybullet.getBasePositionAndOrientation(body, client)[0])
        scene.step(480)
        moved = np.array(pybullet.getBasePositionAndOrientation(body, client)[0]) - start
        radius = 0.17775  # of a wheel [m]
        assert 0.5 * 4.0 * radius * 2.0 < np.linalg.norm(moved[:2]) < 1.1 * 4.0 * radius * 2.0


@pytest.mark.slow
@pytest.mark.parametrize("mass", [0.1, 1.0])
def test_the_panda_lifts_a_box(mass: float) -> None:
    """Fingers close on a box with 20 N each; then the hand rises by 0.2 m in 1 s."""
    with headless_world() as client:
        pybullet.loadURDF(str(DATA / "plane.urdf"), physicsClientId=client)
        scene = converted("franka_panda/panda.urdf").instantiate(client, options=NO_VISUALS)
        body = body_of(scene)
        by_name = {
            pybullet.getJointInfo(body, j, physicsClientId=client)[12].decode(): j
            for j in axes(client, body)
        }
        arm = [by_name[f"panda_link{k}"] for k in range(1, 8)]
        fingers = [by_name["panda_leftfinger"], by_name["panda_rightfinger"]]
        tip = pybullet.getNumJoints(body, physicsClientId=client) - 1  # panda_grasptarget

        def reach(height: float) -> list[float]:
            for joint, q in zip(arm, (0.0, 0.4, 0.0, -2.1, 0.0, 2.5, 0.78), strict=True):
                if height == 0.03:
                    pybullet.resetJointState(body, joint, q, physicsClientId=client)
            found = pybullet.calculateInverseKinematics(
                body, tip, [0.5, 0.0, height], pybullet.getQuaternionFromEuler([math.pi, 0, 0]),
                maxNumIterations=300, residualThreshold=1e-7, physicsClientId=client,
            )  # fmt: skip
            return list(found[:7])

        def drive(targets: list[float]) -> None:
            for joint, q in zip(arm, targets, strict=True):
                pybullet.setJointMotorControl2(
                    body, joint, pybullet.POSITION_CONTROL, q, force=240.0, maxVelocity=1.0,
                    physicsClientId=client,
                )  # fmt: skip

        low = reach(0.03)
        for joint, q in zip(arm, low, strict=True):
            pybullet.resetJointState(body, joint, q, physicsClientId=client)
        for joint in fingers:
            pybullet.resetJointState(body, joint, 0.04, physicsClientId=client)
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=[0.02, 0.02, 0.03], physicsClientId=client
        )
        box = pybullet.createMultiBody(mass, shape, -1, [0.5, 0.0, 0.03], physicsClientId=client)
        pybullet.changeDynamics(box, -1, lateralFriction=1.0, physicsClientId=client)
        drive(low)
        for joint in fingers:
            pybullet.setJointMotorControl2(
                body, joint, pybullet.POSITION_CONTROL, 0.0, force=30.0, physicsClientId=client
            )
        scene.step(240)
        drive(reach(0.23))
        scene.step(480)
        assert pybullet.getBasePositionAndOrientation(box, client)[0][2] > 0.03 + 0.15


def test_the_pandas_fingers_mimic_each_other_and_say_so() -> None:
    with headless_world(gravity=(0.0, 0.0, 0.0)) as client:
        scene = converted("franka_panda/panda.urdf").instantiate(client, options=NO_VISUALS)
        assert [issue.code for issue in scene.issues] == ["JOINT_MIMICS"]
        body = body_of(scene)
        leader, follower = 9, 10
        names = [pybullet.getJointInfo(body, j, physicsClientId=client)[1] for j in (9, 10)]
        assert names == [b"panda_finger_joint1", b"panda_finger_joint2"]
        pybullet.setJointMotorControl2(
            body, leader, pybullet.POSITION_CONTROL, 0.03, force=20.0, physicsClientId=client
        )
        scene.step(480)
        found = _positions(client, body, [leader, follower])
        assert found[0] == pytest.approx(0.03, abs=1e-3)
        assert found[1] == pytest.approx(found[0], abs=1e-3)
        scene.remove()
        assert pybullet.getNumConstraints(physicsClientId=client) == 0


def test_a_robot_that_falls_keeps_the_motors_of_its_user() -> None:
    """Its knees are pressed against their stops, at the motors' largest force, when it lands."""
    with headless_world() as client:
        pybullet.loadURDF(str(DATA / "plane.urdf"), physicsClientId=client)
        scene = converted("a1/a1.urdf", fixed_base=False).instantiate(
            client, position=(0.0, 0.0, 0.5), options=NO_VISUALS
        )
        body = body_of(scene)
        joints = axes(client, body)
        pybullet.setJointMotorControlArray(
            body,
            joints,
            pybullet.POSITION_CONTROL,
            targetPositions=[0.3] * len(joints),
            forces=[50.0] * len(joints),
            physicsClientId=client,
        )
        scene.step(720)
        for knee in joints[2::3]:
            stop = pybullet.getJointInfo(body, knee, client)[9]
            # Legs of 1 kg weigh 3 N m at most: nothing else bends a knee that 50 N m hold straight.
            assert pybullet.getJointState(body, knee, client)[0] == pytest.approx(stop, abs=0.1)


def test_forces_of_a_robot_that_falls_freely_are_found_at_once() -> None:
    """Knees and elbows at the ends of their limits: what moves them is what rounding leaves."""
    with headless_world() as client:
        scene = converted("humanoid/humanoid.urdf", fixed_base=False).instantiate(
            client, options=NO_VISUALS
        )
        islands = scene.core.world.articulations.solver.islands
        for _ in range(240):
            scene.step()
            assert islands.index[ITERATIONS] <= 4  # each changes the side of one of four limits
        assert not scene.issues
