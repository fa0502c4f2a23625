"""Writes the assets to train on: ``python -m tools.make_training_assets``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tools.make_examples import FOLDER, PhysicsBuilder, box_mesh, physics

__all__ = ["TRAINING_ASSETS", "write_training_assets"]


def cart_pole() -> PhysicsBuilder:
    """A cart on a rail, driven with at most 10 N, and a pole that stands on it on a free hinge.

    The measures of Barto, Sutton and Anderson (1983): cart 1 kg, pole 0.1 kg and 1 m long.
    """
    b = PhysicsBuilder()
    rail, cart, pole = (
        b.shape("box", size=[6, 0.04, 0.1]),
        b.shape("box", size=[0.5, 0.2, 0.3]),
        b.shape("box", size=[0.06, 1, 0.06]),
    )
    grey, blue, red = (
        b.material("Steel", color=[0.5, 0.5, 0.5, 1]),
        b.material("Blue", color=[0.15, 0.3, 0.7, 1]),
        b.material("Red", color=[0.8, 0.2, 0.1, 1]),
    )
    slide = b.joint(
        {"linearAxes": [1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": [0], "min": -2.7, "max": 2.7},
        drives=[{"type": "linear", "mode": "force", "axis": 0, "positionTarget": 0,
                 "velocityTarget": 0, "stiffness": 0, "damping": 0.1, "maxForce": 10}],
    )  # fmt: skip
    hinge = b.joint(
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1], "min": 0, "max": 0},
    )
    track = b.node(
        "Rail", translation=[0, 0.5, 0], mesh=box_mesh(b, [6, 0.04, 0.1], grey),
        extensions=physics(shape=rail),
    )  # fmt: skip
    carriage = b.node(
        "Cart", translation=[0, 0.62, 0], mesh=box_mesh(b, [0.5, 0.2, 0.3], blue),
        extensions=physics({"mass": 1}, cart),
    )  # fmt: skip
    top = b.node("TopOfCart", parent=carriage, translation=[0, 0.1, 0])
    middle = b.node("MiddleOfCart", parent=carriage)
    # A joint measures its connected node in its own frame: on the fixed side, the coordinate grows
    # with the cart's way along X, and the pole's angle with its turn about Z.
    b.node("Slide", parent=track, translation=[0, 0.12, 0],
           extensions=physics(joint={"connectedNode": middle, "joint": slide}))  # fmt: skip
    stick = b.node(
        "Pole", translation=[0, 1.22, 0], mesh=box_mesh(b, [0.06, 1, 0.06], red),
        extensions=physics({"mass": 0.1}, pole),
    )  # fmt: skip
    foot = b.node("FootOfPole", parent=stick, translation=[0, -0.5, 0])
    b.node("Hinge", parent=top,
           extensions=physics(joint={"connectedNode": foot, "joint": hinge}))  # fmt: skip
    return b


TRAINING_ASSETS: Final[dict[str, Callable[[], PhysicsBuilder]]] = {"cart_pole": cart_pole}


def write_training_assets(folder: Path) -> list[Path]:
    """Write all training assets into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, make in TRAINING_ASSETS.items():
        path = folder / f"{name}.gltf"
        make().finish().write(path)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_training_assets(FOLDER):
        sys.stdout.write(f"{file}\n")
