"""Two files in one world: a ragdoll falls while a rope of twenty segments swings beside it.

python examples/08_rope_and_ragdoll.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet

import gltf_bullet as gb

ASSETS = Path(__file__).parent / "assets"


def widest_gap(scene: gb.Scene) -> float:
    """How far the joints have come apart [m]."""
    return max(
        np.linalg.norm(
            scene.world_from_node(joint.node)[:3, 3]
            - scene.world_from_node(joint.model.connected_node)[:3, 3]
        )
        for joint in scene.joints.values()
    )


def main(headless: bool = False, steps: int = 1200) -> list[gb.Scene]:
    """Each scene does its own half of the step; the engine steps once for both."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    ragdoll = gb.load_gltf(ASSETS / "ragdoll.gltf", client)
    rope = gb.load_gltf(ASSETS / "rope.gltf", client, position=(0.0, 2.0, 0.0))
    for step in range(steps):
        for scene in (ragdoll, rope):
            scene.before_step()
        pybullet.stepSimulation(client)
        for scene in (ragdoll, rope):
            scene.after_step()
        if step % 240 == 0:
            head, weight = ragdoll.world_from_node("Head"), rope.world_from_node("Weight")
            print(f"{rope.time:5.2f} s: head at {head[2, 3]:.2f} m, weight at {weight[0, 3]:.2f} m")
    return [ragdoll, rope]


def check(scenes: list[gb.Scene]) -> None:
    """The ragdoll lies still on the floor, and nothing has come apart."""
    ragdoll, rope = scenes
    assert ragdoll.world_from_node("Chest")[2, 3] < 0.5
    assert max(abs(body.linear_velocity).max() for body in ragdoll.bodies.values()) < 0.05
    assert widest_gap(ragdoll) < 1e-4
    assert widest_gap(rope) < 1e-4


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
