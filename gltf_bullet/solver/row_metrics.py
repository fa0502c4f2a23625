"""The numbers that limits and drives watch, and the directions in which they grow.

The appendix "Joint Limit Metrics" of KHR_physics_rigid_bodies, extended by the components that
springs on balls need.
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import (
    ANCHOR,
    ANGLE,
    CONE,
    LINE,
    OFFSET,
    POINT,
    POSE,
    ROTATION,
    SWING,
    TWIST_ANGLE,
    Articulation,
)
from gltf_bullet.solver.cholesky import forward_dense
from gltf_bullet.solver.tree_kinematics import multiply, rotation_from_quat
from gltf_bullet.transforms import FloatArray, IntArray

TINY = 1e-9
"""[m, rad] Shorter vectors have no direction of their own."""


@kernel
def quat_from_rotation(work: FloatArray, m: int, q: int) -> None:
    """Quaternion xyzw with w >= 0 at ``work[q]`` of the matrix at ``work[m]`` (Shepperd)."""
    m00, m11, m22 = work[m], work[m + 4], work[m + 8]
    x2, y2 = 1.0 + m00 - m11 - m22, 1.0 - m00 + m11 - m22
    z2, w2 = 1.0 - m00 - m11 + m22, 1.0 + m00 + m11 + m22
    a, b, c = work[m + 7] - work[m + 5], work[m + 2] - work[m + 6], work[m + 3] - work[m + 1]
    d, e, f = work[m + 3] + work[m + 1], work[m + 2] + work[m + 6], work[m + 7] + work[m + 5]
    if x2 >= y2 and x2 >= z2 and x2 >= w2:
        x, y, z, w = x2, d, e, a
    elif y2 >= z2 and y2 >= w2:
        x, y, z, w = d, y2, f, b
    elif z2 >= w2:
        x, y, z, w = e, f, z2, c
    else:
        x, y, z, w = a, b, c, w2
    scale = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    if w < 0.0:
        scale = -scale
    work[q], work[q + 1], work[q + 2], work[q + 3] = x * scale, y * scale, z * scale, w * scale


@kernel
def is_length(metric: int) -> bool:
    """Tell whether a metric is in metres; all others are angles."""
    return metric == OFFSET or metric == LINE or metric == POINT


@kernel
def measure(
    metric: int, axis: int, about: int, offset: FloatArray, o: int, m: int, d: int
) -> float:
    """Value of one metric; its direction [3] in a's axes goes to ``offset[d]``.

    The rate of a value is ``direction . v``: v is the angular velocity of b relative to a, or for
    OFFSET, LINE and POINT the velocity of b's origin relative to the point of a at the same place.

    Args:
        metric: One of those of ``articulation_arrays``.
        axis: Watched one; the remaining one for LINE and CONE.
        about: Tilting axis of SWING.
        offset: Array of numbers.
        o: Where b's origin in a [3] stands.
        m: Where the rotation of b in a [3, 3] stands.
        d: Where the direction goes; four more places after it are scratch.
    """
    for k in range(3):
        offset[d + k] = 0.0
    if metric == OFFSET:
        offset[d + axis] = 1.0
        return float(offset[o + axis])
    if metric == LINE or metric == POINT:
        spare = axis if metric == LINE else 0
        for k in range(3):
            if metric == POINT or k != axis:
                offset[d + k] = offset[o + k]
        return _length(offset, d, spare)
    if metric == CONE or metric == SWING:
        pole = axis if metric == CONE else about
        # The vector that tilts axis ``pole`` of a onto that of b: unit x tilted.
        p, q = (pole + 1) % 3, (pole + 2) % 3
        up, uq, along = offset[m + 3 * p + pole], offset[m + 3 * q + pole], offset[m + 4 * pole]
        sine = math.sqrt(up * up + uq * uq)
        angle = math.atan2(sine, along)
        if sine > TINY:
            offset[d + p], offset[d + q] = -uq * angle / sine, up * angle / sine
        else:
            offset[d + p], offset[d + q] = angle, 0.0
        if metric == CONE:
            return _length(offset, d, pole)
        value = offset[d + axis]
        for k in range(3):
            offset[d + k] = 1.0 if k == axis else 0.0
        return float(value)
    quat_from_rotation(offset, m, d + 3)
    x, y, z, w = offset[d + 3], offset[d + 4], offset[d + 5], offset[d + 6]
    if metric == TWIST_ANGLE:
        return _twist(x, y, z, w, axis, offset, d)
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    if metric == ROTATION:
        offset[d + axis] = 1.0
        return float(factor * (x if axis == 0 else (y if axis == 1 else z)))
    offset[d], offset[d + 1], offset[d + 2] = factor * x, factor * y, factor * z
    return _length(offset, d, 0)


@kernel
def _length(values: FloatArray, d: int, spare: int) -> float:
    """Length of a vector, which becomes a unit vector; any across ``spare`` where it is 0."""
    x, y, z = values[d], values[d + 1], values[d + 2]
    length = math.sqrt(x * x + y * y + z * z)
    for k in range(3):
        if length > TINY:
            values[d + k] /= length
        else:
            values[d + k] = 1.0 if k == (spare + 1) % 3 else 0.0
    return length


@kernel
def _twist(x: float, y: float, z: float, w: float, axis: int, values: FloatArray, d: int) -> float:
    """Twist angle about a basis axis and its exact gradient; both flip sign safely with q."""
    t = x if axis == 0 else (y if axis == 1 else z)
    square = w * w + t * t
    if square < TINY:
        values[d + axis] = 1.0
        return 0.0
    # w (w e + u x e) + t u, over the square
    p, q = (axis + 1) % 3, (axis + 2) % 3
    up = y if axis == 0 else (z if axis == 1 else x)
    uq = z if axis == 0 else (x if axis == 1 else y)
    values[d + axis] = 1.0
    values[d + p] = (w * uq + t * up) / square
    values[d + q] = (-w * up + t * uq) / square
    angle = 2.0 * math.atan2(t, w)
    if angle > math.pi:
        angle -= 2.0 * math.pi
    elif angle < -math.pi:
        angle += 2.0 * math.pi
    return angle


@kernel
def attach(
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    frame: int,
    local: int,
    out: int,
) -> None:
    """Position [3], then rotation [3, 3] at ``work[out]`` of an attachment frame."""
    pose = articulation.pose + POSE.size * frame
    rotation = pose + POSE.rotation
    for k in range(3):
        work[out + k] = (
            work[pose + POSE.origin + k]
            + work[rotation + 3 * k] * floats[local]
            + work[rotation + 3 * k + 1] * floats[local + 1]
            + work[rotation + 3 * k + 2] * floats[local + 2]
        )
    rotation_from_quat(floats, local + 3, work, out + 12)
    multiply(work, rotation, work, out + 12, work, out + 3)


@kernel
def relate_frames(work: FloatArray, first: int, second: int, out: int) -> None:
    """Position [3] and rotation [3, 3] of one frame in another; as :func:`attach` yields them."""
    for i in range(3):
        total = 0.0
        for k in range(3):
            total += work[first + 3 + 3 * k + i] * (work[second + k] - work[first + k])
        work[out + i] = total
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += work[first + 3 + 3 * k + i] * work[second + 3 + 3 * k + j]
            work[out + 3 + 3 * i + j] = total


@kernel
def add_path(
    ints: IntArray,
    work: FloatArray,
    articulation: Articulation,
    frame: int,
    wrench: int,
    sign: float,
    row: int,
) -> None:
    """Add what a frame's motion in a direction takes of each velocity: a part of a row [n]."""
    parents, axes = articulation.dof_parent, articulation.axis
    i = ints[articulation.frame_last_dof + frame]
    while i >= 0:
        s, total = axes + 6 * i, 0.0
        for k in range(6):
            total += work[s + k] * work[wrench + k]
        work[row + i] += sign * total
        i = ints[parents + i]


