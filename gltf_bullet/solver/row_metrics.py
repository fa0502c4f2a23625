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
from gltf_bullet.transforms import FloatArray

TINY = 1e-9
"""[m, rad] Shorter vectors have no direction of their own."""


@kernel
def quat_from_rotation(rotation: FloatArray, quat: FloatArray) -> None:
    """Quaternion xyzw with w >= 0 of a matrix [3, 3] (Shepperd)."""
    m00, m11, m22 = rotation[0], rotation[4], rotation[8]
    x2, y2 = 1.0 + m00 - m11 - m22, 1.0 - m00 + m11 - m22
    z2, w2 = 1.0 - m00 - m11 + m22, 1.0 + m00 + m11 + m22
    a, b, c = rotation[7] - rotation[5], rotation[2] - rotation[6], rotation[3] - rotation[1]
    d, e, f = rotation[3] + rotation[1], rotation[2] + rotation[6], rotation[7] + rotation[5]
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
    quat[0], quat[1], quat[2], quat[3] = x * scale, y * scale, z * scale, w * scale


@kernel
def is_length(metric: int) -> bool:
    """Tell whether a metric is in metres; all others are angles."""
    return metric == OFFSET or metric == LINE or metric == POINT


@kernel
def measure(
    metric: int,
    axis: int,
    about: int,
    origin: FloatArray,
    rotation: FloatArray,
    direction: FloatArray,
) -> float:
    """Value of one metric, and its direction in a's axes.

    The rate of a value is ``direction . v``: v is the angular velocity of b relative to a, or for
    OFFSET, LINE and POINT the velocity of b's origin relative to the point of a at the same place.

    Args:
        metric: One of those of ``articulation_arrays``.
        axis: Watched one; the remaining one for LINE and CONE.
        about: Tilting axis of SWING.
        origin: Of b in a, [3].
        rotation: Of b in a, [3, 3].
        direction: Receives it, [3]; the four numbers behind it are scratch.
    """
    for k in range(3):
        direction[k] = 0.0
    if metric == OFFSET:
        direction[axis] = 1.0
        return float(origin[axis])
    if metric == LINE or metric == POINT:
        spare = axis if metric == LINE else 0
        for k in range(3):
            if metric == POINT or k != axis:
                direction[k] = origin[k]
        return _length(direction, spare)
    if metric == CONE or metric == SWING:
        pole = axis if metric == CONE else about
        # The vector that tilts axis ``pole`` of a onto that of b: unit x tilted.
        p, q = (pole + 1) % 3, (pole + 2) % 3
        up, uq, along = rotation[3 * p + pole], rotation[3 * q + pole], rotation[4 * pole]
        sine = math.sqrt(up * up + uq * uq)
        angle = math.atan2(sine, along)
        if sine > TINY:
            direction[p], direction[q] = -uq * angle / sine, up * angle / sine
        else:
            direction[p], direction[q] = angle, 0.0
        if metric == CONE:
            return _length(direction, pole)
        value = direction[axis]
        for k in range(3):
            direction[k] = 1.0 if k == axis else 0.0
        return float(value)
    quat_from_rotation(rotation, direction[3:])
    x, y, z, w = direction[3], direction[4], direction[5], direction[6]
    if metric == TWIST_ANGLE:
        return _twist(x, y, z, w, axis, direction)
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    if metric == ROTATION:
        direction[axis] = 1.0
        return float(factor * (x if axis == 0 else (y if axis == 1 else z)))
    direction[0], direction[1], direction[2] = factor * x, factor * y, factor * z
    return _length(direction, 0)


@kernel
def _length(direction: FloatArray, spare: int) -> float:
    """Length of a vector, which becomes a unit vector; any across ``spare`` where it is 0."""
    x, y, z = direction[0], direction[1], direction[2]
    length = math.sqrt(x * x + y * y + z * z)
    for k in range(3):
        if length > TINY:
            direction[k] /= length
        else:
            direction[k] = 1.0 if k == (spare + 1) % 3 else 0.0
    return length


@kernel
def _twist(x: float, y: float, z: float, w: float, axis: int, direction: FloatArray) -> float:
    """Twist angle about a basis axis and its exact gradient; both flip sign safely with q."""
    t = x if axis == 0 else (y if axis == 1 else z)
    square = w * w + t * t
    if square < TINY:
        direction[axis] = 1.0
        return 0.0
    # w (w e + u x e) + t u, over the square
    p, q = (axis + 1) % 3, (axis + 2) % 3
    up = y if axis == 0 else (z if axis == 1 else x)
    uq = z if axis == 0 else (x if axis == 1 else y)
    direction[axis] = 1.0
    direction[p] = (w * uq + t * up) / square
    direction[q] = (-w * up + t * uq) / square
    angle = 2.0 * math.atan2(t, w)
    if angle > math.pi:
        angle -= 2.0 * math.pi
    elif angle < -math.pi:
        angle += 2.0 * math.pi
    return angle


