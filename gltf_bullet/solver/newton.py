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
from gltf_bullet.solver.islands import Islands, reserve
from gltf_bullet.transforms import FloatArray, IntArray

MOST_ITERATIONS = 200
"""None needed more than 120 (measured); an iterate that has not converged is worthless: impulses of
violated hard rows are violation / softness (forces 50 x off after 5 iterations)."""

LINE_STEPS = 60


@kernel
def label_islands(islands: Islands) -> None:
    """Mark connected blocks with the lowest number among them.

    Sets ``block_label``.
    """
    labels = islands.block_label
    for b in range(islands.block_count):
        labels[b] = b
    for r in range(islands.row_count):
        second = islands.row_second[r]
        if second < 0:
            continue
        i, j = islands.row_first[r], second
        while labels[i] != i:
            i = labels[i]
        while labels[j] != j:
            j = labels[j]
        if i < j:
            labels[j] = i
        else:
            labels[i] = j
    for b in range(islands.block_count):
        i = b
        while labels[i] != i:
            i = labels[i]
        labels[b] = i


@kernel
def solve_islands(islands: Islands) -> None:
    """Solve every island; results stand at ``velocity`` and ``row_impulse``."""
    islands.iterations = 0
    islands.unconverged = 0
    label_islands(islands)
    total, labels = islands.block_count, islands.block_label
    lists = islands.symbolic
    members, row_list = lists, lists[8 * total :]
    for label in range(total):
        if labels[label] != label:
            continue
        count, rows = 0, 0
        for b in range(label, total):
            if labels[b] == label:
                members[count] = b
                count += 1
        for r in range(islands.row_count):
            if labels[islands.row_first[r]] == label:
                row_list[rows] = r
                rows += 1
        _solve_island(islands, count, rows)


@kernel
def _solve_island(islands: Islands, count: int, rows: int) -> None:
    """Solve one island: blocks and rows as listed at ``symbolic``."""
    total = islands.block_count
    members = islands.symbolic
    row_list = members[8 * total :]
    start_island(islands, members, count)
    if rows == 0:
        return
    # Lists by place in the island: sizes, first velocities, place of each block, order.
    sizes, places, local = members[total:], members[2 * total :], members[3 * total :]
    order = members[4 * total :]
    pattern = row_list[islands.row_count :]
    later = pattern[count * count :]
    for i in range(count):
        b = members[i]
        sizes[i] = islands.block_size[b]
        places[i] = islands.block_place[b]
        local[b] = i
    for k in range(count * count):
        pattern[k] = 0
    for q in range(rows):
        r = row_list[q]
        second = islands.row_second[r]
        if second >= 0:
            i = local[islands.row_first[r]]
            j = local[second]
            pattern[count * i + j] = 1
            pattern[count * j + i] = 1
    floats = order_blocks(count, pattern, sizes, order)
    top = islands.top
    factor = reserve(islands, floats)
    if factor < 0:
        return
    lay_out_blocks(count, pattern, sizes, order, later, factor)
    _iterate(islands, count, rows, factor, floats)
    islands.top = top


@kernel
def _iterate(islands: Islands, count: int, rows: int, factor: int, floats: int) -> None:
    total = islands.block_count
    members = islands.symbolic
    sizes, places = members[total:], members[2 * total :]
    order, row_list = members[4 * total :], members[8 * total :]
    pattern = row_list[islands.row_count :]
    later = pattern[count * count :]
    v, right = islands.velocity, islands.right_side
    multiply_rows(islands, row_list, rows, v, islands.row_speed)
    at_free = cost(islands, members, count, row_list, rows)
    # The velocities of now are a better guess where things rest.
    copy_velocities(islands, members, count, islands.present_velocity, v)
    multiply_rows(islands, row_list, rows, v, islands.row_speed)
    if not cost(islands, members, count, row_list, rows) < at_free:
        copy_velocities(islands, members, count, islands.free_velocity, v)
        multiply_rows(islands, row_list, rows, v, islands.row_speed)
    find_sides(islands, row_list, rows, islands.row_speed)
    converged = False
    for iteration in range(MOST_ITERATIONS):
        islands.iterations = max(islands.iterations, iteration + 1)
        _assemble(islands, count, rows, factor, floats)
        factor_blocks(islands.floats, count, pattern, sizes, order, later)
        solve_blocks(islands.floats, count, pattern, sizes, order, later, places, right)
        multiply_rows(islands, row_list, rows, right, islands.row_step)
        fastest = largest_of(islands, members, count, right)
        if all_stay(islands, row_list, rows, islands.row_step, fastest):
            copy_velocities(islands, members, count, right, v)
            converged = True
            break
        if not _search_line(islands, members, count, row_list, rows):
            break
        find_sides(islands, row_list, rows, islands.row_speed)
    if not converged:
        islands.unconverged += 1
        islands.unconverged_label = islands.block_label[members[0]]
    _refine(islands, count, rows)
    find_impulses(islands, row_list, rows)


