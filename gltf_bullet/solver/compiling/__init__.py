"""Kernels become machine code: declared, built by Numba, and loaded from where they are.

``declaring`` is what kernels import. An entry's code is found in the library that comes with the
package (``library``; ``prebuilding`` makes it when the package is built), else where this machine
keeps what it has built (``keeping``). ``building`` translates and optimises, in processes side by
side (``workers``), for the processors of ``targets``.
"""

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
