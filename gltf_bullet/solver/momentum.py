"""Floating trees keep their momentum: a wrench on each corrects what the engine's scheme loses.

The engine takes Coriolis and gyroscopic forces at the velocities of the beginning of a step, and
moves everything by those of its end. Where joints are stopped or flung in between, momentum is lost
in proportion to the step (measured: a doll in free space whose limb meets a cone, 17 % at 240 Hz,
44 at 60). Where everything will be after the step, and how it will move, is known from the solve:
what its momentum would differ by from that of now is given back before the engine steps, to the
whole as to one rigid body, so that joints move as they were found to.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import (
    FLOATING,
    LINK,
    POSE,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Articulation,
)
from gltf_bullet.solver.cholesky import factor_dense, solve_dense
from gltf_bullet.solver.last_step.loop_closing import move_joints
from gltf_bullet.solver.tree_kinematics import move_frames, place_frames
from gltf_bullet.transforms import FloatArray, IntArray

PASSES = 2
"""The whole moves a little otherwise by what it is given: the second pass allows for that."""

CALM = 0.002
"""[rad, m] of its joints and bases in a step, below which a tree loses nothing to speak of."""

SPARE = 24
"""First number of the scratch that placing frames leaves alone."""


@kernel
def _size_of(joint: int) -> int:
    """Count of the velocities of a joint."""
    if joint == REVOLUTE or joint == PRISMATIC:
        return 1
    if joint == SPHERICAL:
        return 3
    return 6 if joint == FLOATING else 0


@kernel
def keep_momentum(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Add to the forces of a step what keeps the momentum of each tree with a floating base.

    Args: ints: Of the scene. floats: Its state, and ``expected_velocity``, the velocities that
        the solve has found; corrected. work: Of the scene, evaluated at that state;
        ``joint_force`` receives the forces, poses are as before.
    articulation: The articulation.
    dt: [s]
    """
    n, expected = articulation.dof_count, articulation.expected_velocity
    if articulation.base_dof_count == 0 or articulation.mispredicted:
        return  # The prediction is not reliable.
    fastest = 0.0
    for f in range(articulation.frame_count):
        joint = ints[articulation.frame_joint + f]
        dof = ints[articulation.frame_first_dof + f]
        # What only moves along keeps its momentum by itself.
        first, last = (3 if joint == FLOATING else 0), _size_of(joint)
        for i in range(dof + first, dof + last if dof >= 0 else 0):
            fastest = max(fastest, abs(floats[expected + i]))
    if not fastest * dt > CALM:
        return
    velocity, way, origin = (
        articulation.free_velocity, articulation.trial_velocity, articulation.scratch + SPARE,
    )  # fmt: skip
    state, kept = articulation.state, articulation.saved_state
    momentum, lost = articulation.wrench, articulation.acceleration
    size = articulation.state_size
    for k in range(size):
        work[kept + k] = floats[state + k]
    for k in range(3):
        work[origin + k] = work[articulation.reference_point + k]
    for f in range(articulation.frame_count):
        if ints[articulation.frame_joint + f] == FLOATING:
            _momentum_wanted(ints, floats, work, articulation, f, momentum + 6 * f, dt)
    for _ in range(PASSES):
        for i in range(n):
            work[velocity + i] = floats[expected + i]
            work[way + i] = dt * floats[expected + i]
        move_joints(ints, floats, work, articulation, way)
        place_frames(ints, floats, work, articulation)
        move_frames(ints, floats, work, articulation, velocity, articulation.mean_twist)
        _sum_momenta(ints, floats, work, articulation, lost, origin)
        for k in range(size):
            floats[state + k] = work[kept + k]
        place_frames(ints, floats, work, articulation)
        for f in range(articulation.frame_count):
            if ints[articulation.frame_joint + f] == FLOATING:
                _give_back(ints, floats, work, articulation, f, momentum + 6 * f, lost + 6 * f, dt)


