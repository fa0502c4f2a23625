"""Kernels compiled ahead of time: Numba reads the Python, a process that runs them needs no Numba.

Functions are declared with :func:`kernel` and :func:`entry`, records with :func:`record`; the
annotations are the signature. An entry's code is found in a library that the project ships
(``library``; ``builds`` makes it when the project is built), else in the user's cache directory
(``object_cache``). ``translation`` has Numba translate and LLVM optimise, ``wrappers`` puts a C
function and one for Python around the result, ``entries`` loads it.
"""

from __future__ import annotations

from gltf_bullet.numba_aot.declarations import (
    IS_COMPILED,
    IntTable,
    addresses,
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
from gltf_bullet.numba_aot.object_cache import compile_side_by_side

__all__ = [
    "IS_COMPILED",
    "IntTable",
    "address_of",
    "addresses",
    "call",
    "cells",
    "compile_side_by_side",
    "doubles_at",
    "entry",
    "floats_at",
    "ints_at",
    "kernel",
    "load",
    "place_of",
    "record",
    "record_reader",
    "size_of",
    "words_at",
]
