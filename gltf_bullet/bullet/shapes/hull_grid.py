"""Corners of hulls that Bullet leaves where they are.

``btConvexHullComputer`` makes integers of coordinates: steps of 1/10216 of the hull's extents, from
its middle, cut down (measured: a hull of 1.3 m was up to 0.13 mm too small, and smaller again each
time that it was written to a file and loaded). What is handed over half a step further out is cut
down to the nearest step; and what lies on such a grid, as all that Bullet has made, stays there.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from gltf_bullet.transforms import FloatArray

__all__ = ["on_hull_grid"]

_END = 5108
"""Steps from the middle to either end; by rounding Bullet loses the last of them in half of all
cases."""
_ON_GRID = 0.02
"""Of a step: the single precision of a file."""
_TRIES = 24
"""Neighbouring numbers of each end: one pair in two to four is rounded as it is wanted."""

_Kind = type[np.float32] | type[np.float64]


def on_hull_grid(points: FloatArray, kind: _Kind = np.float64) -> FloatArray:
    """What to hand over for a hull with its corners at ``points``, or within half a step of them.

    Args:
        points: In any frame, shape [n, 3].
        kind: The numbers that the engine reads.
    """
    return np.stack([_on_axis(values, kind) for values in points.T], axis=1)


def _on_axis(values: FloatArray, kind: _Kind) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return values
    # Where the last step of an end was lost, the grid goes one further.
    for lost_low, lost_high in product((0, 1), repeat=2):
        step = (high - low) / (2 * _END - lost_low - lost_high)
        numbers = (values - low) / step + (lost_low - _END)
        if np.abs(numbers - np.rint(numbers)).max() < _ON_GRID:
            handed = _handed(numbers, low, high, (lost_low, lost_high), step, kind)
            if handed is not None:
                return handed
    step = (high - low) / (2 * _END)
    handed = _handed((values - low) / step - _END, low, high, (0, 0), step, kind)
    return values if handed is None else handed


def _handed(
    numbers: FloatArray,
    low: float,
    high: float,
    lost: tuple[int, int],
    step: float,
    kind: _Kind,
) -> FloatArray | None:
    """Coordinates for steps from the middle; ``None``: no numbers are rounded as it takes."""
    ends = _ends(low - lost[0] * step, high + lost[1] * step, (not lost[0], not lost[1]), kind)
    if ends is None:  # of single precision both ends are kept, or both are lost
        return None
    whole = np.rint(numbers)
    handed = 0.5 * (ends[0] + ends[1]) + (whole + 0.5 * np.sign(whole)) * step
    handed[whole <= lost[0] - _END], handed[whole >= _END - lost[1]] = ends
    return handed


def _ends(
    low: float, high: float, keeps: tuple[bool, bool], kind: _Kind
) -> tuple[float, float] | None:
    """Numbers next to the ends of an axis of which Bullet keeps the last step, or does not."""
    lows, highs = _next_to(low, kind), _next_to(high, kind)
    for total in range(2 * _TRIES - 1):
        for k in range(max(0, total - _TRIES + 1), min(total, _TRIES - 1) + 1):
            ends = lows[k], highs[total - k]
            if _are_kept(*ends) == keeps:
                return ends
    return None


def _next_to(end: float, kind: _Kind) -> list[float]:
    """An end and its neighbours, the nearest first."""
    above = below = kind(end)
    numbers = [float(above)]
    for _ in range(_TRIES // 2):
        above, below = np.nextafter(above, kind(np.inf)), np.nextafter(below, kind(-np.inf))
        numbers += float(above), float(below)
    return numbers[:_TRIES]


def _are_kept(low: float, high: float) -> tuple[bool, bool]:
    """Whether both ends are whole steps from the middle, in the arithmetic of Bullet."""
    per_unit, middle = 1.0 / ((high - low) * (1.0 / (2 * _END))), (low + high) * 0.5
    return (low - middle) * per_unit <= -_END, (high - middle) * per_unit >= _END
