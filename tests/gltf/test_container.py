"""From bytes to a JSON root: GLB chunks, malformed JSON, and every kind of source."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.errors import AssetError, ContainerError
from gltf_bullet.gltf import ReadLimits, read_document
from gltf_bullet.gltf.container import (
    FILE_EMPTY,
    FILE_TOO_LARGE,
    FILE_UNREADABLE,
    GLB_CHUNK_IGNORED,
    GLB_CHUNK_UNALIGNED,
    GLB_JSON_NOT_FIRST,
    GLB_LENGTH,
    GLB_TRUNCATED,
    GLB_VERSION,
    JSON_BYTE_ORDER_MARK,
    JSON_DUPLICATE_KEY,
    JSON_MALFORMED,
    JSON_NOT_OBJECT,
    JSON_TOO_DEEP,
)

JSON_TYPE, BIN_TYPE = b"JSON", b"BIN\0"
MINIMAL = b'{"asset":{"version":"2.0"}}'


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + kind + data


def glb(*chunks: bytes, version: int = 2, length: int | None = None) -> bytes:
    body = b"".join(chunks)
    size = 12 + len(body) if length is None else length
    return b"glTF" + struct.pack("<II", version, size) + body


JSON_CHUNK = chunk(JSON_TYPE, MINIMAL + b" ")


def refusal(data: bytes, limits: ReadLimits | None = None) -> IssueKind:
    """The kind of the one error that reading ``data`` ends with."""
    with pytest.raises(ContainerError) as caught:
        read_document(data, Diagnostics(), limits=limits or ReadLimits())
    (error,) = (issue for issue in caught.value.issues if issue.is_error)
    return error.kind


def test_a_glb_gives_its_json_and_its_binary_chunk(diagnostics: Diagnostics) -> None:
    document = read_document(glb(JSON_CHUNK, chunk(BIN_TYPE, b"abcd")), diagnostics)
    assert document.json == {"asset": {"version": "2.0"}}
    assert document.glb_chunk == b"abcd"


def test_the_container_is_told_by_its_content_not_its_suffix(
    tmp_path: Path, diagnostics: Diagnostics
) -> None:
    file = tmp_path / "binary.gltf"
    file.write_bytes(glb(JSON_CHUNK, chunk(BIN_TYPE, b"abcd")))
    assert read_document(file, diagnostics).glb_chunk == b"abcd"


def test_a_glb_cut_at_any_byte_is_refused() -> None:
    whole = glb(JSON_CHUNK, chunk(BIN_TYPE, b"abcd"))
    for length in range(len(whole)):
        expected = FILE_EMPTY if not length else JSON_MALFORMED if length < 4 else GLB_TRUNCATED
        assert refusal(whole[:length]) is expected, length


@given(st.integers(0, 63), st.integers(0, 255))
def test_a_glb_with_a_changed_byte_is_read_or_refused(position: int, value: int) -> None:
    whole = bytearray(glb(JSON_CHUNK, chunk(BIN_TYPE, b"abcdefgh")))
    whole[position % len(whole)] = value
    with contextlib.suppress(AssetError):
        read_document(bytes(whole), Diagnostics())


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for prefix in (b"", b"glTF", glb(JSON_CHUNK)):
        with contextlib.suppress(AssetError):
            read_document(prefix + data, Diagnostics())


@pytest.mark.parametrize("version", [0, 3])
def test_another_glb_version_is_refused(version: int) -> None:
    assert refusal(glb(JSON_CHUNK, version=version)) is GLB_VERSION


def test_a_glb_without_a_json_chunk_is_refused() -> None:
    assert refusal(glb()) is GLB_TRUNCATED


def test_a_glb_that_begins_with_another_chunk_is_refused() -> None:
    assert refusal(glb(chunk(BIN_TYPE, b"abcd"), JSON_CHUNK)) is GLB_JSON_NOT_FIRST


def test_a_chunk_longer_than_the_file_is_refused() -> None:
    assert refusal(glb(struct.pack("<I", 2**32 - 1) + JSON_TYPE + MINIMAL)) is GLB_TRUNCATED


def test_bytes_after_the_glb_are_ignored_with_a_warning(diagnostics: Diagnostics) -> None:
    read_document(glb(JSON_CHUNK) + b"rest", diagnostics)
    assert diagnostics.take(GLB_LENGTH).values == {
        "length": 12 + len(JSON_CHUNK),
        "got": 16 + len(JSON_CHUNK),
    }


def test_an_unaligned_chunk_is_read_with_a_warning(diagnostics: Diagnostics) -> None:
    document = read_document(glb(chunk(JSON_TYPE, MINIMAL), chunk(BIN_TYPE, b"abcd")), diagnostics)
    assert document.glb_chunk == b"abcd"
    assert diagnostics.take(GLB_CHUNK_UNALIGNED).values["got"] == len(MINIMAL)


def test_unknown_and_repeated_chunks_are_skipped(diagnostics: Diagnostics) -> None:
    document = read_document(
        glb(
            JSON_CHUNK, chunk(b"XYZ0", b"1234"), chunk(BIN_TYPE, b"abcd"), chunk(BIN_TYPE, b"efgh")
        ),
        diagnostics,
    )
    assert document.glb_chunk == b"abcd"
    assert diagnostics.take(GLB_CHUNK_IGNORED).values["chunk"] == 1
    assert diagnostics.take(GLB_CHUNK_IGNORED).values["chunk"] == 3


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"not json",
        b'{"asset": {"version": "2.0"},}',
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b'{"a": 1e999}',
        b'{"a": 01}',
        b"{} {}",
        b"\xff\xfe{\0}\0",
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_malformed_json_is_refused(text: bytes) -> None:
    assert refusal(text) is JSON_MALFORMED


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_know_are_named(literal: str) -> None:
    """Python's own writer makes such files by default; the user needs to hear what is wrong."""
    text = json.dumps({"nodes": [{"translation": [0, float(literal), 0]}]}).encode()
    with pytest.raises(ContainerError, match=f"{literal} is no JSON number"):
        read_document(text, Diagnostics())


