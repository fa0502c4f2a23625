"""Pickles of this package's values and of arrays: who reads one makes such values and no others."""

from __future__ import annotations

import builtins
import copyreg
import dataclasses
import enum
import importlib
import io
import pickle
import sys
from collections.abc import Set
from functools import cache
from typing import Any, Literal

import numpy as np

from gltf_bullet.sleeping_values import Sleepers, content_of, slot_setters

__all__ = ["dumped", "loaded"]

_REBUILDERS = {"_rebuild", "_document_of_state", "_filled", "_array", "_number"}
"""Functions of this package that put values together again."""
_ARRAY_HOLDERS = {"Arena", "NodeFrames", "PointSet", "Texture", "TriangleSet", "VisualMesh"}
"""Values that are no dataclasses: they work something out when somebody asks."""
_OTHERS = {"frozenset", "set", "slice"}
"""The types of Python that are values."""
_NUMBERS = {
    f"{kind}{size}": np.dtype(f"{kind}{size}")
    for kind, sizes in {"f": (4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "b": (1,)}.items()
    for size in sizes
}
"""What arrays may be of: no objects, whose addresses would come from the bytes."""


def dumped(value: object, most: int = 1 << 40, asleep: Set[type] = frozenset()) -> bytes:
    """``value`` as bytes.

    Args:
        value: What :func:`loaded` will make again.
        most: How many bytes it may take.
        asleep: From :func:`may_sleep`: whose values are made again when somebody asks for a field.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: It holds what cannot be written.
        OverflowError: It takes more than ``most`` bytes.
    """
    file = _BoundedFile(most)
    if asleep:
        _SleepyPickler(file, asleep).dump_all(value)
    else:
        _Pickler(file, protocol=5).dump(value)
    return file.getvalue()


def loaded(data: bytes | memoryview) -> Any:
    """The value again.

    Raises:
        Exception: Of any kind; the bytes are none of :func:`dumped`, or of other sources.
    """
    return _Unpickler(data).load()


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
        kind: Any = value.__class__  # of one that sleeps: it wakes
        if kind is np.ndarray:
            order = "C" if value.flags.c_contiguous or not value.flags.f_contiguous else "F"
            data = value.tobytes(order)
            data = bytearray(data) if value.flags.writeable else data
            return _array, (_code(value.dtype), value.shape, data, order)
        if isinstance(value, np.generic):
            return _number, (_code(value.dtype), value.tobytes())
        # Dataclasses with slots ask for their fields again at each value: a third of the time.
        if "__reduce__" in vars(kind) or not slot_setters(kind):
            return NotImplemented
        content = content_of(value)
        return copyreg.__newobj__, (kind,), content, None, None, _filled  # type: ignore[attr-defined]


class _SleepyPickler(_Pickler):
    """Writes a value without the content of those in it that will sleep, then what they hold.

    One pickler for both: what either part refers to of the other is the same again.
    """

    def __init__(self, file: io.BytesIO, asleep: Set[type]) -> None:
        super().__init__(file, protocol=5)
        self._kinds, self._values = asleep, list[Any]()
        self._numbers: dict[int, int] = {}
        self._is_first_part = True

    def dump_all(self, value: object) -> None:
        self.dump(value)
        self._is_first_part = False
        self.dump([content_of(sleeper) for sleeper in self._values])

    def persistent_id(self, value: Any) -> type | int | None:
        kind = type(value)
        if kind.__module__ == "builtins" or (kind := value.__class__) not in self._kinds:
            return None
        number = self._numbers.get(id(value))
        if number is None and self._is_first_part:  # else nobody sees it before it is there
            self._numbers[id(value)] = len(self._values)
            self._values.append(value)
            return kind
        return number


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
        if is_its_own and (_is_value_class(found) or name in _REBUILDERS):
            return found
    raise pickle.UnpicklingError(f"{module}.{name} is no value")


def _is_value_class(found: object) -> bool:
    """Whether making one does nothing else: other classes open files or start programs."""
    return isinstance(found, type) and (
        dataclasses.is_dataclass(found)
        or issubclass(found, (enum.Enum, str, tuple))
        or found.__name__ in _ARRAY_HOLDERS
    )


class _Unpickler(pickle.Unpickler):
    find_class = staticmethod(_value_class)  # no Python in between

    def __init__(self, data: bytes | memoryview, sleepers: Sleepers | None = None) -> None:
        """With ``sleepers``, the data is read once more, and these are those in it."""
        super().__init__(io.BytesIO(data))
        self._data, self._sleepers = data, sleepers
        self._again = None if sleepers is None else iter(sleepers.values())
        self._has_gone_on = False

    def persistent_load(self, name: type | int) -> Any:
        if self._again is not None and not isinstance(name, int):
            return next(self._again)
        if self._sleepers is None:
            self._sleepers = Sleepers(self._contents)
        return self._sleepers.value(name)

    def _contents(self) -> Any:
        """What the sleepers hold, which comes second; after an interruption from the beginning."""
        reader = self
        if self._has_gone_on:
            reader = _Unpickler(self._data, self._sleepers)
            reader.load()
        self._has_gone_on = True
        return reader.load()


def _array(code: str, shape: tuple[int, ...], data: bytes, order: Literal["C", "F"]) -> Any:
    return np.ndarray(shape, _NUMBERS[code], data, 0, None, order)


def _number(code: str, data: bytes) -> Any:
    return np.frombuffer(data, _NUMBERS[code])[0]


def _filled(value: object, content: tuple[object, ...]) -> None:
    kind: Any = type(value)
    for put, part in zip(slot_setters(kind), content, strict=True):
        put(value, part)
