"""Collision shapes as visible triangles, coloured by the kind of their body."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from gltf_bullet.model import MotionKind
from gltf_bullet.planning.shapes import shape_plans
from gltf_bullet.planning.shapes.hulls import convex_hull
from gltf_bullet.rendering.visual_plans import Color, VisualMesh, flat_shaded
from gltf_bullet.transforms import FloatArray, IntArray, Vec3

STATIC_COLOR: Color = (0.66, 0.68, 0.71, 1.0)
"""Red, green, blue, alpha of static bodies."""
COLOR_OF_KIND: dict[MotionKind, Color] = {
    MotionKind.DYNAMIC: (0.94, 0.53, 0.18, 1.0),
    MotionKind.KINEMATIC: (0.24, 0.51, 0.86, 1.0),
    MotionKind.STATIC: STATIC_COLOR,
}
"""Colours of collision shapes in pictures, by kind of body."""

SIDES = 36
"""Number of sides of round shapes; the outline is off by 0.4 % of the radius."""
RINGS = 9
"""Number of rings of half a sphere."""
SHEET = 50.0
"""[m] Half the edge of the mesh that stands for an infinite plane."""

_Surface = tuple[FloatArray, FloatArray, IntArray]
"""Points, normals, triangles."""


def solid(shapes: Sequence[shape_plans.PlacedShape], color: Color) -> VisualMesh:
    """The surfaces of some collision shapes as one mesh in the frame of their body."""
    points, normals, triangles, count = [], [], [], 0
    for placed in shapes:
        matrix = placed.body_from_shape.matrix()
        found = _surface(placed.shape)
        points.append(found[0] @ matrix[:3, :3].T + matrix[:3, 3])
        normals.append(found[1] @ matrix[:3, :3].T)
        triangles.append(found[2] + count)
        count += len(found[0])
    return VisualMesh(
        np.concatenate(points),
        np.concatenate(normals),
        np.concatenate(triangles).astype(np.int64),
        color=color,
    )


def _surface(shape: shape_plans.ShapePlan) -> _Surface:
    match shape:
        case shape_plans.SpherePlan(radius=r):
            return _turned(*_ball_profile(r, 0.0))
        case shape_plans.CapsulePlan(radius=r, mid_height=height):
            return _turned(*_ball_profile(r, 0.5 * height))
        case shape_plans.CylinderPlan(radius=r, height=height):
            y = 0.5 * height
            places = [(0.0, -y), (r, -y), (r, -y), (r, y), (r, y), (0.0, y)]
            normals = [(0.0, -1.0)] * 2 + [(1.0, 0.0)] * 2 + [(0.0, 1.0)] * 2
            return _turned(np.array(places), np.array(normals))
        case shape_plans.BoxPlan(half_extents=half):
            corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
            hull = convex_hull(np.array(corners) * np.array(half), 8)
            return flat_shaded(hull.points, hull.triangles)
        case shape_plans.InfinitePlanePlan():
            square = SHEET * np.array([(-1.0, 0, 1), (1, 0, 1), (1, 0, -1), (-1, 0, -1)])
            return flat_shaded(square, np.array([(0, 1, 2), (0, 2, 3)], dtype=np.int64))
        case shape_plans.HullPlan(vertices=vertices):
            hull = convex_hull(vertices.points, len(vertices.points))
            return flat_shaded(hull.points, hull.triangles)
        case shape_plans.BvhPlan(mesh=mesh):
            # A surface without inside is visible from both sides.
            both = np.concatenate([mesh.triangles, mesh.triangles[:, ::-1]])
            return flat_shaded(mesh.points, both)
        case shape_plans.ConvexPartsPlan(source=source):
            return flat_shaded(source.points, source.triangles)


def _ball_profile(radius: float, half_height: float) -> tuple[FloatArray, FloatArray]:
    """Profile of a sphere that is pulled apart along y, from the lower to the upper pole."""
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * RINGS + 1)
    angles = np.insert(angles, RINGS, 0.0)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = radius * normals
    places[:, 1] += np.where(np.arange(len(angles)) <= RINGS, -half_height, half_height)
    return places, normals


def _turned(places: FloatArray, normals: FloatArray) -> _Surface:
    """Surface of revolution of a profile around y.

    Args:
        places: Radius and height [m], from the bottom, shape [n, 2].
        normals: Unit normals of the profile, in the same order, shape [n, 2].
    """
    turn = np.linspace(0.0, 2.0 * np.pi, SIDES + 1)

    def around(rows: FloatArray) -> FloatArray:
        x, z = (np.outer(rows[:, 0], values) for values in (np.cos(turn), np.sin(turn)))
        y = np.repeat(rows[:, 1:], len(turn), axis=1)
        return np.stack([x, y, z], axis=-1).reshape(-1, 3)

    points = around(places)
    lower = np.arange((len(places) - 1) * len(turn)).reshape(-1, len(turn))
    a, b = lower[:, :-1].reshape(-1), lower[:, 1:].reshape(-1)
    c, d = a + len(turn), b + len(turn)
    triangles = np.concatenate([np.stack([a, c, b], axis=1), np.stack([b, c, d], axis=1)])
    corners = points[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    keep = np.linalg.norm(areas, axis=1) > 1e-9 * float(np.abs(places).max()) ** 2
    return points, around(normals), triangles[keep]


# --- Meshes that are boxes, which engines draw without a file -------------------------------------

_TRIANGLES = 12
_FLAT = 1e-6
"""Largest difference between a normal and that of its face."""
_BITS = np.array([1, 2, 4])
"""Bits of a corner's number: each axis along which it is at the far end."""
_NORMALS = np.array([sign * np.eye(3)[axis] for axis in range(3) for sign in (-1.0, 1.0)])
"""Normals of the faces, by number."""


