"""Contact as the file says it: bounce heights by restitution, boxes that pass each other's shelf.

python examples/10_materials_and_filters.py
"""

from __future__ import annotations

from pathlib import Path

import pybullet

import gltf_bullet as gb

ASSETS = Path(__file__).parent / "assets"


def main(headless: bool = False, steps: int = 300) -> gb.Scene:
    """Two files side by side in one world; prints how high each ball came back."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    balls = gb.load_gltf(ASSETS / "bouncing_balls.gltf", client)
    gallery = gb.load_gltf(ASSETS / "filter_gallery.gltf", client, position=(0, 6, 0))
    apex = [0.0] * 5
    for _ in range(steps):
        balls.before_step()
        gallery.before_step()
        pybullet.stepSimulation(client)
        balls.after_step()
        gallery.after_step()
        for k in range(5):
            body = balls.bodies[f"Ball{k}"]
            rising = body.linear_velocity[2] > 0.0
            if rising:
                apex[k] = max(apex[k], body.center_of_mass[2] - 0.2)
    for k, height in enumerate(apex):
        bounce = 0.25 * k
        print(
            f"e = {bounce:4.2f}: came back to {height:.2f} m of 2 m, {2 * bounce**2:.2f} by e^2 h"
        )
        assert abs(height - 2.0 * bounce**2) < 0.2
    return gallery


def check(gallery: gb.Scene) -> None:
    """Each box rests on the shelf of its own colour; the ghost on the floor without a filter."""
    assert abs(gallery.world_from_node("RedBox")[2, 3] - 1.25) < 0.01
    assert abs(gallery.world_from_node("BlueBox")[2, 3] - 2.25) < 0.01
    assert abs(gallery.world_from_node("Ghost")[2, 3] - 0.2) < 0.01


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
