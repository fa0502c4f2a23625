"""The islands of one step: articulations, free bodies and their contacts as blocks and rows.

Blocks are articulations and free bodies; rows act between one or two of them. There are two arrays,
integers and floats; an :class:`Islands` stands first in the integers. ``newton`` solves them.

A drive that knows the contact it presses on computes the force that its law asks for with the
contact in place, however stiff it is; without, two stiff drives that press on each other throw the
pair to and fro (measured: k = 1e5 at 60 Hz swings by 1 m), and a hard limit gives way to what lies
on the arm. Only joint forces are taken from the result: the contact forces are found anew by the
engine, which comes to nearly the same ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gltf_bullet.numba_aot import FloatTable, IntTable, array, kernel, record, record_reader
from gltf_bullet.solver.articulation_arrays import Articulation
from gltf_bullet.solver.tables import FLOATS, INTS, Column, count, offsets, pack, table
from gltf_bullet.solver.tree_kinematics import rotation_from_quat
from gltf_bullet.transforms import FloatArray, IntArray

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

    ints: IntArray = array()
    floats: FloatArray = array()

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
    contact_room: int = count("c")
    """Count of the contacts that there is room for."""
    free_room: int = count("f")
    """Likewise of the free bodies."""
    targets_reduced: int
    """1 if targets were reduced since the islands were solved."""
    first: int
    """First float behind the tables."""

    block_size: IntArray = table(INTS, "b")
    block_mass: IntArray = table(INTS, "b")
    """Offset of each block's mass matrix [n, n] in the floats."""
    block_place: IntArray = table(INTS, "b")
    """First velocity of each block."""
    block_label: IntArray = table(INTS, "b")
    """Some block of the same island."""
    row_first: IntArray = table(INTS, "r")
    """First block of each row."""
    row_first_jacobian: IntArray = table(INTS, "r")
    """Offset of floats [n]."""
    row_second: IntArray = table(INTS, "r")
    """Second block of each row, or -1."""
    row_second_jacobian: IntArray = table(INTS, "r")
    row_unit: IntArray = table(INTS, "r")
    """The only velocity that a row depends on, with factor 1, or -1."""
    row_source: IntArray = table(INTS, "r")
    """Number among the rows of the articulation; of a contact CONTACT_SOURCE + its number; of a
    cut constraint -1 - (6 times its number + k)."""
    row_side: IntArray = table(INTS, "r")
    """-1: clipped at the lower bound, 0: in between, 1: at the upper one."""
    row_crossing: IntArray = table(INTS, "r")
    """Scratch: rows that change sides along the line of a search."""
    contact_sides: IntTable = table(INTS, "c", 2 * SIDE.size)
    """Both sides of each contact."""
    free_block: IntArray = table(INTS, "f")
    """Block of each free body, or -1."""
    symbolic: IntArray = table(INTS, "symbolic")
    """Scratch of the elimination: lists [b], a table [b, b], a list of its size."""

    free: FloatTable = table(FLOATS, "f", FREE.size)
    contact: FloatTable = table(FLOATS, "c", CONTACT.size)
    row_target: FloatArray = table(FLOATS, "r")
    row_softness: FloatArray = table(FLOATS, "r")
    row_low: FloatArray = table(FLOATS, "r")
    row_high: FloatArray = table(FLOATS, "r")
    row_impulse: FloatArray = table(FLOATS, "r")
    row_speed: FloatArray = table(FLOATS, "r")
    row_step: FloatArray = table(FLOATS, "r")
    free_velocity: FloatArray = table(FLOATS, "v")
    """Velocities if no row acts."""
    present_velocity: FloatArray = table(FLOATS, "v")
    velocity: FloatArray = table(FLOATS, "v")
    """The iterate; in the end the result."""
    right_side: FloatArray = table(FLOATS, "v")
    free_momentum: FloatArray = table(FLOATS, "v")
    """M v of the free velocities."""


islands_at = record_reader(Islands)

CONTACT_SOURCE = 1 << 40
"""Rows from this number on belong to contacts."""
POINT_CONSTRAINT_ROWS_FROM = 1 << 41
"""Rows from this number on belong to points that a constraint of others holds together."""
POINT_CONSTRAINT_MARK = 1e6
"""Such a point stands among the contacts with -(POINT_CONSTRAINT_MARK + largest force [N]) for its
distance, and for its forces the gap [m] between the point on the first body and that on the second.
"""


LEAST_MOMENT = 1e-12
"""[kg m^2] Least moment of inertia of a free body that forces can turn."""


