"""Libraries made where the package is built, or where its solver was edited."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gltf_bullet.numba_aot.declarations import ENTRIES, entry_name
from gltf_bullet.numba_aot.library import (
    TARGETS,
    Library,
    can_compile,
    host_target,
    library_name,
    link,
    linker,
    package_library,
    project,
    source_digest,
    target_machine,
)
from gltf_bullet.numba_aot.wrappers import PYTHON_FUNCTIONS, c_name, python_name

_LONGEST_WAIT = 120.0
"""[s] after which waiting for the compilation by another process ends."""


def build_libraries(folder: Path, targets: dict[str, list[str]]) -> list[Path]:
    """Compile the project's entries; libraries of earlier sources leave the folder.

    Args:
        folder: Where the libraries go.
        targets: Commands that link, by the names of the systems to compile for.

    Raises:
        RuntimeError: Something could not be linked, or is not as it should be.
    """
    # Numba takes a second to import, and is needed here alone.
    from gltf_bullet.numba_aot.translation import build

    digest = source_digest(project().sources)
    folder.mkdir(parents=True, exist_ok=True)
    machines = [target_machine(target) for target in targets]
    imports = "".join(f"{name}\n" for name in PYTHON_FUNCTIONS)
    libraries = []
    with _announced(", ".join(targets)), _no_garbage():
        objects = build(project_entries(), *machines)
        # Beside its destination, so that a library comes there whole or not at all.
        for (target, command), code in zip(targets.items(), objects, strict=True):
            with TemporaryDirectory(dir=folder) as work:
                made = Path(work) / library_name(target, digest)
                link(code, made, target, command, imports)
                if target == host_target():
                    _require_entries(made)
                libraries.append(made.replace(folder / made.name))
    for path in folder.iterdir():
        is_library = path.suffix in {made.suffix for made in TARGETS.values()}
        if is_library and not path.stem.endswith(digest):
            with suppress(OSError):  # a process of Windows may have it open
                path.unlink()
    return libraries


def project_entries() -> list[Callable[..., Any]]:
    """The entries that the project's sources declare."""
    for module in project().modules:
        import_module(module)
    sources = set(project().sources)
    return [made for made in ENTRIES if sources & {*Path(made.__code__.co_filename).parents}]


def compile_package() -> None:
    """Make this system's library where no library fits and Numba is there.

    Whoever comes meanwhile waits for it. Where nothing links, or the package is not the user's to
    write, there is none, and each process compiles for itself.
    """
    target, folder = host_target(), project().libraries
    command = linker()
    can_make = target is not None and command and os.access(folder.parent, os.W_OK)
    if package_library() is not None or not (can_make and can_compile()):
        return
    from filelock import FileLock, Timeout

    with suppress(OSError, RuntimeError, NotImplementedError, Timeout):
        folder.mkdir(exist_ok=True)
        # The system lets go of it for who is killed meanwhile.
        with FileLock(folder / "compiling", timeout=_LONGEST_WAIT):
            package_library.cache_clear()
            if package_library() is None:
                build_libraries(folder, {str(target): command})
    package_library.cache_clear()


def _require_entries(made: Path) -> None:
    loaded = Library(made)
    for name in map(entry_name, project_entries()):
        if loaded.code_of(c_name(name), python_name(name)) is None:
            raise RuntimeError(f"{name} is not in the library")


@contextmanager
def _announced(systems: str) -> Iterator[None]:
    """Say what begins, and how long it took."""
    name, start = project().name, time.monotonic()
    text = f"{name}: compiling {project().title} for {systems} (half a minute or so) ...\n"
    sys.stderr.write(text)
    sys.stderr.flush()
    yield
    sys.stderr.write(f"{name}: done in {time.monotonic() - start:.0f} s\n")


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Looking for garbage would take a tenth of the time, and save 100 MB (measured)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
