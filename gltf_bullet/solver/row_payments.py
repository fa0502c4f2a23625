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
from gltf_bullet.solver.articulation_arrays import Articulation, articulation_at, scene_at
from gltf_bullet.solver.island_layout import islands_at
from gltf_bullet.transforms import FloatArray, IntArray


@kernel
def relieve_rows(
    ints: IntArray, floats: FloatArray, work: FloatArray, index: IntArray, values: FloatArray
) -> bool:
    """Let the rows of articulations that would pay ask less; whether any does, after the solve."""
    scene = scene_at(ints, 0)
    islands = islands_at(index, 0)
    any_asks_less = False
    for number in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + number])
        if articulation.uses_curvature == 0 or articulation.block < 0:
            continue
        reliefs, asks_less = articulation.row_reduction, False
        for r in range(articulation.row_count):
            asks_less |= work[reliefs + r] != 0.0
        if not asks_less:
            continue
        if (
            _paid(ints, floats, work, articulation, index, values)
            <= work[articulation.energy_budget]
        ):
            continue
        for q in range(islands.row_count):
            r = index[islands.row_source + q]
            is_own = index[islands.row_first + q] == articulation.block
            if is_own and 0 <= r < articulation.row_count:
                values[islands.row_target + q] += work[reliefs + r]
                any_asks_less = True
    return any_asks_less


@kernel
def _paid(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    index: IntArray,
    values: FloatArray,
) -> float:
    """What the hard limits of an articulation do in the step [J].

    Impulse times mean rate: exact, since the energy of motion changes by the forces of a step times
    the mean of the velocities before and after it.
    """
    islands = islands_at(index, 0)
    done = 0.0
    for q in range(islands.row_count):
        r = index[islands.row_source + q]
        is_own = index[islands.row_first + q] == articulation.block
        if not is_own or not 0 <= r < articulation.row_count:
            continue
        is_drive = ints[articulation.row_is_drive + r] != 0
        if is_drive or not math.isinf(floats[articulation.row_stiffness + r]):
            continue
        before = work[articulation.row_rate + r]
        after = values[islands.row_speed + q] + work[articulation.row_drift + r]
        done += 0.5 * values[islands.row_impulse + q] * (before + after)
    return done
