"""The kernel that lets triggers watch a step, right after the engine has made it."""

from __future__ import annotations

from gltf_bullet.numba_aot import (
    IntTable,
    call,
    cells,
    doubles_at,
    ints_at,
    kernel,
    record,
    record_reader,
    size_of,
)
from gltf_bullet.solver.engine.calls import Engine, read_pose_only
from gltf_bullet.solver.island_layout import SCENE
from gltf_bullet.solver.triggers.layout import FIND, FOLLOW
from gltf_bullet.transforms import IntArray

__all__ = ["Watcher", "sense", "watcher_at"]


@record
class Watcher:
    """The triggers that watch a step, and how they are called; ids of free bodies follow."""

    watch: int
    """Address of the triggers' kernel, as a C function."""
    table: IntArray = cells(2)
    """Address and length of the triggers' integers."""
    numbers: IntArray = cells(2)
    """Address and length of their floats."""
    pairs: IntArray = cells(2)
    """Address and length of what receives the pairs."""
    poses: int
    """Offset of the poses of free bodies in the floats."""
    free_count: int
    """Count of the free bodies."""


watcher_at = record_reader(Watcher)
_WATCHER_SIZE = size_of(Watcher)
_FOLLOW_AND_FIND = FOLLOW | FIND


@kernel
def sense(scenes: IntTable, row: int, engine: Engine, client: int, dt: float) -> bool:
    """Find the pairs that may have met, after the joints were read; ``False`` without an answer."""
    ints = ints_at(scenes, row, SCENE.sense)
    watcher = watcher_at(ints, 0)
    numbers = doubles_at(watcher.numbers[0], watcher.numbers[1])
    for k in range(watcher.free_count):
        body = ints[_WATCHER_SIZE + k]
        if not read_pose_only(engine, client, body, numbers, watcher.poses + 7 * k):
            return False
    scenes[row, SCENE.pairs] = call(
        watcher.watch,
        (
            scenes[row, SCENE.ints], scenes[row, SCENE.ints + 1],
            scenes[row, SCENE.floats], scenes[row, SCENE.floats + 1],
            scenes[row, SCENE.work], scenes[row, SCENE.work + 1],
            watcher.table[0], watcher.table[1],
            watcher.numbers[0], watcher.numbers[1],
            watcher.pairs[0], watcher.pairs[1],
            _FOLLOW_AND_FIND,
            dt,
        ),
    )  # fmt: skip
    return True
