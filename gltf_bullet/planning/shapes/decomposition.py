"""Concave meshes as convex parts (coacd), within bounds of work and memory, cached on disk.

A decomposition takes seconds and depends only on the triangles and the options, so it is done
once per machine. ``GLTF_BULLET_CACHE`` or ``LoadOptions.cache_folder`` moves the cache.
"""

from __future__ import annotations

import io
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.digests import digest_of
from gltf_bullet.disk_cache import cache_folder, write_file
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.hulls import convex_hull
from gltf_bullet.planning.shapes.shape_plans import PointSet, TriangleSet
from gltf_bullet.private_folders import scratch_folder
from gltf_bullet.transforms import FloatArray

# --- The worker process: ``coacd_worker.py`` with bounds of memory and a watchdog -----------------

_WORKER: Final = Path(__file__).with_name("coacd_worker.py")

MEMORY_BYTES: Final = 600 * 2**20
"""Writable memory of the worker: together with 150 MB of a loading process at most 800 MB."""
_BUSY: Final = 10.0
"""Wall-clock time that the worker may take for each second of its own, on a busy machine."""
POLL_SECONDS: Final = 0.05


class WorkerResult(Struct, frozen=True, eq=False):
    """Vertices of each part, and whether the search came to its end."""

    parts: tuple[FloatArray, ...]
    is_full: bool
    reason: str
    """Reason in a few words if the search did not end; else empty."""


def run_worker(
    points: FloatArray,
    triangles: npt.NDArray[np.int64],
    *,
    threshold: float,
    max_parts: int,
    fine_search_parts: int,
    seconds: float,
    progress: Callable[[float], object],
) -> WorkerResult:
    """Decompose a mesh of about unit size; never raises on content.

    Args:
        points: Vertices, shape [point_count, 3].
        triangles: Shape [triangle_count, 3].
        threshold: Concavity that coacd tolerates.
        max_parts: Parts at most.
        fine_search_parts: Most coarse parts of a mesh that is searched finely.
        seconds: CPU time after which the worker is ended, so that a busy machine gets the same
            parts as an idle one; wall-clock time where the system does not count it (Windows).
        progress: Called with the share of the time that is used, in 0..1.
    """
    if seconds <= 0.0:
        return WorkerResult((), is_full=False, reason="no time is left")
    if not np.isfinite(points).all():
        return WorkerResult((), is_full=False, reason="its size cannot be carried")
    try:
        with tempfile.TemporaryDirectory(dir=scratch_folder(), ignore_cleanup_errors=True) as name:
            folder = Path(name)
            np.savez(
                folder / "mesh.npz",
                allow_pickle=False,
                points=points,
                triangles=triangles,
                threshold=np.array(threshold),
                max_parts=np.array(max_parts),
                fine_search_parts=np.array(fine_search_parts),
                seconds=np.array(seconds),
                memory_bytes=np.array(MEMORY_BYTES),
            )
            reason = _run_worker(folder, seconds, progress)
            for path, is_full in ((folder / "full.npz", True), (folder / "draft.npz", False)):
                parts = _read_parts(path)
                if parts is not None:
                    return WorkerResult(parts, is_full, "" if is_full else reason)
            return WorkerResult((), is_full=False, reason=reason)
    except OSError as error:
        reason = f"coacd could not be started: {error.strerror or error}"
    return WorkerResult((), is_full=False, reason=reason)


def _run_worker(folder: Path, seconds: float, progress: Callable[[float], object]) -> str:
    """Run the worker and return why it ended early, or an empty text; it is killed at the end."""
    import subprocess  # 6 ms, and few meshes are decomposed

    from gltf_bullet.child_processes import python_command, start

    if not sys.executable:
        return "there is no Python interpreter to run coacd with"
    longest = seconds * (_BUSY if hasattr(signal, "SIGXCPU") else 1.0)
    begin = time.monotonic()
    with start(
        python_command(_WORKER, str(folder)),
        variables={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
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
                if code == -getattr(signal, "SIGXCPU", 0):
                    break
                return "" if code == 0 else f"coacd ended with code {code}"
            return f"coacd did not end within {seconds:.3g} s of computing"
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


# --- Decompositions of a scene, cached ------------------------------------------------------------

_RECIPE: Final = "coacd-3"
"""Version of the worker's results: raise it when they change, so that no old entry is used."""

Outcome: TypeAlias = Literal["full", "draft", "none"]
"""``draft``: the watchdog struck after the coarse search; ``none``: no parts at all."""


class Decomposition(Struct, frozen=True, eq=False):
    """Convex parts that cover a mesh, with the outcome of the search for them."""

    parts: tuple[PointSet, ...]
    outcome: Outcome
    reason: str = ""
    """Reason if the outcome is not ``full``; else empty."""


class Decomposer:
    """Decomposes the meshes of one scene, each as if it were alone."""

    def __init__(self, options: LoadOptions) -> None:
        self._options = options

    def decompose(self, mesh: TriangleSet) -> Decomposition:
        """Convex parts of ``mesh``, at most ``options.max_convex_parts`` of them.

        A full decomposition follows from the mesh and the options alone (counts bound the search,
        coacd's seed is fixed) and is cached; what a watchdog cut short is not, since it depends on
        the machine. A cache that cannot be read or written is not an error.
        """
        path = cache_folder(self._options.cache_folder) / _name_in_cache(mesh, self._options)
        found = _read_cached(path)
        if found is None:
            found = _run(mesh, self._options)
            if found.outcome == "full":
                _write(path, found)
        return found


def _name_in_cache(mesh: TriangleSet, options: LoadOptions) -> str:
    settings = repr(
        (
            _RECIPE,
            options.decomposition_threshold,
            options.max_convex_parts,
            options.fine_search_parts,
            options.stand_in_points,
        )
    )
    content = (mesh.digest + settings).encode()
    return digest_of(content).hex() + ".npz"


def _run(mesh: TriangleSet, options: LoadOptions) -> Decomposition:
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    center, size = 0.5 * (low + high), float((high - low).max())
    # Coordinates of unit size, since coacd has absolute tolerances.
    result = run_worker(
        (mesh.points - center) / size,
        np.asarray(mesh.triangles),
        threshold=options.decomposition_threshold,
        max_parts=options.max_convex_parts,
        fine_search_parts=options.fine_search_parts,
        seconds=options.decomposition_seconds,
        progress=_reporter(options.progress),
    )
    parts = tuple(
        hull
        for points in result.parts
        if (hull := _hull_or_none(points * size + center, options.stand_in_points)) is not None
    )
    outcome: Outcome = "none" if not parts else "full" if result.is_full else "draft"
    return Decomposition(parts, outcome, result.reason)


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
            parts = [archive[f"part{k}"] for k in range(int(archive["count"]))]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    # Whatever a cache file holds, the engine gets hulls or nothing.
    is_sound = all(p.ndim == 2 and p.shape[1] == 3 and np.isfinite(p).all() for p in parts)
    if not parts or not is_sound:
        return None
    return Decomposition(tuple(map(PointSet, parts)), "full")


def _write(path: Path, found: Decomposition) -> None:
    archive = io.BytesIO()
    np.savez_compressed(
        archive,
        allow_pickle=False,
        count=np.array(len(found.parts)),
        **{f"part{k}": np.asarray(part.points) for k, part in enumerate(found.parts)},
    )
    write_file(path, [archive.getbuffer()])
