"""Build the wheels, with the joint solver's kernels compiled for each system.

    python -m tools.build_wheel --out dist
    python -m tools.build_wheel --out dist --target linux-x86_64

Needs the extra ``wheels``: LLVM makes objects for all systems, Zig links them. What comes out is
read: a library of its system's format and processor, which holds all entries and needs nothing but
an old C library and functions of Python's stable interface. Only this system's can also be run
(``tools/try_wheel.py``); the others are said to be untried.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gltf_bullet.solver  # noqa: F401  # says what the libraries are made of
from gltf_bullet.numba_aot.builds import build_libraries, project_entries
from gltf_bullet.numba_aot.declarations import entry_name
from gltf_bullet.numba_aot.library import (
    TARGETS,
    host_target,
    library_name,
    linker,
    project,
    source_digest,
)
from gltf_bullet.numba_aot.wrappers import PYTHON_FUNCTIONS, c_name, python_name
from tools.hatch_build import TARGET

ROOT = Path(__file__).resolve().parent.parent
PLACE = "gltf_bullet/solver/compiled"
OLDEST_C_LIBRARY = (2, 17)
"""Of the Linux wheels' tags, ``manylinux_2_17``."""
SYSTEM_LIBRARIES = {
    "linux": re.compile(r"lib[cm]\.so\.6"),
    "macos": re.compile(r"/usr/lib/libSystem\.B\.dylib"),
    "windows": re.compile(r"python3\.dll|KERNEL32\.dll|api-ms-win-crt-[\w-]+\.dll"),
}
"""Libraries that every installation of a system has; Python's own is loaded before."""
KINDS = {
    "linux-x86_64": ("ELF", "X86_64"),
    "linux-aarch64": ("ELF", "AARCH64"),
    "macos-arm64": ("MachO", "ARM64"),
    "macos-x86_64": ("MachO", "X86_64"),
    "windows-x86_64": ("PE", "AMD64"),
}
"""Format and processor of each library, in ``lief``'s words."""


def build_wheels(folder: Path, targets: Sequence[str]) -> list[Path]:
    """Build wheels into a folder.

    Raises:
        RuntimeError: One does not hold what it should.
    """
    build_libraries(project().libraries, {target: linker(target) for target in targets})
    folder.mkdir(parents=True, exist_ok=True)
    wheels = []
    for target in targets:
        with TemporaryDirectory() as work:
            pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", work]
            subprocess.run([*pip, str(ROOT)], check=True, env={**os.environ, TARGET: target})
            [made] = Path(work).glob("*.whl")
            check_wheel(made, target)
            wheel = folder / made.name
            wheel.write_bytes(made.read_bytes())
            wheels.append(wheel)
    return wheels


def check_wheel(wheel: Path, target: str) -> None:
    """Raise a ``RuntimeError`` where a wheel does not hold exactly the library that fits it."""
    if not wheel.name.endswith(f"-py3-none-{TARGETS[target].wheel}.whl"):
        raise RuntimeError(f"{wheel.name} is not tagged as one for {target}")
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if name.startswith(f"{PLACE}/")]
        expected = f"{PLACE}/{library_name(target, source_digest(project().sources))}"
        if names != [expected]:
            raise RuntimeError(f"{wheel.name} holds {names}, not {expected}")
        if found := complaints(packed.read(expected), target):
            raise RuntimeError(f"{expected}: {'; '.join(found)}")


def complaints(library: bytes, target: str) -> list[str]:
    """Find what is wrong with a library, or what it asks of its system beyond what each has."""
    import lief

    lief.logging.disable()

    made: Any = lief.parse(list(library))
    if made is None:
        return ["it is no library"]
    needed, foreign = _needs(made)
    names = map(entry_name, project_entries())
    entries = {named(name) for name in names for named in (c_name, python_name)}
    exported = {
        name.removeprefix("_") if _format(made) == "MachO" else name for name in _exports(made)
    }
    usual = SYSTEM_LIBRARIES[target.partition("-")[0]]
    checks = {
        f"it is {_kind(made)}, not {KINDS[target]}": _kind(made) == KINDS[target],
        f"{sorted(entries - exported)} are missing": entries <= exported,
        f"it needs {sorted(name for name in needed if not usual.fullmatch(name))}": all(
            map(usual.fullmatch, needed)
        ),
        f"it needs {sorted(foreign)}": not foreign,
        "it cannot be loaded anywhere in memory": _is_movable(made),
    }
    return [complaint for complaint, is_fine in checks.items() if not is_fine]


def _format(made: Any) -> str:
    return str(made.format.name).replace("MACHO", "MachO")


def _kind(made: Any) -> tuple[str, str]:
    header = made.header
    kind = {"ELF": "machine_type", "MachO": "cpu_type", "PE": "machine"}[_format(made)]
    return _format(made), str(getattr(header, kind).name)


def _is_movable(made: Any) -> bool:
    """Tell whether it is a shared library that a system need not patch where its code stands."""
    kind = _format(made)
    if kind == "ELF":
        entries = {entry.tag.name for entry in made.dynamic_entries}
        return made.header.file_type.name == "DYN" and "TEXTREL" not in entries
    if kind == "PE":
        return bool(made.has_relocations) and "DLL" in {
            flag.name for flag in made.header.characteristics_list
        }
    return str(made.header.file_type.name) == "DYLIB"


def _exports(made: Any) -> set[str]:
    if _format(made) == "PE":
        return {entry.name for entry in made.get_export().entries}
    begin = "_" if _format(made) == "MachO" else ""
    return {symbol.name.removeprefix(begin) for symbol in made.exported_symbols}


def _needs(made: Any) -> tuple[set[str], set[str]]:
    """Names of libraries, and of functions that not every system of the wheel's tag has."""
    if _format(made) == "ELF":
        names = {symbol.name for symbol in made.dynamic_symbols if symbol.value == 0}
        found = [
            re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version.name)
            for needed in made.symbols_version_requirement
            for version in needed.get_auxiliary_symbols()
        ]
        newer = {one[0] for one in found if one and (int(one[1]), int(one[2])) > OLDEST_C_LIBRARY}
        return set(made.libraries), newer | _foreign(names)
    if _format(made) == "PE":
        names = {entry.name for library in made.imports for entry in library.entries}
        return {library.name for library in made.imports}, _foreign(names)
    names = {symbol.name.removeprefix("_") for symbol in made.imported_symbols}
    return {one.name for one in made.libraries if one.command.name != "ID_DYLIB"}, _foreign(names)


def _foreign(names: set[str]) -> set[str]:
    """Functions of Python outside of its stable interface."""
    return {name for name in names if re.match(r"_?Py[A-Z_]", name)}.difference(PYTHON_FUNCTIONS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheels with compiled kernels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheels")
    parser.add_argument(
        "--target", action="append", choices=TARGETS, help="one system alone; all by default"
    )
    arguments = parser.parse_args()
    start = time.perf_counter()
    targets = arguments.target or list(TARGETS)
    for target, wheel in zip(targets, build_wheels(arguments.out, targets), strict=True):
        tried = "" if target == host_target() else " (read, not run: untried)"
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB{tried}")
    print(f"in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
