"""Mass matrix, bias forces and wrenches of trees, by recursions about one reference point.

Composite rigid bodies and Newton-Euler (Featherstone, "Rigid Body Dynamics Algorithms", 5 and 6).
PyBullet's own ``calculateMassMatrix`` is wrong with spherical links and does not see masses changed
later (measured).
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
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
from gltf_bullet.transforms import FloatArray, IntArray

MASS_FLOOR = 1e-12
"""Relative addition to the diagonal: keeps a gimbal-locked chain invertible."""


@kernel
def compose_inertias(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> None:
    """Mass, first moment and inertia about the reference point of each frame's subtree."""
    count = articulation.frame_count
    parents, links = articulation.frame_parent, articulation.link
    poses, composites = articulation.pose, articulation.composite
    for f in range(count):
        mass, at = floats[links + LINK.size * f + LINK.mass], composites + 10 * f
        pose = poses + POSE.size * f
        x, y, z = work[pose + POSE.com], work[pose + POSE.com + 1], work[pose + POSE.com + 2]
        inertia = pose + POSE.inertia
        work[at] = mass
        work[at + 1], work[at + 2], work[at + 3] = mass * x, mass * y, mass * z
        work[at + 4] = work[inertia] + mass * (y * y + z * z)
        work[at + 5] = work[inertia + 1] + mass * (x * x + z * z)
        work[at + 6] = work[inertia + 2] + mass * (x * x + y * y)
        work[at + 7] = work[inertia + 3] - mass * x * y
        work[at + 8] = work[inertia + 4] - mass * x * z
        work[at + 9] = work[inertia + 5] - mass * y * z
    for f in range(count - 1, -1, -1):
        parent = ints[parents + f]
        if parent >= 0:
            for k in range(10):
                work[composites + 10 * parent + k] += work[composites + 10 * f + k]


@kernel
def composite_wrench(work: FloatArray, composite: int, motion: int, wrench: int) -> None:
    """Inertia times motion: spatial force [6] at ``wrench``, torque about the reference point."""
    m, hx, hy, hz = (
        work[composite],
        work[composite + 1],
        work[composite + 2],
        work[composite + 3],
    )
    i = composite + 4
    wx, wy, wz = work[motion], work[motion + 1], work[motion + 2]
    vx, vy, vz = work[motion + 3], work[motion + 4], work[motion + 5]
    work[wrench] = work[i] * wx + work[i + 3] * wy + work[i + 4] * wz + hy * vz - hz * vy
    work[wrench + 1] = work[i + 3] * wx + work[i + 1] * wy + work[i + 5] * wz + hz * vx - hx * vz
    work[wrench + 2] = work[i + 4] * wx + work[i + 5] * wy + work[i + 2] * wz + hx * vy - hy * vx
    work[wrench + 3] = m * vx + wy * hz - wz * hy
    work[wrench + 4] = m * vy + wz * hx - wx * hz
    work[wrench + 5] = m * vz + wx * hy - wy * hx


@kernel
def pair(work: FloatArray, motion: int, wrench: int) -> float:
    """Power of a spatial force in a spatial motion."""
    total = 0.0
    for k in range(6):
        total += work[motion + k] * work[wrench + k]
    return total


@kernel
def fill_mass_matrix(ints: IntArray, work: FloatArray, articulation: Articulation) -> None:
    """M of the kinetic energy 1/2 v M v, floor included; shape [n, n]."""
    n, mass = articulation.dof_count, articulation.mass
    parents, frames = articulation.dof_parent, articulation.dof_frame
    axes, composites = articulation.axis, articulation.composite
    wrench = articulation.scratch
    for k in range(n * n):
        work[mass + k] = 0.0
    trace = 0.0
    for i in range(n):
        composite_wrench(work, composites + 10 * ints[frames + i], axes + 6 * i, wrench)
        j = i
        while j >= 0:
            value = pair(work, axes + 6 * j, wrench)
            work[mass + n * i + j] = value
            work[mass + n * j + i] = value
            j = ints[parents + j]
        trace += work[mass + (n + 1) * i]
    floor = MASS_FLOOR * (trace / n if trace > 0.0 else 1.0) if n else 0.0
    for i in range(n):
        work[mass + (n + 1) * i] += floor


