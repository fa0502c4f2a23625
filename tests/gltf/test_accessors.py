"""Accessors: what the bytes mean, and every way in which they cannot be there."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind
from gltf_bullet.gltf import ReadLimits, buffer_views, read_accessor, read_document
from gltf_bullet.gltf.accessors import (
    ACCESSOR_TOO_LARGE,
    ELEMENT_TOO_LARGE,
    NORMALIZED_IGNORED,
    SPARSE_INDEX_OUT_OF_RANGE,
    SPARSE_INDICES_NOT_INCREASING,
    VALUE_NOT_FINITE,
    all_carried,
)
from gltf_bullet.gltf.buffer_views import (
    ACCESSOR_OUT_OF_BOUNDS,
    BUFFER_VIEW_OUT_OF_BOUNDS,
    STRIDE_TOO_SMALL,
)
from gltf_bullet.gltf.buffers import BUFFER_MISSING, BUFFER_SHORT
from gltf_bullet.gltf.fields import (
    INDEX_OUT_OF_RANGE,
    REQUIRED_MISSING,
    TYPE_MENDED,
    VALUE_NOT_ALLOWED,
    VALUE_OUT_OF_RANGE,
    WRONG_TYPE,
    Reader,
)
from tests.gltf.conftest import ReadRoot
from tools.gltf_builder import COMPONENT_TYPES, TYPES, GltfBuilder

Json = dict[str, Any]
SPARSE_DATA = bytes([1, 0, 3, 0, 10, 20, 30, 40])
"""At 0 the uint16 indices 1 and 3, at 4 the uint8 values 10 .. 40."""


def with_data(data: bytes, accessor: Json, *views: Json) -> Json:
    """A root with one buffer; without ``views`` one view of all of it."""
    uri = "data:;base64," + base64.b64encode(data).decode()
    return {
        "buffers": [{"byteLength": len(data), "uri": uri}],
        "bufferViews": list(views) or [{"buffer": 0, "byteLength": len(data)}],
        "accessors": [accessor],
    }


def u8(count: int, **members: Any) -> Json:
    return {"componentType": 5121, "type": "SCALAR", "count": count, **members}


@pytest.mark.parametrize("dtype", COMPONENT_TYPES)
@pytest.mark.parametrize("shape", TYPES)
def test_every_type_is_read(
    dtype: str, shape: tuple[int, ...], read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    """Matrices too, whose columns the builder pads to 4 bytes as glTF asks."""
    values = np.arange(5 * int(np.prod(shape)) + 1)[1:].reshape(5, *shape).astype(dtype)
    builder = GltfBuilder()
    builder.accessor(values)
    found = read_accessor(read_root(builder.json()), 0, diagnostics)
    assert found is not None
    assert_array_equal(found, values)
    assert found.dtype == np.dtype(dtype)
    assert not found.flags.writeable


def test_columns_of_byte_matrices_start_at_multiples_of_four(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    """glTF 2.0, "Data Alignment": a MAT2 of bytes is 00 01 -- -- 10 11 -- --."""
    data = bytes([1, 2, 0, 0, 3, 4, 0, 0])
    accessor = {"componentType": 5121, "type": "MAT2", "count": 1, "bufferView": 0}
    found = read_accessor(read_root(with_data(data, accessor)), 0, diagnostics)
    assert_array_equal(found, [[[1, 3], [2, 4]]])


def test_columns_of_short_matrices_start_at_multiples_of_four(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    columns = np.array([[1, 2, 3, 0], [4, 5, 6, 0], [7, 8, 9, 0]], dtype="<i2")
    accessor = {"componentType": 5122, "type": "MAT3", "count": 1, "bufferView": 0}
    found = read_accessor(read_root(with_data(columns.tobytes(), accessor)), 0, diagnostics)
    assert_array_equal(found, [[[1, 4, 7], [2, 5, 8], [3, 6, 9]]])


@given(st.sampled_from(["int8", "uint8", "int16", "uint16"]), st.data())
def test_normalized_integers_follow_the_conversion_table(dtype: str, data: st.DataObject) -> None:
    """f = c / (2^bits - 1) unsigned, max(c / (2^(bits-1) - 1), -1) signed."""
    info = np.iinfo(dtype)
    values = data.draw(st.lists(st.integers(int(info.min), int(info.max)), min_size=1))
    builder = GltfBuilder()
    builder.accessor(np.array(values, dtype=dtype), normalized=True)
    sink = Diagnostics()
    found = read_accessor(read_document(builder.glb(), sink), 0, sink)
    assert found is not None
    assert_allclose(found, [max(value / info.max, -1.0) for value in values], rtol=1e-15)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_the_least_normalized_integer_is_minus_one(
    dtype: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    """max(c / 127, -1) of -128 and max(c / 32767, -1) of -32768 are -1, not below it."""
    builder = GltfBuilder()
    builder.accessor(np.array([np.iinfo(dtype).min], dtype=dtype), normalized=True)
    assert_array_equal(read_accessor(read_root(builder.json()), 0, diagnostics), [-1.0])


@pytest.mark.parametrize("dtype", ["uint32", "float32"])
def test_wide_components_cannot_be_normalized(
    dtype: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    builder.accessor(np.array([7], dtype=dtype), normalized=True)
    assert_array_equal(read_accessor(read_root(builder.json()), 0, diagnostics), [7])
    diagnostics.take(NORMALIZED_IGNORED)


def test_interleaved_elements_are_views_of_the_file(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    data = np.arange(24, dtype="<f4")  # four vertices of position and normal
    view = {"buffer": 0, "byteLength": 96, "byteStride": 24}
    root = with_data(data.tobytes(), {}, view)
    root["accessors"] = [
        {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 4},
        {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 4, "byteOffset": 12},
    ]
    document = read_root(root)
    rows = data.reshape(4, 6)
    first, second = (read_accessor(document, index, diagnostics) for index in (0, 1))
    assert_array_equal(first, rows[:, :3])
    assert_array_equal(second, rows[:, 3:])
    assert first is not None
    assert first.strides == (24, 4)
    assert np.shares_memory(first, np.frombuffer(document.buffer(0), dtype=np.uint8))


def test_offsets_of_view_and_accessor_add_up_and_need_no_alignment(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    data = b"xyz" + np.array([1.5], dtype="<f4").tobytes()
    accessor = {"bufferView": 0, "componentType": 5126, "type": "SCALAR", "count": 1,
                "byteOffset": 1}  # fmt: skip
    root = with_data(data, accessor, {"buffer": 0, "byteOffset": 2, "byteLength": 5})
    assert_array_equal(read_accessor(read_root(root), 0, diagnostics), [1.5])


def test_an_accessor_without_a_view_is_zero(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    accessor = {"componentType": 5126, "type": "VEC3", "count": 2}
    found = read_accessor(read_root({"accessors": [accessor]}), 0, diagnostics)
    assert_array_equal(found, np.zeros((2, 3)))


def test_an_empty_accessor_is_an_empty_array(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    root = with_data(b"abcd", u8(0, bufferView=0))
    assert_array_equal(read_accessor(read_root(root), 0, diagnostics), [])


def sparse_root(**members: Any) -> Json:
    """Five bytes, of which the elements 1 and 3 are replaced by 10 and 20."""
    accessor = u8(
        5,
        sparse={
            "count": 2,
            "indices": {"bufferView": 0, "componentType": 5123},
            "values": {"bufferView": 0, "byteOffset": 4},
        },
    )
    accessor["sparse"] |= members
    return with_data(SPARSE_DATA, accessor)


def test_sparse_elements_replace_zeros(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    assert_array_equal(read_accessor(read_root(sparse_root()), 0, diagnostics), [0, 10, 0, 20, 0])


def test_sparse_elements_replace_those_of_the_view(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    root = sparse_root()
    root["accessors"][0]["bufferView"] = 0
    assert_array_equal(read_accessor(read_root(root), 0, diagnostics), [1, 10, 3, 20, 10])


def test_sparse_values_may_be_normalized(read_root: ReadRoot, diagnostics: Diagnostics) -> None:
    root = sparse_root()
    root["accessors"][0]["normalized"] = True
    found = read_accessor(read_root(root), 0, diagnostics)
    assert_allclose(found, np.array([0, 10, 0, 20, 0]) / 255)


@pytest.mark.parametrize(
    ("members", "kind", "place"),
    [
        ({"count": 6}, VALUE_OUT_OF_RANGE, "/count"),
        ({"count": "2"}, WRONG_TYPE, "/count"),
        ({"indices": 5}, WRONG_TYPE, "/indices"),
        ({"indices": {"bufferView": 0}}, REQUIRED_MISSING, "/indices/componentType"),
        (
            {"indices": {"bufferView": 0, "componentType": 5122}},
            VALUE_NOT_ALLOWED,
            "/indices/componentType",
        ),
        ({"indices": {"componentType": 5121}}, REQUIRED_MISSING, "/indices/bufferView"),
        (
            {"indices": {"bufferView": 0, "componentType": 5121}},  # 1, 0
            SPARSE_INDICES_NOT_INCREASING,
            "/indices",
        ),
        (
            {"indices": {"bufferView": 0, "componentType": 5121, "byteOffset": 4}},  # 10, 20
            SPARSE_INDEX_OUT_OF_RANGE,
            "/indices",
        ),
        (
            {"indices": {"bufferView": 0, "componentType": 5125, "byteOffset": 4}},
            ACCESSOR_OUT_OF_BOUNDS,
            "/indices",
        ),
        ({"values": {"bufferView": 0, "byteOffset": 7}}, ACCESSOR_OUT_OF_BOUNDS, "/values"),
        ({"values": {"bufferView": 9}}, INDEX_OUT_OF_RANGE, "/values/bufferView"),
    ],
)
def test_what_is_wrong_in_sparse_is_reported(
    members: Json, kind: IssueKind, place: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    assert read_accessor(read_root(sparse_root(**members)), 0, diagnostics) is None
    assert diagnostics.take(kind).pointer == "/accessors/0/sparse" + place


@pytest.mark.parametrize("key", ["count", "indices", "values"])
def test_sparse_members_are_required(
    key: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    root = sparse_root()
    del root["accessors"][0]["sparse"][key]
    assert read_accessor(read_root(root), 0, diagnostics) is None
    assert diagnostics.take(REQUIRED_MISSING).pointer == f"/accessors/0/sparse/{key}"


@pytest.mark.parametrize(
    ("members", "kind", "place"),
    [
        ({"componentType": 5124}, VALUE_NOT_ALLOWED, "/componentType"),
        ({"componentType": "5121"}, WRONG_TYPE, "/componentType"),
        ({"type": "VEC5"}, VALUE_NOT_ALLOWED, "/type"),
        ({"type": 3}, WRONG_TYPE, "/type"),
        ({"count": -1}, VALUE_OUT_OF_RANGE, "/count"),
        ({"count": 2**60}, VALUE_OUT_OF_RANGE, "/count"),
        ({"count": 10**400}, VALUE_OUT_OF_RANGE, "/count"),
        ({"count": 1.5}, WRONG_TYPE, "/count"),
        ({"count": None}, WRONG_TYPE, "/count"),
        ({"count": 2**40}, ACCESSOR_TOO_LARGE, ""),
        ({"bufferView": 1}, INDEX_OUT_OF_RANGE, "/bufferView"),
        ({"bufferView": "0"}, WRONG_TYPE, "/bufferView"),
        ({"byteOffset": -1}, VALUE_OUT_OF_RANGE, "/byteOffset"),
        ({"byteOffset": 1}, ACCESSOR_OUT_OF_BOUNDS, ""),
        ({"byteOffset": 2**50}, ACCESSOR_OUT_OF_BOUNDS, ""),
        ({"count": 5}, ACCESSOR_OUT_OF_BOUNDS, ""),
        ({"sparse": 1}, WRONG_TYPE, "/sparse"),
    ],
)
def test_what_is_wrong_in_an_accessor_is_reported(
    members: Json, kind: IssueKind, place: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    root = with_data(b"abcd", u8(4, bufferView=0) | members)
    assert read_accessor(read_root(root), 0, diagnostics) is None
    assert diagnostics.take(kind).pointer == "/accessors/0" + place


def test_a_wrong_normalized_is_taken_for_false(
    read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    root = with_data(b"abcd", u8(4, bufferView=0, normalized="yes"))
    assert read_accessor(read_root(root), 0, diagnostics) is not None
    diagnostics.take(TYPE_MENDED)


@pytest.mark.parametrize("key", ["componentType", "type", "count"])
def test_accessor_members_are_required(
    key: str, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    accessor = u8(4, bufferView=0)
    del accessor[key]
    assert read_accessor(read_root(with_data(b"abcd", accessor)), 0, diagnostics) is None
    assert diagnostics.take(REQUIRED_MISSING).pointer == f"/accessors/0/{key}"


@pytest.mark.parametrize(
    ("view", "kind", "place"),
    [
        ({"buffer": 1, "byteLength": 4}, INDEX_OUT_OF_RANGE, "/buffer"),
        ({"byteLength": 4}, REQUIRED_MISSING, "/buffer"),
        ({"buffer": 0}, REQUIRED_MISSING, "/byteLength"),
        ({"buffer": 0, "byteLength": "4"}, WRONG_TYPE, "/byteLength"),
        ({"buffer": 0, "byteLength": 4, "byteOffset": -4}, VALUE_OUT_OF_RANGE, "/byteOffset"),
        ({"buffer": 0, "byteLength": 5}, BUFFER_VIEW_OUT_OF_BOUNDS, ""),
        ({"buffer": 0, "byteLength": 4, "byteOffset": 1}, BUFFER_VIEW_OUT_OF_BOUNDS, ""),
        ({"buffer": 0, "byteLength": 4, "byteStride": 0}, STRIDE_TOO_SMALL, "/byteStride"),
        ({"buffer": 0, "byteLength": 4, "byteStride": "1"}, WRONG_TYPE, "/byteStride"),
        ({"buffer": 0, "byteLength": 4, "byteStride": 2**52}, ACCESSOR_OUT_OF_BOUNDS, None),
    ],
)
def test_what_is_wrong_in_a_view_is_reported(
    view: Json, kind: IssueKind, place: str | None, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    root = with_data(b"abcd", u8(4, bufferView=0), view)
    assert read_accessor(read_root(root), 0, diagnostics) is None
    issue = diagnostics.take(kind)
    assert issue.pointer == ("/accessors/0" if place is None else "/bufferViews/0" + place)


@pytest.mark.parametrize(
    ("buffer", "kind"),
    [
        ({"byteLength": 4}, BUFFER_MISSING),
        ({"byteLength": 4, "uri": "data:,abc"}, BUFFER_SHORT),
    ],
)
def test_what_is_wrong_in_a_buffer_is_reported_with_the_rest(
    buffer: Json, kind: IssueKind, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    root = with_data(b"abcd", u8(4, bufferView=0))
    root["buffers"] = [buffer]
    assert read_accessor(read_root(root), 0, diagnostics) is None
    assert diagnostics.take(kind).pointer == "/buffers/0"


@pytest.mark.parametrize("index", [1, -1])
def test_an_index_beyond_the_accessors_is_reported(
    index: int, read_root: ReadRoot, diagnostics: Diagnostics
) -> None:
    assert read_accessor(read_root({"accessors": [{}]}), index, diagnostics) is None
    diagnostics.take(INDEX_OUT_OF_RANGE)


def test_zeros_are_not_made_beyond_the_limit(diagnostics: Diagnostics) -> None:
    """Without a view 20 bytes of JSON may ask for any amount of memory."""
    text = (
        b'{"asset":{"version":"2.0"},"accessors":[{"componentType":5126,"type":"MAT4","count":7}]}'
    )
    document = read_document(text, diagnostics, limits=ReadLimits(max_accessor_values=111))
    assert read_accessor(document, 0, diagnostics) is None
    assert diagnostics.take(ACCESSOR_TOO_LARGE).values == {"got": 112, "allowed": 111}


def compressed_root(**fall_back: Any) -> Json:
    view = {
        "buffer": 0,
        "byteLength": 4,
        "extensions": {"EXT_meshopt_compression": {"buffer": 0, "byteLength": 2}},
    }
    return {
        "buffers": [{"byteLength": 4, **fall_back}],
        "bufferViews": [view],
        "accessors": [u8(4, bufferView=0)],
    }


def test_uncompressed_fall_back_data_is_used(
    read_root: ReadRoot, diagnostics: Diagnostics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffer_views, "can_decode", lambda: False)
    root = compressed_root(uri="data:,abcd")
    assert_array_equal(read_accessor(read_root(root), 0, diagnostics), list(b"abcd"))


def test_the_first_number_that_is_not_finite_is_named(diagnostics: Diagnostics) -> None:
    values = np.array([[1.0, 2.0], [3.0, np.inf], [np.nan, 0.0]])
    assert not all_carried(values, "POSITION", Reader({}, ROOT, diagnostics), "POSITION")
    assert diagnostics.take(VALUE_NOT_FINITE).values["element"] == 1
    assert all_carried(values[:1], "POSITION", Reader({}, ROOT, diagnostics), "POSITION")


def test_elements_beyond_their_range_are_named(diagnostics: Diagnostics) -> None:
    values = np.array([[0.0, 1.0, 2.0], [0.0, -1e10, 0.0]], dtype=np.float32)
    assert not all_carried(values, "POSITION", Reader({}, ROOT, diagnostics), "POSITION")
    assert diagnostics.take(ELEMENT_TOO_LARGE).values["element"] == 1
    assert all_carried(values, "anything else", Reader({}, ROOT, diagnostics), "POSITION")
