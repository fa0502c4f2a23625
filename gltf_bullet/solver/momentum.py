"""Floating trees keep their momentum: a wrench on each corrects what the engine's scheme loses.

The engine takes Coriolis and gyroscopic forces at the velocities of the beginning of a step, and
moves everything by those of its end. Where joints are stopped or flung in between, momentum is lost
in proportion to the step (measured: a doll in free space whose limb meets a cone, 17 % at 240 Hz,
44 at 60). Where everything will be after the step, and how it will move, is known from the solve:
what its momentum would differ by from that of now is given back before the engine steps, to the
whole as to one rigid body, so that joints move as they were found to.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import FloatTable, kernel
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
from gltf_bullet.transforms import FloatArray

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
def keep_momentum(a: Articulation, dt: float) -> None:
    """Add to the forces of a step what keeps the momentum of each tree with a floating base.

    Args:
        a: Evaluated at its state; ``expected_velocity``, which the solve has found, is corrected,
            ``joint_force`` receives the forces. Poses are as before.
        dt: [s]
    """
    n, expected = a.dof_count, a.expected_velocity
    if a.base_dof_count == 0 or a.mispredicted:
        return  # The prediction is not reliable.
    fastest = 0.0
    for f in range(a.frame_count):
        joint = a.frame_joint[f]
        dof = a.frame_first_dof[f]
        # What only moves along keeps its momentum by itself.
        first, last = (3 if joint == FLOATING else 0), _size_of(joint)
        for i in range(dof + first, dof + last if dof >= 0 else 0):
            fastest = max(fastest, abs(expected[i]))
    if not fastest * dt > CALM:
        return
    velocity, way, origin = a.free_velocity, a.trial_velocity, a.scratch[SPARE:]
    state, kept = a.state, a.saved_state
    momentum, lost = a.wrench, a.acceleration
    size = a.state_size
    for k in range(size):
        kept[k] = state[k]
    for k in range(3):
        origin[k] = a.reference_point[k]
    for f in range(a.frame_count):
        if a.frame_joint[f] == FLOATING:
            _momentum_wanted(a, f, momentum[f], dt)
    for _ in range(PASSES):
        for i in range(n):
            velocity[i] = expected[i]
            way[i] = dt * expected[i]
        move_joints(a, way)
        place_frames(a)
        move_frames(a, velocity, a.mean_twist)
        _sum_momenta(a, lost, origin)
        for k in range(size):
            state[k] = kept[k]
        place_frames(a)
        for f in range(a.frame_count):
            if a.frame_joint[f] == FLOATING:
                _give_back(a, f, momentum[f], lost[f], dt)


@kernel
def _momentum_wanted(a: Articulation, f: int, target: FloatArray, dt: float) -> None:
    """Momentum [3] and angular momentum [3] about the reference that a tree shall have.

    The solve has added all that acts on it, and the centred bias, which acts on no body.
    """
    n, mass, expected = a.dof_count, a.mass, a.expected_velocity
    dof = a.frame_first_dof[f]
    com = a.pose[f, POSE.com :]
    for i in range(6):
        total = 0.0
        for k in range(n):
            total += mass[dof + i, k] * expected[k]
        target[i] = total + dt * a.centred_bias[dof + i]
    _shift(target, com[0], com[1], com[2])


@kernel
def _shift(momentum: FloatArray, x: float, y: float, z: float) -> None:
    """Angular momentum [3] behind a momentum [3], about a point that is at -(x, y, z)."""
    px, py, pz = momentum[0], momentum[1], momentum[2]
    momentum[3] += y * pz - z * py
    momentum[4] += z * px - x * pz
    momentum[5] += x * py - y * px


@kernel
def _sum_momenta(a: Articulation, target: FloatTable, origin: FloatArray) -> None:
    """Sum up momentum [3], and angular momentum [3] about a place, of each tree at its root."""
    reference, twists = a.reference_point, a.mean_twist
    count = a.frame_count
    for f in range(count):
        for k in range(6):
            target[f, k] = 0.0
    for f in range(count):
        m = a.link[f, LINK.mass]
        if m == 0.0:
            continue
        pose, t = a.pose[f], twists[f]
        c, i = pose[POSE.com :], pose[POSE.inertia :]
        wx, wy, wz = t[0], t[1], t[2]
        px = m * (t[3] + wy * c[2] - wz * c[1])
        py = m * (t[4] + wz * c[0] - wx * c[2])
        pz = m * (t[5] + wx * c[1] - wy * c[0])
        # Inertias are stored as xx, yy, zz, xy, xz, yz.
        at = target[a.frame_root[f]]
        rx = c[0] + reference[0] - origin[0]
        ry = c[1] + reference[1] - origin[1]
        rz = c[2] + reference[2] - origin[2]
        at[0] += px
        at[1] += py
        at[2] += pz
        xx, yy, zz, xy, xz, yz = i[0], i[1], i[2], i[3], i[4], i[5]
        at[3] += xx * wx + xy * wy + xz * wz + ry * pz - rz * py
        at[4] += xy * wx + yy * wy + yz * wz + rz * px - rx * pz
        at[5] += xz * wx + yz * wy + zz * wz + rx * py - ry * px


@kernel
def _give_back(a: Articulation, f: int, wanted: FloatArray, found: FloatArray, dt: float) -> None:
    """Move a tree as one rigid body so that it gets the momentum that it would lack."""
    n, mass, expected = a.dof_count, a.mass, a.expected_velocity
    dof, block = a.frame_first_dof[f], a.base_mass
    com, gain = a.pose[f, POSE.com :], a.scratch[SPARE + 3 :]
    for i in range(6):
        gain[i] = wanted[i] - found[i]
        for k in range(6):
            block[i, k] = mass[dof + i, dof + k]
    # About the centre of mass of the base, which its velocities belong to.
    _shift(gain, -com[0], -com[1], -com[2])
    factor_dense(block, 6, a.base_factor)
    solve_dense(a.base_factor, 6, gain)
    total = 0.0
    for i in range(6):
        total += 0.0 * gain[i]
    if total != 0.0:  # of masses whose momenta no number holds
        return
    for k in range(n):
        total = 0.0
        for i in range(6):
            total += mass[k, dof + i] * gain[i]
        a.joint_force[k] += total / dt
    for i in range(6):
        expected[dof + i] += gain[i]
