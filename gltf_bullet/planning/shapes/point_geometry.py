"""Points relative to planned shapes: containment and the nearest point. Pure, stacked arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gltf_bullet.planning.shapes import shape_plans
from gltf_bullet.planning.shapes.hulls import convex_hull, hull_faces
from gltf_bullet.transforms import BoolArray, FloatArray, matrices_from_quats

_ROUNDING = 1e-9
"""Relative tolerance of hull faces."""


class PointGeometry:
    """One placed shape that points are compared with; points are in the frame it is placed in."""

    def __init__(self, placed: shape_plans.PlacedShape) -> None:
        self._shape = placed.shape
        pose = placed.body_from_shape
        self._origin = np.array(pose.translation)
        self._axes = matrices_from_quats(np.array(pose.rotation_xyzw))
        match placed.shape:
            case shape_plans.HullPlan(vertices=vertices):
                self._faces = [_faces(vertices.points)]
            case shape_plans.ConvexPartsPlan(parts=parts):
                self._faces = [_faces(part.points) for part in parts]
            case _:
                self._faces = []
        self._search: TriangleSearch | None = None

    def contains(self, points: FloatArray) -> BoolArray:
        """True for points inside of the solid, its surface included, shape [k].

        Triangles have no inside: nothing is inside a mesh that was not planned as a volume.
        """
        local = (points - self._origin) @ self._axes
        size = np.abs(local)
        result: BoolArray
        match self._shape:
            case shape_plans.BoxPlan(half_extents=half_extents):
                result = (size <= np.array(half_extents)).all(axis=1)
            case shape_plans.SpherePlan(radius=radius):
                result = np.linalg.norm(local, axis=1) <= radius
            case shape_plans.CapsulePlan(radius=radius, mid_height=height):
                size[:, 1] = np.maximum(size[:, 1] - 0.5 * height, 0.0)
                result = np.linalg.norm(size, axis=1) <= radius
            case shape_plans.CylinderPlan(radius=radius, height=height):
                result = (size[:, 1] <= 0.5 * height) & (
                    np.hypot(local[:, 0], local[:, 2]) <= radius
                )
            case shape_plans.InfinitePlanePlan():
                result = local[:, 1] <= 0.0
            case _:
                result = np.zeros(len(points), dtype=bool)
                for normals, offsets in self._faces:
                    result |= (local @ normals.T <= offsets).all(axis=1)
        return result

    def nearest(self, points: FloatArray) -> FloatArray:
        """The nearest points of the shape, shape [k, 3]; a point inside is its own nearest."""
        local = (points - self._origin) @ self._axes
        result: FloatArray = self._nearest(local) @ self._axes.T + self._origin
        inside = self.contains(points)
        result[inside] = points[inside]  # exactly, so that the difference of both is 0
        return result

    def _nearest(self, local: FloatArray) -> FloatArray:
        result = local.copy()
        match self._shape:
            case shape_plans.BoxPlan(half_extents=half_extents):
                half = np.array(half_extents)
                result = np.clip(local, -half, half)
            case shape_plans.SpherePlan(radius=radius):
                result = local * _shrink(np.linalg.norm(local, axis=1), radius)[:, None]
            case shape_plans.CapsulePlan(radius=radius, mid_height=height):
                middle = np.zeros_like(local)
                middle[:, 1] = np.clip(local[:, 1], -0.5 * height, 0.5 * height)
                arm = local - middle
                result = middle + arm * _shrink(np.linalg.norm(arm, axis=1), radius)[:, None]
            case shape_plans.CylinderPlan(radius=radius, height=height):
                shrink = _shrink(np.hypot(local[:, 0], local[:, 2]), radius)
                result[:, 0] *= shrink
                result[:, 2] *= shrink
                result[:, 1] = np.clip(local[:, 1], -0.5 * height, 0.5 * height)
            case shape_plans.InfinitePlanePlan():
                result[:, 1] = np.minimum(local[:, 1], 0.0)
            case _:
                if self._search is None:
                    self._search = TriangleSearch(*self._triangles())
                result = self._search.nearest(local)
        return result

    def _triangles(self) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        match self._shape:
            case shape_plans.HullPlan(vertices=vertices):
                hull = convex_hull(vertices.points, len(vertices.points))
                return hull.points, hull.triangles
            case shape_plans.BvhPlan(mesh=mesh) | shape_plans.ConvexPartsPlan(source=mesh):
                return mesh.points, mesh.triangles
            case _:
                raise ValueError(f"{self._shape} is not made of triangles")


class TriangleSearch:
    """The nearest points on a fixed set of triangles."""

    def __init__(self, points: FloatArray, triangles: npt.NDArray[np.int64]) -> None:
        from scipy.spatial import KDTree

        self._corners = points[triangles]
        self._vertices = KDTree(points[np.unique(triangles)])
        centers = self._corners.mean(axis=1)
        self._centers = KDTree(centers)
        # No point of a triangle is further from its centre than its furthest corner.
        self._radius = float(
            np.linalg.norm(self._corners - centers[:, None, :], axis=2).max(initial=0.0)
        )

    def nearest(self, points: FloatArray) -> FloatArray:
        """The nearest point of any triangle for each point, shape [k, 3]."""
        from trimesh.triangles import closest_point

        result = np.zeros_like(points)
        reach, _ = self._vertices.query(points)
        for k, near in enumerate(self._centers.query_ball_point(points, reach + self._radius)):
            candidates = closest_point(self._corners[near], np.tile(points[k], (len(near), 1)))
            result[k] = candidates[np.argmin(np.linalg.norm(candidates - points[k], axis=1))]
        return result


def _shrink(distances: FloatArray, radius: float) -> FloatArray:
    """Factors that bring points at ``distances`` back to ``radius``, 1 where they are within."""
    factors: FloatArray = radius / np.maximum(distances, radius)
    return factors


def _faces(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Half-spaces ``normals @ x <= offsets`` whose intersection is the hull."""
    normals, offsets = hull_faces(points)
    return normals, offsets + _ROUNDING * float(np.ptp(points, axis=0).max())
