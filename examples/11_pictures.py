"""Colours, distances and glTF nodes through the cameras of a file, without a display.

python examples/11_pictures.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pybullet
from PIL import Image

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "toy_blocks.gltf"


def main(headless: bool = False, steps: int = 480) -> gb.Scene:
    """Let the blocks come to rest; write one picture per camera where `headless` is off."""
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client)
    scene.step(steps)
    folder = Path(tempfile.gettempdir())
    for node, camera in scene.cameras.items():
        picture = scene.render(node)
        seen = [scene.node(int(n)).name for n in np.unique(picture.segmentation) if n >= 0]
        print(f"{camera.name:6} {picture.rgb.shape} sees {', '.join(seen)}")
        if not headless:
            Image.fromarray(picture.rgb).save(folder / f"toy_blocks_{camera.name}.png")
    return scene


def check(scene: gb.Scene) -> None:
    """From above every block is where its body is, and as far away as its upper side is."""
    size = (480, 300)
    picture = scene.render("Above", size)
    eye = scene.cameras["AboveCamera"].world_from_camera
    lens = scene.cameras["AboveCamera"].lens
    assert isinstance(lens, gb.OrthographicLens)
    for name, radius in (("BlockC", 0.25), ("Ball", 0.3)):
        body = scene.bodies[name]
        x, y, z = eye[:3, :3].T @ (body.center_of_mass - eye[:3, 3])
        column = int((0.5 + 0.5 * x / lens.half_width) * size[0])
        row = int((0.5 - 0.5 * y / lens.half_height) * size[1])
        assert picture.segmentation[row, column] == body.node
        assert abs(picture.depth[row, column] - (-z - radius)) < 0.01
    # The red paper frame of block A, as the file has it, in the light of the renderer.
    red, green, blue = picture.rgb[picture.segmentation == scene.node("BlockA").index].T.astype(int)
    assert ((red > 2 * green) & (red > 2 * blue)).mean() > 0.2


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
