"""A door on a hinge with a closing spring: glTF joints are ordinary PyBullet joints.

python examples/04_hinge_door.py
"""

from __future__ import annotations

import math
from pathlib import Path

import pybullet

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "hinge_door.gltf"


def opening(scene: gb.Scene) -> float:
    """How far the door stands open [rad], about the world's Z axis."""
    matrix = scene.world_from_node("Door")
    return math.atan2(matrix[1, 0], matrix[0, 0])


def main(headless: bool = False, steps: int = 1440) -> gb.Scene:
    """The door swings open at 3 rad/s; its spring closes it again."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    widest = 0.0
    for step in range(steps):
        scene.step()
        widest = max(widest, opening(scene))
        if step % 240 == 0:
            print(f"{scene.time:5.2f} s: {math.degrees(opening(scene)):6.1f} degrees open")
    print(f"widest: {math.degrees(widest):.1f} degrees")
    return scene


def check(scene: gb.Scene) -> None:
    """The door has closed again and still hangs on its hinge."""
    assert abs(opening(scene)) < math.radians(2.0)
    hinge, post = scene.world_from_node("HingeOnDoor"), scene.world_from_node("HingeOnPost")
    assert abs(hinge[:3, 3] - post[:3, 3]).max() < 1e-3


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
