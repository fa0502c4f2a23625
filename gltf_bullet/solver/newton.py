"""Bounded soft rows as one convex problem in the velocities, solved by Newton's method.

Minimise ``1/2 (v - v_free)^T M (v - v_free) + sum_i cost_i(J_i v)``, where each row pushes with the
impulse ``x_i = clip((target_i - J_i v) / softness_i, low_i, high_i)``: a quadratic between its
bounds, linear beyond (primal Newton: Todorov, "MuJoCo"; Castro et al., arXiv 2110.10107). Each
iteration is one sparse factorisation with the rows that are in between; the step is the exact
minimum along its line. When a full step leaves every row on its side, the side alone determines the
result, so it does not depend on where the search began.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.cholesky import (
    factor_blocks,
    lay_out_blocks,
    order_blocks,
    solve_blocks,
)
from gltf_bullet.solver.island import take
from gltf_bullet.solver.island_rows import (
    all_stay,
    copy_velocities,
    cost,
    find_impulses,
    largest_of,
    multiply_rows,
    push_row,
    side_of,
    start_island,
    take_sides,
)
from gltf_bullet.transforms import FloatArray, IntArray

MOST_ITERATIONS = 200
"""None needed more than 120 (measured); an iterate that has not converged is worthless: impulses of
violated hard rows are violation / softness (forces 50 x off after 5 iterations)."""

LINE_STEPS = 60


@kernel
def label_islands(index: IntArray) -> None:
    """Mark connected blocks with the lowest number among them."""
    labels = index[layout.BLOCK_LABEL]
    for b in range(index[layout.BLOCKS]):
        index[labels + b] = b
    for r in range(index[layout.ROWS]):
        second = index[index[layout.ROW_SECOND] + r]
        if second < 0:
            continue
        i, j = index[index[layout.ROW_FIRST] + r], second
        while index[labels + i] != i:
            i = index[labels + i]
        while index[labels + j] != j:
            j = index[labels + j]
        if i < j:
            index[labels + j] = i
        else:
            index[labels + i] = j
    for b in range(index[layout.BLOCKS]):
        i = b
        while index[labels + i] != i:
            i = index[labels + i]
        index[labels + b] = i


@kernel
def solve_islands(index: IntArray, values: FloatArray) -> None:
    """Solve every island; results stand at V and ROW_IMPULSE."""
    index[layout.ITERATIONS] = 0
    index[layout.UNCONVERGED] = 0
    label_islands(index)
    total, labels = index[layout.BLOCKS], index[layout.BLOCK_LABEL]
    lists = index[layout.SYMBOLIC]
    members, row_list = lists, lists + 8 * total
    for label in range(total):
        if index[labels + label] != label:
            continue
        count, rows = 0, 0
        for b in range(label, total):
            if index[labels + b] == label:
                index[members + count] = b
                count += 1
        for r in range(index[layout.ROWS]):
            if index[labels + index[index[layout.ROW_FIRST] + r]] == label:
                index[row_list + rows] = r
                rows += 1
        _solve_island(index, values, count, rows)


@kernel
def _solve_island(index: IntArray, values: FloatArray, count: int, rows: int) -> None:
    """One island: blocks and rows as listed at SYMBOLIC."""
    total = index[layout.BLOCKS]
    members = index[layout.SYMBOLIC]
    row_list = members + 8 * total
    start_island(index, values, members, count)
    if rows == 0:
        return
    # Lists by place in the island: sizes, first velocities, place of each block, order.
    sizes, places, local = members + total, members + 2 * total, members + 3 * total
    order = members + 4 * total
    pattern = row_list + index[layout.ROWS]
    later = pattern + count * count
    for i in range(count):
        b = index[members + i]
        index[sizes + i] = index[index[layout.BLOCK_SIZE] + b]
        index[places + i] = index[index[layout.BLOCK_PLACE] + b]
        index[local + b] = i
    for k in range(count * count):
        index[pattern + k] = 0
    for q in range(rows):
        r = index[row_list + q]
        second = index[index[layout.ROW_SECOND] + r]
        if second >= 0:
            i = index[local + index[index[layout.ROW_FIRST] + r]]
            j = index[local + second]
            index[pattern + count * i + j] = 1
            index[pattern + count * j + i] = 1
    floats = order_blocks(index, count, pattern, sizes, order)
    top = index[layout.TOP]
    factor = take(index, floats)
    if factor < 0:
        return
    lay_out_blocks(index, count, pattern, sizes, order, later, factor)
    _iterate(index, values, count, rows, factor, floats)
    index[layout.TOP] = top


@kernel
def _iterate(
    index: IntArray, values: FloatArray, count: int, rows: int, factor: int, floats: int
) -> None:
    total = index[layout.BLOCKS]
    members = index[layout.SYMBOLIC]
    sizes, places = members + total, members + 2 * total
    order, row_list = members + 4 * total, members + 8 * total
    pattern = row_list + index[layout.ROWS]
    later = pattern + count * count
    v, right = index[layout.V], index[layout.RIGHT]
    multiply_rows(index, values, row_list, rows, v, index[layout.ROW_SPEED])
    at_free = cost(index, values, members, count, row_list, rows)
    # The velocities of now are a better guess where things rest.
    copy_velocities(index, values, members, count, index[layout.V_NOW], v)
    multiply_rows(index, values, row_list, rows, v, index[layout.ROW_SPEED])
    if not cost(index, values, members, count, row_list, rows) < at_free:
        copy_velocities(index, values, members, count, index[layout.V_FREE], v)
        multiply_rows(index, values, row_list, rows, v, index[layout.ROW_SPEED])
    take_sides(index, values, row_list, rows, index[layout.ROW_SPEED])
    converged = False
    for iteration in range(MOST_ITERATIONS):
        index[layout.ITERATIONS] = max(index[layout.ITERATIONS], iteration + 1)
        _assemble(index, values, count, rows, factor, floats)
        factor_blocks(index, values, count, pattern, sizes, order, later)
        solve_blocks(index, values, count, pattern, sizes, order, later, places, right)
        multiply_rows(index, values, row_list, rows, right, index[layout.ROW_STEP])
        fastest = largest_of(index, values, members, count, right)
        if all_stay(index, values, row_list, rows, index[layout.ROW_STEP], fastest):
            copy_velocities(index, values, members, count, right, v)
            converged = True
            break
        if not _search_line(index, values, members, count, row_list, rows):
            break
        take_sides(index, values, row_list, rows, index[layout.ROW_SPEED])
    if not converged:
        index[layout.UNCONVERGED] += 1
        index[layout.UNCONVERGED_LABEL] = index[index[layout.BLOCK_LABEL] + index[members]]
    _refine(index, values, count, rows)
    find_impulses(index, values, row_list, rows)


@kernel
def _assemble(
    index: IntArray, values: FloatArray, count: int, rows: int, factor: int, floats: int
) -> None:
    """The matrix and right side of the parabola that the rows are on now."""
    total = index[layout.BLOCKS]
    members = index[layout.SYMBOLIC]
    sizes, places, local = members + total, members + 2 * total, members + 3 * total
    row_list = members + 8 * total
    pattern = row_list + index[layout.ROWS]
    order = members + 4 * total
    right, momentum = index[layout.RIGHT], index[layout.MOMENTUM]
    for k in range(factor, factor + floats):
        values[k] = 0.0
    for i in range(count):
        n, place = index[sizes + i], index[places + i]
        mass = index[index[layout.BLOCK_MASS] + index[members + i]]
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
        side = index[index[layout.ROW_SIDE] + r]
        first = index[local + index[index[layout.ROW_FIRST] + r]]
        n, unit = index[sizes + first], index[index[layout.ROW_UNIT] + r]
        diagonal, x = index[pattern + (count + 1) * first], right + index[places + first]
        row = index[index[layout.ROW_FIRST_JACOBIAN] + r]
        if side != 0:
            bound = index[layout.ROW_LOW] if side < 0 else index[layout.ROW_HIGH]
            weight, push = 0.0, values[bound + r]
            if push == 0.0:
                continue
        else:
            weight = 1.0 / values[index[layout.ROW_SOFTNESS] + r]
            push = weight * values[index[layout.ROW_TARGET] + r]
        if unit >= 0:
            values[diagonal + (n + 1) * unit] += weight
            values[x + unit] += push
            continue
        _add_outer(values, diagonal, n, row, weight)
        for k in range(n):
            values[x + k] += push * values[row + k]
        if index[index[layout.ROW_SECOND] + r] < 0:
            continue
        second = index[local + index[index[layout.ROW_SECOND] + r]]
        other = index[index[layout.ROW_SECOND_JACOBIAN] + r]
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
    """Move V and ROW_SPEED to the minimum towards RIGHT and its ROW_STEP; False: already there."""
    v, right = index[layout.V], index[layout.RIGHT]
    speeds, ends = index[layout.ROW_SPEED], index[layout.ROW_STEP]
    slope, curvature, moved = 0.0, 0.0, False
    for i in range(count):
        b = index[members + i]
        n, place = index[index[layout.BLOCK_SIZE] + b], index[index[layout.BLOCK_PLACE] + b]
        mass, free = index[index[layout.BLOCK_MASS] + b], index[layout.V_FREE]
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
        place = index[index[layout.BLOCK_PLACE] + b]
        for k in range(place, place + index[index[layout.BLOCK_SIZE] + b]):
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
    """How far on the way to ROW_STEP, at most 1, the cost is least.

    ``slope`` and ``curvature`` are the masses' share; rows that stay on their side until the end
    add a parabola as well, so that only the others are looked at again.
    """
    speeds, ends = index[layout.ROW_SPEED], index[layout.ROW_STEP]
    start, crossing = abs(slope), 0
    for q in range(rows):
        r = index[row_list + q]
        step = values[ends + r] - values[speeds + r]
        short = values[index[layout.ROW_TARGET] + r] - values[speeds + r]
        softness = values[index[layout.ROW_SOFTNESS] + r]
        low, high = values[index[layout.ROW_LOW] + r], values[index[layout.ROW_HIGH] + r]
        side = index[index[layout.ROW_SIDE] + r]
        if side_of(short - step, softness, low, high) != side:
            index[index[layout.ROW_CROSSING] + crossing] = r
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
            r = index[index[layout.ROW_CROSSING] + q]
            step = values[ends + r] - values[speeds + r]
            softness = values[index[layout.ROW_SOFTNESS] + r]
            low, high = values[index[layout.ROW_LOW] + r], values[index[layout.ROW_HIGH] + r]
            short = values[index[layout.ROW_TARGET] + r] - values[speeds + r] - alpha * step
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
    total = index[layout.BLOCKS]
    members = index[layout.SYMBOLIC]
    sizes, places = members + total, members + 2 * total
    order, row_list = members + 4 * total, members + 8 * total
    pattern = row_list + index[layout.ROWS]
    later = pattern + count * count
    v, right, speeds = index[layout.V], index[layout.RIGHT], index[layout.ROW_SPEED]
    multiply_rows(index, values, row_list, rows, v, speeds)
    for i in range(count):
        b = index[members + i]
        n, place = index[sizes + i], index[places + i]
        mass, free = index[index[layout.BLOCK_MASS] + b], index[layout.V_FREE]
        for j in range(n):
            pull = 0.0
            for k in range(n):
                pull += values[mass + n * j + k] * (
                    values[free + place + k] - values[v + place + k]
                )
            values[right + place + j] = pull
    for q in range(rows):
        r = index[row_list + q]
        side = index[index[layout.ROW_SIDE] + r]
        if side == 0:
            x = (values[index[layout.ROW_TARGET] + r] - values[speeds + r]) / values[
                index[layout.ROW_SOFTNESS] + r
            ]
        else:
            x = values[index[layout.ROW_LOW if side < 0 else layout.ROW_HIGH] + r]
        push_row(index, values, r, x, right)
    solve_blocks(index, values, count, pattern, sizes, order, later, places, right)
    for i in range(count):
        for k in range(index[places + i], index[places + i] + index[sizes + i]):
            values[v + k] += values[right + k]
