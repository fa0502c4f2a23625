"""Forward kinematics: joint coordinates to poses, axes and velocities of all frames."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
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
from gltf_bullet.transforms import FloatArray, IntArray


@kernel
def rotation_from_quat(source: FloatArray, s: int, target: FloatArray, t: int) -> None:
    """Matrix [3, 3] at ``target[t]`` of the quaternion xyzw at ``source[s]``."""
    x, y, z, w = source[s], source[s + 1], source[s + 2], source[s + 3]
    scale = 2.0 / (x * x + y * y + z * z + w * w)
    target[t] = 1.0 - scale * (y * y + z * z)
    target[t + 1] = scale * (x * y - z * w)
    target[t + 2] = scale * (x * z + y * w)
    target[t + 3] = scale * (x * y + z * w)
    target[t + 4] = 1.0 - scale * (x * x + z * z)
    target[t + 5] = scale * (y * z - x * w)
    target[t + 6] = scale * (x * z - y * w)
    target[t + 7] = scale * (y * z + x * w)
    target[t + 8] = 1.0 - scale * (x * x + y * y)


@kernel
def multiply(a: FloatArray, i: int, b: FloatArray, j: int, target: FloatArray, t: int) -> None:
    """``target = a @ b`` of matrices [3, 3]; the target is neither of them."""
    for row in range(0, 9, 3):
        for column in range(3):
            target[t + row + column] = (
                a[i + row] * b[j + column]
                + a[i + row + 1] * b[j + 3 + column]
                + a[i + row + 2] * b[j + 6 + column]
            )


@kernel
def multiply_back(a: FloatArray, i: int, b: FloatArray, j: int, target: FloatArray, t: int) -> None:
    """``target = a @ b.T`` of matrices [3, 3]; the target is neither of them."""
    for row in range(3):
        for column in range(3):
            target[t + 3 * row + column] = (
                a[i + 3 * row] * b[j + 3 * column]
                + a[i + 3 * row + 1] * b[j + 3 * column + 1]
                + a[i + 3 * row + 2] * b[j + 3 * column + 2]
            )


@kernel
def place_frames(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> None:
    """Poses of all frames and motions of all degrees of freedom, from the coordinates."""
    count = articulation.frame_count
    parents, joints = articulation.frame_parent, articulation.frame_joint
    states, dofs = articulation.frame_state, articulation.frame_first_dof
    links, poses = articulation.link, articulation.pose
    axes, reference = articulation.axis, articulation.reference_point
    scratch = articulation.scratch
    # Near the articulation: far from the world's origin, differences of large numbers cost digits.
    root = ints[states + articulation.reference_frame]
    offset = articulation.reference_offset
    rotation_from_quat(floats, root + 3, work, scratch)
    for k in range(3):
        work[reference + k] = (
            floats[root + k]
            + work[scratch + 3 * k] * floats[offset]
            + work[scratch + 3 * k + 1] * floats[offset + 1]
            + work[scratch + 3 * k + 2] * floats[offset + 2]
        )
    for f in range(count):
        joint, parent = ints[joints + f], ints[parents + f]
        link, s = links + LINK.size * f, ints[states + f]
        pose = poses + POSE.size * f
        rotation, origin, com = pose + POSE.rotation, pose + POSE.origin, pose + POSE.com
        if joint == FLOATING:
            # The engine tells the pose of the inertial frame.
            rotation_from_quat(floats, s + 3, work, scratch)
            multiply_back(work, scratch, floats, link + LINK.inertial, work, rotation)
            for k in range(3):
                work[com + k] = floats[s + k] - work[reference + k]
            for k in range(3):
                work[origin + k] = work[com + k] - (
                    work[rotation + 3 * k] * floats[link + LINK.com]
                    + work[rotation + 3 * k + 1] * floats[link + LINK.com + 1]
                    + work[rotation + 3 * k + 2] * floats[link + LINK.com + 2]
                )
        elif joint == ANCHOR:
            rotation_from_quat(floats, s + 3, work, rotation)
            for k in range(3):
                work[origin + k] = floats[s + k] - work[reference + k]
                work[com + k] = work[origin + k]
        else:
            _place_link(floats, work, poses + POSE.size * parent, pose, link, joint, s, scratch)
            for k in range(3):
                work[com + k] = (
                    work[origin + k]
                    + work[rotation + 3 * k] * floats[link + LINK.com]
                    + work[rotation + 3 * k + 1] * floats[link + LINK.com + 1]
                    + work[rotation + 3 * k + 2] * floats[link + LINK.com + 2]
                )
        _turn_inertia(floats, work, link, pose, scratch)
        dof = ints[dofs + f]
        if dof >= 0 and joint != ANCHOR:
            _write_motions(floats, work, joint, pose, link, axes + 6 * dof)


@kernel
def _place_link(
    floats: FloatArray,
    work: FloatArray,
    above: int,
    pose: int,
    link: int,
    joint: int,
    s: int,
    scratch: int,
) -> None:
    """Rotation and origin of a link from those of its parent and its own coordinate."""
    rotation, origin = pose + POSE.rotation, pose + POSE.origin
    parent = above + POSE.rotation
    for k in range(3):
        work[origin + k] = (
            work[above + POSE.origin + k]
            + work[parent + 3 * k] * floats[link + LINK.translation]
            + work[parent + 3 * k + 1] * floats[link + LINK.translation + 1]
            + work[parent + 3 * k + 2] * floats[link + LINK.translation + 2]
        )
    if joint == FIXED or joint == PRISMATIC:
        multiply(work, parent, floats, link + LINK.rotation, work, rotation)
        if joint == PRISMATIC:
            for k in range(3):
                work[origin + k] += floats[s] * (
                    work[rotation + 3 * k] * floats[link + LINK.axis]
                    + work[rotation + 3 * k + 1] * floats[link + LINK.axis + 1]
                    + work[rotation + 3 * k + 2] * floats[link + LINK.axis + 2]
                )
        return
    multiply(work, parent, floats, link + LINK.rotation, work, scratch)
    if joint == REVOLUTE:
        half = 0.5 * floats[s]
        sine = math.sin(half)
        for k in range(3):
            work[scratch + 9 + k] = sine * floats[link + LINK.axis + k]
        work[scratch + 12] = math.cos(half)
        rotation_from_quat(work, scratch + 9, work, scratch + 13)
    else:
        # A ball turns about the axes of its link's inertia: R q R^T.
        inertial = link + LINK.inertial
        rotation_from_quat(floats, s, work, scratch + 13)
        multiply(work, scratch, floats, inertial, work, rotation)
        multiply(work, rotation, work, scratch + 13, work, scratch)
        multiply_back(work, scratch, floats, inertial, work, rotation)
        return
    multiply(work, scratch, work, scratch + 13, work, rotation)


@kernel
def _turn_inertia(floats: FloatArray, work: FloatArray, link: int, pose: int, scratch: int) -> None:
    """Inertia about the centre of mass in world axes."""
    inertia = pose + POSE.inertia
    if floats[link + LINK.mass] == 0.0:
        for k in range(6):
            work[inertia + k] = 0.0
        return
    multiply(work, pose + POSE.rotation, floats, link + LINK.inertial, work, scratch)
    for k in range(6):
        i = k if k < 3 else (k - 3) // 2
        j = k if k < 3 else (1 if k == 3 else 2)
        total = 0.0
        for axis in range(3):
            total += (
                floats[link + LINK.inertia + axis]
                * work[scratch + 3 * i + axis]
                * work[scratch + 3 * j + axis]
            )
        work[inertia + k] = total


@kernel
def _write_motions(
    floats: FloatArray, work: FloatArray, joint: int, pose: int, link: int, axis: int
) -> None:
    """Spatial motions of a joint's degrees of freedom: 1, 3 (ball) or 6 (base)."""
    rotation = pose + POSE.rotation
    if joint == FLOATING:
        for k in range(36):
            work[axis + k] = 0.0
        for k in range(3):
            work[axis + 6 * k + 3 + k] = 1.0
            turn = axis + 18 + 6 * k
            work[turn + k] = 1.0
            # com x e_k
            p, q = (k + 1) % 3, (k + 2) % 3
            work[turn + 3 + p] = work[pose + POSE.com + q]
            work[turn + 3 + q] = -work[pose + POSE.com + p]
        return
    count = 3 if joint == SPHERICAL else 1
    for n in range(count):
        at = axis + 6 * n
        if joint == SPHERICAL:
            column = link + LINK.inertial + n
            u, v, w = floats[column], floats[column + 3], floats[column + 6]
            x = work[rotation] * u + work[rotation + 1] * v + work[rotation + 2] * w
            y = work[rotation + 3] * u + work[rotation + 4] * v + work[rotation + 5] * w
            z = work[rotation + 6] * u + work[rotation + 7] * v + work[rotation + 8] * w
        else:
            u, v, w = (
                floats[link + LINK.axis],
                floats[link + LINK.axis + 1],
                floats[link + LINK.axis + 2],
            )
            x = work[rotation] * u + work[rotation + 1] * v + work[rotation + 2] * w
            y = work[rotation + 3] * u + work[rotation + 4] * v + work[rotation + 5] * w
            z = work[rotation + 6] * u + work[rotation + 7] * v + work[rotation + 8] * w
        if joint == PRISMATIC:
            work[at], work[at + 1], work[at + 2] = 0.0, 0.0, 0.0
            work[at + 3], work[at + 4], work[at + 5] = x, y, z
        else:
            px, py, pz = (
                work[pose + POSE.origin],
                work[pose + POSE.origin + 1],
                work[pose + POSE.origin + 2],
            )
            work[at], work[at + 1], work[at + 2] = x, y, z
            work[at + 3] = py * z - pz * y
            work[at + 4] = pz * x - px * z
            work[at + 5] = px * y - py * x


