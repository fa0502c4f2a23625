"""A robot of a URDF file becomes glTF, is loaded twice, grasps a box, and leaves a film of it.

python examples/14_robot_arm.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pybullet
import pybullet_data

import gltf_bullet as gb
from gltf_bullet.cli import app

DATA = Path(pybullet_data.getDataPath())
OUT = Path(tempfile.mkdtemp(prefix="robot_arm_"))
DOWN = (1.0, 0.0, 0.0, 0.0)  # xyzw: the hand looks down


def named(body: int, client: int) -> dict[str, int]:
    """Joint indices by name, as any PyBullet code finds them."""
    count = pybullet.getNumJoints(body, physicsClientId=client)
    infos = (pybullet.getJointInfo(body, joint, physicsClientId=client) for joint in range(count))
    return {info[1].decode(): info[0] for info in infos}


def main(headless: bool = False) -> gb.Scene:
    """Convert; load two arms; the first lifts a box by 20 cm."""
    panda = str(DATA / "franka_panda" / "panda.urdf")
    app(["convert", panda, str(OUT / "panda.glb"), "--fixed-base"], standalone_mode=False)
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    scene = (asset := gb.read_asset(OUT / "panda.glb")).instantiate(client)
    asset.instantiate(client, position=(0, 1.5, 0))  # the second shares what was read and planned
    arm = scene.bodies["panda_hand"].body_id
    joints, hand = named(arm, client), scene.bodies["panda_grasptarget"].link_index
    axes = [joints[f"panda_joint{k}"] for k in range(1, 8)]
    axes += [joints["panda_finger_joint1"], joints["panda_finger_joint2"]]
    pybullet.loadURDF(str(DATA / "plane.urdf"), physicsClientId=client)
    box = pybullet.loadURDF(str(DATA / "cube_small.urdf"), [0.5, 0, 0.025], physicsClientId=client)
    for joint, angle in zip(axes, (0, 0.4, 0, -2.1, 0, 2.5, 0.78), strict=False):
        pybullet.resetJointState(arm, joint, angle, physicsClientId=client)
    recording = gb.record_world(client)
    for height, grip in ((0.1, 0.04), (0.02, 0.04), (0.02, 0.0), (0.22, 0.0)):
        angles = pybullet.calculateInverseKinematics(
            arm, hand, [0.5, 0, height], DOWN, maxNumIterations=200, physicsClientId=client
        )
        pybullet.setJointMotorControlArray(
            arm, axes, pybullet.POSITION_CONTROL, [*angles[:7], grip, grip],
            forces=[200.0] * 7 + [30.0] * 2, physicsClientId=client,
        )  # fmt: skip
        for _ in range(240):
            scene.step()
            recording.after_step()
    recording.export_glb(OUT / "rollout.glb")
    print("the box is at", pybullet.getBasePositionAndOrientation(box, client)[0], "see", OUT)
    return scene


def check(scene: gb.Scene) -> None:
    """The box hangs in the hand, and the rollout is a file that can be read."""
    box = pybullet.getBodyUniqueId(pybullet.getNumBodies(scene.client_id) - 1, scene.client_id)
    assert pybullet.getBasePositionAndOrientation(box, scene.client_id)[0][2] > 0.15
    assert gb.read_asset(OUT / "rollout.glb").animations[0].duration > 3.9


if __name__ == "__main__":
    check(main(headless=not gb.has_display()))
