"""Every shape on a plane, and what the engine cannot have exactly; writes a picture.

python examples/03_shape_zoo.py
"""

from __future__ import annotations

from pathlib import Path

import pybullet
from PIL import Image

import gltf_bullet as gb

ASSET = Path(__file__).parent / "assets" / "shape_zoo.gltf"


def main(headless: bool = False, steps: int = 480, picture: Path | None = None) -> gb.Scene:
    """Simulate the zoo, say what is approximated, and take a picture of the collision shapes."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(ASSET, client, options=gb.LoadOptions(visuals="collider"))
    for issue in scene.issues:
        print(issue)
    for _ in range(steps):
        scene.step()
    if picture is not None:
        Image.fromarray(scene.pictures.rgb(size=(960, 600))).save(picture)
        print(f"{picture} written")
    return scene


def check(scene: gb.Scene) -> None:
    """Nothing fell through the plane, and what is not exact was said."""
    for body in scene.bodies.values():
        assert 0.05 < body.center_of_mass[2] < 2.0, body
    assert {issue.code for issue in scene.issues} == {"ROUND_SHAPE_APPROXIMATED"}


if __name__ == "__main__":
    Path("out").mkdir(exist_ok=True)
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display(), picture=Path("out/shape_zoo.png")))
