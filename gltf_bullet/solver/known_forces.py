"""Forces that are known before the solve: gravity, fields, what users announce, moving anchors."""

from __future__ import annotations

from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import (
    ANCHOR,
    LINK_GRAVITY_FACTOR,
    LINK_MASS,
    LINK_SIZE,
    POSE_COM,
    POSE_SIZE,
)
from gltf_bullet.solver.compiling import kernel
from gltf_bullet.solver.tree_dynamics import composite_wrench, project_wrenches
from gltf_bullet.transforms import FloatArray, IntArray


@kernel
def apply_known_forces(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    a: int,
    gx: float,
    gy: float,
    gz: float,
) -> None:
    """Generalized forces: all that are known, and those of them that the engine must be given."""
    count, n = ints[a + arena.FRAME_COUNT], ints[a + arena.DOF_COUNT]
    joints, states = ints[a + arena.FRAME_JOINT], ints[a + arena.FRAME_STATE]
    links, poses = ints[a + arena.LINK], ints[a + arena.POSE]
    wrenches, composites = ints[a + arena.WRENCH], ints[a + arena.COMPOSITE]
    roots, scratch = ints[a + arena.FRAME_ROOT], ints[a + arena.SCRATCH]
    applied, handed = ints[a + arena.APPLIED], ints[a + arena.HANDED]
    axes, frames = ints[a + arena.AXIS], ints[a + arena.DOF_FRAME]
    pulls, externals = ints[a + arena.PULL], ints[a + arena.EXTERNAL]
    for f in range(count):
        out, link = wrenches + 6 * f, links + LINK_SIZE * f
        mass, more = floats[link + LINK_MASS], floats[link + LINK_GRAVITY_FACTOR] - 1.0
        e, p = externals + 6 * f, pulls + 3 * f
        x = mass * (more * gx + floats[p]) + floats[e + 3]
        y = mass * (more * gy + floats[p + 1]) + floats[e + 4]
        z = mass * (more * gz + floats[p + 2]) + floats[e + 5]
        c = poses + POSE_SIZE * f + POSE_COM
        work[out] = floats[e] + work[c + 1] * z - work[c + 2] * y
        work[out + 1] = floats[e + 1] + work[c + 2] * x - work[c] * z
        work[out + 2] = floats[e + 2] + work[c] * y - work[c + 1] * x
        work[out + 3], work[out + 4], work[out + 5] = x, y, z
    project_wrenches(ints, work, a, handed)
    for i in range(n):
        f = ints[frames + i]
        s, h = axes + 6 * i, composites + 10 * f
        m, hx, hy, hz = work[h], work[h + 1], work[h + 2], work[h + 3]
        weight = (
            work[s] * (hy * gz - hz * gy)
            + work[s + 1] * (hz * gx - hx * gz)
            + work[s + 2] * (hx * gy - hy * gx)
            + m * (work[s + 3] * gx + work[s + 4] * gy + work[s + 5] * gz)
        )
        root = ints[roots + f]
        if ints[joints + root] == ANCHOR:
            # The engine sees an anchor's velocity, not its acceleration (measured) ...
            work[handed + i] -= _anchor_inertia(ints, floats, work, a, i, root, states, scratch)
        work[applied + i] = work[handed + i] + weight + floats[ints[a + arena.UNKNOWN] + i]
        if ints[joints + root] == ANCHOR:
            # ... and it turns the velocity v of a base with its spin w, an acceleration of w x v
            # that what hangs on it feels (measured: 1 m/s and 1 rad/s tilt a pendulum by 0.1 rad).
            t = ints[states + root] + 7
            vx, vy, vz = floats[t], floats[t + 1], floats[t + 2]
            wx, wy, wz = floats[t + 3], floats[t + 4], floats[t + 5]
            if wx != 0.0 or wy != 0.0 or wz != 0.0:
                work[scratch], work[scratch + 1], work[scratch + 2] = 0.0, 0.0, 0.0
                work[scratch + 3] = wy * vz - wz * vy
                work[scratch + 4] = wz * vx - wx * vz
                work[scratch + 5] = wx * vy - wy * vx
                composite_wrench(work, h, scratch, scratch + 6)
                total = 0.0
                for k in range(6):
                    total += work[s + k] * work[scratch + 6 + k]
                work[handed + i] += total


@kernel
def _anchor_inertia(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    a: int,
    i: int,
    root: int,
    states: int,
    scratch: int,
) -> float:
    """What the acceleration of an anchor asks of the ``i``-th degree of freedom."""
    t = ints[states + root] + 13
    still = True
    for k in range(6):
        if floats[t + k] != 0.0:
            still = False
    if still:
        return 0.0
    p = ints[a + arena.POSE] + POSE_SIZE * root + POSE_COM
    bx, by, bz = floats[t + 3], floats[t + 4], floats[t + 5]
    work[scratch], work[scratch + 1], work[scratch + 2] = bx, by, bz
    work[scratch + 3] = floats[t] - (by * work[p + 2] - bz * work[p + 1])
    work[scratch + 4] = floats[t + 1] - (bz * work[p] - bx * work[p + 2])
    work[scratch + 5] = floats[t + 2] - (bx * work[p + 1] - by * work[p])
    frame = ints[ints[a + arena.DOF_FRAME] + i]
    composite_wrench(work, ints[a + arena.COMPOSITE] + 10 * frame, scratch, scratch + 6)
    total, s = 0.0, ints[a + arena.AXIS] + 6 * i
    for k in range(6):
        total += work[s + k] * work[scratch + 6 + k]
    return total