def allocate(
    blocks: int, rows: int, contacts: int, free_bodies: int, velocities: int, floats: int
) -> tuple[IntArray, FloatArray]:
    """Empty arrays of a capacity; ``floats`` is the room for matrices beside the tables."""
    columns = {INTS: Column(np.int64), FLOATS: Column(np.float64)}
    counts = {"b": blocks, "r": rows, "c": contacts, "f": free_bodies, "v": velocities}
    counts["symbolic"] = 10 * blocks + rows + 2 * blocks * blocks
    pack(Islands, columns, counts, {})
    index, end = columns[INTS].made(), columns[FLOATS].size
    values = np.zeros(end + floats)
    islands = islands_at(index, values, 0)
    islands.first = islands.top = end
    islands.capacity = end + floats
    return index, values


# --- blocks and rows ------------------------------------------------------------------------------


@kernel
def reserve(islands: Islands, count: int) -> int:
    """Room for ``count`` floats; where there is none, the need is noted and -1 returned."""
    top = int(islands.top)
    if top + count > islands.capacity:
        islands.needed = max(islands.needed, top + count)
        return -1
    islands.top = top + count
    return top


@kernel
def add_block(islands: Islands, size: int, mass: int) -> int:
    """A new block; its number."""
    block = int(islands.block_count)
    islands.block_size[block] = size
    islands.block_mass[block] = mass
    islands.block_place[block] = islands.velocity_count
    islands.block_count = block + 1
    islands.velocity_count += size
    return block


@kernel
def add_row(
    islands: Islands,
    first: int,
    jacobian: int,
    unit: int,
    source: int,
    target: float,
    softness: float,
    low: float,
    high: float,
) -> int:
    """A new row on one block; its number."""
    row = int(islands.row_count)
    islands.row_first[row] = first
    islands.row_first_jacobian[row] = jacobian
    islands.row_second[row] = -1
    islands.row_unit[row] = unit
    islands.row_source[row] = source
    islands.row_target[row] = target
    islands.row_softness[row] = softness
    islands.row_low[row] = low
    islands.row_high[row] = high
    islands.row_count = row + 1
    return row


@kernel
def add_articulation(a: Articulation, islands: Islands) -> None:
    """An articulation as a block with its own rows.

    Sets ``block`` of the articulation; its rows are those whose bounds differ.
    """
    n, total = a.dof_count, a.total_rows
    mass = reserve(islands, n * n)
    jacobians = reserve(islands, total * n)
    if mass < 0 or jacobians < 0:
        return
    block = add_block(islands, n, mass)
    a.block = block
    place = islands.block_place[block]
    matrix, numbers = a.mass, islands.floats[mass:]
    for i in range(n):
        for k in range(n):
            numbers[n * i + k] = matrix[i, k]
    for k in range(n):
        islands.free_velocity[place + k] = a.free_velocity[k]
        islands.present_velocity[place + k] = a.velocity[k]
    for r in range(total):
        low, high = a.row_low[r], a.row_high[r]
        if low == high:
            continue
        unit = -1
        if r < a.row_count:
            unit = a.row_dof[r]
        row = jacobians + n * r
        if unit < 0:
            source, numbers = a.row_jacobian[r], islands.floats[row:]
            for k in range(n):
                numbers[k] = source[k]
        add_row(islands, block, row, unit, r, a.row_target[r], a.row_softness[r], low, high)


@kernel
def add_free_bodies(islands: Islands) -> None:
    """Bodies without joints as blocks of six; those of infinite mass are none."""
    for number in range(islands.free_body_count):
        body = islands.free[number]
        if body[FREE.mass] == 0.0:
            islands.free_block[number] = -1
            continue
        mass = reserve(islands, 36)
        if mass < 0:
            return
        block = add_block(islands, 6, mass)
        islands.free_block[number] = block
        place = islands.block_place[block]
        matrix = islands.floats[mass:]
        for k in range(36):
            matrix[k] = 0.0
        turn = body[FREE.turn :]
        rotation_from_quat(body[FREE.rotation :], turn)
        for i in range(3):
            for j in range(3):
                total = 0.0
                for k in range(3):
                    moment = body[FREE.moments + k]
                    total += moment * turn[3 * i + k] * turn[3 * j + k]
                body[FREE.inertia + 3 * i + j] = total
        for i in range(3):
            matrix[7 * i] = body[FREE.mass]
            for j in range(3):
                matrix[21 + 6 * i + j] = body[FREE.inertia + 3 * i + j]
        for k in range(6):
            speed = body[FREE.velocity + k]
            islands.present_velocity[place + k] = speed
            islands.free_velocity[place + k] = speed + body[FREE.gain + k]
