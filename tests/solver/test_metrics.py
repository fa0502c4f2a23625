"""Joint limit metrics against the specs' appendix, their directions against differences."""

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.planning.joints.rows import RowMetric
from gltf_bullet.solver.metrics import LINEAR_METRICS, MetricRows, measure_rows
from gltf_bullet.transforms import (
    matrices_from_quats,
    quat_conjugate,
    quat_from_rotation_vector,
    quat_multiply,
)

RNG = np.random.default_rng(5)


def random_quat() -> np.ndarray:
    q = RNG.normal(size=4)
    return q / np.linalg.norm(q)


def measure(metric: RowMetric, axis: int, a, b) -> tuple[float, np.ndarray]:
    rows = MetricRows(metrics=(metric,), axes=np.array([axis]), about=np.array([2]))
    values, directions = measure_rows(rows, *(np.array([x]) for x in (*a, *b)))
    return float(values[0]), directions[0]


def frames(scale: float = 1.0):
    a = (RNG.normal(size=3), random_quat())
    turn = quat_from_rotation_vector(RNG.normal(size=3) * 0.5 * scale)
    b = (a[0] + RNG.normal(size=3), quat_multiply(a[1], turn))
    return a, b


def moved(metric: RowMetric, b, step: np.ndarray):
    if metric in LINEAR_METRICS:
        return (b[0] + step, b[1])
    return (b[0], quat_multiply(quat_from_rotation_vector(step), b[1]))


def test_values_are_those_of_the_appendix() -> None:
    a, b = frames()
    ra, rb = matrices_from_quats(a[1]), matrices_from_quats(b[1])
    t = b[0] - a[0]
    q = quat_multiply(quat_conjugate(a[1]), b[1])
    e = ra[:, 1]
    assert measure(RowMetric.OFFSET, 1, a, b)[0] == pytest.approx(e @ t)
    assert measure(RowMetric.LINE, 1, a, b)[0] == pytest.approx(np.linalg.norm(t - (e @ t) * e))
    assert measure(RowMetric.POINT, 0, a, b)[0] == pytest.approx(np.linalg.norm(t))
    assert measure(RowMetric.CONE, 1, a, b)[0] == pytest.approx(np.arccos(e @ rb[:, 1]))
    assert measure(RowMetric.ANGLE, 0, a, b)[0] == pytest.approx(2 * np.arccos(abs(q[3])))
    twist = np.array([0.0, q[1], 0.0, q[3]]) / np.hypot(q[1], q[3])
    assert abs(measure(RowMetric.TWIST, 1, a, b)[0]) == pytest.approx(2 * np.arccos(abs(twist[3])))


@pytest.mark.parametrize(
    "metric",
    [
        RowMetric.OFFSET,
        RowMetric.LINE,
        RowMetric.POINT,
        RowMetric.CONE,
        RowMetric.ANGLE,
        RowMetric.TWIST,
    ],
)
def test_direction_is_the_rate_of_the_value(metric: RowMetric) -> None:
    h = 1e-6
    for _ in range(5):
        a, b = frames()
        velocity = RNG.normal(size=3)
        ahead = measure(metric, 1, a, moved(metric, b, h * velocity))[0]
        behind = measure(metric, 1, a, moved(metric, b, -h * velocity))[0]
        rate = (ahead - behind) / (2 * h)
        assert measure(metric, 1, a, b)[1] @ velocity == pytest.approx(rate, abs=1e-6)


@pytest.mark.parametrize("metric", list(RowMetric))
def test_coincident_frames_give_finite_numbers(metric: RowMetric) -> None:
    a = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    if metric is RowMetric.COORDINATE:
        return
    value, direction = measure(metric, 1, a, a)
    assert value == pytest.approx(0.0)
    assert np.isfinite(direction).all()
