"""A robot from a URDF file drives in a glTF scene, under code that knows PyBullet ids alone.

python examples/12_urdf_robot.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pybullet_data

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "falling_box.gltf"


def drive(robot: int, speed: float, client: int) -> None:
    """Turn all wheels of a robot; it may come from anywhere."""
    for joint in range(pybullet.getNumJoints(robot, physicsClientId=client)):
        info = pybullet.getJointInfo(robot, joint, physicsClientId=client)
        if info[2] == pybullet.JOINT_REVOLUTE and b"wheel" in info[1]:
            pybullet.setJointMotorControl2(
                robot, joint, pybullet.VELOCITY_CONTROL, targetVelocity=-speed, force=50.0,
                physicsClientId=client,
            )  # fmt: skip


def farthest_body(client: int) -> int:
    """Which body of the world stands farthest along Y."""
    bodies = [
        pybullet.getBodyUniqueId(k, physicsClientId=client)
        for k in range(pybullet.getNumBodies(physicsClientId=client))
    ]
    return max(bodies, key=lambda body: pybullet.getBasePositionAndOrientation(body, client)[0][1])


def main(headless: bool = False) -> gb.Scene:
    """R2-D2 pushes the glTF's crate along."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    pybullet.setAdditionalSearchPath(pybullet_data.getDataPath(), physicsClientId=client)
    robot = pybullet.loadURDF("r2d2.urdf", [0, -1.6, 0.5], physicsClientId=client)
    scene.step(360)  # the crate falls first
    drive(robot, 30.0, client)
    scene.step(480)
    print("the crate stands at", np.round(scene.world_from_node("Crate")[:3, 3], 2))
    return scene


def check(scene: gb.Scene) -> None:
    """The robot has reached the crate and pushed it; both kinds of code agree on where it is."""
    crate = scene.bodies["Crate"]
    assert scene.world_from_node("Crate")[1, 3] > 0.2
    assert farthest_body(scene.client_id) == crate.body_id
    robot = pybullet.getNumBodies(physicsClientId=scene.client_id) - 1  # loaded last
    near = pybullet.getClosestPoints(robot, crate.body_id, 0.5, physicsClientId=scene.client_id)
    assert near, "the robot is not behind the crate"


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
