"""Draws the pictures of README and reference: ``python -m tools.make_readme_images``.

The command line draws them. Small palettes keep the repository small.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from PIL import Image

__all__ = ["IMAGES", "make_images"]

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "examples" / "images"

IMAGES: Final[dict[str, tuple[str, ...]]] = {
    "shape_zoo.png": ("shape_zoo", "--seconds", "3", "--png"),
    "toy_blocks.png": (
        "toy_blocks", "--seconds", "2", "--camera", "Front", "--size", "640x400", "--png",
    ),
    "toy_blocks_strip.png": (
        "toy_blocks", "--seconds", "1", "--frames", "5", "--size", "240x180", "--filmstrip",
    ),
    "vehicle_plot.png": ("vehicle", "--seconds", "3", "--plot"),
}  # fmt: skip
"""Arguments of ``gltf-bullet simulate``; the picture's path comes last."""


def make_images(folder: Path) -> list[Path]:
    """Draw all of them into ``folder``."""
    written = []
    for name, (asset, *arguments) in IMAGES.items():
        path = folder / name
        source = ROOT / "examples" / "assets" / f"{asset}.gltf"
        command = [sys.executable, "-m", "gltf_bullet", "simulate", str(source), *arguments]
        subprocess.run([*command, str(path)], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        picture = Image.open(path).convert("RGB")
        picture.quantize(192, dither=Image.Dither.NONE).save(path, optimize=True)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in make_images(FOLDER):
        sys.stdout.write(f"{file}\n")
