"""See the physics in your own window: limits, contacts with forces, triggers that light up.

python examples/13_debug_draw.py
"""

from __future__ import annotations

from pathlib import Path

import pybullet

import gltf_bullet as gb

ASSETS = Path(__file__).parent / "assets"


def main(headless: bool = False, steps: int = 480) -> gb.Scene:
    """A door that swings between its limits beside a goal that balls roll through."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    pybullet.resetDebugVisualizerCamera(6.0, 30.0, -25.0, [1.5, 0.0, 0.8], physicsClientId=client)
    # The door's file has no meshes: its colliders are shown instead.
    solid = gb.LoadOptions(visuals="collider")
    place = (0.5, -2.0, 0.0)
    door = gb.load_gltf(ASSETS / "hinge_door.gltf", client, position=place, options=solid)
    goal = gb.load_gltf(ASSETS / "goal_line.gltf", client)

    joints = gb.viewer.DebugDraw(door, show=("joints", "inertia"))
    contacts = gb.viewer.DebugDraw(goal, show=("triggers", "contacts", "velocities"))
    lit = 0
    for _ in range(steps):
        door.before_step()
        goal.before_step()
        pybullet.stepSimulation(client)
        door.after_step()
        goal.after_step()
        joints.update()  # at most 20 times per second; nothing where there is no window
        contacts.update()
        # The same as arrays, for renderers of your own.
        yellow = contacts.strokes("triggers").colors == gb.viewer.COLORS["occupied"]
        lit += bool(yellow.all(axis=1).any())
    arc = joints.strokes("joints")
    print(f"{len(arc)} lines show the hinge; the goal was lit in {lit} of {steps} steps")
    assert 0 < lit < steps
    contacts.close()  # takes all lines away; so does scene.remove()
    return goal


def check(goal: gb.Scene) -> None:
    """Nobody stands in the goal at the end."""
    assert goal.triggers["Goal"].overlapping == ()


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
