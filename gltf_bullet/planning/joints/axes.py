"""The axes of a joint: limits merged per axis, and the degrees of freedom that are left.

Pure. KHR_physics_rigid_bodies, "Joints".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from gltf_bullet.model import DofKind, JointLimit

BALL = 3
"""Axis number of a spherical degree of freedom: all three rotations at once."""

LOCK_WIDTH = 1e-6
"""[m, rad] Ranges narrower than this are locked."""

_HALF_TURN = math.pi - 1e-6
"""[rad]"""


class AxisRange(Struct, frozen=True, kw_only=True):
    """The intersection of all hard one-axis limits of one axis."""

    lower: float = -math.inf
    upper: float = math.inf

    @property
    def is_locked(self) -> bool:
        """True if the range leaves no motion."""
        return self.upper - self.lower <= LOCK_WIDTH

    @property
    def middle(self) -> float:
        """Value at which a locked axis is locked [m, rad]."""
        return 0.5 * (self.lower + self.upper)


class Dof(Struct, frozen=True, kw_only=True):
    """One degree of freedom of the chain (three for a ball)."""

    kind: DofKind
    axis: int
    """0, 1, 2, or :data:`BALL`."""
    position: float = 0.0
    """Value at load [m] or [rad]; meaningless for a ball."""
    lower: float = -math.inf
    """Hard limit; equal to ``upper`` for a locked axis that starts displaced."""
    upper: float = math.inf


def bounds_of(limit: JointLimit) -> tuple[float, float]:
    """Lowest and highest value of a one-axis limit; a bound that no angle can reach is infinite.

    Angles are between -pi and pi: in a range wider than a turn, an end outside of that interval
    bounds nothing. Both ends of a narrower range hold, wherever they are.
    """
    lower, upper = limit.minimum, limit.maximum
    if limit.kind is DofKind.ANGULAR and upper - lower >= 2.0 * _HALF_TURN:
        lower = lower if lower > -_HALF_TURN else -math.inf
        upper = upper if upper < _HALF_TURN else math.inf
    return lower, upper


def merge_axis(limits: Sequence[JointLimit], kind: DofKind, axis: int) -> AxisRange:
    """Intersect the hard one-axis limits of an axis, and radial ones of zero radius."""
    lower, upper = -math.inf, math.inf
    for limit in limits:
        if limit.kind is not kind or axis not in limit.axes or limit.stiffness != math.inf:
            continue
        if len(limit.axes) == 1:
            least, most = bounds_of(limit)
            lower, upper = max(lower, least), min(upper, most)
        elif limit.maximum <= LOCK_WIDTH:
            lower, upper = max(lower, 0.0), min(upper, 0.0)
    return AxisRange(lower=lower, upper=upper)
