"""Shared libraries of machine code: how they are named, linked, found and loaded.

A project ships one library for each system. Its name holds a digest of the sources that it was made
of, so that no library fits edited sources. It needs nothing but the C library and functions of
Python's stable interface: one serves every CPython, and loading it takes neither Numba nor LLVM.
Libraries are read from the folder of :class:`Project` alone, which is as trusted as the sources
beside it.

A build backend may load this file by its path before anything is installed: at import it needs the
standard library only.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

# --- the project whose kernels these are ----------------------------------------------------------


class Project(NamedTuple):
    """A project whose kernels are compiled."""

    name: str
    """Begins the lines on the terminal."""
    title: str
    """Name of what is compiled, for people."""
    modules: tuple[str, ...]
    """Modules that declare the entries of the library."""
    sources: tuple[Path, ...]
    """Folders of all Python files that the machine code depends on."""
    libraries: Path
    """The only folder that libraries are loaded from."""


_HERE = Path(__file__).parent
_projects = [Project("numba_aot", "kernels", (), (_HERE,), _HERE / "compiled")]


def configure(project: Project) -> None:
    """Set the project, before any of its kernels is declared."""
    _projects[:] = [project]
    package_library.cache_clear()
    is_compiled.cache_clear()


def project() -> Project:
    """Return the project that was set, or one without libraries."""
    return _projects[0]


@cache
def is_compiled() -> bool:
    """Tell whether entries are machine code in this process.

    They are plain Python where no library fits and Numba, which would make code, is not installed,
    and where the environment says ``NUMBA_DISABLE_JIT=1``, to look for an error in them.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return False
    return package_library() is not None or can_compile()


def can_compile() -> bool:
    """Tell whether Numba and LLVM are installed."""
    return all(find_spec(name) is not None for name in ("llvmlite", "numba"))


# --- systems --------------------------------------------------------------------------------------


class Target(NamedTuple):
    """A system that libraries are made for."""

    triple: str
    """LLVM's name of it."""
    processor: str
    """LLVM's name of the oldest processor that runs the library."""
    zig: str
    """Zig's name of it, with the oldest version of the system."""
    wheel: str
    """Its part of the name of a wheel."""
    suffix: str
    """End of the name of a library."""


TARGETS = {
    "linux-x86_64": Target(
        "x86_64-unknown-linux-gnu",
        "x86-64-v2",
        "x86_64-linux-gnu.2.17",
        "manylinux_2_17_x86_64.manylinux_2_28_x86_64",
        ".so",
    ),
    "linux-aarch64": Target(
        "aarch64-unknown-linux-gnu",
        "generic",
        "aarch64-linux-gnu.2.17",
        "manylinux_2_17_aarch64.manylinux_2_28_aarch64",
        ".so",
    ),
    "macos-arm64": Target(
        "arm64-apple-macosx11.0", "apple-m1", "aarch64-macos.11.0", "macosx_11_0_arm64", ".dylib"
    ),
    "macos-x86_64": Target(
        "x86_64-apple-macosx11.0", "x86-64-v2", "x86_64-macos.11.0", "macosx_11_0_x86_64", ".dylib"
    ),
    "windows-x86_64": Target(
        "x86_64-w64-windows-gnu", "x86-64-v2", "x86_64-windows-gnu", "win_amd64", ".dll"
    ),
}
"""The systems, by the names that their libraries begin with."""

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}
_V2 = {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
"""Features of ``x86-64-v2`` in Linux's words: ``pni`` is SSE3."""
_CPUINFO = Path("/proc/cpuinfo")
_SSE4_2 = 38
"""``PF_SSE4_2_INSTRUCTIONS_AVAILABLE`` of Windows."""


def host_target() -> str | None:
    """Name the system that this interpreter runs on; ``None`` where no library can be for it."""
    is_usual = sys.implementation.name == "cpython" and "t" not in getattr(sys, "abiflags", "")
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    if sys.platform != "linux" and machine == "aarch64":
        machine = "arm64"
    name = f"{_SYSTEMS.get(sys.platform)}-{machine}"
    return name if is_usual and sys.maxsize > 2**32 and name in TARGETS else None


def _runs(target: str) -> bool:
    """Tell whether this processor is one of those that the libraries of its system are for."""
    if not target.endswith("x86_64") or sys.platform == "darwin":  # macOS 11 asks for more itself
        return True
    if sys.platform == "win32":
        return bool(ctypes.WinDLL("kernel32").IsProcessorFeaturePresent(_SSE4_2))
    return _processor_features() >= _V2


def _processor_features() -> set[str]:
    """Features of the first processor that Linux supports; empty where it does not tell."""
    with suppress(OSError), _CPUINFO.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("flags"):
                return set(line.partition(":")[2].split())
    return set()


# --- libraries ------------------------------------------------------------------------------------


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
    folder, sources, target = project().libraries, project().sources, host_target()
    if target is None or not folder.is_dir() or not _runs(target):
        return None
    has_sources = any(next(source.glob("*.py"), None) is not None for source in sources)
    digest = source_digest(sources) if has_sources else "*"  # a frozen program cannot be edited
    for path in folder.glob(library_name(target, digest)):
        # A C library of another kind, or a folder from which nothing may run.
        with suppress(OSError):
            return Library(path)
    return None


def library_name(target: str, digest: str) -> str:
    """A library's file name."""
    return f"{target}-{digest}{TARGETS[target].suffix}"


def source_digest(sources: Sequence[Path]) -> str:
    """Digest all Python files in some folders, their names included."""
    digest = hashlib.sha256()
    for folder in sources:
        for path in sorted(folder.rglob("*.py"), key=Path.as_posix):
            digest.update(f"{path.relative_to(folder.parent).as_posix()}\n".encode())
            # As Git has them, wherever it writes lines as Windows does.
            digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]


