"""EXT_ and KHR_meshopt_compression, with the package meshopt where it is installed and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf import buffer_views, meshopt, read_mesh
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE, REQUIRED_MISSING
from gltf_bullet.gltf.meshopt import (
    COMPRESSIONS,
    MESHOPT_PACKAGE_MISSING,
    MESHOPT_TOO_LARGE,
    MESHOPT_UNREADABLE,
)
from tests.gltf.conftest import ReadRoot
from tools.gltf_builder import GltfBuilder

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
TRIANGLES = np.array([0, 1, 2, 0, 3, 1], dtype=np.uint32)


def compressed_root(name: str, points: bytes, triangles: bytes, **more: Any) -> dict[str, Any]:
    """A mesh as gltfpack writes it: views of a buffer without data, decoded from another."""
    builder = GltfBuilder()
    root_views = [builder.buffer_view(data) for data in (points, triangles)]
    root = builder.json()
    stored = [root["bufferViews"][view] for view in root_views]
    root["buffers"].append({"byteLength": 72, "extensions": {name: {"fallback": True}}})
    lengths, strides, counts = (48, 24), (12, 4), (4, 6)
    modes = ("ATTRIBUTES", "TRIANGLES")
    root["bufferViews"] = [
        {
            "buffer": 1, "byteOffset": (0, 48)[k], "byteLength": lengths[k],
            "extensions": {
                name: {
                    "buffer": 0, "byteOffset": stored[k].get("byteOffset", 0),
                    "byteLength": stored[k]["byteLength"], "byteStride": strides[k],
                    "count": counts[k], "mode": modes[k], **(more if k == 0 else {}),
                }
            },
        }
        for k in (0, 1)
    ]  # fmt: skip
    root["extensionsUsed"] = root["extensionsRequired"] = [name]
    root["accessors"] = [
        {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 4},
        {"bufferView": 1, "componentType": 5125, "type": "SCALAR", "count": 6},
    ]
    root["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}]
    return root


def encoded() -> tuple[bytes, bytes]:
    package = pytest.importorskip("meshopt")
    points = bytes(package.encode_vertex_buffer(POINTS))
    return points, bytes(package.encode_index_buffer(TRIANGLES))


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_compressed_meshes_are_decoded_to_the_bit(
    name: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    mesh = read_mesh(read_root(compressed_root(name, *encoded())), 0, diagnostics)
    assert mesh is not None
    (primitive,) = mesh.primitives
    # The codec may turn a triangle's corners, and keeps their order.
    first = [np.roll(row, -int(row.argmin())).tolist() for row in primitive.triangles]
    assert first == [[0, 1, 2], [0, 3, 1]]
    assert_array_equal(primitive.positions, POINTS)


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_a_file_may_require_the_compression(name: str, tmp_path: Any) -> None:
    import json

    path = tmp_path / "mesh.gltf"
    path.write_text(json.dumps(compressed_root(name, *encoded())))
    report = gb.check(path)
    assert not [issue for issue in report.issues if issue.code.startswith("EXTENSION")]
    assert report.is_usable


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"mode": "SPLINES"}, "mode 'SPLINES'"),
        ({"filter": "SEPIA"}, "filter 'SEPIA'"),
        ({"count": 5}, "5 elements of 12 bytes are more than the bufferView's 48"),
        ({"byteLength": 1 << 20}, "its buffer has"),
        ({"byteLength": 3}, ""),
        ({"filter": "OCTAHEDRAL"}, ""),
    ],
)
def test_bad_data_is_reported(
    more: dict[str, Any], why: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    root = compressed_root("EXT_meshopt_compression", *encoded(), **more)
    read_mesh(read_root(root), 0, diagnostics)
    issue = diagnostics.take(MESHOPT_UNREADABLE)
    assert issue.pointer == "/bufferViews/0/extensions/EXT_meshopt_compression"
    assert why in issue.message


def test_what_is_missing_is_named(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    root = compressed_root("EXT_meshopt_compression", *encoded(), buffer=7)
    read_mesh(read_root(root), 0, diagnostics)
    diagnostics.take(INDEX_OUT_OF_RANGE)
    del root["bufferViews"][0]["extensions"]["EXT_meshopt_compression"]["count"]
    root["bufferViews"][0]["extensions"]["EXT_meshopt_compression"]["buffer"] = 0
    read_mesh(read_root(root), 0, diagnostics)
    diagnostics.take(REQUIRED_MISSING)


def test_decoded_bytes_have_a_limit(
    read_root: ReadRoot, diagnostics: Diagnostics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meshopt, "DECODED_VIEW_BYTES", 47)
    root = compressed_root("EXT_meshopt_compression", *encoded())
    read_mesh(read_root(root), 0, diagnostics)
    assert diagnostics.take(MESHOPT_TOO_LARGE).values == {"got": 48, "allowed": 47}


def test_without_the_package_the_extra_is_named(
    read_root: ReadRoot, diagnostics: Diagnostics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffer_views, "can_decode", lambda: False)
    root = compressed_root("KHR_meshopt_compression", bytes(8), bytes(8))
    read_mesh(read_root(root), 0, diagnostics)
    issue = diagnostics.take(MESHOPT_PACKAGE_MISSING)
    assert issue.pointer == "/bufferViews/0"
    assert "gltf_bullet[meshopt]" in issue.message
