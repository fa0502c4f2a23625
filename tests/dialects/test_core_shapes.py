"""The core shapes of the glTF 2.1 draft."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.khr.core_shapes import with_core_shapes
from gltf_bullet.dialects.khr.writer import write_physics
from gltf_bullet.gltf.writing import encode_glb
from gltf_bullet.model import Box, Capsule, Cylinder, MeshPart, MeshShape, Plane, Shape, Sphere
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def file(shapes: list[dict[str, Any]], *, older: bool = False) -> bytes:
    builder = GltfBuilder()
    builder.mesh(CORNERS, FACES)
    for index in range(len(shapes)):
        collider = {"shape": index} if older else {"geometry": {"shape": index}}
        builder.node(f"n{index}", extensions={KHR: {"collider": collider}})
    root = {**builder.json(), "asset": {"version": "2.1"}, "shapes": shapes}
    return encode_glb(root, builder.buffers())


CASES: list[tuple[dict[str, Any], Shape]] = [
    ({"type": "box"}, Box(size=(1.0, 1.0, 1.0))),
    ({"type": "sphere", "sphere": {}}, Sphere(radius=0.5)),
    ({"type": "capsule"}, Capsule(mid_height=1.0, radius_bottom=0.5, radius_top=0.5)),
    ({"type": "cylinder"}, Cylinder(height=2.0, radius_bottom=0.5, radius_top=0.5)),
    (
        {"type": "capsule", "capsule": {"height": 0.4, "radiusTop": 0.1}},
        Capsule(mid_height=0.4, radius_bottom=0.5, radius_top=0.1),
    ),
    ({"type": "plane"}, Plane(size_x=math.inf, size_z=math.inf, double_sided=False)),
    (
        {"type": "mesh", "mesh": {"mesh": 0}},
        MeshShape(parts=(MeshPart(mesh=0),), convex_hull=False),
    ),
    (
        {"type": "convexMesh", "convexMesh": {"mesh": 0}},
        MeshShape(parts=(MeshPart(mesh=0),), convex_hull=True),
    ),
]


@pytest.mark.parametrize("older", [False, True])
def test_every_type_is_read_with_the_drafts_own_defaults(older: bool) -> None:
    asset = gb.read_asset(file([entry for entry, _ in CASES], older=older))
    assert not asset.issues
    assert [collider.shape for collider in asset.physics.colliders.values()] == [
        shape for _, shape in CASES
    ]


def test_an_unknown_type_is_left_out() -> None:
    report = gb.check(file([{"type": "torus"}]))
    assert not report.errors
    assert "SHAPE_TYPE_UNKNOWN" in [issue.code for issue in report.issues]


def test_what_is_written_is_read_back_equal() -> None:
    asset = gb.read_asset(file([entry for entry, _ in CASES]))
    diagnostics = Diagnostics()
    khr = write_physics(asset.document, asset.physics, diagnostics)
    assert "KHR_implicit_shapes" in khr["extensions"]
    root = with_core_shapes({k: v for k, v in khr.items() if k != "shapes"}, diagnostics)
    assert root["asset"]["version"] == "2.1"
    assert "KHR_implicit_shapes" not in json.dumps(root)
    assert not len(diagnostics)
    data = [asset.document.buffer(k) for k in range(len(root.get("buffers", ())))]
    again = gb.read_asset(encode_glb(root, data))
    assert [c.shape for c in again.physics.colliders.values()] == [
        c.shape for c in asset.physics.colliders.values()
    ]


def test_a_double_sided_plane_loses_a_side_and_says_so() -> None:
    diagnostics = Diagnostics()
    shapes = [{"type": "plane", "plane": {"sizeX": 2.0, "doubleSided": True}}]
    root = {"asset": {"version": "2.0"}, "extensions": {"KHR_implicit_shapes": {"shapes": shapes}}}
    written = with_core_shapes(root, diagnostics)
    assert written["shapes"] == [{"type": "plane", "plane": {"sizeX": 2.0}}]
    assert diagnostics.take().code == "PLANE_ONE_SIDED"
    assert "extensions" not in written
