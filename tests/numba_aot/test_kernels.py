"""Kernels as machine code: what Python may hand them, where they are kept, what a process needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock, Timeout

from gltf_bullet.numba_aot import address_of, call, entry, kernel, load, object_cache, words_at
from gltf_bullet.numba_aot.declarations import IS_COMPILED, IntTable
from gltf_bullet.private_folders import private_folder
from gltf_bullet.solver.entries import load_entries
from gltf_bullet.transforms import FloatArray, IntArray

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python")


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the entries of a test are kept."""
    monkeypatch.setattr(object_cache, "_folder", lambda: private_folder(tmp_path))
    monkeypatch.setattr(object_cache, "_announced", [True])
    return tmp_path


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., int]]:
    """Built once."""
    with pytest.MonkeyPatch.context() as patch:
        folder = private_folder(tmp_path_factory.mktemp("kernels"))
        patch.setattr(object_cache, "_folder", lambda: folder)
        patch.setattr(object_cache, "_announced", [True])
        compiled = entry(add_up)
        load(compiled)
        yield compiled


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


def test_entries_call_each_other_by_address(folder: Path) -> None:
    values = np.array([3, 5, 8], dtype=np.int64)
    inner, outer = entry(last_of), entry(call_back)
    assert outer(address_of(inner), values.ctypes.data, len(values)) == values[-1]


@pytest.mark.parametrize("damage", [b"", b"not a digest, and no code"])
def test_a_damaged_file_is_made_anew(folder: Path, damage: bytes) -> None:
    load(entry(last_of))
    [kept] = folder.glob("*.object")
    whole = kept.read_bytes()
    kept.write_bytes(damage or whole[:-10])
    assert entry(last_of)(np.array([4], dtype=np.int64)) == 4
    assert kept.read_bytes() == whole


def test_without_a_folder_kernels_are_built_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "_folder", lambda: None)
    monkeypatch.setattr(object_cache, "_announced", [True])
    assert entry(last_of)(np.array([1, 9], dtype=np.int64)) == 9


def test_a_process_that_finds_them_does_not_need_numba() -> None:
    load_entries()
    code = (
        "import sys; from gltf_bullet.solver.entries import load_entries; load_entries(); "
        "sys.exit('numba' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_nothing_is_built_before_somebody_needs_it(folder: Path) -> None:
    compiled = entry(last_of)
    assert not list(folder.iterdir())
    assert compiled(np.array([6], dtype=np.int64)) == 6
    assert len(list(folder.iterdir())) == 1


def test_a_scene_without_joints_compiles_nothing(tmp_path: Path) -> None:
    box = Path(__file__).parents[2] / "examples" / "assets" / "falling_box.gltf"
    code = (
        "import pybullet, gltf_bullet as gb; "
        f"gb.load_gltf({str(box)!r}, pybullet.connect(pybullet.DIRECT)).step(3)"
    )
    places = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": places, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert not list(tmp_path.iterdir())


def test_nobody_waits_for_a_process_that_was_killed_while_it_compiled(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module that it compiles sleeps for good; what comes next compiles at once."""
    (folder / "sleeps.py").write_text("import time\ntime.sleep(1000)\n")
    code = (
        "from gltf_bullet.private_folders import private_folder; "
        "from gltf_bullet.numba_aot import object_cache; "
        f"object_cache._folder = lambda: private_folder({str(folder)!r}); "
        "object_cache.package_library = lambda: None; "
        "object_cache.compile_side_by_side(('sleeps',))"
    )
    places = os.pathsep.join([str(folder), *filter(None, sys.path)])
    killed = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": places},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    lock = FileLock(folder / "compiling")
    while not is_held(lock):
        assert killed.poll() is None
        time.sleep(0.02)
    monkeypatch.setattr(object_cache, "package_library", lambda: None)
    monkeypatch.setattr(object_cache, "_LONGEST_WAIT", 0.0)
    object_cache.compile_side_by_side(("json",))
    assert not (folder / "complete").exists()  # while the other one lives it is waited for
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    monkeypatch.setattr(object_cache, "_LONGEST_WAIT", 20.0)
    object_cache.compile_side_by_side(("json",))
    assert (folder / "complete").exists()


def is_held(lock: FileLock) -> bool:
    """Whether another process has it."""
    try:
        with lock.acquire(timeout=0.0):
            return False
    except Timeout:
        return True
