"""Whether turned boxes overlap, and how far points are from them."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.transforms import FloatArray

__all__ = ["boxes_overlap", "distance_to_box"]

_PARALLEL = 1e-12
"""[m^2] Products of parallel edges are 0 but for rounding, which separates nothing."""


@kernel
def distance_to_box(
    x: float, y: float, z: float, numbers: FloatArray, axes: int, halves: int
) -> float:
    """Distance [m] of a point from a box about the origin; 0 inside.

    Args:
        x: Of the point [m].
        y: Likewise.
        z: Likewise.
        numbers: Where the box is described.
        axes: Offset of its axes as columns [3, 3].
        halves: Offset of its half extents [3].
    """
    total = 0.0
    for k in range(3):
        along = x * numbers[axes + k] + y * numbers[axes + 3 + k] + z * numbers[axes + 6 + k]
        outside = max(abs(along) - numbers[halves + k], 0.0)
        total += outside * outside
    return math.sqrt(total)


@kernel
def _turn(numbers: FloatArray, a: int, i: int, b: int, k: int) -> float:
    """Cosine between axis ``i`` of the first box and axis ``k`` of the second."""
    return float(
        numbers[a + i] * numbers[b + k]
        + numbers[a + 3 + i] * numbers[b + 3 + k]
        + numbers[a + 6 + i] * numbers[b + 6 + k]
    )


@kernel
def _along(numbers: FloatArray, x: float, y: float, z: float, axes: int, k: int) -> float:
    """A vector's part along one of some axes."""
    return float(x * numbers[axes + k] + y * numbers[axes + 3 + k] + z * numbers[axes + 6 + k])


@kernel
def boxes_overlap(
    x: float, y: float, z: float, numbers: FloatArray, a: int, p: int, b: int, q: int
) -> bool:
    """Whether no axis separates two boxes.

    Args:
        x: From the centre of the first box to that of the second [m].
        y: Likewise.
        z: Likewise.
        numbers: Where they are described.
        a: Offset of the axes of the first as columns [3, 3].
        p: Offset of its half extents [3].
        b: As ``a``, of the second.
        q: As ``p``, of the second.
    """
    for i in range(3):
        reach, other = numbers[p + i], numbers[q + i]
        for k in range(3):
            reach += abs(_turn(numbers, a, i, b, k)) * numbers[q + k]
            other += abs(_turn(numbers, a, k, b, i)) * numbers[p + k]
        if abs(_along(numbers, x, y, z, a, i)) > reach:
            return False
        if abs(_along(numbers, x, y, z, b, i)) > other:
            return False
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        along_j, along_k = _along(numbers, x, y, z, a, j), _along(numbers, x, y, z, a, k)
        for m in range(3):
            # The axis a_i x b_m.
            n, o = (m + 1) % 3, (m + 2) % 3
            turn_j, turn_k = _turn(numbers, a, j, b, m), _turn(numbers, a, k, b, m)
            reach = numbers[p + j] * abs(turn_k) + numbers[p + k] * abs(turn_j)
            reach += numbers[q + n] * abs(_turn(numbers, a, i, b, o))
            reach += numbers[q + o] * abs(_turn(numbers, a, i, b, n))
            if abs(along_k * turn_j - along_j * turn_k) > reach + _PARALLEL:
                return False
    return True
