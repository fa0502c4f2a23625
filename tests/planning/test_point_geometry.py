"""Points against shapes: containment and nearest points, by formula and by law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.planning.shapes.extents import extent_of, points_of, support
from gltf_bullet.planning.shapes.point_geometry import PointGeometry, TriangleSearch
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    CapsulePlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    PlacedShape,
    PointSet,
    ShapePlan,
    SpherePlan,
    TriangleSet,
)
from gltf_bullet.transforms import Pose

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-2, 2) for z in (-0.5, 0.5)], dtype=float)
TETRAHEDRON = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]], dtype=float)
SOLIDS: list[ShapePlan] = [
    BoxPlan((1.0, 2.0, 0.5)),
    SpherePlan(1.5),
    CapsulePlan(0.5, 2.0),
    CylinderPlan(0.7, 2.0),
    HullPlan(PointSet(CORNERS)),
    HullPlan(PointSet(TETRAHEDRON)),
]
TURNED = Pose((0.5, 0.5, 0.5, 0.5), (1.0, -2.0, 3.0))


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda shape: type(shape).__name__)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_nearest_point_is_on_the_shape_and_nothing_supports_further(
    shape: ShapePlan, seed: int
) -> None:
    random = np.random.default_rng(seed)
    point = random.uniform(-5, 5, (1, 3))
    geometry = PointGeometry(PlacedShape(shape))
    nearest = geometry.nearest(point)
    arm = (point - nearest)[0]
    distance = float(np.linalg.norm(arm))
    if geometry.contains(point)[0]:
        assert distance == 0.0
        return
    # The plane through the nearest point across the arm must hold the whole convex shape.
    normal = arm / distance
    assert support(shape, normal) == pytest.approx(float(nearest[0] @ normal), abs=1e-6)


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda shape: type(shape).__name__)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_placed_shape_is_the_shape_seen_from_its_frame(shape: ShapePlan, seed: int) -> None:
    point = np.random.default_rng(seed).uniform(-3, 3, (1, 3))
    at_origin, placed = PointGeometry(PlacedShape(shape)), PointGeometry(PlacedShape(shape, TURNED))
    moved = np.array([TURNED.apply(tuple(point[0].tolist()))])
    assert at_origin.contains(point)[0] == placed.contains(moved)[0]
    expected = TURNED.apply(tuple(at_origin.nearest(point)[0].tolist()))
    np.testing.assert_allclose(placed.nearest(moved)[0], expected, atol=1e-9)


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda shape: type(shape).__name__)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_balls_of_an_extent_hold_and_are_held(shape: ShapePlan, seed: int) -> None:
    random = np.random.default_rng(seed)
    extent = extent_of(PlacedShape(shape, TURNED))
    geometry = PointGeometry(PlacedShape(shape, TURNED))
    way = random.normal(size=3)
    way /= np.linalg.norm(way)
    assert not geometry.contains((extent.center + way * (extent.outer + 1e-6))[None])[0]
    if extent.inner > 0.0:
        assert geometry.contains((extent.center + way * (extent.inner - 1e-6))[None])[0]


def test_below_a_plane_is_inside() -> None:
    geometry = PointGeometry(PlacedShape(InfinitePlanePlan()))
    points = np.array([[3.0, -1.0, 2.0], [3.0, 1.0, 2.0]])
    assert geometry.contains(points).tolist() == [True, False]
    np.testing.assert_allclose(geometry.nearest(points), [[3, -1, 2], [3, 0, 2]])


def test_convex_parts_are_inside_where_any_part_is() -> None:
    parts = (PointSet(CORNERS), PointSet(CORNERS + np.array([4.0, 0, 0])))
    source = TriangleSet(CORNERS, [[0, 1, 2]])
    geometry = PointGeometry(PlacedShape(ConvexPartsPlan(parts, source)))
    points = np.array([[0.0, 0, 0], [2.0, 0, 0], [4.0, 0, 0]])
    assert geometry.contains(points).tolist() == [True, False, True]
    assert len(points_of(ConvexPartsPlan(parts, source))) == 16


def test_a_mesh_is_a_surface() -> None:
    mesh = TriangleSet([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 1, 2]])
    geometry = PointGeometry(PlacedShape(BvhPlan(mesh)))
    points = np.array([[0.2, 3.0, 0.2], [-4.0, 0.0, 0.5]])
    np.testing.assert_allclose(geometry.nearest(points), [[0.2, 0, 0.2], [0, 0, 0.5]])
    assert not geometry.contains(points).any()


@given(seed=st.integers(0, 2**32 - 1))
def test_the_search_finds_what_all_triangles_would_give(seed: int) -> None:
    from trimesh.triangles import closest_point

    random = np.random.default_rng(seed)
    vertices = random.uniform(-2, 2, (12, 3))
    triangles = np.array([random.choice(12, 3, replace=False) for _ in range(9)])
    points = random.uniform(-4, 4, (5, 3))
    found = TriangleSearch(vertices, triangles).nearest(points)
    for point, nearest in zip(points, found, strict=True):
        every = closest_point(vertices[triangles], np.tile(point, (9, 1)))
        best = np.linalg.norm(every - point, axis=1).min()
        assert np.linalg.norm(nearest - point) == pytest.approx(best)


@pytest.mark.parametrize("shape", SOLIDS, ids=lambda shape: type(shape).__name__)
def test_a_point_inside_is_its_own_nearest_to_the_bit(shape: ShapePlan) -> None:
    """What is left of a way, 1e-17 m, would be a direction."""
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (50, 3)) + TURNED.translation
    geometry = PointGeometry(PlacedShape(shape, TURNED))
    points = points[geometry.contains(points)]
    assert len(points)
    assert np.array_equal(geometry.nearest(points), points)
