"""Meshes that are boxes: engines draw these without a file."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from gltf_bullet.rendering.visual_plans import VisualMesh
from gltf_bullet.transforms import Vec3

__all__ = ["DrawnBox", "box_of"]

_TRIANGLES = 12
_FLAT = 1e-6
"""By how much a normal may differ from that of its face."""
_BITS = np.array([1, 2, 4])
"""Corners are numbered by the axes along which they are at the far end."""
_NORMALS = np.array([sign * np.eye(3)[axis] for axis in range(3) for sign in (-1.0, 1.0)])
"""Of the faces, by number."""


class DrawnBox(NamedTuple):
    """A box along the axes."""

    centre: Vec3
    """[m]"""
    size: Vec3
    """Full lengths of the edges [m]."""


def _halves() -> dict[tuple[int, int, int], tuple[int, int]]:
    """Faces, and the corners that are missing there, by the corners of triangles that look out."""
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
    """The box that a mesh is, seen from outside; ``None`` for any other and for textured ones."""
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
    # Two halves of a face share its diagonal: each lacks the corner opposite to the other's.
    for face, missing in faces.items():
        if len(missing) != 2 or missing[0] ^ missing[1] != 7 & ~(1 << face // 2):
            return None
    normals = _NORMALS[[half[0] for half in halves if half is not None]]
    if np.abs(mesh.normals[mesh.triangles] - normals[:, None]).max() > _FLAT:
        return None
    x, y, z = (0.5 * (low + high)).tolist()
    a, b, c = (high - low).tolist()
    return DrawnBox((x, y, z), (a, b, c))
