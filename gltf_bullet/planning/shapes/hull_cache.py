"""Hulls on disk, by the points that they are of: the first load of a robot is mostly theirs.

An entry is a mesh under its scale, wherever it stands. A cache that cannot be read or written is no
error, and an entry that is damaged is none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gltf_bullet.disk_cache import read_entry, write_entry
from gltf_bullet.planning.shapes.hulls import Hull, convex_hull
from gltf_bullet.planning.shapes.shape_plans import PointSet

__all__ = ["kept_hull"]

_RECIPE = "2"
"""Raise it when hulls of the same points become others."""
_WORTH_IT = 200
"""Points from which on reading a hull is quicker than computing it (0.1 ms); of fewer ones where
scipy need not be imported for it (0.25 s of a new process)."""
_HEADER, _ROW = 24, 24
"""Bytes: of four numbers and the deviation; of a point or a triangle."""


def kept_hull(points: PointSet, max_points: int, folder: Path) -> Hull:
    """``convex_hull``, computed once per machine.

    Raises:
        ValueError: As of ``convex_hull``.
    """
    path = folder / f"{points.digest}-{_RECIPE}-{max_points}.hull"
    is_slow = len(points.points) >= _WORTH_IT or "scipy.spatial" not in sys.modules
    found = _read(path) if is_slow else None
    if found is None:
        found = convex_hull(points.points, max_points)
        if is_slow or not path.exists():
            _write(path, found)
    return found


def _read(path: Path) -> Hull | None:
    content = read_entry(path)
    if content is None or len(content) < _HEADER:
        return None
    corners, faces, was_flat = np.frombuffer(content, "<i4", 3).tolist()
    if min(corners, faces) < 0 or len(content) != _HEADER + _ROW * (corners + faces):
        return None
    deviation = float(np.frombuffer(content, "<f8", 1, 16)[0])
    points = np.frombuffer(content, "<f8", 3 * corners, _HEADER).reshape(-1, 3)
    triangles = np.frombuffer(content, "<i8", 3 * faces, _HEADER + _ROW * corners).reshape(-1, 3)
    if not np.isfinite(points).all() or not ((triangles >= 0) & (triangles < corners)).all():
        return None
    return Hull(points, triangles, deviation, bool(was_flat))


def _write(path: Path, hull: Hull) -> None:
    sizes = np.array([len(hull.points), len(hull.triangles), hull.was_flat, 0], dtype="<i4")
    write_entry(
        path,
        (
            sizes.tobytes(),
            np.array([hull.deviation], dtype="<f8").tobytes(),
            hull.points.astype("<f8").tobytes(),
            hull.triangles.astype("<i8").tobytes(),
        ),
    )
