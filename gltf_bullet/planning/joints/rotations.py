"""Rotation part of a chain from frame a to frame b: one ball, or revolutes in a chosen order.

Pure. A ball has no singular pose but can only be limited by the solve; revolutes have native
limits, but two of their axes meet when the middle one reaches 90 degrees. Measured: three free
revolutes took a fast pendulum from 10.8 J to 430-960 J there, a ball to 15.5 J.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gltf_bullet.transforms import FloatArray, Pose, Quat, matrices_from_quats

SAFE_MIDDLE = math.radians(80.0)
"""Largest angle [rad] that hard limits may allow the middle revolute of three."""

_UNIT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Turn(Struct, frozen=True, kw_only=True):
    """A rotation about one axis of the frame reached so far."""

    axis: int
    angle: float
    """[rad] At load, unwrapped towards the limits; a turn that is not free keeps it."""
    is_free: bool


class RotationLayout(Struct, frozen=True, kw_only=True):
    """The rotation part of a chain: ``turns`` in order (or a ball), then ``tail_xyzw``."""

    is_ball: bool
    turns: tuple[Turn, ...] = ()
    ball_xyzw: Quat = (0.0, 0.0, 0.0, 1.0)
    """Position of the ball at load."""
    tail_xyzw: Quat = (0.0, 0.0, 0.0, 1.0)
    """Constant rotation of locked axes at load, below the tolerance."""


def axis_turn(axis: int, angle: float) -> Pose:
    """The pose that turns by ``angle`` about a basis axis."""
    x, y, z = _UNIT[axis]
    s = math.sin(0.5 * angle)
    return Pose((x * s, y * s, z * s, math.cos(0.5 * angle)), (0.0, 0.0, 0.0))


def euler_angles(rotation: FloatArray, order: tuple[int, int, int]) -> tuple[float, float, float]:
    """Angles with ``rotation = R_i(a) R_j(b) R_k(c)``; b in [-90, 90] degrees."""
    i, j, k = order
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    b = math.asin(max(-1.0, min(1.0, sign * float(rotation[i, k]))))
    a = math.atan2(-sign * float(rotation[j, k]), float(rotation[k, k]))
    c = math.atan2(-sign * float(rotation[i, j]), float(rotation[i, i]))
    return a, b, c


def plan_rotations(
    a_from_b_xyzw: Quat,
    *,
    spans: Sequence[tuple[float, float]],
    cones: Sequence[tuple[tuple[int, ...], float]] = (),
    is_driven: bool = False,
    tolerance: float,
) -> RotationLayout:
    """Choose between a ball and revolutes, and the order of the revolutes.

    Args:
        a_from_b_xyzw: Relative rotation at load.
        spans: Hard range per axis [rad], equal bounds for a locked axis.
        cones: Hard radial limits: axes and maximum [rad].
        is_driven: True if a drive acts on one of the axes: motors need revolutes.
        tolerance: [rad] A locked axis that is off by less at load stays where it is.
    """
    locked = [lower >= upper for lower, upper in spans]
    open_axes = [axis for axis in range(3) if not locked[axis]]
    zero_locks = all(spans[axis][0] == 0.0 for axis in range(3) if locked[axis])
    if len(open_axes) == 1 and zero_locks:
        # A hinge is free over the full turn: no Euler order may come near its singular pose.
        layout = _hinge(a_from_b_xyzw, open_axes[0], spans[open_axes[0]], tolerance)
        if layout is not None:
            return layout
    if not open_axes and zero_locks and total_angle(a_from_b_xyzw) <= tolerance:
        return RotationLayout(is_ball=False, tail_xyzw=a_from_b_xyzw)
    # One-axis limits of a free rotation are limits of its twist (appendix "Joint Limit Metrics"),
    # which keeps no Euler angle away from 90 degrees; limits of motor angles do.
    bounding = spans if is_driven else ((-math.inf, math.inf),) * 3
    middles = _safe_middles(bounding, cones) if len(open_axes) == 3 else {0, 1, 2}
    if not middles:
        return RotationLayout(is_ball=True, ball_xyzw=a_from_b_xyzw)
    matrix = matrices_from_quats(np.array(a_from_b_xyzw))
    best: tuple[tuple[float, ...], tuple[Turn, ...]] | None = None
    for order in itertools.permutations(range(3)):
        if order[1] not in middles:
            continue
        # A cone about k is a function of the two other angles only when k turns last.
        tilted = sum(1 for axes, _ in cones if len(axes) == 2 and order[2] in axes)
        turns = _turns(matrix, order, spans, tolerance)
        excess = sum(
            max(0.0, spans[t.axis][0] - t.angle, t.angle - spans[t.axis][1]) for t in turns
        )
        free_middle = turns[1].is_free and all(turn.is_free for turn in turns)
        near_lock = max(0.0, abs(turns[1].angle) - SAFE_MIDDLE) if free_middle else 0.0
        width = min(math.tau, spans[order[1]][1] - spans[order[1]][0])
        kept = sum(1 for turn in turns if turn.is_free)
        cost = (kept, round(near_lock, 6), tilted, round(excess, 6), width)
        if best is None or cost < best[0]:
            best = (cost, turns)
    if best is None:
        return RotationLayout(is_ball=True, ball_xyzw=a_from_b_xyzw)
    return RotationLayout(is_ball=False, turns=best[1])


def _safe_middles(
    spans: Sequence[tuple[float, float]], cones: Sequence[tuple[tuple[int, ...], float]]
) -> set[int]:
    """Axes that hard limits keep away from 90 degrees."""
    safe = {
        axis
        for axis, (lower, upper) in enumerate(spans)
        if lower >= -SAFE_MIDDLE and upper <= SAFE_MIDDLE
    }
    for axes, maximum in cones:
        if maximum <= SAFE_MIDDLE:
            safe |= set(axes)
    return safe


def _turns(
    matrix: FloatArray,
    order: tuple[int, ...],
    spans: Sequence[tuple[float, float]],
    tolerance: float,
) -> tuple[Turn, ...]:
    i, j, k = order
    turns = []
    for axis, angle in zip(order, euler_angles(matrix, (i, j, k)), strict=True):
        lower, upper = spans[axis]
        unwrapped = _unwrapped(angle, lower, upper)
        is_free = lower < upper or abs(unwrapped - lower) > tolerance
        turns.append(Turn(axis=axis, angle=unwrapped, is_free=is_free))
    return tuple(turns)


def _unwrapped(angle: float, lower: float, upper: float) -> float:
    """The angle, plus or minus a full turn, that violates the range least [rad]."""
    return min(
        (angle, angle + math.tau, angle - math.tau),
        key=lambda x: (round(_excess(x, lower, upper), 9), abs(x)),
    )


def _excess(angle: float, lower: float, upper: float) -> float:
    return max(0.0, lower - angle, angle - upper)


def _hinge(
    q: Quat, axis: int, span: tuple[float, float], tolerance: float
) -> RotationLayout | None:
    angle = 2.0 * math.atan2(q[axis], q[3])
    angle = math.remainder(angle, math.tau)
    rest = axis_turn(axis, -angle) @ Pose(q, (0.0, 0.0, 0.0))
    if total_angle(rest.rotation_xyzw) > tolerance:
        return None
    turn = Turn(axis=axis, angle=_unwrapped(angle, *span), is_free=True)
    return RotationLayout(is_ball=False, turns=(turn,), tail_xyzw=rest.rotation_xyzw)


def total_angle(q: Quat) -> float:
    """Total angle of a rotation, about its own axis [rad]."""
    return 2.0 * math.atan2(math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2), abs(q[3]))
