"""Concave meshes as convex parts (coacd), within a limit of time and memory, kept on disk.

A decomposition takes seconds and depends only on the triangles and three settings, so it is done
once per machine. ``GLTF_BULLET_CACHE`` or ``LoadOptions.cache_folder`` moves the cache.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.decomposition_process import run_worker
from gltf_bullet.planning.shapes.hull_cache import cache_folder
from gltf_bullet.planning.shapes.hulls import convex_hull
from gltf_bullet.planning.shapes.shape_plans import PointSet, TriangleSet
from gltf_bullet.transforms import FloatArray

__all__ = ["Decomposer", "Decomposition"]

_RECIPE: Final = "coacd-2"
"""Raise it when what the worker does changes, so that old cache entries are not taken for new."""

_SHARE: Final = 0.7
"""Of the time that is left, what one mesh may use: those that come later get some as well."""
_LEAST_SECONDS: Final = 4.0
"""[s] that one mesh gets as long as they are there: about what a draft of a large one takes."""

Outcome: TypeAlias = Literal["full", "draft", "none"]
"""``draft``: the time ended before the full search did; ``none``: no parts at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """Convex parts that cover a mesh."""

    parts: tuple[PointSet, ...]
    outcome: Outcome
    seconds: float
    """The time [s] that it was allowed to take."""
    reason: str = ""
    """Why it is not ``full``."""


class Decomposer:
    """Decomposes the meshes of one scene, which share one budget of time."""

    def __init__(self, options: LoadOptions) -> None:
        self._options = options
        self._left = options.decomposition_seconds

    def decompose(self, mesh: TriangleSet) -> Decomposition:
        """Convex parts of ``mesh``, at most ``options.max_convex_parts`` of them.

        A full decomposition is deterministic (coacd's seed is fixed). A cache that cannot be read
        or written is not an error.
        """
        path = cache_folder(self._options) / _name_in_cache(mesh, self._options)
        seconds = min(self._left, max(_LEAST_SECONDS, _SHARE * self._left))
        cached = _read(path)
        # A little less time will not give more.
        if cached is not None and (cached.outcome == "full" or cached.seconds >= 0.9 * seconds):
            return cached
        begin = time.monotonic()
        found = _run(mesh, seconds, self._options)
        # On a busy machine more time passes than the worker was given.
        self._left -= min(seconds, time.monotonic() - begin)
        _write(path, found)
        return found


def _name_in_cache(mesh: TriangleSet, options: LoadOptions) -> str:
    settings = repr(
        (
            _RECIPE,
            options.decomposition_threshold,
            options.max_convex_parts,
            options.max_hull_points,
        )
    )
    content = (mesh.digest + settings).encode()
    return hashlib.blake2b(content, digest_size=16).hexdigest() + ".npz"


def _run(mesh: TriangleSet, seconds: float, options: LoadOptions) -> Decomposition:
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    center, size = 0.5 * (low + high), float((high - low).max())
    # Of unit size, whatever the mesh's: coacd has absolute tolerances.
    result = run_worker(
        (mesh.points - center) / size,
        np.asarray(mesh.triangles),
        threshold=options.decomposition_threshold,
        max_parts=options.max_convex_parts,
        seconds=seconds,
        progress=_reporter(options.progress),
    )
    parts = tuple(
        hull
        for points in result.parts
        if (hull := _hull_or_none(points * size + center, options.max_hull_points)) is not None
    )
    outcome: Outcome = "none" if not parts else "full" if result.is_full else "draft"
    return Decomposition(parts, outcome, seconds, result.reason)


def _reporter(progress: Callable[[str, float], object] | None) -> Callable[[float], object]:
    if progress is None:
        return lambda _: None
    return lambda share: progress("decomposing a concave mesh", share)


def _hull_or_none(points: FloatArray, max_points: int) -> PointSet | None:
    """The reduced hull of a part; ``None`` for a sliver without volume, which carries nothing."""
    try:
        return PointSet(convex_hull(points, max_points).points)
    except ValueError:
        return None


def _read(path: Path) -> Decomposition | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            outcome = str(archive["outcome"])
            seconds = float(archive["seconds"])
            parts = [archive[f"part{k}"] for k in range(int(archive["count"]))]
            reason = str(archive["reason"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    # Whatever stands in a cache file, the engine gets hulls or nothing.
    is_sound = all(p.ndim == 2 and p.shape[1] == 3 and np.isfinite(p).all() for p in parts)
    if not is_sound or outcome not in get_args(Outcome) or (outcome == "none") != (not parts):
        return None
    return Decomposition(tuple(map(PointSet, parts)), outcome, seconds, reason)  # type: ignore[arg-type]


def _write(path: Path, found: Decomposition) -> None:
    named = {f"part{k}": np.asarray(part.points) for k, part in enumerate(found.parts)}
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed: parallel workers never see half a file.
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(
                file,
                allow_pickle=False,
                count=np.array(len(found.parts)),
                outcome=np.array(found.outcome),
                seconds=np.array(found.seconds),
                reason=np.array(found.reason),
                **named,
            )
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
