"""KHR_draco_mesh_compression, with DracoPy where it is installed and without."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.gltf import ReadLimits, read_document, read_mesh
from gltf_bullet.gltf.draco import (
    DRACO_EXTENSION,
    DRACO_PACKAGE_MISSING,
    DRACO_TOO_LARGE,
    DRACO_UNREADABLE,
)
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE, REQUIRED_MISSING, WRONG_TYPE
from tests.gltf.conftest import ReadRoot
from tools.gltf_builder import GltfBuilder

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
TRIANGLES = np.array([[0, 1, 2], [0, 3, 1]], dtype=np.uint32)
PLACE = f"/meshes/0/primitives/0/extensions/{DRACO_EXTENSION}"


def draco_root(data: bytes = b"no draco", **members: Any) -> dict[str, Any]:
    builder = GltfBuilder()
    view = builder.buffer_view(data)
    extension = {"bufferView": view, "attributes": {"POSITION": 0}} | members
    root = builder.json()
    root["accessors"] = [{"componentType": 5126, "type": "VEC3", "count": 4}]
    primitive = {"attributes": {"POSITION": 0}, "extensions": {DRACO_EXTENSION: extension}}
    root["meshes"] = [{"primitives": [primitive]}]
    return root


def test_compressed_triangles_are_decoded(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    draco = pytest.importorskip("DracoPy")
    data = draco.encode(POINTS, TRIANGLES, preserve_order=True, quantization_bits=16)
    mesh = read_mesh(read_root(draco_root(data)), 0, diagnostics)
    assert mesh is not None
    (primitive,) = mesh.primitives
    found = primitive.positions[primitive.triangles]
    order = np.lexsort(found[:, :, 2].T)
    assert_allclose(found[order], POINTS[TRIANGLES], atol=1e-4)


def test_bad_data_is_reported(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    pytest.importorskip("DracoPy")
    mesh = read_mesh(read_root(draco_root()), 0, diagnostics)
    assert mesh is not None
    assert mesh.primitives == ()
    assert diagnostics.take(DRACO_UNREADABLE).pointer == PLACE


def test_what_the_decoder_refuses_is_reported(
    read_root: ReadRoot, diagnostics: Diagnostics, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(data: bytes) -> None:
        raise ValueError(f"{len(data)} bytes")

    monkeypatch.setitem(sys.modules, "DracoPy", SimpleNamespace(decode=decode))
    mesh = read_mesh(read_root(draco_root()), 0, diagnostics)
    assert mesh is not None
    assert mesh.primitives == ()
    assert diagnostics.take(DRACO_UNREADABLE).pointer == PLACE


def test_the_missing_package_is_named(
    read_root: ReadRoot, diagnostics: Diagnostics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    mesh = read_mesh(read_root(draco_root()), 0, diagnostics)
    assert mesh is not None
    assert mesh.primitives == ()
    assert "gltf_bullet[draco]" in diagnostics.take(DRACO_PACKAGE_MISSING).message


@pytest.mark.parametrize("keeps_order", [False, True], ids=["edgebreaker", "sequential"])
def test_more_triangles_than_allowed_are_not_decoded(
    keeps_order: bool, diagnostics: Diagnostics, monkeypatch: pytest.MonkeyPatch
) -> None:
    draco = pytest.importorskip("DracoPy")
    data = draco.encode(POINTS, TRIANGLES, preserve_order=keeps_order)
    for allowed, parts in ((len(TRIANGLES), 1), (len(TRIANGLES) - 1, 0)):
        source = json.dumps(draco_root(data)).encode()
        limits = ReadLimits(max_draco_faces=allowed)
        mesh = read_mesh(read_document(source, diagnostics, limits=limits), 0, diagnostics)
        assert mesh is not None
        assert len(mesh.primitives) == parts
    assert diagnostics.take(DRACO_TOO_LARGE).values["got"] == len(TRIANGLES)


def test_uncompressed_data_comes_first(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    builder = GltfBuilder()
    builder.mesh(POINTS, TRIANGLES)
    root = builder.json()
    root["meshes"][0]["primitives"][0]["extensions"] = {DRACO_EXTENSION: {"bufferView": 0}}
    mesh = read_mesh(read_root(root), 0, diagnostics)
    assert mesh is not None
    assert_array_equal(mesh.primitives[0].positions, POINTS)


@pytest.mark.parametrize(
    ("members", "kind", "place"),
    [
        ({"bufferView": 5}, INDEX_OUT_OF_RANGE, "/bufferView"),
        ({"attributes": 5}, WRONG_TYPE, "/attributes"),
        ({"attributes": {"POSITION": "0"}}, WRONG_TYPE, "/attributes/POSITION"),
    ],
)
def test_what_is_wrong_in_the_extension_is_reported(
    members: dict[str, Any],
    kind: IssueKind,
    place: str,
    read_root: ReadRoot,
    diagnostics: Diagnostics,
) -> None:
    draco = pytest.importorskip("DracoPy")
    root = draco_root(draco.encode(POINTS, TRIANGLES), **members)
    mesh = read_mesh(read_root(root), 0, diagnostics)
    assert mesh is not None
    assert mesh.primitives == ()
    assert diagnostics.take(kind).pointer == PLACE + place


def test_the_view_is_required(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    root = draco_root()
    del root["meshes"][0]["primitives"][0]["extensions"][DRACO_EXTENSION]["bufferView"]
    mesh = read_mesh(read_root(root), 0, diagnostics)
    assert mesh is not None
    assert mesh.primitives == ()
    assert diagnostics.take(REQUIRED_MISSING).pointer == f"{PLACE}/bufferView"
