"""Between keyframes: finding the two around a time, and the curves that join them.

glTF 2.0, "Appendix C: Animation Sampler Interpolation Modes". Plain functions on stacks, so that
any number of tracks costs a handful of numpy calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["KeyPosition", "Timelines", "arcs_between", "hermite"]


FEW_TIMELINES = 32
"""Up to here one searchsorted a timeline (about 1.5 us) beats the vectorised search."""


@dataclass(frozen=True, slots=True)
class KeyPosition:
    """Where a time falls, per timeline: the keyframe before it and the way to the next one."""

    key: IntArray
    following: IntArray
    """The next keyframe; the same one at the end."""
    fraction: FloatArray
    """0 at the keyframe before, 1 at the next."""
    span: FloatArray
    """Seconds between the two."""


class Timelines:
    """The distinct ``times`` arrays of many tracks; exporters share one among most channels."""

    def __init__(self, times_of_tracks: Sequence[FloatArray]) -> None:
        number_by_content: dict[bytes, int] = {}
        lines: list[FloatArray] = []
        self.of_track: IntArray = np.zeros(len(times_of_tracks), dtype=np.intp)
        for index, times in enumerate(times_of_tracks):
            content = times.tobytes()
            if content not in number_by_content:
                number_by_content[content] = len(lines)
                lines.append(times)
            self.of_track[index] = number_by_content[content]
        self._lines = lines
        self._lengths = np.array([len(line) for line in lines], dtype=np.intp)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._times = np.concatenate([np.zeros(0), *lines])

    def locate(self, time: float) -> KeyPosition:
        """Where ``time`` [s] falls in every timeline."""
        before = self._count_at_or_before(time)
        key = np.clip(before - 1, 0, self._lengths - 1)
        following = np.minimum(key + 1, self._lengths - 1)
        at, after = self._times[self._starts + key], self._times[self._starts + following]
        span = after - at
        fraction = np.clip((time - at) / np.where(span > 0.0, span, 1.0), 0.0, 1.0)
        # At or after the last keyframe there is no way to go.
        return KeyPosition(key, following, np.where(span > 0.0, fraction, 0.0), span)

    def _count_at_or_before(self, time: float) -> IntArray:
        """Per timeline the number of keyframes at or before ``time``."""
        if len(self._lines) <= FEW_TIMELINES:
            counts = [line.searchsorted(time, side="right") for line in self._lines]
            return np.array(counts, dtype=np.intp)
        # A binary search in all timelines at once: log2(longest) rounds instead of a Python loop.
        low, high = np.zeros_like(self._lengths), self._lengths.copy()
        for _ in range(int(self._lengths.max()).bit_length()):
            middle = (low + high) // 2
            open_ = low < high
            passed = self._times[self._starts + np.minimum(middle, self._lengths - 1)] <= time
            low = np.where(open_ & passed, middle + 1, low)
            high = np.where(open_ & ~passed, middle, high)
        return low


def arcs_between(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The shorter arcs from unit quaternions ``a`` to ``b``, shape [count, 4].

    Returns:
        Unit quaternions orthogonal to ``a`` (0 where there is no way to go), shape [count, 4], and
        angles in 0..pi/2 [rad], shape [count, 1], such that the point at a fraction u of the way
        (slerp) is ``a cos(u angle) + orthogonal sin(u angle)``.
    """
    dot = (a * b).sum(axis=1, keepdims=True)
    b = np.where(dot < 0.0, -b, b)
    across = b - np.abs(dot) * a
    sine = np.linalg.norm(across, axis=1, keepdims=True)
    # Not acos: it loses half of the digits where dot is near 1.
    return across / np.where(sine > 0.0, sine, 1.0), np.arctan2(sine, np.abs(dot))


def hermite(
    value: FloatArray,
    out_tangent: FloatArray,
    next_value: FloatArray,
    next_in_tangent: FloatArray,
    u: FloatArray,
    span: FloatArray,
) -> FloatArray:
    """The curve of glTF 2.0, C.5 "Cubic Spline Interpolation"; tangents are per second."""
    u2, u3 = u * u, u * u * u
    return (
        (2.0 * u3 - 3.0 * u2 + 1.0) * value
        + span * (u3 - 2.0 * u2 + u) * out_tangent
        + (3.0 * u2 - 2.0 * u3) * next_value
        + span * (u3 - u2) * next_in_tangent
    )
