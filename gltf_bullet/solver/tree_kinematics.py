"""Forward kinematics: joint coordinates to poses, axes and velocities of all frames."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import FloatTable, kernel
from gltf_bullet.solver.articulation_arrays import (
    ANCHOR,
    FIXED,
    FLOATING,
    LINK,
    POSE,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Articulation,
)
from gltf_bullet.transforms import FloatArray


@kernel
def rotation_from_quat(quat: FloatArray, rotation: FloatArray) -> None:
    """Matrix [3, 3] of a quaternion xyzw."""
    x, y, z, w = quat[0], quat[1], quat[2], quat[3]
    scale = 2.0 / (x * x + y * y + z * z + w * w)
    rotation[0] = 1.0 - scale * (y * y + z * z)
    rotation[1] = scale * (x * y - z * w)
    rotation[2] = scale * (x * z + y * w)
    rotation[3] = scale * (x * y + z * w)
    rotation[4] = 1.0 - scale * (x * x + z * z)
    rotation[5] = scale * (y * z - x * w)
    rotation[6] = scale * (x * z - y * w)
    rotation[7] = scale * (y * z + x * w)
    rotation[8] = 1.0 - scale * (x * x + y * y)


@kernel
def multiply(a: FloatArray, b: FloatArray, target: FloatArray) -> None:
    """``target = a @ b`` of matrices [3, 3]; the target is neither of them."""
    for row in range(0, 9, 3):
        for column in range(3):
            target[row + column] = (
                a[row] * b[column] + a[row + 1] * b[3 + column] + a[row + 2] * b[6 + column]
            )


@kernel
def multiply_back(a: FloatArray, b: FloatArray, target: FloatArray) -> None:
    """``target = a @ b.T`` of matrices [3, 3]; the target is neither of them."""
    for row in range(3):
        for column in range(3):
            target[3 * row + column] = (
                a[3 * row] * b[3 * column]
                + a[3 * row + 1] * b[3 * column + 1]
                + a[3 * row + 2] * b[3 * column + 2]
            )


@kernel
def place_frames(a: Articulation) -> None:
    """Poses of all frames and motions of all degrees of freedom, from the coordinates.

    Sets ``reference_point``, ``pose`` and ``axis``, from ``state``, ``link`` and the structure.
    """
    count = a.frame_count
    parents, joints = a.frame_parent, a.frame_joint
    states, dofs = a.frame_state, a.frame_first_dof
    links, poses = a.link, a.pose
    axes, reference = a.axis, a.reference_point
    scratch = a.scratch
    # Near the articulation: far from the world's origin, differences of large numbers cost digits.
    root = a.floats[states[a.reference_frame] :]
    offset = a.reference_offset
    rotation_from_quat(root[3:], scratch)
    for k in range(3):
        reference[k] = (
            root[k]
            + scratch[3 * k] * offset[0]
            + scratch[3 * k + 1] * offset[1]
            + scratch[3 * k + 2] * offset[2]
        )
    for f in range(count):
        joint, parent = joints[f], parents[f]
        link, s = links[f], a.floats[states[f] :]
        pose = poses[f]
        rotation, origin, com = pose[POSE.rotation :], pose[POSE.origin :], pose[POSE.com :]
        if joint == FLOATING:
            # The engine tells the pose of the inertial frame.
            rotation_from_quat(s[3:], scratch)
            multiply_back(scratch, link[LINK.inertial :], rotation)
            for k in range(3):
                com[k] = s[k] - reference[k]
            for k in range(3):
                origin[k] = com[k] - (
                    rotation[3 * k] * link[LINK.com]
                    + rotation[3 * k + 1] * link[LINK.com + 1]
                    + rotation[3 * k + 2] * link[LINK.com + 2]
                )
        elif joint == ANCHOR:
            rotation_from_quat(s[3:], rotation)
            for k in range(3):
                origin[k] = s[k] - reference[k]
                com[k] = origin[k]
        else:
            _place_link(poses[parent], pose, link, joint, s, scratch)
            for k in range(3):
                com[k] = (
                    origin[k]
                    + rotation[3 * k] * link[LINK.com]
                    + rotation[3 * k + 1] * link[LINK.com + 1]
                    + rotation[3 * k + 2] * link[LINK.com + 2]
                )
        _turn_inertia(link, pose, scratch)
        dof = dofs[f]
        if dof >= 0 and joint != ANCHOR:
            _write_motions(joint, pose, link, axes[dof:])


@kernel
def _place_link(
    above: FloatArray,
    pose: FloatArray,
    link: FloatArray,
    joint: int,
    s: FloatArray,
    scratch: FloatArray,
) -> None:
    """Rotation and origin of a link from those of its parent and its own coordinate."""
    rotation, origin = pose[POSE.rotation :], pose[POSE.origin :]
    parent = above[POSE.rotation :]
    for k in range(3):
        origin[k] = (
            above[POSE.origin + k]
            + parent[3 * k] * link[LINK.translation]
            + parent[3 * k + 1] * link[LINK.translation + 1]
            + parent[3 * k + 2] * link[LINK.translation + 2]
        )
    if joint == FIXED or joint == PRISMATIC:
        multiply(parent, link[LINK.rotation :], rotation)
        if joint == PRISMATIC:
            for k in range(3):
                origin[k] += s[0] * (
                    rotation[3 * k] * link[LINK.axis]
                    + rotation[3 * k + 1] * link[LINK.axis + 1]
                    + rotation[3 * k + 2] * link[LINK.axis + 2]
                )
        return
    multiply(parent, link[LINK.rotation :], scratch)
    if joint == REVOLUTE:
        half = 0.5 * s[0]
        sine = math.sin(half)
        for k in range(3):
            scratch[9 + k] = sine * link[LINK.axis + k]
        scratch[12] = math.cos(half)
        rotation_from_quat(scratch[9:], scratch[13:])
    else:
        # A ball turns about the axes of its link's inertia: R q R^T.
        inertial = link[LINK.inertial :]
        rotation_from_quat(s, scratch[13:])
        multiply(scratch, inertial, rotation)
        multiply(rotation, scratch[13:], scratch)
        multiply_back(scratch, inertial, rotation)
        return
    multiply(scratch, scratch[13:], rotation)


@kernel
def _turn_inertia(link: FloatArray, pose: FloatArray, scratch: FloatArray) -> None:
    """Inertia about the centre of mass in world axes."""
    inertia = pose[POSE.inertia :]
    if link[LINK.mass] == 0.0:
        for k in range(6):
            inertia[k] = 0.0
        return
    multiply(pose[POSE.rotation :], link[LINK.inertial :], scratch)
    for k in range(6):
        i = k if k < 3 else (k - 3) // 2
        j = k if k < 3 else (1 if k == 3 else 2)
        total = 0.0
        for axis in range(3):
            total += link[LINK.inertia + axis] * scratch[3 * i + axis] * scratch[3 * j + axis]
        inertia[k] = total


@kernel
def _write_motions(joint: int, pose: FloatArray, link: FloatArray, axes: FloatTable) -> None:
    """Spatial motions of a joint's degrees of freedom: 1, 3 (ball) or 6 (base)."""
    rotation = pose[POSE.rotation :]
    if joint == FLOATING:
        for i in range(6):
            for k in range(6):
                axes[i, k] = 0.0
        for k in range(3):
            axes[k, 3 + k] = 1.0
            turn = axes[3 + k]
            turn[k] = 1.0
            # com x e_k
            p, q = (k + 1) % 3, (k + 2) % 3
            turn[3 + p] = pose[POSE.com + q]
            turn[3 + q] = -pose[POSE.com + p]
        return
    count = 3 if joint == SPHERICAL else 1
    for n in range(count):
        at = axes[n]
        if joint == SPHERICAL:
            column = link[LINK.inertial + n :]
            u, v, w = column[0], column[3], column[6]
            x = rotation[0] * u + rotation[1] * v + rotation[2] * w
            y = rotation[3] * u + rotation[4] * v + rotation[5] * w
            z = rotation[6] * u + rotation[7] * v + rotation[8] * w
        else:
            u, v, w = link[LINK.axis], link[LINK.axis + 1], link[LINK.axis + 2]
            x = rotation[0] * u + rotation[1] * v + rotation[2] * w
            y = rotation[3] * u + rotation[4] * v + rotation[5] * w
            z = rotation[6] * u + rotation[7] * v + rotation[8] * w
        if joint == PRISMATIC:
            at[0], at[1], at[2] = 0.0, 0.0, 0.0
            at[3], at[4], at[5] = x, y, z
        else:
            px, py, pz = pose[POSE.origin], pose[POSE.origin + 1], pose[POSE.origin + 2]
            at[0], at[1], at[2] = x, y, z
            at[3] = py * z - pz * y
            at[4] = pz * x - px * z
            at[5] = px * y - py * x


