"""The kernel that lets triggers watch a step, right after the engine has made it."""

from __future__ import annotations

from gltf_bullet.numba_aot import IntTable, call, doubles_at, ints_at, kernel
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.engine.calls import read_pose_only
from gltf_bullet.solver.triggers.layout import FIND, FOLLOW
from gltf_bullet.transforms import IntArray

__all__ = ["sense"]

# --- slots of who watches -------------------------------------------------------------------------

WATCH = 0
"""Address of the kernel of the triggers, as a C function."""
TABLE = 1
"""Address and length of the triggers' integers."""
NUMBERS = 3
"""Likewise of their floats."""
PAIRS = 5
"""Likewise of what receives the pairs."""
POSES = 7
"""Where in the floats the poses of free bodies are."""
FREE = 8
"""How many of these; their ids follow."""
HEADER = 9

_FOLLOW_AND_FIND = FOLLOW | FIND


@kernel
def sense(scenes: IntTable, row: int, engine: IntArray, client: int, dt: float) -> bool:
    """Find the pairs that may have met, after the joints were read; ``False`` without an answer."""
    who = ints_at(scenes, row, layout.SENSE)
    numbers = doubles_at(who[NUMBERS], who[NUMBERS + 1])
    for k in range(who[FREE]):
        if not read_pose_only(engine, client, who[HEADER + k], numbers, who[POSES] + 7 * k):
            return False
    scenes[row, layout.PAIRS] = call(
        who[WATCH],
        (
            scenes[row, layout.INTS], scenes[row, layout.INTS + 1],
            scenes[row, layout.FLOATS], scenes[row, layout.FLOATS + 1],
            scenes[row, layout.WORK], scenes[row, layout.WORK + 1],
            who[TABLE], who[TABLE + 1],
            who[NUMBERS], who[NUMBERS + 1],
            who[PAIRS], who[PAIRS + 1],
            _FOLLOW_AND_FIND,
            dt,
        ),
    )  # fmt: skip
    return True
