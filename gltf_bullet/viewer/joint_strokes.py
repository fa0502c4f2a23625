"""Joint frames, limits and drive targets as line segments in attachment frame a. Pure.

Arcs start at the axis that follows the watched one (x, y, z, x): the pointer of
:func:`pointer_segments` lies on the same circle, so that its place on the arc is the coordinate.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from gltf_bullet.model import DofKind, JointDrive, JointLimit
from gltf_bullet.transforms import FloatArray
from gltf_bullet.viewer.strokes import arc, arrows, axes_cross, circle

__all__ = ["drive_segments", "frame_segments", "limit_segments", "pointer_segments"]

ARC_STEP = math.radians(15.0)
"""[rad] Between two points of a drawn arc."""
TICK = 0.12
"""Length of the marks at the ends of a range, in sizes of the joint."""


def frame_segments(size: float) -> FloatArray:
    """The three axes of an attachment frame, shape [3, 2, 3]."""
    ends = size * np.eye(3)
    return np.stack([np.zeros((3, 3)), ends], axis=1)


def _plane_of(axis: int) -> tuple[FloatArray, FloatArray]:
    unit = np.eye(3)
    return unit[(axis + 1) % 3], unit[(axis + 2) % 3]


@lru_cache(maxsize=1024)
def limit_segments(limit: JointLimit, size: float, reach: float) -> FloatArray:
    """What a limit allows: ranges as lines or arcs, radial limits as circles and cones.

    Args:
        limit: The limit; a locked one draws nothing.
        size: Radius of arcs, length of cones [m].
        reach: Where unbounded ranges end [m].

    Returns:
        In the joint node's frame [m], shape [k, 2, 3].
    """
    low, high = limit.minimum, limit.maximum
    if low == high == 0.0 or (math.isinf(low) and math.isinf(high)):
        return np.zeros((0, 2, 3))
    if limit.kind is DofKind.LINEAR:
        return _linear(limit, size, reach)
    if len(limit.axes) == 1:
        return _hinge(limit.axes[0], max(low, -math.pi), min(high, math.pi), size)
    if len(limit.axes) == 2:
        (pole,) = {0, 1, 2} - set(limit.axes)
        angles = {a for a in (low, high) if 0.0 < a < math.pi}
        return np.concatenate(
            [np.zeros((0, 2, 3)), *(_cone(pole, a, size) for a in sorted(angles))]
        )
    high = min(high, math.pi)
    return np.concatenate([_hinge(axis, -high, high, size) for axis in range(3)])


def _linear(limit: JointLimit, size: float, reach: float) -> FloatArray:
    unit = np.eye(3)
    if len(limit.axes) == 1:
        axis = limit.axes[0]
        low, high = max(limit.minimum, -reach), min(limit.maximum, reach)
        parts = [np.stack([low * unit[axis], high * unit[axis]])[None]]
        for bound, end in ((limit.minimum, low), (limit.maximum, high)):
            if math.isfinite(bound):
                lengths = np.full(3, TICK * size)
                lengths[axis] = 0.0
                across = [k for k in range(3) if k != axis]
                parts.append(axes_cross(lengths)[across] + end * unit[axis])
        return np.concatenate(parts)
    radii = sorted({r for r in (limit.minimum, limit.maximum) if 0.0 < r < math.inf})
    poles = range(3) if len(limit.axes) == 3 else {0, 1, 2} - set(limit.axes)
    rings = [circle(*_plane_of(pole), radius) for radius in radii for pole in poles]
    return np.concatenate([np.zeros((0, 2, 3)), *rings])


def _hinge(axis: int, low: float, high: float, size: float) -> FloatArray:
    u, v = _plane_of(axis)
    pieces = max(1, math.ceil((high - low) / ARC_STEP - 1e-9))
    ends = [size * (math.cos(a) * u + math.sin(a) * v) for a in (low, high)]
    spokes = np.stack([np.zeros((2, 3)), np.array(ends)], axis=1)
    return np.concatenate([arc(u, v, size, low, high, pieces), spokes])


def _cone(pole: int, angle: float, size: float) -> FloatArray:
    u, v = _plane_of(pole)
    top = size * math.cos(angle) * np.eye(3)[pole]
    radius = size * math.sin(angle)
    rim = circle(u, v, radius) + top
    spokes = np.stack([np.zeros((4, 3)), rim[::4, 0]], axis=1)
    return np.concatenate([rim, spokes])


def drive_segments(drive: JointDrive, target: float, speed: float, size: float) -> FloatArray:
    """Where a drive wants its axis: a mark at the target, or an arrow where it only has a speed.

    Args:
        drive: Kind, axis and gains.
        target: Position target now [m] or [rad].
        speed: Velocity target now [m/s] or [rad/s].
        size: Of the joint's marks [m].
    """
    unit = np.eye(3)[drive.axis]
    u, v = _plane_of(drive.axis)
    if drive.stiffness > 0.0:
        if drive.kind is DofKind.LINEAR:
            mark: FloatArray = axes_cross(np.full(3, 1.5 * TICK * size)) + target * unit
            return mark
        tip = 1.25 * size * (math.cos(target) * u + math.sin(target) * v)
        return np.stack([np.zeros(3), tip])[None]
    if speed == 0.0:
        return np.zeros((0, 2, 3))
    sign = math.copysign(1.0, speed)
    if drive.kind is DofKind.LINEAR:
        return arrows(np.zeros((1, 3)), (sign * size * unit)[None])
    sweep = arc(u, v, 1.25 * size, 0.0, sign * 0.5 * math.pi, 6)
    tip = arrows(sweep[-1:, 0], sweep[-1:, 1] - sweep[-1:, 0], head=0.8)
    return np.concatenate([sweep, tip[1:]])


def pointer_segments(limits: tuple[JointLimit, ...], size: float) -> FloatArray:
    """Pointers in attachment frame b that show where it stands on the arcs and cones of a.

    One per single rotation axis that some limit watches, and one along the pole of each cone.
    """
    unit = np.eye(3)
    ends = []
    for limit in limits:
        if limit.kind is not DofKind.ANGULAR or limit.minimum == limit.maximum == 0.0:
            continue
        if len(limit.axes) == 1:
            ends.append(_plane_of(limit.axes[0])[0])
        elif len(limit.axes) == 2:
            (pole,) = {0, 1, 2} - set(limit.axes)
            ends.append(unit[pole])
    tips = size * np.array(ends).reshape(-1, 3)
    return np.stack([np.zeros_like(tips), tips], axis=1)