@kernel
def recoil_of_bases(ints: IntArray, work: FloatArray, articulation: Articulation) -> None:
    """Gain of the velocities of floating bases if all joints are stopped at once.

    The momentum of the whole stays: of all velocities with it, those without joint speeds have the
    least energy. ``scratch`` receives the momenta of the joints' speeds, [n], and behind them the
    gains of the bases, in the order of their velocities.
    """
    n, mass, bases = articulation.dof_count, articulation.mass, articulation.base_dof_count
    is_base, velocity = articulation.is_base_dof, articulation.velocity
    momentum, block = articulation.scratch, articulation.base_mass
    recoil = momentum + n
    for i in range(n):
        total = 0.0
        for k in range(n):
            if not ints[is_base + k]:
                total += work[mass + n * i + k] * work[velocity + k]
        work[momentum + i] = total
    if not bases:
        return
    # The rows and columns of the bases alone, in the place of the Jacobian rows to come.
    i = 0
    for p in range(n):
        if not ints[is_base + p]:
            continue
        work[recoil + i] = work[momentum + p]
        j = 0
        for q in range(n):
            if ints[is_base + q]:
                work[block + bases * i + j] = work[mass + n * p + q]
                j += 1
        i += 1
    factor_dense(work, block, bases, block + bases * bases)
    solve_dense(work, block + bases * bases, bases, recoil)


@kernel
def accelerate_frames(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    velocity: int,
    twist: int,
) -> None:
    """Accelerations [f, 6] that velocities alone cause, no degree of freedom accelerating.

    The axes of a joint turn with the frame that it moves; those of a base stay.
    """
    count = articulation.frame_count
    joints, parents = articulation.frame_joint, articulation.frame_parent
    dofs, states = articulation.frame_first_dof, articulation.frame_state
    axes, result = articulation.axis, articulation.acceleration
    for f in range(count):
        at, joint, dof = result + 6 * f, ints[joints + f], ints[dofs + f]
        t = twist + 6 * f
        wx, wy, wz = work[t], work[t + 1], work[t + 2]
        if joint == ANCHOR or joint == FLOATING:
            # v x w of the point that the velocity belongs to: it does not accelerate.
            if joint == ANCHOR:
                s = ints[states + f] + 7
                vx, vy, vz = floats[s], floats[s + 1], floats[s + 2]
            else:
                v = velocity + dof
                vx, vy, vz = work[v], work[v + 1], work[v + 2]
            work[at], work[at + 1], work[at + 2] = 0.0, 0.0, 0.0
            work[at + 3] = vy * wz - vz * wy
            work[at + 4] = vz * wx - vx * wz
            work[at + 5] = vx * wy - vy * wx
            continue
        above = result + 6 * ints[parents + f]
        for k in range(6):
            work[at + k] = work[above + k]
        if dof < 0:
            continue
        ux, uy, uz = work[t + 3], work[t + 4], work[t + 5]
        for n in range(dof, dof + (3 if joint == SPHERICAL else 1)):
            rate, s = work[velocity + n], axes + 6 * n
            ax, ay, az = rate * work[s], rate * work[s + 1], rate * work[s + 2]
            lx, ly, lz = rate * work[s + 3], rate * work[s + 4], rate * work[s + 5]
            work[at] += wy * az - wz * ay
            work[at + 1] += wz * ax - wx * az
            work[at + 2] += wx * ay - wy * ax
            work[at + 3] += wy * lz - wz * ly + uy * az - uz * ay
            work[at + 4] += wz * lx - wx * lz + uz * ax - ux * az
            work[at + 5] += wx * ly - wy * lx + ux * ay - uy * ax