@kernel
def attach(a: Articulation, frame: int, local: FloatArray, out: FloatArray) -> None:
    """Position [3], then rotation [3, 3] of an attachment frame, to ``out``."""
    pose = a.pose[frame]
    rotation = pose[POSE.rotation :]
    for k in range(3):
        out[k] = (
            pose[POSE.origin + k]
            + rotation[3 * k] * local[0]
            + rotation[3 * k + 1] * local[1]
            + rotation[3 * k + 2] * local[2]
        )
    rotation_from_quat(local[3:], out[12:])
    multiply(rotation, out[12:], out[3:])


@kernel
def relate_frames(first: FloatArray, second: FloatArray, out: FloatArray) -> None:
    """Position [3] and rotation [3, 3] of one frame in another; as :func:`attach` yields them."""
    for i in range(3):
        total = 0.0
        for k in range(3):
            total += first[3 + 3 * k + i] * (second[k] - first[k])
        out[i] = total
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += first[3 + 3 * k + i] * second[3 + 3 * k + j]
            out[3 + 3 * i + j] = total


@kernel
def add_path(a: Articulation, frame: int, wrench: FloatArray, sign: float, row: FloatArray) -> None:
    """Add what a frame's motion in a direction takes of each velocity: a part of a row [n]."""
    parents, axes = a.dof_parent, a.axis
    i = a.frame_last_dof[frame]
    while i >= 0:
        s, total = axes[i], 0.0
        for k in range(6):
            total += s[k] * wrench[k]
        row[i] += sign * total
        i = parents[i]


@kernel
def prescribed_rate(a: Articulation, frame: int, wrench: FloatArray) -> float:
    """Rate that a frame has in a direction by its anchor's motion alone."""
    root = a.frame_root[frame]
    if a.frame_joint[root] != ANCHOR:
        return 0.0
    twist, total = a.twist[root], 0.0
    for k in range(6):
        total += twist[k] * wrench[k]
    return total


@kernel
def measure_rows(a: Articulation) -> None:
    """Values, velocity rows and rates of all limits, drives and loop constraints.

    Sets ``row_value``, ``row_jacobian``, ``row_rate``, ``row_drift`` and ``closure_gap``, from
    ``state``, ``pose``, ``axis`` and ``twist``.
    """
    n, rows = a.dof_count, a.row_count
    jacobian, values = a.row_jacobian, a.row_value
    rates, drifts = a.row_rate, a.row_drift
    velocity, scratch = a.velocity, a.scratch
    frame_a, frame_b, relative = scratch, scratch[24:], scratch[48:]
    wrench = scratch[72:]
    for r in range(rows):
        row = jacobian[r]
        for k in range(n):
            row[k] = 0.0
        dof = a.row_dof[r]
        if dof >= 0:
            row[dof] = 1.0
            state = a.floats[a.frame_state[a.dof_frame[dof]] :]
            values[r] = state[0]
            rates[r] = velocity[dof]
            drifts[r] = 0.0
            continue
        first = a.row_frame_a[r]
        second = a.row_frame_b[r]
        attach(a, first, a.row_local_a[r], frame_a)
        attach(a, second, a.row_local_b[r], frame_b)
        relate_frames(frame_a, frame_b, relative)
        metric = a.row_metric[r]
        values[r] = measure(
            metric, a.row_axis[r], a.row_tilt_axis[r], relative, relative[3:], relative[12:]
        )
        for k in range(3):
            wrench[6 + k] = (
                frame_a[3 + 3 * k] * relative[12]
                + frame_a[4 + 3 * k] * relative[13]
                + frame_a[5 + 3 * k] * relative[14]
            )
        if values[r] <= TINY and (
            metric == LINE or metric == POINT or metric == CONE or metric == ANGLE
        ):
            axis = -1
            if metric == LINE or metric == CONE:
                axis = a.row_axis[r]
            _aim_along_motion(a, first, second, is_length(metric), axis, scratch)
        _direct(wrench, wrench[6:], frame_b, is_length(metric))
        _relate(a, first, second, wrench, r)
    measure_closures(a)


