"""Rows of an island: how fast they go, on which side of their bounds they are, what they cost."""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.cholesky import dot
from gltf_bullet.transforms import FloatArray, IntArray

SAME = 1e-12
"""Relative distance from its bound at which a row counts as on either side."""
ROUNDING = 4e-15
"""The same, of the fastest velocity of its island: limbs that fall beside each other, at the ends
of their limits, move against each other by what rounding leaves (measured: a humanoid in free fall
took all iterations in half of its steps, 0.55 ms instead of 0.03)."""


@kernel
def start_island(index: IntArray, values: FloatArray, members: int, count: int) -> None:
    """The free motion, its momentum, and the iterate at it."""
    for i in range(count):
        b = index[members + i]
        n, place = index[index[layout.BLOCK_SIZE] + b], index[index[layout.BLOCK_PLACE] + b]
        free, mass = index[layout.V_FREE] + place, index[index[layout.BLOCK_MASS] + b]
        for j in range(n):
            momentum = 0.0
            for k in range(n):
                momentum += values[mass + n * j + k] * values[free + k]
            values[index[layout.MOMENTUM] + place + j] = momentum
            values[index[layout.V] + place + j] = values[free + j]


@kernel
def copy_velocities(
    index: IntArray, values: FloatArray, members: int, count: int, source: int, target: int
) -> None:
    """The velocities of all blocks of an island from one vector to another."""
    for i in range(count):
        b = index[members + i]
        place = index[index[layout.BLOCK_PLACE] + b]
        for k in range(place, place + index[index[layout.BLOCK_SIZE] + b]):
            values[target + k] = values[source + k]


@kernel
def multiply_rows(
    index: IntArray, values: FloatArray, row_list: int, rows: int, vector: int, target: int
) -> None:
    """``J v`` of all rows of an island."""
    for q in range(rows):
        r = index[row_list + q]
        b = index[index[layout.ROW_FIRST] + r]
        x = vector + index[index[layout.BLOCK_PLACE] + b]
        unit = index[index[layout.ROW_UNIT] + r]
        if unit >= 0:
            values[target + r] = values[x + unit]
            continue
        row = index[index[layout.ROW_FIRST_JACOBIAN] + r]
        speed = dot(values, row, x, index[index[layout.BLOCK_SIZE] + b])
        b = index[index[layout.ROW_SECOND] + r]
        if b >= 0:
            x = vector + index[index[layout.BLOCK_PLACE] + b]
            row = index[index[layout.ROW_SECOND_JACOBIAN] + r]
            speed += dot(values, row, x, index[index[layout.BLOCK_SIZE] + b])
        values[target + r] = speed


@kernel
def cost(
    index: IntArray, values: FloatArray, members: int, count: int, row_list: int, rows: int
) -> float:
    """What is minimised, at V and its ROW_SPEED."""
    total = 0.0
    for i in range(count):
        b = index[members + i]
        n, place = index[index[layout.BLOCK_SIZE] + b], index[index[layout.BLOCK_PLACE] + b]
        mass = index[index[layout.BLOCK_MASS] + b]
        v, free = index[layout.V] + place, index[layout.V_FREE] + place
        for j in range(n):
            for k in range(n):
                total += (
                    0.5
                    * values[mass + n * j + k]
                    * (values[v + j] - values[free + j])
                    * (values[v + k] - values[free + k])
                )
    for q in range(rows):
        r = index[row_list + q]
        softness = values[index[layout.ROW_SOFTNESS] + r]
        short = values[index[layout.ROW_TARGET] + r] - values[index[layout.ROW_SPEED] + r]
        low, high = values[index[layout.ROW_LOW] + r], values[index[layout.ROW_HIGH] + r]
        x = min(max(short / softness, low), high)
        # short * x - softness x^2 / 2 is the cost, the parabola and its tangents.
        total += short * x - 0.5 * softness * x * x
    return total


