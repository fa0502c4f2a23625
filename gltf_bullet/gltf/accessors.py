"""Arrays of accessors: component types, normalization, strides, sparse (glTF 2.0, "Accessors").

Arrays are views of the file's bytes where that is possible, and always read-only. Each failure is
reported with the value found and the values allowed, and gives ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, error, warning
from gltf_bullet.gltf.buffer_views import AccessorArray, ElementLayout, read_elements
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import (
    INDEX_OUT_OF_RANGE,
    VALUE_NOT_ALLOWED,
    VALUE_OUT_OF_RANGE,
    Reader,
)
from gltf_bullet.number_ranges import range_of

__all__ = [
    "ACCESSOR_OF_ZEROS",
    "ACCESSOR_TOO_LARGE",
    "AccessorArray",
    "all_carried",
    "denormalize",
    "read_accessor",
]

ACCESSOR_TOO_LARGE = error(
    "ACCESSOR_TOO_LARGE",
    "the accessors up to this one ask for {got} values; must be at most {allowed} "
    "(ReadLimits.max_accessor_values)",
)
ACCESSOR_OF_ZEROS = error(
    "ACCESSOR_OF_ZEROS",
    "the accessors up to this one ask for {got} zeros that are not in the file, {most} for each "
    "sparse value not counted; must be at most {allowed} (ReadLimits.max_zero_values)",
)
ZEROS_PER_SPARSE_ELEMENT = 256
"""Zeros per sparse value that do not count: a morph target that moves one vertex in 256 is
common."""
NORMALIZED_IGNORED = warning(
    "NORMALIZED_IGNORED",
    "normalized is true on component type {got}; must be 1 or 2 bytes wide; it is ignored",
)
SPARSE_INDICES_NOT_INCREASING = error(
    "SPARSE_INDICES_NOT_INCREASING",
    "sparse index {got} follows {before}; must be strictly increasing",
)
SPARSE_INDEX_OUT_OF_RANGE = error(
    "SPARSE_INDEX_OUT_OF_RANGE", "sparse index {got} is beyond the accessor's {count} elements"
)
VALUE_NOT_FINITE = error(
    "VALUE_NOT_FINITE", "{what}: element {element} holds {got}; must be finite"
)

ELEMENT_TOO_LARGE = error(
    "ELEMENT_TOO_LARGE",
    "{what}: element {element} holds {got:.6g}; must be at most {allowed:g} in magnitude",
)

COMPONENT_TYPES: dict[int, np.dtype[Any]] = {
    5120: np.dtype("<i1"),
    5121: np.dtype("<u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
"""Array types by ``componentType`` (glTF 2.0, "Accessor Data Types")."""
INDEX_COMPONENT_TYPES = {code: COMPONENT_TYPES[code] for code in (5121, 5123, 5125)}
"""Array types of indices: unsigned bytes, shorts and integers."""

SHAPES: dict[str, tuple[int, ...]] = {
    "SCALAR": (), "VEC2": (2,), "VEC3": (3,), "VEC4": (4,),
    "MAT2": (2, 2), "MAT3": (3, 3), "MAT4": (4, 4),
}  # fmt: skip
"""``type`` (glTF 2.0, "Accessor Data Types"): the shape of one element."""


def read_accessor(document: Document, index: int, diagnostics: Diagnostics) -> AccessorArray | None:
    """The elements of accessor ``index``; ``None``, with an issue, if they are unusable.

    Shape: ``[count]`` for SCALAR, ``[count, n]`` for VECn, ``[count, row, column]`` for MATn
    (the file stores columns first; that is undone here). Normalized integers become float64 in
    0..1 or -1..1, other numbers keep their component type. Read-only, computed once per document.
    """
    if not 0 <= index < document.count("accessors"):
        at = ROOT / "accessors" / index
        count = document.count("accessors")
        diagnostics.report(INDEX_OUT_OF_RANGE, at, key="accessor", got=index, count=count)
        return None
    return document.derive(
        ("accessor", index),
        lambda sink: _read_accessor(document, document.reader("accessors", index, sink)),
        diagnostics,
    )


def accessor_of(document: Document, owner: Reader, key: str) -> AccessorArray | None:
    """The elements of the accessor that a member names; ``None`` if absent, wrong or unusable."""
    index = owner.index(key, count=document.count("accessors"))
    return None if index is None else read_accessor(document, index, owner.diagnostics)


def all_carried(values: AccessorArray, what: str, owner: Reader, key: str) -> bool:
    """Return True if all elements are finite and in the range of ``what``; else report the first.

    Args:
        values: The elements.
        what: A name in ``number_ranges.py``.
        owner: What uses the accessor.
        key: The member that names it.
    """
    largest = range_of(what).largest
    good = np.abs(values) <= largest if values.dtype.kind == "f" else np.isfinite(values)
    if bool(good.all()):
        return True
    place = np.argwhere(~good)[0]
    element, got = int(place[0]), float(values[tuple(place)])
    if math.isfinite(got):
        owner.report(ELEMENT_TOO_LARGE, key, what=what, element=element, got=got, allowed=largest)
    else:
        owner.report(VALUE_NOT_FINITE, key, what=what, element=element, got=got)
    return False


def _read_accessor(document: Document, owner: Reader) -> AccessorArray | None:
    dtype = _component_type(owner, COMPONENT_TYPES)
    shape = owner.choice("type", choices=SHAPES)
    owner.has("type", ", ".join(SHAPES))
    count = owner.size("count", default=None)
    normalized = owner.boolean("normalized", default=False)
    if dtype is None or shape is None or count is None:
        return None
    values = count * (shape[0] if shape else 1) * (shape[1] if len(shape) == 2 else 1)
    if not _affordable(document, owner, values, values // max(count, 1)):
        return None
    layout = ElementLayout.of(dtype, shape)
    array: AccessorArray | None
    if "bufferView" in owner:
        array = read_elements(document, owner, layout, count, "the accessor")
    else:
        array = np.zeros((count, *shape), dtype=dtype)
    if array is not None and "sparse" in owner:
        array = _overwrite_sparse(document, owner, array, layout)
    if array is None:
        return None
    if len(shape) == 2:
        array = array.swapaxes(1, 2)
    if normalized and dtype.itemsize > 2:
        owner.report(NORMALIZED_IGNORED, "normalized", got=owner["componentType"])
    elif normalized:
        array = denormalize(array)
    array.flags.writeable = False
    return array


def _affordable(document: Document, owner: Reader, values: int, per_element: int) -> bool:
    """Return True if a document's limits admit so many further numbers; they count from then on."""
    limits = document.limits
    spent = document.derive(("accessor values", 0), lambda _: [0, 0], owner.diagnostics)
    total, zeros = spent[0] + values, spent[1]
    if total > limits.max_accessor_values:
        allowed = limits.max_accessor_values
        owner.report(ACCESSOR_TOO_LARGE, got=total, allowed=allowed)
        return False
    if "bufferView" not in owner:
        sparse = owner.get("sparse")
        stated = sparse.get("count") if isinstance(sparse, dict) else 0
        # An accessor whose sparse values are not all in the file is refused for that.
        stated = stated if isinstance(stated, int) and stated > 0 else 0
        zeros += max(0, values - ZEROS_PER_SPARSE_ELEMENT * per_element * stated)
    if zeros > limits.max_zero_values:
        owner.report(ACCESSOR_OF_ZEROS, got=zeros, allowed=limits.max_zero_values,
            most=ZEROS_PER_SPARSE_ELEMENT)  # fmt: skip
        return False
    spent[:] = total, zeros
    return True


