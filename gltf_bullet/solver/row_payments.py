"""Limits across several axes pay no energy: one that cannot be kept in a step is passed.

A row that looks ahead asks for what takes its metric to the limit on the curve that it goes
(:mod:`row_bends`). Where the curve turns by a good part of a radian in the step that is far more
than has come: a rope on a lever of 1 m that went taut at 60 Hz asked for 9.3 m/s where 2.7 had
come, and paid 22 J to a body that had 21 (measured). Of several rows together only the solve tells
what they pay.
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver import arena
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.transforms import FloatArray, IntArray


@kernel
def relieve_rows(
    ints: IntArray, floats: FloatArray, work: FloatArray, index: IntArray, values: FloatArray
) -> bool:
    """Let the rows of articulations that would pay ask less; whether any does, after the solve."""
    any_asks_less = False
    for number in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + number]
        if ints[a + arena.LOOKS_AHEAD] == 0 or ints[a + arena.BLOCK] < 0:
            continue
        reliefs, asks_less = ints[a + arena.ROW_RELIEF], False
        for r in range(ints[a + arena.ROW_COUNT]):
            asks_less |= work[reliefs + r] != 0.0
        if not asks_less:
            continue
        if _paid(ints, floats, work, a, index, values) <= work[ints[a + arena.MAY_PAY]]:
            continue
        for q in range(index[layout.ROWS]):
            r = index[index[layout.ROW_SOURCE] + q]
            is_own = index[index[layout.ROW_FIRST] + q] == ints[a + arena.BLOCK]
            if is_own and 0 <= r < ints[a + arena.ROW_COUNT]:
                values[index[layout.ROW_TARGET] + q] += work[reliefs + r]
                any_asks_less = True
    return any_asks_less


@kernel
def _paid(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    a: int,
    index: IntArray,
    values: FloatArray,
) -> float:
    """What the hard limits of an articulation do in the step [J].

    Impulse times mean rate: exact, since the energy of motion changes by the forces of a step times
    the mean of the velocities before and after it.
    """
    done = 0.0
    for q in range(index[layout.ROWS]):
        r = index[index[layout.ROW_SOURCE] + q]
        is_own = index[index[layout.ROW_FIRST] + q] == ints[a + arena.BLOCK]
        if not is_own or not 0 <= r < ints[a + arena.ROW_COUNT]:
            continue
        is_drive = ints[ints[a + arena.ROW_IS_DRIVE] + r] != 0
        if is_drive or not math.isinf(floats[ints[a + arena.ROW_STIFFNESS] + r]):
            continue
        before = work[ints[a + arena.ROW_RATE] + r]
        after = values[index[layout.ROW_SPEED] + q] + work[ints[a + arena.ROW_DRIFT] + r]
        done += 0.5 * values[index[layout.ROW_IMPULSE] + q] * (before + after)
    return done
