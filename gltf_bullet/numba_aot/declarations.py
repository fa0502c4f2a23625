"""Declarations of kernels, of the records that they read, and of what they do with memory.

Python itself runs these functions where no machine code can be had: see ``library.is_compiled``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntTable: TypeAlias = npt.NDArray[np.int64]
"""An array of two dimensions."""
FloatTable: TypeAlias = npt.NDArray[np.float64]

Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind")

_byte_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer

# --- functions ------------------------------------------------------------------------------------

KERNELS: set[Callable[..., Any]] = set()
"""All functions that were declared as kernels."""
ENTRIES: list[Callable[..., Any]] = []
"""Kernels that Python calls."""
PRIMITIVES: set[Callable[..., Any]] = set()
"""Functions that compiled code has in a form of its own, by the same names."""


def argument_kinds(function: Callable[..., Any]) -> tuple[str, ...]:
    """The annotations of a kernel's arguments, in their order."""
    return tuple(kind for name, kind in function.__annotations__.items() if name != "return")


def entry_name(function: Callable[..., Any]) -> str:
    """An entry's name among all that a process may load."""
    return f"{function.__module__}.{function.__name__}"


def kernel(function: Function) -> Function:
    """A function that only other kernels call; it is compiled into their code."""
    KERNELS.add(function)
    return function


# --- records --------------------------------------------------------------------------------------


RECORDS: dict[str, np.dtype[Any]] = {}
"""Types of records, by the names that annotations have for them."""
RECORD_READERS: dict[Callable[..., Any], str] = {}
"""Functions that yield a record, and the name of the record."""
RECORD_ARRAYS: dict[str, dict[str, str]] = {}
"""Arrays that the tables of records are in: their names and annotations, by name of the record."""
TABLES: dict[str, dict[str, Table]] = {}
"""Tables of records, by name."""
COUNTS: dict[str, dict[str, str]] = {}
"""Names of the counts of records, by letter."""

_FIELDS = {"int": np.int64, "float": np.float64, "IntArray": np.int64, "FloatArray": np.float64}
"""Type of a number, or of the numbers of a small array, by annotation."""


class Cells(tuple[int, ...]):
    """The shape of a small array inside of a record."""

    __slots__ = ()


class Count(NamedTuple):
    """A field that is a count."""

    letter: str


class Table(NamedTuple):
    """A field that is the offset of a table in an array."""

    array: str
    """Name of the array."""
    shape: tuple[str | int, ...]
    """Numbers, and letters of counts. One of two dimensions is read by row and column."""
    part: str = ""
    """The part of the array that it is packed into."""


class _Array(NamedTuple):
    """An array that tables are in: no field."""


def array() -> Any:
    """Declare an array that a record's tables are in, by its name; see :func:`record_reader`."""
    return _Array()


def cells(*shape: int) -> Any:
    """Declare a field as an array of a fixed shape inside of the record itself."""
    return Cells(shape)


def record(declared: type[Kind]) -> type[Kind]:
    """Declare a record: each annotation of the class is a field, in their order, but for arrays.

    A field takes the eight bytes of an ``int`` or a ``float``, or those of as many as
    :func:`cells` says. Kernels read it by name, at the cost of a number of an array. A field with a
    :class:`Table` takes eight bytes for its offset; :func:`record_reader` says who reads numbers.

    Raises:
        ValueError: Another record has this name, by which annotations find it; or a table of two
            dimensions that kernels read has none of the counts of its shape.
    """
    if declared.__name__ in RECORDS:
        raise ValueError(f"there is a record of the name {declared.__name__}")
    fields: list[Any] = []
    tables: dict[str, Table] = {}
    arrays: dict[str, str] = {}
    counts: dict[str, str] = {}
    for name, kind in declared.__annotations__.items():
        value = getattr(declared, name, None)
        more = (tuple(value),) if isinstance(value, Cells) else ()
        if isinstance(value, _Array):
            arrays[name] = kind
            continue
        if isinstance(value, Table):
            tables[name] = value
        if isinstance(value, Count):
            counts[value.letter] = name
        fields.append((name, np.int64 if isinstance(value, Table) else _FIELDS[kind], *more))
    for name, (_, shape, _) in tables.items() if arrays else ():
        letters = {size for size in shape if isinstance(size, str)}
        if len(shape) == 2 and letters - counts.keys():
            raise ValueError(f"a letter of the shape of {name} has no count")
    TABLES[declared.__name__], RECORD_ARRAYS[declared.__name__] = tables, arrays
    COUNTS[declared.__name__] = counts
    RECORDS[declared.__name__] = np.dtype((np.record, np.dtype(fields, align=True)))
    return declared


