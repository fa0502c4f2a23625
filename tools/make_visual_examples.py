"""Writes the example assets about looks: ``python -m tools.make_visual_examples``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from tools.make_examples import FOLDER, PhysicsBuilder, box_mesh, physics, turn
from tools.stored_png import stored_png

__all__ = ["VISUAL_EXAMPLES", "letter_image", "write_visual_examples"]

Pixels = npt.NDArray[np.uint8]

LETTERS: Final = {
    "A": ("..##..", ".#..#.", "#....#", "######", "#....#", "#....#"),
    "B": ("#####.", "#....#", "#####.", "#....#", "#....#", "#####."),
    "C": (".####.", "#....#", "#.....", "#.....", "#....#", ".####."),
}
PAPER: Final = (244, 226, 188)
INKS: Final = {"A": (196, 40, 40), "B": (32, 96, 176), "C": (36, 132, 62)}
NEAREST_REPEAT: Final = (10497, 10497)
CLAMPED: Final = (33071, 33071)


def letter_image(letter: str) -> Pixels:
    """16 x 16: a letter of 12 x 12 on paper within a frame of its ink."""
    pixels = np.full((16, 16, 3), INKS[letter], dtype=np.uint8)
    pixels[1:-1, 1:-1] = PAPER
    for row, line in enumerate(LETTERS[letter]):
        for column, mark in enumerate(line):
            if mark == "#":
                pixels[2 + 2 * row : 4 + 2 * row, 2 + 2 * column : 4 + 2 * column] = INKS[letter]
    return pixels


def planks_image() -> Pixels:
    """16 x 16: four boards with joints."""
    tones = np.array([(176, 128, 84), (164, 116, 74), (184, 138, 92), (170, 122, 80)])
    pixels = tones.repeat(4, axis=0)[:, None, :].repeat(16, axis=1)
    for board in range(4):
        pixels[4 * board] = (120, 82, 50)
        pixels[4 * board : 4 * board + 4, (5 * board + 3) % 16] = (120, 82, 50)
    return pixels.astype(np.uint8)


def lattice_image() -> Pixels:
    """16 x 16 with alpha: a fence with eight holes a side."""
    y, x = np.mgrid[:16, :16]
    pixels = np.empty((16, 16, 4), dtype=np.uint8)
    pixels[..., :3] = (232, 232, 226)
    pixels[..., 3] = np.where((x % 4 < 2) | (y % 4 < 2), 255, 0)
    return pixels


def textured_cube(builder: PhysicsBuilder, size: float, material: int) -> int:
    """Each side shows the whole image upright."""
    points, normals, uvs, triangles = [], [], [], []
    up = np.array([0.0, 1.0, 0.0])
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = sign * np.eye(3)[axis]
            upward = up if axis != 1 else np.array([0.0, 0.0, -sign])
            right = np.cross(upward, normal)
            first = len(points)
            for u, v in ((0, 1), (1, 1), (1, 0), (0, 0)):
                points.append(0.5 * size * (normal + (2 * u - 1) * right + (1 - 2 * v) * upward))
                normals.append(normal)
                uvs.append((u, v))
            triangles += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    attributes = {
        "NORMAL": np.array(normals, np.float32),
        "TEXCOORD_0": np.array(uvs, np.float32),
    }
    return builder.mesh(points, triangles, material=material, attributes=attributes)


def striped_ball(builder: PhysicsBuilder, radius: float) -> int:
    """A ball of six coloured segments, by vertex colours; no texture."""
    segments, rings, colors = 24, 12, ((1, 1, 1), (0.8, 0.05, 0.05), (0.05, 0.2, 0.8))
    points, shades, triangles = [], [], []
    for segment in range(segments):
        first = len(points)
        for side in (0, 1):
            turn_ = 2.0 * math.pi * (segment + side) / segments
            for ring in range(rings + 1):
                tilt = math.pi * ring / rings
                points.append(
                    (
                        round(radius * math.sin(tilt) * math.sin(turn_), 6),
                        round(radius * math.cos(tilt), 6),
                        round(radius * math.sin(tilt) * math.cos(turn_), 6),
                    )
                )
                shades.append(colors[segment // 4 % 3])
        for ring in range(rings):
            a, b = first + ring, first + rings + 1 + ring
            triangles += [(a, a + 1, b + 1), (a, b + 1, b)]
    normals = np.round(np.array(points) / radius, 6).astype(np.float32)
    attributes = {"NORMAL": normals, "COLOR_0": np.array(shades, np.float32)}
    return builder.mesh(points, triangles, attributes=attributes)


def toy_blocks() -> PhysicsBuilder:
    """Lettered blocks fall beside a ball, a pane of glass and a fence; two cameras look on."""
    b = PhysicsBuilder()
    floor, block = b.shape("box", size=[6, 0.2, 6]), b.shape("box", size=[0.5, 0.5, 0.5])
    ball, pane = b.shape("sphere", radius=0.3), b.shape("box", size=[0.9, 0.8, 0.04])
    planks = b.textured(b.texture(b.image(stored_png(planks_image())), NEAREST_REPEAT))
    side = [(-3, 0, 3), (3, 0, 3), (3, 0, -3), (-3, 0, -3)]
    floor_uvs = np.array([(0, 4), (4, 4), (4, 0), (0, 0)], np.float32)
    floor_mesh = b.mesh(
        side, [(0, 1, 2), (0, 2, 3)], material=planks, attributes={"TEXCOORD_0": floor_uvs}
    )
    b.node("Floor", mesh=floor_mesh)
    b.node("FloorCollider", translation=[0, -0.1, 0], extensions=physics(shape=floor))
    for letter, at, degrees in (
        ("A", [-0.55, 0.25, 0.2], 12),
        ("B", [0.05, 0.25, 0.25], -8),
        ("C", [-0.2, 1.1, 0.2], 20),
    ):
        image = b.image(stored_png(letter_image(letter)))
        material = b.textured(b.texture(image, CLAMPED), name=f"Letter {letter}")
        b.node(f"Block{letter}", translation=at, rotation=turn((0, 1, 0), degrees),
               mesh=textured_cube(b, 0.5, material),
               extensions=physics({"mass": 2}, block))  # fmt: skip
    b.node("Ball", translation=[1.2, 1.0, 0.1], rotation=turn((0, 0, 1), 25),
           mesh=striped_ball(b, 0.3),
           extensions=physics({"mass": 0.5, "linearVelocity": [-0.6, 0, 0.3]}, ball))  # fmt: skip
    glass = b.material("Glass", color=(0.25, 0.6, 0.75, 0.4), alphaMode="BLEND")
    b.node("Pane", translation=[-0.2, 0.4, 0.85], mesh=box_mesh(b, [0.9, 0.8, 0.04], glass),
           extensions=physics({"mass": 3}, pane))  # fmt: skip
    lattice = b.textured(
        b.texture(b.image(stored_png(lattice_image())), NEAREST_REPEAT),
        alphaMode="MASK",
        doubleSided=True,
        name="Fence",
    )
    fence = [(-1.5, 0, 0), (1.5, 0, 0), (1.5, 0.75, 0), (-1.5, 0.75, 0)]
    fence_uvs = np.array([(0, 1), (4, 1), (4, 0), (0, 0)], np.float32)
    fence_mesh = b.mesh(
        fence, [(0, 1, 2), (0, 2, 3)], material=lattice, attributes={"TEXCOORD_0": fence_uvs}
    )
    b.node("Fence", translation=[0, 0, -0.6], mesh=fence_mesh)
    front = b.camera("Front", perspective={"yfov": 0.5, "znear": 0.1, "aspectRatio": 1.6})
    above = b.camera("Above", orthographic={"xmag": 2.4, "ymag": 1.5, "znear": 0.1, "zfar": 10.0})
    b.node("FrontCamera", camera=front, translation=[0.1, 1.5, 4.6], rotation=turn((1, 0, 0), -14))
    b.node("AboveCamera", camera=above, translation=[0, 5, 0], rotation=turn((1, 0, 0), -90))
    return b


VISUAL_EXAMPLES: Final[dict[str, Callable[[], PhysicsBuilder]]] = {"toy_blocks": toy_blocks}


def write_visual_examples(folder: Path) -> list[Path]:
    """Write the assets into ``folder``."""
    written = []
    for name, make in VISUAL_EXAMPLES.items():
        path = folder / f"{name}.gltf"
        make().finish().write(path)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_visual_examples(FOLDER):
        sys.stdout.write(f"{file}\n")
