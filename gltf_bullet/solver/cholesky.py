"""Row-wise Cholesky factors: of one dense block, and of the block-sparse matrix of an island.

U^T U = H with rows of U stored contiguously: an inner loop adds a multiple of one row to another,
which the compiler turns into vector instructions without changing any rounding. Zeros are skipped,
so a chain numbered from its leaves costs no more than its own branches.
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import FloatTable, kernel
from gltf_bullet.transforms import FloatArray, IntArray

SINGULAR = 1e-14
"""Share of a diagonal entry that must be left by the elimination of the others; where it is not,
the direction is one that others hold already, and it is given up."""


@kernel
def subtract_row(target: FloatArray, factor: float, source: FloatArray, count: int) -> None:
    """``target -= factor * source`` over ``count`` entries."""
    for k in range(count):
        target[k] -= factor * source[k]


@kernel
def subtract_rows(
    target: FloatArray,
    a: float,
    first: FloatArray,
    b: float,
    second: FloatArray,
    c: float,
    third: FloatArray,
    d: float,
    fourth: FloatArray,
    count: int,
) -> None:
    """Subtract four rows in turn, each times its factor."""
    for k in range(count):
        target[k] = target[k] - a * first[k] - b * second[k] - c * third[k] - d * fourth[k]


@kernel
def subtract_product(
    target: FloatArray,
    factors: FloatArray,
    apart: int,
    source: FloatArray,
    stride: int,
    terms: int,
    count: int,
) -> None:
    """Subtract ``terms`` rows times their factors from one row, in turn; zeros are skipped."""
    i = 0
    while i + 4 <= terms:
        four, rows = factors[apart * i :], source[stride * i :]
        a, b, c, d = four[0], four[apart], four[2 * apart], four[3 * apart]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            second, third, fourth = rows[stride:], rows[2 * stride :], rows[3 * stride :]
            subtract_rows(target, a, rows, b, second, c, third, d, fourth, count)
        i += 4
    while i < terms:
        factor = factors[apart * i]
        if factor != 0.0:
            subtract_row(target, factor, source[stride * i :], count)
        i += 1


@kernel
def dot(first: FloatArray, second: FloatArray, count: int) -> float:
    """Dot product in four partial sums, which the processor adds up side by side."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = count - count % 4
    for k in range(0, whole, 4):
        a += first[k] * second[k]
        b += first[k + 1] * second[k + 1]
        c += first[k + 2] * second[k + 2]
        d += first[k + 3] * second[k + 3]
    for k in range(whole, count):
        a += first[k] * second[k]
    return (a + b) + (c + d)


@kernel
def factor_dense(matrix: FloatTable, n: int, factor: FloatTable) -> None:
    """Factor a symmetric [n, n] matrix; upper triangles are read and written."""
    for i in range(n):
        row, k = factor[i], 0
        for j in range(i, n):
            row[j] = matrix[i, j]
        while k + 4 <= i:
            a, b, c, d = factor[k, i], factor[k + 1, i], factor[k + 2, i], factor[k + 3, i]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                subtract_rows(
                    row[i:], a, factor[k, i:], b, factor[k + 1, i:], c, factor[k + 2, i:],
                    d, factor[k + 3, i:], n - i,
                )  # fmt: skip
            k += 4
        while k < i:
            if factor[k, i] != 0.0:
                subtract_row(row[i:], factor[k, i], factor[k, i:], n - i)
            k += 1
        left = row[i]
        inverse = 1.0 / math.sqrt(left) if left > SINGULAR * matrix[i, i] and left > 0.0 else 0.0
        row[i] = inverse
        for k in range(i + 1, n):
            row[k] *= inverse


@kernel
def forward_dense(factor: FloatTable, n: int, vector: FloatArray) -> None:
    """Solve ``U^T y = b`` in place; the diagonal of U is stored inverted."""
    for i in range(n):
        if vector[i] != 0.0:
            value = vector[i] * factor[i, i]
            vector[i] = value
            subtract_row(vector[i + 1 :], value, factor[i, i + 1 :], n - i - 1)


@kernel
def backward_dense(factor: FloatTable, n: int, vector: FloatArray) -> None:
    """Solve ``U x = y`` in place."""
    for i in range(n - 1, -1, -1):
        known = dot(factor[i, i + 1 :], vector[i + 1 :], n - i - 1)
        vector[i] = (vector[i] - known) * factor[i, i]


@kernel
def solve_dense(factor: FloatTable, n: int, vector: FloatArray) -> None:
    """Solve ``U^T U x = b`` in place."""
    forward_dense(factor, n, vector)
    backward_dense(factor, n, vector)