@kernel
def gather_velocities(a: Articulation) -> None:
    """Velocities of all degrees of freedom, from the state that was read.

    Sets ``velocity``, from ``state``.
    """
    count = a.frame_count
    joints, states = a.frame_joint, a.frame_state
    dofs, velocity = a.frame_first_dof, a.velocity
    for f in range(count):
        dof, s, joint = dofs[f], a.floats[states[f] :], joints[f]
        if dof < 0:
            continue
        if joint == SPHERICAL:
            for k in range(3):
                velocity[dof + k] = s[4 + k]
        elif joint == FLOATING:
            for k in range(6):
                velocity[dof + k] = s[7 + k]
        else:
            velocity[dof] = s[1]


@kernel
def move_frames(a: Articulation, velocity: FloatArray, twist: FloatTable) -> None:
    """Twists [f, 6] from velocities; anchors move as prescribed."""
    count = a.frame_count
    joints, states = a.frame_joint, a.frame_state
    parents, dofs = a.frame_parent, a.frame_first_dof
    poses, axes = a.pose, a.axis
    for f in range(count):
        at, joint, dof = twist[f], joints[f], dofs[f]
        if joint == ANCHOR:
            s, p = a.floats[states[f] :], poses[f, POSE.origin :]
            wx, wy, wz = s[10], s[11], s[12]
            at[0], at[1], at[2] = wx, wy, wz
            # v - w x p: of the point at the reference.
            at[3] = s[7] - (wy * p[2] - wz * p[1])
            at[4] = s[8] - (wz * p[0] - wx * p[2])
            at[5] = s[9] - (wx * p[1] - wy * p[0])
            continue
        parent = parents[f]
        for k in range(6):
            at[k] = twist[parent, k] if parent >= 0 else 0.0
        if dof < 0:
            continue
        size = 6 if joint == FLOATING else (3 if joint == SPHERICAL else 1)
        for n in range(dof, dof + size):
            rate = velocity[n]
            for k in range(6):
                at[k] += rate * axes[n, k]


@kernel
def follow_state(a: Articulation) -> None:
    """Poses and velocities of all frames, from the state that was read.

    Sets ``reference_point``, ``pose``, ``axis``, ``velocity`` and ``twist``.
    """
    place_frames(a)
    gather_velocities(a)
    move_frames(a, a.velocity, a.twist)
