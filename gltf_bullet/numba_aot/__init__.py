"""Kernels compiled ahead of time: Numba reads the Python, a process that runs them needs no Numba.

Functions are declared with :func:`kernel` and :func:`entry`, records with :func:`record`; the
annotations are the signature. An entry's code is found in a library that the project ships
(``library``; ``builds`` makes it when the project is built); ``translation`` has Numba translate
and LLVM optimise (``numba_types`` are arrays and records for that), ``wrappers`` puts a C function
and one for Python around the result, ``entries`` loads it. Where no library fits and Numba is not
there either, entries stay plain Python.

What that brings over ``njit(cache=True)``, measured with kernels that factor and solve a dense
matrix (CPU time of a new process from the import to the end of the first call, then of a call):

================================  =======  ============  ==================
                                  first    memory        call with an array
================================  =======  ============  ==================
njit, nothing cached              1.40 s   173 MB        0.22 us
njit, cached                      0.48 s   155 MB        0.22 us
numba_aot, nothing cached         0.84 s   164 MB        0.06 us
numba_aot, in a library           0.015 s  no LLVM       not measured
================================  =======  ============  ==================

The library needs neither Numba nor LLVM (200 MB) to be installed, its code is the same to the bit
on all processors of a level, and indices never count from the end, which makes large kernels more
than twice as fast.
"""

from __future__ import annotations

from gltf_bullet.numba_aot.declarations import (
    Count,
    FloatTable,
    IntTable,
    Table,
    addresses,
    array,
    call,
    cells,
    doubles_at,
    floats_at,
    ints_at,
    kernel,
    place_of,
    record,
    record_reader,
    size_of,
    words_at,
)
from gltf_bullet.numba_aot.entries import address_of, entry, load
from gltf_bullet.numba_aot.library import is_compiled

__all__ = [
    "Count",
    "FloatTable",
    "IntTable",
    "Table",
    "address_of",
    "addresses",
    "array",
    "call",
    "cells",
    "doubles_at",
    "entry",
    "floats_at",
    "ints_at",
    "is_compiled",
    "kernel",
    "load",
    "place_of",
    "record",
    "record_reader",
    "size_of",
    "words_at",
]
