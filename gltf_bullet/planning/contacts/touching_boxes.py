"""Pairs of boxes that overlap, by sweep and prune."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import FloatArray


def touching_boxes(low: FloatArray, high: FloatArray) -> npt.NDArray[np.intp]:
    """Return the pairs of boxes that overlap, ascending, shape [k, 2].

    Args:
        low: Lowest corners [m], shape [n, 3].
        high: Highest corners [m], shape [n, 3].
    """
    # Infinite planes reach 1e30 in the engine.
    spread = [float(np.ptp(np.clip(0.5 * (low + high)[:, k], -1e6, 1e6))) for k in range(3)]
    axis = int(np.argmax(spread))
    order = np.argsort(low[:, axis], kind="stable")
    low, high = low[order], high[order]
    ends = np.searchsorted(low[:, axis], high[:, axis], side="right")
    counts = np.maximum(ends - np.arange(len(low)) - 1, 0)
    first = np.repeat(np.arange(len(low)), counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    second = first + 1 + np.arange(len(first)) - starts
    for k in range(3):
        meets = (low[first, k] <= high[second, k]) & (low[second, k] <= high[first, k])
        first, second = first[meets], second[meets]
    pairs: npt.NDArray[np.intp] = np.sort(np.stack([order[first], order[second]], axis=1), axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
