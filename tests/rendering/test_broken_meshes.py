"""Meshes that are wrong somewhere: shown ones are warned about, collision geometry is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tests.physics.scenes import KHR, SHAPES, world

Json = dict[str, Any]

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype="<f4")
TRIANGLES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
     [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]], dtype="<u2",
)  # fmt: skip


def cube(corners: np.ndarray = CORNERS, triangles: np.ndarray = TRIANGLES) -> Json:
    """A ball of 0.25 m that falls by 0.75 m to the ground and shows a cube, as a file."""
    data = corners.tobytes() + triangles.tobytes()
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    attributes = {"POSITION": 0}
    return {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [
            {"name": "Ball", "mesh": 0, "translation": [0, 1, 0],
             "extensions": {KHR: {"motion": {"mass": 1}, "collider": {"geometry": {"shape": 0}}}}},
            {"extensions": {KHR: {"collider": {"geometry": {"shape": 1}}}}},
        ],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(corners), "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": triangles.size, "type": "SCALAR"},
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 0, "componentType": 5121, "count": 8, "type": "VEC4"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": corners.nbytes},
            {"buffer": 0, "byteOffset": corners.nbytes, "byteLength": triangles.nbytes},
        ],
        "buffers": [{"byteLength": len(data), "uri": uri}],
        "extensionsUsed": [KHR, SHAPES],
        "extensions": {SHAPES: {"shapes": [
            {"type": "sphere", "sphere": {"radius": 0.25}}, {"type": "plane"},
        ]}},
    }  # fmt: skip


def beyond() -> Json:
    triangles = TRIANGLES.copy()
    triangles[0, 0] = 9
    return cube(triangles=triangles)


def not_finite() -> Json:
    corners = CORNERS.copy()
    corners[0, 0] = np.nan
    return cube(corners)


def with_primitive(**members: Any) -> Json:
    root = cube()
    attributes = {"POSITION": 0, **members.pop("attributes", {})}
    root["meshes"][0]["primitives"][0] |= {"attributes": attributes, **members}
    return root


def with_skin(skin: Json) -> Json:
    root = cube() | {"skins": [skin]}
    root["nodes"][0]["skin"] = 0
    return root


SHOWN = [
    (beyond(), "PASSED_OVER"),
    (not_finite(), "PASSED_OVER"),
    (with_primitive(indices=99), "PASSED_OVER"),
    (with_primitive(material=3), "INDEX_MENDED"),
    (with_primitive(attributes={"NORMAL": 2}), "ATTRIBUTE_WRONG_COUNT"),
    (with_primitive(attributes={"NORMAL": 99}), "PASSED_OVER"),
    (with_primitive(attributes={"JOINTS_0": 3}), "ATTRIBUTE_UNPAIRED"),
    (with_primitive(material=0) | {"materials": [
        {"pbrMetallicRoughness": {"baseColorTexture": {"index": 3}}}]}, "PASSED_OVER"),
    (with_skin({"joints": []}), "SKIN_WITHOUT_JOINTS"),
    (with_skin({"joints": [9]}), "PASSED_OVER"),
]  # fmt: skip


@pytest.mark.parametrize(("root", "code"), SHOWN)
def test_a_shown_mesh_does_without_what_is_wrong(root: Json, code: str) -> None:
    options = gb.LoadOptions(visuals="mesh")
    with world(json.dumps(root).encode(), options=options) as scene:
        found = {issue.code for issue in scene.issues if issue.severity.name != "INFO"}
        assert found == {code}
        scene.step(480)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    ("root", "code"),
    [
        (beyond(), "INDEX_BEYOND_VERTICES"),
        (not_finite(), "VALUE_NOT_FINITE"),
        (with_primitive(indices=99), "INDEX_OUT_OF_RANGE"),
    ],
)
def test_collision_geometry_that_cannot_be_read_is_refused(root: Json, code: str) -> None:
    root["nodes"][1]["extensions"][KHR]["collider"]["geometry"] = {"mesh": 0}
    with pytest.raises(gb.InvalidAssetError) as caught, world(json.dumps(root).encode()):
        pass
    assert code in {issue.code for issue in caught.value.issues}


def test_data_that_is_missing_refuses_the_file_whatever_it_is_for() -> None:
    root = cube()
    root["buffers"] = [{"byteLength": 168, "uri": "missing.bin"}]
    options = gb.LoadOptions(visuals="mesh")
    with (
        pytest.raises(gb.InvalidAssetError) as caught,
        world(json.dumps(root).encode(), options=options),
    ):
        pass
    assert "URI_REFUSED" in {issue.code for issue in caught.value.issues}
