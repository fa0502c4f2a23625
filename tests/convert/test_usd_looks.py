"""Composition, instances and looks of USD stages."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pybullet
import pytest
from PIL import Image

import gltf_bullet as gb
from gltf_bullet.convert.issues import ROBOT_FILE_REFUSED, USD_UNITS_DIFFER
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file
from tests.convert.usd_stages import (
    HEAD,
    at,
    convert,
    cube,
    joint_of,
    motion_of,
    node_of,
    owner_of,
    prim,
    stage,
)

pytest.importorskip("pxr")

SHARED = Path(__file__).parents[3] / "shared" / "faults" / "usd"


# --- composition ----------------------------------------------------------------------------------


def part(size: float, **units: object) -> str:
    values = {"metres": 1, "kilograms": 1, "up": "Z"} | units
    return HEAD.format(**values).replace('"World"', '"Part"') + cube("Part", size=size)


def test_references_payloads_and_instances_are_bodies(tmp_path: Path) -> None:
    (tmp_path / "part.usda").write_text(part(0.1))
    text = "".join(
        f'def "{name}" (instanceable = true\nprepend {arc} = @part.usda@) {{\n{at(x, 0, 0)}\n}}\n'
        for x, (name, arc) in enumerate((("a", "references"), ("b", "payload")))
    )
    asset, diagnostics = convert(tmp_path, stage(text))
    assert [motion_of(asset, name).mass for name in "ab"] == pytest.approx([1.0, 1.0], rel=1e-6)
    assert asset.tree.translations[node_of(asset, "b")] == pytest.approx((1.0, 0.0, 0.0))
    assert not len(diagnostics)


def test_units_of_a_referenced_layer_are_named_with_their_size(tmp_path: Path) -> None:
    (tmp_path / "part.usda").write_text(part(10, metres=0.01))
    asset, diagnostics = convert(tmp_path, stage('def "x" (prepend references = @part.usda@) {\n}'))
    issue = diagnostics.take(USD_UNITS_DIFFER)
    assert "part.usda" in issue.message
    assert "100 times as long" in issue.message
    assert motion_of(asset, "x").mass == pytest.approx(1e6, rel=1e-6)  # as OpenUSD composes it


def test_instances_of_a_point_instancer_are_bodies_with_their_joints(tmp_path: Path) -> None:
    """Each with its place, turn and scale; those of the mask and the prototypes are not there."""
    pair = prim("Xform", "P", at(0, 0, 1), cube("a", size=0.1), cube("b", at(1, 0, 0), size=0.1),
                prim("PhysicsFixedJoint", "j", "rel physics:body0 = </World/cloud/P/a>",
                     "rel physics:body1 = </World/cloud/P/b>"))  # fmt: skip
    cloud = prim("PointInstancer", "cloud", at(0, 0, 5), "rel prototypes = </World/cloud/P>",
                 "int[] protoIndices = [0, 0, 0]",
                 "point3f[] positions = [(0, 0, 0), (0, 5, 0), (0, 9, 0)]",
                 "quath[] orientations = [(1, 0, 0, 0), (0.70711, 0, 0, 0.70711), (1, 0, 0, 0)]",
                 "float3[] scales = [(1, 1, 1), (2, 2, 2), (1, 1, 1)]",
                 "int64[] ids = [7, 8, 9]",
                 "int64[] invisibleIds = [9]", pair)  # fmt: skip
    asset, _ = convert(tmp_path, stage(cloud))
    names = {asset.tree.names[k] for k in asset.physics.motions}
    assert names == {f"cloud[{k}]/{name}" for k in (0, 1) for name in "ab"}
    assert len(asset.physics.joints) == 2
    assert motion_of(asset, "cloud[1]/b").mass == pytest.approx(8.0, rel=1e-3)
    place = asset.tree.translations[node_of(asset, "cloud[1]/b")]
    assert place == pytest.approx((0.0, 5.0 + 2.0, 5.0 + 2.0), abs=5e-3)  # half floats turn it
    held = joint_of(asset, "cloud[1]/P/j" if "cloud[1]/P/j" in asset.tree.names else "cloud[1]/j")
    assert owner_of(asset, held.node) == "cloud[1]/a"


def test_names_are_as_long_as_they_must_be(tmp_path: Path) -> None:
    text = prim("Xform", "left", cube("arm")) + prim("Xform", "right", cube("arm")) + cube("box")
    asset, _ = convert(tmp_path, stage(text))
    names = {asset.tree.names[k] for k in asset.physics.motions}
    assert names == {"left/arm", "right/arm", "box"}


@pytest.mark.parametrize("suffix", [".usdc", ".usd", ".usdz"])
def test_binary_files_and_archives_are_read(tmp_path: Path, suffix: str) -> None:
    from pxr import Sdf, UsdUtils

    text = tmp_path / "stage.usda"
    text.write_text(stage(cube("a", size=0.1)))
    binary = tmp_path / "stage.usdc"
    assert Sdf.Layer.FindOrOpen(str(text)).Export(str(binary))
    path = tmp_path / f"other{suffix}"
    if suffix == ".usdz":
        assert UsdUtils.CreateNewUsdzPackage(str(binary), str(path))
    else:
        path.write_bytes(binary.read_bytes())
    assert motion_of(gb.read_asset(path), "a").mass == pytest.approx(1.0, rel=1e-6)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the stages are not there")
def test_one_scene_in_three_systems_of_units_ends_at_the_same_place() -> None:
    """Metres and Z up, centimetres and grams and Y up, and the same scaled by 2.5."""
    ends = []
    for name in ("units_si", "units_cgs", "units_cgs_scaled"):
        asset = robot_file(SHARED / f"{name}.usda", Diagnostics())[1]
        client = pybullet.connect(pybullet.DIRECT)
        scene = asset.instantiate(client)
        scene.step(240)
        ends.append(
            [scene.world_from_node(node_of(asset, body)) for body in ("box", "upper", "lower")]
        )
        pybullet.disconnect(client)
    for other in ends[1:]:
        assert np.array(other)[:, :3, 3] == pytest.approx(np.array(ends[0])[:, :3, 3], abs=1e-6)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the stages are not there")
def test_a_scene_of_all_kinds_of_composition() -> None:
    asset = gb.read_asset(SHARED / "scene.usda")
    kinds = [issue.kind for issue in asset.issues]
    assert kinds.count(ROBOT_FILE_REFUSED) == 1  # /etc/hostname
    assert kinds.count(USD_UNITS_DIFFER) == 2
    assert motion_of(asset, "B").mass == pytest.approx(8.0 * (motion_of(asset, "A").mass or 0.0))
    assert {f"Cloud[{k}]" for k in range(3)} <= {asset.tree.names[k] for k in asset.physics.motions}


# --- looks ----------------------------------------------------------------------------------------

SQUARE = """point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
int[] faceVertexCounts = [4]
int[] faceVertexIndices = [0, 1, 2, 3]
texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (interpolation = "faceVarying")
"""


def material(*lines: str, texture: str = "") -> str:
    shaders = """token outputs:surface.connect = </World/look/shader.outputs:surface>
