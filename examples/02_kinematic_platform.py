"""A belt at 0.5 m/s carries a box; a turntable carries another one round.

python examples/02_kinematic_platform.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "kinematic_platform.gltf"


def main(headless: bool = False, steps: int = 480) -> gb.Scene:
    """Kinematic bodies keep their authored velocity, whatever lies on them."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    for _ in range(steps):
        scene.step()
    for body in scene.bodies.values():
        print(f"{body.name:10} {body.kind.value:10} {body.linear_velocity.round(3)} m/s")
    return scene


def check(scene: gb.Scene) -> None:
    """The box goes at the belt's speed; the other one at the table's spin times its radius."""
    assert np.allclose(scene.bodies["BeltBox"].linear_velocity, [0.5, 0.0, 0.0], atol=0.01)
    table = scene.bodies["Turntable"].center_of_mass
    arm = scene.bodies["TableBox"].center_of_mass - table
    expected = np.cross([0.0, 0.0, 0.8], arm)
    assert np.allclose(scene.bodies["TableBox"].linear_velocity, expected, atol=0.03)


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