@kernel
def _assemble(islands: Islands, count: int, rows: int, factor: int, floats: int) -> None:
    """The matrix and right side of the parabola that the rows are on now."""
    total = islands.block_count
    members = islands.symbolic
    sizes, places, local = members[total:], members[2 * total :], members[3 * total :]
    row_list = members[8 * total :]
    pattern = row_list[islands.row_count :]
    order = members[4 * total :]
    right, momentum = islands.right_side, islands.free_momentum
    blocks = islands.floats[factor:]
    for k in range(floats):
        blocks[k] = 0.0
    for i in range(count):
        n, place = sizes[i], places[i]
        mass = islands.floats[islands.block_mass[members[i]] :]
        diagonal = islands.floats[pattern[(count + 1) * i] :]
        for k in range(n * n):
            diagonal[k] = mass[k]
        for k in range(n):
            right[place + k] = momentum[place + k]
    for i in range(count):
        # Places in the elimination order, to tell which of two blocks comes first.
        order[count + order[i]] = i
    for q in range(rows):
        r = row_list[q]
        side = islands.row_side[r]
        first = local[islands.row_first[r]]
        n, unit = sizes[first], islands.row_unit[r]
        diagonal, x = islands.floats[pattern[(count + 1) * first] :], right[places[first] :]
        row = islands.floats[islands.row_first_jacobian[r] :]
        if side != 0:
            bound = islands.row_low if side < 0 else islands.row_high
            weight, push = 0.0, bound[r]
            if push == 0.0:
                continue
        else:
            weight = 1.0 / islands.row_softness[r]
            push = weight * islands.row_target[r]
        if unit >= 0:
            diagonal[(n + 1) * unit] += weight
            x[unit] += push
            continue
        _add_outer(diagonal, n, row, weight)
        for k in range(n):
            x[k] += push * row[k]
        if islands.row_second[r] < 0:
            continue
        second = local[islands.row_second[r]]
        other = islands.floats[islands.row_second_jacobian[r] :]
        m, x = sizes[second], right[places[second] :]
        _add_outer(islands.floats[pattern[(count + 1) * second] :], m, other, weight)
        for k in range(m):
            x[k] += push * other[k]
        if weight == 0.0:
            continue
        if order[count + first] > order[count + second]:
            first, second, n, m, row, other = second, first, m, n, other, row
        panel = islands.floats[pattern[count * first + second] :]
        for i in range(n):
            scale = weight * row[i]
            if scale != 0.0:
                for k in range(m):
                    panel[m * i + k] += scale * other[k]


@kernel
def _add_outer(block: FloatArray, n: int, row: FloatArray, weight: float) -> None:
    """Add ``weight * row^T row`` to the upper triangle of a block [n, n]."""
    for i in range(n):
        scale = weight * row[i]
        if scale != 0.0:
            for k in range(i, n):
                block[n * i + k] += scale * row[k]


@kernel
def _search_line(
    islands: Islands, members: IntArray, count: int, row_list: IntArray, rows: int
) -> bool:
    """Move ``velocity`` to the minimum towards ``right_side``; False if it is there already."""
    v, right = islands.velocity, islands.right_side
    speeds, ends = islands.row_speed, islands.row_step
    slope, curvature, moved = 0.0, 0.0, False
    for i in range(count):
        b = members[i]
        n, place = islands.block_size[b], islands.block_place[b]
        mass, free = islands.floats[islands.block_mass[b] :], islands.free_velocity
        for j in range(place, place + n):
            pull, bend = 0.0, 0.0
            for k in range(place, place + n):
                entry = mass[n * (j - place) + k - place]
                pull += entry * (v[k] - free[k])
                bend += entry * (right[k] - v[k])
            step = right[j] - v[j]
            slope += step * pull
            curvature += step * bend
            if abs(step) > 1e-15 * (abs(v[j]) + abs(right[j])):
                moved = True
    if not moved:
        return False
    alpha = _least(islands, row_list, rows, slope, curvature)
    for i in range(count):
        b = members[i]
        place = islands.block_place[b]
        for k in range(place, place + islands.block_size[b]):
            v[k] += alpha * (right[k] - v[k])
    for q in range(rows):
        r = row_list[q]
        speeds[r] += alpha * (ends[r] - speeds[r])
    return True


