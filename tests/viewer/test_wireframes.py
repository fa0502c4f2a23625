"""Edges of shapes: how many, where, and which of a mesh."""

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    CapsulePlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    PointSet,
    ShapePlan,
    SpherePlan,
    TriangleSet,
)
from gltf_bullet.viewer.wireframes import EDGES_PER_SHAPE, PLANE_EXTENT, wireframe

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def lengths(segments: np.ndarray) -> np.ndarray:
    return np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1)


def test_a_box_has_its_twelve_edges() -> None:
    half = np.array([0.5, 1.0, 2.0])
    lines = wireframe(BoxPlan(tuple(half)))
    assert lines.shape == (12, 2, 3)
    # Both ends of each edge are corners, and an edge runs along one axis over the full extent.
    np.testing.assert_allclose(np.abs(lines), np.broadcast_to(half, (12, 2, 3)))
    runs = lines[:, 1] - lines[:, 0]
    assert sorted(np.abs(runs[runs != 0.0])) == sorted([*([1.0] * 4), *([2.0] * 4), *([4.0] * 4)])
    assert len({tuple(np.sort(edge.round(6), axis=0).ravel()) for edge in lines}) == 12


def test_a_sphere_has_three_great_circles() -> None:
    lines = wireframe(SpherePlan(0.7))
    np.testing.assert_allclose(np.linalg.norm(lines, axis=2), 0.7)
    for axis in range(3):
        flat = np.all(np.abs(lines[:, :, axis]) < 1e-12, axis=1)
        assert flat.sum() == len(lines) // 3


def test_a_capsule_ends_at_its_poles_and_a_cylinder_at_its_discs() -> None:
    capsule = wireframe(CapsulePlan(0.25, 1.0)).reshape(-1, 3)
    # From pole to pole: mid height and a radius at both ends.
    np.testing.assert_allclose(np.ptp(capsule, axis=0), [0.5, 1.5, 0.5])
    beyond = np.abs(capsule[:, 1]) - 0.5
    caps = capsule[beyond > 1e-9] - np.sign(capsule[beyond > 1e-9, 1:2]) * [[0.0, 0.5, 0.0]]
    np.testing.assert_allclose(np.linalg.norm(caps, axis=1), 0.25)
    cylinder = wireframe(CylinderPlan(0.25, 1.0)).reshape(-1, 3)
    np.testing.assert_allclose(np.ptp(cylinder, axis=0), [0.5, 1.0, 0.5])
    np.testing.assert_allclose(np.hypot(cylinder[:, 0], cylinder[:, 2]), 0.25)


def test_a_hull_shows_no_edges_within_flat_faces() -> None:
    lines = wireframe(HullPlan(PointSet(CUBE)))
    np.testing.assert_allclose(lengths(lines), np.full(12, 2.0))
    parts = ConvexPartsPlan(
        (PointSet(CUBE), PointSet(CUBE + np.array([3.0, 0.0, 0.0]))), TriangleSet([], [])
    )
    assert len(wireframe(parts)) == 24


def test_a_flat_hull_is_drawn_as_its_box() -> None:
    flat = CUBE * [1.0, 0.0, 1.0]
    assert np.ptp(wireframe(HullPlan(PointSet(flat))).reshape(-1, 3), axis=0) == pytest.approx(
        [2.0, 0.0, 2.0]
    )


def test_a_mesh_shows_its_outline_and_its_creases() -> None:
    square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    flat = BvhPlan(TriangleSet(square, [[0, 1, 2], [0, 2, 3]]))
    np.testing.assert_allclose(np.sort(lengths(wireframe(flat))), [1.0] * 4)  # no diagonal
    lifted = [*square[:2], [1, 1, 1], [0, 1, 0]]
    bent = BvhPlan(TriangleSet(lifted, [[0, 1, 2], [0, 2, 3]]))
    assert len(wireframe(bent)) == 5
    # Vertices that files repeat per face are one corner all the same.
    split = BvhPlan(
        TriangleSet([*square[:3], square[0], square[2], square[3]], [[0, 1, 2], [3, 4, 5]])
    )
    assert len(wireframe(split)) == 4


def test_a_mesh_with_very_many_creases_shows_the_longest() -> None:
    count = 400
    fins = np.concatenate(
        [np.array([[k, 0, 0], [k, 0, 1 + 0.01 * k], [k, 1, 0]]) for k in range(count)]
    )
    mesh = BvhPlan(TriangleSet(fins, np.arange(3 * count).reshape(-1, 3)))
    shown = lengths(wireframe(mesh))
    assert len(shown) == EDGES_PER_SHAPE < 3 * count
    every = lengths(fins.reshape(-1, 3, 3)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2, 3))
    np.testing.assert_allclose(np.sort(shown), np.sort(every)[-EDGES_PER_SHAPE:])


def test_an_infinite_plane_is_a_grid_across_its_normal() -> None:
    lines = wireframe(InfinitePlanePlan())
    assert not lines[:, :, 1].any()
    np.testing.assert_allclose(lengths(lines), 2.0 * PLANE_EXTENT)


@pytest.mark.parametrize("shape", [BoxPlan((1, 1, 1)), SpherePlan(1.0), InfinitePlanePlan()])
def test_equal_shapes_share_one_read_only_array(shape: ShapePlan) -> None:
    assert wireframe(shape) is wireframe(shape)
    with pytest.raises(ValueError, match="read-only"):
        wireframe(shape)[0] = 0.0