def Shader "shader" {
uniform token info:id = "UsdPreviewSurface"
token outputs:surface
"""
    if texture:
        shaders += "color3f inputs:diffuseColor.connect = </World/look/picture.outputs:rgb>\n"
    shaders += "\n".join(lines) + "\n}\n"
    if texture:
        shaders += f"""def Shader "picture" {{
uniform token info:id = "UsdUVTexture"
asset inputs:file = @{texture}@
float3 outputs:rgb
}}
"""
    return f'def Material "look" {{\n{shaders}}}\n'


def materials(asset: gb.Asset) -> list[dict[str, object]]:
    found = asset.document.json.get("materials")
    assert isinstance(found, list)
    return found


def test_display_colours_are_linear(tmp_path: Path) -> None:
    colored = cube("a", "color3f[] primvars:displayColor = [(0.5, 0.25, 1)]",
                   "float[] primvars:displayOpacity = [0.5]")  # fmt: skip
    (look,) = materials(convert(tmp_path, stage(colored))[0])
    factor = look["pbrMetallicRoughness"]["baseColorFactor"]  # type: ignore[index]
    assert factor == pytest.approx([0.5, 0.25, 1.0, 0.5], abs=1e-6)
    assert look["alphaMode"] == "BLEND"


def test_base_colour_of_a_preview_surface(tmp_path: Path) -> None:
    bound = cube("a", "rel material:binding = </World/look>", apis="MaterialBindingAPI")
    text = bound + material("color3f inputs:diffuseColor = (0.1, 0.2, 0.3)")
    (look,) = materials(convert(tmp_path, stage(text))[0])
    factor = look["pbrMetallicRoughness"]["baseColorFactor"]  # type: ignore[index]
    assert factor[:3] == pytest.approx([0.1, 0.2, 0.3], abs=1e-6)


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (2, 2), (255, 0, 0)).save(out, "PNG")
    return out.getvalue()


def test_a_texture_is_taken_in_with_its_coordinates(tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(png())
    square = prim("Mesh", "square", SQUARE, "rel material:binding = </World/look>",
                  apis="MaterialBindingAPI")  # fmt: skip
    asset, diagnostics = convert(tmp_path, stage(square + material(texture="red.png")))
    assert png() in asset.to_glb()
    (mesh,) = asset.document.json["meshes"]
    assert "TEXCOORD_0" in mesh["primitives"][0]["attributes"]
    assert not len(diagnostics)


def test_a_texture_within_an_archive(tmp_path: Path) -> None:
    square = prim("Mesh", "square", SQUARE, "rel material:binding = </World/look>",
                  apis="MaterialBindingAPI")  # fmt: skip
    path = tmp_path / "stage.usdz"
    with zipfile.ZipFile(path, "w") as archive:  # stored, as the format requires
        for name, data in (
            ("stage.usda", stage(square + material(texture="red.png")).encode()),
            ("red.png", png()),
        ):
            info = zipfile.ZipInfo(name)
            # The data of each file begins at a multiple of 64 bytes.
            start = archive.fp.tell() + 30 + len(name)  # type: ignore[union-attr]
            pad = -(start + 4) % 64
            info.extra = b"\x86\x19" + pad.to_bytes(2, "little") + bytes(pad)
            archive.writestr(info, data)
    assert png() in gb.read_asset(path).to_glb()


def test_hidden_prims_and_guides_are_not_drawn(tmp_path: Path) -> None:
    text = (
        cube("a", 'uniform token purpose = "guide"')
        + cube("b", at(3, 0, 0), 'token visibility = "invisible"')
        + prim("Sphere", "drawn", at(6, 0, 0))
    )
    asset, _ = convert(tmp_path, stage(text))
    (drawn,) = [node for node in asset.document.json["nodes"] if "mesh" in node]
    assert drawn["translation"] == [6.0, 0.0, 0.0]
