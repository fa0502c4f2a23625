"""Spherical joints of robots: what ``loadURDF`` makes of them, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file
from gltf_bullet.transforms import Pose
from tests.convert.robots import body_of

INERTIA = '<inertia ixx=".01" iyy=".02" izz=".015" ixy="0" ixz="0" iyz="0"/>'
PENDULUM = f"""<robot name="pendulum"><link name="top"/>
<link name="bob">
  <inertial><origin xyz="0.02 0 -0.2" rpy="{{inertia}}"/><mass value="1"/>{INERTIA}</inertial>
  <collision><origin xyz="0 0 -0.2"/><geometry><box size=".1 .1 .3"/></geometry></collision>
</link>
<joint name="ball" type="spherical"><parent link="top"/><child link="bob"/>
  <origin xyz="0 0 1" rpy="{{joint}}"/></joint>
<link name="tail">
  <inertial><origin xyz="0 0 -0.1"/><mass value="0.3"/>{INERTIA}</inertial></link>
<joint name="hinge" type="revolute"><parent link="bob"/><child link="tail"/>
  <origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>
"""
TURNED = {"inertia": ".3 .2 .1", "joint": "0 .4 0"}
BALL, HINGE = 0, 1


def pair(tmp_path: Path, client: int, **turns: str) -> tuple[int, gb.Scene]:
    """The pendulum as ``loadURDF`` has it and as we have it, 5 m beside; without damping."""
    path = tmp_path / "pendulum.urdf"
    path.write_text(PENDULUM.format(**turns))
    flags = pybullet.URDF_USE_INERTIA_FROM_FILE
    native = pybullet.loadURDF(str(path), useFixedBase=True, flags=flags, physicsClientId=client)
    _, asset = robot_file(path, Diagnostics(), fixed_base=True, inertia_from_file=True)
    scene = asset.instantiate(client, position=(5.0, 0.0, 0.0))
    pybullet.changeDynamics(native, -1, linearDamping=0, angularDamping=0, physicsClientId=client)
    pybullet.setJointMotorControlMultiDof(
        native, BALL, pybullet.POSITION_CONTROL, [0, 0, 0, 1], force=[0, 0, 0],
        physicsClientId=client,
    )  # fmt: skip
    pybullet.setJointMotorControl2(
        native, HINGE, pybullet.VELOCITY_CONTROL, force=0, physicsClientId=client
    )
    return native, scene


def placed(client: int, body: int, link: int) -> np.ndarray:
    state = pybullet.getLinkState(body, link, 0, 1, physicsClientId=client)
    return np.array([*state[4], *state[5]])


@pytest.mark.parametrize(
    "turns",
    [{"inertia": "0 0 0", "joint": "0 0 0"}, {"inertia": ".3 0 0", "joint": "0 0 0"}, TURNED],
)
def test_a_ball_with_turned_inertia_is_one_joint_with_the_native_position(
    tmp_path: Path, turns: dict[str, str]
) -> None:
    """It had a fixed joint after it, and the numbers of ``resetJointStateMultiDof`` another pose
    (0.1 rad here)."""
    with headless_world() as client:
        native, scene = pair(tmp_path, client, **turns)
        ours = body_of(scene)
        infos = [
            [
                (info[0], info[1], info[2], info[12], info[16])
                for info in (pybullet.getJointInfo(body, k, client) for k in range(2))
            ]
            for body in (native, ours)
        ]
        assert pybullet.getNumJoints(ours, client) == 2
        assert infos[0] == infos[1]
        turn, spin = pybullet.getQuaternionFromEuler([0.5, 0.3, 0.2]), [0.1, 0.2, 0.3]
        for body in (native, ours):
            pybullet.resetJointStateMultiDof(body, BALL, turn, spin, physicsClientId=client)
        away = np.array([5.0, 0, 0, 0, 0, 0, 0])
        for link in (BALL, HINGE):
            expected = placed(client, native, link) + away
            assert placed(client, ours, link) == pytest.approx(expected, abs=1e-6)
        for index in (4, 5):
            moving = [
                pybullet.getLinkState(body, HINGE, 1, 1, physicsClientId=client)[index + 2]
                for body in (native, ours)
            ]
            assert moving[1] == pytest.approx(moving[0], abs=1e-6)
        # The solve goes by the same frames: it integrates as the engine does.
        for _ in range(120):
            scene.step()
        expected = placed(client, native, HINGE) + away
        # 7e-5 to 1.8e-4 m between the two ways to integrate; 6e-3 with another start.
        assert placed(client, ours, HINGE)[:3] == pytest.approx(expected[:3], abs=4e-4)


def test_nodes_and_joints_follow_a_ball_with_turned_inertia(tmp_path: Path) -> None:
    """The node tree is where the engine's links are; the joint's position is PyBullet's."""
    with headless_world() as client:
        _, scene = pair(tmp_path, client, **TURNED)
        ours = body_of(scene)
        for steps in (0, 60):
            scene.step(steps)
            turn = pybullet.getQuaternionFromEuler([0.5, -0.4, 0.2])
            pybullet.resetJointStateMultiDof(ours, BALL, turn, [0, 0, 0], physicsClientId=client)
            scene.after_step()
            for link, name in ((BALL, "bob"), (HINGE, "tail")):
                position, *rotation = np.split(placed(client, ours, link), [3])
                expected = Pose(tuple(rotation[0]), tuple(position)).matrix()
                found = scene.world_from_node(scene.node(name).index)
                assert found == pytest.approx(expected, abs=1e-6)
            dofs = [dof for j in scene.joints.values() for dof in j.degrees_of_freedom]
            (ball,) = [dof for dof in dofs if dof.link_index == BALL]
            axis, angle = pybullet.getAxisAngleFromQuaternion(turn)
            assert ball.position == pytest.approx(np.array(axis) * angle, abs=1e-6)


def test_a_ball_with_turned_inertia_comes_out_of_a_world_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "world.glb"
    with headless_world() as client:
        native, scene = pair(tmp_path, client, **TURNED)
        scene.remove()
        turn, spin = pybullet.getQuaternionFromEuler([0.5, 0.3, 0.2]), [0.1, 0.2, 0.3]
        pybullet.resetJointStateMultiDof(native, BALL, turn, spin, physicsClientId=client)
        gb.export_world(path, client)
        copy = gb.load_gltf(path, client, position=(5.0, 0.0, 0.0))
        states = [
            pybullet.getJointStateMultiDof(body, BALL, physicsClientId=client)
            for body in (native, body_of(copy))
        ]
        for index in (0, 1):
            assert states[1][index] == pytest.approx(states[0][index], abs=1e-6)
