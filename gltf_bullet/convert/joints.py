"""Joints as nodes: joints within bodies, constraints, and joints that files of scenes state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gltf_bullet.convert.description import (
    ConstraintDescription,
    ConstraintKind,
    JointKind,
    LinkDescription,
    LinkJointDescription,
    StatedJoint,
)
from gltf_bullet.convert.issues import NOT_IN_GLTF
from gltf_bullet.convert.world_nodes import WorldNodes
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.dialects.joints import EXTRAS
from gltf_bullet.model import DriveMode, Joint, JointDescription, JointDrive, JointLimit
from gltf_bullet.model.joints import DofKind
from gltf_bullet.model.properties import JOINT_EXTRAS
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Quat, Vec3, rotation_to

# --- PyBullet's limits of spherical joints of a URDF as limits of glTF ----------------------------
#
# PyBullet measures swings about the child's axes of inertia: it takes ``lower`` and ``upper`` of
# ``<limit>`` for the largest swings about X and Y, in both directions, and ``twist`` for the
# largest twist about Z; all or none of them act (measured with 3.2.7).

_UNREACHABLE: Vec3 = (math.pi, 0.5 * math.pi, math.pi)
"""[rad] Angles that PyBullet never measures about X, Y and Z."""


def ball_limits(largest: Vec3) -> list[JointLimit]:
    """Limits of rotations about X, Y and Z [rad] in both directions.

    A rotation about one of the axes alone is limited as PyBullet does; for others see
    :func:`swing_gap`.
    """
    return [
        JointLimit(kind=DofKind.ANGULAR, axes=(axis,), minimum=-angle, maximum=angle)
        for axis, (angle, unreachable) in enumerate(zip(largest, _UNREACHABLE, strict=True))
        if angle < unreachable
    ]


def swing_gap(largest: Vec3) -> float:
    """Largest difference of PyBullet's and glTF's limit of a swing about a slanted axis [rad].

    glTF limits the twists about X and Y. PyBullet limits two of three Euler angles: for a swing by
    ``s`` about (c, d, 0) these are ``atan2(c sin s, cos s)`` and ``asin(d sin s)``.
    """
    slants = np.linspace(1e-6, 0.5 * math.pi - 1e-6, 1001)
    c, d = np.cos(slants), np.sin(slants)
    about_x, about_y, _ = (
        min(angle, unreachable) for angle, unreachable in zip(largest, _UNREACHABLE, strict=True)
    )
    ours = np.minimum(
        2.0 * np.arctan2(math.tan(0.5 * about_x), c), 2.0 * np.arctan2(math.tan(0.5 * about_y), d)
    )
    sine = math.sin(about_y) / d
    by_y = np.where(sine < 1.0, np.arcsin(np.minimum(sine, 1.0)), math.pi)
    theirs = np.minimum(np.arctan2(math.sin(about_x), c * math.cos(about_x)), by_y)
    return float(np.abs(ours - theirs).max())


# --- Joints as nodes ------------------------------------------------------------------------------

_AXES: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_ALIGNED = 1e-12
"""Largest deviation of a joint axis from an axis of its frame, in which it needs no other frame."""


def joint_frame(link: LinkDescription) -> Pose:
    """parent_link_from_joint: an axis of this frame is the axis of the joint."""
    anchor = (0.0, 0.0, 0.0) if link.joint is None else link.joint.anchor
    return link.parent_from_link @ Pose(joint_turn(link)[1], anchor)


def joint_turn(link: LinkDescription) -> tuple[int, Quat]:
    """Number of the joint's axis in its frame, and the rotation of link_from_joint.

    Bullet has the position, velocity and limits of a ball about the axes of the link's inertia.
    """
    if link.joint is None:
        return 2, IDENTITY_POSE.rotation_xyzw
    if link.joint.stated is not None and link.joint.kind in (JointKind.SPHERICAL, JointKind.FIXED):
        return 2, IDENTITY_POSE.rotation_xyzw
    if link.joint.kind is JointKind.SPHERICAL and link.joint.stated is None:
        return 2, tidy(Pose(link.link_from_inertial.rotation_xyzw, (0.0, 0.0, 0.0))).rotation_xyzw
    return frame_of_axis(link.joint.axis)


def frame_of_axis(axis: Vec3) -> tuple[int, Quat]:
    """Number of an axis in a frame of its own, and the rotation of link_from_joint."""
    for k, unit in enumerate(_AXES):
        if max(abs(a - b) for a, b in zip(axis, unit, strict=True)) < _ALIGNED:
            return k, (0.0, 0.0, 0.0, 1.0)
    k = max(range(3), key=lambda k: abs(axis[k]))
    return k, rotation_to(_AXES[k], axis)


def describe_joint(joint: LinkJointDescription, axis: int) -> JointDescription:
    """Limits and drives of a joint; axes that are not free are locked."""
    if joint.stated is not None:
        return joint.stated
    turns, slides = {
        JointKind.FIXED: ((), ()),
        JointKind.REVOLUTE: ((axis,), ()),
        JointKind.PRISMATIC: ((), (axis,)),
        JointKind.SPHERICAL: ((0, 1, 2), ()),
        JointKind.PLANAR: ((axis,), tuple(k for k in range(3) if k != axis)),
    }[joint.kind]
    limits = []
    for kind, free in ((DofKind.LINEAR, slides), (DofKind.ANGULAR, turns)):
        locked = tuple(k for k in range(3) if k not in free)
        if locked:
            limits.append(JointLimit(kind=kind, axes=locked, minimum=0.0, maximum=0.0))
    if joint.swings is not None:
        limits += ball_limits(joint.swings)
    drives: list[JointDrive] = []
    if joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
        kind = DofKind.ANGULAR if joint.kind is JointKind.REVOLUTE else DofKind.LINEAR
        if joint.lower > -math.inf or joint.upper < math.inf:
            limits.append(
                JointLimit(kind=kind, axes=(axis,), minimum=joint.lower, maximum=joint.upper)
            )
        if joint.max_force > 0.0 or joint.damping > 0.0:
            drives.append(
                JointDrive(
                    kind=kind,
                    axis=axis,
                    mode=DriveMode.FORCE,
                    max_force=joint.max_force if joint.max_force > 0.0 else math.inf,
                    damping=joint.damping,
                )
            )
    return JointDescription(limits=tuple(limits), drives=tuple(drives))


def place_constraint(
    result: WorldNodes,
    constraint: ConstraintDescription,
    diagnostics: Diagnostics,
) -> None:
    """Add a joint node in the parent link and an attachment node in the child link or the world."""
    axis, turn = 0, (0.0, 0.0, 0.0, 1.0)
    if constraint.kind is ConstraintKind.PRISMATIC:
        axis, turn = frame_of_axis(constraint.axis)
    frame = Pose(turn, (0.0, 0.0, 0.0))
    name = f"constraint {len(result.joints)}"
    ends = []
    for (body, link), link_from_frame in (
        (constraint.parent, constraint.parent_from_frame),
        (constraint.child, constraint.child_from_frame),
    ):
        owner = result.link_nodes[body, link] if body >= 0 else result.world_node
        ends.append(result.nodes.add(name, owner, tidy(link_from_frame @ frame)))
    kind = {
        ConstraintKind.POINT: JointKind.SPHERICAL,
        ConstraintKind.FIXED: JointKind.FIXED,
        ConstraintKind.PRISMATIC: JointKind.PRISMATIC,
    }[constraint.kind]
    result.joints[ends[0]] = Joint(
        node=ends[0],
        connected_node=ends[1],
        description=describe_joint(LinkJointDescription(kind=kind, name=name), axis),
        # Constraints do not change collisions.
        enable_collision=True,
    )
    if constraint.max_force < math.inf:
        diagnostics.report(
            NOT_IN_GLTF, ROOT / "nodes" / ends[0],
            what=f"the largest force {constraint.max_force:.3g} N",
            owner="a constraint", done="the joint holds whatever comes",
        )  # fmt: skip


def place_stated_joint(result: WorldNodes, stated: StatedJoint, diagnostics: Diagnostics) -> None:
    """Add a joint of a scene's file, between the current poses of the bodies."""
    ends = []
    for (body, link), link_from_frame in (
        (stated.parent, stated.parent_from_frame),
        (stated.child, stated.child_from_frame),
    ):
        owner = result.link_nodes[body, link] if body >= 0 else result.world_node
        ends.append(result.nodes.add(stated.name, owner, tidy(link_from_frame)))
    result.joints[ends[0]] = replace(stated.joint, node=ends[0], connected_node=ends[1])
    coupling = stated.joint.coupling
    note_rest(
        result, ends[0], stated.name, diagnostics,
        max_velocity=stated.joint.max_velocity,
        max_force=stated.joint.max_force,
        friction=stated.joint.friction,
        mimic=None if coupling is None else (stated.leader, coupling.multiplier, coupling.offset),
        on_fixed_base=stated.joint.on_fixed_base,
        notes=stated.notes,
    )  # fmt: skip


