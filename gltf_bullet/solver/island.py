"""The islands of one step: articulations, free bodies and their contacts as blocks and rows.

A drive that knows the contact it presses on computes the force that its law asks for with the
contact in place, however stiff it is; without, two stiff drives that press on each other throw the
pair to and fro (measured: k = 1e5 at 60 Hz swings by 1 m), and a hard limit gives way to what lies
on the arm. Only joint forces are taken from the result: the contact forces are found anew by the
engine, which comes to nearly the same ones.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import Articulation
from gltf_bullet.solver.island_layout import FREE, islands_at
from gltf_bullet.solver.tree_kinematics import rotation_from_quat
from gltf_bullet.transforms import FloatArray, IntArray


@kernel
def take(index: IntArray, count: int) -> int:
    """Room for ``count`` floats; where there is none, the need is noted and -1 returned."""
    islands = islands_at(index, 0)
    top = int(islands.top)
    if top + count > islands.capacity:
        islands.needed = max(islands.needed, top + count)
        return -1
    islands.top = top + count
    return top


@kernel
def add_block(index: IntArray, size: int, mass: int) -> int:
    """A new block; its number."""
    islands = islands_at(index, 0)
    block = int(islands.block_count)
    index[islands.block_size + block] = size
    index[islands.block_mass + block] = mass
    index[islands.block_place + block] = islands.velocity_count
    islands.block_count = block + 1
    islands.velocity_count += size
    return block


@kernel
def add_row(
    index: IntArray,
    values: FloatArray,
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
    islands = islands_at(index, 0)
    row = int(islands.row_count)
    index[islands.row_first + row] = first
    index[islands.row_first_jacobian + row] = jacobian
    index[islands.row_second + row] = -1
    index[islands.row_unit + row] = unit
    index[islands.row_source + row] = source
    values[islands.row_target + row] = target
    values[islands.row_softness + row] = softness
    values[islands.row_low + row] = low
    values[islands.row_high + row] = high
    islands.row_count = row + 1
    return row


@kernel
def add_articulation(
    ints: IntArray,
    work: FloatArray,
    articulation: Articulation,
    index: IntArray,
    values: FloatArray,
) -> None:
    """An articulation as a block with its own rows."""
    islands = islands_at(index, 0)
    n, total = articulation.dof_count, articulation.total_rows
    mass = take(index, n * n)
    jacobians = take(index, total * n)
    if mass < 0 or jacobians < 0:
        return
    block = add_block(index, n, mass)
    articulation.block = block
    place = index[islands.block_place + block]
    source = articulation.mass
    for k in range(n * n):
        values[mass + k] = work[source + k]
    for k in range(n):
        values[islands.free_velocity + place + k] = work[articulation.free_velocity + k]
        values[islands.present_velocity + place + k] = work[articulation.velocity + k]
    for r in range(total):
        low, high = work[articulation.row_low + r], work[articulation.row_high + r]
        if low == high:
            continue
        unit = -1
        if r < articulation.row_count:
            unit = ints[articulation.row_dof + r]
        row = jacobians + n * r
        if unit < 0:
            source = articulation.row_jacobian + n * r
            for k in range(n):
                values[row + k] = work[source + k]
        add_row(
            index,
            values,
            block,
            row,
            unit,
            r,
            work[articulation.row_target + r],
            work[articulation.row_softness + r],
            low,
            high,
        )


@kernel
def add_free_bodies(index: IntArray, values: FloatArray) -> None:
    """Bodies without joints as blocks of six; those of infinite mass are none."""
    islands = islands_at(index, 0)
    for number in range(islands.free_body_count):
        body = islands.free + FREE.size * number
        if values[body + FREE.mass] == 0.0:
            index[islands.free_block + number] = -1
            continue
        mass = take(index, 36)
        if mass < 0:
            return
        block = add_block(index, 6, mass)
        index[islands.free_block + number] = block
        place = index[islands.block_place + block]
        for k in range(36):
            values[mass + k] = 0.0
        turn = body + FREE.turn
        rotation_from_quat(values, body + FREE.rotation, values, turn)
        for i in range(3):
            for j in range(3):
                total = 0.0
                for k in range(3):
                    moment = values[body + FREE.moments + k]
                    total += moment * values[turn + 3 * i + k] * values[turn + 3 * j + k]
                values[body + FREE.inertia + 3 * i + j] = total
        for i in range(3):
            values[mass + 7 * i] = values[body + FREE.mass]
            for j in range(3):
                values[mass + 21 + 6 * i + j] = values[body + FREE.inertia + 3 * i + j]
        for k in range(6):
            speed = values[body + FREE.velocity + k]
            values[islands.present_velocity + place + k] = speed
            values[islands.free_velocity + place + k] = speed + values[body + FREE.gain + k]
