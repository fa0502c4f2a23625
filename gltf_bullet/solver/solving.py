"""The kernel that joins articulations, free bodies and contacts to islands, and solves them."""

from __future__ import annotations

from gltf_bullet.numba_aot import IntTable, entry, floats_at, ints_at, kernel
from gltf_bullet.solver import arena
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.island import add_articulation
from gltf_bullet.solver.island_contacts import (
    add_contact_rows,
    open_islands,
    touch_articulations,
)
from gltf_bullet.solver.island_layout import (
    FINISH,
    GATHER,
    OPEN,
    RELIEVE,
    SOLVE,
)
from gltf_bullet.solver.joining import add_cut_constraints, take_results
from gltf_bullet.solver.newton import solve_islands
from gltf_bullet.solver.outcomes import (
    MISPREDICTED,
    NEEDS_ROOM,
    NOT_CONVERGED,
    NOT_FINITE,
    OVERSHOT,
    STRANDED,
    TAKEN_OVER,
)  # fmt: skip
from gltf_bullet.solver.row_payments import relieve_rows
from gltf_bullet.solver.step_division import last_engine_step, whole_step
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["solve"]


@kernel
def _is_any(ints: IntArray, switch: int) -> bool:
    """Whether a switch is set in any articulation."""
    for k in range(ints[arena.ARTICULATIONS]):
        if ints[ints[ints[arena.RECORDS] + k] + switch]:
            return True
    return False


@kernel
def _solve_one(
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
) -> int:
    last_dt = last_engine_step(ints, floats, dt)
    # The engine looked for contacts when its last substep began.
    since = last_dt / max(ints[arena.SUBSTEPS], 1)
    if stages & OPEN:
        open_islands(index, values, contacts, free_bodies, since)
    if stages & GATHER and index[layout.NEEDED] == 0:
        for k in range(ints[arena.ARTICULATIONS]):
            a = ints[ints[arena.RECORDS] + k]
            ints[a + arena.BLOCK] = -1
            if ints[a + arena.ACTS] != 0:
                add_articulation(ints, work, a, index, values)
        if index[layout.NEEDED] == 0:
            add_cut_constraints(ints, floats, work, index, values, dt)
            touch_articulations(ints, work, index, values, number, since)
    if stages & SOLVE and index[layout.NEEDED] == 0:
        add_contact_rows(index, values, dt, since, dt / last_dt, whole_step(ints, dt))
        solve_islands(index, values)
        index[layout.RELIEVED] = 0
    is_relieving = stages & RELIEVE and index[layout.NEEDED] == 0
    if is_relieving and relieve_rows(ints, floats, work, index, values):
        index[layout.RELIEVED] = 1
    if stages & FINISH and index[layout.NEEDED] == 0:
        if index[layout.RELIEVED]:
            solve_islands(index, values)
            index[layout.RELIEVED] = 0
        status = 0 if take_results(ints, floats, work, index, values, dt) else NOT_FINITE
        status |= MISPREDICTED if _is_any(ints, arena.MOTORS) else 0
        status |= STRANDED if _is_any(ints, arena.STRANDED) else 0
        status |= TAKEN_OVER if _is_any(ints, arena.TAKES_OVER) else 0
        status |= OVERSHOT if _is_any(ints, arena.OVERSHOT) else 0
        return status | (NOT_CONVERGED if index[layout.UNCONVERGED] else 0)
    return NEEDS_ROOM if index[layout.NEEDED] else 0


@entry
def solve(
    scenes: IntTable,
    stages: int,
    number: int,
    contacts: int,
    free_bodies: int,
    dt: float,
) -> int:
    """Go through some stages of a step, all of them in one call where nothing else is touched.

    Where the islands have too little room, NEEDED in their header says how much is needed, and
    all stages from OPEN on must be gone through again.

    Args:
        scenes: Their arrays after ``prepare``, a row each: see ``island_layout.row_of``; receives
            what became of each, as is returned.
        stages: Which ones.
        number: By which the sides of contacts call this arena.
        contacts: How many were filled in.
        free_bodies: How many were filled in.
        dt: [s]

    Returns:
        What became of it, see ``outcomes``; of several scenes what is true of any.
    """
    found = 0
    for row in range(len(scenes)):
        status = _solve_one(
            ints_at(scenes, row, layout.INTS),
            floats_at(scenes, row, layout.FLOATS),
            floats_at(scenes, row, layout.WORK),
            ints_at(scenes, row, layout.INDEX),
            floats_at(scenes, row, layout.VALUES),
            stages, number, contacts, free_bodies, dt,
        )  # fmt: skip
        scenes[row, layout.STATUS] = status
        found |= status
    return found
