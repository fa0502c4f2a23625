"""Rows of an island: how fast they go, on which side of their bounds they are, what they cost."""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.cholesky import dot
from gltf_bullet.solver.island_layout import islands_at
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
    islands = islands_at(index, 0)
    for i in range(count):
        b = index[members + i]
        n, place = index[islands.block_size + b], index[islands.block_place + b]
        free, mass = islands.free_velocity + place, index[islands.block_mass + b]
        for j in range(n):
            momentum = 0.0
            for k in range(n):
                momentum += values[mass + n * j + k] * values[free + k]
            values[islands.free_momentum + place + j] = momentum
            values[islands.velocity + place + j] = values[free + j]


@kernel
def copy_velocities(
    index: IntArray, values: FloatArray, members: int, count: int, source: int, target: int
) -> None:
    """The velocities of all blocks of an island from one vector to another."""
    islands = islands_at(index, 0)
    for i in range(count):
        b = index[members + i]
        place = index[islands.block_place + b]
        for k in range(place, place + index[islands.block_size + b]):
            values[target + k] = values[source + k]


@kernel
def multiply_rows(
    index: IntArray, values: FloatArray, row_list: int, rows: int, vector: int, target: int
) -> None:
    """``J v`` of all rows of an island."""
    islands = islands_at(index, 0)
    for q in range(rows):
        r = index[row_list + q]
        b = index[islands.row_first + r]
        x = vector + index[islands.block_place + b]
        unit = index[islands.row_unit + r]
        if unit >= 0:
            values[target + r] = values[x + unit]
            continue
        row = index[islands.row_first_jacobian + r]
        speed = dot(values, row, x, index[islands.block_size + b])
        b = index[islands.row_second + r]
        if b >= 0:
            x = vector + index[islands.block_place + b]
            row = index[islands.row_second_jacobian + r]
            speed += dot(values, row, x, index[islands.block_size + b])
        values[target + r] = speed


@kernel
def cost(
    index: IntArray, values: FloatArray, members: int, count: int, row_list: int, rows: int
) -> float:
    """What is minimised, at V and its ROW_SPEED."""
    islands = islands_at(index, 0)
    total = 0.0
    for i in range(count):
        b = index[members + i]
        n, place = index[islands.block_size + b], index[islands.block_place + b]
        mass = index[islands.block_mass + b]
        v, free = islands.velocity + place, islands.free_velocity + place
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
        softness = values[islands.row_softness + r]
        short = values[islands.row_target + r] - values[islands.row_speed + r]
        low, high = values[islands.row_low + r], values[islands.row_high + r]
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
    islands = islands_at(index, 0)
    for q in range(rows):
        r = index[row_list + q]
        index[islands.row_side + r] = side_of(
            values[islands.row_target + r] - values[speeds + r],
            values[islands.row_softness + r],
            values[islands.row_low + r],
            values[islands.row_high + r],
        )


@kernel
def all_stay(
    index: IntArray, values: FloatArray, row_list: int, rows: int, speeds: int, fastest: float
) -> bool:
    """Whether no row changes sides at these speeds, rounding apart.

    ``fastest``: the largest number among the velocities that the speeds are made of.
    """
    islands = islands_at(index, 0)
    for q in range(rows):
        r = index[row_list + q]
        target, speed = values[islands.row_target + r], values[speeds + r]
        softness, short = values[islands.row_softness + r], target - speed
        low, high = values[islands.row_low + r], values[islands.row_high + r]
        side = index[islands.row_side + r]
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
    islands = islands_at(index, 0)
    found = 0.0
    for i in range(count):
        b = index[members + i]
        place = velocities + index[islands.block_place + b]
        for k in range(place, place + index[islands.block_size + b]):
            found = max(found, abs(values[k]))
    return found


@kernel
def push_row(index: IntArray, values: FloatArray, r: int, x: float, vector: int) -> None:
    """Add ``J^T x`` of one row to a vector of all velocities."""
    islands = islands_at(index, 0)
    if x == 0.0:
        return
    b = index[islands.row_first + r]
    place = vector + index[islands.block_place + b]
    unit = index[islands.row_unit + r]
    if unit >= 0:
        values[place + unit] += x
        return
    row = index[islands.row_first_jacobian + r]
    for k in range(index[islands.block_size + b]):
        values[place + k] += x * values[row + k]
    b = index[islands.row_second + r]
    if b >= 0:
        place = vector + index[islands.block_place + b]
        row = index[islands.row_second_jacobian + r]
        for k in range(index[islands.block_size + b]):
            values[place + k] += x * values[row + k]


@kernel
def find_impulses(index: IntArray, values: FloatArray, row_list: int, rows: int) -> None:
    """What each row did, at V."""
    islands = islands_at(index, 0)
    multiply_rows(index, values, row_list, rows, islands.velocity, islands.row_speed)
    for q in range(rows):
        r = index[row_list + q]
        short = values[islands.row_target + r] - values[islands.row_speed + r]
        x = short / values[islands.row_softness + r]
        low, high = values[islands.row_low + r], values[islands.row_high + r]
        values[islands.row_impulse + r] = min(max(x, low), high)