def note_rest(
    result: WorldNodes,
    node: int,
    name: str,
    diagnostics: Diagnostics,
    *,
    mimic: tuple[str, float, float] | None,
    notes: Mapping[str, Any] | None = None,
    **stated: float,
) -> None:
    """Write properties of a joint that KHR lacks to ``extras``, and report them.

    ``mimic``: joint, multiplier, offset; ``notes``: what is kept as it is; ``stated``: the values
    of ``JOINT_EXTRAS`` by their fields, of which those above 0 are kept.
    """
    kept: dict[str, Any] = dict(notes or {})
    for entry in JOINT_EXTRAS:
        if (value := stated[entry.field]) > 0.0:
            kept[entry.key] = value
    if mimic is not None:
        kept["mimic"] = dict(zip(("joint", "multiplier", "offset"), mimic, strict=True))
        diagnostics.report(
            NOT_IN_GLTF, ROOT / "nodes" / node, what="the mimic rule", owner=f"joint {name!r}",
            done="it is kept in extras and acts when loaded here",
        )  # fmt: skip
    if kept:
        result.nodes.entries[node]["extras"] = {EXTRAS: kept}


def tidy(pose: Pose) -> Pose:
    """The identity if the pose is one within rounding."""
    x, y, z, w = pose.rotation_xyzw
    if max(map(abs, (x, y, z, *pose.translation))) < 1e-15 and w > 0.0:
        return IDENTITY_POSE
    return pose
