"""Layout of one joint: the chain of its degrees of freedom, and the rows that act on them.

Pure. KHR_physics_rigid_bodies, "Joints" and the appendix "Joint Limit Metrics". A joint becomes a
chain from frame a to frame b: slides along X, Y, Z of a, then turns. Locked axes are constants of
the chain, everything else is a degree of freedom; limits with a range and drives become rows of
the joint-space solve.
"""

from __future__ import annotations

import math

from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, JsonPointer, warning
from gltf_bullet.model import DofKind, Joint, JointLimit
from gltf_bullet.planning.joints.axes import BALL, LOCK_WIDTH, AxisRange, Dof, merge_axis
from gltf_bullet.planning.joints.rotations import RotationLayout, plan_rotations, total_angle
from gltf_bullet.planning.joints.rows import JointRow, RowMetric, drive_rows, limit_rows
from gltf_bullet.transforms import Pose, Vec3

START_TOLERANCE = 1e-4
"""[m, rad] A locked axis that is displaced by less at load is locked there."""

JOINT_LIMITS_CONTRADICT = warning(
    "JOINT_LIMITS_CONTRADICT",
    "the limits of the {dof} axis {axis} leave nothing (lower {lower:.6g}, upper {upper:.6g}); "
    "the axis is locked in the middle",
)
JOINT_STARTS_VIOLATED = warning(
    "JOINT_STARTS_VIOLATED",
    "the {dof} axis {axis} starts at {position:.6g}, {excess:.3g} outside of its limits; it "
    "will be brought back gradually (the frames of node {node} and of {connected} are "
    "{distance:.3g} m and {angle:.3g} rad apart)",
)


_ALIGNED = 1e-9
"""[rad] A locked axis turned by less counts as not turned."""


class JointLayout(Struct, frozen=True, kw_only=True):
    """The chain from frame a to frame b and its rows."""

    offset: Vec3
    """Constant translation along the linear axes that are no degree of freedom [m]."""
    dofs: tuple[Dof, ...]
    """Slides in axis order, then turns in chain order."""
    rotation: RotationLayout
    rows: tuple[JointRow, ...]
    is_mirrored: bool = False
    """True if slides are measured against the axes of frame a: no rotation has a mirrored basis."""

    @property
    def is_undriven_ball(self) -> bool:
        """True for a plain ball and socket, which a point constraint can replace."""
        return (
            not self.rows
            and len(self.dofs) == 1
            and self.dofs[0].axis == BALL
            and self.dofs[0].kind is DofKind.ANGULAR
        )

    @property
    def slides_alike(self) -> bool:
        """True if translation is equally free in all directions that the rotations mix.

        These directions span space, or a plane about whose normal alone the joint rotates.
        """
        slides = {dof.axis: dof for dof in self.dofs if dof.kind is DofKind.LINEAR}
        if any(dof.lower > -math.inf or dof.upper < math.inf for dof in slides.values()):
            return False
        normal = ({0, 1, 2} - slides.keys()).pop() if len(slides) == 2 else -1
        if len(slides) == 2:
            turns = {dof.axis for dof in self.dofs if dof.kind is DofKind.ANGULAR}
            if turns != {normal} or any(
                abs(turn.angle) > _ALIGNED for turn in self.rotation.turns if not turn.is_free
            ):
                return False
        elif len(slides) != 3:
            return False
        metric = RowMetric.LINE if len(slides) == 2 else RowMetric.POINT
        return all(
            row.kind is DofKind.ANGULAR or (row.metric is metric and normal in (row.axis, -1))
            for row in self.rows
        )

    @property
    def dof_count(self) -> int:
        """Number of degrees of freedom, a ball counting three."""
        return sum(3 if dof.axis == BALL else 1 for dof in self.dofs)

    @property
    def coordinate_count(self) -> int:
        """Number of engine coordinates, a ball counting the four of its quaternion."""
        return sum(4 if dof.axis == BALL else 1 for dof in self.dofs)

    @property
    def locks_nothing(self) -> bool:
        """True if all six axes can move, so that only rows act, if there are any."""
        return self.dof_count == 6 and all(f.lower < f.upper for f in self.dofs)

    @property
    def leaves_bodies_free(self) -> bool:
        """True if only the forces of limits connect the two bodies.

        As links of one chain they would be measured in axes that rotate with one of them, which
        bends the path of a free body; separate bodies move straight. Driven axes stay links: users
        read and command them.
        """
        return self.locks_nothing and not any(row.drive >= 0 for row in self.rows)