# --- linking --------------------------------------------------------------------------------------

_OPTIONS = {
    "linux": ["-nostartfiles", "-Wl,-z,noexecstack,-z,now,--build-id=none,-s"],
    "macos": ["-Wl,-undefined,dynamic_lookup"],
    "windows": ["-Wl,-s"],
}
"""Nothing in a library depends on when or where it was made."""
_STABLE_WINDOWS = "python3.dll"
"""The library of Windows that holds the stable interface of any CPython 3."""


def linker(target: str | None = None) -> list[str]:
    """The command that links for a system, this one by default; empty where there is none.

    On Linux it is the one that is there; else Zig, which comes by ``pip`` and links for all.
    """
    if target is None and sys.platform == "linux":
        for command in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
            words = shlex.split(command)
            if words and shutil.which(words[0]):
                return words
    name = target or host_target()
    if name is None or find_spec("ziglang") is None:
        return []
    return [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS[name].zig]


def link(code: bytes, library: Path, target: str, command: Sequence[str], imports: str) -> None:
    """Make a library of an object.

    Args:
        code: The object.
        library: Where it goes, into a folder of its own: other files are made beside it.
        target: Name of its system.
        command: A linker for that.
        imports: Names of Python's functions in it, a line for each.

    Raises:
        RuntimeError: It cannot be made; the message is the linker's.
    """
    library = library.absolute()
    made = library.with_suffix(".o")
    made.write_bytes(code)
    system = target.partition("-")[0]
    needed = ["-lm"] if system == "linux" else []
    if system == "macos":  # else the library would hold the name of the folder
        needed = [f"-Wl,-install_name,@rpath/{library.name}"]
    if system == "windows":
        # A process that has Python has this library, too: names are all that linking needs.
        named, stub = library.with_suffix(".def"), library.with_suffix(".lib")
        named.write_text(f"LIBRARY {_STABLE_WINDOWS}\nEXPORTS\n{imports}")
        zig = [sys.executable, "-m", "ziglang", "dlltool", "-m", "i386:x86-64"]
        _run([*zig, "-d", str(named), "-l", str(stub)])
        needed = [str(stub)]
    _run([*command, "-shared", *_OPTIONS[system], "-o", str(library), str(made), *needed])


def _run(command: Sequence[str]) -> None:
    # The build hook loads this file without the package around it, to ask what can be made.
    from gltf_bullet.child_processes import start

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

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


@cache
def host_machine() -> Any:
    """This processor, for code that this process loads."""
    binding = llvm()
    try:
        features = str(binding.get_host_cpu_features().flatten())
    except RuntimeError:  # LLVM does not know on every system
        features = ""
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=features,
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def target_machine(target: str) -> Any:
    """The oldest processor of a system, for code that is linked into a library."""
    made = TARGETS[target]
    found = llvm().Target.from_triple(made.triple)
    return found.create_target_machine(
        cpu=made.processor, features="", opt=3, reloc="pic", codemodel="small"
    )
