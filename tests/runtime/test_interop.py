"""Scenes live beside what PyBullet loads itself, and serve code that only knows its ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pybullet_data
import pytest

import gltf_bullet as gb

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


@pytest.fixture(autouse=True)
def robots_are_found(client: int) -> None:
    pybullet.setAdditionalSearchPath(pybullet_data.getDataPath(), physicsClientId=client)


def reach(body: int, link: int, target: list[float], client: int) -> list[float]:
    """Joint positions that bring a link's centre to a point: ids are all it knows."""
    for _ in range(20):
        found = pybullet.calculateInverseKinematics(
            body, link, target, maxNumIterations=200, residualThreshold=1e-6,
            physicsClientId=client,
        )  # fmt: skip
    return list(found)


def test_inverse_kinematics_steers_an_arm_of_a_gltf_file(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)
    hand = scene.bodies["Hand"]
    target = [0.45, 0.2, 0.75]
    positions = reach(hand.body_id, hand.link_index, target, client)
    # PyBullet's answer has one entry per movable joint of the body, in the order of its links.
    movable = [
        joint
        for joint in range(pybullet.getNumJoints(hand.body_id, physicsClientId=client))
        if pybullet.getJointInfo(hand.body_id, joint, physicsClientId=client)[2]
        != pybullet.JOINT_FIXED
    ]
    position_of = dict(zip(movable, positions, strict=True))
    scene.set_drive_targets(
        [
            position_of[scene.joints[drive.joint_node].degrees_of_freedom[0].link_index]
            for drive in scene.joint_controls.drives
        ]
    )
    scene.step(480)
    stands = pybullet.getLinkState(hand.body_id, hand.link_index, physicsClientId=client)[0]
    # The servos' springs sag a little under the arm's weight.
    assert np.linalg.norm(np.subtract(stands, target)) < 0.03


def test_a_robot_of_a_urdf_file_pushes_what_a_gltf_file_holds(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    robot = pybullet.loadURDF("kuka_iiwa/model.urdf", [-0.6, -0.9, 0.0], useFixedBase=True,
                              physicsClientId=client)  # fmt: skip
    scene.step(360)
    start = scene.world_from_node("Crate")[:3, 3]
    pushed = 0.0
    for k in range(480):
        for joint in range(7):
            # The arm lies down forwards, over the crate's place, and swings sideways.
            target = {0: 1.8 - 1.6 * min(1.0, k / 360), 1: 1.5}.get(joint, 0.0)
            pybullet.setJointMotorControl2(
                robot, joint, pybullet.POSITION_CONTROL, targetPosition=target, force=300,
                physicsClientId=client,
            )  # fmt: skip
        scene.step()
        contacts = scene.contacts("Crate")
        theirs = contacts.body_b == robot
        # What is not of the scene has no glTF node.
        assert (contacts.node_b[theirs] == -1).all()
        pushed += float(contacts.normal_forces[theirs].sum()) / 240
    assert pushed > 1.0  # N s
    assert np.linalg.norm(scene.world_from_node("Crate")[:3, 3] - start) > 0.05
    assert scene.ray_cast((-0.6, -0.9, 5), (-0.6, -0.9, -5)).node == scene.node("Floor").index
    scene.remove()
    assert pybullet.getNumBodies(physicsClientId=client) == 1
    assert pybullet.getNumJoints(robot, physicsClientId=client) == 7


def test_plain_code_finds_reads_and_throws_a_crate(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    crate = scene.bodies["Crate"]
    hits = pybullet.rayTest([0, 0, 10], [0, 0, -10], physicsClientId=client)
    assert hits[0][0] == crate.body_id
    pybullet.resetBaseVelocity(crate.body_id, [1, 0, 3], [0, 0, 0], physicsClientId=client)
    assert crate.linear_velocity == pytest.approx([1, 0, 3])
    before = pybullet.getBasePositionAndOrientation(crate.body_id, physicsClientId=client)[0]
    state = pybullet.saveState(physicsClientId=client)
    for _ in range(24):
        scene.before_step()
        pybullet.stepSimulation(physicsClientId=client)
        scene.after_step()
    after = pybullet.getBasePositionAndOrientation(crate.body_id, physicsClientId=client)[0]
    # Semi-implicit Euler: h = v t - g dt^2 n (n + 1) / 2.
    assert np.subtract(after, before) == pytest.approx(
        [0.1, 0.0, 0.3 - 9.81 / 240**2 * 24 * 25 / 2], abs=1e-4
    )
    assert scene.world_from_node("Crate")[:3, 3] == pytest.approx(after, abs=1e-6)
    pybullet.restoreState(state, physicsClientId=client)
    place = pybullet.getBasePositionAndOrientation(crate.body_id, physicsClientId=client)[0]
    assert place == pytest.approx(before)
