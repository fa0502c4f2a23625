"""What a framing camera sees, and that both renderers' matrices mean the same camera."""

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.rendering.camera import Camera, framing_camera, view_matrices
from gltf_bullet.scene import OrthographicLens, PerspectiveLens

NOTHING = np.zeros((0, 2, 3))


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> np.ndarray:
    return np.array([[low, high]], dtype=np.float64)


def corners_in_picture(camera: Camera, boxes: np.ndarray, aspect: float) -> np.ndarray:
    """Corners of boxes, -1 .. 1 across and upwards in the picture."""
    matrices = view_matrices(camera, aspect, 1e3, for_tiny_renderer=False)
    corners = [[x, y, z, 1] for b in boxes for x in b[:, 0] for y in b[:, 1] for z in b[:, 2]]
    clip = np.array(corners) @ (matrices.projection @ matrices.view).T
    return clip[:, :2] / clip[:, 3:]


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("up", [(0, 0, 1), (0, 1, 0), (1, 0, 0)])
def test_what_moves_is_seen_whole_and_fills_the_picture(
    aspect: float, up: tuple[float, float, float]
) -> None:
    moving = box((-1, -2, 3), (2, 1, 4))
    seen = corners_in_picture(framing_camera(moving, NOTHING, up, aspect), moving, aspect)
    assert np.abs(seen).max() <= 1.0
    assert np.abs(seen).max() > 0.8


def test_small_scenery_nearby_is_seen_whole_and_a_floor_in_part() -> None:
    moving, frame = box((0, 0, 0), (1, 1, 1)), box((-0.9, 0, 0), (0, 1, 1.8))
    floor = box((-50, -50, -1), (50, 50, 0))
    resting = np.concatenate([frame, floor])
    camera = framing_camera(moving, resting, (0, 0, 1), 1.5)
    assert np.abs(corners_in_picture(camera, frame, 1.5)).max() <= 1.0
    alone = framing_camera(moving, frame, (0, 0, 1), 1.5)
    distance = [np.linalg.norm(c.world_from_camera[:3, 3]) for c in (camera, alone)]
    assert distance[0] < 1.5 * distance[1]


@pytest.mark.parametrize("up", [(0, 0, 1), (0, 1, 0), (0, 0, -1)])
def test_a_floor_hardly_wider_than_what_moves_is_seen_in_part(up: tuple[int, int, int]) -> None:
    moving, thick = box((-1, -1, -1), (1, 1, 1)), np.abs(up)
    middle = -1.05 * np.array(up)
    half = 1.9 * (1 - thick) + 0.05 * thick
    floor = np.stack([middle - half, middle + half])[None]
    alone = framing_camera(moving, NOTHING, up, 1.5)
    camera = framing_camera(moving, floor, up, 1.5)
    assert np.allclose(camera.world_from_camera, alone.world_from_camera)


def test_planes_without_an_end_and_nothing_at_all_are_framed() -> None:
    endless = box((-1e30, -1e30, -1e30), (1e30, 1e30, 0))
    lost, broken = box((1e300, 0, 0), (1e300, 1, 1)), box((np.nan, 0, 0), (1, 1, 1))
    for resting in (NOTHING, endless, lost, broken):
        camera = framing_camera(NOTHING, resting, (0, 0, 1), 1.0)
        assert np.isfinite(camera.world_from_camera).all()


@pytest.mark.parametrize(
    "lens",
    [
        PerspectiveLens(vertical_field_of_view=1.0, near=0.1, far=50.0),
        PerspectiveLens(vertical_field_of_view=1.0, near=0.1),
        OrthographicLens(half_width=2.0, half_height=2.0, near=0.1, far=50.0),
    ],
)
def test_depth_values_of_opengl_become_metres(lens: PerspectiveLens | OrthographicLens) -> None:
    camera = Camera(world_from_camera=np.eye(4), lens=lens)
    matrices = view_matrices(camera, 1.0, 40.0, for_tiny_renderer=False)
    distances = np.array([0.2, 1.0, 7.0, 39.0])
    points = np.stack([0 * distances, 0 * distances, -distances, 1 + 0 * distances], axis=1)
    clip = points @ (matrices.projection @ matrices.view).T
    depth = 0.5 + 0.5 * clip[:, 2] / clip[:, 3]
    assert np.allclose(matrices.distances(depth), distances, rtol=1e-6)


@pytest.mark.parametrize(
    "lens",
    [
        PerspectiveLens(vertical_field_of_view=0.7, near=0.1),
        OrthographicLens(half_width=3.0, half_height=2.0, near=0.1, far=50.0),
    ],
)
def test_a_window_of_a_picture_shows_the_same_pixels(
    lens: PerspectiveLens | OrthographicLens,
) -> None:
    """A point at a row and column of the picture is at that place less the window's corner."""
    height, width = 200, 300
    camera = Camera(world_from_camera=np.eye(4), lens=lens)
    matrices = view_matrices(camera, width / height, 100.0, for_tiny_renderer=True)
    points = np.array([[0.3, 0.2, -5.0], [0.9, 0.5, -7.0], [0.4, 0.4, -6.0]])

    def places(projection: np.ndarray, tall: int, wide: int) -> np.ndarray:
        clip = np.c_[points, np.ones(3)] @ (projection @ matrices.view).T
        x, y = (clip[:, :2] / clip[:, 3:]).T
        return np.stack([0.5 * tall * (1.0 - y), 0.5 * wide * (1.0 + x)], axis=1)

    rows, columns = window = matrices.window_of(points, height, width)
    whole = places(matrices.projection, height, width)
    corner = np.array([rows.start, columns.start])
    size = np.array([rows.stop, columns.stop]) - corner
    part = places(matrices.of_window(window, height, width).projection, *size.tolist())
    assert part == pytest.approx(whole - corner)
    assert (part >= 1.0).all()
    assert (part <= size - 1).all()
    assert (size < np.ptp(whole, axis=0) + 6).all()


def test_the_window_of_what_reaches_behind_the_camera_is_the_picture() -> None:
    camera = Camera.looking((0, 0, 0), (1, 0, 0))
    matrices = view_matrices(camera, 1.5, 100.0, for_tiny_renderer=True)
    whole = (slice(0, 20), slice(0, 30))
    assert matrices.window_of(np.array([[5.0, 0, 0], [-1.0, 0, 0]]), 20, 30) == whole
    assert matrices.window_of(np.array([[5.0, 0, 0], [np.nan, 0, 0]]), 20, 30) == whole
    nowhere = (slice(0, 0), slice(0, 0))
    assert matrices.window_of(np.array([[5.0, 90, 0], [5.0, 91, 1]]), 20, 30) == nowhere
    assert matrices.window_of(np.zeros((0, 3)), 20, 30) == nowhere
