"""Rows of the joint-space solve: the metrics that limits and drives of a joint act on.

Pure. KHR_physics_rigid_bodies, "Joints" and the appendix "Joint Limit Metrics".
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, note
from gltf_bullet.model import DofKind, Joint, JointLimit
from gltf_bullet.planning.joints.axes import (
    BALL,
    LOCK_WIDTH,
    AxisRange,
    Dof,
    bounds_of,
    merge_axis,
)
from gltf_bullet.planning.joints.rotations import SAFE_MIDDLE

JOINT_DRIVE_ON_LOCKED_AXIS = note(
    "JOINT_DRIVE_ON_LOCKED_AXIS",
    "the drive acts on the {dof} axis {axis}, which the limits lock; it has no effect",
)


class RowMetric(enum.Enum):
    """The component of the relative pose that a row acts on."""

    COORDINATE = "coordinate"
    """The position of one degree of freedom of the chain."""
    TWIST = "twist"
    """Signed twist of a ball about one axis."""
    ROTATION = "rotation"
    """One component of a ball's rotation vector."""
    SWING = "swing"
    """One component of the swing that tilts axis k of a to axis k of b (``about`` is k)."""
    OFFSET = "offset"
    """Signed translation along one axis of a, where no degree of freedom measures it."""
    LINE = "line"
    """Distance from the line of one axis: the remaining one of a 2D linear limit."""
    POINT = "point"
    """Distance between the frames: a 3D linear limit."""
    CONE = "cone"
    """Angle between axis k of both frames: a 2D angular limit."""
    ANGLE = "angle"
    """Total angle between the frames: a 3D angular limit."""


class JointRow(Struct, frozen=True, kw_only=True):
    """A limit or a drive of one joint, as a row of the joint-space solve."""

    metric: RowMetric
    kind: DofKind
    axis: int
    """The axis of the metric; the remaining axis for LINE and CONE; 0 for POINT and ANGLE."""
    about: int = -1
    """The tilting axis of SWING."""
    dof: int = -1
    """Index into the layout's dofs for COORDINATE."""
    limits: tuple[int, ...] = ()
    """Indices of the authored limits that this row enforces."""
    drive: int = -1
    """Index of the authored drive that this row enforces, or -1."""
    is_mirrored: bool = False
    """True if an OFFSET is measured against the axis of a."""


_LENGTHS = (RowMetric.LINE, RowMetric.POINT, RowMetric.CONE, RowMetric.ANGLE)
"""Metrics that are never negative, and have no gradient where they are 0."""


def limit_range(row: JointRow, limits: Sequence[JointLimit]) -> AxisRange:
    """The range of a row's metric that the current limits of its joint allow."""
    own = limits[row.limits[0]]
    if math.isinf(own.stiffness) and row.metric in (RowMetric.COORDINATE, RowMetric.OFFSET):
        span = merge_axis(limits, row.kind, row.axis)
        if span.lower > span.upper:
            return AxisRange(lower=span.middle, upper=span.middle)
        return span
    if len(own.axes) > 1 and own.maximum <= LOCK_WIDTH:
        return AxisRange(lower=0.0, upper=0.0)
    if row.metric in _LENGTHS and own.minimum <= 0.0:
        return AxisRange(upper=own.maximum)
    return AxisRange(lower=own.minimum, upper=own.maximum)


def needs_other_rows(
    old: JointLimit, new: JointLimit, rows: Sequence[JointRow], revolutes: int
) -> bool:
    """Return True if ``new`` needs other rows or degrees of freedom than ``old``.

    Args:
        old: A limit.
        new: The same limit with other numbers.
        rows: The rows that enforce ``old``; without any it was a lock, or no limit.
        revolutes: Number of turns about one axis in the joint.
    """
    if not rows or math.isinf(new.stiffness) != math.isinf(old.stiffness):
        return True
    if len(old.axes) > 1 and (old.maximum <= LOCK_WIDTH) != (new.maximum <= LOCK_WIDTH):
        return True  # locked along each axis there, away from a point or line here
    is_twist = any(row.metric is RowMetric.TWIST for row in rows)
    if is_twist and math.isinf(old.stiffness) and _is_lock(old) != _is_lock(new):
        return True
    # Three revolutes have a singular pose, which the limits must go on to keep away.
    return revolutes == 3 and _keeps_middle(old) and not _keeps_middle(new)


def _is_lock(limit: JointLimit) -> bool:
    return AxisRange(lower=limit.minimum, upper=limit.maximum).is_locked


def _keeps_middle(limit: JointLimit) -> bool:
    """Return True if a limit of an angle keeps it away from 90 degrees."""
    is_bound_below = len(limit.axes) > 1 or limit.minimum >= -SAFE_MIDDLE
    return limit.kind is DofKind.ANGULAR and is_bound_below and limit.maximum <= SAFE_MIDDLE