@kernel
def _least(
    islands: Islands, row_list: IntArray, rows: int, slope: float, curvature: float
) -> float:
    """Share of the way to ``row_step``, at most 1, at which the cost is least.

    ``slope`` and ``curvature`` are the masses' share; rows that stay on their side until the end
    add a parabola as well, so that only the others are looked at again.
    """
    speeds, ends = islands.row_speed, islands.row_step
    start, crossing = abs(slope), 0
    for q in range(rows):
        r = row_list[q]
        step = ends[r] - speeds[r]
        short = islands.row_target[r] - speeds[r]
        softness = islands.row_softness[r]
        low, high = islands.row_low[r], islands.row_high[r]
        side = islands.row_side[r]
        if side_of(short - step, softness, low, high) != side:
            islands.row_crossing[crossing] = r
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
            r = islands.row_crossing[q]
            step = ends[r] - speeds[r]
            softness = islands.row_softness[r]
            low, high = islands.row_low[r], islands.row_high[r]
            short = islands.row_target[r] - speeds[r] - alpha * step
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
def _refine(islands: Islands, count: int, rows: int) -> None:
    """One more correction by the last factor: hard rows cost the solution half of its digits."""
    total = islands.block_count
    members = islands.symbolic
    sizes, places = members[total:], members[2 * total :]
    order, row_list = members[4 * total :], members[8 * total :]
    pattern = row_list[islands.row_count :]
    later = pattern[count * count :]
    v, right, speeds = islands.velocity, islands.right_side, islands.row_speed
    multiply_rows(islands, row_list, rows, v, speeds)
    for i in range(count):
        b = members[i]
        n, place = sizes[i], places[i]
        mass, free = islands.floats[islands.block_mass[b] :], islands.free_velocity
        for j in range(n):
            pull = 0.0
            for k in range(n):
                pull += mass[n * j + k] * (free[place + k] - v[place + k])
            right[place + j] = pull
    for q in range(rows):
        r = row_list[q]
        side = islands.row_side[r]
        if side == 0:
            x = (islands.row_target[r] - speeds[r]) / islands.row_softness[r]
        else:
            x = (islands.row_low if side < 0 else islands.row_high)[r]
        push_row(islands, r, x, right)
    solve_blocks(islands.floats, count, pattern, sizes, order, later, places, right)
    for i in range(count):
        for k in range(places[i], places[i] + sizes[i]):
            v[k] += right[k]


# --- rows of an island ----------------------------------------------------------------------------


SAME = 1e-12
"""Relative distance from its bound at which a row counts as on either side."""
ROUNDING = 4e-15
"""The same relative to the fastest velocity of the island: limbs that fall beside each other, at
the ends of their limits, move against each other by what rounding leaves (measured: a humanoid in
free fall took all iterations in half of its steps, 0.55 ms instead of 0.03)."""


@kernel
def start_island(islands: Islands, members: IntArray, count: int) -> None:
    """The free motion, its momentum, and the iterate at it.

    Sets ``free_momentum`` and ``velocity``, from ``free_velocity``.
    """
    for i in range(count):
        b = members[i]
        n, place = islands.block_size[b], islands.block_place[b]
        free, mass = islands.free_velocity[place:], islands.floats[islands.block_mass[b] :]
        for j in range(n):
            momentum = 0.0
            for k in range(n):
                momentum += mass[n * j + k] * free[k]
            islands.free_momentum[place + j] = momentum
            islands.velocity[place + j] = free[j]


@kernel
def copy_velocities(
    islands: Islands, members: IntArray, count: int, source: FloatArray, target: FloatArray
) -> None:
    """The velocities of all blocks of an island from one vector to another."""
    for i in range(count):
        b = members[i]
        place = islands.block_place[b]
        for k in range(place, place + islands.block_size[b]):
            target[k] = source[k]


