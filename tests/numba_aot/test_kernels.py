"""Kernels as machine code: what Python may hand them, where they are kept, what a process needs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock, Timeout

from gltf_bullet.numba_aot import (
    address_of,
    call,
    entries,
    entry,
    is_compiled,
    kernel,
    load,
    words_at,
)
from gltf_bullet.numba_aot.declarations import IntTable
from gltf_bullet.numba_aot.library import can_compile, host_target, linker
from gltf_bullet.solver.entries import load_entries
from gltf_bullet.transforms import FloatArray, IntArray

pytestmark = pytest.mark.skipif(not is_compiled(), reason="kernels are plain Python")


@kernel
def weighted(values: FloatArray, factor: float) -> float:
    total = 0.0
    for k in range(len(values)):
        total += factor * values[k]
    return total


def add_up(table: IntTable, values: FloatArray, out: IntArray, factor: float, least: int) -> int:
    """What the test below says."""
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            least += table[row, column]
    out[0] = words_at(out.ctypes.data + 8, 1)[0]
    return int(weighted(values, factor)) + least


def call_back(function: int, address: int, count: int) -> int:
    """Call an entry that takes one array."""
    return call(function, (address, count))


def last_of(values: IntArray) -> int:
    """The last one."""
    return int(values[len(values) - 1])


@pytest.fixture(scope="module")
def added() -> Callable[..., int]:
    """Built once."""
    compiled = entry(add_up)
    load(compiled)
    return compiled


TABLE = np.arange(6, dtype=np.int64).reshape(2, 3)
VALUES = np.array([0.5, 1.5, 2.0])


def test_arrays_and_numbers_reach_the_kernel(added: Callable[..., int]) -> None:
    out = np.array([0, 7], dtype=np.int64)
    assert added(TABLE, VALUES, out, 10.0, -1) == int(10.0 * VALUES.sum()) + TABLE.sum() - 1
    assert out[0] == out[1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), TypeError),
        ((TABLE, VALUES, TABLE[0], 1.0), TypeError),
        ((TABLE, [0.5], TABLE[0], 1.0, 1), TypeError),
        ((TABLE, VALUES, TABLE[0], "x", 1), TypeError),
        ((TABLE, VALUES, TABLE[0], 1.0, 0.5), TypeError),
        ((TABLE, VALUES, TABLE[0], 1.0, 2**70), OverflowError),
    ],
)
def test_a_call_that_does_not_fit_is_refused(
    added: Callable[..., int], arguments: tuple[Any, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        added(*arguments)


def test_minus_one_is_a_number_like_others(added: Callable[..., int]) -> None:
    out = np.zeros(2, dtype=np.int64)
    assert added(0 * TABLE, VALUES, out, -1.0, -1) == int(-VALUES.sum()) - 1


def test_entries_call_each_other_by_address() -> None:
    values = np.array([3, 5, 8], dtype=np.int64)
    inner, outer = entry(last_of), entry(call_back)
    assert outer(address_of(inner), values.ctypes.data, len(values)) == values[-1]


def test_a_process_that_finds_them_does_not_need_numba() -> None:
    load_entries()
    code = (
        "import sys; from gltf_bullet.solver.entries import load_entries; load_entries(); "
        "sys.exit('numba' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_nothing_is_built_before_somebody_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, built = entry(last_of), []
    make = entries._make
    monkeypatch.setattr(entries, "_make", lambda made: (built.append(len(made)), make(made)))
    assert not built
    assert compiled(np.array([6], dtype=np.int64)) == 6
    assert compiled(np.array([6, 8], dtype=np.int64)) == 8
    assert built == [1]


def test_entries_stay_python_where_nothing_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "is_compiled", lambda: False)
    assert entry(last_of) is last_of


def test_a_scene_without_joints_compiles_nothing(tmp_path: Path) -> None:
    box = Path(__file__).parents[2] / "examples" / "assets" / "falling_box.gltf"
    code = (
        "import sys, pybullet, gltf_bullet as gb; "
        f"gb.load_gltf({str(box)!r}, pybullet.connect(pybullet.DIRECT)).step(3); "
        "sys.exit('numba' in sys.modules)"
    )
    places = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": places}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


COMPILE = """
import sys
from pathlib import Path
import gltf_bullet.solver
from gltf_bullet.numba_aot import builds, library
folder = Path(sys.argv[1])
made = library.Project("p", "kernels", sys.argv[2:], (folder,), folder / "compiled")
library.configure(made)
builds._LONGEST_WAIT = 0.0 if "waits" in sys.argv else 60.0
builds.compile_package()
found = library.package_library()
print(found and found.path.name)
"""


def compiling(folder: Path, *modules: str) -> subprocess.Popen[str]:
    """A process that makes the library of a package whose only module is ``modules``."""
    return subprocess.Popen(
        [sys.executable, "-c", COMPILE, str(folder), *modules],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(not can_compile() or not linker(), reason="nothing compiles and links")
def test_nobody_waits_for_a_process_that_was_killed_while_it_compiled(tmp_path: Path) -> None:
    """The module that it compiles sleeps for good; what comes next compiles at once."""
    (tmp_path / "sleeps.py").write_text("import time\ntime.sleep(1000)\n")
    (tmp_path / "one.py").write_text(
        "from gltf_bullet.numba_aot import entry\n"
        "def count(k: int) -> int:\n    return k + 1\n"
        "count.__annotations__ = {'k': 'int', 'return': 'int'}\nentry(count)\n"
    )
    killed = compiling(tmp_path, "sleeps")
    lock = FileLock(tmp_path / "compiled" / "compiling")
    while not is_held(lock):
        assert killed.poll() is None
        time.sleep(0.02)
    killed.kill()
    killed.communicate()
    said, errors = compiling(tmp_path, "one").communicate()
    assert said.startswith(f"{host_target()}-"), errors
    assert "p: compiling kernels for" in errors
    said_again, errors = compiling(tmp_path, "one").communicate()
    assert said_again == said
    assert "compiling" not in errors


def is_held(lock: FileLock) -> bool:
    """Whether another process has it."""
    if not Path(lock.lock_file).exists():
        return False
    try:
        with lock.acquire(timeout=0.0):
            return False
    except Timeout:
        return True
