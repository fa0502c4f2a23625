"""Coriolis and gyroscopic forces at the middle of a step, and a brake if no step resolves them."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import ANCHOR, LINK, POSE, Articulation
from gltf_bullet.solver.cholesky import forward_dense, solve_dense
from gltf_bullet.solver.tree_dynamics import bias_forces, recoil_of_bases
from gltf_bullet.solver.tree_kinematics import move_frames
from gltf_bullet.transforms import FloatArray, IntArray

CALM = 0.002
"""[rad, m] Below this much motion per step centring is not worth its cost."""

CENTRING_PASSES = 3
"""An odd number: with two a whipping rope explodes (measured)."""

STEADY = 0.02
"""[rad, m] per step that the mean velocity may differ from that of now where something is held."""

UNRESOLVED = 0.5
"""Share of its velocity that an articulation may turn over in one step by inertia alone."""


@kernel
def centre_bias(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    dt: float,
    is_predicted: bool,
) -> None:
    """Coriolis and gyroscopic forces at the mean of old and new velocities.

    The engine takes them at the old ones. With its position update that is a first-order scheme,
    which feeds energy into whirling chains (measured: a ball pendulum from 6.4 to 9.2 J in 5 s at
    240 Hz); the mean makes it the second-order leapfrog.
    """
    n, factor = articulation.dof_count, articulation.factor
    velocity, bias = articulation.velocity, articulation.bias
    centred, applied = articulation.centred_bias, articulation.applied_force
    twist, mean_twist = articulation.twist, articulation.mean_twist
    mean = articulation.scratch
    persistent, coriolis_share = articulation.persistent_force, articulation.coriolis_share
    compliant, predicted = articulation.compliant_force, articulation.predicted_row_force
    bias_forces(ints, floats, work, articulation, velocity, twist, bias)
    for k in range(n):
        work[centred + k] = work[bias + k]
    work[coriolis_share] = 0.0
    if _largest_speed(ints, floats, work, articulation) * dt < CALM:
        return
    if articulation.mispredicted:
        # The mean is one of velocities that will not come about; of limbs that an impact has thrown
        # the passes do not converge (measured: a ragdoll at 41 rad/s and 60 Hz, 2e8 N m).
        _limit_coriolis(ints, floats, work, articulation, dt)
        return
    is_held = False
    for k in range(n):
        is_held |= floats[persistent + k] != 0.0 or floats[compliant + k] != 0.0
    for _ in range(CENTRING_PASSES):
        for k in range(n):
            force = work[predicted + k] if is_predicted else floats[persistent + k]
            work[mean + k] = work[applied + k] + force - work[centred + k]
        solve_dense(work, factor, n, mean)
        most = 0.0
        for k in range(n):
            most = max(most, abs(work[mean + k]))
            work[mean + k] = work[velocity + k] + 0.5 * dt * work[mean + k]
        if is_held and not is_predicted and not 0.5 * dt * dt * most <= STEADY:
            # What lasted does not last: light bodies on long soft joints (measured: a ball of 1 cm
            # and 1 kg whose spring of 1000 N/m is 1 m away, 10^5 m/s).
            for k in range(n):
                work[centred + k] = work[bias + k]
            break
        move_frames(ints, floats, work, articulation, mean, mean_twist)
        bias_forces(ints, floats, work, articulation, mean, mean_twist, centred)
    _limit_coriolis(ints, floats, work, articulation, dt)


@kernel
def _limit_coriolis(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Note the share of the velocity that inertia turns over, and brake if it is too large."""
    n, factor = articulation.dof_count, articulation.factor
    velocity, bias = articulation.velocity, articulation.bias
    swerve, coriolis_share = articulation.scratch + n, articulation.coriolis_share
    # Kinetic energies: of the motion, and of what inertia alone changes of it in the step. With
    # M = U^T U and U^T y = b, the energy of M^-1 b is y.y.
    moving, turned = 0.0, 0.0
    for k in range(n):
        work[swerve + k] = work[bias + k]
    forward_dense(work, factor, n, swerve)
    mass = articulation.mass
    for i in range(n):
        turned += work[swerve + i] * work[swerve + i]
        for k in range(n):
            moving += work[velocity + i] * work[mass + n * i + k] * work[velocity + k]
    if _is_carried(ints, floats, articulation):
        # Inertia turns what the anchors carry as well: the bob of a governor, at rest towards its
        # rotor for a moment, stayed there.
        moving = max(moving, motion_about_anchors(ints, floats, work, articulation))
    share = dt * math.sqrt(turned / max(moving, 1e-30))
    work[coriolis_share] = share
    if share > UNRESOLVED:
        _brake_joints(ints, work, articulation, min(0.5, share - UNRESOLVED) / dt)


