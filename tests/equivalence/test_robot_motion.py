"""A robot loaded from glTF moves as what ``loadURDF`` makes of its URDF, or nearer to the truth."""

from __future__ import annotations

import math

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.reading.robot_loading import read_robot
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.records import replace
from gltf_bullet.runtime.world_export import checked_file
from tests.convert.robots import (
    DATA,
    ROBOTS,
    SHAPELESS,
    angle_between,
    axes,
    body_of,
    continuous_joints,
    converted,
    load_native,
)
from tests.figures import Figure

NO_VISUALS = gb.LoadOptions(visuals="none")


def _free_fall_of_arms(robot: str) -> gb.Asset:
    """The robot on a fixed base, without limits, damping and mimic rules."""
    world = read_robot(
        DATA / robot, Diagnostics(), fixed_base=True, inertia_from_file=robot in SHAPELESS
    )
    bodies = tuple(
        replace(
            body,
            links=tuple(
                link
                if link.joint is None
                else replace(
                    link,
                    joint=replace(
                        link.joint, lower=-math.inf, upper=math.inf, damping=0.0, mimic=None
                    ),
                )
                for link in body.links
            ),
        )
        for body in world.bodies
    )
    return checked_file(replace(world, bodies=bodies), Diagnostics())[1]


def _start(client: int, body: int) -> list[int]:
    moving = axes(client, body)
    for k, joint in enumerate(moving):
        pybullet.resetJointState(body, joint, 0.21 * (-1) ** k, physicsClientId=client)
    return moving


def _positions(client: int, body: int, joints: list[int]) -> np.ndarray:
    return np.array([pybullet.getJointState(body, j, physicsClientId=client)[0] for j in joints])


def _balls(client: int, body: int) -> list[int]:
    return [
        joint
        for joint in range(pybullet.getNumJoints(body, physicsClientId=client))
        if pybullet.getJointInfo(body, joint, physicsClientId=client)[2] == pybullet.JOINT_SPHERICAL
    ]


SWING = 0.8
"""[s] that arms swing freely. Within 1 s those of the panda and of kuka do so chaotically: in steps
half as long the reference itself ends 0.6 and 0.2 rad elsewhere, and 0.005 and 0.02 by then
(measured)."""

Swing = tuple[np.ndarray, list[tuple[float, ...]]]
"""Where axes are [rad, m], and turns of ball joints, xyzw."""


def _swing_of(client: int, body: int) -> Swing:
    turns = [
        pybullet.getJointStateMultiDof(body, joint, physicsClientId=client)[0]
        for joint in _balls(client, body)
    ]
    return _positions(client, body, axes(client, body)), turns


def _distance(one: Swing, other: Swing) -> float:
    """Of the joint that is farthest from itself [rad, m]."""
    turned = [angle_between(a, b) for a, b in zip(one[1], other[1], strict=True)]
    return float(np.max([*np.abs(one[0] - other[0]), *turned]))


def _native_swing(robot: str, dt: float) -> Swing:
    with headless_world(time_step=dt) as client:
        body = load_native(client, robot)
        pybullet.changeDynamics(
            body, -1, linearDamping=0.0, angularDamping=0.0, physicsClientId=client
        )
        for joint in _balls(client, body):
            pybullet.setJointMotorControlMultiDof(
                body, joint, pybullet.POSITION_CONTROL, targetPosition=[0, 0, 0, 1],
                targetVelocity=[0, 0, 0], positionGain=0, velocityGain=0, force=[0, 0, 0],
                physicsClientId=client,
            )  # fmt: skip
        for joint in _start(client, body):
            pybullet.setJointMotorControl2(
                body, joint, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=client
            )
            pybullet.changeDynamics(
                body, joint, jointLowerLimit=-1e30, jointUpperLimit=1e30, physicsClientId=client
            )
            pybullet.changeDynamics(body, joint, jointDamping=0.0, physicsClientId=client)
        for _ in range(round(SWING / dt)):
            pybullet.stepSimulation(physicsClientId=client)
        return _swing_of(client, body)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ROBOTS)
