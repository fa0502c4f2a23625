"""The arrays of a step's islands, and the table by which kernels find all arrays of a scene.

Blocks are articulations and free bodies; rows act between one or two of them. There are two arrays,
integers and floats; an :class:`Islands` stands first in the integers. The kernels of ``island``
fill the arrays, ``newton`` solves them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gltf_bullet.numba_aot import IntTable, addresses, record, record_reader
from gltf_bullet.solver.tables import FLOATS, INTS, Column, offsets, pack, table
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = [
    "CONTACT", "CONTACT_SOURCE", "FREE", "HELD", "HELD_SOURCE", "LEAST_MOMENT", "SCENE", "SIDE",
    "Islands", "allocate", "islands_at", "row_of",
]  # fmt: skip

# --- rows of tables -------------------------------------------------------------------------------


class _Side(NamedTuple):
    """One of both bodies of a contact."""

    scene: int = 1
    """Number of the scene among those that are solved together, -1 for a free body."""
    record: int = 1
    """Offset of the articulation's record, or number of the free body."""
    frame: int = 1
    block: int = 1
    """Block or -1; found by the kernels."""
    jacobian: int = 1
    """Offset of floats [3, n]."""
    size: int = 0


class _Contact(NamedTuple):
    """A contact."""

    position: int = 3
    """Point on the first body; kernels replace it by the middle of both points."""
    other: int = 3
    """Point on the second body; likewise."""
    directions: int = 9
    """[3, 3] unit vectors: the normal, from the second body to the first, and two tangents."""
    distance: int = 1
    """Distance at the last collision detection [m], negative inside."""
    forces: int = 3
    """Forces along the directions in the last step [N]."""
    friction: int = 1
    rate: int = 3
    """Present velocity along the directions [m/s]. Kernels fill in this part and those below."""
    drift: int = 3
    """Prescribed part of the rate."""
    compliance: int = 3
    """J M^-1 J^T."""
    size: int = 0


class _Free(NamedTuple):
    """A free body."""

    com: int = 3
    rotation: int = 4
    """Quaternion xyzw, world from principal axes."""
    mass: int = 1
    """0 for a body that moves by itself."""
    moments: int = 3
    velocity: int = 6
    """Present velocity, linear and angular."""
    gain: int = 6
    """Change of the velocity by known forces within the step."""
    inertia: int = 9
    """[3, 3] in world axes. Kernels fill in this part and that below."""
    turn: int = 9
    """[3, 3] world from principal axes."""
    size: int = 0


SIDE, CONTACT, FREE = offsets(_Side), offsets(_Contact), offsets(_Free)

# --- the record -----------------------------------------------------------------------------------


@record
class Islands:
    """All islands of a step."""

    block_count: int
    row_count: int
    contact_count: int
    free_body_count: int
    velocity_count: int
    """Count of the velocities of all blocks."""
    top: int
    """First float that is not in use."""
    capacity: int
    """Count of the floats."""
    needed: int
    """Floats that the last call would have needed, 0 if there were enough."""
    iterations: int
    """Largest number of iterations that an island took."""
    unconverged: int
    """Count of the islands whose iterations did not converge."""
    unconverged_label: int
    """Label of one of them."""
    targets_reduced: int
    """1 if rows ask for less than when the islands were solved."""
    first: int
    """First float behind the tables."""

    block_size: int = table(INTS, "b")
    block_mass: int = table(INTS, "b")
    """Offset of each block's mass matrix [n, n] in the floats."""
    block_place: int = table(INTS, "b")
    """First velocity of each block."""
    block_label: int = table(INTS, "b")
    """Some block of the same island."""
    row_first: int = table(INTS, "r")
    """First block of each row."""
    row_first_jacobian: int = table(INTS, "r")
    """Offset of floats [n]."""
    row_second: int = table(INTS, "r")
    """Second block of each row, or -1."""
    row_second_jacobian: int = table(INTS, "r")
    row_unit: int = table(INTS, "r")
    """The only velocity that a row depends on, with factor 1, or -1."""
    row_source: int = table(INTS, "r")
    """Number among the rows of the articulation; of a contact CONTACT_SOURCE + its number; of a
    cut constraint -1 - (6 times its number + k)."""
    row_side: int = table(INTS, "r")
    """-1: clipped at the lower bound, 0: in between, 1: at the upper one."""
    row_crossing: int = table(INTS, "r")
    """Scratch: rows that change sides along the line of a search."""
    contact_sides: int = table(INTS, "c", 2, SIDE.size)
    free_block: int = table(INTS, "f")
    """Block of each free body, or -1."""
    symbolic: int = table(INTS, "symbolic")
    """Scratch of the elimination: lists [b], a table [b, b], a list of its size."""

    free: int = table(FLOATS, "f", FREE.size)
    contact: int = table(FLOATS, "c", CONTACT.size)
    row_target: int = table(FLOATS, "r")
    row_softness: int = table(FLOATS, "r")
    row_low: int = table(FLOATS, "r")
    row_high: int = table(FLOATS, "r")
    row_impulse: int = table(FLOATS, "r")
    row_speed: int = table(FLOATS, "r")
    row_step: int = table(FLOATS, "r")
    free_velocity: int = table(FLOATS, "v")
    """Velocities if no row acts."""
    present_velocity: int = table(FLOATS, "v")
    velocity: int = table(FLOATS, "v")
    """The iterate; in the end the result."""
    right_side: int = table(FLOATS, "v")
    free_momentum: int = table(FLOATS, "v")
    """M v of the free velocities."""


