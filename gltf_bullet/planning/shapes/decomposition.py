"""Concave meshes as convex parts (coacd), within a limit of time and memory, kept on disk.

A decomposition takes seconds and depends only on the triangles and three settings, so it is done
once per machine. ``GLTF_BULLET_CACHE`` or ``LoadOptions.cache_folder`` moves the cache.
"""

from __future__ import annotations

import hashlib
import io
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from gltf_bullet.disk_cache import cache_folder, write_file
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.decomposition_process import run_worker
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
    """The time [s] that it took, if it is ``full``; else that it had, at least its share."""
    reason: str = ""
    """Why it is not ``full``."""


class Decomposer:
    """Decomposes the meshes of one scene, which share one budget of time."""

    def __init__(self, options: LoadOptions) -> None:
        self._options = options
        self._left = options.decomposition_seconds
        self._ahead = 0

    def expect(self, meshes: int) -> None:
        """Share the time evenly among so many meshes that are to come."""
        self._ahead = meshes

    def decompose(self, mesh: TriangleSet) -> Decomposition:
        """Convex parts of ``mesh``, at most ``options.max_convex_parts`` of them.

        A full decomposition is deterministic (coacd's seed is fixed). A cache that cannot be read
        or written is not an error.
        """
        path = cache_folder(self._options.cache_folder) / _name_in_cache(mesh, self._options)
        seconds = min(_SHARE, 1.0 / max(self._ahead, 1)) * self._left
        longest = min(self._left, max(_LEAST_SECONDS, seconds))
        self._ahead -= 1
        found = _read_kept(path)
        # A little less time will not give more.
        if found is None or not (found.outcome == "full" or found.seconds >= 0.9 * seconds):
            found = _run(mesh, seconds, longest, self._options)
            _write(path, found)
        # What was found before counts as if it were found now: a scene that is loaded again has the
        # same shares, and computes nothing.
        self._left -= min(longest, found.seconds)
        return found


def _name_in_cache(mesh: TriangleSet, options: LoadOptions) -> str:
    settings = repr(
        (
            _RECIPE,
            options.decomposition_threshold,
            options.max_convex_parts,
            options.stand_in_points,
        )
    )
    content = (mesh.digest + settings).encode()
    return hashlib.blake2b(content, digest_size=16).hexdigest() + ".npz"


def _run(
    mesh: TriangleSet, seconds: float, draft_seconds: float, options: LoadOptions
) -> Decomposition:
    begin = time.monotonic()
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    center, size = 0.5 * (low + high), float((high - low).max())
    # Of unit size, whatever the mesh's: coacd has absolute tolerances.
    result = run_worker(
        (mesh.points - center) / size,
        np.asarray(mesh.triangles),
        threshold=options.decomposition_threshold,
        max_parts=options.max_convex_parts,
        seconds=seconds,
        draft_seconds=draft_seconds,
        progress=_reporter(options.progress),
    )
    parts = tuple(
        hull
        for points in result.parts
        if (hull := _hull_or_none(points * size + center, options.stand_in_points)) is not None
    )
    outcome: Outcome = "none" if not parts else "full" if result.is_full else "draft"
    used = min(draft_seconds, result.seconds or time.monotonic() - begin)
    return Decomposition(
        parts, outcome, used if outcome == "full" else max(seconds, used), result.reason
    )


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


def _read_kept(path: Path) -> Decomposition | None:
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
    archive = io.BytesIO()
    np.savez_compressed(
        archive,
        allow_pickle=False,
        count=np.array(len(found.parts)),
        outcome=np.array(found.outcome),
        seconds=np.array(found.seconds),
        reason=np.array(found.reason),
        **{f"part{k}": np.asarray(part.points) for k, part in enumerate(found.parts)},
    )
    write_file(path, [archive.getbuffer()])
