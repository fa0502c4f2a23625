"""Pickles of this package's values and of arrays: who reads one makes such values and no others."""

from __future__ import annotations

import builtins
import copyreg
import importlib
import io
import pickle
import sys
from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

__all__ = ["dumped", "loaded"]

_REBUILDERS = {"_rebuild", "_document_of_state", "_filled", "_array", "_number"}
"""Functions of this package that put values together again."""
_OTHERS = {"frozenset", "set", "slice"}
"""The types of Python that are values."""
_NUMBERS = {
    f"{kind}{size}": np.dtype(f"{kind}{size}")
    for kind, sizes in {"f": (4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "b": (1,)}.items()
    for size in sizes
}
"""What arrays may be of: no objects, whose addresses would come from the bytes."""


def dumped(value: object, most: int = 1 << 40) -> bytes:
    """``value`` as bytes.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: It holds what cannot be written.
        OverflowError: It takes more than ``most`` bytes.
    """
    file = _BoundedFile(most)
    _Pickler(file, protocol=5).dump(value)
    return file.getvalue()


def loaded(data: bytes | memoryview) -> Any:
    """The value again.

    Raises:
        Exception: Of any kind; the bytes are none of :func:`dumped`, or of other sources.
    """
    return _Unpickler(io.BytesIO(data)).load()


class _BoundedFile(io.BytesIO):
    """Gives up early: nobody waits for what is too large in the end."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def write(self, data: Any) -> int:
        written = super().write(data)
        self._left -= written
        if self._left < 0:
            raise OverflowError("too many bytes")
        return written


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind is np.ndarray:
            order = "C" if value.flags.c_contiguous or not value.flags.f_contiguous else "F"
            data = value.tobytes(order)
            data = bytearray(data) if value.flags.writeable else data
            return _array, (_code(value.dtype), value.shape, data, order)
        if isinstance(value, np.generic):
            return _number, (_code(value.dtype), value.tobytes())
        # Dataclasses with slots ask for their fields again at each value: a third of the time.
        if "__reduce__" in vars(kind) or not _setters(kind):
            return NotImplemented
        state = tuple(getattr(value, name) for name in kind.__slots__)
        return copyreg.__newobj__, (kind,), state, None, None, _filled  # type: ignore[attr-defined]


def _code(kind: np.dtype[Any]) -> str:
    code = kind.str[1:]
    if _NUMBERS.get(code) != kind:
        raise TypeError(f"arrays of {kind} are not kept")
    return code


@cache
def _value_class(module: str, name: str) -> Any:
    """What may be called to make a value."""
    if module == "builtins" and name in _OTHERS:
        return getattr(builtins, name)
    if module.startswith("gltf_bullet."):  # importing something else may do harm already
        found = getattr(sys.modules.get(module) or importlib.import_module(module), name, None)
        # Else it might be what the module has imported.
        is_its_own = getattr(found, "__module__", None) == module
        if is_its_own and (isinstance(found, type) or name in _REBUILDERS):
            return found
    raise pickle.UnpicklingError(f"{module}.{name} is no value")


class _Unpickler(pickle.Unpickler):
    find_class = staticmethod(_value_class)  # no Python in between


def _array(code: str, shape: tuple[int, ...], data: bytes, order: Literal["C", "F"]) -> Any:
    return np.ndarray(shape, _NUMBERS[code], data, 0, None, order)


def _number(code: str, data: bytes) -> Any:
    return np.frombuffer(data, _NUMBERS[code])[0]


def _filled(value: object, state: tuple[object, ...]) -> None:
    kind: Any = type(value)
    for put, content in zip(_setters(kind), state, strict=True):
        put(value, content)


@cache
def _setters(kind: Hashable) -> tuple[Callable[[object, object], None], ...]:
    """What sets the fields of a dataclass with slots of its own; empty for other types."""
    if not (isinstance(kind, type) and is_dataclass(kind) and kind.__bases__ == (object,)):
        return ()
    members = vars(kind)
    return tuple(members[name].__set__ for name in members.get("__slots__", ()))
