"""Tables in flat arrays, declared once: where each begins is a field of a record.

A record class declares its counts with :func:`count`, its tables with :func:`table`, and whatever
else it holds as plain integers. :func:`pack` makes room for the tables of one record and returns
its fields; :func:`offsets` numbers the parts of what a table holds one of per row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from gltf_bullet.numba_aot import Count, Table, place_of, size_of
from gltf_bullet.transforms import IntArray

INTS, FLOATS, MEMORY, WORK = "ints", "floats", "memory", "work"
"""Arrays that hold tables. MEMORY is the part of FLOATS that one step leaves to the next."""

Parts = TypeVar("Parts", bound=NamedTuple)


class Place(NamedTuple):
    """The place of one table."""

    array: str
    """INTS, FLOATS or WORK."""
    where: slice
    shape: tuple[int, ...]


class Packed(NamedTuple):
    """One record, packed."""

    offset: int
    """First of its fields in the integers."""
    places: Mapping[str, Place]
    memory: slice
    """Its part of MEMORY in the floats."""


def count(letter: str) -> Any:
    """Declare a field as a count, by the letter that shapes have for it."""
    return Count(letter)


def table(array: str, *shape: str | int) -> Any:
    """Declare a field as the offset of a table in an array.

    Args:
        array: INTS, FLOATS, MEMORY or WORK.
        shape: Numbers, and letters of counts.
    """
    return Table(FLOATS if array == MEMORY else array, shape, array)


def _declared(record: type, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    for name in record.__annotations__:
        value = getattr(record, name, None)
        if isinstance(value, kind):
            yield name, value


def offsets(parts: type[Parts]) -> Parts:
    """Number the parts of a row of a table, whose sizes are the defaults of a named tuple.

    The last part is ``size``, of size 0: its number is that of all parts together.
    """
    sizes: Any = parts
    starts = np.cumsum([0, *sizes._field_defaults.values()])[:-1].tolist()
    made: Parts = sizes(*starts)
    return made


class Column:
    """An array that grows by tables until it is made."""

    def __init__(self, dtype: type) -> None:
        self._dtype = dtype
        self._parts: list[npt.NDArray[Any]] = [np.zeros(0, dtype)]
        self.size = 0

    def add(self, values: object) -> int:
        """Append values; return where they begin."""
        array: npt.NDArray[Any] = np.asarray(values, dtype=self._dtype).reshape(-1)
        start = self.size
        self._parts.append(array)
        self.size += len(array)
        return start

    def room(self, count: int) -> int:
        """Append zeros; return where they begin."""
        return self.reserve(count)[0]

    def reserve(self, count: int) -> tuple[int, npt.NDArray[Any]]:
        """Append numbers that may be filled in later; return where they begin, and them."""
        start = self.size
        numbers: npt.NDArray[Any] = np.zeros(count, self._dtype)
        self._parts.append(numbers)
        self.size += count
        return start, numbers

    def made(self) -> npt.NDArray[Any]:
        """Return everything as one array, to which nothing can be added any more."""
        return np.concatenate(self._parts)


def pack(
    record: type,
    columns: Mapping[str, Column],
    counts: Mapping[str, int],
    values: Mapping[str, Any],
    reserved: tuple[int, IntArray] | None = None,
) -> Packed:
    """Put a record and its tables into arrays.

    Args:
        record: Its declaration.
        columns: The arrays by name, those that its tables are in; INTS receives the record too.
        counts: By letter.
        values: What fields hold, by name: of a table either its numbers (zeros where it is not
            named) or, as an integer, where it stands already.
        reserved: Room for the record, where it is not to stand before its tables.
    """
    offset, fields = reserved or columns[INTS].reserve(size_of(record))
    for name, kind in _declared(record, Count):
        fields[place_of(record, name)] = counts[kind.letter]
    places: dict[str, Place] = {}
    tables = dict(_declared(record, Table))
    for name in values.keys() - tables.keys():
        fields[place_of(record, name)] = values[name]
    start = 0
    for is_memory in (False, True):
        start = columns[FLOATS].size if FLOATS in columns else 0
        for name, (array, letters, part) in tables.items():
            if (part == MEMORY) != is_memory:
                continue
            shape = tuple(size if isinstance(size, int) else counts[size] for size in letters)
            given = values.get(name)
            if isinstance(given, int):
                at = given
            elif given is None:
                at = columns[array].room(prod(shape))
            else:
                at = columns[array].add(given)
                if columns[array].size != at + prod(shape):
                    raise ValueError(f"{name} is not of shape {shape}")
            fields[place_of(record, name)] = at
            places[name] = Place(array, slice(at, at + prod(shape)), shape)
    memory = slice(start, columns[FLOATS].size) if FLOATS in columns else slice(0, 0)
    return Packed(offset, places, memory)
