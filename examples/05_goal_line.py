"""A goal that counts: trigger events name the trigger, the collider and the body.

python examples/05_goal_line.py
"""

from __future__ import annotations

from pathlib import Path

import pybullet

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "goal_line.gltf"


def main(headless: bool = False, steps: int = 480) -> gb.Scene:
    """Three balls roll; two of them through the goal."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    goals: list[str] = []

    def count(event: gb.TriggerEvent) -> None:
        name = scene.nodes[event.motion_node].name
        print(f"{event.time:5.3f} s: {name} {event.kind} {scene.nodes[event.trigger_node].name}")
        if event.kind == "entered":
            goals.append(name)

    stop_counting = scene.on_trigger(count)
    scene.step(steps)
    stop_counting()
    print(f"{len(goals)} goals: {', '.join(goals)}; inside now: "
          f"{[body.name for body in scene.triggers['Goal'].overlapping_bodies]}")  # fmt: skip
    assert goals == ["BallMiddle", "BallInside"]
    return scene


def check(scene: gb.Scene) -> None:
    """The balls have rolled on, the wide one as far as the others."""
    assert scene.triggers["Goal"].overlapping == ()
    for name in ("BallMiddle", "BallInside", "BallWide"):
        assert scene.world_from_node(name)[0, 3] > 3.0


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
