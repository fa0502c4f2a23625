"""Concave meshes as convex parts (coacd), kept on disk by content.

A decomposition takes seconds and depends only on the triangles and three settings, so it is done
once per machine. ``GLTF_BULLET_CACHE`` or ``LoadOptions.cache_folder`` moves the cache.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import platformdirs

from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.hulls import convex_hull
from gltf_bullet.planning.shapes.shape_plans import PointSet, TriangleSet
from gltf_bullet.transforms import FloatArray

__all__ = ["decompose"]

# Raise it when the settings below change, so that old cache entries are not taken for new ones.
_RECIPE = "coacd-1"


def decompose(mesh: TriangleSet, options: LoadOptions) -> tuple[PointSet, ...]:
    """Convex parts that cover ``mesh``, at most ``options.max_convex_parts`` of them.

    Deterministic (coacd's seed is fixed). A cache that cannot be read or written is not an error.
    """
    folder = _cache_folder(options)
    settings = repr(
        (
            _RECIPE,
            options.decomposition_threshold,
            options.max_convex_parts,
            options.max_hull_points,
        )
    )
    name = hashlib.blake2b((mesh.digest + settings).encode(), digest_size=16).hexdigest() + ".npz"
    cached = _read(folder / name)
    if cached is None:
        cached = _run_coacd(mesh, options)
        _write(folder / name, cached)
    return cached


def _cache_folder(options: LoadOptions) -> Path:
    chosen = options.cache_folder or os.environ.get("GLTF_BULLET_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gltf_bullet")) / "hulls"


def _run_coacd(mesh: TriangleSet, options: LoadOptions) -> tuple[PointSet, ...]:
    import coacd  # half a second and 40 MB: only where a concave body moves

    coacd.set_log_level("error")
    parts = coacd.run_coacd(
        coacd.Mesh(np.array(mesh.points), np.array(mesh.triangles)),
        threshold=options.decomposition_threshold,
        max_convex_hull=options.max_convex_parts,
        seed=0,
    )
    hulls = [_hull_or_none(np.asarray(points), options.max_hull_points) for points, _ in parts]
    return tuple(hull for hull in hulls if hull is not None)


def _hull_or_none(points: FloatArray, max_points: int) -> PointSet | None:
    """The reduced hull of a part; ``None`` for a sliver without volume, which carries nothing."""
    try:
        return PointSet(convex_hull(points, max_points).points)
    except ValueError:
        return None


def _read(path: Path) -> tuple[PointSet, ...] | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return tuple(PointSet(archive[f"part{k}"]) for k in range(len(archive.files)))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def _write(path: Path, parts: tuple[PointSet, ...]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed: parallel workers never see half a file.
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            named = {f"part{k}": np.asarray(part.points) for k, part in enumerate(parts)}
            np.savez_compressed(file, allow_pickle=False, **named)
        os.replace(temporary, path)
    except OSError:
        return