islands_at = record_reader(Islands)

CONTACT_SOURCE = 1 << 40
"""Rows from this number on belong to contacts."""
HELD_SOURCE = 1 << 41
"""Rows from this number on belong to points that somebody else's constraint holds together."""
HELD = 1e6
"""Such a point stands among the contacts with -(HELD + largest force [N]) for its distance, and for
its forces the gap [m] between the point on the first body and that on the second."""


LEAST_MOMENT = 1e-12
"""[kg m^2] Least moment of inertia of a free body that forces can turn."""


# --- stages of ``prepare`` and of ``solve``; their results: ``outcomes`` --------------------------

PREPARE = 1
"""Set up the rows of all articulations of the scene that take part in the step."""
EVALUATE = 3
"""Compute poses, velocities, mass matrix and row values of the articulation ``number``."""
HEAR = 5
"""Read the motor forces into the memory, for a snapshot."""
DIVIDE = 7
"""Compute how many engine steps the coming step needs: see ``step_division``."""
CLOSE = 4
"""Close the loops that the last step has left open."""

OPEN = 1
"""Begin the islands of the step with the contacts and free bodies that were filled in."""
GATHER = 2
"""Add the articulations of the scene, with their rows and their sides of contacts."""
SOLVE = 4
"""Solve what was gathered."""
RELIEVE = 16
"""After the solve, of every scene that takes part: reduce targets of limits that add energy."""
FINISH = 8
"""Bring the results back to the scene; if targets were reduced, solve anew before the first."""


# --- the table of scenes --------------------------------------------------------------------------


class _SceneColumns(NamedTuple):
    """Columns of the table of scenes; of each array the address, then the length."""

    ints: int = 2
    """Integers of the articulations."""
    floats: int = 2
    work: int = 2
    island_ints: int = 2
    island_floats: int = 2
    engine: int = 2
    """Integers by which the engine is called, empty where Python calls it."""
    plan: int = 2
    """Integers that say what is read of a scene and applied to it."""
    ownership: int = 2
    """Integers that tell a scene's bodies from others with the same ids."""
    touch: int = 2
    """Integers of the contact table of the last step."""
    touch_values: int = 2
    """Floats of that table."""
    status: int = 1
    """Outcome of the solve."""
    touching: int = 1
    """Count of the contacts that a kernel filled in, -1 if only Python can."""
    sense: int = 2
    """Integers of the triggers that watch the step: see ``engine.sensing``."""
    pairs: int = 1
    """Count of the pairs that the triggers of a scene have found."""
    steps: int = 1
    """Count of the steps to be made at once, then of those that were made."""
    parts: int = 1
    """Engine steps that the coming step needs, if it needs several."""
    size: int = 0


SCENE = offsets(_SceneColumns)

_NO_INTS: IntArray = np.zeros(0, dtype=np.int64)
_NO_FLOATS: FloatArray = np.zeros(0)


def row_of(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray = _NO_INTS,
    values: FloatArray = _NO_FLOATS,
    engine: tuple[IntArray, IntArray, IntArray] = (_NO_INTS, _NO_INTS, _NO_INTS),
    touch: tuple[IntArray, FloatArray] = (_NO_INTS, _NO_FLOATS),
    sense: IntArray = _NO_INTS,
) -> IntTable:
    """A table of one scene for the kernels, shape [1, SCENE.size]; others can be put below.

    It holds addresses: whoever keeps it keeps the arrays as well.
    """
    arrays = addresses(ints, floats, work, index, values, *engine, *touch)
    return np.array([[*arrays, 0, 0, *addresses(sense), 0, 0, 1]], dtype=np.int64)


def allocate(
    blocks: int, rows: int, contacts: int, free_bodies: int, velocities: int, floats: int
) -> tuple[IntArray, FloatArray]:
    """Empty arrays of a capacity; ``floats`` is the room for matrices beside the tables."""
    columns = {INTS: Column(np.int64), FLOATS: Column(np.float64)}
    counts = {"b": blocks, "r": rows, "c": contacts, "f": free_bodies, "v": velocities}
    counts["symbolic"] = 10 * blocks + rows + 2 * blocks * blocks
    pack(Islands, columns, counts, {})
    index, end = columns[INTS].made(), columns[FLOATS].size
    islands = islands_at(index, 0)
    islands.first = islands.top = end
    islands.capacity = end + floats
    return index, np.zeros(end + floats)
