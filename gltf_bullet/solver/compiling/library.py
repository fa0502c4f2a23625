"""Libraries of machine code that come with the package, found by what they were made of.

A wheel holds one for each level of x86-64 processors, and so does a source tree that pip has
installed. The name says of which sources it is: where they were edited, none fits. A library needs
nothing but the C library and functions of Python's stable interface, so one serves every CPython,
and neither Numba nor LLVM is needed to load it.

A library is read from the folder of this package only, beside the sources, which are as trusted.

The build backend runs this file on its own, before anything is installed: it needs nothing but the
standard library.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "FOLDER",
    "LEVELS",
    "Code",
    "Library",
    "is_for_this_platform",
    "library_name",
    "package_library",
    "source_digest",
]

_SOURCES = Path(__file__).parents[1]
FOLDER = _SOURCES / "compiled"
"""The only place that libraries are loaded from."""

_V2 = {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
_V3 = {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
LEVELS = {"x86-64-v3": frozenset(_V2 | _V3), "x86-64-v2": frozenset(_V2)}
"""Features of each level of processors, the best first.

Levels have the names of LLVM and the psABI, features Linux's: ``pni`` is SSE3, ``abm`` LZCNT.
"""
_CPUINFO = Path("/proc/cpuinfo")


class Code(NamedTuple):
    """An entry's machine code in this process."""

    c_function: int
    """Address of the C function."""
    python_function: int
    """Address of the function that Python calls."""
    owner: object
    """Keeps it there."""


class Library:
    """A library in this process."""

    def __init__(self, path: Path) -> None:
        """Load it.

        Raises:
            OSError: This system cannot.
        """
        self.path = path
        self._library = ctypes.CDLL(str(path))

    def code_of(self, c_name: str, python_name: str) -> Code | None:
        """An entry by the names of its two functions; ``None`` where it is not in the library."""
        try:
            found = [
                ctypes.cast(self._library[name], ctypes.c_void_p).value
                for name in (c_name, python_name)
            ]
        except AttributeError:
            return None
        return Code(found[0] or 0, found[1] or 0, self._library)


@cache
def package_library() -> Library | None:
    """The library that came with the package; ``None`` where none fits sources and machine."""
    if not (is_for_this_platform() and FOLDER.is_dir()):
        return None
    features = _processor_features()
    has_sources = next(_SOURCES.glob("*.py"), None) is not None
    digest = source_digest() if has_sources else "*"  # a frozen program cannot be edited
    for level, needed in LEVELS.items():
        if needed <= features:
            for path in FOLDER.glob(library_name(level, digest)):
                # A C library of another kind, or a folder from which nothing may run.
                with suppress(OSError):
                    return Library(path)
    return None


def is_for_this_platform() -> bool:
    """Tell whether libraries can be made for this system and interpreter at all."""
    is_usual = sys.implementation.name == "cpython" and "t" not in sys.abiflags
    return is_usual and sys.platform == "linux" and os.uname().machine == "x86_64"


def library_name(level: str, digest: str) -> str:
    """A library's file name."""
    return f"{level}-{digest}.so"


def source_digest() -> str:
    """A digest of the kernels and of what compiles them."""
    digest = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        digest.update(f"{path.relative_to(_SOURCES).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _processor_features() -> frozenset[str]:
    """Features of the first processor that the system supports; empty where it does not tell."""
    try:
        with _CPUINFO.open(encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()
