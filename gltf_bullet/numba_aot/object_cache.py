"""The folder of machine code that did not come with the package: once per machine, never stale.

One folder per state of the sources, compiler and processor in the user's cache directory. It is
machine code: where others could have put something, a folder of this process alone is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gltf_bullet.numba_aot.builds import run_workers, share_of
from gltf_bullet.numba_aot.declarations import ENTRIES, entry_name
from gltf_bullet.numba_aot.library import (
    host_machine,
    package_library,
    processor,
    project,
    source_digest,
)
from gltf_bullet.numba_aot.progress import ProgressLine, expect
from gltf_bullet.private_folders import (
    PrivateFolder,
    UnsafeFolderError,
    fresh_folder,
    private_folder,
    say_unsafe,
    usual_folders,
)

__all__ = ["announcement", "compile_side_by_side", "fill_folder", "object_code"]

_KEPT_VERSIONS = 3
"""Folders of earlier sources that are kept: several installations may share a machine."""
_COMPLETE = "complete"
"""File in the folder that says that all entries are in it."""
_IS_WORKER = "NUMBA_AOT_FOLDER"
"""Environment variable of processes that only compile: the folder that they fill."""
_LONGEST_WAIT = 120.0
"""[s] after which waiting for the compilation by another process ends."""
_CHECK = hashlib.sha256
"""Digest that stands before the object code in a file."""
_announced: list[bool] = []


def object_code(function: Callable[..., Any]) -> bytes:
    """Object code of an entry, built where it is not kept.

    Raises:
        ImportError: It is not, and Numba is not installed.
    """
    _require_compiler()
    kept = _kept(function)
    if kept is not None:
        return kept
    if not _announced:
        _announced.append(True)
        sys.stderr.write(f"{announcement()} ...\n")
    return _build(function)


def announcement() -> str:
    """Say what is compiled now, and how long that takes."""
    made = project()
    return f"{made.name}: compiling {made.title}, once on this machine ({made.duration})"


def fill_folder(_path: str, number: int, count: int) -> None:
    """Build a share of the declared entries that are not kept; workers do this, in their folder."""
    from gltf_bullet.numba_aot.translation import work_of

    shared = share_of(ENTRIES, number, count)
    missing = [function for function in shared if _kept(function) is None]
    expect(work_of(missing, processors=1))
    for function in missing:
        _build(function)


def _kept(function: Callable[..., Any]) -> bytes | None:
    folder = _folder()
    kept = None if folder is None else folder.read(_file_name(function))
    size = _CHECK().digest_size
    if kept is None or _CHECK(kept[size:]).digest() != kept[:size]:
        return None
    return kept[size:]


def _build(function: Callable[..., Any]) -> bytes:
    # Numba is imported where something is to be built.
    from gltf_bullet.numba_aot.translation import build

    [code] = build(function, host_machine())
    folder = _folder()
    if folder is not None:
        folder.write(_file_name(function), _CHECK(code).digest() + code)
    return code


def _file_name(function: Callable[..., Any]) -> str:
    return f"{entry_name(function)}.object"


def compile_side_by_side(modules: tuple[str, ...]) -> None:
    """Compile the entries of some modules where that was not done yet, in a process per core.

    Nothing is to be done where the package has them compiled. Whoever comes meanwhile waits for
    them. Where that cannot be, as in a frozen program, loading them compiles them, one by one.

    Raises:
        ImportError: Numba is needed and not installed.
    """
    if package_library() is not None:
        return
    _require_compiler()
    folder = None if _IS_WORKER in os.environ else _folder()
    if folder is None or folder.read(_COMPLETE) is not None:
        return
    if "python" not in Path(sys.executable or "").name.lower():
        return
    from filelock import FileLock, Timeout

    _announced.append(True)
    line = ProgressLine(announcement(), sys.stderr)
    try:
        # The system lets go of it for who is killed meanwhile.
        with FileLock(folder.path / "compiling", timeout=_LONGEST_WAIT):
            if folder.read(_COMPLETE) is None:
                environment = {**os.environ, _IS_WORKER: str(folder.path)}
                task = f"{__name__}.fill_folder"
                if run_workers(modules, task, str(folder.path), environment, line):
                    folder.write(_COMPLETE, b"")
    except (OSError, NotImplementedError, Timeout):
        return
    finally:
        line.close()


def _require_compiler() -> None:
    for name in ("llvmlite", "numba"):
        if find_spec(name) is None:
            raise ImportError(
                f"{project().title} has no machine code for this machine, and Numba, which makes "
                f"it, is not installed: {project().hint}",
                name=name,
            )


@cache
def _fingerprint() -> str:
    """Digest of everything that the machine code depends on."""
    digest = hashlib.sha256(
        f"{sys.version} {processor()} {source_digest(project().sources)}".encode()
    )
    numba = find_spec("numba")
    if numba is not None and numba.origin is not None:
        # Its versions, without importing it, and without ``importlib.metadata``, which takes 25 ms.
        digest.update(Path(numba.origin).with_name("_version.py").read_bytes())
    return digest.hexdigest()[:16]


@cache
def _folder() -> PrivateFolder | None:
    """The folder of object code, or ``None`` if nothing can be written at all."""
    name = f"kernels-{_fingerprint()}"
    if waiting := os.environ.get(_IS_WORKER):
        return _opened(Path(waiting))
    stated = os.environ.get("NUMBA_CACHE_DIR")
    roots = [Path(stated) / project().name] if stated else usual_folders()
    for root in roots:
        folder = _opened(root / name, is_stated=bool(stated))
        if folder is not None:
            _forget_old(root, folder.path)
            return folder
    return _opened(fresh_folder() / name)


def _opened(path: Path, *, is_stated: bool = False) -> PrivateFolder | None:
    """A folder that only this user can have written, and that can be written now."""
    try:
        folder = private_folder(path)
        with tempfile.TemporaryFile(dir=folder.path):
            return folder
    except UnsafeFolderError as error:
        if is_stated:
            say_unsafe(error)
    except OSError:
        pass
    return None


def _forget_old(root: Path, current: Path) -> None:
    """Remove the code of sources that are long gone."""
    with contextlib.suppress(OSError):
        others = [path for path in root.glob("kernels-*") if path != current]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_KEPT_VERSIONS:]:
            shutil.rmtree(path, ignore_errors=True)