@kernel
def multiply_rows(
    islands: Islands, row_list: IntArray, rows: int, vector: FloatArray, target: FloatArray
) -> None:
    """``J v`` of all rows of an island."""
    for q in range(rows):
        r = row_list[q]
        b = islands.row_first[r]
        x = vector[islands.block_place[b] :]
        unit = islands.row_unit[r]
        if unit >= 0:
            target[r] = x[unit]
            continue
        row = islands.floats[islands.row_first_jacobian[r] :]
        speed = dot(row, x, islands.block_size[b])
        b = islands.row_second[r]
        if b >= 0:
            x = vector[islands.block_place[b] :]
            row = islands.floats[islands.row_second_jacobian[r] :]
            speed += dot(row, x, islands.block_size[b])
        target[r] = speed


@kernel
def cost(islands: Islands, members: IntArray, count: int, row_list: IntArray, rows: int) -> float:
    """The minimised function, at ``velocity`` and its ``row_speed``."""
    total = 0.0
    for i in range(count):
        b = members[i]
        n, place = islands.block_size[b], islands.block_place[b]
        mass = islands.floats[islands.block_mass[b] :]
        v, free = islands.velocity[place:], islands.free_velocity[place:]
        for j in range(n):
            for k in range(n):
                total += 0.5 * mass[n * j + k] * (v[j] - free[j]) * (v[k] - free[k])
    for q in range(rows):
        r = row_list[q]
        softness = islands.row_softness[r]
        short = islands.row_target[r] - islands.row_speed[r]
        low, high = islands.row_low[r], islands.row_high[r]
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
def find_sides(islands: Islands, row_list: IntArray, rows: int, speeds: FloatArray) -> None:
    """Note on which side of its bounds each row is at these speeds.

    Sets ``row_side``.
    """
    for q in range(rows):
        r = row_list[q]
        islands.row_side[r] = side_of(
            islands.row_target[r] - speeds[r],
            islands.row_softness[r],
            islands.row_low[r],
            islands.row_high[r],
        )


@kernel
def all_stay(
    islands: Islands, row_list: IntArray, rows: int, speeds: FloatArray, fastest: float
) -> bool:
    """Tell whether no row changes sides at these speeds, rounding apart.

    ``fastest``: the largest number among the velocities that the speeds are made of.
    """
    for q in range(rows):
        r = row_list[q]
        target, speed = islands.row_target[r], speeds[r]
        softness, short = islands.row_softness[r], target - speed
        low, high = islands.row_low[r], islands.row_high[r]
        side = islands.row_side[r]
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
def largest_of(islands: Islands, members: IntArray, count: int, velocities: FloatArray) -> float:
    """The largest number among some velocities of an island."""
    found = 0.0
    for i in range(count):
        b = members[i]
        place = islands.block_place[b]
        for k in range(place, place + islands.block_size[b]):
            found = max(found, abs(velocities[k]))
    return found


@kernel
def push_row(islands: Islands, r: int, x: float, vector: FloatArray) -> None:
    """Add ``J^T x`` of one row to a vector of all velocities."""
    if x == 0.0:
        return
    b = islands.row_first[r]
    place = vector[islands.block_place[b] :]
    unit = islands.row_unit[r]
    if unit >= 0:
        place[unit] += x
        return
    row = islands.floats[islands.row_first_jacobian[r] :]
    for k in range(islands.block_size[b]):
        place[k] += x * row[k]
    b = islands.row_second[r]
    if b >= 0:
        place = vector[islands.block_place[b] :]
        row = islands.floats[islands.row_second_jacobian[r] :]
        for k in range(islands.block_size[b]):
            place[k] += x * row[k]


@kernel
def find_impulses(islands: Islands, row_list: IntArray, rows: int) -> None:
    """Compute the impulse of each row at ``velocity``."""
    multiply_rows(islands, row_list, rows, islands.velocity, islands.row_speed)
    for q in range(rows):
        r = row_list[q]
        short = islands.row_target[r] - islands.row_speed[r]
        x = short / islands.row_softness[r]
        low, high = islands.row_low[r], islands.row_high[r]
        islands.row_impulse[r] = min(max(x, low), high)
