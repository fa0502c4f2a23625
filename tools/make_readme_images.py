"""Draws the pictures of README and reference: ``python -m tools.make_readme_images``.

The command line draws them. Small palettes keep the repository small.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from PIL import Image

__all__ = ["IMAGES", "make_images"]

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "examples" / "images"

CHROMIUM: Final = "/usr/bin/chromium"

IMAGES: Final[dict[str, tuple[str, ...]]] = {
    "shape_zoo.png": ("shape_zoo", "--seconds", "2", "--size", "640x400", "--png"),
    "toy_blocks.png": (
        "toy_blocks", "--seconds", "2", "--camera", "Front", "--size", "640x400", "--png",
    ),
    "toy_blocks_strip.png": (
        "toy_blocks", "--seconds", "1", "--frames", "6", "--size", "240x180", "--filmstrip",
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
        subprocess.run([*command, str(path)], check=True, stdout=subprocess.DEVNULL)
        picture = Image.open(path).convert("RGB")
        picture.quantize(192, dither=Image.Dither.NONE).save(path, optimize=True)
        written.append(path)
    return written


def make_web_image(folder: Path) -> Path:
    """The viewer in the browser; needs Chromium and the extra ``test``."""
    from playwright.sync_api import sync_playwright

    source = ROOT / "examples" / "assets" / "ragdoll.gltf"
    arguments = (
        "view",
        str(source),
        "--web",
        "--port",
        "0",
        "--show",
        "joints,contacts",
        "--speed",
        "0.05",
    )
    program = subprocess.Popen(
        [sys.executable, "-m", "gltf_bullet", *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        line = next(line for line in program.stdout if "http://" in line)
        with sync_playwright() as playwright:
            flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
            page = browser.new_page(viewport={"width": 1200, "height": 640})
            page.goto("http" + line.split("http")[1].split()[0])
            page.wait_for_timeout(8000)
            # Of no interest: that this machine has no graphics card.
            page.locator(".mantine-Notification-closeButton").first.click()
            page.wait_for_timeout(1000)
            path = folder / "web.png"
            page.screenshot(path=path)
            browser.close()
    finally:
        program.send_signal(signal.SIGINT)
        program.wait(timeout=60)
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    return path


if __name__ == "__main__":
    for file in [*make_images(FOLDER), make_web_image(FOLDER)]:
        sys.stdout.write(f"{file}\n")
