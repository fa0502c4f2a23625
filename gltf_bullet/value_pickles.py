"""Pickles of this package's values and of arrays: who reads one makes such values and no others."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from functools import cache
from typing import Any

__all__ = ["dumped", "loaded"]

_REBUILDERS = {"_rebuild", "_document_of_state", "_made", "_filled"}
"""Functions of this package that put values together again."""
_OTHERS = {
    ("builtins", "frozenset"), ("builtins", "set"), ("builtins", "slice"), ("numpy", "dtype"),
    ("numpy", "ndarray"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"), ("numpy._core.numeric", "_frombuffer"),
}  # fmt: skip


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
        # Dataclasses with slots ask for their fields again at each value: a third of the time.
        kind: Any = type(value)
        if "__reduce__" in vars(kind) or not _setters(kind):
            return NotImplemented
        state = tuple(getattr(value, name) for name in kind.__slots__)
        return _made, (kind,), state, None, None, _filled


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _OTHERS:
            return super().find_class(module, name)
        if module.startswith("gltf_bullet."):  # importing something else may do harm already
            found = super().find_class(module, name)
            # Else it might be what the module has imported.
            is_its_own = getattr(found, "__module__", None) == module
            if is_its_own and (isinstance(found, type) or name in _REBUILDERS):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no value")


def _made(kind: type) -> object:
    return object.__new__(kind)


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
