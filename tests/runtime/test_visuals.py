"""What cameras see of render meshes, compared with colours that formulas give."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.physics.scenes import KHR
from tests.runtime.pictures import (
    BLUE,
    GREEN,
    QUAD,
    QUAD_TRIANGLES,
    QUAD_UVS,
    RED,
    YELLOW,
    assert_pixel,
    codes,
    corner_image,
    front_view,
    loaded,
    png,
    quad,
    shaded,
)
from tools.gltf_builder import GltfBuilder

CLAMP, MIRROR, REPEAT = 33071, 33648, 10497
CORNERS = ((0.25, 0.25, RED), (0.75, 0.25, GREEN), (0.25, 0.75, BLUE), (0.75, 0.75, YELLOW))


def srgb(linear: float) -> float:
    """IEC 61966-2-1, as 0..255."""
    curved = 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
    return 255.0 * curved


def linear(level: float) -> float:
    shown = level / 255.0
    return shown / 12.92 if shown <= 0.04045 else ((shown + 0.055) / 1.055) ** 2.4


# --- textures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("image_format", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("place", ["uri", "buffer", "file"])
def test_a_texture_stands_upright(tmp_path: Path, image_format: str, place: str) -> None:
    builder = GltfBuilder()
    data = png(corner_image(32), image_format)
    if image_format == "JPEG":  # Lossy; flat areas are within a few levels.
        data = png(corner_image(64), "JPEG")
    image = builder.image(data, f"image/{image_format.lower()}", as_uri=place == "uri")
    builder.node("Quad", mesh=quad(builder, builder.textured(builder.texture(image))))
    source = builder.glb()
    if place == "file":
        root = builder.json()
        (tmp_path / "a picture.img").write_bytes(data)
        root["images"] = [{"uri": "a%20picture.img"}]
        path = tmp_path / "asset.gltf"
        path.write_text(json.dumps(root))
        source = str(path)
    with loaded(source) as scene:
        picture = front_view(scene)
        assert codes(scene) == []
        for x, y, color in CORNERS:
            if image_format == "JPEG":
                got = picture.rgb[int(64 * y), int(64 * x)].astype(int)
                assert np.argmax(got) == np.argmax(color)
            else:
                assert_pixel(picture, x, y, color)


def test_a_webp_texture_comes_from_its_extension() -> None:
    builder = GltfBuilder()
    plain = builder.image(png(np.zeros((4, 4, 3))))
    webp = builder.image(png(corner_image(), "WEBP"), "image/webp")
    texture = builder.texture(plain, extensions={"EXT_texture_webp": {"source": webp}})
    builder.node("Quad", mesh=quad(builder, builder.textured(texture)))
    with loaded(builder) as scene:
        assert_pixel(front_view(scene), 0.25, 0.25, RED)


def test_the_base_color_factor_multiplies_the_texture_in_linear_light() -> None:
    grey = np.full((8, 8, 3), 188)
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(grey)))
    material = builder.textured(texture, color=(0.5, 0.25, 1.0, 1.0))
    builder.node("Quad", mesh=quad(builder, material))
    wanted = [srgb(factor * linear(188)) for factor in (0.5, 0.25, 1.0)]
    with loaded(builder) as scene:
        assert_pixel(front_view(scene), 0.5, 0.5, wanted)


def test_a_factor_alone_and_a_primitive_without_material() -> None:
    builder = GltfBuilder()
    material = builder.material(color=(0.2, 0.5, 0.0, 1.0))
    builder.node("Left", mesh=quad(builder, material, None), translation=(-1, 0, 0))
    builder.node("Right", mesh=quad(builder, None, None), translation=(1, 0, 0))
    with loaded(builder) as scene:
        picture = front_view(scene, half=2.0)
        assert_pixel(picture, 0.25, 0.5, [srgb(0.2), srgb(0.5), 0.0])
        assert_pixel(picture, 0.75, 0.5, [255.0, 255.0, 255.0])


@pytest.mark.parametrize(
    ("wrap", "left_of_it", "two_left"),
    [(REPEAT, GREEN, RED), (MIRROR, RED, GREEN), (CLAMP, RED, RED)],
    ids=["repeat", "mirror", "clamp"],
)
def test_wrap_modes_beyond_the_edges(
    wrap: int, left_of_it: tuple[int, int, int], two_left: tuple[int, int, int]
) -> None:
    """The quad shows u from -1 to 1: one tile to the left of the image, then the image."""
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(corner_image())), (wrap, CLAMP))
    uvs = [(2 * u - 1, v) for u, v in QUAD_UVS]
    builder.node("Quad", mesh=quad(builder, builder.textured(texture), uvs))
    with loaded(builder) as scene:
        assert codes(scene) == []
        picture = front_view(scene, pixels=128)
        # Four stripes of half a tile; the upper row of the image.
        for x, color in ((0.125, two_left), (0.375, left_of_it), (0.625, RED), (0.875, GREEN)):
            assert_pixel(picture, x, 0.25, color)


def test_a_repeating_texture_in_an_atlas_is_written_out() -> None:
    """A body with a second material: PyBullet has one texture per link."""
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(corner_image())))
    tiled = builder.primitive(
        QUAD,
        QUAD_TRIANGLES,
        material=builder.textured(texture),
        attributes={"TEXCOORD_0": np.array(QUAD_UVS, np.float32) * 2 + 7},
    )
    aside = np.array(QUAD) + np.array([2, 0, 0])
    plain = builder.primitive(aside, QUAD_TRIANGLES, material=builder.material(color=(0, 0, 1, 1)))
    builder._add("meshes", {"primitives": [tiled, plain]})
    body = {KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 1]}}}
    builder.node("Body", mesh=0, extensions=body)
    with loaded(builder) as scene:
        assert len(scene.core.world.shown) == 1
        assert codes(scene) == []
        front = front_view(scene, half=3.0, pixels=384)
        # 2 m in 128 pixels: x from -1 to 1 is 0.333..0.667 of the picture.
        for tile_x in range(2):
            for tile_y in range(2):
                for x, y, color in CORNERS:
                    at_x = 1 / 3 + (tile_x + x) / 6
                    at_y = 1 / 3 + (tile_y + y) / 6
                    assert_pixel(front, at_x, at_y, color)
        assert_pixel(front, 0.75, 0.5, BLUE)


@pytest.mark.parametrize("degrees", [0.0, 90.0, 180.0])
def test_texture_transforms_turn_counter_clockwise(degrees: float) -> None:
    """KHR_texture_transform: coordinates turn counter-clockwise about the image's upper left."""
    turn = math.radians(degrees)
    transform = {"offset": [0.5, 0.25], "rotation": turn, "scale": [0.5, 0.5]}
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(corner_image())))
    info = {"extensions": {"KHR_texture_transform": transform}}
    builder.node("Quad", mesh=quad(builder, builder.textured(texture, info=info)))

    def color_at(x: float, y: float) -> tuple[int, int, int]:
        # (x, y) from the left upper corner are u and v of the quad.
        u, v = 0.5 * x, 0.5 * y
        u, v = (
            math.cos(turn) * u + math.sin(turn) * v + 0.5,
            -math.sin(turn) * u + math.cos(turn) * v + 0.25,
        )
        names = ((RED, GREEN), (BLUE, YELLOW))
        return names[int(v % 1.0 >= 0.5)][int(u % 1.0 >= 0.5)]

    with loaded(builder) as scene:
        picture = front_view(scene)
        for x, y in ((0.2, 0.2), (0.2, 0.7), (0.7, 0.3), (0.9, 0.9)):
            assert_pixel(picture, x, y, color_at(x, y))


