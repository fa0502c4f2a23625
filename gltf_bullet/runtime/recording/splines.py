"""Keyframes with tangents: what flies is a parabola, which straight lines follow poorly.

At 9.81 m/s^2 lines stay within 1 mm for 1/35 s; a cubic spline (glTF 2.0, Appendix C, "Cubic
Spline Interpolation") has a flight in one span. Made of samples of every step only: between frames
that are further apart nobody knows how a curve may run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gltf_bullet.runtime.recording.keyframes import angles_between, before_rounding
from gltf_bullet.scene.interpolation import hermite
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["Spline", "spline_of_rotations", "spline_of_vectors"]

_Distance = Callable[[FloatArray, FloatArray], FloatArray]
"""Of points of a curve from samples, shape [k]."""


class Spline(NamedTuple):
    """Kept keys, and what glTF has of each."""

    keys: IntArray
    """Indices of samples, ascending; the first and the last among them."""
    values: FloatArray
    """In-tangent, value and out-tangent of one key after the other, shape [3 key_count, width]."""


class _Span(NamedTuple):
    """A curve from one key to another."""

    error: float
    """Largest distance of a sample from it."""
    tangents: FloatArray
    """At its two ends [1/s], shape [2, width]."""


def spline_of_vectors(times: FloatArray, values: FloatArray, tolerance: float) -> Spline:
    """A spline that is nowhere off by more than a tolerance at any sample.

    Args:
        times: Ascending [s], shape [sample_count], two at least.
        values: Shape [sample_count, width].
        tolerance: In units of ``values``, once times and values are rounded to a file's floats.
    """

    def distance(found: FloatArray, wanted: FloatArray) -> FloatArray:
        gaps: FloatArray = np.linalg.norm(found - wanted, axis=1)
        return gaps

    steps = np.linalg.norm(np.diff(values, axis=0), axis=1)
    largest = float(np.abs(values).max(initial=0.0))
    return _spline(times, values, before_rounding(tolerance, times, steps, largest), distance)


def spline_of_rotations(times: FloatArray, rotations_xyzw: FloatArray, tolerance: float) -> Spline:
    """The same for unit quaternions whose signs do not jump; ``tolerance`` [rad]."""

    def distance(found: FloatArray, wanted: FloatArray) -> FloatArray:
        return angles_between(found / np.linalg.norm(found, axis=1, keepdims=True), wanted)

    steps = angles_between(rotations_xyzw[1:], rotations_xyzw[:-1])
    return _spline(times, rotations_xyzw, before_rounding(tolerance, times, steps, 1.0), distance)


def _spline(times: FloatArray, values: FloatArray, tolerance: float, distance: _Distance) -> Spline:
    end = len(times) - 1
    keys, spans = [0], []
    while keys[-1] < end:
        last, span = _longest(times, values, keys[-1], tolerance, distance)
        keys.append(last)
        spans.append(span.tangents)
    tangents = np.stack(spans)  # [span, end, width]
    still = np.zeros((1, values.shape[1]))  # before the first key and after the last
    result = np.stack(
        [
            np.concatenate([still, tangents[:, 1]]),
            values[keys],
            np.concatenate([tangents[:, 0], still]),
        ],
        axis=1,
    )
    return Spline(np.array(keys, dtype=np.intp), result.reshape(-1, values.shape[1]))


def _longest(
    times: FloatArray, values: FloatArray, first: int, tolerance: float, distance: _Distance
) -> tuple[int, _Span]:
    """The longest span from a key that keeps the tolerance, as far as halving finds it."""
    end = len(times) - 1
    good, best = first + 1, _fitted(times, values, first, first + 1, distance)
    length = 2
    while first + length // 2 < end:
        last = min(first + length, end)
        span = _fitted(times, values, first, last, distance)
        if span.error > tolerance:
            break
        good, best, length = last, span, 2 * length
    bad = min(first + length, end + 1) if good < end else end + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        span = _fitted(times, values, first, middle, distance)
        if span.error <= tolerance:
            good, best = middle, span
        else:
            bad = middle
    return good, best


def _fitted(
    times: FloatArray, values: FloatArray, first: int, last: int, distance: _Distance
) -> _Span:
    """The curve through two samples whose tangents suit those in between best."""
    length = float(times[last] - times[first])
    chord = (values[last] - values[first]) / length
    tangents = np.stack([chord, chord])
    if last - first < 2:
        return _Span(0.0, tangents)
    inner = values[first + 1 : last]
    u = ((times[first + 1 : last] - times[first]) / length)[:, None]
    if len(inner) > 1:
        # What tangents add to the straight line: least squares of two unknowns.
        shapes = length * np.concatenate([(u * u - 2.0 * u + 1.0) * u, (u - 1.0) * u * u], axis=1)
        bent = inner - values[first] - length * u * chord
        tangents = chord + np.linalg.solve(shapes.T @ shapes, shapes.T @ bent)
    ends = values[first], tangents[0], values[last], tangents[1]
    curve = hermite(*ends, u, np.array(length))
    return _Span(float(distance(curve, inner).max()), tangents)