@kernel
def prescribed_rate(
    ints: IntArray, work: FloatArray, articulation: Articulation, frame: int, wrench: int
) -> float:
    """Rate that a frame has in a direction by its anchor's motion alone."""
    root = ints[articulation.frame_root + frame]
    if ints[articulation.frame_joint + root] != ANCHOR:
        return 0.0
    twist, total = articulation.twist + 6 * root, 0.0
    for k in range(6):
        total += work[twist + k] * work[wrench + k]
    return total


@kernel
def measure_rows(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> None:
    """Values, velocity rows and rates of all limits, drives and loop constraints."""
    n, rows = articulation.dof_count, articulation.row_count
    jacobian, values = articulation.row_jacobian, articulation.row_value
    rates, drifts = articulation.row_rate, articulation.row_drift
    velocity, scratch = articulation.velocity, articulation.scratch
    frame_a, frame_b, relative = scratch, scratch + 24, scratch + 48
    wrench = scratch + 72
    for r in range(rows):
        row = jacobian + n * r
        for k in range(n):
            work[row + k] = 0.0
        dof = ints[articulation.row_dof + r]
        if dof >= 0:
            work[row + dof] = 1.0
            state = ints[articulation.frame_state + ints[articulation.dof_frame + dof]]
            work[values + r] = floats[state]
            work[rates + r] = work[velocity + dof]
            work[drifts + r] = 0.0
            continue
        first = ints[articulation.row_frame_a + r]
        second = ints[articulation.row_frame_b + r]
        attach(floats, work, articulation, first, articulation.row_local_a + 7 * r, frame_a)
        attach(floats, work, articulation, second, articulation.row_local_b + 7 * r, frame_b)
        relate_frames(work, frame_a, frame_b, relative)
        metric = ints[articulation.row_metric + r]
        work[values + r] = measure(
            metric,
            ints[articulation.row_axis + r],
            ints[articulation.row_tilt_axis + r],
            work,
            relative,
            relative + 3,
            relative + 12,
        )
        for k in range(3):
            work[wrench + 6 + k] = (
                work[frame_a + 3 + 3 * k] * work[relative + 12]
                + work[frame_a + 4 + 3 * k] * work[relative + 13]
                + work[frame_a + 5 + 3 * k] * work[relative + 14]
            )
        if work[values + r] <= TINY and (
            metric == LINE or metric == POINT or metric == CONE or metric == ANGLE
        ):
            axis = -1
            if metric == LINE or metric == CONE:
                axis = ints[articulation.row_axis + r]
            _aim_along_motion(work, articulation, first, second, is_length(metric), axis, scratch)
        _direct(work, wrench, wrench + 6, frame_b, is_length(metric))
        _relate(ints, work, articulation, first, second, wrench, r)
    measure_closures(ints, floats, work, articulation)


@kernel
def _aim_along_motion(
    work: FloatArray,
    articulation: Articulation,
    first: int,
    second: int,
    is_linear: bool,
    axis: int,
    scratch: int,
) -> None:
    """Let a length that is 0 grow to where the frames go: it has no direction of its own.

    With any other one a joint left a limit of 0.1 rad by 10 degrees in one step.
    """
    twist, point, aim = articulation.twist, scratch + 24, scratch + 78
    u, v = twist + 6 * second, twist + 6 * first
    wx, wy, wz = work[u] - work[v], work[u + 1] - work[v + 1], work[u + 2] - work[v + 2]
    x, y, z = wx, wy, wz
    if is_linear:
        px, py, pz = work[point], work[point + 1], work[point + 2]
        x = work[u + 3] - work[v + 3] + wy * pz - wz * py
        y = work[u + 4] - work[v + 4] + wz * px - wx * pz
        z = work[u + 5] - work[v + 5] + wx * py - wy * px
    if axis >= 0:
        # What a line or a cone lets free: a column of frame a's rotation.
        c = scratch + 3 + axis
        along = x * work[c] + y * work[c + 3] + z * work[c + 6]
        x, y, z = x - along * work[c], y - along * work[c + 3], z - along * work[c + 6]
    speed = math.sqrt(x * x + y * y + z * z)
    if speed > TINY:
        work[aim], work[aim + 1], work[aim + 2] = x / speed, y / speed, z / speed


@kernel
def _direct(work: FloatArray, wrench: int, direction: int, point: int, is_linear: bool) -> None:
    """The spatial force along (or about) a direction, at a point."""
    x, y, z = work[direction], work[direction + 1], work[direction + 2]
    if not is_linear:
        work[wrench], work[wrench + 1], work[wrench + 2] = x, y, z
        work[wrench + 3], work[wrench + 4], work[wrench + 5] = 0.0, 0.0, 0.0
        return
    px, py, pz = work[point], work[point + 1], work[point + 2]
    work[wrench] = py * z - pz * y
    work[wrench + 1] = pz * x - px * z
    work[wrench + 2] = px * y - py * x
    work[wrench + 3], work[wrench + 4], work[wrench + 5] = x, y, z


@kernel
def _relate(
    ints: IntArray,
    work: FloatArray,
    articulation: Articulation,
    first: int,
    second: int,
    wrench: int,
    r: int,
) -> None:
    """The ``r``-th row: second frame relative to the first one, in one direction."""
    n = articulation.dof_count
    row, twist = articulation.row_jacobian + n * r, articulation.twist
    add_path(ints, work, articulation, second, wrench, 1.0, row)
    add_path(ints, work, articulation, first, wrench, -1.0, row)
    rate = 0.0
    for k in range(6):
        rate += work[wrench + k] * (work[twist + 6 * second + k] - work[twist + 6 * first + k])
    work[articulation.row_rate + r] = rate
    work[articulation.row_drift + r] = prescribed_rate(
        ints, work, articulation, second, wrench
    ) - prescribed_rate(ints, work, articulation, first, wrench)


@kernel
def measure_closures(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> None:
    """Rows of what engine constraints hold, after those of limits and drives, and their gaps."""
    n, r, scratch = articulation.dof_count, articulation.row_count, articulation.scratch
    frame_a, frame_b, wrench = scratch, scratch + 24, scratch + 72
    for c in range(articulation.closure_count):
        first = ints[articulation.closure_first + c]
        second = ints[articulation.closure_second + c]
        local = articulation.closure_local + 6 * c
        place_point(floats, work, articulation, first, local, frame_a)
        place_point(floats, work, articulation, second, local + 3, frame_b)
        for k in range(3):
            gap = work[frame_b + k] - work[frame_a + k]
            work[articulation.closure_gap + 3 * c + k] = gap
        for k in range(ints[articulation.closure_size + c]):
            row = articulation.row_jacobian + n * r
            for i in range(n):
                work[row + i] = 0.0
            for i in range(3):
                work[wrench + 6 + i] = 1.0 if i == k % 3 else 0.0
            _direct(work, wrench, wrench + 6, frame_b, k < 3)
            _relate(ints, work, articulation, first, second, wrench, r)
            r += 1


@kernel
def place_point(
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    frame: int,
    local: int,
    out: int,
) -> None:
    """Position [3] of a point fixed to a frame."""
    pose = articulation.pose + POSE.size * frame
    for k in range(3):
        work[out + k] = (
            work[pose + POSE.origin + k]
            + work[pose + POSE.rotation + 3 * k] * floats[local]
            + work[pose + POSE.rotation + 3 * k + 1] * floats[local + 1]
            + work[pose + POSE.rotation + 3 * k + 2] * floats[local + 2]
        )


@kernel
def fill_row_halves(work: FloatArray, articulation: Articulation, first: int) -> None:
    """Fill ``row_half`` in from a row on, by the present Jacobian and factor."""
    n = articulation.dof_count
    for r in range(first, articulation.total_rows):
        half, row = articulation.row_half + n * r, articulation.row_jacobian + n * r
        for k in range(n):
            work[half + k] = work[row + k]
        forward_dense(work, articulation.factor, n, half)
