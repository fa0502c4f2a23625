"""Build the wheel, with the joint solver's kernels compiled for any x86-64 processor of Linux.

    python -m tools.build_wheel --out dist

The hook of the build backend (``hatch_build``) compiles them, in an environment of its own that has
Numba. What comes out is looked at: a library for each level of processors, which needs nothing but
an old C library and functions of Python's stable interface.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import gltf_bullet.solver  # noqa: F401  # says what the libraries are made of
from gltf_bullet.numba_aot.library import LEVELS, library_name, project, source_digest

ROOT = Path(__file__).resolve().parent.parent
PLACE = "gltf_bullet/solver/compiled"
OLDEST_C_LIBRARY = (2, 17)
"""Of the wheel's tag, ``manylinux_2_17``."""
STABLE = {
    *("PyErr_BadArgument", "PyErr_Occurred", "PyFloat_AsDouble"),
    *("PyLong_AsLongLong", "PyLong_FromLongLong"),
}
"""Functions of Python that kernels may call: they are the same in all CPythons."""


def build_wheel(folder: Path) -> Path:
    """Build it into a folder.

    Raises:
        RuntimeError: It does not hold what it should.
    """
    with TemporaryDirectory() as work:
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", work]
        subprocess.run([*pip, str(ROOT)], check=True)
        [made] = Path(work).glob("*.whl")
        check_wheel(made)
        folder.mkdir(parents=True, exist_ok=True)
        wheel = folder / made.name
        wheel.write_bytes(made.read_bytes())
    return wheel


def check_wheel(wheel: Path) -> None:
    """Raise a ``RuntimeError`` where a wheel does not hold exactly the libraries that fit it."""
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if name.endswith(".so")]
        digest = source_digest(project().sources)
        expected = [f"{PLACE}/{library_name(level, digest)}" for level in LEVELS]
        if sorted(names) != sorted(expected):
            raise RuntimeError(f"{wheel.name} holds {names}, not {expected}")
        for name in names:
            if found := foreign_needs(packed.read(name)):
                raise RuntimeError(f"{name} needs {', '.join(found)}")


def foreign_needs(library: bytes) -> list[str]:
    """What a library asks of its system beyond what every system of the wheel's tag has."""
    versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", library)
    newer = {f"GLIBC_{int(a)}.{int(b)}" for a, b in versions if (int(a), int(b)) > OLDEST_C_LIBRARY}
    python = {name.decode() for name in re.findall(rb"\0_?(Py[A-Z]\w+)", library)}
    needed = {name.decode() for name in re.findall(rb"\0(lib\w+\.so[.\d]*)", library)}
    return sorted(newer | (python - STABLE) | (needed - {"libc.so.6", "libm.so.6"}))


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheel with compiled kernels.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheel")
    start = time.perf_counter()
    wheel = build_wheel(parser.parse_args().out)
    size = wheel.stat().st_size / 1e6
    print(f"{wheel}: {size:.1f} MB in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
