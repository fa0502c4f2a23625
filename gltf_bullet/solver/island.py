"""The islands of one step: articulations, free bodies and their contacts as blocks and rows.

A drive that knows the contact it presses on computes the force that its law asks for with the
contact in place, however stiff it is; without, two stiff drives that press on each other throw the
pair to and fro (measured: k = 1e5 at 60 Hz swings by 1 m), and a hard limit gives way to what lies
on the arm. Only joint forces are taken from the result: the contact forces are found anew by the
engine, which comes to nearly the same ones.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver import arena
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.island_layout import (
    FREE_GAIN,
    FREE_INERTIA,
    FREE_MASS,
    FREE_MOMENTS,
    FREE_ROTATION,
    FREE_SIZE,
    FREE_TURN,
    FREE_VELOCITY,
)
from gltf_bullet.solver.tree_kinematics import rotation_from_quat
from gltf_bullet.transforms import FloatArray, IntArray


@kernel
def take(index: IntArray, count: int) -> int:
    """Room for ``count`` floats; where there is none, the need is noted and -1 returned."""
    top = int(index[layout.TOP])
    if top + count > index[layout.CAPACITY]:
        index[layout.NEEDED] = max(index[layout.NEEDED], top + count)
        return -1
    index[layout.TOP] = top + count
    return top


@kernel
def add_block(index: IntArray, size: int, mass: int) -> int:
    """A new block; its number."""
    block = int(index[layout.BLOCKS])
    index[index[layout.BLOCK_SIZE] + block] = size
    index[index[layout.BLOCK_MASS] + block] = mass
    index[index[layout.BLOCK_PLACE] + block] = index[layout.VELOCITIES]
    index[layout.BLOCKS] = block + 1
    index[layout.VELOCITIES] += size
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
    row = int(index[layout.ROWS])
    index[index[layout.ROW_FIRST] + row] = first
    index[index[layout.ROW_FIRST_JACOBIAN] + row] = jacobian
    index[index[layout.ROW_SECOND] + row] = -1
    index[index[layout.ROW_UNIT] + row] = unit
    index[index[layout.ROW_SOURCE] + row] = source
    values[index[layout.ROW_TARGET] + row] = target
    values[index[layout.ROW_SOFTNESS] + row] = softness
    values[index[layout.ROW_LOW] + row] = low
    values[index[layout.ROW_HIGH] + row] = high
    index[layout.ROWS] = row + 1
    return row


@kernel
def add_articulation(
    ints: IntArray, work: FloatArray, a: int, index: IntArray, values: FloatArray
) -> None:
    """An articulation as a block with its own rows."""
    n, total = ints[a + arena.DOF_COUNT], ints[a + arena.TOTAL_ROWS]
    mass = take(index, n * n)
    jacobians = take(index, total * n)
    if mass < 0 or jacobians < 0:
        return
    block = add_block(index, n, mass)
    ints[a + arena.BLOCK] = block
    place = index[index[layout.BLOCK_PLACE] + block]
    source = ints[a + arena.MASS]
    for k in range(n * n):
        values[mass + k] = work[source + k]
    for k in range(n):
        values[index[layout.V_FREE] + place + k] = work[ints[a + arena.VELOCITY_FREE] + k]
        values[index[layout.V_NOW] + place + k] = work[ints[a + arena.VELOCITY] + k]
    for r in range(total):
        low, high = work[ints[a + arena.ROW_LOW] + r], work[ints[a + arena.ROW_HIGH] + r]
        if low == high:
            continue
        unit = -1
        if r < ints[a + arena.ROW_COUNT]:
            unit = ints[ints[a + arena.ROW_DOF] + r]
        row = jacobians + n * r
        if unit < 0:
            source = ints[a + arena.ROW_JACOBIAN] + n * r
            for k in range(n):
                values[row + k] = work[source + k]
        add_row(
            index,
            values,
            block,
            row,
            unit,
            r,
            work[ints[a + arena.ROW_TARGET] + r],
            work[ints[a + arena.ROW_SOFTNESS] + r],
            low,
            high,
        )


@kernel
def add_free_bodies(index: IntArray, values: FloatArray) -> None:
    """Bodies without joints as blocks of six; those of infinite mass are none."""
    for number in range(index[layout.FREE_BODIES]):
        body = index[layout.FREE] + FREE_SIZE * number
        if values[body + FREE_MASS] == 0.0:
            index[index[layout.FREE_BLOCK] + number] = -1
            continue
        mass = take(index, 36)
        if mass < 0:
            return
        block = add_block(index, 6, mass)
        index[index[layout.FREE_BLOCK] + number] = block
        place = index[index[layout.BLOCK_PLACE] + block]
        for k in range(36):
            values[mass + k] = 0.0
        turn = body + FREE_TURN
        rotation_from_quat(values, body + FREE_ROTATION, values, turn)
        for i in range(3):
            for j in range(3):
                total = 0.0
                for k in range(3):
                    moment = values[body + FREE_MOMENTS + k]
                    total += moment * values[turn + 3 * i + k] * values[turn + 3 * j + k]
                values[body + FREE_INERTIA + 3 * i + j] = total
        for i in range(3):
            values[mass + 7 * i] = values[body + FREE_MASS]
            for j in range(3):
                values[mass + 21 + 6 * i + j] = values[body + FREE_INERTIA + 3 * i + j]
        for k in range(6):
            speed = values[body + FREE_VELOCITY + k]
            values[index[layout.V_NOW] + place + k] = speed
            values[index[layout.V_FREE] + place + k] = speed + values[body + FREE_GAIN + k]
