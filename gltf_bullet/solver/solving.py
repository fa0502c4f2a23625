"""The kernel that joins articulations, free bodies and contacts to islands, and solves them."""

from __future__ import annotations

from gltf_bullet.numba_aot import IntTable, entry, floats_at, ints_at, kernel
from gltf_bullet.solver.articulation_arrays import articulation_at, scene_at
from gltf_bullet.solver.island import add_articulation
from gltf_bullet.solver.island_contacts import (
    add_contact_rows,
    open_islands,
    touch_articulations,
)
from gltf_bullet.solver.island_layout import FINISH, GATHER, OPEN, RELIEVE, SCENE, SOLVE, islands_at
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
def _flags(ints: IntArray) -> int:
    """Collect the outcomes that switches of any articulation stand for."""
    scene, status = scene_at(ints, 0), 0
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        status |= MISPREDICTED if articulation.uses_motors else 0
        status |= STRANDED if articulation.outside_limit else 0
        status |= TAKEN_OVER if articulation.external_drive_started else 0
        status |= OVERSHOT if articulation.overshot_row else 0
    return status


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
    scene = scene_at(ints, 0)
    islands = islands_at(index, 0)
    last_dt = last_engine_step(ints, floats, dt)
    # The engine looked for contacts when its last substep began.
    since = last_dt / max(scene.substeps, 1)
    if stages & OPEN:
        open_islands(index, values, contacts, free_bodies, since)
    if stages & GATHER and islands.needed == 0:
        for k in range(scene.articulation_count):
            articulation = articulation_at(ints, ints[scene.articulations + k])
            articulation.block = -1
            if articulation.participation != 0:
                add_articulation(ints, work, articulation, index, values)
        if islands.needed == 0:
            add_cut_constraints(ints, floats, work, index, values, dt)
            touch_articulations(ints, work, index, values, number, since)
    if stages & SOLVE and islands.needed == 0:
        add_contact_rows(index, values, dt, since, dt / last_dt, whole_step(ints, dt))
        solve_islands(index, values)
        islands.targets_reduced = 0
    is_relieving = stages & RELIEVE and islands.needed == 0
    if is_relieving and relieve_rows(ints, floats, work, index, values):
        islands.targets_reduced = 1
    if stages & FINISH and islands.needed == 0:
        if islands.targets_reduced:
            solve_islands(index, values)
            islands.targets_reduced = 0
        status = 0 if take_results(ints, floats, work, index, values, dt) else NOT_FINITE
        status |= _flags(ints)
        return status | (NOT_CONVERGED if islands.unconverged else 0)
    return NEEDS_ROOM if islands.needed else 0


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
            ints_at(scenes, row, SCENE.ints),
            floats_at(scenes, row, SCENE.floats),
            floats_at(scenes, row, SCENE.work),
            ints_at(scenes, row, SCENE.island_ints),
            floats_at(scenes, row, SCENE.island_floats),
            stages, number, contacts, free_bodies, dt,
        )  # fmt: skip
        scenes[row, SCENE.status] = status
        found |= status
    return found
