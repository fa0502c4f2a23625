"""Points for round shapes that Bullet has no primitive for: tapered, stretched or sheared ones.

Rings of vertices are laid on the true surface; the error is measured facet by facet against the
shape's support function, which is exact for every linear map.
"""

from __future__ import annotations

import math

import numpy as np

from gltf_bullet.model import Capsule, Cylinder, Sphere
from gltf_bullet.planning.shapes.hulls import Hull, convex_hull
from gltf_bullet.transforms import FloatArray

__all__ = ["round_hull"]

_USUAL = 256
"""Vertices in all, for which the numbers below are."""
_SEGMENTS = {Cylinder: 64, Capsule: 24, Sphere: 20}
"""Vertices per ring: a sagitta of 1.2 % of the radius at most."""
_TIP = 1e-6
"""Ratio of two radii below which the smaller one is a tip: qhull loses facets that are a billion
times smaller than the others."""
_CAP_RINGS = 5
"""Per cap of a capsule, pole included."""
_SPHERE_RINGS = 11
"""From pole to pole, or between the poles."""


def round_hull(
    shape: Sphere | Capsule | Cylinder, linear: FloatArray, most_points: int = _USUAL
) -> Hull:
    """The hull of ``linear @ shape`` with its ``deviation`` [m] from the true surface.

    Of about ``most_points`` vertices: four times as many halve every way between two of them.
    """
    finer = math.sqrt(most_points / _USUAL)
    hull = convex_hull(_surface_points(shape, finer) @ linear.T, max_points=1 << 20)
    corners = hull.points[hull.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    keep = lengths > 1e-12 * lengths.max()
    normals = normals[keep] / lengths[keep, None]
    offsets = np.einsum("ij,ij->i", normals, corners[keep, 0])
    gaps = _support(shape, normals @ linear) - offsets
    hull.deviation = float(max(0.0, gaps.max()))
    return hull


def _support(shape: Sphere | Capsule | Cylinder, directions: FloatArray) -> FloatArray:
    """How far the shape reaches along directions of any length, shape [direction_count]."""
    reach: FloatArray
    if isinstance(shape, Sphere):
        reach = shape.radius * np.linalg.norm(directions, axis=1)
    elif isinstance(shape, Cylinder):
        flat = np.hypot(directions[:, 0], directions[:, 2])
        half = 0.5 * shape.height * directions[:, 1]
        reach = np.maximum(-half + shape.radius_bottom * flat, half + shape.radius_top * flat)
    else:
        length = np.linalg.norm(directions, axis=1)
        half = 0.5 * shape.mid_height * directions[:, 1]
        reach = np.maximum(-half + shape.radius_bottom * length, half + shape.radius_top * length)
    return reach


def _surface_points(shape: Sphere | Capsule | Cylinder, finer: float) -> FloatArray:
    def times(count: int) -> int:
        return max(3, int(count * finer))

    def around(kind: type) -> int:
        # In fours: what a shape rests on is its end along an axis.
        return max(4, 4 * int(0.25 * _SEGMENTS[kind] * finer))

    segments, cap_rings = around(type(shape)), times(_CAP_RINGS)
    if isinstance(shape, Cylinder):
        segments = max(6, 4 * (int(_SEGMENTS[Cylinder] * finer * finer) // 4))
        half = 0.5 * shape.height
        return np.concatenate(
            [
                _ring(-half, _tip(shape.radius_bottom, shape.radius_top), segments),
                _ring(half, _tip(shape.radius_top, shape.radius_bottom), segments),
            ]
        )
    if isinstance(shape, Sphere):
        latitudes = np.linspace(-0.5 * math.pi, 0.5 * math.pi, times(_SPHERE_RINGS) + 2)
        return _latitude_rings(0.0, shape.radius, latitudes, segments)
    half, rb, rt = 0.5 * shape.mid_height, shape.radius_bottom, shape.radius_top
    rb, rt = _tip(rb, rt), _tip(rt, rb)
    if abs(rb - rt) >= shape.mid_height:
        center, radius = (-half, rb) if rb >= rt else (half, rt)
        latitudes = np.linspace(-0.5 * math.pi, 0.5 * math.pi, times(_SPHERE_RINGS))
        return _latitude_rings(center, radius, latitudes, around(Sphere))
    # The tube touches both spheres at this latitude.
    tangent = math.asin((rb - rt) / shape.mid_height)
    low = np.linspace(-0.5 * math.pi, tangent, cap_rings + 1)
    high = np.linspace(tangent, 0.5 * math.pi, cap_rings + 1)
    return np.concatenate(
        [_latitude_rings(-half, rb, low, segments), _latitude_rings(half, rt, high, segments)]
    )


def _latitude_rings(
    center_y: float, radius: float, latitudes: FloatArray, segments: int
) -> FloatArray:
    return np.concatenate(
        [
            _ring(center_y + radius * math.sin(a), radius * math.cos(a), segments)
            for a in latitudes.tolist()
        ]
    )


def _tip(radius: float, other: float) -> float:
    """``radius``, or 0 where it is next to nothing beside the other one of its shape."""
    return radius if radius > _TIP * other else 0.0


def _ring(y: float, radius: float, segments: int) -> FloatArray:
    if radius <= 1e-12:
        return np.array([[0.0, y, 0.0]])
    angle = 2.0 * math.pi * np.arange(segments) / segments
    return np.stack([radius * np.cos(angle), np.full(segments, y), radius * np.sin(angle)], axis=1)
