"""Extents of planned shapes: bounds, inner and outer balls, support function. Pure numbers."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gltf_bullet.planning.shapes import shape_plans
from gltf_bullet.transforms import FloatArray, matrices_from_quats

UNBOUNDED = 1e9
"""[m] Finite stand-in for infinity, so that differences stay finite."""


class Extent(Struct, frozen=True, eq=False):
    """The size of a placed shape, in the frame that it is placed in."""

    center: FloatArray
    """Centre of the bounding box along the shape's own axes [m], shape [3]."""
    half: FloatArray
    """Half extents of that box along the shape's own axes [m], shape [3]."""
    axes: FloatArray
    """The shape's own axes as columns, shape [3, 3]."""
    outer: float
    """Radius [m] of a ball about ``center`` that holds the shape."""
    inner: float
    """Radius [m] of a ball about ``center`` that the shape holds for certain; 0 if unknown."""


def extent_of(placed: shape_plans.PlacedShape) -> Extent:
    """Measure a shape."""
    center, half, outer, inner = _measure(placed.shape)
    pose = placed.body_from_shape
    return Extent(
        center=np.array(pose.apply(tuple(center.tolist()))),
        half=half,
        axes=matrices_from_quats(np.array(pose.rotation_xyzw)),
        outer=outer,
        inner=inner,
    )


def points_of(
    shape: shape_plans.HullPlan | shape_plans.ConvexPartsPlan | shape_plans.BvhPlan,
) -> FloatArray:
    """All vertices of a shape made of points, shape [point_count, 3]."""
    match shape:
        case shape_plans.HullPlan(vertices=vertices):
            return vertices.points
        case shape_plans.ConvexPartsPlan(parts=parts):
            return np.concatenate([part.points for part in parts])
        case shape_plans.BvhPlan(mesh=mesh):
            return mesh.points


def _measure(shape: shape_plans.ShapePlan) -> tuple[FloatArray, FloatArray, float, float]:
    origin = np.zeros(3)
    match shape:
        case shape_plans.BoxPlan(half_extents=half_extents):
            half = np.array(half_extents)
            return origin, half, float(np.linalg.norm(half)), float(half.min())
        case shape_plans.SpherePlan(radius=radius):
            return origin, np.full(3, radius), radius, radius
        case shape_plans.CapsulePlan(radius=radius, mid_height=height):
            half = np.array([radius, radius + 0.5 * height, radius])
            return origin, half, radius + 0.5 * height, radius
        case shape_plans.CylinderPlan(radius=radius, height=height):
            half = np.array([radius, 0.5 * height, radius])
            return origin, half, float(np.hypot(radius, 0.5 * height)), min(radius, 0.5 * height)
        case shape_plans.InfinitePlanePlan():
            return origin, np.full(3, UNBOUNDED), UNBOUNDED, 0.0
        case shape_plans.HullPlan() | shape_plans.ConvexPartsPlan() | shape_plans.BvhPlan():
            points = points_of(shape)
            low, high = points.min(axis=0), points.max(axis=0)
            center = 0.5 * (low + high)
            outer = float(np.linalg.norm(points - center, axis=1).max())
            return center, 0.5 * (high - low), outer, 0.0


def support(shape: shape_plans.ShapePlan, direction: FloatArray) -> float:
    """Support function: the reach of ``shape`` along a unit vector in its own frame [m]."""
    x, y, z = np.abs(direction).tolist()
    match shape:
        case shape_plans.BoxPlan(half_extents=(hx, hy, hz)):
            return float(x * hx + y * hy + z * hz)
        case shape_plans.SpherePlan(radius=radius):
            return radius
        case shape_plans.CapsulePlan(radius=radius, mid_height=height):
            return float(radius + 0.5 * height * y)
        case shape_plans.CylinderPlan(radius=radius, height=height):
            return float(0.5 * height * y + radius * np.hypot(x, z))
        case shape_plans.InfinitePlanePlan():
            return UNBOUNDED
        case shape_plans.HullPlan() | shape_plans.ConvexPartsPlan() | shape_plans.BvhPlan():
            return float((points_of(shape) @ direction).max())
