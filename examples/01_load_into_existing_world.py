"""An asset among bodies of your own, several times, in a loop that is yours.

python examples/01_load_into_existing_world.py
"""

from __future__ import annotations

from pathlib import Path

import pybullet

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "compound.gltf"


def main(headless: bool = False, steps: int = 480) -> list[gb.Scene]:
    """Three hammers around a ball of our own; the world's settings are left alone."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.3, physicsClientId=client)
    ball = pybullet.createMultiBody(5.0, shape, basePosition=[0, 0, 0.3], physicsClientId=client)

    hammer = gb.read_asset(ASSET)  # parsed once
    places = [(-1.0, 0.0, 0.0), (0.0, 0.0, 0.5), (1.0, 0.0, 0.0)]
    scenes = [hammer.instantiate(client, position=place, scale=0.8) for place in places]
    for _ in range(steps):
        for scene in scenes:
            scene.before_step()
        pybullet.stepSimulation(client)
        for scene in scenes:
            scene.after_step()

    for scene in scenes:
        print(f"hammer at {scene.world_from_node('Hammer')[:3, 3].round(3)}")
    position, _ = pybullet.getBasePositionAndOrientation(ball, client)
    print(f"our ball at {[round(value, 3) for value in position]}")
    return scenes


def check(scenes: list[gb.Scene]) -> None:
    """Every hammer has come down on a floor, and removing the scenes leaves our ball alone."""
    client = scenes[0].client_id
    for scene in scenes:
        assert 0.0 < scene.bodies["Hammer"].center_of_mass[2] < 1.0
        scene.remove()
    assert pybullet.getNumBodies(client) == 1


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
