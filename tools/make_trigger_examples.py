"""Writes the example assets with triggers: ``python -m tools.make_trigger_examples``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tools.make_examples import BODIES, FOLDER, PhysicsBuilder, box_mesh, physics

__all__ = ["TRIGGER_EXAMPLES", "write_trigger_examples"]


def goal_line() -> PhysicsBuilder:
    """Three balls roll at a goal; a compound trigger behind its posts counts what comes through."""
    b = PhysicsBuilder()
    floor, post, bar = (
        b.shape("box", size=[12, 1, 6]),
        b.shape("box", size=[0.1, 1, 0.1]),
        b.shape("box", size=[0.1, 0.1, 2.2]),
    )
    ball, half = b.shape("sphere", radius=0.15), b.shape("box", size=[0.4, 1, 1])
    green, white = b.material("Grass", color=[0.2, 0.5, 0.2, 1]), b.material("White")
    b.node(
        "Field",
        translation=[0, -0.5, 0],
        mesh=box_mesh(b, [12, 1, 6], green),
        extensions=physics(shape=floor),
    )
    post_mesh, bar_mesh = box_mesh(b, [0.1, 1, 0.1], white), box_mesh(b, [0.1, 0.1, 2.2], white)
    for name, at, mesh, shape in (
        ("PostLeft", [2, 0.5, -1.05], post_mesh, post),
        ("PostRight", [2, 0.5, 1.05], post_mesh, post),
        ("Crossbar", [2, 1.05, 0], bar_mesh, bar),
    ):
        b.node(name, translation=at, mesh=mesh, extensions=physics(shape=shape))
    left, right = (
        b.node(
            name,
            translation=[0, 0, side],
            extensions={BODIES: {"trigger": {"geometry": {"shape": half}}}},
        )
        for name, side in (("GoalLeft", -0.5), ("GoalRight", 0.5))
    )
    b.node(
        "Goal",
        translation=[2.5, 0.5, 0],
        children=[left, right],
        extensions={BODIES: {"trigger": {"nodes": [left, right]}}},
    )
    # The middle of the goal, between both halves of the trigger; just inside; and wide.
    for name, z in (("BallMiddle", 0.0), ("BallInside", 0.6), ("BallWide", 1.6)):
        b.node(
            name,
            translation=[-2, 0.15, z],
            extensions=physics({"mass": 0.4, "linearVelocity": [6, 0, 0]}, ball),
        )
    return b


TRIGGER_EXAMPLES: Final[dict[str, Callable[[], PhysicsBuilder]]] = {"goal_line": goal_line}


def write_trigger_examples(folder: Path) -> list[Path]:
    """Write the assets into ``folder``."""
    written = []
    for name, make in TRIGGER_EXAMPLES.items():
        path = folder / f"{name}.gltf"
        make().finish().write(path)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_trigger_examples(FOLDER):
        sys.stdout.write(f"{file}\n")
