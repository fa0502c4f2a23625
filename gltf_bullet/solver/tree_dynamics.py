"""Mass matrix, bias forces and wrenches of trees, by recursions about one reference point.

Composite rigid bodies and Newton-Euler (Featherstone, "Rigid Body Dynamics Algorithms", 5 and 6).
PyBullet's own ``calculateMassMatrix`` is wrong with spherical links and does not see masses changed
later (measured).
"""

from __future__ import annotations

from gltf_bullet.numba_aot import FloatTable, kernel
from gltf_bullet.solver.articulation_arrays import (
    ANCHOR,
    FLOATING,
    LINK,
    POSE,
    SPHERICAL,
    Articulation,
)
from gltf_bullet.solver.cholesky import factor_dense, solve_dense
from gltf_bullet.solver.tree_kinematics import follow_state
from gltf_bullet.transforms import FloatArray

MASS_FLOOR = 1e-12
"""Relative addition to the diagonal: keeps a gimbal-locked chain invertible."""


@kernel
def compose_inertias(a: Articulation) -> None:
    """Mass, first moment and inertia about the reference point of each frame's subtree.

    Sets ``composite``, from ``link`` and ``pose``.
    """
    count = a.frame_count
    parents, links = a.frame_parent, a.link
    poses, composites = a.pose, a.composite
    for f in range(count):
        mass, at = links[f, LINK.mass], composites[f]
        pose = poses[f]
        x, y, z = pose[POSE.com], pose[POSE.com + 1], pose[POSE.com + 2]
        inertia = pose[POSE.inertia :]
        at[0] = mass
        at[1], at[2], at[3] = mass * x, mass * y, mass * z
        at[4] = inertia[0] + mass * (y * y + z * z)
        at[5] = inertia[1] + mass * (x * x + z * z)
        at[6] = inertia[2] + mass * (x * x + y * y)
        at[7] = inertia[3] - mass * x * y
        at[8] = inertia[4] - mass * x * z
        at[9] = inertia[5] - mass * y * z
    for f in range(count - 1, -1, -1):
        parent = parents[f]
        if parent >= 0:
            for k in range(10):
                composites[parent, k] += composites[f, k]


@kernel
def composite_wrench(composite: FloatArray, motion: FloatArray, wrench: FloatArray) -> None:
    """Inertia times motion: spatial force [6], torque about the reference point."""
    m, hx, hy, hz = composite[0], composite[1], composite[2], composite[3]
    i = composite[4:]
    wx, wy, wz = motion[0], motion[1], motion[2]
    vx, vy, vz = motion[3], motion[4], motion[5]
    wrench[0] = i[0] * wx + i[3] * wy + i[4] * wz + hy * vz - hz * vy
    wrench[1] = i[3] * wx + i[1] * wy + i[5] * wz + hz * vx - hx * vz
    wrench[2] = i[4] * wx + i[5] * wy + i[2] * wz + hx * vy - hy * vx
    wrench[3] = m * vx + wy * hz - wz * hy
    wrench[4] = m * vy + wz * hx - wx * hz
    wrench[5] = m * vz + wx * hy - wy * hx


@kernel
def pair(motion: FloatArray, wrench: FloatArray) -> float:
    """Power of a spatial force in a spatial motion."""
    total = 0.0
    for k in range(6):
        total += motion[k] * wrench[k]
    return total


@kernel
def fill_mass_matrix(a: Articulation) -> None:
    """M of the kinetic energy 1/2 v M v, floor included; shape [n, n].

    Sets ``mass``, from ``composite`` and ``axis``.
    """
    n, mass = a.dof_count, a.mass
    parents, frames = a.dof_parent, a.dof_frame
    axes, composites = a.axis, a.composite
    wrench = a.scratch
    for i in range(n):
        for k in range(n):
            mass[i, k] = 0.0
    trace = 0.0
    for i in range(n):
        composite_wrench(composites[frames[i]], axes[i], wrench)
        j = i
        while j >= 0:
            value = pair(axes[j], wrench)
            mass[i, j] = value
            mass[j, i] = value
            j = parents[j]
        trace += mass[i, i]
    floor = MASS_FLOOR * (trace / n if trace > 0.0 else 1.0) if n else 0.0
    for i in range(n):
        mass[i, i] += floor


@kernel
def recoil_of_bases(a: Articulation) -> None:
    """Gain of the velocities of floating bases if all joints are stopped at once.

    The momentum of the whole stays: of all velocities with it, those without joint speeds have the
    least energy. ``scratch`` receives the momenta of the joints' speeds, [n], and behind them the
    gains of the bases, in the order of their velocities.
    """
    n, mass, bases = a.dof_count, a.mass, a.base_dof_count
    is_base, velocity = a.is_base_dof, a.velocity
    momentum, block = a.scratch, a.base_mass
    recoil = momentum[n:]
    for i in range(n):
        total = 0.0
        for k in range(n):
            if not is_base[k]:
                total += mass[i, k] * velocity[k]
        momentum[i] = total
    if not bases:
        return
    # The rows and columns of the bases alone, in the place of the Jacobian rows to come.
    i = 0
    for p in range(n):
        if not is_base[p]:
            continue
        recoil[i] = momentum[p]
        j = 0
        for q in range(n):
            if is_base[q]:
                block[i, j] = mass[p, q]
                j += 1
        i += 1
    factor_dense(block, bases, a.base_factor)
    solve_dense(a.base_factor, bases, recoil)


