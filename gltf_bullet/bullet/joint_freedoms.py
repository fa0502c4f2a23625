"""What one joint leaves free: limits merged into axes, and the rows that act on them.

Pure. KHR_physics_rigid_bodies, "Joints" and the appendix "Joint Limit Metrics". A joint becomes a
chain from frame a to frame b: slides along X, Y, Z of a, then turns. Locked axes are constants of
the chain, everything else is a degree of freedom; limits with a range and drives become rows of
the joint-space solve.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from gltf_bullet.bullet.joint_rotations import RotationLayout, plan_rotations
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.model import FreedomKind, Joint, JointLimit
from gltf_bullet.transforms import Pose, Vec3

__all__ = [
    "BALL",
    "AxisRange",
    "Freedom",
    "JointLayout",
    "JointRow",
    "RowMetric",
    "merge_axis",
    "plan_joint_layout",
]

BALL = 3
"""Axis number of a spherical degree of freedom: all three rotations at once."""

LOCK_WIDTH = 1e-6
"""[m, rad] Ranges narrower than this are locked."""

FULL_TURN = math.tau - 1e-6
"""[rad]"""

START_TOLERANCE = 1e-4
"""[m, rad] A locked axis displaced by less at load is locked where it is."""

JOINT_LIMITS_CONTRADICT = IssueKind(
    "JOINT_LIMITS_CONTRADICT",
    Severity.WARNING,
    "the limits of the {freedom} axis {axis} leave nothing (lower {lower:.6g}, upper {upper:.6g}); "
    "the axis is locked in the middle",
)
JOINT_STARTS_VIOLATED = IssueKind(
    "JOINT_STARTS_VIOLATED",
    Severity.WARNING,
    "the {freedom} axis {axis} starts at {position:.6g}, {excess:.3g} outside of its limits; it "
    "will be brought back gradually",
)
JOINT_DRIVE_ON_LOCKED_AXIS = IssueKind(
    "JOINT_DRIVE_ON_LOCKED_AXIS",
    Severity.INFO,
    "the drive acts on the {freedom} axis {axis}, which the limits lock; it has no effect",
)


class RowMetric(enum.Enum):
    """Which number of the relative pose a row watches."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRange:
    """The intersection of all hard one-axis limits of one axis."""

    lower: float = -math.inf
    upper: float = math.inf

    @property
    def is_locked(self) -> bool:
        """Whether nothing is left to move."""
        return self.upper - self.lower <= LOCK_WIDTH

    @property
    def middle(self) -> float:
        """Where a locked axis is locked."""
        return 0.5 * (self.lower + self.upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class Freedom:
    """One degree of freedom of the chain (three for a ball)."""

    kind: FreedomKind
    axis: int
    """0, 1, 2, or :data:`BALL`."""
    position: float = 0.0
    """At load [m] or [rad]; meaningless for a ball."""
    lower: float = -math.inf
    """Hard limit; equal to ``upper`` for a locked axis that starts displaced."""
    upper: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRow:
    """A limit or a drive of one joint, as a row of the joint-space solve."""

    metric: RowMetric
    kind: FreedomKind
    axis: int
    """The watched axis; the remaining axis for LINE and CONE; 0 for POINT and ANGLE."""
    about: int = -1
    """The tilting axis of SWING."""
    freedom: int = -1
    """Index into the layout's freedoms for COORDINATE."""
    limits: tuple[int, ...] = ()
    """Indices of the authored limits that this row enforces."""
    drive: int = -1
    """Index of the authored drive that this row enforces, or -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLayout:
    """The chain from frame a to frame b and its rows."""

    offset: Vec3
    """Constant translation of the linear axes that are no degree of freedom [m]."""
    freedoms: tuple[Freedom, ...]
    """Slides in axis order, then turns in chain order."""
    rotation: RotationLayout
    rows: tuple[JointRow, ...]

    @property
    def is_undriven_ball(self) -> bool:
        """Whether it is a plain ball and socket, which a point constraint can stand for."""
        return (
            not self.rows
            and len(self.freedoms) == 1
            and self.freedoms[0].axis == BALL
            and self.freedoms[0].kind is FreedomKind.ANGULAR
        )

    @property
    def freedom_count(self) -> int:
        """Degrees of freedom, a ball counting three."""
        return sum(3 if freedom.axis == BALL else 1 for freedom in self.freedoms)

    @property
    def coordinate_count(self) -> int:
        """Engine coordinates, a ball counting the four of its quaternion."""
        return sum(4 if freedom.axis == BALL else 1 for freedom in self.freedoms)

    @property
    def locks_nothing(self) -> bool:
        """Whether all six axes move: only rows act, if any."""
        return self.freedom_count == 6 and all(f.lower < f.upper for f in self.freedoms)


def merge_axis(limits: Sequence[JointLimit], kind: FreedomKind, axis: int) -> AxisRange:
    """Intersect the hard one-axis limits of an axis, and radial ones of zero radius."""
    lower, upper = -math.inf, math.inf
    for limit in limits:
        if limit.kind is not kind or axis not in limit.axes or limit.stiffness != math.inf:
            continue
        if len(limit.axes) == 1:
            # A full turn is no limit: the angle's metric never leaves -pi .. pi.
            full = kind is FreedomKind.ANGULAR and limit.maximum - limit.minimum >= FULL_TURN
            if not full:
                lower, upper = max(lower, limit.minimum), min(upper, limit.maximum)
        elif limit.maximum <= LOCK_WIDTH:
            lower, upper = max(lower, 0.0), min(upper, 0.0)
    return AxisRange(lower=lower, upper=upper)


def plan_joint_layout(joint: Joint, a_from_b: Pose, diagnostics: Diagnostics) -> JointLayout:
    """Decide the chain of one joint from its limits and its pose at load."""
    limits = joint.description.limits
    ranges = {
        kind: [_checked_range(joint, kind, axis, diagnostics) for axis in range(3)]
        for kind in FreedomKind
    }
    offset = [0.0, 0.0, 0.0]
    freedoms: list[Freedom] = []
    for axis, (span, start) in enumerate(
        zip(ranges[FreedomKind.LINEAR], a_from_b.translation, strict=True)
    ):
        if span.is_locked and abs(start - span.middle) <= START_TOLERANCE:
            offset[axis] = start
            continue
        lower, upper = (span.middle, span.middle) if span.is_locked else (span.lower, span.upper)
        freedoms.append(
            Freedom(kind=FreedomKind.LINEAR, axis=axis, position=start, lower=lower, upper=upper)
        )
    angular = ranges[FreedomKind.ANGULAR]
    cones = [
        limit
        for limit in limits
        if limit.kind is FreedomKind.ANGULAR
        and len(limit.axes) > 1
        and limit.stiffness == math.inf
        and LOCK_WIDTH < limit.maximum < math.inf
    ]
    is_driven = any(drive.kind is FreedomKind.ANGULAR for drive in joint.description.drives)
    rotation = plan_rotations(
        a_from_b.rotation_xyzw,
        spans=[(s.middle, s.middle) if s.is_locked else (s.lower, s.upper) for s in angular],
        cones=[(limit.axes, limit.maximum) for limit in cones],
        is_driven=is_driven,
        tolerance=START_TOLERANCE,
    )
    by_twist = not is_driven and not any(span.is_locked for span in angular)
    if rotation.is_ball:
        freedoms.append(Freedom(kind=FreedomKind.ANGULAR, axis=BALL))
    for turn in rotation.turns:
        if turn.is_free:
            span = angular[turn.axis]
            bounds = (span.middle, span.middle) if span.is_locked else (span.lower, span.upper)
            bounds = (-math.inf, math.inf) if by_twist else bounds
            freedoms.append(
                Freedom(
                    kind=FreedomKind.ANGULAR,
                    axis=turn.axis,
                    position=turn.angle,
                    lower=bounds[0],
                    upper=bounds[1],
                )
            )
    for freedom in freedoms:
        excess = max(freedom.lower - freedom.position, freedom.position - freedom.upper)
        if excess > START_TOLERANCE:
            diagnostics.report(
                JOINT_STARTS_VIOLATED,
                joint.pointer,
                freedom=freedom.kind.value,
                axis=freedom.axis,
                position=freedom.position,
                excess=excess,
            )
    return JointLayout(
        offset=(offset[0], offset[1], offset[2]),
        freedoms=tuple(freedoms),
        rotation=rotation,
        rows=tuple(
            _limit_rows(limits, freedoms, by_twist) + _drive_rows(joint, freedoms, diagnostics)
        ),
    )


def _checked_range(
    joint: Joint, kind: FreedomKind, axis: int, diagnostics: Diagnostics
) -> AxisRange:
    span = merge_axis(joint.description.limits, kind, axis)
    if span.lower > span.upper + LOCK_WIDTH:
        diagnostics.report(
            JOINT_LIMITS_CONTRADICT,
            _pointer(joint),
            freedom=kind.value,
            axis=axis,
            lower=span.lower,
            upper=span.upper,
        )
    return span


def _pointer(joint: Joint) -> JsonPointer:
    return joint.description.pointer or joint.pointer


def _freedom_of(freedoms: Sequence[Freedom], kind: FreedomKind, axis: int) -> int:
    """Index of the one-axis freedom, or of the ball that contains the axis, or -1."""
    for index, freedom in enumerate(freedoms):
        if freedom.kind is kind and freedom.axis in (axis, BALL):
            return index
    return -1


def _limit_rows(
    limits: Sequence[JointLimit], freedoms: Sequence[Freedom], by_twist: bool
) -> list[JointRow]:
    """Rows for everything that a lock does not do already."""
    rows: list[JointRow] = []
    for index, freedom in enumerate(freedoms):
        if freedom.axis == BALL:
            continue
        if freedom.lower > -math.inf or freedom.upper < math.inf:
            merged = tuple(
                k
                for k, limit in enumerate(limits)
                if limit.kind is freedom.kind
                and freedom.axis in limit.axes
                and limit.stiffness == math.inf
                and (len(limit.axes) == 1 or limit.maximum <= LOCK_WIDTH)
            )
            rows.append(
                JointRow(
                    metric=RowMetric.COORDINATE,
                    kind=freedom.kind,
                    axis=freedom.axis,
                    freedom=index,
                    limits=merged,
                )
            )
    for k, limit in enumerate(limits):
        rows.extend(_rows_of_limit(k, limit, freedoms, by_twist))
    return rows


def _rows_of_limit(
    k: int, limit: JointLimit, freedoms: Sequence[Freedom], by_twist: bool
) -> list[JointRow]:
    soft = limit.stiffness != math.inf
    kind = limit.kind
    zero = limit.maximum <= LOCK_WIDTH and len(limit.axes) > 1
    where = {axis: _freedom_of(freedoms, kind, axis) for axis in limit.axes}
    if all(index < 0 for index in where.values()):
        return []
    if len(limit.axes) == 1 or (zero and soft):
        rows = []
        for axis, index in where.items():
            if index < 0:
                continue
            ball = freedoms[index].axis == BALL or (by_twist and kind is FreedomKind.ANGULAR)
            full = kind is FreedomKind.ANGULAR and limit.maximum - limit.minimum >= FULL_TURN
            if full:
                continue  # the angle's metric never leaves -pi .. pi
            if not soft and not (ball and len(limit.axes) == 1):
                continue  # a hard range of a one-axis freedom: merged above
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
                    freedom=index if not ball else -1,
                    limits=(k,),
                )
            )
        return rows
    if zero or (limit.minimum <= 0.0 and limit.maximum == math.inf):
        return []
    linear = kind is FreedomKind.LINEAR
    if len(limit.axes) == 2:
        remaining = ({0, 1, 2} - set(limit.axes)).pop()
        metric = RowMetric.LINE if linear else RowMetric.CONE
        return [JointRow(metric=metric, kind=kind, axis=remaining, limits=(k,))]
    metric = RowMetric.POINT if linear else RowMetric.ANGLE
    return [JointRow(metric=metric, kind=kind, axis=0, limits=(k,))]


def _drive_rows(
    joint: Joint, freedoms: Sequence[Freedom], diagnostics: Diagnostics
) -> list[JointRow]:
    drives = joint.description.drives
    angular_axes = {drive.axis for drive in drives if drive.kind is FreedomKind.ANGULAR}
    rows: list[JointRow] = []
    for k, drive in enumerate(drives):
        index = _freedom_of(freedoms, drive.kind, drive.axis)
        locked = index >= 0 and freedoms[index].lower == freedoms[index].upper
        if index < 0 or (locked and freedoms[index].axis != BALL):
            diagnostics.report(
                JOINT_DRIVE_ON_LOCKED_AXIS,
                drive.pointer or joint.pointer,
                freedom=drive.kind.value,
                axis=drive.axis,
            )
            continue
        ball = freedoms[index].axis == BALL
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
                freedom=-1 if ball else index,
                drive=k,
            )
        )
    return rows
