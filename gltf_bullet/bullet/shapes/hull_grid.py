"""Corners of hulls that Bullet leaves where they are.

``btConvexHullComputer`` makes integers of coordinates: steps of 1/10216 of the hull's extents, from
its middle, cut down (measured: a hull of 1.3 m was up to 0.13 mm too small, and smaller again each
time that it was written to a file and loaded). What is handed over half a step further out is cut
down to the nearest step; and what lies on such a grid, as all that Bullet has made, stays there.
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.transforms import FloatArray

__all__ = ["OBJ_SCALE", "in_obj", "on_hull_grid"]

OBJ_SCALE = 1.0000001
"""By which PyBullet multiplies the single precision of an OBJ file. Of 1 both ends of an axis would
be rounded alike, and a hull that has lost a step at one of them could not be made again."""

_END = 5108
"""Steps from the middle to either end; half of all ends lose one by rounding."""
_ON_GRID = 0.02
"""Of a step: the single precision of a file."""
_TRIES = 24
"""Neighbouring numbers of each end: one pair in two to four is rounded as it is wanted."""

_Kind = type[np.float32] | type[np.float64]


def on_hull_grid(points: FloatArray) -> FloatArray:
    """What to hand over for a hull with its corners at ``points``, or within half a step of them.

    Args:
        points: In any frame, shape [n, 3].
    """
    return np.stack([_on_axis(values, np.float64, 1.0) for values in points.T], axis=1)


def in_obj(points: FloatArray) -> FloatArray:
    """The same for a file that is read with a scale of :data:`OBJ_SCALE`."""
    handed = [_on_axis(values, np.float32, OBJ_SCALE) for values in points.T]
    return np.stack(handed, axis=1) / OBJ_SCALE


def _on_axis(values: FloatArray, kind: _Kind, scale: float) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return values
    # Where the last step of an end was lost, the grid goes one further.
    for lost in ((0, 0), (0, 1), (1, 0), (1, 1)):
        handed = _handed(values, lost, kind, scale, _ON_GRID)
        # Others look like that by chance, and have no ends of which the engine makes it.
        if handed is not None:
            return handed
    handed = _handed(values, (0, 0), kind, scale, 1.0)
    return values if handed is None else handed


def _handed(
    values: FloatArray, lost: tuple[int, int], kind: _Kind, scale: float, tolerance: float
) -> FloatArray | None:
    """For a grid that lost a step at either end or did not, if the values are on it.

    Args:
        values: Of one axis.
        lost: Steps at the lower and at the upper end: 0 or 1.
        kind: Of number that the engine is given.
        scale: By which it multiplies them.
        tolerance: How far values may be from the grid, in steps.
    """
    low, high = float(values.min()), float(values.max())
    lost_low, lost_high = lost
    step = (high - low) / (2 * _END - lost_low - lost_high)
    numbers = (values - low) / step + (lost_low - _END)
    whole = np.rint(numbers)
    if np.abs(numbers - whole).max() > tolerance:
        return None
    keeps = not lost_low, not lost_high
    ends = _ends(low - lost_low * step, high + lost_high * step, keeps, kind, scale)
    if ends is None:
        return None
    handed: FloatArray = 0.5 * (ends[0] + ends[1]) + (whole + 0.5 * np.sign(whole)) * step
    handed[whole <= lost_low - _END], handed[whole >= _END - lost_high] = ends
    return handed


def _ends(
    low: float, high: float, keeps: tuple[bool, bool], kind: _Kind, scale: float
) -> tuple[float, float] | None:
    """Numbers next to the ends of an axis of which Bullet keeps the last step, or does not."""
    lows, highs = _next_to(low, kind, scale), _next_to(high, kind, scale)
    for total in range(2 * _TRIES - 1):
        for k in range(max(0, total - _TRIES + 1), min(total, _TRIES - 1) + 1):
            ends = lows[k], highs[total - k]
            if _are_kept(*ends) == keeps:
                return ends
    return None


def _next_to(end: float, kind: _Kind, scale: float) -> list[float]:
    """An end and its neighbours as the engine gets them, the nearest first."""
    above = below = kind(end / scale)
    numbers = [above]
    for _ in range(_TRIES // 2):
        above, below = np.nextafter(above, kind(np.inf)), np.nextafter(below, kind(-np.inf))
        numbers += above, below
    return [float(number) * scale for number in numbers[:_TRIES]]


def _are_kept(low: float, high: float) -> tuple[bool, bool]:
    """Whether both ends are whole steps from the middle, in the arithmetic of Bullet."""
    step = (high - low) * (1.0 / (2 * _END))
    if not step > 0.0:  # to single precision a thin plate far out is flat
        return False, False
    per_unit, middle = 1.0 / step, (low + high) * 0.5
    return (low - middle) * per_unit <= -_END, (high - middle) * per_unit >= _END
