"""The bytes of a buffer: chunk, data URI or a file inside the asset's folder, and nothing else."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue
from gltf_bullet.errors import ContainerError
from gltf_bullet.gltf import Document, ReadLimits, read_document
from gltf_bullet.gltf.buffers import (
    BUFFER_MISSING,
    BUFFER_SHORT,
    BUFFER_TOO_LARGE,
    URI_MALFORMED,
    URI_REFUSED,
    percent_decoded,
    read_uri,
)
from gltf_bullet.gltf.container import FILE_TOO_LARGE
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE, WRONG_TYPE

DATA = bytes(range(256))


def document_at(folder: Path | None, *buffers: dict[str, Any], limits: ReadLimits) -> Document:
    text = json.dumps({"asset": {"version": "2.0"}, "buffers": list(buffers)}).encode()
    if folder is None:
        return read_document(text, Diagnostics(), limits=limits)
    (folder / "asset.gltf").write_bytes(text)
    return read_document(folder / "asset.gltf", Diagnostics(), limits=limits)


def content(uri: str, folder: Path | None = None, length: int = len(DATA)) -> bytes:
    buffer = {"uri": uri, "byteLength": length}
    return bytes(document_at(folder, buffer, limits=ReadLimits()).buffer(0))


def refusal(
    buffer: dict[str, Any], folder: Path | None = None, limits: ReadLimits | None = None
) -> Issue:
    """The first issue of the exception that asking for the buffer raises."""
    with pytest.raises(ContainerError) as caught:
        document_at(folder, buffer, limits=limits or ReadLimits()).buffer(0)
    return caught.value.issues[0]


@pytest.mark.parametrize(
    "header", ["data:;base64,", "data:application/gltf-buffer;base64,", "DATA:a/b;x=y;BASE64,"]
)
def test_base64_of_any_media_type_is_decoded(header: str) -> None:
    assert content(header + base64.b64encode(DATA).decode()) == DATA


def test_base64_may_be_url_safe_unpadded_wrapped_or_percent_encoded() -> None:
    text = base64.b64encode(DATA).decode()
    wrapped = "\n".join(text[i : i + 76] for i in range(0, len(text), 76))
    url_safe = base64.urlsafe_b64encode(DATA).decode()
    for body in (text.rstrip("="), wrapped, url_safe, quote(text, safe="")):
        assert content("data:;base64," + body) == DATA


def test_percent_encoded_data_is_decoded() -> None:
    assert content("data:application/octet-stream," + quote(DATA)) == DATA


@pytest.mark.parametrize("uri", ["data:", "data:;base64", "data:;base64,A", "data:;base64,é***"])
def test_a_malformed_data_uri_is_reported(uri: str) -> None:
    assert refusal({"uri": uri, "byteLength": 1}).kind is URI_MALFORMED


def test_a_file_beside_the_asset_is_read(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a b%.bin").write_bytes(DATA)
    for uri in ("sub/a%20b%25.bin", "./sub/a b%25.bin", "sub/../sub/a%20b%25.bin"):
        assert content(uri, tmp_path) == DATA


def test_a_longer_source_is_cut_to_the_byte_length() -> None:
    uri = "data:;base64," + base64.b64encode(DATA).decode()
    assert content(uri, length=10) == DATA[:10]


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.bin",
        "sub/../../secret.bin",
        "%2e%2e/secret.bin",
        "..\\secret.bin",
        "..%5Csecret.bin",
        "/etc/passwd",
        "%2Fetc/passwd",
        "\\\\server\\share",
        "file:///etc/passwd",
        "http://example.com/a.bin",
        "C:/secret.bin",
        "C%3A\\secret.bin",
        "",
        "a\0b",
        "link_out.bin",
        "link_folder/secret.bin",
        "loop",
    ],
)
def test_what_is_not_inside_the_folder_is_refused(uri: str, tmp_path: Path) -> None:
    folder = tmp_path / "asset"
    folder.mkdir()
    (folder / "sub").mkdir()
    (tmp_path / "secret.bin").write_bytes(DATA)
    (folder / "link_out.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "link_folder").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder / "loop")
    issue = refusal({"uri": uri, "byteLength": 1}, folder)
    # A loop is found by resolving, or by opening, depending on the Python version.
    assert issue.kind is URI_REFUSED or (uri == "loop" and issue.kind is BUFFER_MISSING)
    assert issue.pointer in ("/buffers/0/uri",)


def test_a_relative_path_needs_a_folder() -> None:
    assert "memory" in refusal({"uri": "a.bin", "byteLength": 1}).message


@pytest.mark.parametrize("name", ["missing.bin", "folder", "pipe", "x" * 4000])
def test_what_is_no_file_is_missing(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert refusal({"uri": name, "byteLength": 1}, tmp_path).kind is BUFFER_MISSING


def test_a_short_buffer_is_reported() -> None:
    issue = refusal({"uri": "data:;base64,QUJD", "byteLength": 4})
    assert issue.kind is BUFFER_SHORT
    assert issue.values == {"got": 3, "needed": 4}


@pytest.mark.parametrize("length", [None, "8", -1, True, 1e400])
def test_a_byte_length_must_be_a_number(length: object) -> None:
    buffer = {"uri": "data:,abc"} | ({} if length is None else {"byteLength": length})
    if length == 1e400:
        buffer["byteLength"] = 10**400
    with pytest.raises(ContainerError) as caught:
        document_at(None, buffer, limits=ReadLimits()).buffer(0)
    assert any(issue.kind is BUFFER_MISSING for issue in caught.value.issues)


def test_a_uri_must_be_a_string() -> None:
    assert refusal({"uri": 5, "byteLength": 1}).kind is WRONG_TYPE


def test_a_buffer_without_data_is_missing() -> None:
    assert refusal({"byteLength": 1}).kind is BUFFER_MISSING


def test_buffers_above_the_limit_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    limits = ReadLimits(max_buffer_bytes=1000)
    (tmp_path / "large.bin").write_bytes(bytes(1001))
    for buffer in ({"uri": "large.bin", "byteLength": 1}, {"byteLength": 1001, "uri": "data:,"}):
        assert refusal(buffer, tmp_path, limits).kind is BUFFER_TOO_LARGE
    for uri in ("data:;base64," + "A" * 2000, "data:," + "%41" * 1001):
        issue = refusal({"uri": uri, "byteLength": 1}, limits=ReadLimits(max_buffer_bytes=1000))
        assert issue.kind is FILE_TOO_LARGE  # the text around it is even larger
        sink = Diagnostics()
        assert read_uri(uri, None, ROOT, sink, limits) is None
        assert sink.take().kind is BUFFER_TOO_LARGE


def test_an_index_beyond_the_buffers_is_reported() -> None:
    document = document_at(None, limits=ReadLimits())
    with pytest.raises(ContainerError) as caught:
        document.buffer(3)
    assert caught.value.issues[0].kind is INDEX_OUT_OF_RANGE


def test_a_buffer_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(DATA)
    document = document_at(tmp_path, {"uri": "a.bin", "byteLength": 256}, limits=ReadLimits())
    assert bytes(document.buffer(0)) == DATA
    (tmp_path / "a.bin").unlink()
    assert bytes(document.buffer(0)) == DATA


@given(st.lists(st.sampled_from([b"%", b"4", b"1", b"g", b"F", b"%41", b"%e4", b"x"]), max_size=40))
def test_escapes_are_decoded_as_urllib_does(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    assert percent_decoded(data) == unquote_to_bytes(data)


@pytest.mark.parametrize("shift", range(5))
def test_no_escape_is_lost_between_blocks(shift: int) -> None:
    data = b"x" * shift + b"%41" * 700_000 + b"%4"
    assert percent_decoded(data) == b"x" * shift + b"A" * 700_000 + b"%4"


def test_a_path_that_no_system_takes_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    issue = refusal({"uri": "%41" * 5000, "byteLength": 1}, tmp_path)
    assert issue.kind is URI_REFUSED
    assert "15000 characters" in issue.message
