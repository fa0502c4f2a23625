"""Writing and reading back: the same JSON, the same arrays, unknown things untouched."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pygltflib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.gltf import read_accessor, read_document, read_mesh
from gltf_bullet.gltf.writing import (
    IMAGE_NOT_EMBEDDED,
    LINE_LENGTH,
    document_buffers,
    encode_glb,
    readable_json,
    self_contained,
    write_document,
)
from tests.gltf.conftest import ReadRoot
from tools.gltf_builder import GltfBuilder

Json = dict[str, Any]
UNKNOWN: Json = {
    "asset": {"version": "2.0", "extras": {"a": [1, {"b": None}]}},
    "extensionsUsed": ["VENDOR_x"],
    "extensions": {"VENDOR_x": {"deep": [[1.5, "ü"], {}], "empty": []}},
    "strangeMember": [True, False, None],
    "nodes": [{"name": 'ü\n"', "extensions": {"VENDOR_x": {}}}],
}
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda below: (
        st.lists(below, max_size=8) | st.dictionaries(st.text(max_size=8), below, max_size=5)
    ),
    max_leaves=30,
)


def two_buffers() -> Json:
    return {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": 3, "name": "first"}, {"byteLength": 2}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 3, "name": "kept"},
            {"buffer": 1, "byteLength": 2},
            {"buffer": 1, "byteLength": 1, "byteOffset": 1},
        ],
        "accessors": [
            {"bufferView": view, "componentType": 5121, "type": "SCALAR", "count": count}
            for view, count in ((0, 3), (1, 2), (2, 1))
        ],
    }


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".GLB"])
def test_unknown_things_come_back_as_they_were(
    suffix: str, tmp_path: Path, diagnostics: Diagnostics
) -> None:
    write_document(UNKNOWN, [], tmp_path / f"a{suffix}")
    assert read_document(tmp_path / f"a{suffix}", diagnostics).json == UNKNOWN


@given(json_values)
def test_readable_text_is_the_same_json(value: object) -> None:
    assert json.loads(readable_json(value)) == value


@given(json_values)
def test_a_glb_holds_the_same_json(value: object) -> None:
    root = {"asset": {"version": "2.0"}, "extras": value}
    sink = Diagnostics()
    assert read_document(encode_glb(root, []), sink).json == root
    assert not sink.issues


def test_short_things_stay_on_one_line() -> None:
    value = {"nodes": [{"translation": (0, 1.5, 0)}], "values": list(range(100))}
    lines = readable_json(value).splitlines()
    assert '  "nodes": [{"translation": [0, 1.5, 0]}],' in lines
    assert len(lines) < 12
    assert max(map(len, lines)) <= LINE_LENGTH + 4


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_cannot_hold_are_refused(value: float, tmp_path: Path) -> None:
    root = {"asset": {"version": "2.0"}, "extras": [value]}
    for name in ("a.glb", "a.gltf"):
        with pytest.raises(ValueError, match="JSON compliant"):
            write_document(root, [], tmp_path / name)
        assert not (tmp_path / name).exists()


def test_keys_that_are_no_strings_are_refused() -> None:
    with pytest.raises(TypeError, match="JSON key"):
        readable_json({1: 2})


@pytest.mark.parametrize("name", ["a.glb", "a.gltf"])
def test_several_buffers_come_back_with_the_same_content(
    name: str, tmp_path: Path, diagnostics: Diagnostics
) -> None:
    root = two_buffers()
    before = json.dumps(root)
    write_document(root, [b"abc", memoryview(b"de")], tmp_path / name)
    assert json.dumps(root) == before
    document = read_document(tmp_path / name, diagnostics)
    found = [read_accessor(document, index, diagnostics) for index in range(3)]
    for array, expected in zip(found, (b"abc", b"de", b"e"), strict=True):
        assert_array_equal(array, list(expected))
    assert document.objects("bufferViews")[0]["name"] == "kept"


def test_a_glb_is_padded_as_the_specification_asks() -> None:
    """Chunks are multiples of 4 bytes: JSON padded with spaces, binary data with zeros."""
    data = encode_glb(two_buffers(), [b"abc", b"de"])
    magic, version, length, size, kind = struct.unpack_from("<4sIII4s", data)
    assert (magic, version, length, kind) == (b"glTF", 2, len(data), b"JSON")
    assert size % 4 == 0
    root = json.loads(data[20 : 20 + size])
    assert root["buffers"] == [{"byteLength": 8}]
    assert root["bufferViews"][2] == {"buffer": 0, "byteLength": 1, "byteOffset": 5}
    binary_size, kind = struct.unpack_from("<I4s", data, 20 + size)
    assert (binary_size, kind) == (8, b"BIN\0")
    assert data[28 + size :] == b"abc\0de\0\0"


def test_the_only_buffer_keeps_its_other_members() -> None:
    root = {"asset": {"version": "2.0"}, "buffers": [{"byteLength": 1, "name": "b", "uri": "x"}]}
    data = encode_glb(root, [b"a"])
    size = struct.unpack_from("<I", data, 12)[0]
    assert json.loads(data[20 : 20 + size])["buffers"] == [{"byteLength": 4, "name": "b"}]


def test_declared_buffers_without_data_stay_where_they_are_needed(
    diagnostics: Diagnostics,
) -> None:
    """EXT_meshopt_compression: a fall-back buffer has a length and no bytes."""
    fall_back = {"byteLength": 100, "extensions": {"EXT_meshopt_compression": {"fallback": True}}}
    root = {
        "asset": {"version": "2.0"},
        "buffers": [fall_back, {"byteLength": 4}, {"byteLength": 4}],
        "bufferViews": [
            {
                "buffer": 0,
                "byteLength": 100,
                "extensions": {
                    "EXT_meshopt_compression": {"buffer": 2, "byteLength": 4},
                    "OTHER": {"buffer": 2},
                },
            }
        ],
    }
    document = read_document(encode_glb(root, [None, b"abcd", b"efgh"]), diagnostics)
    assert document.json["buffers"] == [{"byteLength": 8}, fall_back]
    (view,) = document.objects("bufferViews")
    assert view["buffer"] == 1
    assert view["extensions"] == {
        "EXT_meshopt_compression": {"buffer": 0, "byteLength": 4, "byteOffset": 4},
        "OTHER": {"buffer": 2},
    }
    assert document_buffers(document) == [b"abcdefgh", None]


def test_buffers_and_json_must_agree() -> None:
    for root, buffers in ((two_buffers(), []), ({"buffers": 5}, [b""])):
        with pytest.raises(ValueError, match="buffers"):
            encode_glb(root, buffers)


def test_the_suffix_says_what_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.glb or \.gltf"):
        write_document(UNKNOWN, [], tmp_path / "a.obj")


def test_views_of_any_kind_survive() -> None:
    root = {"buffers": [{}], "bufferViews": [5, {"buffer": "x"}, {"buffer": 7}, {}]}
    data = encode_glb(root, [b"abcd"])
    size = struct.unpack_from("<I", data, 12)[0]
    assert json.loads(data[20 : 20 + size])["bufferViews"] == root["bufferViews"]


def test_image_files_are_taken_into_the_written_file(
    tmp_path: Path, diagnostics: Diagnostics
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a b.png").write_bytes(b"\x89PNG....")
    (folder / "b.jpg").write_bytes(b"something")
    (folder / "data.bin").write_bytes(b"abc")
    inline = "data:image/png;base64," + base64.b64encode(b"x").decode()
    root = {
        "asset": {"version": "2.0"},
        "buffers": [{"uri": "data.bin", "byteLength": 3}],
        "bufferViews": [{"buffer": 0, "byteLength": 3}],
        "images": [
            {"uri": "a%20b.png", "name": "colour"},
            {"uri": inline},
            {"uri": "b.jpg"},
            {"uri": "missing.png"},
            {"uri": "data.bin"},
            {"bufferView": 0, "mimeType": "image/png"},
        ],
    }
    (folder / "a.gltf").write_text(json.dumps(root))
    document = read_document(folder / "a.gltf", diagnostics)
    written, buffers = self_contained(document, diagnostics)
    assert document.json == root
    assert diagnostics.take(IMAGE_NOT_EMBEDDED).pointer == "/images/3/uri"
    assert diagnostics.take(IMAGE_NOT_EMBEDDED).pointer == "/images/4/uri"
    write_document(written, buffers, tmp_path / "out.glb")
    copy = read_document(tmp_path / "out.glb", diagnostics)
    images = copy.objects("images")
    assert images[0] == {"name": "colour", "bufferView": 1, "mimeType": "image/png"}
    assert [images[i] for i in (1, 3, 4, 5)] == [root["images"][i] for i in (1, 3, 4, 5)]
    for index, content in ((0, b"\x89PNG...."), (2, b"something")):
        view = copy.objects("bufferViews")[int(str(images[index]["bufferView"]))]
        start = int(str(view.get("byteOffset", 0)))
        assert bytes(copy.buffer(0)[start : start + int(str(view["byteLength"]))]) == content


def test_a_document_without_image_files_keeps_its_root(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    document = read_root({"nodes": [{}]})
    root, buffers = self_contained(document, diagnostics)
    assert root == document.json
    assert buffers == []


def test_buffers_that_cannot_be_read_are_not_written(read_root: ReadRoot) -> None:
    document = read_root({"buffers": [{"byteLength": 4, "uri": "missing.bin"}]})
    with pytest.raises(ContainerError):
        document_buffers(document)


@pytest.mark.parametrize("name", ["a.glb", "a.gltf"])
def test_a_document_goes_through_pygltflib(
    name: str, tmp_path: Path, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    mesh = builder.mesh(np.eye(3), [0, 1, 2], attributes={"_CUSTOM": np.arange(3.0)})
    builder.node("a", mesh=mesh, extensions={"VENDOR_x": {"a": []}})
    builder.write(tmp_path / name)
    document = read_document(tmp_path / name, diagnostics)
    gltf = pygltflib.GLTF2.from_json(json.dumps(document.json), infer_missing=True)
    if document.glb_chunk is not None:
        gltf.set_binary_blob(document.glb_chunk)
    gltf._path, gltf._name = document.folder, name
    assert gltf.nodes[0].name == "a"
    copy = read_document(gltf, diagnostics)
    assert (copy.path, copy.folder) == (document.path, document.folder)
    assert copy.node_extension(0, "VENDOR_x") == {"a": []}
    first, second = read_mesh(copy, 0, diagnostics), read_mesh(document, 0, diagnostics)
    assert first is not None
    assert second is not None
    assert_array_equal(first.primitives[0].positions, second.primitives[0].positions)
