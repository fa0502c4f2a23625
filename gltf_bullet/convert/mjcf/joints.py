"""Joints of bodies: degrees of freedom, limits, springs, dampers and drives.

The position of a joint is MuJoCo's ``qpos``, ``ref`` included: its frame in the parent is moved
back by ``ref``, so that the body has the pose of the file at ``qpos = ref``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from gltf_bullet.convert.description import JointKind, LinkJointDescription, MimicRule
from gltf_bullet.convert.joints import describe_joint, frame_of_axis
from gltf_bullet.convert.mjcf.actuators import ActuatorDrives
from gltf_bullet.convert.mjcf.model import JointType, MjcfModel, vector
from gltf_bullet.model import DofKind, DriveMode, JointDrive, JointLimit
from gltf_bullet.records import replace
from gltf_bullet.transforms import FloatArray, Pose, quat_from_rotation_vector

CREEP: Final = 1e-3
"""[rad/s] or [m/s] Speed from which on friction loss has its full force."""


def joint_motion(model: MjcfModel, joint: int, positions: FloatArray) -> Pose:
    """body_before_from_body_after: motion of the body by a joint at generalised positions."""
    address = int(model["jnt_qposadr"][joint])
    axis = np.array(model["jnt_axis"][joint], dtype=np.float64)
    kind = model["jnt_type"][joint]
    if kind == JointType.BALL:
        w, x, y, z = (positions[address : address + 4]).tolist()
        length = math.sqrt(w * w + x * x + y * y + z * z) or 1.0
        turn = Pose((x / length, y / length, z / length, w / length), (0.0, 0.0, 0.0))
    else:
        moved = float(positions[address]) - float(model["qpos0"][address])
        if kind == JointType.SLIDE:
            return Pose((0.0, 0.0, 0.0, 1.0), vector(axis * moved))
        x, y, z, w = quat_from_rotation_vector(axis * moved).tolist()
        turn = Pose((x, y, z, w), (0.0, 0.0, 0.0))
    anchor = Pose.from_translation(vector(model["jnt_pos"][joint]))
    return anchor @ turn @ anchor.inverse()


def describe_mjcf_joint(
    model: MjcfModel,
    joint: int,
    actuators: ActuatorDrives,
    mimic: MimicRule | None,
    *,
    enable_collision: bool,
) -> LinkJointDescription:
    """A hinge, slide or ball with its limits and all forces on it."""
    kind = {
        JointType.BALL: JointKind.SPHERICAL,
        JointType.SLIDE: JointKind.PRISMATIC,
        JointType.HINGE: JointKind.REVOLUTE,
    }[JointType(int(model["jnt_type"][joint]))]
    lower, upper = -math.inf, math.inf
    is_ball = kind is JointKind.SPHERICAL
    if model["jnt_limited"][joint] and not is_ball:
        lower, upper = (float(v) for v in model["jnt_range"][joint])
    axis = vector(model["jnt_axis"][joint])
    plain = LinkJointDescription(
        kind=kind, name=model.name_of("jnt", joint), axis=axis, lower=lower, upper=upper,
        anchor=vector(model["jnt_pos"][joint]), mimic=mimic, enable_collision=enable_collision,
        notes=_notes(model, joint, actuators),
    )  # fmt: skip
    number = 2 if is_ball else frame_of_axis(axis)[0]
    stated = describe_joint(plain, number)
    limits = stated.limits
    if is_ball and model["jnt_limited"][joint]:
        most = float(model["jnt_range"][joint, 1])
        limits += (JointLimit(kind=DofKind.ANGULAR, axes=(0, 1, 2), maximum=most),)
    moving = DofKind.LINEAR if kind is JointKind.PRISMATIC else DofKind.ANGULAR
    drives = [replace(drive, axis=number) for drive in actuators.drives.get(joint, ())]
    for own in (0, 1, 2) if is_ball else (number,):
        drives += _passive(model, joint, moving, own)
    return replace(plain, stated=replace(stated, limits=limits, drives=tuple(drives)))


def _passive(model: MjcfModel, joint: int, kind: DofKind, axis: int) -> list[JointDrive]:
    """Spring and damper, and friction loss, on one axis."""
    dof = int(model["jnt_dofadr"][joint])
    stiffness, damping = float(model["jnt_stiffness"][joint]), float(model["dof_damping"][dof])
    found = []
    if stiffness > 0.0 or damping > 0.0:
        is_ball = model["jnt_type"][joint] == JointType.BALL
        target = 0.0 if is_ball else float(model["qpos_spring"][int(model["jnt_qposadr"][joint])])
        found.append(
            JointDrive(
                kind=kind, axis=axis, mode=DriveMode.FORCE, stiffness=stiffness, damping=damping,
                position_target=target if stiffness > 0.0 else 0.0,
            )
        )  # fmt: skip
    friction = float(model["dof_frictionloss"][dof])
    if friction > 0.0:
        found.append(
            JointDrive(
                kind=kind, axis=axis, mode=DriveMode.FORCE,
                damping=friction / CREEP, max_force=friction,
            )
        )  # fmt: skip
    return found


def _notes(model: MjcfModel, joint: int, actuators: ActuatorDrives) -> Mapping[str, Any]:
    notes: dict[str, Any] = {}
    dof = int(model["jnt_dofadr"][joint])
    armature = float(model["dof_armature"][dof])
    if armature > 0.0:
        notes["armature"] = armature
    if joint in actuators.notes:
        notes["actuators"] = actuators.notes[joint]
    return notes
