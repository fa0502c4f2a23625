"""Small scenes with pictures on them, and what a pixel of them must be."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pybullet
from PIL import Image

import gltf_bullet as gb
from gltf_bullet.bullet.rendering.pictures import AMBIENT, DIFFUSE, LIGHT_FROM, SKY, SPECULAR
from tools.gltf_builder import GltfBuilder

RED, GREEN, BLUE, YELLOW = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)
Rgb = tuple[int, int, int]

QUAD = ((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))
QUAD_UVS = ((0, 1), (1, 1), (1, 0), (0, 0))
"""The image stands upright on the quad: v grows downwards."""
QUAD_TRIANGLES = ((0, 1, 2), (0, 2, 3))


def png(pixels: npt.ArrayLike, image_format: str = "PNG") -> bytes:
    stream = io.BytesIO()
    options = {"lossless": True} if image_format == "WEBP" else {}
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(stream, image_format, **options)
    return stream.getvalue()


def corner_image(size: int = 16) -> npt.NDArray[np.uint8]:
    """Red, green over blue, yellow."""
    corners = np.array([[RED, GREEN], [BLUE, YELLOW]], dtype=np.uint8)
    return corners.repeat(size // 2, axis=0).repeat(size // 2, axis=1)


def quad(
    builder: GltfBuilder,
    material: int | None = None,
    uvs: npt.ArrayLike | None = QUAD_UVS,
    **attributes: npt.ArrayLike,
) -> int:
    """A mesh: 2 m wide, facing +Z."""
    found = dict(attributes)
    if uvs is not None:
        found["TEXCOORD_0"] = np.asarray(uvs, np.float32)
    return builder.mesh(QUAD, QUAD_TRIANGLES, material=material, attributes=found)


@contextmanager
def loaded(
    source: GltfBuilder | bytes | str, options: gb.LoadOptions | None = None, up_axis: str = "y"
) -> Iterator[gb.Scene]:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        if isinstance(source, GltfBuilder):
            source = source.glb()
        yield gb.load_gltf(source, client, up_axis=up_axis, options=options)  # type: ignore[arg-type]
    finally:
        pybullet.disconnect(client)


def front_camera(half: float = 1.0, distance: float = 5.0) -> gb.Camera:
    """Sees -half .. half of x and y from +Z."""
    pose = np.eye(4)
    pose[2, 3] = distance
    lens = gb.OrthographicLens(half_width=half, half_height=half, far=2.0 * distance)
    return gb.Camera(world_from_camera=pose, lens=lens)


def front_view(scene: gb.Scene, half: float = 1.0, pixels: int = 64) -> gb.Picture:
    return scene.render(front_camera(half), (pixels, pixels))


def codes(scene: gb.Scene) -> list[str]:
    return [issue.code for issue in scene.issues]


def shaded(
    color: npt.ArrayLike,
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0),
    up: tuple[float, float, float] = (0.0, 1.0, 0.0),
) -> npt.NDArray[np.float64]:
    """What PyBullet's software renderer makes of an sRGB colour.

    (ambient + diffuse max(0, n l) + specular max(0, r_z)^2) color, with r the reflected light.
    """
    third = np.array(up)
    first = np.array([1.0, 0.0, 0.0])
    axes = np.stack([first, np.cross(third, first), third], axis=1)
    light = axes @ np.array(LIGHT_FROM)
    light /= np.linalg.norm(light)
    n = np.array(normal)
    reflected = 2.0 * n * float(n @ light) - light
    strength = AMBIENT + DIFFUSE * max(0.0, float(n @ light))
    strength += SPECULAR * max(0.0, reflected[2]) ** 2
    return np.minimum(255.0, strength * np.asarray(color, dtype=np.float64))


def assert_pixel(
    picture: gb.Picture, x: float, y: float, color: npt.ArrayLike, *, lit: bool = True
) -> None:
    """The colour at ``x`` rightwards and ``y`` downwards, 0..1 of the picture."""
    height, width = picture.rgb.shape[:2]
    got = picture.rgb[int(y * height), int(x * width)].astype(float)
    wanted = shaded(color) if lit else np.asarray(color, dtype=np.float64)
    assert np.abs(got - wanted).max() <= 1.5, f"at ({x}, {y}): {got}, must be {wanted}"


def assert_sky(picture: gb.Picture, x: float, y: float) -> None:
    assert_pixel(picture, x, y, SKY, lit=False)


def camera_scene() -> GltfBuilder:
    """The corner image, 2 m wide at z = 0, seen from z = 4 in two ways and from below once."""
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(corner_image())))
    builder.node("Quad", mesh=quad(builder, builder.textured(texture)))
    narrow = builder.camera(
        "Narrow", perspective={"yfov": 2 * math.atan(1 / 4), "znear": 0.1, "aspectRatio": 1.0}
    )
    flat = builder.camera(
        "Flat", orthographic={"xmag": 2.0, "ymag": 1.0, "znear": 0.5, "zfar": 10.0}
    )
    builder.node("Front", camera=narrow, translation=(0, 0, 4), scale=(3, 3, 3))
    builder.node("Wide", camera=flat, translation=(0, 0, 4))
    # A quarter turn about its line of sight: what was right is up.
    turned = (0, 0, math.sqrt(0.5), math.sqrt(0.5))
    builder.node("Turned", camera=flat, translation=(0, 0, 4), rotation=turned)
    return builder
