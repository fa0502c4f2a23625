"""A robot arm draws a circle: glTF servos, driven by PyBullet's own kinematics.

python examples/06_six_axis_arm.py
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pybullet

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "six_axis_arm.gltf"


def circle(time: float) -> list[float]:
    """Where the hand should be: once round in 4 s, in front of the arm."""
    angle = math.tau * time / 4.0
    return [0.55, 0.15 * math.cos(angle), 0.8 + 0.15 * math.sin(angle)]


def main(headless: bool = False, steps: int = 1440) -> gb.Scene:
    """Every step: joint angles from inverse kinematics, all targets set by one array."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    hand = scene.bodies["Hand"]
    # The arm is one multibody of six revolute joints, in the order of the drives.
    links = [scene.joints[d.joint_node].degrees_of_freedom[0].link_index
             for d in scene.joint_controls.drives]  # fmt: skip
    scene.set_drive_targets([0.2, -0.5, 0.6, 0.1, 0.5, 0.0])
    scene.step(120)
    for step in range(steps):
        angles = pybullet.calculateInverseKinematics(
            hand.body_id, hand.link_index, circle(scene.time), physicsClientId=client
        )
        scene.set_drive_targets(angles)
        scene.step()
        if step % 240 == 0:
            states = pybullet.getJointStates(hand.body_id, links, physicsClientId=client)
            print(f"{scene.time:5.2f} s:", " ".join(f"{state[0]:6.2f}" for state in states), "rad")
    return scene


def check(scene: gb.Scene) -> None:
    """The hand is on its circle, to a few millimetres of lag."""
    assert np.linalg.norm(scene.bodies["Hand"].center_of_mass - circle(scene.time)) < 0.01


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