@kernel
def _aim_along_motion(
    a: Articulation, first: int, second: int, is_linear: bool, axis: int, scratch: FloatArray
) -> None:
    """Let a length that is 0 grow to where the frames go: it has no direction of its own.

    With any other one a joint left a limit of 0.1 rad by 10 degrees in one step.
    """
    twist, point, aim = a.twist, scratch[24:], scratch[78:]
    u, v = twist[second], twist[first]
    wx, wy, wz = u[0] - v[0], u[1] - v[1], u[2] - v[2]
    x, y, z = wx, wy, wz
    if is_linear:
        px, py, pz = point[0], point[1], point[2]
        x = u[3] - v[3] + wy * pz - wz * py
        y = u[4] - v[4] + wz * px - wx * pz
        z = u[5] - v[5] + wx * py - wy * px
    if axis >= 0:
        # What a line or a cone lets free: a column of frame a's rotation.
        c = scratch[3 + axis :]
        along = x * c[0] + y * c[3] + z * c[6]
        x, y, z = x - along * c[0], y - along * c[3], z - along * c[6]
    speed = math.sqrt(x * x + y * y + z * z)
    if speed > TINY:
        aim[0], aim[1], aim[2] = x / speed, y / speed, z / speed


@kernel
def _direct(wrench: FloatArray, direction: FloatArray, point: FloatArray, is_linear: bool) -> None:
    """The spatial force along (or about) a direction, at a point."""
    x, y, z = direction[0], direction[1], direction[2]
    if not is_linear:
        wrench[0], wrench[1], wrench[2] = x, y, z
        wrench[3], wrench[4], wrench[5] = 0.0, 0.0, 0.0
        return
    px, py, pz = point[0], point[1], point[2]
    wrench[0] = py * z - pz * y
    wrench[1] = pz * x - px * z
    wrench[2] = px * y - py * x
    wrench[3], wrench[4], wrench[5] = x, y, z


@kernel
def _relate(a: Articulation, first: int, second: int, wrench: FloatArray, r: int) -> None:
    """The ``r``-th row: second frame relative to the first one, in one direction."""
    row, twist = a.row_jacobian[r], a.twist
    add_path(a, second, wrench, 1.0, row)
    add_path(a, first, wrench, -1.0, row)
    rate = 0.0
    for k in range(6):
        rate += wrench[k] * (twist[second, k] - twist[first, k])
    a.row_rate[r] = rate
    a.row_drift[r] = prescribed_rate(a, second, wrench) - prescribed_rate(a, first, wrench)


@kernel
def measure_closures(a: Articulation) -> None:
    """Rows of what engine constraints hold, after those of limits and drives, and their gaps.

    Sets ``closure_gap``, and their part of ``row_jacobian``, ``row_rate`` and ``row_drift``.
    """
    n, r, scratch = a.dof_count, a.row_count, a.scratch
    frame_a, frame_b, wrench = scratch, scratch[24:], scratch[72:]
    for c in range(a.closure_count):
        first = a.closure_first[c]
        second = a.closure_second[c]
        local = a.closure_local[c]
        place_point(a, first, local, frame_a)
        place_point(a, second, local[3:], frame_b)
        for k in range(3):
            gap = frame_b[k] - frame_a[k]
            a.closure_gap[c, k] = gap
        for k in range(a.closure_size[c]):
            row = a.row_jacobian[r]
            for i in range(n):
                row[i] = 0.0
            for i in range(3):
                wrench[6 + i] = 1.0 if i == k % 3 else 0.0
            _direct(wrench, wrench[6:], frame_b, k < 3)
            _relate(a, first, second, wrench, r)
            r += 1


@kernel
def place_point(a: Articulation, frame: int, local: FloatArray, out: FloatArray) -> None:
    """Position [3] of a point fixed to a frame."""
    pose = a.pose[frame]
    for k in range(3):
        out[k] = (
            pose[POSE.origin + k]
            + pose[POSE.rotation + 3 * k] * local[0]
            + pose[POSE.rotation + 3 * k + 1] * local[1]
            + pose[POSE.rotation + 3 * k + 2] * local[2]
        )


@kernel
def fill_row_halves(a: Articulation, first: int) -> None:
    """Fill ``row_half`` in from a row on, by the present Jacobian and factor."""
    n = a.dof_count
    for r in range(first, a.total_rows):
        half, row = a.row_half[r], a.row_jacobian[r]
        for k in range(n):
            half[k] = row[k]
        forward_dense(a.factor, n, half)
