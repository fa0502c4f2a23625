"""A car on four sprung and driven wheels: off it goes, then round a bend.

python examples/07_vehicle.py
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pybullet

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "vehicle.gltf"
STEERING = 0.3  # rad, to the left


def main(headless: bool = False, steps: int = 1200) -> gb.Scene:
    """Drive straight on for two seconds, then steer; the file's motors turn the wheels."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    drives = scene.joint_controls.drives
    # Springs, motors and steering are all drives; steering is the one about glTF's upright Y.
    is_steering = np.array([d.kind.value == "angular" and d.axis == 1 for d in drives])
    for step in range(steps):
        scene.set_drive_targets(np.where(is_steering & (scene.time > 2.0), STEERING, 0.0))
        scene.step()
        if step % 240 == 0:
            x, y, _ = scene.world_from_node("Car")[:3, 3]
            speed = np.linalg.norm(scene.bodies["Car"].linear_velocity)
            print(f"{scene.time:5.2f} s: at {x:6.2f} {y:6.2f} m with {speed:.2f} m/s")
    return scene


def check(scene: gb.Scene) -> None:
    """It rolls at the motors' 10 rad/s on wheels of 0.3 m, round the circle of its wheelbase."""
    car = scene.bodies["Car"]
    speed = np.linalg.norm(car.linear_velocity[:2])
    assert abs(speed - 3.0) < 0.3
    assert abs(car.angular_velocity[2] - speed * math.tan(STEERING) / 1.4) < 0.1


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
