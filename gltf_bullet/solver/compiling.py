"""How kernels are compiled: once per machine, kept in a cache that cannot be stale or in the way.

Numba's own cache is found by the source file of each function, so a change in a function that
another file calls would go unseen, and a read-only installation has nowhere to write. Ours is one
folder per state of the sources in the user's cache directory, or a temporary one.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np
import platformdirs
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic
from numba.np import arrayobj
from numba.np.numpy_support import carray

from gltf_bullet.transforms import FloatArray, IntArray

__all__ = [
    "IS_COMPILED",
    "IntTable",
    "address_of",
    "addresses",
    "compile_side_by_side",
    "doubles_at",
    "entry",
    "floats_at",
    "ints_at",
    "kernel",
    "table_at",
    "words_at",
]

IntTable: TypeAlias = IntArray
"""Of two dimensions."""

_KEPT_VERSIONS = 3
"""Cache folders of earlier sources that are kept: several installations may share a machine."""

_COMPLETE = f"complete-{hashlib.sha256(__file__.encode()).hexdigest()[:8]}"
"""File in the cache folder that says that all entries of this installation are in it: Numba keeps
those of another one apart."""
_IS_WORKER = "GLTF_BULLET_COMPILES"
"""Environment variable of processes that only compile."""
_LONGEST_WAIT = 120.0
"""[s] after which a compilation by somebody else is given up."""
_announced: list[bool] = []

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config
_types: Any = numba.types

_TYPES = {
    "IntArray": "int64[::1]",
    "IntTable": "int64[:, ::1]",
    "FloatArray": "float64[::1]",
    "int": "int64",
    "float": "float64",
    "bool": "boolean",
}
"""Numba's names of the annotations in kernels."""

IS_COMPILED = not _config.DISABLE_JIT
"""Whether kernels are machine code; not while somebody looks for an error in them."""

_waiting: dict[Any, str] = {}
"""Kernels that were declared and not compiled, with their signatures."""


def kernel(function: Function) -> Function:
    """A function that only other kernels call; it is compiled into their code."""
    if _config.DISABLE_JIT:
        return function
    # Python never calls it.
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(error_model="numpy", **options)(function)
    arguments = [
        _TYPES[annotation]
        for key, annotation in function.__annotations__.items()
        if key != "return"
    ]
    _waiting[compiled] = f"({', '.join(arguments)},)"
    return compiled  # type: ignore[no-any-return]


def addresses(*arrays: IntArray | FloatArray) -> list[int]:
    """A row of a table of arrays: address and length of each; whoever holds it holds them."""
    return [number for array in arrays for number in (array.ctypes.data, len(array))]


def _pointer_to(item: Any) -> Any:
    """What makes an address a pointer, in compiled code."""

    def declare(_context: object, _address: object) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return _types.CPointer(item)(_types.int64), generate

    return intrinsic(declare)


if _config.DISABLE_JIT:

    def words_at(address: int, count: int) -> IntArray:
        """Integers in memory."""
        return np.ctypeslib.as_array((ctypes.c_int64 * int(count)).from_address(int(address)))

    def doubles_at(address: int, count: int) -> FloatArray:
        """Floats in memory."""
        return np.ctypeslib.as_array((ctypes.c_double * int(count)).from_address(int(address)))

else:
    _ints, _floats = _pointer_to(_types.int64), _pointer_to(_types.float64)

    @kernel
    def words_at(address: int, count: int) -> IntArray:
        """Integers in memory."""
        return carray(_ints(address), count)

    @kernel
    def doubles_at(address: int, count: int) -> FloatArray:
        """Floats in memory."""
        return carray(_floats(address), count)


@kernel
def ints_at(table: IntTable, row: int, column: int) -> IntArray:
    """The integers whose address and length stand in a column of a table and the next one."""
    return words_at(table[row, column], table[row, column + 1])


@kernel
def floats_at(table: IntTable, row: int, column: int) -> FloatArray:
    """The floats whose address and length stand in a column of a table and the next one."""
    return doubles_at(table[row, column], table[row, column + 1])


@kernel
def table_at(table: IntTable, row: int) -> IntTable:
    """A row of a table as a table of its own."""
    width = table.shape[1]
    return carray(_ints(table.ctypes.data + 8 * width * row), (1, width))


