"""Kernels become machine code: declared, built by Numba once on a machine, kept, and loaded."""

from __future__ import annotations

from gltf_bullet.solver.compiling.declaring import (
    IS_COMPILED,
    IntTable,
    address_of,
    addresses,
    call,
    doubles_at,
    entry,
    floats_at,
    ints_at,
    kernel,
    load,
    words_at,
)
from gltf_bullet.solver.compiling.keeping import compile_side_by_side

__all__ = [
    "IS_COMPILED",
    "IntTable",
    "address_of",
    "addresses",
    "call",
    "compile_side_by_side",
    "doubles_at",
    "entry",
    "floats_at",
    "ints_at",
    "kernel",
    "load",
    "words_at",
]