@kernel
def order_blocks(count: int, pattern: IntArray, sizes: IntArray, order: IntArray) -> int:
    """Elimination order of least degree for blocks; fills the pattern in.

    Args:
        count: Of blocks.
        pattern: [count, count], 1 where two blocks are coupled, 0 elsewhere; on return also 1 where
            the elimination couples them.
        sizes: The blocks' sizes.
        order: Three lists [count]: receives the order; the others are scratch.

    Returns:
        How many floats the factor takes.
    """
    done, degrees = order[count:], order[2 * count :]
    for i in range(count):
        done[i] = 0
        degree = 0
        for j in range(count):
            if i != j and pattern[count * i + j]:
                degree += sizes[j]
        degrees[i] = degree
    floats = 0
    for step in range(count):
        best = -1
        for i in range(count):
            if not done[i] and (best < 0 or degrees[i] < degrees[best]):
                best = i
        order[step] = best
        done[best] = 1
        row, size = pattern[count * best :], sizes[best]
        floats += size * size
        for i in range(count):
            if done[i] or not row[i]:
                continue
            floats += size * sizes[i]
            degrees[i] -= size
            # What was coupled to the eliminated block is now coupled with each other.
            for j in range(i):
                if row[j] and not done[j] and not pattern[count * i + j]:
                    pattern[count * i + j] = 1
                    pattern[count * j + i] = 1
                    degrees[i] += sizes[j]
                    degrees[j] += sizes[i]
    return floats


@kernel
def lay_out_blocks(
    count: int, pattern: IntArray, sizes: IntArray, order: IntArray, later: IntArray, start: int
) -> None:
    """Turn the pattern into offsets of blocks, from ``start``, and list what follows each block.

    Args:
        count: Of blocks.
        pattern: From :func:`order_blocks`; on return the offset of each block of the factor at
            [earlier, later], its rows those of the earlier one.
        sizes: The blocks' sizes.
        order: From :func:`order_blocks`.
        later: Receives lists: [count + 1] starts by step, then the followers of each in order.
        start: First float of the factor.
    """
    following = later[count + 1 :]
    total = 0
    for step in range(count):
        later[step] = total
        b = order[step]
        size = sizes[b]
        pattern[(count + 1) * b] = start
        start += size * size
        for s in range(step + 1, count):
            c = order[s]
            if pattern[count * b + c]:
                pattern[count * b + c] = start
                start += size * sizes[c]
                following[total] = c
                total += 1
    later[count] = total


@kernel
def factor_blocks(
    values: FloatArray,
    count: int,
    pattern: IntArray,
    sizes: IntArray,
    order: IntArray,
    later: IntArray,
) -> None:
    """Factor the blocks that :func:`lay_out_blocks` placed among ``values``, in place."""
    following = later[count + 1 :]
    for step in range(count):
        b = order[step]
        n, diagonal = sizes[b], values[pattern[(count + 1) * b] :]
        begin, end = later[step], later[step + 1]
        for i in range(n):
            row = diagonal[n * i :]
            subtract_product(row[i:], diagonal[i:], n, diagonal[i:], n, i, n - i)
            left = row[i]
            inverse = 1.0 / math.sqrt(left) if left > 0.0 else 0.0
            row[i] = inverse
            for k in range(i + 1, n):
                row[k] *= inverse
            for q in range(begin, end):
                c = following[q]
                m, panel = sizes[c], values[pattern[count * b + c] :]
                row = panel[m * i :]
                subtract_product(row, diagonal[i:], n, panel, m, i, m)
                for k in range(m):
                    row[k] *= inverse
        for p in range(begin, end):
            c = following[p]
            m, panel = sizes[c], values[pattern[count * b + c] :]
            for q in range(p, end):
                d = following[q]
                k, other = sizes[d], values[pattern[count * b + d] :]
                target = values[pattern[count * c + d] :]
                for j in range(m):
                    first = j if c == d else 0
                    subtract_product(
                        target[k * j + first :], panel[j:], m, other[first:], k, n, k - first
                    )


@kernel
def solve_blocks(
    values: FloatArray,
    count: int,
    pattern: IntArray,
    sizes: IntArray,
    order: IntArray,
    later: IntArray,
    places: IntArray,
    vector: FloatArray,
) -> None:
    """Solve in place with a factor; ``places`` are the blocks' first rows in the vector."""
    following = later[count + 1 :]
    for step in range(count):
        b = order[step]
        n, diagonal = sizes[b], values[pattern[(count + 1) * b] :]
        x = vector[places[b] :]
        for i in range(n):
            value = x[i] * diagonal[(n + 1) * i]
            x[i] = value
            if value == 0.0:
                continue
            subtract_row(x[i + 1 :], value, diagonal[(n + 1) * i + 1 :], n - i - 1)
            for q in range(later[step], later[step + 1]):
                c = following[q]
                m, panel = sizes[c], values[pattern[count * b + c] :]
                subtract_row(vector[places[c] :], value, panel[m * i :], m)
    for step in range(count - 1, -1, -1):
        b = order[step]
        n, diagonal = sizes[b], values[pattern[(count + 1) * b] :]
        x = vector[places[b] :]
        for q in range(later[step], later[step + 1]):
            c = following[q]
            m, panel = sizes[c], values[pattern[count * b + c] :]
            y = vector[places[c] :]
            for i in range(n):
                x[i] -= dot(panel[m * i :], y, m)
        for i in range(n - 1, -1, -1):
            row = diagonal[(n + 1) * i :]
            known = dot(row[1:], x[i + 1 :], n - i - 1)
            x[i] = (x[i] - known) * row[0]
