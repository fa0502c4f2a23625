"""Buffer views and their strided elements (glTF 2.0, "Buffers and Buffer Views").

Elements are views of the file's bytes, nothing is copied. ``accessors.py`` interprets them
(normalization, sparse replacement).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, error
from gltf_bullet.errors import ContainerError
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.gltf.meshopt import (
    COMPRESSIONS,
    MESHOPT_PACKAGE_MISSING,
    can_decode,
    decode_meshopt,
)

AccessorArray: TypeAlias = npt.NDArray[Any]

ACCESSOR_OUT_OF_BOUNDS = error(
    "ACCESSOR_OUT_OF_BOUNDS", "{what} needs {needed} bytes; its bufferView has {got}"
)
BUFFER_VIEW_OUT_OF_BOUNDS = error(
    "BUFFER_VIEW_OUT_OF_BOUNDS", "the bufferView ends at byte {needed}; its buffer has {got}"
)
STRIDE_TOO_SMALL = error("STRIDE_TOO_SMALL", "byteStride is {got}; must be at least {needed}")


class ElementLayout(Struct, frozen=True, kw_only=True):
    """Layout of an element's components, in bytes from its beginning."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    """Bytes from one packed element to the next, column padding included."""
    used: int
    """Bytes from the first to the last one that belongs to a component."""

    @staticmethod
    def of(dtype: np.dtype[Any], shape: tuple[int, ...]) -> ElementLayout:
        """The packed layout of an element; ``shape`` is () or (n,) or, for matrices, (n, n)."""
        if len(shape) == 2:
            # Columns of a matrix start at multiples of 4 bytes (glTF 2.0, "Data Alignment").
            column = -(-shape[0] * dtype.itemsize // 4) * 4
            strides: tuple[int, ...] = (column, dtype.itemsize)
            size = column * shape[1]
            used = size - column + shape[0] * dtype.itemsize
        else:
            strides = (dtype.itemsize,) * len(shape)
            size = used = dtype.itemsize * (shape[0] if shape else 1)
        return ElementLayout(dtype=dtype, shape=shape, strides=strides, size=size, used=used)


def read_buffer_view(
    document: Document, index: int, diagnostics: Diagnostics
) -> tuple[memoryview, int | None] | None:
    """The bytes and the ``byteStride`` of a bufferView; ``None``, with an issue, on failure."""
    view = document.reader("bufferViews", index, diagnostics)
    buffer = _index(view, "buffer", document.count("buffers"))
    length = view.size("byteLength", default=None)
    offset = view.size("byteOffset", default=0)
    stride = view.size("byteStride", default=None) if "byteStride" in view else None
    if "byteStride" in view and stride is None:
        return None
    if buffer is None or length is None or offset is None:
        return None
    found = view.get("extensions")
    blocks = found if isinstance(found, dict) else {}
    name = next((name for name in COMPRESSIONS if isinstance(blocks.get(name), dict)), None)
    if name is not None and can_decode():
        at = view.at / "extensions" / name
        decoded = document.derive(
            ("decoded view", index),
            lambda sink: decode_meshopt(document, Reader(blocks[name], at, sink), length),
            diagnostics,
        )
        return None if decoded is None else (decoded, stride)
    # The buffer is then the uncompressed fall-back; mostly it is declared without data.
    if name is not None and not _has_data(document, buffer):
        view.report(MESHOPT_PACKAGE_MISSING, got=name)
        return None
    try:
        data = document.buffer(buffer)
    except ContainerError as exc:
        diagnostics.extend(exc.issues)
        return None
    if offset + length > len(data):
        view.report(BUFFER_VIEW_OUT_OF_BOUNDS, needed=offset + length, got=len(data))
        return None
    return data[offset : offset + length], stride


def read_elements(
    document: Document, owner: Reader, layout: ElementLayout, count: int, what: str
) -> AccessorArray | None:
    """``count`` elements from the bufferView and byteOffset that ``owner`` names.

    Matrices come as the file has them, ``[count, column, row]``.
    """
    view_index = _index(owner, "bufferView", document.count("bufferViews"))
    offset = owner.size("byteOffset", default=0)
    if view_index is None or offset is None:
        return None
    view = read_buffer_view(document, view_index, owner.diagnostics)
    if view is None:
        return None
    data, stride = view
    if stride is None:
        stride = layout.size
    elif stride < layout.used:
        view_of = document.reader("bufferViews", view_index, owner.diagnostics)
        view_of.report(STRIDE_TOO_SMALL, "byteStride", got=stride, needed=layout.used)
        return None
    needed = offset + (stride * (count - 1) + layout.used if count else 0)
    if needed > len(data):
        owner.report(ACCESSOR_OUT_OF_BOUNDS, what=what, needed=needed, got=len(data))
        return None
    if not count:
        return np.zeros((0, *layout.shape), dtype=layout.dtype)
    return np.ndarray(
        (count, *layout.shape),
        dtype=layout.dtype,
        buffer=data,
        offset=offset,
        strides=(stride, *layout.strides),
    )


def _has_data(document: Document, buffer: int) -> bool:
    return "uri" in document.objects("buffers")[buffer] or (
        buffer == 0 and document.glb_chunk is not None
    )


def _index(owner: Reader, key: str, count: int) -> int | None:
    return owner.index(key, count=count) if owner.has(key, "an index") else None
