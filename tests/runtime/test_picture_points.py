"""Points of the world and camera matrices that belong to a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.scene import OrthographicLens

ASSETS = Path(__file__).parents[2] / "examples" / "assets"


@pytest.fixture
def scene() -> Iterator[gb.Scene]:
    with headless_world() as client:
        path, options = ASSETS / "falling_box.gltf", gb.LoadOptions(visuals="collider")
        scene = gb.load_gltf(path, client, options=options)
        scene.bodies["Crate"].orientation = (0.0, 0.0, 0.0, 1.0)  # a cube of a metre
        yield scene


def straight_down(height: float) -> gb.Camera:
    return gb.Camera.looking((0.1, 0.2, height), (0.1, 0.2, 0.0), up=(0.0, 1.0, 0.0))


def test_points_lie_on_what_is_seen(scene: gb.Scene) -> None:
    body = scene.bodies["Crate"]
    picture = scene.render(straight_down(8.0), (61, 41))
    points = picture.points()
    top = points[picture.segmentation == body.node]
    assert len(top) > 50
    assert top[:, 2] == pytest.approx(body.position[2] + 0.5, abs=0.02)
    assert np.isnan(points[~np.isfinite(picture.depth)]).all()


def test_intrinsics_lead_from_points_back_to_their_pixels(scene: gb.Scene) -> None:
    picture = scene.render(straight_down(8.0), (61, 41))
    assert picture.camera is not None
    seen = np.isfinite(picture.depth)
    points = picture.points()[seen]
    world_from_camera = picture.camera.world_from_camera
    local = (points - world_from_camera[:3, 3]) @ world_from_camera[:3, :3]
    right_down_away = local * [1.0, -1.0, -1.0]
    assert right_down_away[:, 2] == pytest.approx(picture.depth[seen], rel=1e-6)
    found = right_down_away @ picture.intrinsics.T
    rows, columns = np.nonzero(seen)
    assert found[:, 0] / found[:, 2] == pytest.approx(columns, abs=1e-3)
    assert found[:, 1] / found[:, 2] == pytest.approx(rows, abs=1e-3)


def test_intrinsics_follow_from_the_field_of_view(scene: gb.Scene) -> None:
    camera = gb.Camera.looking((0, -8, 1), (0, 0, 1), vertical_field_of_view_deg=90.0)
    picture = scene.render(camera, (80, 40))
    # tan(45 degrees) is 1: half the height in focal lengths.
    expected = [[20.0, 0.0, 39.5], [0.0, 20.0, 19.5], [0.0, 0.0, 1.0]]
    assert picture.intrinsics == pytest.approx(np.array(expected), abs=1e-9)


def test_an_orthographic_picture_has_points_as_well(scene: gb.Scene) -> None:
    lens = OrthographicLens(half_width=2.0, half_height=1.0, near=0.1, far=20.0)
    pose = straight_down(8.0).world_from_camera
    picture = scene.render(gb.Camera(world_from_camera=pose, lens=lens), (80, 40))
    assert picture.intrinsics[0] == pytest.approx([20.0, 0.0, 39.5])
    body = scene.bodies["Crate"]
    top = picture.points()[picture.segmentation == body.node]
    assert top[:, 2] == pytest.approx(body.position[2] + 0.5, abs=0.02)
    # A pixel is 5 cm wide: the crate's edges are found within one.
    assert [top[:, 0].min(), top[:, 0].max()] == pytest.approx([-0.5, 0.5], abs=0.051)


def test_a_picture_that_nobody_took_has_no_points() -> None:
    picture = gb.Picture(rgb=np.zeros((2, 2, 3), np.uint8), depth=np.ones((2, 2), np.float32),
                         segmentation=np.zeros((2, 2), np.int32))  # fmt: skip
    with pytest.raises(ValueError, match="no camera"):
        picture.points()