@kernel
def accelerate_frames(a: Articulation, velocity: FloatArray, twist: FloatTable) -> None:
    """Accelerations [f, 6] that velocities alone cause, no degree of freedom accelerating.

    The axes of a joint turn with the frame that it moves; those of a base stay.

    Sets ``acceleration``, from ``axis`` and the arguments.
    """
    count = a.frame_count
    joints, parents = a.frame_joint, a.frame_parent
    dofs, states = a.frame_first_dof, a.frame_state
    axes, result = a.axis, a.acceleration
    for f in range(count):
        at, joint, dof = result[f], joints[f], dofs[f]
        t = twist[f]
        wx, wy, wz = t[0], t[1], t[2]
        if joint == ANCHOR or joint == FLOATING:
            # v x w of the point that the velocity belongs to: it does not accelerate.
            v = a.floats[states[f] + 7 :] if joint == ANCHOR else velocity[dof:]
            vx, vy, vz = v[0], v[1], v[2]
            at[0], at[1], at[2] = 0.0, 0.0, 0.0
            at[3] = vy * wz - vz * wy
            at[4] = vz * wx - vx * wz
            at[5] = vx * wy - vy * wx
            continue
        above = result[parents[f]]
        for k in range(6):
            at[k] = above[k]
        if dof < 0:
            continue
        ux, uy, uz = t[3], t[4], t[5]
        for n in range(dof, dof + (3 if joint == SPHERICAL else 1)):
            rate, s = velocity[n], axes[n]
            ax, ay, az = rate * s[0], rate * s[1], rate * s[2]
            lx, ly, lz = rate * s[3], rate * s[4], rate * s[5]
            at[0] += wy * az - wz * ay
            at[1] += wz * ax - wx * az
            at[2] += wx * ay - wy * ax
            at[3] += wy * lz - wz * ly + uy * az - uz * ay
            at[4] += wz * lx - wx * lz + uz * ax - ux * az
            at[5] += wx * ly - wy * lx + ux * ay - uy * ax


@kernel
def inertial_wrenches(a: Articulation, twist: FloatTable) -> None:
    """Wrenches that the frames need for their velocities and accelerations.

    Sets ``wrench``, from ``link``, ``pose``, ``acceleration`` and ``twist``.
    """
    count, wrenches = a.frame_count, a.wrench
    links, poses = a.link, a.pose
    accelerations = a.acceleration
    for f in range(count):
        out = wrenches[f]
        m = links[f, LINK.mass]
        if m == 0.0:
            for k in range(6):
                out[k] = 0.0
            continue
        t, b = twist[f], accelerations[f]
        c = poses[f, POSE.com :]
        i = poses[f, POSE.inertia :]
        wx, wy, wz = t[0], t[1], t[2]
        ax, ay, az = b[0], b[1], b[2]
        cx, cy, cz = c[0], c[1], c[2]
        # Velocity, then acceleration, of the centre of mass.
        vx = t[3] + wy * cz - wz * cy
        vy = t[4] + wz * cx - wx * cz
        vz = t[5] + wx * cy - wy * cx
        fx = m * (b[3] + ay * cz - az * cy + wy * vz - wz * vy)
        fy = m * (b[4] + az * cx - ax * cz + wz * vx - wx * vz)
        fz = m * (b[5] + ax * cy - ay * cx + wx * vy - wy * vx)
        xx, yy, zz, xy, xz, yz = i[0], i[1], i[2], i[3], i[4], i[5]
        lx = xx * wx + xy * wy + xz * wz
        ly = xy * wx + yy * wy + yz * wz
        lz = xz * wx + yz * wy + zz * wz
        out[0] = xx * ax + xy * ay + xz * az + wy * lz - wz * ly + cy * fz - cz * fy
        out[1] = xy * ax + yy * ay + yz * az + wz * lx - wx * lz + cz * fx - cx * fz
        out[2] = xz * ax + yz * ay + zz * az + wx * ly - wy * lx + cx * fy - cy * fx
        out[3], out[4], out[5] = fx, fy, fz


@kernel
def project_wrenches(a: Articulation, target: FloatArray) -> None:
    """Generalized forces [n] of the wrenches on the frames, which are used up."""
    count, n = a.frame_count, a.dof_count
    parents, frames = a.frame_parent, a.dof_frame
    axes, wrenches = a.axis, a.wrench
    for f in range(count - 1, -1, -1):
        parent = parents[f]
        if parent >= 0:
            for k in range(6):
                wrenches[parent, k] += wrenches[f, k]
    for i in range(n):
        target[i] = pair(axes[i], wrenches[frames[i]])


@kernel
def bias_forces(
    a: Articulation, velocity: FloatArray, twist: FloatTable, target: FloatArray
) -> None:
    """Coriolis, centrifugal and gyroscopic forces [n], without gravity.

    The equation of motion is ``M dv/dt + bias = generalized forces``. ``twist`` holds the frames'
    velocities at ``velocity``.
    """
    accelerate_frames(a, velocity, twist)
    inertial_wrenches(a, twist)
    project_wrenches(a, target)


@kernel
def evaluate_tree(a: Articulation) -> None:
    """Poses, velocities and mass matrix, from the state that was read.

    Sets what :func:`follow_state` sets, ``composite`` and ``mass``.
    """
    follow_state(a)
    compose_inertias(a)
    fill_mass_matrix(a)