def size_of(declared: type) -> int:
    """Count the numbers of eight bytes that a record takes."""
    return RECORDS[declared.__name__].itemsize // 8


def place_of(declared: type, name: str) -> int:
    """Tell which of the numbers of a record is (the first one of) a field."""
    fields: Any = RECORDS[declared.__name__].fields
    return int(fields[name][1]) // 8


def record_reader(declared: type[Kind]) -> Callable[..., Kind]:
    """Make the function that yields the record which begins at a number of an array.

    It takes the array and the number. Of a record that declares arrays it takes these, in their
    order, the record itself being in the first one: each table is read as its numbers then, where
    they are (their count is unknown to compiled kernels, which have the counts of the record).
    Otherwise a table is read as its offset. What is set in the record is set in the array. The
    function must be called by the name of a global of the kernel's module.
    """
    name, kind, size = declared.__name__, RECORDS[declared.__name__], size_of(declared)
    arrays, counts = RECORD_ARRAYS[name], COUNTS[name]

    def read(*given: Any) -> Any:
        *values, offset = given
        numbers = values[0].reshape(-1)[offset : offset + size].view(kind)
        if not arrays:
            return numbers[0]
        return _WithTables(numbers, dict(zip(arrays, values, strict=True)), TABLES[name], counts)

    RECORD_READERS[read] = name
    return read


class _WithTables:
    """A record with tables, for Python: attributes are its numbers, and views of its tables."""

    __slots__ = ("_arrays", "_counts", "_numbers", "_tables")

    def __init__(
        self, numbers: Any, arrays: dict[str, Any], tables: dict[str, Table], counts: dict[str, str]
    ) -> None:
        for name, value in zip(self.__slots__, (arrays, counts, numbers, tables), strict=True):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in self._arrays:
            return self._arrays[name]
        found = getattr(self._numbers[0], name)
        if name not in self._tables:
            return found
        array, shape, _ = self._tables[name]
        if not all(isinstance(size, int) or size in self._counts for size in shape):
            return self._arrays[array][found:]
        lengths = [
            size if isinstance(size, int) else int(getattr(self, self._counts[size]))
            for size in shape
        ]
        numbers = self._arrays[array][found : found + prod(lengths)]
        return numbers.reshape(lengths) if len(shape) == 2 else numbers

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._numbers[0], name, value)


# --- memory ---------------------------------------------------------------------------------------


def addresses(*arrays: IntArray | FloatArray) -> list[int]:
    """Addresses and lengths of arrays; who keeps the numbers must keep the arrays, too."""
    # Asking an array itself takes longer than all else here (measured: 1.3 us instead of 0.3).
    places = [ctypes.addressof(_byte_of(array)) if len(array) else 0 for array in arrays]
    return [number for pair in zip(places, map(len, arrays), strict=True) for number in pair]


def _primitive(function: Function) -> Function:
    PRIMITIVES.add(function)
    return function


@_primitive
def words_at(address: int, count: int) -> IntArray:
    """Integers in memory."""
    return np.ctypeslib.as_array((ctypes.c_int64 * int(count)).from_address(int(address)))


@_primitive
def doubles_at(address: int, count: int) -> FloatArray:
    """Floats in memory."""
    return np.ctypeslib.as_array((ctypes.c_double * int(count)).from_address(int(address)))


@_primitive
def call(function: int, arguments: tuple[Any, ...]) -> int:
    """Call a C function by its address.

    Integers and pointers are passed as 64 bits; of a function that gives 32 bits, the others mean
    nothing.
    """
    raise NotImplementedError("only machine code calls the engine")


@_primitive
def ints_at(table: IntTable, row: int, column: int) -> IntArray:
    """The integers whose address and length stand in a column of a table and the next one."""
    return words_at(table[row, column], table[row, column + 1])


@_primitive
def floats_at(table: IntTable, row: int, column: int) -> FloatArray:
    """The floats whose address and length stand in a column of a table and the next one."""
    return doubles_at(table[row, column], table[row, column + 1])
