"""Arcs, ranges and cones end exactly where the limits do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gltf_bullet.model import DofKind, DriveMode, JointDrive, JointLimit
from gltf_bullet.transforms import matrices_from_quats, quat_from_rotation_vector
from gltf_bullet.viewer.layers import (
    drive_segments,
    frame_segments,
    limit_segments,
    pointer_segments,
)

SIZE = 0.5
REACH = 10.0


def limit(
    kind: DofKind, axes: tuple[int, ...], low: float = -math.inf, high: float = math.inf
) -> JointLimit:
    return JointLimit(kind=kind, axes=axes, minimum=low, maximum=high)


def drive(kind: DofKind, axis: int, stiffness: float = 1.0, damping: float = 1.0) -> JointDrive:
    return JointDrive(
        kind=kind, axis=axis, mode=DriveMode.FORCE, stiffness=stiffness, damping=damping
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("low", "high"), [(-0.4, 1.2), (0.3, 0.9), (-math.inf, 0.5)])
def test_a_hinge_is_an_arc_between_its_limits(axis: int, low: float, high: float) -> None:
    lines = limit_segments(limit(DofKind.ANGULAR, (axis,), low, high), SIZE, REACH)
    rim = lines[:-2]  # the last two lead from the centre to both ends
    assert not lines[:, :, axis].any()
    np.testing.assert_allclose(np.linalg.norm(rim, axis=2), SIZE)
    # Turning the reference axis by the coordinate gives the point on the arc (right-handed).
    unit = np.eye(3)
    for place, angle in ((rim[0, 0], max(low, -math.pi)), (rim[-1, 1], high)):
        turn = matrices_from_quats(quat_from_rotation_vector(angle * unit[axis]))
        np.testing.assert_allclose(place, SIZE * turn @ unit[(axis + 1) % 3], atol=1e-12)
    np.testing.assert_allclose(lines[-2:, 1], [rim[0, 0], rim[-1, 1]], atol=1e-12)


@pytest.mark.parametrize("pole", [0, 1, 2])
def test_a_cone_opens_by_the_limit_angle(pole: int) -> None:
    axes = tuple(k for k in range(3) if k != pole)
    lines = limit_segments(limit(DofKind.ANGULAR, axes, 0.0, 0.6), SIZE, REACH)
    ends = lines.reshape(-1, 3)
    outer = ends[np.linalg.norm(ends, axis=1) > 1e-9]
    np.testing.assert_allclose(np.linalg.norm(outer, axis=1), SIZE)
    np.testing.assert_allclose(np.arccos(outer[:, pole] / SIZE), 0.6)


def test_a_cone_with_a_hole_has_two_rims() -> None:
    lines = limit_segments(limit(DofKind.ANGULAR, (0, 1), 0.2, 0.6), SIZE, REACH)
    ends = lines.reshape(-1, 3)
    outer = ends[np.linalg.norm(ends, axis=1) > 1e-9]
    angles = np.arccos(outer[:, 2] / SIZE)
    assert set(angles.round(6)) == {0.2, 0.6}


def test_a_slide_is_a_line_with_marks_at_its_ends() -> None:
    lines = limit_segments(limit(DofKind.LINEAR, (1,), -0.2, 1.5), SIZE, REACH)
    np.testing.assert_allclose(lines[0], [[0, -0.2, 0], [0, 1.5, 0]])
    assert len(lines) == 1 + 2 * 2
    np.testing.assert_allclose(lines[1:3].mean(axis=1), [[0, -0.2, 0]] * 2)
    np.testing.assert_allclose(lines[3:5].mean(axis=1), [[0, 1.5, 0]] * 2)
    assert not (lines[1:, 1] - lines[1:, 0])[:, 1].any()


def test_a_slide_without_a_bound_ends_at_the_reach_and_without_a_mark() -> None:
    lines = limit_segments(limit(DofKind.LINEAR, (0,), -math.inf, 1.0), SIZE, REACH)
    np.testing.assert_allclose(lines[0], [[-REACH, 0, 0], [1.0, 0, 0]])
    assert len(lines) == 1 + 2


def test_radial_limits_are_circles_of_their_radius() -> None:
    ring = limit_segments(limit(DofKind.LINEAR, (0, 2), 0.0, 0.8), SIZE, REACH)
    assert not ring[:, :, 1].any()
    np.testing.assert_allclose(np.linalg.norm(ring, axis=2), 0.8)
    rope = limit_segments(limit(DofKind.LINEAR, (0, 1, 2), 0.3, 0.8), SIZE, REACH)
    assert set(np.linalg.norm(rope, axis=2).round(9).ravel()) == {0.3, 0.8}
    assert len(rope) == 2 * 3 * len(ring)


@pytest.mark.parametrize("kind", list(DofKind))
def test_what_is_locked_or_free_draws_nothing(kind: DofKind) -> None:
    for axes in ((0,), (0, 1), (0, 1, 2)):
        assert not len(limit_segments(limit(kind, axes, 0.0, 0.0), SIZE, REACH))
        assert not len(limit_segments(limit(kind, axes), SIZE, REACH))


def test_a_drive_marks_its_target() -> None:
    slide = drive_segments(drive(DofKind.LINEAR, 2), 0.7, 0.0, SIZE)
    np.testing.assert_allclose(slide.mean(axis=(0, 1)), [0, 0, 0.7])
    turn = drive_segments(drive(DofKind.ANGULAR, 2), 0.7, 0.0, SIZE)
    assert len(turn) == 1
    assert math.atan2(turn[0, 1, 1], turn[0, 1, 0]) == pytest.approx(0.7)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_motor_shows_its_direction(sign: float) -> None:
    slide = drive_segments(drive(DofKind.LINEAR, 1, stiffness=0.0), 0.0, sign * 3.0, SIZE)
    np.testing.assert_allclose(slide[0], [[0, 0, 0], [0, sign * SIZE, 0]])
    turn = drive_segments(drive(DofKind.ANGULAR, 2, stiffness=0.0), 0.0, sign * 3.0, SIZE)
    assert math.atan2(turn[0, 1, 1], turn[0, 1, 0]) * sign > 0.0
    assert not len(drive_segments(drive(DofKind.LINEAR, 1, stiffness=0.0), 0.5, 0.0, SIZE))


def test_the_pointer_of_b_meets_the_arc_at_the_coordinate() -> None:
    limits = (limit(DofKind.ANGULAR, (1,), -1.0, 1.0), limit(DofKind.LINEAR, (0,), 0, 1))
    pointers = pointer_segments(limits, SIZE)
    assert len(pointers) == 1
    # b is turned by the lower limit: its pointer is where the arc begins.
    turn = matrices_from_quats(quat_from_rotation_vector(np.array([0.0, -1.0, 0.0])))
    arc = limit_segments(limits[0], SIZE, REACH)
    np.testing.assert_allclose(pointers[0, 1] @ turn.T, arc[0, 0], atol=1e-12)


def test_the_pointer_of_a_cone_is_its_pole_and_locks_have_none() -> None:
    cone = limit(DofKind.ANGULAR, (0, 2), 0.0, 0.5)
    locked = limit(DofKind.ANGULAR, (1,), 0.0, 0.0)
    np.testing.assert_allclose(pointer_segments((cone, locked), SIZE), [[[0, 0, 0], [0, SIZE, 0]]])


def test_a_frame_is_three_axes() -> None:
    np.testing.assert_allclose(frame_segments(2.0)[:, 1], 2.0 * np.eye(3))
