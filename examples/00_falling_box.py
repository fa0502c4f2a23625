"""A crate falls on a floor: load a file, step it, read where a node stands.

python examples/00_falling_box.py
"""

from __future__ import annotations

from pathlib import Path

import pybullet

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "falling_box.gltf"


def main(headless: bool = False, steps: int = 480) -> gb.Scene:
    """Run the example; the world stays connected for whoever looks at the scene afterwards."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    for _ in range(steps):
        scene.step()
    x, y, z = scene.world_from_node("Crate")[:3, 3]
    print(f"after {scene.time:.2f} s the crate stands at {x:.3f} {y:.3f} {z:.3f} m")
    return scene


def check(scene: gb.Scene) -> None:
    """The crate lies flat on the floor: its centre is half its size above it."""
    assert abs(scene.world_from_node("Crate")[2, 3] - 0.5) < 0.005
    assert abs(scene.bodies["Crate"].linear_velocity).max() < 0.01


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
