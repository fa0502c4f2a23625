"""Times of keyframes, and reduction of keyframes within a tolerance. Pure numpy."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable

import numpy as np

from gltf_bullet.transforms import FloatArray, IntArray, quat_conjugate, quat_multiply


def require_number(name: str, value: float, *, or_zero: bool = False) -> None:
    """Raise ``ValueError`` for an argument that is not a finite number above 0."""
    try:
        is_fine = math.isfinite(value) and (value > 0.0 or (or_zero and value == 0.0))
    except OverflowError:  # an integer that no float holds
        is_fine = False
    if not is_fine:
        must = f"must be a finite number {'>=' if or_zero else '>'} 0"
        raise ValueError(f"{name} is {reprlib.repr(value)}; {must}")


def next_due(time: float, interval: float) -> float:
    """Return the time of the next frame [s]: the next multiple of ``interval`` after ``time``."""
    return interval * (math.floor(time / interval + 1e-6) + 1) - 1e-9 if interval else time


def ascending_times(times: FloatArray) -> FloatArray:
    """Return times that ascend also as glTF's floats: of two equal ones the first is reduced.

    Args:
        times: Times of frames [s]; two equal ones are before and after a jump.
    """
    ascending = times.copy()
    before = np.flatnonzero(times[1:] == times[:-1])
    ascending[before] -= np.spacing(times[before].astype(np.float32))
    return ascending


def reduce_steps(values: FloatArray, tolerance: float) -> IntArray:
    """Return the keys that STEP interpolation needs, and the last one, within a tolerance."""
    kept = [0]
    if _farthest(values) > tolerance:
        for key in range(1, len(values)):
            if np.linalg.norm(values[key] - values[kept[-1]]) > tolerance:
                kept.append(key)
        kept.append(len(values) - 1)
    return np.unique(np.array(kept, dtype=np.intp))


def reduce_vectors(times: FloatArray, values: FloatArray, tolerance: float) -> IntArray:
    """Return the keys that LINEAR interpolation needs.

    Args:
        times: Increasing [s], shape [key_count].
        values: Shape [key_count, width].
        tolerance: Largest distance of a dropped key from the line, in units of ``values``, once
            times and values are rounded to the floats of a file.

    Returns:
        Indices of the kept keys, ascending; always the first, and only that if nothing moves.
    """
    steps = np.linalg.norm(np.diff(values, axis=0), axis=1)
    allowed = before_rounding(tolerance, times, steps, float(np.abs(values).max(initial=0.0)))
    if _farthest(values) <= allowed:
        return np.zeros(1, dtype=np.intp)

    def errors(first: int, last: int) -> FloatArray:
        share = _shares(times, first, last)[:, None]
        line = values[first] * (1.0 - share) + values[last] * share
        gaps: FloatArray = np.linalg.norm(values[first + 1 : last] - line, axis=1)
        return gaps

    return _split(len(times), errors, allowed)


def reduce_rotations(times: FloatArray, rotations_xyzw: FloatArray, tolerance: float) -> IntArray:
    """Return the keys that LINEAR interpolation (glTF's shortest-arc slerp) needs.

    Args:
        times: Increasing [s], shape [key_count].
        rotations_xyzw: Unit quaternions, shape [key_count, 4].
        tolerance: Largest angle between a dropped key and the arc [rad].
    """
    steps = angles_between(rotations_xyzw[1:], rotations_xyzw[:-1])
    allowed = before_rounding(tolerance, times, steps, 1.0)
    if float(angles_between(rotations_xyzw, rotations_xyzw[:1]).max(initial=0.0)) <= allowed:
        return np.zeros(1, dtype=np.intp)

    def errors(first: int, last: int) -> FloatArray:
        share = _shares(times, first, last)
        arc = _slerp(rotations_xyzw[first], rotations_xyzw[last], share)
        return angles_between(rotations_xyzw[first + 1 : last], arc)

    return _split(len(times), errors, allowed)


def continuous_rotations(rotations_xyzw: FloatArray) -> FloatArray:
    """Return equal rotations with signs such that neighbours are close to each other."""
    signs = np.where((rotations_xyzw[1:] * rotations_xyzw[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
    result: FloatArray = rotations_xyzw * np.concatenate([[1.0], np.cumprod(signs)])[:, None]
    return result


def _split(count: int, errors: Callable[[int, int], FloatArray], tolerance: float) -> IntArray:
    """Keep the worst key of each span until none exceeds the tolerance (Douglas-Peucker)."""
    kept = {0, count - 1}
    open_spans = [(0, count - 1)]
    while open_spans:
        first, last = open_spans.pop()
        if last - first < 2:
            continue
        gaps = errors(first, last)
        worst = int(np.argmax(gaps))
        if gaps[worst] > tolerance:
            middle = first + 1 + worst
            kept.add(middle)
            open_spans += [(first, middle), (middle, last)]
    return np.array(sorted(kept), dtype=np.intp)


def before_rounding(
    tolerance: float, times: FloatArray, steps: FloatArray, largest: float
) -> float:
    """Return a tolerance less the rounding of a file's floats; at least nine tenths of it.

    After a minute times are up to 2e-6 s off, and what moves at 5 m/s by 1e-5 m.

    Args:
        tolerance: Tolerance of playback.
        times: Times of the keys, increasing [s].
        steps: Distance of each key from the one before.
        largest: Largest of the values.
    """
    fastest = float((steps / np.diff(times)).max(initial=0.0))
    late, off = 0.5 * np.spacing(np.array([times[-1], largest], dtype=np.float32))
    rounding = fastest * float(late) + float(off)
    return tolerance - min(rounding, 0.1 * tolerance)


def _farthest(values: FloatArray) -> float:
    """Return the largest distance from the first value."""
    return float(np.linalg.norm(values - values[0], axis=1).max(initial=0.0))


def _shares(times: FloatArray, first: int, last: int) -> FloatArray:
    shares: FloatArray = (times[first + 1 : last] - times[first]) / (times[last] - times[first])
    return shares


def angles_between(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the angles between pairs of unit quaternions [rad], shape [k]."""
    turn = quat_multiply(a, np.broadcast_to(quat_conjugate(b), a.shape))
    angles: FloatArray = 2.0 * np.arctan2(np.linalg.norm(turn[:, :3], axis=1), np.abs(turn[:, 3]))
    return angles


def _slerp(a: FloatArray, b: FloatArray, share: FloatArray) -> FloatArray:
    dot = float(a @ b)
    if dot < 0.0:
        b, dot = -b, -dot
    angle = np.arccos(min(dot, 1.0))
    if angle < 1e-6:
        mixed = a + share[:, None] * (b - a)
    else:
        mixed = (
            np.sin((1.0 - share) * angle)[:, None] * a + np.sin(share * angle)[:, None] * b
        ) / np.sin(angle)
    result: FloatArray = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return result
