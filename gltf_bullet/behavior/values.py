"""The value types of a graph, their defaults, and values in the form of the JSON."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple, TypeAlias


class Reference(NamedTuple):
    """Value of a ``ref``: an item of a list, which need not exist."""

    collection: str
    """JSON pointer of the list, such as ``/nodes``."""
    number: int


Value: TypeAlias = bool | int | float | tuple[float, ...] | Reference | None
"""A matrix is the tuple of its columns in order; ``None`` is the null reference."""

FLOATS: Final = ("float", "float2", "float3", "float4")
MATRICES: Final = ("float2x2", "float3x3", "float4x4")
SIZES: Final = {
    "bool": 1, "float": 1, "float2": 2, "float3": 3, "float4": 4, "float2x2": 4, "float3x3": 9,
    "float4x4": 16, "int": 1, "ref": 1,
}  # fmt: skip
"""Array lengths of inline values, by type."""
SIGNATURES: Final = (*SIZES, "custom")
_UNDEFINED: dict[str, Value] = {
    name: math.nan if size == 1 else (math.nan,) * size
    for name, size in SIZES.items()
    if name.startswith("float")
}
DEFAULTS: Final[dict[str, Value]] = {
    **_UNDEFINED,
    "bool": False,
    "int": 0,
    "ref": None,
    "custom": None,
}

_POINTER = re.compile(r"(/([^~/]|~[01])*)*")


def is_pointer(text: str) -> bool:
    """Return True if a text is a JSON pointer (RFC 6901)."""
    return _POINTER.fullmatch(text) is not None


def as_int32(value: object) -> int | None:
    """A JSON number that is exactly a 32-bit signed integer; ``None`` for others."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not -0x80000000 <= value <= 0x7FFFFFFF or value != int(value):
        return None
    return int(value)


def as_index(value: object, count: int) -> int | None:
    """A JSON number that is an index below ``count``; ``None`` for others."""
    index = as_int32(value)
    return None if index is None or not 0 <= index < count else index


def wrapped(number: int) -> int:
    """An integer wrapped to 32 bits of two's complement."""
    return ((number + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def shown(value: Value) -> str:
    """A value in the form of ``debug/log``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Reference):
        return f"{value.collection}/{value.number}"
    if isinstance(value, tuple):
        return f"({', '.join([_number(float(item)) for item in value])})"
    return "null" if value is None else str(value)


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0.0 else "-Infinity"
    return f"{value:.10g}"