@kernel
def _is_carried(ints: IntArray, floats: FloatArray, articulation: Articulation) -> bool:
    """Tell whether any anchor moves."""
    for f in range(articulation.frame_count):
        if ints[articulation.frame_joint + f] == ANCHOR:
            s = ints[articulation.frame_state + f] + 7
            for k in range(6):
                if floats[s + k] != 0.0:
                    return True
    return False


@kernel
def motion_about_anchors(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> float:
    """Twice the kinetic energy of all links [J] with what the spin of their anchors gives them."""
    total = 0.0
    for f in range(articulation.frame_count):
        mass = floats[articulation.link + LINK.size * f + LINK.mass]
        t, p = articulation.twist + 6 * f, articulation.pose + POSE.size * f
        wx, wy, wz = work[t], work[t + 1], work[t + 2]
        c, i = p + POSE.com, p + POSE.inertia
        vx = work[t + 3] + wy * work[c + 2] - wz * work[c + 1]
        vy = work[t + 4] + wz * work[c] - wx * work[c + 2]
        vz = work[t + 5] + wx * work[c + 1] - wy * work[c]
        root = ints[articulation.frame_root + f]
        if ints[articulation.frame_joint + root] == ANCHOR:
            s = ints[articulation.frame_state + root] + 7
            vx, vy, vz = vx - floats[s], vy - floats[s + 1], vz - floats[s + 2]
        total += mass * (vx * vx + vy * vy + vz * vz)
        total += work[i] * wx * wx + work[i + 1] * wy * wy + work[i + 2] * wz * wz
        total += 2.0 * (work[i + 3] * wx * wy + work[i + 4] * wx * wz + work[i + 5] * wy * wz)
    return total


@kernel
def _largest_speed(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> float:
    """Largest speed of all degrees of freedom and anchors [m/s or rad/s]."""
    largest = 0.0
    velocity = articulation.velocity
    for k in range(articulation.dof_count):
        largest = max(largest, abs(work[velocity + k]))
    for f in range(articulation.frame_count):
        if ints[articulation.frame_joint + f] == ANCHOR:
            s = ints[articulation.frame_state + f] + 7
            for k in range(6):
                largest = max(largest, abs(floats[s + k]))
    return largest


@kernel
def _brake_joints(
    ints: IntArray, work: FloatArray, articulation: Articulation, rate: float
) -> None:
    """Internal friction that takes a share of all joint speeds and leaves the momentum alone.

    The chain turns by a good part of a radian per step: no scheme at this dt follows it, and all of
    them explode (measured: 12 balls at 60 Hz, 1e10 J). The force is (J M^-1 J^T)^-1 v of the joints
    alone, which is M v less what the bases would do about it.
    """
    n, mass = articulation.dof_count, articulation.mass
    is_base, centred = articulation.is_base_dof, articulation.centred_bias
    drag, recoil = articulation.scratch, articulation.scratch + n
    recoil_of_bases(ints, work, articulation)
    j = 0
    for q in range(n):
        if ints[is_base + q]:
            for p in range(n):
                work[drag + p] -= work[mass + n * p + q] * work[recoil + j]
            j += 1
    for k in range(n):
        if not ints[is_base + k]:
            work[centred + k] += rate * work[drag + k]
