"""The document: version, collections, caching, pickling, and pygltflib objects as a source."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.gltf import read_accessor, read_document, read_mesh
from gltf_bullet.gltf.document import (
    ASSET_VERSION,
    ASSET_VERSION_MISSING,
    EXTENSION_NOT_IN_USED,
)
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE, TYPE_MENDED, WRONG_TYPE
from tests.gltf.conftest import ReadBuilder, ReadRoot
from tools.gltf_builder import GltfBuilder

TRIANGLE = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


def read(root: object, diagnostics: Diagnostics) -> Any:
    return read_document(json.dumps(root).encode(), diagnostics)


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.15"])
def test_every_version_two_is_read(version: str, diagnostics: Diagnostics) -> None:
    assert read({"asset": {"version": version}}, diagnostics).json["asset"]["version"] == version


@pytest.mark.parametrize("asset", [{"version": "1.0"}, {"version": "3.0"}, {"version": ""},
                                   {"version": "2.2", "minVersion": "2.2"}])  # fmt: skip
def test_other_versions_are_refused(asset: dict[str, str]) -> None:
    with pytest.raises(ContainerError) as caught:
        read({"asset": asset}, Diagnostics())
    assert caught.value.issues[0].kind is ASSET_VERSION


@pytest.mark.parametrize("root", [{}, {"asset": {}}])
def test_a_missing_version_is_taken_for_two(root: object, diagnostics: Diagnostics) -> None:
    read(root, diagnostics)
    diagnostics.take(ASSET_VERSION_MISSING)


@pytest.mark.parametrize("asset", [[], "2.0", {"version": 2.0}])
def test_a_version_of_a_wrong_type_is_reported(asset: object, diagnostics: Diagnostics) -> None:
    read({"asset": asset}, diagnostics)
    diagnostics.take(TYPE_MENDED)
    if not isinstance(asset, dict):
        diagnostics.take(ASSET_VERSION_MISSING)


def test_extension_lists_are_read(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    document = read_root({"extensionsUsed": ["A"], "extensionsRequired": ["A", "B"]})
    assert document.extensions_used == ("A",)
    assert document.extensions_required == ("A", "B")
    assert diagnostics.take(EXTENSION_NOT_IN_USED).values["got"] == "B"


def test_collections_keep_their_places(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    document = read_root({"meshes": [{"name": "a"}, 5, {"name": "c"}], "materials": {}})
    assert [mesh.get("name") for mesh in document.objects("meshes")] == ["a", None, "c"]
    assert document.count("meshes") == 3
    assert document.count("materials") == document.count("nothing") == 0
    assert diagnostics.take(WRONG_TYPE).pointer == "/meshes/1"
    assert diagnostics.take(TYPE_MENDED).pointer == "/materials"


def test_what_is_read_twice_is_computed_once_and_reported_twice(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    document = read_root({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}]})
    assert read_mesh(document, 0, diagnostics) is read_mesh(document, 0, diagnostics)
    other = Diagnostics()
    read_mesh(document, 0, other)
    assert other.take().kind is INDEX_OUT_OF_RANGE
    diagnostics.take(INDEX_OUT_OF_RANGE)


def test_a_document_goes_through_pickle_with_its_buffers(
    tmp_path: Path, diagnostics: Diagnostics
) -> None:
    (tmp_path / "a.bin").write_bytes(bytes([1, 2, 3, 4]))
    file = tmp_path / "a.gltf"
    root = {
        "asset": {"version": "2.0"},
        "nodes": [{"name": "x", "extensions": {"A": {}}}],
        "buffers": [{"uri": "a.bin", "byteLength": 4}],
        "bufferViews": [{"buffer": 0, "byteLength": 4}],
        "accessors": [{"bufferView": 0, "componentType": 5121, "type": "SCALAR", "count": 4}],
    }
    file.write_text(json.dumps(root))
    document = read_document(file, diagnostics)
    values = read_accessor(document, 0, diagnostics)
    (tmp_path / "a.bin").unlink()
    copy = pickle.loads(pickle.dumps(document))  # noqa: S301  # made one line above
    assert_array_equal(read_accessor(copy, 0, diagnostics), values)
    assert copy.json == document.json
    assert copy.tree.names == ("x",)
    assert copy.nodes_with_extension("A") == (0,)
    assert (copy.path, copy.folder) == (document.path, document.folder)


def test_a_pygltflib_object_reads_like_its_file(
    tmp_path: Path, read_builder: ReadBuilder, diagnostics: Diagnostics
) -> None:
    import pygltflib

    builder = GltfBuilder()
    mesh = builder.mesh(TRIANGLE, [0, 1, 2])
    builder.node("a", translation=(1, 2, 3), mesh=mesh, extensions={"X_y": {"list": [], "n": 1}})
    builder.root_extension("X_y", {"z": {}})
    for name in ("a.glb", "a.gltf"):
        builder.write(tmp_path / name)
        expected = read_document(tmp_path / name, diagnostics)
        document = read_document(pygltflib.GLTF2.load(str(tmp_path / name)), diagnostics)
        assert document.path == str(tmp_path / name)
        assert document.folder == tmp_path
        assert_array_equal(document.tree.local_matrices(), expected.tree.local_matrices())
        assert document.node_extension(0, "X_y") == {"list": [], "n": 1}
        assert document.root_extension("X_y") == {"z": {}}
        first, second = (read_mesh(d, 0, diagnostics) for d in (document, expected))
        assert first is not None
        assert second is not None
        assert_array_equal(first.primitives[0].positions, second.primitives[0].positions)


def test_a_pygltflib_object_made_by_program_is_read(diagnostics: Diagnostics) -> None:
    import pygltflib

    gltf = pygltflib.GLTF2(nodes=[pygltflib.Node(name="a", translation=[1, 2, 3])])
    document = read_document(gltf, diagnostics)
    assert document.path == "<memory>"
    assert document.tree.translations.tolist() == [[1, 2, 3]]


def test_a_pygltflib_object_that_json_cannot_hold_is_refused() -> None:
    import pygltflib

    for extras in ({"x": float("nan")}, {"x": object()}):
        gltf = pygltflib.GLTF2(nodes=[pygltflib.Node(extras=extras)])
        with pytest.raises(ContainerError):
            read_document(gltf, Diagnostics())


def test_reading_imports_no_optional_package() -> None:
    code = (
        "import sys; from gltf_bullet.gltf import read_document;"
        "from gltf_bullet.diagnostics import Diagnostics;"
        "read_document(b'{}', Diagnostics());"
        "print([name for name in ('pygltflib', 'DracoPy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
