"""Entries compiled in processes side by side, one per core.

Each process imports all modules and builds its share of the entries: ``object_cache`` fills the
user's cache directory that way, :func:`build_libraries` a folder with libraries to be shipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from gltf_bullet.child_processes import python_command, start
from gltf_bullet.numba_aot.declarations import ENTRIES, entry_name
from gltf_bullet.numba_aot.library import (
    LEVELS,
    Library,
    level_machine,
    library_name,
    link,
    project,
    source_digest,
)
from gltf_bullet.numba_aot.progress import ProgressLine, expect
from gltf_bullet.numba_aot.wrappers import c_name, python_name

__all__ = ["build_libraries", "run_workers", "share_of", "write_objects"]

# --- processes ------------------------------------------------------------------------------------

_PROGRAM = (
    "import gc; gc.disable(); "
    "from gltf_bullet.numba_aot import progress; progress.report_to(sys.stdout); "
    "import {}; {}({}, {}, {})"
)
"""The program of each process: looking for garbage would take a tenth of the time, and save 100 MB
(measured).
"""

_MOST_PER_MODULE = 2
"""Processes per module at most: more would find no entry to build."""


def run_workers(
    modules: tuple[str, ...],
    task: str,
    folder: str,
    environment: Mapping[str, str],
    line: ProgressLine,
) -> bool:
    """Import modules in a process per core, and build a share of their entries in each.

    Args:
        modules: That declare the entries.
        task: Full name of a function of a folder, the number of a process and their count.
        folder: Where the results go.
        environment: Environment variables of the processes.
        line: Shows how far they are.

    Returns:
        True if no process failed.
    """
    names = ", ".join([task.rpartition(".")[0], *modules])
    count = min(_cores(), _MOST_PER_MODULE * len(modules))
    workers = [
        start(
            python_command(_PROGRAM.format(names, task, repr(os.path.abspath(folder)), k, count)),
            variables=environment,
            error=subprocess.DEVNULL,
        )
        for k in range(count)
    ]
    line.follow([TextIOWrapper(cast("IO[bytes]", worker.stdout)) for worker in workers])
    codes = [worker.wait() for worker in workers]
    return not any(codes)


def _cores() -> int:
    """Count the cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share_of(functions: Sequence[Callable[..., Any]], number: int, count: int) -> list[Any]:
    """Deal entries among processes, the longest first, to and fro: all take about as long."""
    from gltf_bullet.numba_aot.translation import work_of

    longest = sorted(functions, key=lambda function: -work_of([function], processors=1))
    return longest[number :: 2 * count] + longest[2 * count - 1 - number :: 2 * count]


# --- libraries to be shipped ----------------------------------------------------------------------


def build_libraries(modules: tuple[str, ...], folder: Path) -> list[Path]:
    """Compile the entries of some modules for all levels; the libraries, alone in their folder.

    Raises:
        RuntimeError: Something could not be compiled or linked, or is not as it should be.
    """
    digest = source_digest(project().sources)
    folder.mkdir(parents=True, exist_ok=True)
    # Beside its destination, so that a library comes there whole or not at all.
    with TemporaryDirectory(dir=folder) as work:
        objects = Path(work)
        text = f"{project().name}: compiling {project().title} for the package"
        line = ProgressLine(text, sys.stderr)
        is_done = run_workers(modules, f"{__name__}.write_objects", work, os.environ, line)
        line.close()
        if not is_done:
            raise RuntimeError("the kernels could not be compiled")
        made = [_link(objects, level, library_name(level, digest)) for level in LEVELS]
        libraries = [path.replace(folder / path.name) for path in made]
        for path in {*folder.glob("*.so")}.difference(libraries):
            path.unlink()
        return libraries


def write_objects(folder: str, number: int, count: int) -> None:
    """Build a share of all declared entries, one object for each level; workers do this."""
    from gltf_bullet.numba_aot.translation import build, work_of

    functions = share_of(ENTRIES, number, count)
    expect(work_of(functions, processors=len(LEVELS)))
    machines = [level_machine(level) for level in LEVELS]
    for function in functions:
        for level, code in zip(LEVELS, build(function, *machines), strict=True):
            (Path(folder) / f"{entry_name(function)}.{level}.o").write_bytes(code)


def _link(objects: Path, level: str, name: str) -> Path:
    library = objects / name
    parts = sorted(objects.glob(f"*.{level}.o"))
    link(parts, library)
    loaded = Library(library)
    for path in parts:
        entry = path.name.removesuffix(f".{level}.o")
        if loaded.code_of(c_name(entry), python_name(entry)) is None:
            raise RuntimeError(f"{entry} is not in the library")
    return library
