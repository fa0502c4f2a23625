"""Row-wise Cholesky factors: of one dense block, and of the block-sparse matrix of an island.

U^T U = H with rows of U stored contiguously: an inner loop adds a multiple of one row to another,
which the compiler turns into vector instructions without changing any rounding. Zeros are skipped,
so a chain numbered from its leaves costs no more than its own branches.
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.transforms import FloatArray, IntArray

SINGULAR = 1e-14
"""Share of a diagonal entry that must be left by the elimination of the others; where it is not,
the direction is one that others hold already, and it is given up."""


@kernel
def subtract_row(values: FloatArray, target: int, factor: float, source: int, count: int) -> None:
    """``values[target:] -= factor * values[source:]`` over ``count`` entries."""
    to, by = values[target : target + count], values[source : source + count]
    for k in range(count):
        to[k] -= factor * by[k]


@kernel
def subtract_rows(
    values: FloatArray, target: int, factors: int, apart: int, source: int, stride: int, count: int
) -> None:
    """Subtract four rows, ``stride`` apart, in turn, times factors that are ``apart``."""
    a, b = values[factors], values[factors + apart]
    c, d = values[factors + 2 * apart], values[factors + 3 * apart]
    to = values[target : target + count]
    first = values[source : source + count]
    second = values[source + stride : source + stride + count]
    third = values[source + 2 * stride : source + 2 * stride + count]
    fourth = values[source + 3 * stride : source + 3 * stride + count]
    for k in range(count):
        to[k] = to[k] - a * first[k] - b * second[k] - c * third[k] - d * fourth[k]


@kernel
def subtract_product(
    values: FloatArray,
    target: int,
    factors: int,
    apart: int,
    source: int,
    stride: int,
    terms: int,
    count: int,
) -> None:
    """Subtract ``terms`` rows times their factors from one row, in turn; zeros are skipped."""
    i = 0
    while i + 4 <= terms:
        at = factors + apart * i
        if (
            values[at] != 0.0
            or values[at + apart] != 0.0
            or values[at + 2 * apart] != 0.0
            or values[at + 3 * apart] != 0.0
        ):
            subtract_rows(values, target, at, apart, source + stride * i, stride, count)
        i += 4
    while i < terms:
        value = values[factors + apart * i]
        if value != 0.0:
            subtract_row(values, target, value, source + stride * i, count)
        i += 1


@kernel
def dot(values: FloatArray, first: int, second: int, count: int) -> float:
    """Dot product in four partial sums, which the processor adds up side by side."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    one, other = values[first : first + count], values[second : second + count]
    whole = count - count % 4
    for k in range(0, whole, 4):
        a += one[k] * other[k]
        b += one[k + 1] * other[k + 1]
        c += one[k + 2] * other[k + 2]
        d += one[k + 3] * other[k + 3]
    for k in range(whole, count):
        a += one[k] * other[k]
    return (a + b) + (c + d)


@kernel
def factor_dense(work: FloatArray, matrix: int, n: int, factor: int) -> None:
    """Factor a symmetric [n, n] matrix; its upper triangle is read."""
    for k in range(n * n):
        work[factor + k] = work[matrix + k]
    for i in range(n):
        row = factor + n * i
        left = work[row + i]
        whole = work[matrix + (n + 1) * i]
        inverse = 1.0 / math.sqrt(left) if left > SINGULAR * whole and left > 0.0 else 0.0
        work[row + i] = inverse
        for k in range(i + 1, n):
            work[row + k] *= inverse
        for j in range(i + 1, n):
            value = work[row + j]
            if value != 0.0:
                subtract_row(work, factor + n * j + j, value, row + j, n - j)


@kernel
def forward_dense(work: FloatArray, factor: int, n: int, vector: int) -> None:
    """Solve ``U^T y = b`` in place; the diagonal of U is stored inverted."""
    for i in range(n):
        if work[vector + i] != 0.0:
            value = work[vector + i] * work[factor + (n + 1) * i]
            work[vector + i] = value
            subtract_row(work, vector + i + 1, value, factor + (n + 1) * i + 1, n - i - 1)


@kernel
def backward_dense(work: FloatArray, factor: int, n: int, vector: int) -> None:
    """Solve ``U x = y`` in place."""
    for i in range(n - 1, -1, -1):
        row = factor + (n + 1) * i
        known = dot(work, row + 1, vector + i + 1, n - i - 1)
        work[vector + i] = (work[vector + i] - known) * work[row]


@kernel
def solve_dense(work: FloatArray, factor: int, n: int, vector: int) -> None:
    """Solve ``U^T U x = b`` in place."""
    forward_dense(work, factor, n, vector)
    backward_dense(work, factor, n, vector)