@kernel
def _momentum_wanted(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    f: int,
    target: int,
    dt: float,
) -> None:
    """Momentum [3] and angular momentum [3] about the reference that a tree shall have.

    The solve has added all that acts on it, and the centred bias, which acts on no body.
    """
    n, mass, expected = articulation.dof_count, articulation.mass, articulation.expected_velocity
    dof = ints[articulation.frame_first_dof + f]
    com = articulation.pose + POSE.size * f + POSE.com
    for i in range(6):
        total = 0.0
        for k in range(n):
            total += work[mass + n * (dof + i) + k] * floats[expected + k]
        work[target + i] = total + dt * work[articulation.centred_bias + dof + i]
    _shift(work, target, work[com], work[com + 1], work[com + 2])


@kernel
def _shift(work: FloatArray, at: int, x: float, y: float, z: float) -> None:
    """Angular momentum [3] behind a momentum [3], about a point that is at -(x, y, z)."""
    px, py, pz = work[at], work[at + 1], work[at + 2]
    work[at + 3] += y * pz - z * py
    work[at + 4] += z * px - x * pz
    work[at + 5] += x * py - y * px


@kernel
def _sum_momenta(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    target: int,
    origin: int,
) -> None:
    """Sum up momentum [3], and angular momentum [3] about a place, of each tree at its root."""
    reference, twists = articulation.reference_point, articulation.mean_twist
    count = articulation.frame_count
    for k in range(6 * count):
        work[target + k] = 0.0
    for f in range(count):
        m = floats[articulation.link + LINK.size * f + LINK.mass]
        if m == 0.0:
            continue
        pose, t = articulation.pose + POSE.size * f, twists + 6 * f
        c, i = pose + POSE.com, pose + POSE.inertia
        wx, wy, wz = work[t], work[t + 1], work[t + 2]
        px = m * (work[t + 3] + wy * work[c + 2] - wz * work[c + 1])
        py = m * (work[t + 4] + wz * work[c] - wx * work[c + 2])
        pz = m * (work[t + 5] + wx * work[c + 1] - wy * work[c])
        # Inertias are stored as xx, yy, zz, xy, xz, yz.
        at = target + 6 * ints[articulation.frame_root + f]
        rx = work[c] + work[reference] - work[origin]
        ry = work[c + 1] + work[reference + 1] - work[origin + 1]
        rz = work[c + 2] + work[reference + 2] - work[origin + 2]
        work[at] += px
        work[at + 1] += py
        work[at + 2] += pz
        xx, yy, zz, xy, xz, yz = (
            work[i], work[i + 1], work[i + 2], work[i + 3], work[i + 4], work[i + 5],
        )  # fmt: skip
        work[at + 3] += xx * wx + xy * wy + xz * wz + ry * pz - rz * py
        work[at + 4] += xy * wx + yy * wy + yz * wz + rz * px - rx * pz
        work[at + 5] += xz * wx + yz * wy + zz * wz + rx * py - ry * px


@kernel
def _give_back(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    f: int,
    wanted: int,
    found: int,
    dt: float,
) -> None:
    """Move a tree as one rigid body so that it gets the momentum that it would lack."""
    n, mass, expected = articulation.dof_count, articulation.mass, articulation.expected_velocity
    dof, block = ints[articulation.frame_first_dof + f], articulation.base_mass
    com, gain = articulation.pose + POSE.size * f + POSE.com, articulation.scratch + SPARE + 3
    for i in range(6):
        work[gain + i] = work[wanted + i] - work[found + i]
        for k in range(6):
            work[block + 6 * i + k] = work[mass + n * (dof + i) + dof + k]
    # About the centre of mass of the base, which its velocities belong to.
    _shift(work, gain, -work[com], -work[com + 1], -work[com + 2])
    factor_dense(work, block, 6, block + 36)
    solve_dense(work, block + 36, 6, gain)
    total = 0.0
    for i in range(6):
        total += 0.0 * work[gain + i]
    if total != 0.0:  # of masses whose momenta no number holds
        return
    for k in range(n):
        total = 0.0
        for i in range(6):
            total += work[mass + n * k + dof + i] * work[gain + i]
        work[articulation.joint_force + k] += total / dt
    for i in range(6):
        floats[expected + dof + i] += work[gain + i]