def test_a_passive_swing_is_no_farther_from_the_truth_than_the_native_one(
    robot: str, figure: Figure
) -> None:
    """The truth: PyBullet's own in steps of 1/9600 s."""
    truth = _native_swing(robot, 1.0 / 9600.0)
    native = _native_swing(robot, 1.0 / 240.0)
    with headless_world() as client:
        scene = _free_fall_of_arms(robot).instantiate(client, options=NO_VISUALS)
        body = body_of(scene)
        _start(client, body)
        scene.step(round(SWING * 240))
        ours = _swing_of(client, body)
    # Where both do the same, they round differently.
    allowed = _distance(native, truth) + 1e-9
    figure("distance; bound: native's", _distance(ours, truth), most=allowed, unit="rad, m")


@pytest.mark.slow
@pytest.mark.parametrize("robot", ROBOTS)
def test_a_pose_held_by_pybullets_motors_is_that_of_the_native_robot(
    robot: str, figure: Figure
) -> None:
    held = []
    for is_native in (True, False):
        with headless_world() as client:
            if is_native:
                scene = None
                body = load_native(client, robot)
            else:
                scene = converted(robot).instantiate(client, options=NO_VISUALS)
                body = body_of(scene)
            moving = axes(client, body)
            for k, joint in enumerate(moving):
                lower, upper, effort = pybullet.getJointInfo(body, joint, physicsClientId=client)[
                    8:11
                ]
                target = (0.3, 0.4, -0.2, -1.2, 0.1, 1.0, 0.2)[k % 7]
                name = pybullet.getJointInfo(body, joint, physicsClientId=client)[1].decode()
                if name in continuous_joints(robot):
                    target = 0.0  # PyBullet stops it at the numbers of its ``<limit>``
                elif lower < upper:
                    target = min(max(target, lower), upper)
                pybullet.resetJointState(body, joint, target, physicsClientId=client)
                pybullet.setJointMotorControl2(
                    body, joint, pybullet.POSITION_CONTROL, target, force=effort or 100.0,
                    physicsClientId=client,
                )  # fmt: skip
            for _ in range(480):
                if scene is None:
                    pybullet.stepSimulation(physicsClientId=client)
                else:
                    scene.step()
            held.append(_positions(client, body, moving))
    apart = np.abs(held[1] - held[0]).max()
    figure("from the native robot", apart, most=2e-3, unit="rad, m")


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["a1/a1.urdf", "laikago/laikago_toes.urdf"])
def test_a_quadruped_stands_for_5_s(robot: str, figure: Figure) -> None:
    pose = {"hip": 0.0, "upper": 0.7, "thigh": 0.7, "lower": -1.4, "calf": -1.4}
    with headless_world() as client:
        plane = str(DATA / "plane.urdf")
        pybullet.loadURDF(plane, physicsClientId=client)
        if robot.startswith("a1"):
            turn, height = (0.0, 0.0, 0.0, 1.0), 0.32
        else:
            turn, height = (0.0, math.sqrt(0.5), math.sqrt(0.5), 0.0), 0.48
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
        heights, leans = [], []
        for _ in range(50):
            scene.step(24)
            place, now = pybullet.getBasePositionAndOrientation(body, client)
            heights.append(place[2])
            leans.append(math.degrees(angle_between(now, turn)))
        figure("lowest of its height at first", min(heights) / height, least=0.6)
        figure("largest turn from upright", np.max(leans), most=5.0, unit="deg")
        drift = float(np.ptp(heights[19:]))
        figure("height after 2 s changes by", drift, most=0.01, unit="m")


@pytest.mark.slow
def test_the_husky_drives(figure: Figure) -> None:
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
        rolled = 4.0 * radius * 2.0
        figure(
            "driven of what its wheels roll",
            np.linalg.norm(moved[:2]) / rolled,
            least=0.5,
            most=1.1,
        )


@pytest.mark.slow
@pytest.mark.parametrize("mass", [0.1, 1.0])
def test_the_panda_lifts_a_box(mass: float, figure: Figure) -> None:
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
        lifted = pybullet.getBasePositionAndOrientation(box, client)[0][2] - 0.03
        figure("lifted", lifted, least=0.15, unit="m")


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
            # Each changes the side of one of four limits.
            assert islands.record.iterations <= 4
        # At 7 m/s it goes 30 mm in a step.
        assert {issue.code for issue in scene.issues} <= {"STEP_DIVIDED"}