@pytest.mark.parametrize("text", [b"[]", b"1", b'"text"', b"null"])
def test_a_root_that_is_no_object_is_refused(text: bytes) -> None:
    assert refusal(text) is JSON_NOT_OBJECT


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [129, 1_000, 1_000_000])
def test_deeply_nested_json_is_refused(opening: str, depth: int) -> None:
    closing = "]" if opening == "[" else "}"
    assert refusal((opening * depth + "1" + closing * depth).encode()) is JSON_TOO_DEEP


def test_the_depth_limit_looks_at_structure_and_not_at_text(diagnostics: Diagnostics) -> None:
    texts = ["[" * 500, "]" * 500, '\\"[{' * 500, "", '"', "\\", "[", "}"]
    root = {"asset": {"version": "2.0"}, "extras": texts, "".join(texts): texts}
    assert read_document(json.dumps(root).encode(), diagnostics).json == root


@given(
    st.recursive(
        st.none() | st.text('[]{}"\\,:a', max_size=6),
        lambda below: (
            st.lists(below, max_size=3)
            | st.dictionaries(st.text('[]{}"\\', max_size=3), below, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_the_depth_limit_is_exact(value: object) -> None:
    def depth(item: object) -> int:
        below = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        return int(isinstance(item, (dict, list))) + max(map(depth, below), default=0)

    root = {"asset": {"version": "2.0"}, "extras": value}
    data = json.dumps(root).encode()
    limit = depth(root)
    read_document(data, Diagnostics(), limits=ReadLimits(max_json_depth=limit))
    assert refusal(data, ReadLimits(max_json_depth=limit - 1)) is JSON_TOO_DEEP


def test_a_byte_order_mark_is_skipped(diagnostics: Diagnostics) -> None:
    assert read_document(b"\xef\xbb\xbf" + MINIMAL, diagnostics).json["asset"]
    diagnostics.take(JSON_BYTE_ORDER_MARK)


@pytest.mark.parametrize(
    ("text", "pointer", "key"),
    [
        (b'{"asset": {"version": "2.0"}, "scene": 7, "scenes": [{}], "scene": 0}', "", "scene"),
        (rb'{"asset": {"version": "2.0"}, "a:\"": [1, {"b": ":", "b": 2}]}', '/a:"/1', "b"),
        (b'{"nodes": [{"mass": 1, "mass": 2}], "nodes": []}', "", "nodes"),
    ],
)
def test_a_repeated_key_is_refused(text: bytes, pointer: str, key: str) -> None:
    """glTF 2.0, "JSON Encoding": names within JSON objects must be unique."""
    with pytest.raises(ContainerError) as caught:
        read_document(text, Diagnostics())
    (issue,) = caught.value.issues
    assert (issue.kind, issue.pointer) == (JSON_DUPLICATE_KEY, pointer)
    assert f"'{key}'" in issue.message


def test_colons_and_quotes_within_strings_are_no_keys(diagnostics: Diagnostics) -> None:
    text = rb'{"asset": {"version": "2.0"}, "extras": {"a:": ":\":", "": "", "\\": "\u003a:"}}'
    extras = read_document(text, diagnostics).json["extras"]
    assert extras == {"a:": ':":', "": "", "\\": "::"}


@pytest.mark.parametrize(("value", "column"), [(b"01", 9), (b"NaN", 8), (b"?", 8)])
def test_malformed_json_is_found_by_line_and_column(value: bytes, column: int) -> None:
    text = b'{"\xc3\xa4": 1,\n "\xc3\xa4":  ' + value + b"}"
    with pytest.raises(ContainerError, match=rf"\(line 2, column {column}\)"):
        read_document(text, Diagnostics())


def test_every_kind_of_source_gives_the_same(tmp_path: Path, diagnostics: Diagnostics) -> None:
    file = tmp_path / "a.gltf"
    file.write_bytes(MINIMAL)
    with file.open("rb") as opened:
        sources = [str(file), file, MINIMAL, bytearray(MINIMAL), memoryview(MINIMAL), opened,
                   io.BytesIO(MINIMAL)]  # fmt: skip
        documents = [read_document(source, diagnostics) for source in sources]
    assert all(document.json == {"asset": {"version": "2.0"}} for document in documents)
    named = [document.path for document in documents]
    assert named == [str(file)] * 2 + ["<memory>"] * 3 + [str(file), "<memory>"]
    assert [document.folder == tmp_path for document in documents] == [
        path != "<memory>" for path in named
    ]


def test_a_file_that_cannot_be_opened_is_an_asset_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.glb", tmp_path, "nul\0byte"):
        diagnostics = Diagnostics()
        with pytest.raises(ContainerError) as caught:
            read_document(path, diagnostics)
        assert diagnostics.take().kind is FILE_UNREADABLE
        assert isinstance(caught.value.__cause__, (OSError, ValueError))


def test_files_above_the_limit_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large.gltf"
    file.write_bytes(MINIMAL)
    limits = ReadLimits(max_buffer_bytes=len(MINIMAL) - 1)
    for source in (file, MINIMAL, io.BytesIO(MINIMAL)):
        diagnostics = Diagnostics()
        with pytest.raises(ContainerError):
            read_document(source, diagnostics, limits=limits)
        assert diagnostics.take().kind is FILE_TOO_LARGE


def test_things_that_are_no_source_are_a_mistake_of_the_caller(diagnostics: Diagnostics) -> None:
    for source in (7, None, io.StringIO("{}")):
        with pytest.raises(TypeError):
            read_document(source, diagnostics)  # type: ignore[arg-type]  # the point of the test


def test_the_garbage_collector_is_on_again_after_a_failure() -> None:
    assert refusal(b"{") is JSON_MALFORMED
    assert gc.isenabled()