def test_the_second_set_of_coordinates_and_its_absence() -> None:
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(corner_image())))
    material = builder.textured(texture, info={"texCoord": 1})
    nowhere = np.zeros((4, 2))
    mesh = quad(builder, material, nowhere, TEXCOORD_1=np.array(QUAD_UVS, np.float32))
    builder.node("Quad", mesh=mesh)
    with loaded(builder) as scene:
        picture = front_view(scene)
        for x, y, color in CORNERS:
            assert_pixel(picture, x, y, color)
    lacking = GltfBuilder()
    texture = lacking.texture(lacking.image(png(corner_image())))
    lacking.node("Quad", mesh=quad(lacking, lacking.textured(texture, info={"texCoord": 1})))
    with loaded(lacking) as scene:
        assert codes(scene) == ["TEXCOORD_MISSING"]
        assert_pixel(front_view(scene), 0.25, 0.25, (255, 255, 255))


# --- vertex colours ---------------------------------------------------------------------------


def test_vertex_colors_run_over_a_triangle_in_linear_light() -> None:
    """Black on the left to white on the right."""
    builder = GltfBuilder()
    colors = np.array([[0, 0, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]], np.float32)
    builder.node("Quad", mesh=quad(builder, None, None, COLOR_0=colors))
    with loaded(builder) as scene:
        picture = front_view(scene, pixels=128)
        assert codes(scene) == []
        for x in (0.25, 0.5, 0.75):
            got = picture.rgb[40, int(128 * x)].astype(float)
            # One texel of the painted triangle is at most 1/32 of full brightness.
            assert np.abs(got - shaded([srgb(x)] * 3)).max() < 255 / 32 + 2
        assert picture.rgb[40, 2].max() < 60


def test_vertex_colors_multiply_a_texture() -> None:
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(corner_image())))
    half = np.tile(np.array([0.5, 0.5, 0.5], np.float32), (4, 1))
    half[1] = half[2] = (1, 1, 1)
    builder.node("Quad", mesh=quad(builder, builder.textured(texture), COLOR_0=half))
    with loaded(builder) as scene:
        picture = front_view(scene, pixels=128)
        # Half dark at the left edge, not at all at the right one.
        for y, colors in ((0.2, (RED, GREEN)), (0.8, (BLUE, YELLOW))):
            for x, color in ((0.02, colors[0]), (0.98, colors[1])):
                got = picture.rgb[int(128 * y), int(128 * x)].astype(float)
                strength = 0.5 + 0.5 * x
                wanted = shaded([srgb(strength * linear(level)) for level in color])
                assert np.abs(got - wanted).max() < 10


def test_many_vertex_colors_say_how_coarse_they_are() -> None:
    """Noise on 20 000 triangles: five texels along an edge, where black meets white."""
    builder = GltfBuilder()
    count = 101
    x, y = np.meshgrid(np.linspace(-1, 1, count), np.linspace(-1, 1, count))
    points = np.stack([x, y, 0 * x], axis=-1).reshape(-1, 3)
    ids = np.arange(count * count).reshape(count, count)
    a, b, c, d = (ids[:-1, :-1], ids[:-1, 1:], ids[1:, 1:], ids[1:, :-1])
    triangles = np.concatenate(
        [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)]
    )
    noise = np.random.default_rng(0).integers(0, 2, (count * count, 3)).astype(np.float32)
    builder.node("Noise", mesh=builder.mesh(points, triangles, attributes={"COLOR_0": noise}))
    with loaded(builder) as scene:
        (issue,) = scene.issues
        assert issue.code == "VERTEX_COLORS_COARSE"
        texels = int((2**19 / 20_000) ** 0.5)
        assert issue.values["texels"] == texels
        assert issue.values["error"] == pytest.approx(1.0 / (texels - 1))