@kernel
def order_blocks(index: IntArray, count: int, pattern: int, sizes: int, order: int) -> int:
    """Elimination order of least degree for blocks; fills the pattern in.

    Args:
        index: Integers of the island.
        count: Of blocks.
        pattern: Offset of a [count, count] table, 1 where two blocks are coupled, 0 elsewhere; on
            return also 1 where the elimination couples them.
        sizes: Offset of the blocks' sizes.
        order: Offset of three lists [count]: the order, then scratch.

    Returns:
        How many floats the factor takes.
    """
    done, degrees = order + count, order + 2 * count
    for i in range(count):
        index[done + i] = 0
        degree = 0
        for j in range(count):
            if i != j and index[pattern + count * i + j]:
                degree += index[sizes + j]
        index[degrees + i] = degree
    floats = 0
    for step in range(count):
        best = -1
        for i in range(count):
            if not index[done + i] and (best < 0 or index[degrees + i] < index[degrees + best]):
                best = i
        index[order + step] = best
        index[done + best] = 1
        row, size = pattern + count * best, index[sizes + best]
        floats += size * size
        for i in range(count):
            if index[done + i] or not index[row + i]:
                continue
            floats += size * index[sizes + i]
            index[degrees + i] -= size
            # What was coupled to the eliminated block is now coupled with each other.
            for j in range(i):
                if index[row + j] and not index[done + j] and not index[pattern + count * i + j]:
                    index[pattern + count * i + j] = 1
                    index[pattern + count * j + i] = 1
                    index[degrees + i] += index[sizes + j]
                    index[degrees + j] += index[sizes + i]
    return floats


@kernel
def lay_out_blocks(
    index: IntArray, count: int, pattern: int, sizes: int, order: int, later: int, start: int
) -> None:
    """Turn the pattern into offsets of blocks, from ``start``, and list what follows each block.

    Args:
        index: Integers of the island.
        count: Of blocks.
        pattern: From :func:`order_blocks`; on return the offset of each block of the factor at
            [earlier, later], its rows those of the earlier one.
        sizes: Offset of the blocks' sizes.
        order: From :func:`order_blocks`.
        later: Offset of lists: [count + 1] starts by step, then the followers of each in order.
        start: First float of the factor.
    """
    following = later + count + 1
    total = 0
    for step in range(count):
        index[later + step] = total
        b = index[order + step]
        size = index[sizes + b]
        index[pattern + (count + 1) * b] = start
        start += size * size
        for s in range(step + 1, count):
            c = index[order + s]
            if index[pattern + count * b + c]:
                index[pattern + count * b + c] = start
                start += size * index[sizes + c]
                index[following + total] = c
                total += 1
    index[later + count] = total


@kernel
def factor_blocks(
    index: IntArray,
    values: FloatArray,
    count: int,
    pattern: int,
    sizes: int,
    order: int,
    later: int,
) -> None:
    """Factor the blocks that :func:`lay_out_blocks` placed, in place."""
    following = later + count + 1
    for step in range(count):
        b = index[order + step]
        n, diagonal = index[sizes + b], index[pattern + (count + 1) * b]
        begin, end = following + index[later + step], following + index[later + step + 1]
        for i in range(n):
            row = diagonal + n * i
            subtract_product(values, row + i, diagonal + i, n, diagonal + i, n, i, n - i)
            left = values[row + i]
            inverse = 1.0 / math.sqrt(left) if left > 0.0 else 0.0
            values[row + i] = inverse
            for k in range(i + 1, n):
                values[row + k] *= inverse
            for q in range(begin, end):
                c = index[q]
                m, panel = index[sizes + c], index[pattern + count * b + c]
                subtract_product(values, panel + m * i, diagonal + i, n, panel, m, i, m)
                for k in range(panel + m * i, panel + m * (i + 1)):
                    values[k] *= inverse
        for p in range(begin, end):
            c = index[p]
            m, panel = index[sizes + c], index[pattern + count * b + c]
            for q in range(p, end):
                d = index[q]
                k, other = index[sizes + d], index[pattern + count * b + d]
                target = index[pattern + count * c + d]
                for j in range(m):
                    first = j if c == d else 0
                    subtract_product(
                        values,
                        target + k * j + first,
                        panel + j,
                        m,
                        other + first,
                        k,
                        n,
                        k - first,
                    )


@kernel
def solve_blocks(
    index: IntArray,
    values: FloatArray,
    count: int,
    pattern: int,
    sizes: int,
    order: int,
    later: int,
    places: int,
    vector: int,
) -> None:
    """Solve in place with a factor; ``places`` are the blocks' first rows in the vector."""
    following = later + count + 1
    for step in range(count):
        b = index[order + step]
        n, diagonal = index[sizes + b], index[pattern + (count + 1) * b]
        x = vector + index[places + b]
        for i in range(n):
            value = values[x + i] * values[diagonal + (n + 1) * i]
            values[x + i] = value
            if value == 0.0:
                continue
            subtract_row(values, x + i + 1, value, diagonal + (n + 1) * i + 1, n - i - 1)
            for q in range(following + index[later + step], following + index[later + step + 1]):
                c = index[q]
                m, panel = index[sizes + c], index[pattern + count * b + c]
                subtract_row(values, vector + index[places + c], value, panel + m * i, m)
    for step in range(count - 1, -1, -1):
        b = index[order + step]
        n, diagonal = index[sizes + b], index[pattern + (count + 1) * b]
        x = vector + index[places + b]
        for q in range(following + index[later + step], following + index[later + step + 1]):
            c = index[q]
            panel, m = index[pattern + count * b + c], index[sizes + c]
            y = vector + index[places + c]
            for i in range(n):
                values[x + i] -= dot(values, panel + m * i, y, m)
        for i in range(n - 1, -1, -1):
            row = diagonal + (n + 1) * i
            known = dot(values, row + 1, x + i + 1, n - i - 1)
            values[x + i] = (values[x + i] - known) * values[row]
