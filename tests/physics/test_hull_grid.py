"""Bullet rounds the corners of hulls: by half a step of its grid at most, and only once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest
from scipy.spatial import ConvexHull, cKDTree

from gltf_bullet.bullet.reading.world_reader import read_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.bullet.shapes.engine_shapes import OBJ_SCALE, in_obj, on_hull_grid, parts_obj
from gltf_bullet.convert.description import MeshShape
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.transforms import FloatArray

STEPS = 10216
"""Of each axis of a hull, in Bullet's source."""
SEEDS = range(12)


def stone(seed: int) -> FloatArray:
    """Corners of a hull somewhere; its size is one of five decades."""
    chance = np.random.default_rng(seed)
    size = 10.0 ** (seed % 5 - 3)
    points = size * chance.normal(size=(20, 3)) * (1.0, 0.5, 2.0) + size * chance.normal(size=3)
    return points[ConvexHull(points).vertices]


def in_engine(**values: object) -> FloatArray:
    """The corners of a hull that the engine has made."""
    with headless_world() as client:
        shape = pybullet.createCollisionShape(pybullet.GEOM_MESH, physicsClientId=client, **values)
        pybullet.createMultiBody(1.0, shape, physicsClientId=client)
        (body,) = read_world(client, None, Diagnostics()).bodies
    (collider,) = body.links[0].colliders
    assert isinstance(collider.shape, MeshShape)
    geometry = collider.shape.geometry
    return geometry.points[np.unique(geometry.triangles)]


def from_memory(points: FloatArray) -> FloatArray:
    return in_engine(vertices=on_hull_grid(points).tolist())


def from_file(points: FloatArray, path: Path) -> FloatArray:
    path.write_text(parts_obj([points]))  # PyBullet keeps files by path
    return in_engine(fileName=str(path), meshScale=[OBJ_SCALE] * 3)


def steps_apart(one: FloatArray, other: FloatArray) -> FloatArray:
    """Of the nearest corners, along each axis."""
    step = np.ptp(one, axis=0) / STEPS
    nearest = cKDTree(one / step).query(other / step)[1]
    return np.abs((one[nearest] - other) / step)


@pytest.mark.parametrize("seed", SEEDS)
def test_corners_are_within_half_a_step(seed: int, tmp_path: Path) -> None:
    corners = stone(seed)
    for made in (from_memory(corners), from_file(corners, tmp_path / f"{seed}.obj")):
        assert steps_apart(corners, made).max() <= 0.51
        # As large as it is to be: cut down, a side lost a step in half of all cases.
        sizes = np.ptp(made, axis=0) / np.ptp(corners, axis=0)
        assert sizes == pytest.approx(np.ones(3), abs=0.01 / STEPS)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_engine_has_made_stays_as_it_is(seed: int, tmp_path: Path) -> None:
    """Whoever made it: bare PyBullet loses the last step of either end."""
    made = in_engine(vertices=stone(seed).tolist())
    assert steps_apart(made, from_memory(made)).max() <= 1e-6
    # A file has single precision: 6e-8 of a coordinate, of a hull that is as far off as it is long.
    again = from_file(made, tmp_path / f"again {seed}.obj")
    assert steps_apart(made, again).max() <= 10.0 * 2.0**-24 * STEPS


def test_flat_and_single_points_are_left_alone() -> None:
    flat = np.array([[0.0, 0.0, 0.5], [1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    assert np.allclose(on_hull_grid(flat), flat, atol=1.0 / STEPS)
    assert (on_hull_grid(flat)[:, 2] == 0.5).all()
    assert (on_hull_grid(flat[:1]) == flat[:1]).all()


@pytest.mark.parametrize("thickness", [2e-6, 2e-5])
def test_what_single_precision_makes_flat_stays_where_it_is(thickness: float) -> None:
    """Of a plate 300 m out both sides are one number: its hull was a division by zero."""
    sides = (300.0, 300.0 + thickness)
    plate = np.array([(x, y, z) for x in (-0.5, 0.5) for y in sides for z in (-0.5, 0.5)])
    for handed in (in_obj(plate), on_hull_grid(plate)):
        assert np.abs(handed - plate).max() <= 1.0 / STEPS


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hull_of_five_cells_is_no_grid_of_the_engine(seed: int) -> None:
    """Of 10215 steps, as of a hull that has lost one, five cells are 2043 each."""
    chance = np.random.default_rng(seed)
    rim = [(1, 0), (4, 0), (5, 2), (4, 5), (1, 5), (0, 2)]
    corners = np.array([(x, y, z) for x, y in rim for z in (0, 1)], float)
    corners = 10.0 ** chance.uniform(-2, 2) * (corners + chance.normal(size=3))
    made = from_memory(corners)
    assert np.ptp(made, axis=0) == pytest.approx(np.ptp(corners, axis=0), rel=0.01 / STEPS)
    assert steps_apart(made, corners).max() <= 0.51
