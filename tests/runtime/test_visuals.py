"""What cameras see of render meshes, compared with colours that formulas give."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.container import ReadLimits
from gltf_bullet.gltf.document import read_document
from gltf_bullet.gltf.images import read_image
from tests.physics.scenes import KHR
from tests.runtime.pictures import (
    BLUE,
    GREEN,
    QUAD,
    QUAD_TRIANGLES,
    QUAD_UVS,
    RED,
    SKY,
    YELLOW,
    assert_pixel,
    assert_sky,
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
        assert len(scene.world.shown) == 1
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


# --- alpha ------------------------------------------------------------------------------------


def half_image() -> np.ndarray:
    """Green, opaque on the left, clear on the right."""
    pixels = np.zeros((16, 16, 4), dtype=np.uint8)
    pixels[..., 1] = 255
    pixels[:, :8, 3] = 255
    return pixels


def test_opaque_ignores_alpha() -> None:
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(half_image())))
    builder.node("Quad", mesh=quad(builder, builder.textured(texture, color=(1, 1, 1, 0.1))))
    with loaded(builder) as scene:
        assert codes(scene) == []
        picture = front_view(scene)
        assert_pixel(picture, 0.25, 0.5, GREEN)
        assert_pixel(picture, 0.75, 0.5, GREEN)


@pytest.mark.parametrize("cutoff", [0.5, 0.2])
def test_a_mask_is_cut_out(cutoff: float) -> None:
    builder = GltfBuilder()
    pixels = half_image()
    pixels[:, 8:, 3] = 77  # 0.3
    texture = builder.texture(builder.image(png(pixels)))
    material = builder.textured(texture, alphaMode="MASK", alphaCutoff=cutoff)
    builder.node("Quad", mesh=quad(builder, material))
    with loaded(builder) as scene:
        picture = front_view(scene)
        assert_pixel(picture, 0.25, 0.5, GREEN)
        if cutoff == 0.5:
            assert_sky(picture, 0.75, 0.5)
        else:
            assert_pixel(picture, 0.75, 0.5, GREEN)


def test_a_round_hole_says_how_wrong_it_is() -> None:
    builder = GltfBuilder()
    y, x = np.mgrid[:256, :256]
    pixels = np.full((256, 256, 4), 255, dtype=np.uint8)
    inside = (x - 127.5) ** 2 + (y - 127.5) ** 2 < 80**2
    pixels[inside, 3] = 0
    texture = builder.texture(builder.image(png(pixels)))
    material = builder.textured(texture, alphaMode="MASK")
    builder.node("Quad", mesh=quad(builder, material))
    with loaded(builder) as scene:
        picture = front_view(scene, pixels=256)
        wrong = ((picture.segmentation < 0) != inside).mean()
        (issue,) = scene.issues
        assert issue.code == "ALPHA_CUT_COARSE"
        assert wrong < 0.02
        assert abs(wrong - issue.values["share"]) < 0.01


def test_blending_lets_through_what_is_behind() -> None:
    builder = GltfBuilder()
    glass = builder.material(color=(1, 0, 0, 0.25), alphaMode="BLEND")
    back = builder.material(color=(0, 0, 1, 1))
    builder.node("Glass", mesh=quad(builder, glass, None), translation=(0, 0, 1))
    builder.node("Back", mesh=quad(builder, back, None), scale=(0.5, 0.5, 1))
    with loaded(builder) as scene:
        assert codes(scene) == []
        picture = front_view(scene)
        quarter = round(0.25 * 255) / 255
        over_blue = quarter * shaded(RED) + (1 - quarter) * shaded(BLUE)
        assert_pixel(picture, 0.5, 0.5, over_blue, lit=False)
        over_sky = quarter * shaded(RED) + (1 - quarter) * np.array(SKY)
        assert_pixel(picture, 0.1, 0.1, over_sky, lit=False)
        # It is drawn as before the picture, and nothing of the world has changed.
        assert np.array_equal(front_view(scene).rgb, picture.rgb)
        assert abs(picture.depth[32, 32] - 4.0) < 1e-3


def test_alpha_of_parts_and_alpha_that_varies_are_named() -> None:
    builder = GltfBuilder()
    glass = builder.material(color=(1, 0, 0, 0.25), alphaMode="BLEND")
    primitives = [
        builder.primitive(QUAD, QUAD_TRIANGLES, material=glass),
        builder.primitive(np.array(QUAD) - np.array([0, 0, 1]), QUAD_TRIANGLES),
    ]
    builder._add("meshes", {"primitives": primitives})
    extensions = {KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 1]}}}
    builder.node("Body", mesh=0, extensions=extensions)
    with loaded(builder) as scene:
        assert codes(scene) == ["ALPHA_MIXED"]
        assert_pixel(front_view(scene), 0.5, 0.5, (255, 255, 255))
    ramp = np.full((8, 64, 4), 255, dtype=np.uint8)
    ramp[..., 3] = np.linspace(60, 200, 64).astype(np.uint8)
    varying = GltfBuilder()
    texture = varying.texture(varying.image(png(ramp)))
    varying.node("Quad", mesh=quad(varying, varying.textured(texture, alphaMode="BLEND")))
    with loaded(varying) as scene:
        (issue,) = scene.issues
        assert issue.code == "ALPHA_AVERAGED"
        assert issue.values["used"] == pytest.approx(130 / 255, abs=0.01)


# --- sides, light, visibility -----------------------------------------------------------------


@pytest.mark.parametrize("double_sided", [False, True])
def test_the_back_is_seen_of_double_sided_materials_only(double_sided: bool) -> None:
    builder = GltfBuilder()
    material = builder.material(color=(0, 1, 0, 1), doubleSided=double_sided)
    builder.node("Quad", mesh=quad(builder, material, None), rotation=(0, 1, 0, 0))
    with loaded(builder) as scene:
        picture = front_view(scene)
        if double_sided:
            assert_pixel(picture, 0.5, 0.5, GREEN)  # Lit as a front is.
        else:
            assert_sky(picture, 0.5, 0.5)


def test_an_unlit_material_is_named() -> None:
    builder = GltfBuilder()
    material = builder.material(extensions={"KHR_materials_unlit": {}})
    builder.node("Quad", mesh=quad(builder, material, None))
    with loaded(builder) as scene:
        assert codes(scene) == ["UNLIT_SHADED"]


def test_emission_adds_to_the_color() -> None:
    builder = GltfBuilder()
    material = builder.material(color=(0.1, 0.1, 0.1, 1), emissiveFactor=[0.5, 0, 0])
    builder.node("Quad", mesh=quad(builder, material, None))
    with loaded(builder) as scene:
        assert_pixel(front_view(scene), 0.5, 0.5, [srgb(0.6), srgb(0.1), srgb(0.1)])


def test_hidden_nodes_are_not_drawn() -> None:
    builder = GltfBuilder()
    hidden = {"KHR_node_visibility": {"visible": False}}
    parent = builder.node("Hidden", extensions=hidden)
    builder.node("Quad", mesh=quad(builder), parent=parent)
    with loaded(builder) as scene:
        assert_sky(front_view(scene), 0.5, 0.5)


# --- images that cannot be had ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "code"),
    [
        ({"uri": "gone.png"}, "IMAGE_MISSING"),
        ({"uri": "../../etc/passwd"}, "IMAGE_MISSING"),
        ({"uri": "data:image/png;base64,AAAA"}, "IMAGE_UNREADABLE"),
        ({"uri": "data:image/ktx2;base64,q0tUWCAyMLsNChoK"}, "IMAGE_FORMAT_UNSUPPORTED"),
        ({}, "IMAGE_MISSING"),
    ],
    ids=["no file", "outside the folder", "no image", "ktx2", "nothing"],
)
def test_an_image_that_cannot_be_had_is_one_warning(
    tmp_path: Path, image: dict[str, str], code: str
) -> None:
    builder = GltfBuilder()
    material = builder.textured(builder.texture(builder.image(b"")))
    builder.node("Quad", mesh=quad(builder, material))
    root = builder.json()
    root["images"] = [image]
    path = tmp_path / "asset.gltf"
    path.write_text(json.dumps(root))
    assert [issue.code for issue in gb.check(path).issues] == [code]
    with loaded(str(path)) as scene:
        assert codes(scene) == [code]
        assert_pixel(front_view(scene), 0.5, 0.5, (255, 255, 255))


def test_an_image_bomb_is_refused() -> None:
    builder = GltfBuilder()
    builder.image(png(np.zeros((64, 64, 3))))
    sink = Diagnostics()
    document = read_document(builder.glb(), sink, limits=ReadLimits(max_image_pixels=4095))
    assert read_image(document, 0, sink) is None
    assert [issue.code for issue in sink] == ["IMAGE_TOO_LARGE"]


# --- compressed meshes ------------------------------------------------------------------------


def test_a_draco_mesh_shows_its_texture() -> None:
    draco = pytest.importorskip("DracoPy")
    data = draco.encode(
        np.array(QUAD, np.float32),
        np.array(QUAD_TRIANGLES, np.uint32),
        tex_coord=np.array(QUAD_UVS, np.float64),
        preserve_order=True,
        quantization_bits=16,
    )
    # Draco's own numbers of the kinds: 0 is POSITION, 3 is TEX_COORD.
    ids = {int(a["attribute_type"]): a["unique_id"] for a in draco.decode(data).attributes}
    builder = GltfBuilder()
    material = builder.textured(builder.texture(builder.image(png(corner_image()))))
    view = builder.buffer_view(data)
    builder.node("Quad", mesh=0)
    root = builder.json()
    root["accessors"] = [
        {"componentType": 5126, "type": "VEC3", "count": 4},
        {"componentType": 5126, "type": "VEC2", "count": 4},
    ]
    attributes = {"POSITION": ids[0], "TEXCOORD_0": ids[3]}
    name = "KHR_draco_mesh_compression"
    root["meshes"] = [{"primitives": [{
        "attributes": {"POSITION": 0, "TEXCOORD_0": 1},
        "material": material,
        "extensions": {name: {"bufferView": view, "attributes": attributes}},
    }]}]  # fmt: skip
    root["extensionsUsed"] = [name]
    with loaded(json.dumps(root).encode()) as scene:
        assert codes(scene) == []
        for x, y, color in CORNERS:
            assert_pixel(front_view(scene), x, y, color)
