"""The kernels that Python calls; everything else is compiled into them.

Importing this module compiles them (once on a machine), so it is imported where the first
articulation is created, not before.
"""

from __future__ import annotations

from gltf_bullet.solver import arena
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.articulation_step import prepare_articulation
from gltf_bullet.solver.compiling import entry
from gltf_bullet.solver.island import (
    add_articulation,
    add_contact_rows,
    add_free_bodies,
    start_contacts,
    touch_articulations,
    touch_free_bodies,
)
from gltf_bullet.solver.joining import add_cut_constraints, take_results
from gltf_bullet.solver.newton import solve_islands
from gltf_bullet.solver.tree_dynamics import compose_inertias, fill_mass_matrix
from gltf_bullet.solver.tree_kinematics import gather_velocities, move_frames, place_frames
from gltf_bullet.solver.types import IntArray
from gltf_bullet.transforms import FloatArray

__all__ = ["evaluate", "finish", "gather", "open_islands", "prepare", "solve"]

_ARENA = "int64[::1], float64[::1], float64[::1]"
_ISLAND = "int64[::1], float64[::1]"


@entry(f"void({_ARENA}, int64)")
def evaluate(ints: IntArray, floats: FloatArray, work: FloatArray, number: int) -> None:
    """Poses, velocities and mass matrix of one articulation, from the state that was read."""
    a = ints[ints[arena.RECORDS] + number]
    place_frames(ints, floats, work, a)
    gather_velocities(ints, floats, work, a)
    move_frames(ints, floats, work, a, ints[a + arena.VELOCITY], ints[a + arena.TWIST])
    compose_inertias(ints, floats, work, a)
    fill_mass_matrix(ints, work, a)


@entry(f"void({_ARENA}, float64, float64, float64, float64)")
def prepare(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> None:
    """State the rows of all articulations that take part in the step."""
    for number in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + number]
        ints[a + arena.BLOCK] = -1
        if ints[a + arena.ACTS] != 0:
            prepare_articulation(ints, floats, work, a, dt, gx, gy, gz)


@entry(f"void({_ISLAND}, int64, int64)")
def open_islands(index: IntArray, values: FloatArray, contacts: int, free_bodies: int) -> None:
    """Begin the islands of a step with the contacts and free bodies that were filled in."""
    index[layout.BLOCKS] = 0
    index[layout.ROWS] = 0
    index[layout.VELOCITIES] = 0
    index[layout.NEEDED] = 0
    index[layout.TOP] = index[layout.FIRST]
    index[layout.CONTACTS] = contacts
    index[layout.FREE_BODIES] = free_bodies
    start_contacts(index, values)
    add_free_bodies(index, values)
    if index[layout.NEEDED] == 0:
        touch_free_bodies(index, values)


@entry(f"void({_ARENA}, {_ISLAND}, int64, float64)")
def gather(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    number: int,
    dt: float,
) -> None:
    """Add the articulations of an arena, with their rows and their sides of contacts."""
    for k in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + k]
        if ints[a + arena.ACTS] != 0:
            add_articulation(ints, work, a, index, values)
    if index[layout.NEEDED] == 0:
        add_cut_constraints(ints, floats, work, index, values, dt)
        touch_articulations(ints, work, index, values, number)


@entry(f"void({_ISLAND}, float64)")
def solve(index: IntArray, values: FloatArray, dt: float) -> None:
    """Solve the islands that were gathered."""
    if index[layout.NEEDED] == 0:
        add_contact_rows(index, values, dt)
        solve_islands(index, values)


@entry(f"void({_ARENA}, {_ISLAND}, float64)")
def finish(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
) -> None:
    """Bring the results back to the arena that they belong to."""
    take_results(ints, floats, work, index, values, dt)