@kernel
def inertial_wrenches(
    floats: FloatArray, work: FloatArray, articulation: Articulation, twist: int
) -> None:
    """Wrenches that the frames need for their velocities and accelerations."""
    count, wrenches = articulation.frame_count, articulation.wrench
    links, poses = articulation.link, articulation.pose
    accelerations = articulation.acceleration
    for f in range(count):
        out = wrenches + 6 * f
        m = floats[links + LINK.size * f + LINK.mass]
        if m == 0.0:
            for k in range(6):
                work[out + k] = 0.0
            continue
        t, b = twist + 6 * f, accelerations + 6 * f
        c = poses + POSE.size * f + POSE.com
        i = poses + POSE.size * f + POSE.inertia
        wx, wy, wz = work[t], work[t + 1], work[t + 2]
        ax, ay, az = work[b], work[b + 1], work[b + 2]
        cx, cy, cz = work[c], work[c + 1], work[c + 2]
        # Velocity, then acceleration, of the centre of mass.
        vx = work[t + 3] + wy * cz - wz * cy
        vy = work[t + 4] + wz * cx - wx * cz
        vz = work[t + 5] + wx * cy - wy * cx
        fx = m * (work[b + 3] + ay * cz - az * cy + wy * vz - wz * vy)
        fy = m * (work[b + 4] + az * cx - ax * cz + wz * vx - wx * vz)
        fz = m * (work[b + 5] + ax * cy - ay * cx + wx * vy - wy * vx)
        xx, yy, zz, xy, xz, yz = (
            work[i],
            work[i + 1],
            work[i + 2],
            work[i + 3],
            work[i + 4],
            work[i + 5],
        )
        lx = xx * wx + xy * wy + xz * wz
        ly = xy * wx + yy * wy + yz * wz
        lz = xz * wx + yz * wy + zz * wz
        work[out] = xx * ax + xy * ay + xz * az + wy * lz - wz * ly + cy * fz - cz * fy
        work[out + 1] = xy * ax + yy * ay + yz * az + wz * lx - wx * lz + cz * fx - cx * fz
        work[out + 2] = xz * ax + yz * ay + zz * az + wx * ly - wy * lx + cx * fy - cy * fx
        work[out + 3], work[out + 4], work[out + 5] = fx, fy, fz


@kernel
def project_wrenches(
    ints: IntArray, work: FloatArray, articulation: Articulation, target: int
) -> None:
    """Generalized forces [n] at ``target`` of the wrenches on the frames, which are used up."""
    count, n = articulation.frame_count, articulation.dof_count
    parents, frames = articulation.frame_parent, articulation.dof_frame
    axes, wrenches = articulation.axis, articulation.wrench
    for f in range(count - 1, -1, -1):
        parent = ints[parents + f]
        if parent >= 0:
            for k in range(6):
                work[wrenches + 6 * parent + k] += work[wrenches + 6 * f + k]
    for i in range(n):
        work[target + i] = pair(work, axes + 6 * i, wrenches + 6 * ints[frames + i])


@kernel
def bias_forces(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    velocity: int,
    twist: int,
    target: int,
) -> None:
    """Coriolis, centrifugal and gyroscopic forces [n] at ``target``, without gravity.

    The equation of motion is ``M dv/dt + bias = generalized forces``. ``twist`` holds the frames'
    velocities at ``velocity``.
    """
    accelerate_frames(ints, floats, work, articulation, velocity, twist)
    inertial_wrenches(floats, work, articulation, twist)
    project_wrenches(ints, work, articulation, target)


@kernel
def evaluate_tree(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> None:
    """Poses, velocities and mass matrix, from the state that was read."""
    follow_state(ints, floats, work, articulation)
    compose_inertias(ints, floats, work, articulation)
    fill_mass_matrix(ints, work, articulation)