class DrawnBox(NamedTuple):
    """A box with edges along the axes."""

    centre: Vec3
    """Centre [m]."""
    size: Vec3
    """Full lengths of the edges [m]."""


def _halves() -> dict[tuple[int, int, int], tuple[int, int]]:
    """Face and its missing corner, by the three corners of each outward-facing half of a face."""
    found = {}
    for face, normal in enumerate(_NORMALS):
        axis, is_far = face // 2, face % 2
        first, second = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        start = is_far << axis
        around = [start, start | first, start | first | second, start | second]
        if normal[axis] < 0.0:
            around.reverse()
        for missing, turn in product(range(4), range(3)):
            corners = [around[(missing + 1 + (k + turn) % 3) % 4] for k in range(3)]
            found[corners[0], corners[1], corners[2]] = face, around[missing]
    return found


_HALVES = _halves()


def box_of(mesh: VisualMesh) -> DrawnBox | None:
    """The box with the surface of a mesh; ``None`` if it is none or is textured."""
    if mesh.texture is not None or len(mesh.triangles) != _TRIANGLES:
        return None
    low, high = mesh.bounds()
    is_far = mesh.points == high
    if not (is_far | (mesh.points == low)).all() or not (low < high).all():
        return None
    halves = [_HALVES.get((a, b, c)) for a, b, c in (is_far @ _BITS)[mesh.triangles].tolist()]
    faces: dict[int, list[int]] = {}
    for half in halves:
        if half is None:
            return None
        faces.setdefault(half[0], []).append(half[1])
    # The two halves of a face share its diagonal: each lacks the corner opposite to the other's.
    for face, missing in faces.items():
        if len(missing) != 2 or missing[0] ^ missing[1] != 7 & ~(1 << face // 2):
            return None
    normals = _NORMALS[[half[0] for half in halves if half is not None]]
    if np.abs(mesh.normals[mesh.triangles] - normals[:, None]).max() > _FLAT:
        return None
    x, y, z = (0.5 * (low + high)).tolist()
    a, b, c = (high - low).tolist()
    return DrawnBox((x, y, z), (a, b, c))