def address_of(function: Any) -> int:
    """Of an entry, as a C function of what it takes: for other entries to call it."""
    [compiled] = function.overloads.values()
    found = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
    return int(found)


def _compile_callees(function: Any) -> None:
    """Compile the kernels that a function calls, each for one signature, without optimisation.

    Left to itself Numba compiles a function anew for every constant that it is called with, and
    optimises what a function calls again with each function that calls it (measured: three times
    the time). So only an entry, with everything in it, is optimised.
    """
    optimisation = _config.OPT
    _config.OPT = type(optimisation)("0")
    try:
        _compile_called(function)
    finally:
        _config.OPT = optimisation


def _compile_called(function: Any) -> None:
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        signature = _waiting.pop(called, None) if isinstance(called, Dispatcher) else None
        if signature is not None:
            _compile_called(called.py_func)
            called.compile(signature)
            called.disable_compile()


def entry(signature: str) -> Callable[[Function], Function]:
    """A kernel that Python calls: compiled for one signature when imported, and cached."""

    def decorate(function: Function) -> Function:
        if _config.DISABLE_JIT:
            return function
        listener = event.install_listener("numba:compile", _Compilation(function))
        with _cache_folder(), _plain_indices(), listener:
            compiled: Any = numba.njit(signature, error_model="numpy", cache=_folder is not None)(
                function
            )
        return compiled  # type: ignore[no-any-return]

    return decorate


def compile_side_by_side(modules: Sequence[str]) -> None:
    """Compile the entries of some modules, each in a process of its own, where none has yet.

    Whoever comes meanwhile waits for them. Where that cannot be, as in a frozen program, importing
    the modules compiles them as well, one after the other.
    """
    if _folder is None or (_folder / _COMPLETE).exists():
        return
    if "python" not in Path(sys.executable or "").name.lower():
        return
    _announce()
    lock = _folder / "compiling"
    try:
        lock.touch(exist_ok=False)
    except OSError:
        _wait_for_others(lock)
        return
    try:
        places = os.pathsep.join(path for path in sys.path if path)
        workers = [
            subprocess.Popen(  # noqa: S603  # our own module, by the same interpreter
                [sys.executable, "-c", f"import {module}"],
                env={**os.environ, "PYTHONPATH": places, _IS_WORKER: "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for module in modules
        ]
        codes = [worker.wait() for worker in workers]
        if not any(codes):
            (_folder / _COMPLETE).touch()
    except OSError:
        return
    finally:
        lock.unlink(missing_ok=True)


def _wait_for_others(lock: Path) -> None:
    """Until another process has compiled; not for one that has died over it."""
    with contextlib.suppress(OSError):
        while time.time() - lock.stat().st_mtime < _LONGEST_WAIT:
            time.sleep(0.1)
        lock.unlink(missing_ok=True)


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
    """Of everything that the machine code depends on, the processor apart (Numba checks it)."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
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


@contextlib.contextmanager
def _plain_indices() -> Iterator[None]:
    """Let no index count from the end while a kernel is compiled: ours never do.

    Otherwise Numba asks at every single access whether the index is negative, which makes the
    solve of a ragdoll two and a half times as slow (measured). Others who compile wait meanwhile.
    """
    with global_compiler_lock:
        # Numba's own, not its promise: where it is another one, kernels are slower and that is all.
        indexing: Any = arrayobj
        before = getattr(indexing, "fix_integer_index", None)
        indexing.fix_integer_index = before and _plain_index
        try:
            yield
        finally:
            indexing.fix_integer_index = before


def _plain_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:  # noqa: ARG001
    return context.cast(builder, index, kind, _types.intp if kind.signed else _types.uintp)


class _Compilation(event.Listener):
    """Prepares the compilation of an entry, and says so; loading from the cache is silent."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def on_start(self, event: object) -> None:  # noqa: ARG002 (Numba's signature)
        """Before anything of the entry is compiled: first of all what it calls."""
        function, self._function = self._function, None
        if function is not None:
            _announce()
            _compile_callees(function)

    def on_end(self, event: object) -> None:
        """Nothing to say."""
