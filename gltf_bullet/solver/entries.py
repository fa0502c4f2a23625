"""The kernels that Python calls; everything else is compiled into them.

Importing this module compiles them (once on a machine), so it is imported where the first
articulation is created, not before.
"""

from __future__ import annotations

from gltf_bullet.solver import arena
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.articulation_step import evaluate_tree, prepare_articulation
from gltf_bullet.solver.compiling import entry, kernel
from gltf_bullet.solver.energy_guard import judge_step
from gltf_bullet.solver.island import (
    add_articulation,
    add_contact_rows,
    open_islands,
    touch_articulations,
)
from gltf_bullet.solver.joining import add_cut_constraints, take_results
from gltf_bullet.solver.newton import solve_islands
from gltf_bullet.solver.row_metrics import measure_rows
from gltf_bullet.solver.types import IntArray
from gltf_bullet.solver.unknown_loads import add_contact_forces, find_unknown_load
from gltf_bullet.transforms import FloatArray

__all__ = [
    "EVALUATE",
    "FINISH",
    "GATHER",
    "JUDGE",
    "MISPREDICTED",
    "MISTRUSTED",
    "NEEDS_ROOM",
    "NOT_CONVERGED",
    "NOT_FINITE",
    "OPEN",
    "PREPARE",
    "SLOWED",
    "SOLVE",
    "advance",
]

PREPARE = 1
"""State the rows of all articulations of the arena that take part in the step."""
OPEN = 2
"""Begin the islands of the step with the contacts and free bodies that were filled in."""
GATHER = 4
"""Add the articulations of the arena, with their rows and their sides of contacts."""
SOLVE = 8
"""Solve what was gathered."""
FINISH = 16
"""Bring the results back to the arena."""


JUDGE = 64
"""Only: judge the step that was just made, and take back energy that came from nowhere."""
EVALUATE = 32
"""Only: poses, velocities, mass matrix and row values of the articulation ``number``."""

NEEDS_ROOM = 1
NOT_CONVERGED = 2
NOT_FINITE = 4
MISPREDICTED = 8
"""The last step went otherwise than foreseen; motors are asked for."""
MISTRUSTED = 32
"""Contacts turn out otherwise than foreseen: the step should be judged right after it."""
SLOWED = 16
"""Velocities were taken back; the engine must be given them."""


@kernel
def _is_any(ints: IntArray, switch: int) -> bool:
    """Whether a switch is set in any articulation."""
    for k in range(ints[arena.ARTICULATIONS]):
        if ints[ints[ints[arena.RECORDS] + k] + switch]:
            return True
    return False


@entry(
    "int64(int64[::1], float64[::1], float64[::1], int64[::1], float64[::1], int64, int64, int64,"
    " int64, float64, float64, float64, float64)"
)
def advance(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    stages: int,
    number: int,
    contacts: int,
    free_bodies: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Go through some stages of a step, all of them in one call where nothing else is touched.

    Where the islands have too little room, NEEDED in their header says how much is needed, and
    all stages from OPEN on must be gone through again.

    Args:
        ints: Of the arena.
        floats: Of the arena.
        work: Of the arena.
        index: Integers of the islands.
        values: Floats of the islands.
        stages: Which ones.
        number: By which the sides of contacts call this arena.
        contacts: How many were filled in.
        free_bodies: How many were filled in.
        dt: [s]
        gx: Gravity that the engine applies [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        0, or a sum of NEEDS_ROOM, NOT_CONVERGED and NOT_FINITE.
    """
    if stages & EVALUATE:
        a = ints[ints[arena.RECORDS] + number]
        evaluate_tree(ints, floats, work, a)
        measure_rows(ints, floats, work, a)
        return 0
    if stages & (PREPARE | JUDGE):
        for k in range(ints[arena.ARTICULATIONS]):
            evaluate_tree(ints, floats, work, ints[ints[arena.RECORDS] + k])
        if ints[arena.JUDGED] == 0:
            add_contact_forces(ints, work, index, values, number, contacts, dt)
            for k in range(ints[arena.ARTICULATIONS]):
                a = ints[ints[arena.RECORDS] + k]
                if ints[a + arena.ACTS] == 1:
                    judge_step(ints, floats, work, a, dt)
                    find_unknown_load(ints, floats, work, a)
    if stages & JUDGE:
        ints[arena.JUDGED] = 1
        return SLOWED if _is_any(ints, arena.SLOWED) else 0
    if stages & PREPARE:
        for k in range(ints[arena.ARTICULATIONS]):
            a = ints[ints[arena.RECORDS] + k]
            if ints[a + arena.ACTS] != 0:
                prepare_articulation(ints, floats, work, a, dt, gx, gy, gz)
    if stages & OPEN:
        open_islands(index, values, contacts, free_bodies)
    if stages & GATHER and index[layout.NEEDED] == 0:
        for k in range(ints[arena.ARTICULATIONS]):
            a = ints[ints[arena.RECORDS] + k]
            ints[a + arena.BLOCK] = -1
            if ints[a + arena.ACTS] != 0:
                add_articulation(ints, work, a, index, values)
        if index[layout.NEEDED] == 0:
            add_cut_constraints(ints, floats, work, index, values, dt)
            touch_articulations(ints, work, index, values, number)
    if stages & SOLVE and index[layout.NEEDED] == 0:
        add_contact_rows(index, values, dt)
        solve_islands(index, values)
    if stages & FINISH and index[layout.NEEDED] == 0:
        status = 0 if take_results(ints, floats, work, index, values, dt) else NOT_FINITE
        status |= MISPREDICTED if _is_any(ints, arena.MOTORS) else 0
        if ints[arena.JUDGED] == 0:
            status |= SLOWED if _is_any(ints, arena.SLOWED) else 0
        ints[arena.JUDGED] = 0
        for k in range(ints[arena.ARTICULATIONS]):
            if floats[ints[ints[ints[arena.RECORDS] + k] + arena.MISTRUST]] > 0.0:
                status |= MISTRUSTED
        return status | (NOT_CONVERGED if index[layout.UNCONVERGED] else 0)
    return NEEDS_ROOM if index[layout.NEEDED] else 0
