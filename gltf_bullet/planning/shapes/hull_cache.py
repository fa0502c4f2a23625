"""Hulls on disk, by the points that they are of: the first load of a robot is mostly theirs.

An entry is a mesh under its scale, wherever it stands. A cache that cannot be read or written is no
error, and an entry that is damaged is none.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import platformdirs

from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.hulls import Hull, convex_hull
from gltf_bullet.planning.shapes.shape_plans import PointSet

__all__ = ["cache_folder", "kept_hull"]

_RECIPE = "1"
"""Raise it when hulls of the same points become others."""
_WORTH_IT = 200
"""Points from which on reading a hull is quicker than computing it (0.1 ms); of fewer ones where
scipy need not be imported for it (0.25 s of a new process)."""
_MOST_BYTES = 256 << 20
"""Of all entries of the folder; the oldest go first."""
_LOOK_EVERY = 32
"""Entries of which one, when it is written, has the folder measured."""
_DIGEST, _HEADER, _ROW = 16, 24, 24
"""Bytes: of the checksum in front; of four numbers and the deviation; of a point or a triangle."""


def cache_folder(options: LoadOptions) -> Path:
    """Where what takes long to compute is kept on this machine."""
    chosen = options.cache_folder or os.environ.get("GLTF_BULLET_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gltf_bullet")) / "hulls"


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
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, content = data[:_DIGEST], data[_DIGEST:]
    if len(content) < _HEADER or hashlib.blake2b(content, digest_size=_DIGEST).digest() != digest:
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
    content = b"".join(
        (
            sizes.tobytes(),
            np.array([hull.deviation], dtype="<f8").tobytes(),
            hull.points.astype("<f8").tobytes(),
            hull.triangles.astype("<i8").tobytes(),
        )
    )
    digest = hashlib.blake2b(content, digest_size=_DIGEST).digest()
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed: parallel workers never see half a file.
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(digest + content)
        os.replace(temporary, path)
        if digest[0] % _LOOK_EVERY == 0:
            _shrink(path.parent)
    except OSError:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)


def _shrink(folder: Path) -> None:
    """Forget the oldest entries of a folder that has grown too large."""
    entries = sorted((s.st_mtime, s.st_size, p) for p in folder.iterdir() for s in [p.stat()])
    left = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if left <= _MOST_BYTES:
            return
        with suppress(OSError):
            path.unlink()
        left -= size
