"""Bounded soft rows as one convex problem in the velocities, solved by Newton's method.

Minimise ``1/2 (v - v_free)^T M (v - v_free) + sum_i cost_i(J_i v)``, where each row pushes with the
impulse ``x_i = clip((target_i - J_i v) / softness_i, low_i, high_i)``: a quadratic between its
bounds, linear beyond (primal Newton: Todorov, "MuJoCo"; Castro et al., arXiv 2110.10107). Each
iteration is one sparse factorisation with the rows that are in between; the step is the exact
minimum along its line. When a full step leaves every row on its side, the side alone determines the
result, so it does not depend on where the search began.

The file is long so that an iteration reads in one piece: islands, one of them, its matrix, its line
search, its rows.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.cholesky import (
    dot,
    factor_blocks,
    lay_out_blocks,
    order_blocks,
    solve_blocks,
)
from gltf_bullet.solver.islands import islands_at, reserve
from gltf_bullet.transforms import FloatArray, IntArray

MOST_ITERATIONS = 200
"""None needed more than 120 (measured); an iterate that has not converged is worthless: impulses of
violated hard rows are violation / softness (forces 50 x off after 5 iterations)."""

LINE_STEPS = 60


@kernel
def label_islands(index: IntArray) -> None:
    """Mark connected blocks with the lowest number among them."""
    islands = islands_at(index, 0)
    labels = islands.block_label
    for b in range(islands.block_count):
        index[labels + b] = b
    for r in range(islands.row_count):
        second = index[islands.row_second + r]
        if second < 0:
            continue
        i, j = index[islands.row_first + r], second
        while index[labels + i] != i:
            i = index[labels + i]
        while index[labels + j] != j:
            j = index[labels + j]
        if i < j:
            index[labels + j] = i
        else:
            index[labels + i] = j
    for b in range(islands.block_count):
        i = b
        while index[labels + i] != i:
            i = index[labels + i]
        index[labels + b] = i


@kernel
def solve_islands(index: IntArray, values: FloatArray) -> None:
    """Solve every island; results stand at ``velocity`` and ``row_impulse``."""
    islands = islands_at(index, 0)
    islands.iterations = 0
    islands.unconverged = 0
    label_islands(index)
    total, labels = islands.block_count, islands.block_label
    lists = islands.symbolic
    members, row_list = lists, lists + 8 * total
    for label in range(total):
        if index[labels + label] != label:
            continue
        count, rows = 0, 0
        for b in range(label, total):
            if index[labels + b] == label:
                index[members + count] = b
                count += 1
        for r in range(islands.row_count):
            if index[labels + index[islands.row_first + r]] == label:
                index[row_list + rows] = r
                rows += 1
        _solve_island(index, values, count, rows)


@kernel
def _solve_island(index: IntArray, values: FloatArray, count: int, rows: int) -> None:
    """Solve one island: blocks and rows as listed at ``symbolic``."""
    islands = islands_at(index, 0)
    total = islands.block_count
    members = islands.symbolic
    row_list = members + 8 * total
    start_island(index, values, members, count)
    if rows == 0:
        return
    # Lists by place in the island: sizes, first velocities, place of each block, order.
    sizes, places, local = members + total, members + 2 * total, members + 3 * total
    order = members + 4 * total
    pattern = row_list + islands.row_count
    later = pattern + count * count
    for i in range(count):
        b = index[members + i]
        index[sizes + i] = index[islands.block_size + b]
        index[places + i] = index[islands.block_place + b]
        index[local + b] = i
    for k in range(count * count):
        index[pattern + k] = 0
    for q in range(rows):
        r = index[row_list + q]
        second = index[islands.row_second + r]
        if second >= 0:
            i = index[local + index[islands.row_first + r]]
            j = index[local + second]
            index[pattern + count * i + j] = 1
            index[pattern + count * j + i] = 1
    floats = order_blocks(index, count, pattern, sizes, order)
    top = islands.top
    factor = reserve(index, floats)
    if factor < 0:
        return
    lay_out_blocks(index, count, pattern, sizes, order, later, factor)
    _iterate(index, values, count, rows, factor, floats)
    islands.top = top


@kernel
def _iterate(
    index: IntArray, values: FloatArray, count: int, rows: int, factor: int, floats: int
) -> None:
    islands = islands_at(index, 0)
    total = islands.block_count
    members = islands.symbolic
    sizes, places = members + total, members + 2 * total
    order, row_list = members + 4 * total, members + 8 * total
    pattern = row_list + islands.row_count
    later = pattern + count * count
    v, right = islands.velocity, islands.right_side
    multiply_rows(index, values, row_list, rows, v, islands.row_speed)
    at_free = cost(index, values, members, count, row_list, rows)
    # The velocities of now are a better guess where things rest.
    copy_velocities(index, values, members, count, islands.present_velocity, v)
    multiply_rows(index, values, row_list, rows, v, islands.row_speed)
    if not cost(index, values, members, count, row_list, rows) < at_free:
        copy_velocities(index, values, members, count, islands.free_velocity, v)
        multiply_rows(index, values, row_list, rows, v, islands.row_speed)
    find_sides(index, values, row_list, rows, islands.row_speed)
    converged = False
    for iteration in range(MOST_ITERATIONS):
        islands.iterations = max(islands.iterations, iteration + 1)
        _assemble(index, values, count, rows, factor, floats)
        factor_blocks(index, values, count, pattern, sizes, order, later)
        solve_blocks(index, values, count, pattern, sizes, order, later, places, right)
        multiply_rows(index, values, row_list, rows, right, islands.row_step)
        fastest = largest_of(index, values, members, count, right)
        if all_stay(index, values, row_list, rows, islands.row_step, fastest):
            copy_velocities(index, values, members, count, right, v)
            converged = True
            break
        if not _search_line(index, values, members, count, row_list, rows):
            break
        find_sides(index, values, row_list, rows, islands.row_speed)
    if not converged:
        islands.unconverged += 1
        islands.unconverged_label = index[islands.block_label + index[members]]
    _refine(index, values, count, rows)
    find_impulses(index, values, row_list, rows)


@kernel
def _assemble(
    index: IntArray, values: FloatArray, count: int, rows: int, factor: int, floats: int
) -> None:
    """The matrix and right side of the parabola that the rows are on now."""
    islands = islands_at(index, 0)
    total = islands.block_count
    members = islands.symbolic
    sizes, places, local = members + total, members + 2 * total, members + 3 * total
    row_list = members + 8 * total
    pattern = row_list + islands.row_count
    order = members + 4 * total
    right, momentum = islands.right_side, islands.free_momentum
    for k in range(factor, factor + floats):
        values[k] = 0.0
    for i in range(count):
        n, place = index[sizes + i], index[places + i]
        mass = index[islands.block_mass + index[members + i]]
        diagonal = index[pattern + (count + 1) * i]
        for k in range(n * n):
            values[diagonal + k] = values[mass + k]
        for k in range(n):
            values[right + place + k] = values[momentum + place + k]
    for i in range(count):
        # Places in the elimination order, to tell which of two blocks comes first.
        index[order + count + index[order + i]] = i
    for q in range(rows):
        r = index[row_list + q]
        side = index[islands.row_side + r]
        first = index[local + index[islands.row_first + r]]
        n, unit = index[sizes + first], index[islands.row_unit + r]
        diagonal, x = index[pattern + (count + 1) * first], right + index[places + first]
        row = index[islands.row_first_jacobian + r]
        if side != 0:
            bound = islands.row_low if side < 0 else islands.row_high
            weight, push = 0.0, values[bound + r]
            if push == 0.0:
                continue
        else:
            weight = 1.0 / values[islands.row_softness + r]
            push = weight * values[islands.row_target + r]
        if unit >= 0:
            values[diagonal + (n + 1) * unit] += weight
            values[x + unit] += push
            continue
        _add_outer(values, diagonal, n, row, weight)
        for k in range(n):
            values[x + k] += push * values[row + k]
        if index[islands.row_second + r] < 0:
            continue
        second = index[local + index[islands.row_second + r]]
        other = index[islands.row_second_jacobian + r]
        m, x = index[sizes + second], right + index[places + second]
        _add_outer(values, index[pattern + (count + 1) * second], m, other, weight)
        for k in range(m):
            values[x + k] += push * values[other + k]
        if weight == 0.0:
            continue
        if index[order + count + first] > index[order + count + second]:
            first, second, n, m, row, other = second, first, m, n, other, row
        panel = index[pattern + count * first + second]
        for i in range(n):
            scale = weight * values[row + i]
            if scale != 0.0:
                for k in range(m):
                    values[panel + m * i + k] += scale * values[other + k]


@kernel
def _add_outer(values: FloatArray, block: int, n: int, row: int, weight: float) -> None:
    """Add ``weight * row^T row`` to the upper triangle of a block [n, n]."""
    for i in range(n):
        scale = weight * values[row + i]
        if scale != 0.0:
            for k in range(i, n):
                values[block + n * i + k] += scale * values[row + k]


@kernel
def _search_line(
    index: IntArray, values: FloatArray, members: int, count: int, row_list: int, rows: int
) -> bool:
    """Move ``velocity`` to the minimum towards ``right_side``; False if it is there already."""
    islands = islands_at(index, 0)
    v, right = islands.velocity, islands.right_side
    speeds, ends = islands.row_speed, islands.row_step
    slope, curvature, moved = 0.0, 0.0, False
    for i in range(count):
        b = index[members + i]
        n, place = index[islands.block_size + b], index[islands.block_place + b]
        mass, free = index[islands.block_mass + b], islands.free_velocity
        for j in range(place, place + n):
            pull, bend = 0.0, 0.0
            for k in range(place, place + n):
                entry = values[mass + n * (j - place) + k - place]
                pull += entry * (values[v + k] - values[free + k])
                bend += entry * (values[right + k] - values[v + k])
            step = values[right + j] - values[v + j]
            slope += step * pull
            curvature += step * bend
            if abs(step) > 1e-15 * (abs(values[v + j]) + abs(values[right + j])):
                moved = True
    if not moved:
        return False
    alpha = _least(index, values, row_list, rows, slope, curvature)
    for i in range(count):
        b = index[members + i]
        place = index[islands.block_place + b]
        for k in range(place, place + index[islands.block_size + b]):
            values[v + k] += alpha * (values[right + k] - values[v + k])
    for q in range(rows):
        r = index[row_list + q]
        values[speeds + r] += alpha * (values[ends + r] - values[speeds + r])
    return True


@kernel
def _least(
    index: IntArray,
    values: FloatArray,
    row_list: int,
    rows: int,
    slope: float,
    curvature: float,
) -> float:
    """Share of the way to ``row_step``, at most 1, at which the cost is least.

    ``slope`` and ``curvature`` are the masses' share; rows that stay on their side until the end
    add a parabola as well, so that only the others are looked at again.
    """
    islands = islands_at(index, 0)
    speeds, ends = islands.row_speed, islands.row_step
    start, crossing = abs(slope), 0
    for q in range(rows):
        r = index[row_list + q]
        step = values[ends + r] - values[speeds + r]
        short = values[islands.row_target + r] - values[speeds + r]
        softness = values[islands.row_softness + r]
        low, high = values[islands.row_low + r], values[islands.row_high + r]
        side = index[islands.row_side + r]
        if side_of(short - step, softness, low, high) != side:
            index[islands.row_crossing + crossing] = r
            crossing += 1
            continue
        if side == 0:
            x = short / softness
            curvature += step * step / softness
        else:
            x = low if side < 0 else high
        slope -= x * step
        start += abs(x * step)
    alpha, below, above = 1.0, 0.0, 1.0
    for line_step in range(LINE_STEPS):
        rise, bend = slope + alpha * curvature, curvature
        for q in range(crossing):
            r = index[islands.row_crossing + q]
            step = values[ends + r] - values[speeds + r]
            softness = values[islands.row_softness + r]
            low, high = values[islands.row_low + r], values[islands.row_high + r]
            short = values[islands.row_target + r] - values[speeds + r] - alpha * step
            side = side_of(short, softness, low, high)
            if side == 0:
                x = short / softness
                bend += step * step / softness
            else:
                x = low if side < 0 else high
            rise -= x * step
        if abs(rise) <= 1e-14 * start or (rise < 0.0 and line_step == 0):
            break
        if rise < 0.0:
            below = alpha
        else:
            above = alpha
        trial = alpha - rise / bend
        if not below < trial < above:
            trial = 0.5 * (below + above)
        if trial == alpha:
            break
        alpha = trial
    return alpha


@kernel
def _refine(index: IntArray, values: FloatArray, count: int, rows: int) -> None:
    """One more correction by the last factor: hard rows cost the solution half of its digits."""
    islands = islands_at(index, 0)
    total = islands.block_count
    members = islands.symbolic
    sizes, places = members + total, members + 2 * total
    order, row_list = members + 4 * total, members + 8 * total
    pattern = row_list + islands.row_count
    later = pattern + count * count
    v, right, speeds = islands.velocity, islands.right_side, islands.row_speed
    multiply_rows(index, values, row_list, rows, v, speeds)
    for i in range(count):
        b = index[members + i]
        n, place = index[sizes + i], index[places + i]
        mass, free = index[islands.block_mass + b], islands.free_velocity
        for j in range(n):
            pull = 0.0
            for k in range(n):
                pull += values[mass + n * j + k] * (
                    values[free + place + k] - values[v + place + k]
                )
            values[right + place + j] = pull
    for q in range(rows):
        r = index[row_list + q]
        side = index[islands.row_side + r]
        if side == 0:
            x = (values[islands.row_target + r] - values[speeds + r]) / values[
                islands.row_softness + r
            ]
        else:
            x = values[(islands.row_low if side < 0 else islands.row_high) + r]
        push_row(index, values, r, x, right)
    solve_blocks(index, values, count, pattern, sizes, order, later, places, right)
    for i in range(count):
        for k in range(index[places + i], index[places + i] + index[sizes + i]):
            values[v + k] += values[right + k]


# --- rows of an island ----------------------------------------------------------------------------


SAME = 1e-12
"""Relative distance from its bound at which a row counts as on either side."""
ROUNDING = 4e-15
"""The same relative to the fastest velocity of the island: limbs that fall beside each other, at
the ends of their limits, move against each other by what rounding leaves (measured: a humanoid in
free fall took all iterations in half of its steps, 0.55 ms instead of 0.03)."""


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
    """The minimised function, at ``velocity`` and its ``row_speed``."""
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
    """-1, 0 or 1: an impulse of ``short / softness`` is below, between or above its bounds."""
    if short < low * softness:
        return -1
    if short > high * softness:
        return 1
    return 0


@kernel
def find_sides(index: IntArray, values: FloatArray, row_list: int, rows: int, speeds: int) -> None:
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
    """Tell whether no row changes sides at these speeds, rounding apart.

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
    """Compute the impulse of each row at ``velocity``."""
    islands = islands_at(index, 0)
    multiply_rows(index, values, row_list, rows, islands.velocity, islands.row_speed)
    for q in range(rows):
        r = index[row_list + q]
        short = values[islands.row_target + r] - values[islands.row_speed + r]
        x = short / values[islands.row_softness + r]
        low, high = values[islands.row_low + r], values[islands.row_high + r]
        values[islands.row_impulse + r] = min(max(x, low), high)
