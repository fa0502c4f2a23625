"""Where machine code is kept: once per machine, in a place that cannot be stale or in the way.

One folder per state of the sources, compiler and processor in the user's cache directory. It is
machine code: where others could have put something, a folder of this process alone is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gltf_bullet.private_folders import (
    PrivateFolder,
    UnsafeFolderError,
    fresh_folder,
    private_folder,
    say_unsafe,
    usual_folders,
)
from gltf_bullet.solver.compiling.loading import processor

__all__ = ["compile_side_by_side", "object_code"]

_KEPT_VERSIONS = 3
"""Folders of earlier sources that are kept: several installations may share a machine."""
_COMPLETE = "complete"
"""File in the folder that says that all entries are in it."""
_IS_WORKER = "GLTF_BULLET_COMPILES"
"""Environment variable of processes that only compile: for which folder."""
_WORK = (
    "import sys; sys.path[:] = {!r}; import gc; gc.disable(); import {}; "
    "from gltf_bullet.solver.compiling import load; load()"
)
"""What they do: looking for garbage would take a tenth of the time, and save 100 MB (measured).

Places to import from are not theirs from the start: a ``types.py`` there would end them.
"""
_LONGEST_WAIT = 120.0
"""[s] after which a compilation by somebody else is given up."""
_CHECK = hashlib.sha256
"""Of what is kept: its digest stands before it."""
_announced: list[bool] = []


def object_code(function: Callable[..., Any]) -> bytes:
    """Of an entry, built where it is not kept."""
    folder = _folder()
    name = f"{function.__module__}.{function.__name__}.object"
    kept = None if folder is None else folder.read(name)
    if kept is not None:
        size = _CHECK().digest_size
        if _CHECK(kept[size:]).digest() == kept[:size]:
            return kept[size:]
    _announce()
    # Numba is imported where something is to be built.
    from gltf_bullet.solver.compiling.building import build

    code = build(function)
    if folder is not None:
        folder.write(name, _CHECK(code).digest() + code)
    return code


def compile_side_by_side(modules: tuple[str, ...]) -> None:
    """Compile the entries of some modules where that was not done yet, in a process per core.

    ``modules`` begin with the one that takes longest. Whoever comes meanwhile waits for them. Where
    that cannot be, as in a frozen program, loading them compiles them, one after the other.
    """
    folder = None if _IS_WORKER in os.environ else _folder()
    if folder is None or folder.read(_COMPLETE) is not None:
        return
    if "python" not in Path(sys.executable or "").name.lower():
        return
    _announce()
    from filelock import FileLock, Timeout

    try:
        # The system lets go of it for who is killed meanwhile.
        with FileLock(folder.path / "compiling", timeout=_LONGEST_WAIT):
            if folder.read(_COMPLETE) is None:
                _compile(modules, folder)
    except (OSError, NotImplementedError, Timeout):
        return


def _compile(modules: tuple[str, ...], folder: PrivateFolder) -> None:
    places = [os.path.abspath(path) for path in sys.path]
    workers = [
        subprocess.Popen(  # noqa: S603  # our own module, by the same interpreter
            [sys.executable, "-c", _WORK.format(places, ", ".join(dealt))],
            env={**os.environ, _IS_WORKER: str(folder.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for dealt in _deal(modules, _cores())
    ]
    codes = [worker.wait() for worker in workers]
    if not any(codes):
        folder.write(_COMPLETE, b"")


def _cores() -> int:
    """That this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _deal(modules: tuple[str, ...], hands: int) -> list[tuple[str, ...]]:
    """Longest first, to and fro: as long for each as can be, of the few that there are."""
    hands = min(hands, len(modules))
    return [modules[k :: 2 * hands] + modules[2 * hands - 1 - k :: 2 * hands] for k in range(hands)]


def _announce() -> None:
    """Say once what takes so long."""
    if _IS_WORKER in os.environ or _announced:
        return
    _announced.append(True)
    sys.stderr.write(
        "gltf_bullet: compiling the joint solver, once on this machine (under a minute) ...\n"
    )
    sys.stderr.flush()


def _fingerprint() -> str:
    """Of everything that the machine code depends on."""
    digest = hashlib.sha256(f"{sys.version} {processor()}".encode())
    numba = find_spec("numba")
    if numba is not None and numba.origin is not None:
        # Its versions, without importing it, and without ``importlib.metadata``, which takes 25 ms.
        digest.update(Path(numba.origin).with_name("_version.py").read_bytes())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _folder() -> PrivateFolder | None:
    """Where compiled code is kept, or ``None`` where nothing can be written at all."""
    name = f"kernels-{_fingerprint()}"
    if waiting := os.environ.get(_IS_WORKER):
        return _opened(Path(waiting))
    stated = os.environ.get("NUMBA_CACHE_DIR")
    roots = [Path(stated) / "gltf_bullet"] if stated else usual_folders()
    for root in roots:
        folder = _opened(root / name, is_stated=bool(stated))
        if folder is not None:
            _forget_old(root, folder.path)
            return folder
    return _opened(fresh_folder() / name)


def _opened(path: Path, *, is_stated: bool = False) -> PrivateFolder | None:
    """A folder that nobody else can have written, and that we can write."""
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
