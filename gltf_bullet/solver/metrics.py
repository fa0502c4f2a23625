"""The numbers that limits and drives watch, and the directions in which they grow.

Pure numpy; the appendix "Joint Limit Metrics" of KHR_physics_rigid_bodies, extended by the
components that springs on balls need. m rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.planning.joints.rows import RowMetric
from gltf_bullet.solver.dynamics import cross
from gltf_bullet.transforms import (
    FloatArray,
    matrices_from_quats,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    rotation_vector_from_quat,
)

__all__ = ["LINEAR_METRICS", "MetricRows", "measure_rows"]

LINEAR_METRICS = frozenset({RowMetric.OFFSET, RowMetric.LINE, RowMetric.POINT})

_TINY = 1e-9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MetricRows:
    """Which metric, about which axis, for each row."""

    metrics: tuple[RowMetric, ...]
    axes: npt.NDArray[np.intp]
    """[m], the watched axis (the remaining one for LINE and CONE)."""
    about: npt.NDArray[np.intp]
    """[m], the tilting axis of SWING."""


def measure_rows(
    rows: MetricRows,
    a_position: FloatArray,
    a_xyzw: FloatArray,
    b_position: FloatArray,
    b_xyzw: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Values [m] and directions [m, 3] in world axes.

    The rate of a value is ``direction . v``: v is the angular velocity of b relative to a, or for
    LINEAR_METRICS the velocity of b's origin relative to the point of a that coincides with it.
    """
    count = len(rows.metrics)
    values = np.zeros(count)
    directions = np.zeros((count, 3))
    relative = quat_multiply(quat_conjugate(a_xyzw), b_xyzw)
    offset = quat_rotate(quat_conjugate(a_xyzw), b_position - a_position)
    unit = np.eye(3)
    for k, metric in enumerate(rows.metrics):
        axis = int(rows.axes[k])
        if metric is RowMetric.OFFSET:
            values[k], directions[k] = offset[k, axis], unit[axis]
        elif metric is RowMetric.LINE:
            values[k], directions[k] = _length(offset[k] * (1.0 - unit[axis]), axis)
        elif metric is RowMetric.POINT:
            values[k], directions[k] = _length(offset[k], 0)
        elif metric is RowMetric.TWIST:
            values[k], directions[k] = _twist(relative[k], axis)
        elif metric is RowMetric.ROTATION:
            values[k] = rotation_vector_from_quat(relative[k])[axis]
            directions[k] = unit[axis]
        elif metric is RowMetric.ANGLE:
            vector = rotation_vector_from_quat(relative[k])
            values[k], directions[k] = _length(vector, 0)
        else:
            pole = axis if metric is RowMetric.CONE else int(rows.about[k])
            swing = _swing(relative[k], pole)
            if metric is RowMetric.CONE:
                values[k], directions[k] = _length(swing, pole)
            else:
                values[k], directions[k] = swing[axis], unit[axis]
    return values, quat_rotate(a_xyzw, directions)


def _length(vector: FloatArray, spare_axis: int) -> tuple[float, FloatArray]:
    """Length and unit vector; any direction across ``spare_axis`` where the length is 0."""
    length = float(np.sqrt(vector @ vector))
    if length > _TINY:
        return length, vector / length
    direction = np.zeros(3)
    direction[(spare_axis + 1) % 3] = 1.0
    return length, direction


def _swing(relative_xyzw: FloatArray, pole: int) -> FloatArray:
    """Rotation vector that tilts axis ``pole`` of a onto axis ``pole`` of b, in a's axes."""
    tilted = matrices_from_quats(relative_xyzw)[:, pole]
    unit = np.eye(3)[pole]
    normal = cross(unit, tilted)
    sine = float(np.sqrt(normal @ normal))
    angle = float(np.arctan2(sine, tilted[pole]))
    if sine > _TINY:
        result: FloatArray = normal * (angle / sine)
        return result
    fallback = np.zeros(3)
    fallback[(pole + 1) % 3] = angle
    return fallback


def _twist(q: FloatArray, axis: int) -> tuple[float, FloatArray]:
    """Twist angle about a basis axis and its exact gradient; both flip sign safely with q."""
    u, w, t = q[:3], float(q[3]), float(q[axis])
    square = w * w + t * t
    if square < _TINY:
        return 0.0, np.eye(3)[axis]
    angle = float(np.remainder(2.0 * np.arctan2(t, w) + np.pi, 2.0 * np.pi) - np.pi)
    unit = np.eye(3)[axis]
    gradient: FloatArray = (w * w * unit + w * cross(u, unit) + t * u) / square
    return angle, gradient