def _overwrite_sparse(
    document: Document, accessor: Reader, elements: AccessorArray, layout: ElementLayout
) -> AccessorArray | None:
    """A copy of ``elements`` with the sparse ones replaced."""
    sparse = accessor.member("sparse")
    if sparse is None:
        return None
    count = sparse.size("count", default=None)
    indices_of, values_of = (
        sparse.member(key) if sparse.has(key, "an object") else None
        for key in ("indices", "values")
    )
    if count is None or indices_of is None or values_of is None:
        return None
    if count > len(elements):
        got, allowed = count, f"<= {len(elements)}, the accessor's count"
        sparse.report(VALUE_OUT_OF_RANGE, "count", key="count", got=got, allowed=allowed)
        return None
    dtype = _component_type(indices_of, INDEX_COMPONENT_TYPES)
    if dtype is None:
        return None
    scalar = ElementLayout.of(dtype, ())
    indices = read_elements(document, indices_of, scalar, count, "the list of sparse indices")
    values = read_elements(document, values_of, layout, count, "the sparse values")
    if indices is None or values is None:
        return None
    places = indices.astype(np.int64)
    backwards = np.flatnonzero(np.diff(places) <= 0)
    if backwards.size:
        before, after = places[backwards[0]], places[backwards[0] + 1]
        sparse.report(SPARSE_INDICES_NOT_INCREASING, "indices", got=int(after), before=int(before))
        return None
    if count and places[-1] >= len(elements):
        sparse.report(
            SPARSE_INDEX_OUT_OF_RANGE, "indices", got=int(places[-1]), count=len(elements)
        )
        return None
    result = elements.copy()
    result[places] = values
    return result


def denormalize(array: AccessorArray) -> AccessorArray:
    """Fractions of normalized integers (glTF 2.0, "Animations", the table of conversions)."""
    result = array / float(np.iinfo(array.dtype).max)
    return np.maximum(result, -1.0) if array.dtype.kind == "i" else result


def _component_type(owner: Reader, allowed: Mapping[int, np.dtype[Any]]) -> np.dtype[Any] | None:
    key = "componentType"
    code = owner.size(key, default=None)
    if code is not None and code not in allowed:
        shown = ", ".join(map(str, allowed))
        owner.report(VALUE_NOT_ALLOWED, key, key=key, got=code, allowed=shown)
    return allowed.get(code) if code is not None else None
