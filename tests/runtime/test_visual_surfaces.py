"""Alpha, sides, light and images that cannot be had, as cameras see them."""

from __future__ import annotations

import json
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
    assert [issue.code for issue in gb.check(path).issues] == [code, "NO_PHYSICS"]
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


def test_a_large_image_is_kept_as_large_as_it_is_shown() -> None:
    pixels = np.zeros((64, 128, 3))
    pixels[:, 64:] = 255
    builder = GltfBuilder()
    for _ in range(2):
        builder.image(png(pixels))
    limits = ReadLimits(max_shown_pixels=64 * 64, max_decoded_pixels=64 * 128)
    sink = Diagnostics()
    document = read_document(builder.glb(), sink, limits=limits)
    small = read_image(document, 0, sink)
    assert small is not None
    assert small.shape == (32, 64, 4)
    assert small[:, :32, 0].max() == 0
    assert small[:, 32:, 0].min() == 255
    assert [issue.code for issue in sink] == ["IMAGE_REDUCED"]
    # The limit for all images is used up.
    sink = Diagnostics()
    assert read_image(document, 1, sink) is None
    assert [issue.code for issue in sink] == ["IMAGES_TOO_LARGE"]


def test_images_become_smaller_the_more_there_are() -> None:
    builder = GltfBuilder()
    for _ in range(4):
        builder.image(png(np.zeros((256, 256, 3))))
    sink = Diagnostics()
    limits = ReadLimits(max_all_shown_pixels=4 * 256 * 256)
    document = read_document(builder.glb(), sink, limits=limits)
    sizes = [np.shape(read_image(document, index, sink))[0] for index in range(4)]
    assert sizes == [256, 128, 128, 128]


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
