"""Bodies and joints put elsewhere by name, and positions found for them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
QUARTER = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))
"""A quarter of a turn about Z."""


def load(name: str, client: int) -> gb.Scene:
    return gb.load_gltf(ASSETS / f"{name}.gltf", physics_client=client)


def test_set_position_does_what_reset_joint_state_does(client: int) -> None:
    scene = load("six_axis_arm", client)
    joint = scene.joints["ElbowAxis"]
    (axis,) = joint.degrees_of_freedom
    before = scene.bodies["Hand"].position

    joint.position = 0.4
    assert joint.position == pytest.approx(0.4, abs=1e-12)
    placed = scene.bodies["Hand"].position
    assert np.linalg.norm(placed - before) > 0.05

    pybullet.resetJointState(axis.body_id, axis.link_index, 0.0, physicsClientId=client)
    pybullet.resetJointState(axis.body_id, axis.link_index, 0.4, physicsClientId=client)
    assert scene.bodies["Hand"].position == pytest.approx(placed, abs=1e-12)

    joint.set_position(0.1, velocity=2.0)
    assert (joint.position, joint.velocity) == pytest.approx((0.1, 2.0))


def test_a_ball_is_set_by_its_rotation_vector(client: int) -> None:
    scene = load("ragdoll", client)
    for name in ("Neck", "LeftShoulder", "RightHip"):
        scene.joints[name].set_position((0.1, 0.2, 0.3))
        assert scene.joints[name].position == pytest.approx((0.1, 0.2, 0.3), abs=1e-9)


def test_a_wrong_number_of_positions_says_how_many(client: int) -> None:
    scene = load("ragdoll", client)
    with pytest.raises(ValueError, match="3 finite numbers"):
        scene.joints["Neck"].set_position(0.1)
    with pytest.raises(ValueError, match="1 finite numbers"):
        scene.joints["LeftElbow"].position = math.nan


def test_a_free_body_is_put_elsewhere_and_keeps_its_velocity(client: int) -> None:
    scene = load("falling_box", client)
    body = scene.bodies["Crate"]
    scene.step(24)
    falling = body.linear_velocity
    body.position = (1.0, 2.0, 3.0)
    body.orientation = QUARTER
    assert body.position == pytest.approx((1.0, 2.0, 3.0), abs=1e-12)
    assert body.orientation == pytest.approx(QUARTER, abs=1e-12)
    assert body.linear_velocity == pytest.approx(falling, abs=1e-12)
    scene.step()
    assert body.position == pytest.approx((1.0, 2.0, 3.0), abs=0.02)


def test_a_mechanism_follows_a_body_that_is_put_elsewhere(client: int) -> None:
    scene = load("ragdoll", client)
    head, shin = scene.bodies["Head"], scene.bodies["RightShin"]
    apart = shin.position - head.position
    head.position = (1.0, 1.0, 3.0)
    assert shin.position - head.position == pytest.approx(apart, abs=1e-9)
    turned = np.array([-apart[1], apart[0], apart[2]])
    head.orientation = np.array(pybullet.multiplyTransforms(
        [0, 0, 0], QUARTER, [0, 0, 0], head.orientation.tolist())[1])  # fmt: skip
    assert shin.position - head.position == pytest.approx(turned, abs=1e-9)


def test_masses_and_velocities_of_a_body_are_set_in_the_world(client: int, tmp_path: Path) -> None:
    """Whatever way the scene is turned; the next step adds the weight alone."""
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    turn = np.array([0.1, 0.2, 0.3, 0.9])
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client, orientation=turn)
    crate = scene.bodies["Crate"]
    crate.mass = 7.5
    crate.linear_velocity, crate.angular_velocity = (1.0, 2.0, 3.0), (0.5, 0.1, -1.0)
    assert crate.linear_velocity == pytest.approx([1.0, 2.0, 3.0])
    assert crate.angular_velocity == pytest.approx([0.5, 0.1, -1.0])
    scene.step(1)
    assert crate.linear_velocity == pytest.approx([1.0, 2.0, 3.0 - 9.81 / 240.0])
    scene.save(tmp_path / "tuned.gltf")
    assert gb.load_gltf(tmp_path / "tuned.gltf", client).bodies["Crate"].mass == 7.5
    with pytest.raises(ValueError, match="mass"):
        crate.mass = -1.0
    with pytest.raises((TypeError, ValueError), match="linear_velocity"):
        crate.linear_velocity = (1.0, 2.0)


def test_what_a_fixed_base_holds_is_set_by_its_joints(client: int) -> None:
    scene = load("six_axis_arm", client)
    with pytest.raises(ValueError, match="set_position"):
        scene.bodies["Hand"].position = (0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="quaternion"):
        scene.bodies["Hand"].orientation = (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("orientation", [None, (0.0, 0.0, 0.0, 1.0)])
def test_inverse_kinematics_bring_a_node_to_a_place(
    client: int, orientation: tuple[float, ...] | None
) -> None:
    scene = load("six_axis_arm", client)
    hand = scene.bodies["Hand"]
    goal = hand.position + np.array([-0.2, 0.3, -0.3])
    before = scene.joint_controls.drive_states()[0]
    found = scene.inverse_kinematics("Hand", goal, orientation)
    assert scene.joint_controls.drive_states()[0] == pytest.approx(before, abs=0.0)
    for node, position in found.items():
        scene.joints[node].set_position(position)
    assert hand.position == pytest.approx(goal, abs=1e-7)
    if orientation is not None:
        assert abs(hand.orientation @ orientation) == pytest.approx(1.0, abs=1e-9)


def test_inverse_kinematics_keep_the_limits_and_reach_as_far_as_they_can(client: int) -> None:
    scene = load("six_axis_arm", client)
    with pytest.warns(RuntimeWarning, match=r"cannot bring 'Hand' there: .* about 1e\+02 m"):
        found = scene.inverse_kinematics("Hand", (100.0, 0.0, 0.5))
    for node, position in found.items():
        state = scene.joints[node].degrees_of_freedom[0].state
        assert state.lower - 1e-9 <= position <= state.upper + 1e-9
        scene.joints[node].set_position(position)
    shoulder = scene.world_from_node("ShoulderAxis")[:3, 3]
    towards = scene.bodies["Hand"].position - shoulder
    assert towards[0] / np.linalg.norm(towards) > 0.99
    with pytest.raises(ValueError, match="no joint moves"):
        scene.inverse_kinematics("Pedestal", (0.0, 0.0, 0.0))


def test_gains_of_one_joint_are_not_those_of_others_that_share_its_description(
    client: int,
) -> None:
    root = json.loads((ASSETS / "six_axis_arm.gltf").read_text())
    for node in root["nodes"]:
        joint = node.get("extensions", {}).get("KHR_physics_rigid_bodies", {}).get("joint", {})
        if joint:
            joint["joint"] = 1
    scene = gb.load_gltf(json.dumps(root).encode(), physics_client=client)
    elbow, wrist = scene.joints["ElbowAxis"], scene.joints["WristAxis"]
    before = [(drive.stiffness, drive.damping) for drive in wrist.drives]
    elbow.set_gains(123.0, 4.5)
    assert [(drive.stiffness, drive.damping) for drive in elbow.drives] == [(123.0, 4.5)]
    assert [(drive.stiffness, drive.damping) for drive in wrist.drives] == before
    with pytest.raises(ValueError, match="stiffness"):
        elbow.set_gains(-1.0, 0.0)


def test_joints_without_drives_have_no_gains(client: int) -> None:
    scene = load("pendulum", client)
    joint = next(iter(scene.joints.values()))
    with pytest.raises(ValueError, match="no drive"):
        joint.set_gains(1.0, 1.0)
