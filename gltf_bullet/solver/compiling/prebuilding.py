"""Libraries that come with the package are made here: by the build backend, not by users."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from gltf_bullet.solver.compiling import progress
from gltf_bullet.solver.compiling.library import LEVELS, Library, library_name, source_digest
from gltf_bullet.solver.compiling.linking import link
from gltf_bullet.solver.compiling.progress import ProgressLine
from gltf_bullet.solver.compiling.registry import ENTRIES, entry_name
from gltf_bullet.solver.compiling.targets import level_machine
from gltf_bullet.solver.compiling.workers import run_workers
from gltf_bullet.solver.compiling.wrapping import c_name, python_name

__all__ = ["build_libraries", "write_objects"]

_TASK = "from gltf_bullet.solver.compiling.prebuilding import write_objects; write_objects({!r})"
_TEXT = "gltf_bullet: compiling the joint solver for the package"


def build_libraries(modules: tuple[str, ...], folder: Path) -> list[Path]:
    """Compile the entries of some modules for all levels; the libraries, alone in their folder.

    Raises:
        RuntimeError: Something could not be compiled or linked, or is not as it should be.
    """
    digest = source_digest()
    folder.mkdir(parents=True, exist_ok=True)
    # Beside its destination, so that a library comes there whole or not at all.
    with TemporaryDirectory(dir=folder) as work:
        objects = Path(work)
        line = ProgressLine(_TEXT, sys.stderr)
        is_done = run_workers(modules, _TASK.format(work), os.environ, line)
        line.close()
        if not is_done:
            raise RuntimeError("the kernels could not be compiled")
        made = [_link(objects, level, library_name(level, digest)) for level in LEVELS]
        libraries = [path.replace(folder / path.name) for path in made]
        for path in {*folder.glob("*.so")}.difference(libraries):
            path.unlink()
        return libraries


def write_objects(folder: str) -> None:
    """Build all declared entries, one object for each level; workers do this."""
    from gltf_bullet.solver.compiling.building import build, work_of

    progress.expect(work_of(ENTRIES, processors=len(LEVELS)))
    machines = [level_machine(level) for level in LEVELS]
    for function in ENTRIES:
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
