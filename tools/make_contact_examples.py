"""Writes the example assets about contact: ``python -m tools.make_contact_examples``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tools.make_examples import FOLDER, PhysicsBuilder, box_mesh, physics

__all__ = ["CONTACT_EXAMPLES", "write_contact_examples"]


def bouncing_balls() -> PhysicsBuilder:
    """Five balls fall 2 m onto one floor; each bounces back to e^2 times that height."""
    b = PhysicsBuilder()
    floor, ball = b.shape("box", size=[8, 1, 2]), b.shape("sphere", radius=0.2)
    grey = b.material("Floor", color=[0.6, 0.6, 0.6, 1])
    b.node(
        "Floor",
        translation=[0, -0.5, 0],
        mesh=box_mesh(b, [8, 1, 2], grey),
        extensions=physics(shape=floor),
    )
    for k in range(5):
        bounce = 0.25 * k
        rubber = b.physics_material(restitution=bounce, restitutionCombine="maximum")
        b.node(
            f"Ball{k}",
            translation=[1.2 * (k - 2), 2.2, 0],
            extensions=physics({"mass": 0.5}, ball, material=rubber),
        )
    return b


def filter_gallery() -> PhysicsBuilder:
    """Red and blue boxes fall through the shelf of the other colour and rest on their own."""
    b = PhysicsBuilder()
    box, shelf, floor = (
        b.shape("box", size=[0.4, 0.4, 0.4]),
        b.shape("box", size=[3, 0.1, 1]),
        b.shape("box", size=[6, 1, 4]),
    )
    colors = {"Red": [0.85, 0.2, 0.15, 1], "Blue": [0.15, 0.35, 0.85, 1]}
    paint = {name: b.material(name, color=color) for name, color in colors.items()}
    b.node("Floor", translation=[0, -0.5, 0], extensions=physics(shape=floor))
    for k, name in enumerate(colors):
        own = b.collision_filter(collisionSystems=[f"shelf {name}"])
        b.node(
            f"{name}Shelf",
            translation=[0, 1 + k, 0],
            mesh=box_mesh(b, [3, 0.1, 1], paint[name]),
            extensions=physics(shape=shelf, collision_filter=own),
        )
    for k, name in enumerate(colors):
        own = b.collision_filter(collisionSystems=["boxes"], collideWithSystems=[f"shelf {name}"])
        b.node(
            f"{name}Box",
            translation=[k - 0.5, 3, 0],
            mesh=box_mesh(b, [0.4, 0.4, 0.4], paint[name]),
            extensions=physics({"mass": 1}, box, collision_filter=own),
        )
    nothing = b.collision_filter(collisionSystems=["boxes"], collideWithSystems=["nobody"])
    b.node(
        "Ghost",
        translation=[1.2, 3, 0],
        extensions=physics({"mass": 1}, box, collision_filter=nothing),
    )
    return b


CONTACT_EXAMPLES: Final[dict[str, Callable[[], PhysicsBuilder]]] = {
    "bouncing_balls": bouncing_balls,
    "filter_gallery": filter_gallery,
}


def write_contact_examples(folder: Path) -> list[Path]:
    """Write the assets into ``folder``."""
    written = []
    for name, make in CONTACT_EXAMPLES.items():
        path = folder / f"{name}.gltf"
        make().finish().write(path)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_contact_examples(FOLDER):
        sys.stdout.write(f"{file}\n")
