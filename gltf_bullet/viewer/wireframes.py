"""Planned shapes as line segments. Pure; cached per shape, since instances share shapes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from gltf_bullet.planning.shapes import shape_plans
from gltf_bullet.transforms import FloatArray
from gltf_bullet.viewer.strokes import arc, circle

PLANE_EXTENT = 5.0
"""[m] Half the side of the grid that shows an infinite plane."""
PLANE_CELLS = 4
"""Number of cells of that grid along each side."""

EDGES_PER_SHAPE = 600
"""Most edges of a mesh; of those with more feature edges the longest are drawn."""
FLAT_COS = float(np.cos(np.radians(15.0)))
"""Cosine of the angle between two faces below which their common edge is not drawn."""

_X, _Y, _Z = np.eye(3)


@lru_cache(maxsize=4096)
def wireframe(shape: shape_plans.ShapePlan) -> FloatArray:
    """Edges of a shape in its own frame [m], shape [k, 2, 3]; read-only."""
    lines = _edges(shape)
    lines.setflags(write=False)
    return lines


def _edges(shape: shape_plans.ShapePlan) -> FloatArray:
    match shape:
        case shape_plans.BoxPlan(half_extents=half):
            return _box(np.array(half))
        case shape_plans.SpherePlan(radius=r):
            return np.concatenate([circle(a, b, r) for a, b in ((_X, _Y), (_Y, _Z), (_Z, _X))])
        case shape_plans.CapsulePlan(radius=r, mid_height=height):
            return _capsule(r, 0.5 * height)
        case shape_plans.CylinderPlan(radius=r, height=height):
            top = 0.5 * height * _Y
            rings = [circle(_Z, _X, r) + side for side in (top, -top)]
            return np.concatenate([*rings, _sides(r, 0.5 * height)])
        case shape_plans.InfinitePlanePlan():
            return _grid()
        case shape_plans.HullPlan(vertices=vertices):
            return _hull(vertices.points)
        case shape_plans.ConvexPartsPlan(parts=parts):
            return np.concatenate([_hull(part.points) for part in parts])
        case shape_plans.BvhPlan(mesh=mesh):
            return _features(mesh.points, mesh.triangles)


def _box(half: FloatArray) -> FloatArray:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    pairs = [(a, a | bit) for bit in (1, 2, 4) for a in range(8) if not a & bit]
    lines: FloatArray = corners[np.array(pairs)]
    return lines


def _sides(radius: float, half_height: float) -> FloatArray:
    across = radius * np.array([_X, _Z, -_X, -_Z])
    return np.stack([across - half_height * _Y, across + half_height * _Y], axis=1)


def _capsule(radius: float, half_height: float) -> FloatArray:
    top = half_height * _Y
    parts = [circle(_Z, _X, radius) + side for side in (top, -top)]
    parts += [arc(u, _Y, radius, 0.0, np.pi, 8) + top for u in (_X, _Z)]
    parts += [arc(u, -_Y, radius, 0.0, np.pi, 8) - top for u in (_X, _Z)]
    return np.concatenate([*parts, _sides(radius, half_height)])


def _grid() -> FloatArray:
    places = np.linspace(-PLANE_EXTENT, PLANE_EXTENT, PLANE_CELLS + 1)
    along_x = [[[-PLANE_EXTENT, 0.0, p], [PLANE_EXTENT, 0.0, p]] for p in places]
    along_z = [[[p, 0.0, -PLANE_EXTENT], [p, 0.0, PLANE_EXTENT]] for p in places]
    return np.array(along_x + along_z)


def _hull(points: FloatArray) -> FloatArray:
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        # A flat hull would need a hull in its plane; the box around it is close enough.
        low, high = points.min(axis=0), points.max(axis=0)
        box: FloatArray = _box(0.5 * (high - low)) + 0.5 * (low + high)
        return box
    return _features(points, np.asarray(hull.simplices), np.asarray(hull.equations[:, :3]))


def _features(
    points: FloatArray, triangles: npt.NDArray[np.integer], normals: FloatArray | None = None
) -> FloatArray:
    """Edges where a surface ends or bends; the longest if there are too many."""
    points, inverse = np.unique(points, axis=0, return_inverse=True)
    triangles = inverse.reshape(-1)[triangles]
    if normals is None:
        corners = points[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    faces = np.repeat(np.arange(len(triangles)), 3)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    edges, faces = edges[order], faces[order]
    starts = np.flatnonzero(np.r_[True, (edges[1:] != edges[:-1]).any(axis=1)])
    counts = np.diff(np.r_[starts, len(edges)])
    first = faces[starts]
    second = faces[np.minimum(starts + 1, len(faces) - 1)]
    # The winding may differ between neighbours (qhull's does): parallel faces are flat either way.
    cosines = np.abs((normals[first] * normals[second]).sum(axis=1))
    sharp = (counts != 2) | (cosines < FLAT_COS)
    lines = points[edges[starts[sharp]]]
    if len(lines) > EDGES_PER_SHAPE:
        lengths = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1)
        lines = lines[np.sort(np.argsort(-lengths, kind="stable")[:EDGES_PER_SHAPE])]
    return np.ascontiguousarray(lines)
