"""Concave meshes as convex parts (coacd), within bounds of time and memory, cached on disk.

A decomposition takes seconds and depends only on the triangles and three settings, so it is done
once per machine. ``GLTF_BULLET_CACHE`` or ``LoadOptions.cache_folder`` moves the cache.
"""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gltf_bullet.child_processes import python_command, start
from gltf_bullet.disk_cache import cache_folder, write_file
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.hulls import convex_hull
from gltf_bullet.planning.shapes.shape_plans import PointSet, TriangleSet
from gltf_bullet.transforms import FloatArray

__all__ = ["Decomposer", "Decomposition", "WorkerResult"]

# --- The worker process: ``coacd_worker.py`` with bounds of time and memory -----------------------

_WORKER: Final = Path(__file__).with_name("coacd_worker.py")

MEMORY_BYTES: Final = 600 * 2**20
"""Writable memory of the worker: together with 150 MB of a loading process at most 800 MB."""
_BUSY: Final = 3.0
"""Wall-clock time that the worker may take for each second of its own, on a busy machine."""
POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class WorkerResult:
    """Vertices of each part, and whether the search came to its end."""

    parts: tuple[FloatArray, ...]
    is_full: bool
    reason: str
    """Reason in a few words if the search did not end; else empty."""
    seconds: float = 0.0
    """CPU time that it took; 0 where the system does not count it."""


def run_worker(
    points: FloatArray,
    triangles: npt.NDArray[np.int64],
    *,
    threshold: float,
    max_parts: int,
    seconds: float,
    draft_seconds: float,
    progress: Callable[[float], object],
) -> WorkerResult:
    """Decompose a mesh of about unit size within a time; never raises on content.

    Args:
        points: Vertices, shape [point_count, 3].
        triangles: Shape [triangle_count, 3].
        threshold: Concavity that coacd tolerates.
        max_parts: Parts at most.
        seconds: CPU time after which the worker is ended, so that a busy machine gets the same
            parts as an idle one; wall-clock time where the system does not count it (Windows).
        draft_seconds: The same, but not less, as long as there is no draft.
        progress: Called with the share of the time that is used, in 0..1.
    """
    if seconds <= 0.0:
        return WorkerResult((), is_full=False, reason="no time is left")
    if not np.isfinite(points).all():
        return WorkerResult((), is_full=False, reason="its size cannot be carried")
    try:
        with tempfile.TemporaryDirectory(prefix="gltf_bullet_", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            np.savez(
                folder / "mesh.npz",
                allow_pickle=False,
                points=points,
                triangles=triangles,
                threshold=np.array(threshold),
                max_parts=np.array(max_parts),
                seconds=np.array(seconds),
                draft_seconds=np.array(draft_seconds),
                memory_bytes=np.array(MEMORY_BYTES),
            )
            before = _seconds_of_children()
            reason = _run_worker(folder, seconds, draft_seconds, progress)
            used = _seconds_of_children() - before
            for path, is_full in ((folder / "full.npz", True), (folder / "draft.npz", False)):
                parts = _read_parts(path)
                if parts is not None:
                    return WorkerResult(parts, is_full, "" if is_full else reason, used)
            return WorkerResult((), is_full=False, reason=reason, seconds=used)
    except OSError as error:
        reason = f"coacd could not be started: {error.strerror or error}"
    return WorkerResult((), is_full=False, reason=reason)


def _seconds_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _run_worker(
    folder: Path, seconds: float, draft_seconds: float, progress: Callable[[float], object]
) -> str:
    """Run the worker and return why it ended early, or an empty text; it is killed at the end."""
    if not sys.executable:
        return "there is no Python interpreter to run coacd with"
    longest = draft_seconds * (_BUSY if hasattr(signal, "SIGXCPU") else 1.0)
    begin = time.monotonic()
    with start(
        python_command(_WORKER, str(folder)),
        variables={"OPENBLAS_NUM_THREADS": "1"},
        out=subprocess.DEVNULL,
        error=subprocess.DEVNULL,
        apart=True,  # Ctrl-C at the terminal reaches this process, which ends the worker.
    ) as worker:
        try:
            while (used := time.monotonic() - begin) < longest:
                try:
                    code = worker.wait(timeout=min(POLL_SECONDS, longest - used))
                except subprocess.TimeoutExpired:
                    progress(min(1.0, used / seconds))
                    continue
                if code == -getattr(signal, "SIGPROF", 0):
                    return f"coacd did not end within {seconds:.2g} s"
                if code == -getattr(signal, "SIGXCPU", 0):
                    break
                return "" if code == 0 else f"coacd ended with code {code}"
            return f"coacd did not end within {draft_seconds:.2g} s"
        finally:
            worker.kill()


def _read_parts(path: Path) -> tuple[FloatArray, ...] | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            parts = [np.asarray(archive[name], np.float64) for name in archive.files]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    sound = [part for part in parts if part.ndim == 2 and np.isfinite(part).all()]
    return tuple(sound) if sound else None


# --- Decompositions of a scene, cached and with a shared budget of time ---------------------------

_RECIPE: Final = "coacd-2"
"""Version of the worker's results: raise it when they change, so that no old entry is used."""

_SHARE: Final = 0.7
"""Share of the remaining time that one mesh may use: later meshes get some as well."""
_LEAST_SECONDS: Final = 4.0
"""[s] that one mesh gets while they last: about the time of a draft of a large one."""

Outcome: TypeAlias = Literal["full", "draft", "none"]
"""``draft``: the time ended before the full search did; ``none``: no parts at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """Convex parts that cover a mesh, with the outcome of the search for them."""

    parts: tuple[PointSet, ...]
    outcome: Outcome
    seconds: float
    """The time [s] that it took, if it is ``full``; else that it had, at least its share."""
    reason: str = ""
    """Reason if the outcome is not ``full``; else empty."""


class Decomposer:
    """Decomposes the meshes of one scene, which share one budget of time."""

    def __init__(self, options: LoadOptions) -> None:
        self._options = options
        self._left = options.decomposition_seconds
        self._ahead = 0

    def expect(self, meshes: int) -> None:
        """Share the time evenly among so many meshes to come."""
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
        found = _read_cached(path)
        # A little less time will not give more.
        if found is None or not (found.outcome == "full" or found.seconds >= 0.9 * seconds):
            found = _run(mesh, seconds, longest, self._options)
            _write(path, found)
        # A cached result counts as if it were computed now: a scene that is loaded again has the
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
    # Coordinates of unit size, since coacd has absolute tolerances.
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


def _read_cached(path: Path) -> Decomposition | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            outcome = str(archive["outcome"])
            seconds = float(archive["seconds"])
            parts = [archive[f"part{k}"] for k in range(int(archive["count"]))]
            reason = str(archive["reason"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    # Whatever a cache file holds, the engine gets hulls or nothing.
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
