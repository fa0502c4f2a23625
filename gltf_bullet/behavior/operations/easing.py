"""Interpolations over time of variables and properties ("Variable Interpolate", ...)."""

from __future__ import annotations

from typing import NamedTuple

from gltf_bullet.behavior.operations.vectors import blend, quat_slerp
from gltf_bullet.behavior.values import Reference, Value

MOST_EASINGS = 4096
"""Most interpolations at a time, of variables and properties together."""


class Easing(NamedTuple):
    """One interpolation that is running."""

    since: float
    """Time of the start [s]."""
    duration: float
    """Duration [s]."""
    begin: Value
    target: Value
    p1: tuple[float, ...]
    p2: tuple[float, ...]
    """Control points of a cubic Bezier curve from (0, 0) to (1, 1)."""
    is_arc: bool
    """True if it follows the arc of a rotation."""
    node: int
    """Index of the node whose ``done`` flow follows."""

    def at(self, now: float) -> tuple[Value, bool] | None:
        """The value at a time, and True if it is the last; ``None`` before the start."""
        passed = now - self.since
        if self.duration <= 0.0 or passed >= self.duration - 1e-9:
            return self.target, True
        if passed <= 0.0 or not isinstance(self.begin, (float, tuple)):
            return None
        if isinstance(self.begin, Reference):  # there are no values between two references
            return None
        way = bezier(passed / self.duration, self.p1, self.p2)
        if self.is_arc:
            return quat_slerp(self.begin, self.target, way), False  # type: ignore[arg-type]
        return blend(self.begin, self.target, way), False


class Easings:
    """All interpolations of a graph by variable index or pointer, in the order of their start."""

    def __init__(self) -> None:
        self.running: dict[int | str, Easing] = {}

    def begin(self, key: int | str, easing: Easing) -> bool:
        """Start one, replacing another of the same target; returns False if there are too many."""
        if key not in self.running and len(self.running) >= MOST_EASINGS:
            return False
        self.running.pop(key, None)
        self.running[key] = easing
        return True


def bezier(t: float, p1: tuple[float, ...], p2: tuple[float, ...]) -> float:
    """Value of the curve at x = ``t``; x increases along it, as both p.x are in 0..1."""
    (x1, y1), (x2, y2) = p1, p2
    low, high, s = 0.0, 1.0, t
    for _ in range(64):
        x = ((1.0 - s) * 3.0 * x1 * (1.0 - s) + 3.0 * x2 * s * (1.0 - s) + s * s) * s - t
        if abs(x) < 1e-12:
            break
        low, high = (s, high) if x < 0.0 else (low, s)
        slope = (
            3.0 * (1.0 - s) ** 2 * x1 + 6.0 * (1.0 - s) * s * (x2 - x1) + 3.0 * s * s * (1.0 - x2)
        )
        newton = s - x / slope if slope > 1e-9 else low
        s = newton if low < newton < high else 0.5 * (low + high)
    r = 1.0 - s
    return 3.0 * r * r * s * y1 + 3.0 * r * s * s * y2 + s * s * s
