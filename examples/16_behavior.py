"""A machine with its logic in the file: balls roll at a flap, and a graph turns it for each.

python examples/16_behavior.py
"""

from __future__ import annotations

from pathlib import Path

import pybullet

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "sorting_gate.gltf"


def main(headless: bool = False, steps: int = 3360) -> gb.Scene:
    """Five balls, to the left and to the right in turn; the file counts them."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    behavior = scene.behavior  # None of a file without a graph
    assert behavior is not None

    # What the graph sends to the outside, and what it writes into its log.
    behavior.on("sorted", lambda values: print(f"{scene.time:6.3f} s: {dict(values)}"))
    start = scene.save_state()
    scene.step(steps)
    print(behavior.log[-1].message, dict(behavior.variables))
    assert (behavior.variables["left"], behavior.variables["right"]) == (3, 2)

    # The graph is part of every state: back to the start, with the first ball to the other side.
    scene.restore_state(start)
    behavior.variables["side"] = -0.5
    scene.step(steps)
    return scene


def check(scene: gb.Scene) -> None:
    """This time three are on the right."""
    assert scene.behavior is not None
    assert (scene.behavior.variables["left"], scene.behavior.variables["right"]) == (2, 3)


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