@kernel
def gather_velocities(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> None:
    """Velocities of all degrees of freedom, from the state that was read."""
    count = articulation.frame_count
    joints, states = articulation.frame_joint, articulation.frame_state
    dofs, velocity = articulation.frame_first_dof, articulation.velocity
    for f in range(count):
        dof, s, joint = ints[dofs + f], ints[states + f], ints[joints + f]
        if dof < 0:
            continue
        if joint == SPHERICAL:
            for k in range(3):
                work[velocity + dof + k] = floats[s + 4 + k]
        elif joint == FLOATING:
            for k in range(6):
                work[velocity + dof + k] = floats[s + 7 + k]
        else:
            work[velocity + dof] = floats[s + 1]


@kernel
def move_frames(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    velocity: int,
    twist: int,
) -> None:
    """Twists [f, 6] from the velocities at ``velocity``; anchors move as prescribed."""
    count = articulation.frame_count
    joints, states = articulation.frame_joint, articulation.frame_state
    parents, dofs = articulation.frame_parent, articulation.frame_first_dof
    poses, axes = articulation.pose, articulation.axis
    for f in range(count):
        at, joint, dof = twist + 6 * f, ints[joints + f], ints[dofs + f]
        if joint == ANCHOR:
            s, p = ints[states + f], poses + POSE.size * f + POSE.origin
            wx, wy, wz = floats[s + 10], floats[s + 11], floats[s + 12]
            work[at], work[at + 1], work[at + 2] = wx, wy, wz
            # v - w x p: of the point at the reference.
            work[at + 3] = floats[s + 7] - (wy * work[p + 2] - wz * work[p + 1])
            work[at + 4] = floats[s + 8] - (wz * work[p] - wx * work[p + 2])
            work[at + 5] = floats[s + 9] - (wx * work[p + 1] - wy * work[p])
            continue
        parent = ints[parents + f]
        for k in range(6):
            work[at + k] = work[twist + 6 * parent + k] if parent >= 0 else 0.0
        if dof < 0:
            continue
        size = 6 if joint == FLOATING else (3 if joint == SPHERICAL else 1)
        for n in range(dof, dof + size):
            rate = work[velocity + n]
            for k in range(6):
                work[at + k] += rate * work[axes + 6 * n + k]


@kernel
def follow_state(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> None:
    """Poses and velocities of all frames, from the state that was read."""
    place_frames(ints, floats, work, articulation)
    gather_velocities(ints, floats, work, articulation)
    move_frames(ints, floats, work, articulation, articulation.velocity, articulation.twist)
