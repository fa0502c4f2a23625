"""How kernels are compiled: once per machine, kept in a cache that cannot be stale or in the way.

Numba's own cache is found by the source file of each function, so a change in a function that
another file calls would go unseen, and a read-only installation has nowhere to write. Ours is one
folder per state of the sources in the user's cache directory, or a temporary one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
import platformdirs
from numba.core import event

__all__ = ["entry", "kernel"]

_KEPT_VERSIONS = 3
"""Cache folders of earlier sources that are kept: several installations may share a machine."""

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config

_TYPES = {
    "IntArray": "int64[::1]",
    "FloatArray": "float64[::1]",
    "int": "int64",
    "float": "float64",
    "bool": "boolean",
}
"""Numba's names of the annotations in kernels."""

_waiting: dict[Any, str] = {}
"""Kernels that were declared and not compiled, with their signatures."""


def kernel(function: Function) -> Function:
    """A function that only other kernels call; it is compiled into their code."""
    if _config.DISABLE_JIT:
        return function
    compiled: Any = numba.njit(error_model="numpy")(function)
    arguments = [
        _TYPES[annotation]
        for key, annotation in function.__annotations__.items()
        if key != "return"
    ]
    _waiting[compiled] = f"({', '.join(arguments)},)"
    return compiled  # type: ignore[no-any-return]


def _compile_waiting() -> None:
    """Compile the kernels, each for one signature and without optimisation.

    Left to itself Numba compiles a function anew for every constant that it is called with, and
    optimises what a function calls again with each function that calls it (measured: three times
    the time). So only an entry, with everything in it, is optimised.
    """
    optimisation = _config.OPT
    _config.OPT = type(optimisation)("0")
    try:
        while _waiting:
            _compile(next(iter(_waiting)))
    finally:
        _config.OPT = optimisation


def _compile(kernel: Any) -> None:
    """Compile what a kernel calls, then the kernel itself."""
    signature = _waiting.pop(kernel)
    function = kernel.py_func
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        if type(called) is type(kernel) and called in _waiting:
            _compile(called)
    kernel.compile(signature)
    kernel.disable_compile()


def entry(signature: str) -> Callable[[Function], Function]:
    """A kernel that Python calls: compiled for one signature when imported, and cached."""

    def decorate(function: Function) -> Function:
        if _config.DISABLE_JIT:
            return function
        with _cache_folder(), event.install_listener("numba:compile", _Compilation()):
            compiled: Any = numba.njit(signature, error_model="numpy", cache=_folder is not None)(
                function
            )
        return compiled  # type: ignore[no-any-return]

    return decorate


def _fingerprint() -> str:
    """Of everything that the machine code depends on, the processor apart (Numba checks it)."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _writable_folder() -> Path | None:
    """Where compiled code is kept, or ``None`` where nothing can be written at all."""
    name = f"kernels-{_fingerprint()}"
    stated = os.environ.get("NUMBA_CACHE_DIR")
    roots = [
        Path(stated) / "gltf_bullet" if stated else platformdirs.user_cache_path("gltf_bullet"),
        # Of this user only: another one could plant machine code.
        Path(tempfile.gettempdir()) / f"gltf_bullet-{os.getuid() if hasattr(os, 'getuid') else 0}",
    ]
    for root in roots:
        folder = root / name
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
                continue
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        _forget_old(root, folder)
        return folder
    return None


def _forget_old(root: Path, current: Path) -> None:
    """Remove the code of sources that are long gone."""
    with contextlib.suppress(OSError):
        others = [path for path in root.glob("kernels-*") if path != current]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_KEPT_VERSIONS:]:
            shutil.rmtree(path, ignore_errors=True)


_folder = None if _config.DISABLE_JIT else _writable_folder()


@contextlib.contextmanager
def _cache_folder() -> Iterator[None]:
    """Send Numba to our folder while a kernel is declared; others keep theirs."""
    before = _config.CACHE_DIR
    if _folder is not None:
        _config.CACHE_DIR = str(_folder)
    try:
        yield
    finally:
        _config.CACHE_DIR = before


class _Compilation(event.Listener):
    """Prepares a compilation, and says so once; loading from the cache is silent."""

    is_announced = False
    is_busy = False

    def on_start(self, event: object) -> None:  # noqa: ARG002 (Numba's signature)
        """Before a function is compiled: first of all what it calls."""
        if _Compilation.is_busy:
            return
        _Compilation.is_busy = True
        if not _Compilation.is_announced:
            _Compilation.is_announced = True
            sys.stderr.write(
                "gltf_bullet: compiling the joint solver, once on this machine (about 15 s) ...\n"
            )
            sys.stderr.flush()
        try:
            _compile_waiting()
        finally:
            _Compilation.is_busy = False

    def on_end(self, event: object) -> None:
        """Nothing to say."""