@kernel
def side_of(short: float, softness: float, low: float, high: float) -> int:
    """Where an impulse of ``short / softness`` is: below, between or above its bounds."""
    if short < low * softness:
        return -1
    if short > high * softness:
        return 1
    return 0


@kernel
def take_sides(index: IntArray, values: FloatArray, row_list: int, rows: int, speeds: int) -> None:
    """Note on which side of its bounds each row is at these speeds."""
    for q in range(rows):
        r = index[row_list + q]
        index[index[layout.ROW_SIDE] + r] = side_of(
            values[index[layout.ROW_TARGET] + r] - values[speeds + r],
            values[index[layout.ROW_SOFTNESS] + r],
            values[index[layout.ROW_LOW] + r],
            values[index[layout.ROW_HIGH] + r],
        )


@kernel
def all_stay(
    index: IntArray, values: FloatArray, row_list: int, rows: int, speeds: int, fastest: float
) -> bool:
    """Whether no row changes sides at these speeds, rounding apart.

    ``fastest``: the largest number among the velocities that the speeds are made of.
    """
    for q in range(rows):
        r = index[row_list + q]
        target, speed = values[index[layout.ROW_TARGET] + r], values[speeds + r]
        softness, short = values[index[layout.ROW_SOFTNESS] + r], target - speed
        low, high = values[index[layout.ROW_LOW] + r], values[index[layout.ROW_HIGH] + r]
        side = index[index[layout.ROW_SIDE] + r]
        slack = SAME * (abs(target) + abs(speed)) + ROUNDING * fastest + 1e-300
        if side == 0:
            if short < low * softness - slack or short > high * softness + slack:
                return False
        elif side < 0:
            if not short <= low * softness + slack:
                return False
        elif not short >= high * softness - slack:
            return False
    return True


@kernel
def largest_of(
    index: IntArray, values: FloatArray, members: int, count: int, velocities: int
) -> float:
    """The largest number among some velocities of an island."""
    found = 0.0
    for i in range(count):
        b = index[members + i]
        place = velocities + index[index[layout.BLOCK_PLACE] + b]
        for k in range(place, place + index[index[layout.BLOCK_SIZE] + b]):
            found = max(found, abs(values[k]))
    return found


@kernel
def push_row(index: IntArray, values: FloatArray, r: int, x: float, vector: int) -> None:
    """Add ``J^T x`` of one row to a vector of all velocities."""
    if x == 0.0:
        return
    b = index[index[layout.ROW_FIRST] + r]
    place = vector + index[index[layout.BLOCK_PLACE] + b]
    unit = index[index[layout.ROW_UNIT] + r]
    if unit >= 0:
        values[place + unit] += x
        return
    row = index[index[layout.ROW_FIRST_JACOBIAN] + r]
    for k in range(index[index[layout.BLOCK_SIZE] + b]):
        values[place + k] += x * values[row + k]
    b = index[index[layout.ROW_SECOND] + r]
    if b >= 0:
        place = vector + index[index[layout.BLOCK_PLACE] + b]
        row = index[index[layout.ROW_SECOND_JACOBIAN] + r]
        for k in range(index[index[layout.BLOCK_SIZE] + b]):
            values[place + k] += x * values[row + k]


@kernel
def find_impulses(index: IntArray, values: FloatArray, row_list: int, rows: int) -> None:
    """What each row did, at V."""
    multiply_rows(index, values, row_list, rows, index[layout.V], index[layout.ROW_SPEED])
    for q in range(rows):
        r = index[row_list + q]
        short = values[index[layout.ROW_TARGET] + r] - values[index[layout.ROW_SPEED] + r]
        x = short / values[index[layout.ROW_SOFTNESS] + r]
        low, high = values[index[layout.ROW_LOW] + r], values[index[layout.ROW_HIGH] + r]
        values[index[layout.ROW_IMPULSE] + r] = min(max(x, low), high)
