"""Coriolis and gyroscopic forces at the middle of a step, and a brake if no step resolves them."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import ANCHOR, LINK, POSE, Articulation
from gltf_bullet.solver.cholesky import forward_dense, solve_dense
from gltf_bullet.solver.tree_dynamics import bias_forces, recoil_of_bases
from gltf_bullet.solver.tree_kinematics import move_frames

CALM = 0.002
"""[rad, m] Below this much motion per step centring is not worth its cost."""

CENTRING_PASSES = 3
"""An odd number: with two a whipping rope explodes (measured)."""

STEADY = 0.02
"""[rad, m] per step that the mean velocity may differ from that of now where something is held."""

UNRESOLVED = 0.5
"""Share of its velocity that an articulation may turn over in one step by inertia alone."""


@kernel
def centre_bias(a: Articulation, dt: float, is_predicted: bool) -> None:
    """Coriolis and gyroscopic forces at the mean of old and new velocities.

    The engine takes them at the old ones. With its position update that is a first-order scheme,
    which feeds energy into whirling chains (measured: a ball pendulum from 6.4 to 9.2 J in 5 s at
    240 Hz); the mean makes it the second-order leapfrog.

    Sets ``bias``, ``centred_bias`` and ``coriolis_share``, from ``velocity``,
    ``applied_force``, ``factor`` and the forces of rows that last. ``mean_twist``,
    ``acceleration`` and ``wrench`` are used up.
    """
    n, factor = a.dof_count, a.factor
    velocity, bias = a.velocity, a.bias
    centred, applied = a.centred_bias, a.applied_force
    twist, mean_twist = a.twist, a.mean_twist
    mean = a.scratch
    persistent, coriolis_share = a.persistent_force, a.coriolis_share
    compliant, predicted = a.compliant_force, a.predicted_row_force
    bias_forces(a, velocity, twist, bias)
    for k in range(n):
        centred[k] = bias[k]
    coriolis_share[0] = 0.0
    if _largest_speed(a) * dt < CALM:
        return
    if a.mispredicted:
        # The mean is one of velocities that will not come about; of limbs that an impact has thrown
        # the passes do not converge (measured: a ragdoll at 41 rad/s and 60 Hz, 2e8 N m).
        _limit_coriolis(a, dt)
        return
    is_held = False
    for k in range(n):
        is_held |= persistent[k] != 0.0 or compliant[k] != 0.0
    for _ in range(CENTRING_PASSES):
        for k in range(n):
            force = predicted[k] if is_predicted else persistent[k]
            mean[k] = applied[k] + force - centred[k]
        solve_dense(factor, n, mean)
        most = 0.0
        for k in range(n):
            most = max(most, abs(mean[k]))
            mean[k] = velocity[k] + 0.5 * dt * mean[k]
        if is_held and not is_predicted and not 0.5 * dt * dt * most <= STEADY:
            # What lasted does not last: light bodies on long soft joints (measured: a ball of 1 cm
            # and 1 kg whose spring of 1000 N/m is 1 m away, 10^5 m/s).
            for k in range(n):
                centred[k] = bias[k]
            break
        move_frames(a, mean, mean_twist)
        bias_forces(a, mean, mean_twist, centred)
    _limit_coriolis(a, dt)


@kernel
def _limit_coriolis(a: Articulation, dt: float) -> None:
    """Note the share of the velocity that inertia turns over, and brake if it is too large."""
    n, factor = a.dof_count, a.factor
    velocity, bias = a.velocity, a.bias
    swerve, coriolis_share = a.scratch[n:], a.coriolis_share
    # Kinetic energies: of the motion, and of what inertia alone changes of it in the step. With
    # M = U^T U and U^T y = b, the energy of M^-1 b is y.y.
    moving, turned = 0.0, 0.0
    for k in range(n):
        swerve[k] = bias[k]
    forward_dense(factor, n, swerve)
    mass = a.mass
    for i in range(n):
        turned += swerve[i] * swerve[i]
        for k in range(n):
            moving += velocity[i] * mass[i, k] * velocity[k]
    if _is_carried(a):
        # Inertia turns what the anchors carry as well: the bob of a governor, at rest towards its
        # rotor for a moment, stayed there.
        moving = max(moving, motion_about_anchors(a))
    share = dt * math.sqrt(turned / max(moving, 1e-30))
    coriolis_share[0] = share
    if share > UNRESOLVED:
        _brake_joints(a, min(0.5, share - UNRESOLVED) / dt)


@kernel
def _is_carried(a: Articulation) -> bool:
    """Tell whether any anchor moves."""
    for f in range(a.frame_count):
        if a.frame_joint[f] == ANCHOR:
            s = a.floats[a.frame_state[f] + 7 :]
            for k in range(6):
                if s[k] != 0.0:
                    return True
    return False


@kernel
def motion_about_anchors(a: Articulation) -> float:
    """Twice the kinetic energy of all links [J] with what the spin of their anchors gives them."""
    total = 0.0
    for f in range(a.frame_count):
        mass = a.link[f, LINK.mass]
        t, p = a.twist[f], a.pose[f]
        wx, wy, wz = t[0], t[1], t[2]
        c, i = p[POSE.com :], p[POSE.inertia :]
        vx = t[3] + wy * c[2] - wz * c[1]
        vy = t[4] + wz * c[0] - wx * c[2]
        vz = t[5] + wx * c[1] - wy * c[0]
        root = a.frame_root[f]
        if a.frame_joint[root] == ANCHOR:
            s = a.floats[a.frame_state[root] + 7 :]
            vx, vy, vz = vx - s[0], vy - s[1], vz - s[2]
        total += mass * (vx * vx + vy * vy + vz * vz)
        total += i[0] * wx * wx + i[1] * wy * wy + i[2] * wz * wz
        total += 2.0 * (i[3] * wx * wy + i[4] * wx * wz + i[5] * wy * wz)
    return total


@kernel
def _largest_speed(a: Articulation) -> float:
    """Largest speed of all degrees of freedom and anchors [m/s or rad/s]."""
    largest = 0.0
    velocity = a.velocity
    for k in range(a.dof_count):
        largest = max(largest, abs(velocity[k]))
    for f in range(a.frame_count):
        if a.frame_joint[f] == ANCHOR:
            s = a.floats[a.frame_state[f] + 7 :]
            for k in range(6):
                largest = max(largest, abs(s[k]))
    return largest


@kernel
def _brake_joints(a: Articulation, rate: float) -> None:
    """Internal friction that takes a share of all joint speeds and leaves the momentum alone.

    The chain turns by a good part of a radian per step: no scheme at this dt follows it, and all of
    them explode (measured: 12 balls at 60 Hz, 1e10 J). The force is (J M^-1 J^T)^-1 v of the joints
    alone, which is M v less what the bases would do about it.
    """
    n, mass = a.dof_count, a.mass
    is_base, centred = a.is_base_dof, a.centred_bias
    drag, recoil = a.scratch, a.scratch[n:]
    recoil_of_bases(a)
    j = 0
    for q in range(n):
        if is_base[q]:
            for p in range(n):
                drag[p] -= mass[p, q] * recoil[j]
            j += 1
    for k in range(n):
        if not is_base[k]:
            centred[k] += rate * drag[k]
