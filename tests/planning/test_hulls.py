"""Hulls: reduction with an honest error, flat points, boxes and closed surfaces recognised."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.model import Capsule, Cylinder, Sphere
from gltf_bullet.planning.shapes.hulls import are_closed, box_of_hull, convex_hull, weld
from gltf_bullet.planning.shapes.planner import round_hull
from gltf_bullet.transforms import matrices_from_quats, quat_normalize


def outside(points: np.ndarray, hull_points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """How far each point is beyond the faces of a hull (0 inside)."""
    a, b, c = (hull_points[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.maximum((points @ normals.T - np.einsum("ij,ij->i", normals, a)).max(axis=1), 0.0)


@given(st.integers(0, 2**31), st.integers(10, 200))
def test_a_hull_holds_every_point_and_faces_outwards(seed: int, count: int) -> None:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    hull = convex_hull(points, 4096)
    assert hull.deviation == 0.0
    assert are_closed(hull.triangles)
    assert outside(points, hull.points, hull.triangles).max() < 1e-9
    assert trimesh.Trimesh(hull.points, hull.triangles).volume > 0.0


@pytest.mark.parametrize(("budget", "relative"), [(4, 3.0), (16, 0.5), (64, 0.12), (256, 0.03)])
def test_a_reduced_hull_states_how_far_the_true_one_reaches_beyond(
    budget: int, relative: float
) -> None:
    sphere = trimesh.creation.icosphere(4).vertices * [1.0, 2.0, 0.5]
    hull = convex_hull(sphere, budget)
    assert len(hull.points) <= budget
    beyond = outside(sphere, hull.points, hull.triangles).max()
    assert beyond > 0.0
    assert hull.deviation == pytest.approx(beyond, rel=1e-6)
    # A sphere seen by n points: caps of area 4 pi / n, a sagitta of about 2 / n of the radius.
    assert hull.deviation < relative


def test_points_in_a_plane_are_given_a_thickness() -> None:
    square = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]], dtype=float)
    hull = convex_hull(square, 64)
    assert hull.was_flat
    assert np.ptp(hull.points, axis=0) == pytest.approx([1.0, 1e-3, 1.0])


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((0, 3)),
        np.zeros((5, 3)),
        np.array([[0, 0, 0], [1, 1, 1.0]]),
        np.outer(np.linspace(0, 1, 9), [1.0, 2.0, 3.0]),
    ],
    ids=["none", "one place", "two points", "a line"],
)
def test_points_without_an_area_are_refused(points: np.ndarray) -> None:
    with pytest.raises(ValueError, match="needs three points"):
        convex_hull(points, 64)


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4), st.integers(0, 1000))
def test_the_hull_of_a_turned_box_is_recognised(quat: list[float], seed: int) -> None:
    random = np.random.default_rng(seed)
    half, offset = random.uniform(0.1, 2.0, 3), random.normal(size=3)
    rotation = matrices_from_quats(quat_normalize(np.array(quat)))
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = (signs * half) @ rotation.T + offset
    found = box_of_hull(convex_hull(corners, 64))
    assert found is not None
    half_extents, pose = found
    assert sorted(half_extents) == pytest.approx(sorted(half.tolist()), rel=1e-6)
    assert pose.translation == pytest.approx(offset, abs=1e-9)


def test_a_wedge_is_no_box() -> None:
    wedge = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0], [1, 1, 0]], float)
    assert box_of_hull(convex_hull(wedge, 64)) is None


def test_a_sheared_box_is_no_box() -> None:
    signs = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1, 1) for z in (-1, 1)])
    shear = np.array([[1, 0.2, 0], [0, 1, 0], [0, 0, 1]])
    assert box_of_hull(convex_hull(signs @ shear.T, 64)) is None


def test_a_mesh_with_split_vertices_is_closed_after_welding() -> None:
    box = trimesh.creation.box()
    points = box.vertices[box.faces].reshape(-1, 3)
    triangles = np.arange(len(points)).reshape(-1, 3)
    assert not are_closed(triangles)
    assert are_closed(weld(points, triangles)[1])
    assert not are_closed(weld(points, triangles[:-1])[1])


SHAPES = [
    Sphere(radius=0.5),
    Cylinder(height=1.0, radius_bottom=0.5, radius_top=0.2),
    Cylinder(height=1.0, radius_bottom=0.5, radius_top=0.0),
    Capsule(mid_height=1.0, radius_bottom=0.4, radius_top=0.2),
    Capsule(mid_height=0.1, radius_bottom=0.4, radius_top=0.2),
]


def surface_samples(shape: Sphere | Cylinder | Capsule, count: int = 20000) -> np.ndarray:
    """Random points of the true surface (and inside of it, where shapes are unions)."""
    random = np.random.default_rng(1)
    unit = random.normal(size=(count, 3))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    if isinstance(shape, Sphere):
        return shape.radius * unit
    if isinstance(shape, Capsule):
        half = 0.5 * shape.mid_height
        low = shape.radius_bottom * unit + [0, -half, 0]
        high = shape.radius_top * unit + [0, half, 0]
        mix = random.uniform(size=(count, 1))
        return np.concatenate([low, high, mix * low + (1 - mix) * high])
    angle = random.uniform(0, 2 * math.pi, count)
    mix = random.uniform(size=count)
    radius = mix * shape.radius_bottom + (1 - mix) * shape.radius_top
    y = shape.height * (0.5 - mix)
    return np.stack([radius * np.cos(angle), y, radius * np.sin(angle)], axis=1)


@pytest.mark.parametrize(
    "linear",
    [np.eye(3), np.diag([2.0, 1.0, 0.5]), np.array([[1.0, 0.5, 0], [0, 1, 0], [0.3, 0, 1]])],
    ids=["plain", "stretched", "sheared"],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_deviation_of_a_round_hull_bounds_every_sample(shape, linear) -> None:
    hull = round_hull(shape, linear)
    samples = surface_samples(shape) @ linear.T
    beyond = outside(samples, hull.points, hull.triangles).max()
    assert len(hull.points) <= 256
    assert beyond <= hull.deviation + 1e-9
    # The number is no empty bound: samples come close to it.
    assert beyond > 0.7 * hull.deviation
    # And the stand-in is a good one: within 3 % of its size.
    assert hull.deviation < 0.03 * np.ptp(samples, axis=0).max()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_round_hull_lies_inside_the_true_shape(shape) -> None:
    hull = round_hull(shape, np.eye(3))
    true = trimesh.convex.convex_hull(surface_samples(shape, 20000))
    # Random samples leave small gaps themselves: 2 % of the size.
    assert outside(hull.points, true.vertices, true.faces).max() < 0.02 * np.ptp(true.vertices)
