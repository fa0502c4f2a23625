"""How a function says that it is compiled. Python itself runs it only where somebody debugs it.

With ``NUMBA_DISABLE_JIT=1`` in the environment everything here is plain Python.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gltf_bullet.solver.compiling.keeping import object_code
from gltf_bullet.solver.compiling.library import Code, package_library
from gltf_bullet.solver.compiling.loading import Entry, code_of_object
from gltf_bullet.solver.compiling.registry import (
    ENTRIES,
    KERNELS,
    PRIMITIVES,
    argument_kinds,
    entry_name,
)
from gltf_bullet.solver.compiling.wrapping import c_name, python_name
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = [
    "IS_COMPILED",
    "IntTable",
    "address_of",
    "addresses",
    "call",
    "doubles_at",
    "entry",
    "floats_at",
    "ints_at",
    "kernel",
    "load",
    "words_at",
]

IntTable: TypeAlias = IntArray
"""Of two dimensions."""

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether entries are machine code; not while somebody looks for an error in them."""

_byte_of: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer

_entries: dict[int, Entry] = {}
"""By the identity of what Python calls: its hash is that of its code, which comes later."""

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """A function that only other kernels call; it is compiled into their code."""
    KERNELS.add(function)
    return function


def entry(function: Function) -> Function:
    """A kernel that Python calls, and compiled code by :func:`address_of`: it yields an integer.

    Its machine code comes with :func:`load`.
    """
    KERNELS.add(function)
    ENTRIES.append(function)
    if not IS_COMPILED:
        return function
    made = Entry(
        function.__name__,
        function.__doc__ or "",
        argument_kinds(function),
        partial(_code_of, function),
    )
    _entries[id(made.function)] = made
    return made.function  # type: ignore[no-any-return]


def _code_of(function: Callable[..., Any]) -> Code:
    """Find an entry's machine code: in the package, else kept on this machine, else built now."""
    names = [named(entry_name(function)) for named in (c_name, python_name)]
    library = package_library()
    code = None if library is None else library.code_of(*names)
    return code or code_of_object(object_code(function), *names)


def load(*functions: Any) -> None:
    """Have the machine code of entries, all that were declared without any: they are slow to come.

    Raises:
        ImportError: It is neither in the package nor kept, and Numba is not installed.
    """
    wanted = [id(function) for function in functions] if functions else list(_entries)
    for number in wanted:
        if number in _entries:  # not while somebody debugs it
            _entries[number].load()


def address_of(function: Any) -> int:
    """Of an entry, as a C function; of each array it takes the address and the lengths."""
    load(function)
    return _entries[id(function)].address


def addresses(*arrays: IntArray | FloatArray) -> list[int]:
    """A row of a table of arrays: address and length of each; whoever holds it holds them."""
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