def _dof_of(dofs: Sequence[Dof], kind: DofKind, axis: int) -> int:
    """Index of the one-axis dof, or of the ball that contains the axis, or -1."""
    for index, dof in enumerate(dofs):
        if dof.kind is kind and dof.axis in (axis, BALL):
            return index
    return -1


def limit_rows(limits: Sequence[JointLimit], dofs: Sequence[Dof], by_twist: bool) -> list[JointRow]:
    """Rows for all limits that no lock and no range of a degree of freedom enforces."""
    rows: list[JointRow] = []
    for index, dof in enumerate(dofs):
        if dof.axis == BALL:
            continue
        if dof.lower > -math.inf or dof.upper < math.inf:
            merged = tuple(
                k
                for k, limit in enumerate(limits)
                if limit.kind is dof.kind
                and dof.axis in limit.axes
                and limit.stiffness == math.inf
                and (len(limit.axes) == 1 or limit.maximum <= LOCK_WIDTH)
            )
            rows.append(
                JointRow(
                    metric=RowMetric.COORDINATE,
                    kind=dof.kind,
                    axis=dof.axis,
                    dof=index,
                    limits=merged,
                )
            )
    for k, limit in enumerate(limits):
        rows.extend(_rows_of_limit(k, limit, dofs, by_twist))
    return rows


def _rows_of_limit(
    k: int, limit: JointLimit, dofs: Sequence[Dof], by_twist: bool
) -> list[JointRow]:
    soft = limit.stiffness != math.inf
    kind = limit.kind
    zero = limit.maximum <= LOCK_WIDTH and len(limit.axes) > 1
    where = {axis: _dof_of(dofs, kind, axis) for axis in limit.axes}
    if all(index < 0 for index in where.values()):
        return []
    if len(limit.axes) == 1 or (zero and soft):
        rows = []
        for axis, index in where.items():
            if index < 0:
                continue
            ball = dofs[index].axis == BALL or (by_twist and kind is DofKind.ANGULAR)
            if bounds_of(limit) == (-math.inf, math.inf):
                continue
            if not soft and not (ball and len(limit.axes) == 1):
                continue  # a hard range of a one-axis dof: merged above
            if not ball:
                metric, about = RowMetric.COORDINATE, -1
            elif len(limit.axes) == 1:
                metric, about = RowMetric.TWIST, -1
            elif len(limit.axes) == 2:
                metric, about = RowMetric.SWING, ({0, 1, 2} - set(limit.axes)).pop()
            else:
                metric, about = RowMetric.ROTATION, -1
            rows.append(
                JointRow(
                    metric=metric,
                    kind=kind,
                    axis=axis,
                    about=about,
                    dof=index if not ball else -1,
                    limits=(k,),
                )
            )
        return rows
    if zero or (limit.minimum <= 0.0 and limit.maximum == math.inf):
        return []
    linear = kind is DofKind.LINEAR
    if len(limit.axes) == 2:
        remaining = ({0, 1, 2} - set(limit.axes)).pop()
        metric = RowMetric.LINE if linear else RowMetric.CONE
        return [JointRow(metric=metric, kind=kind, axis=remaining, limits=(k,))]
    metric = RowMetric.POINT if linear else RowMetric.ANGLE
    return [JointRow(metric=metric, kind=kind, axis=0, limits=(k,))]


def drive_rows(joint: Joint, dofs: Sequence[Dof], diagnostics: Diagnostics) -> list[JointRow]:
    """Rows for the drives; those on locked axes are reported and left out."""
    drives = joint.description.drives
    angular_axes = {drive.axis for drive in drives if drive.kind is DofKind.ANGULAR}
    rows: list[JointRow] = []
    for k, drive in enumerate(drives):
        index = _dof_of(dofs, drive.kind, drive.axis)
        locked = index >= 0 and dofs[index].lower == dofs[index].upper
        if index < 0 or (locked and dofs[index].axis != BALL):
            diagnostics.report(
                JOINT_DRIVE_ON_LOCKED_AXIS,
                drive.pointer or joint.pointer,
                dof=drive.kind.value,
                axis=drive.axis,
            )
            continue
        ball = dofs[index].axis == BALL
        metric = RowMetric.COORDINATE
        if ball:
            # One twist angle is exact for one axis; several of them only make a consistent
            # spring as components of one rotation vector.
            metric = RowMetric.TWIST if len(angular_axes) == 1 else RowMetric.ROTATION
        rows.append(
            JointRow(
                metric=metric,
                kind=drive.kind,
                axis=drive.axis,
                dof=-1 if ball else index,
                drive=k,
            )
        )
    return rows