def plan_joint_layout(
    joint: Joint, a_from_b: Pose, diagnostics: Diagnostics, *, is_mirrored: bool = False
) -> JointLayout:
    """Decide the chain of one joint from its limits and its pose at load.

    Args:
        joint: The joint with its limits and drives.
        a_from_b: Frame b in frame a, at load.
        diagnostics: Takes the findings.
        is_mirrored: See :attr:`JointLayout.is_mirrored`.
    """
    limits = joint.description.limits
    ranges = {
        kind: [_checked_range(joint, kind, axis, diagnostics) for axis in range(3)]
        for kind in DofKind
    }
    offset = [0.0, 0.0, 0.0]
    dofs: list[Dof] = []
    for axis, (span, across) in enumerate(
        zip(ranges[DofKind.LINEAR], a_from_b.translation, strict=True)
    ):
        start = -across if is_mirrored else across
        if span.is_locked and abs(start - span.middle) <= START_TOLERANCE:
            offset[axis] = across
            continue
        lower, upper = (span.middle, span.middle) if span.is_locked else (span.lower, span.upper)
        dofs.append(Dof(kind=DofKind.LINEAR, axis=axis, position=start, lower=lower, upper=upper))
    angular = ranges[DofKind.ANGULAR]
    cones = [
        limit
        for limit in limits
        if limit.kind is DofKind.ANGULAR
        and len(limit.axes) > 1
        and limit.stiffness == math.inf
        and LOCK_WIDTH < limit.maximum < math.inf
    ]
    is_driven = any(drive.kind is DofKind.ANGULAR for drive in joint.description.drives)
    rotation = plan_rotations(
        a_from_b.rotation_xyzw,
        spans=[(s.middle, s.middle) if s.is_locked else (s.lower, s.upper) for s in angular],
        cones=[(limit.axes, limit.maximum) for limit in cones],
        is_driven=is_driven,
        tolerance=START_TOLERANCE,
    )
    by_twist = not is_driven and not any(span.is_locked for span in angular)
    if rotation.is_ball:
        dofs.append(Dof(kind=DofKind.ANGULAR, axis=BALL))
    for turn in rotation.turns:
        if turn.is_free:
            span = angular[turn.axis]
            bounds = (span.middle, span.middle) if span.is_locked else (span.lower, span.upper)
            bounds = (-math.inf, math.inf) if by_twist else bounds
            dofs.append(
                Dof(
                    kind=DofKind.ANGULAR,
                    axis=turn.axis,
                    position=turn.angle,
                    lower=bounds[0],
                    upper=bounds[1],
                )
            )
    apart = _apart(joint, a_from_b)
    for dof in dofs:
        excess = max(dof.lower - dof.position, dof.position - dof.upper)
        if excess > START_TOLERANCE:
            diagnostics.report(
                JOINT_STARTS_VIOLATED,
                joint.pointer,
                dof=dof.kind.value,
                axis=dof.axis,
                position=dof.position,
                excess=excess,
                **apart,
            )
    for limit in limits:
        if len(limit.axes) > 1 and math.isinf(limit.stiffness) and limit.maximum > LOCK_WIDTH:
            start = _length_across(limit, a_from_b)
            excess = max(limit.minimum - start, start - limit.maximum)
            if excess > START_TOLERANCE:
                diagnostics.report(
                    JOINT_STARTS_VIOLATED,
                    joint.pointer,
                    dof=limit.kind.value,
                    axis=" and ".join(map(str, limit.axes)),
                    position=start,
                    excess=excess,
                    **apart,
                )
    return JointLayout(
        offset=(offset[0], offset[1], offset[2]),
        dofs=tuple(dofs),
        rotation=rotation,
        rows=tuple(limit_rows(limits, dofs, by_twist) + drive_rows(joint, dofs, diagnostics)),
        is_mirrored=is_mirrored,
    )


def _apart(joint: Joint, a_from_b: Pose) -> dict[str, object]:
    """The frames of a joint and how far they are apart at load, for a message."""
    other = joint.connected_node
    *vector, w = a_from_b.rotation_xyzw
    return {
        "node": joint.node,
        "connected": "the world" if other is None else f"node {other}",
        "distance": math.hypot(*a_from_b.translation),
        "angle": 2.0 * math.atan2(math.hypot(*vector), abs(w)),
    }


def _length_across(limit: JointLimit, a_from_b: Pose) -> float:
    """Value at load of the metric of a limit of several axes [m, rad] ("Joint Limit Metrics")."""
    if limit.kind is DofKind.LINEAR:
        return math.hypot(*(a_from_b.translation[axis] for axis in limit.axes))
    if len(limit.axes) == 3:
        return total_angle(a_from_b.rotation_xyzw)
    x, y, z, w = a_from_b.rotation_xyzw
    (pole,) = {0, 1, 2} - set(limit.axes)
    across = math.hypot(*((x, y, z)[axis] for axis in limit.axes))
    return 2.0 * math.atan2(across, math.hypot((x, y, z)[pole], w))


def _checked_range(joint: Joint, kind: DofKind, axis: int, diagnostics: Diagnostics) -> AxisRange:
    span = merge_axis(joint.description.limits, kind, axis)
    if span.lower > span.upper + LOCK_WIDTH:
        diagnostics.report(
            JOINT_LIMITS_CONTRADICT,
            _pointer(joint),
            dof=kind.value,
            axis=axis,
            lower=span.lower,
            upper=span.upper,
        )
    return span


def _pointer(joint: Joint) -> JsonPointer:
    return joint.description.pointer or joint.pointer
