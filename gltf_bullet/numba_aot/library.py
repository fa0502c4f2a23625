"""Shared libraries of machine code: how they are named, linked, chosen for a processor and loaded.

A project ships one library for each level of x86-64 processors. Its name holds a digest of the
sources that it was made of, so that no library fits edited sources. It needs nothing but the C
library and functions of Python's stable interface: one serves every CPython, and loading it takes
neither Numba nor LLVM. Libraries are read from the folder of :class:`Project` alone, which is as
trusted as the sources beside it.

A build backend may load this file by its path before anything is installed: at import it needs the
standard library only.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gltf_bullet.child_processes import start

__all__ = [
    "LEVELS",
    "Code",
    "Library",
    "Project",
    "configure",
    "host_machine",
    "is_for_this_platform",
    "level_machine",
    "library_name",
    "link",
    "linker",
    "llvm",
    "package_library",
    "processor",
    "project",
    "source_digest",
]

# --- the project whose kernels these are ----------------------------------------------------------


class Project(NamedTuple):
    """A project whose kernels are compiled."""

    name: str
    """Begins the lines on the terminal, and names a folder in the user's cache directory."""
    title: str
    """Name of what is compiled, for people."""
    duration: str
    """Duration of compiling, for people."""
    hint: str
    """The command that installs the compiler."""
    sources: tuple[Path, ...]
    """Folders of all Python files that the machine code depends on."""
    libraries: Path
    """The only folder that libraries are loaded from."""


_HERE = Path(__file__).parent
_projects = [
    Project("numba_aot", "kernels", "a minute", "pip install numba", (_HERE,), _HERE / "compiled")
]


def configure(project: Project) -> None:
    """Set the project, before any of its kernels is declared."""
    _projects[:] = [project]
    package_library.cache_clear()


def project() -> Project:
    """Return the project that was set, or one without libraries."""
    return _projects[0]


# --- libraries ------------------------------------------------------------------------------------

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
    """Load the library that came with the project; ``None`` if none fits sources and machine."""
    folder, sources = project().libraries, project().sources
    if not (is_for_this_platform() and folder.is_dir()):
        return None
    features = _processor_features()
    has_sources = any(next(source.glob("*.py"), None) is not None for source in sources)
    digest = source_digest(sources) if has_sources else "*"  # a frozen program cannot be edited
    for level, needed in LEVELS.items():
        if needed <= features:
            for path in folder.glob(library_name(level, digest)):
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


def source_digest(sources: Sequence[Path]) -> str:
    """Digest all Python files in some folders, their names included."""
    digest = hashlib.sha256()
    for folder in sources:
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder.parent).as_posix()}\n".encode())
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


# --- linking --------------------------------------------------------------------------------------

_OPTIONS = ("-shared", "-nostartfiles", "-Wl,-z,noexecstack,-z,now,--build-id=none,-s")
"""Nothing in the library depends on when or where it was made."""


def linker() -> list[str]:
    """The command that links here; empty where there is none."""
    for command in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        words = shlex.split(command)
        if words and shutil.which(words[0]):
            return words
    return []


def link(objects: Iterable[Path], library: Path) -> None:
    """Make a library of objects.

    Raises:
        RuntimeError: It cannot be made; the message is the linker's.
    """
    files = [os.path.abspath(file) for file in (library, *objects)]
    command = [*linker(), *_OPTIONS, "-o", *files, "-lm"]
    with start(command) as done:
        said, _ = done.communicate()
    if done.returncode:
        why = said.decode("utf-8", "replace")
        raise RuntimeError(f"{command[0]} could not link the kernels: {why}")


# --- processors, as LLVM knows them ---------------------------------------------------------------


@cache
def llvm() -> Any:
    """LLVM's functions, imported for those who make machine code or load an object: 0.05 s."""
    from llvmlite import binding  # type: ignore[import-untyped]

    return binding


def processor() -> str:
    """A name of this processor and of the LLVM that makes code for it."""
    binding = llvm()
    return f"{binding.get_host_cpu_name()} {_features()} {binding.llvm_version_info}"


@cache
def host_machine() -> Any:
    """This processor, for code that this process loads."""
    return _target().create_target_machine(
        cpu=llvm().get_host_cpu_name(),
        features=_features(),
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def level_machine(level: str) -> Any:
    """Any processor of a level, ``x86-64-v3`` say, for code that is linked into a library."""
    return _target().create_target_machine(cpu=level, features="", opt=3, reloc="pic")


def _target() -> Any:
    binding = llvm()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_triple(binding.get_process_triple())


@cache
def _features() -> str:
    try:
        return str(llvm().get_host_cpu_features().flatten())
    except RuntimeError:  # LLVM does not know on every system
        return ""
