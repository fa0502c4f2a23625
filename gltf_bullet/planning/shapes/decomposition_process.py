"""Runs ``coacd_worker.py`` in a process of its own and takes what it has when its time is over."""

from __future__ import annotations

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
from typing import Final

import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import FloatArray

__all__ = ["WorkerResult", "run_worker"]

_WORKER: Final = Path(__file__).with_name("coacd_worker.py")

_LAUNCH: Final = """
import sys
sys.path = [path for path in sys.path if path]
del sys.argv[0]
import runpy
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""``python FILE`` would look for modules beside the file first, and ``python -c`` in the working
directory, where a downloaded asset may have brought a ``numpy.py``."""

MEMORY_BYTES: Final = 600 * 2**20
"""Writable memory of the worker: with 150 MB of a loading process, 800 MB in all are not passed."""
_BUSY: Final = 3.0
"""Wall-clock time that the worker may take for each second of its own, on a busy machine."""
POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class WorkerResult:
    """Vertices of each part, and whether the search came to its end."""

    parts: tuple[FloatArray, ...]
    is_full: bool
    reason: str
    """Why not, in a few words; empty where it did."""
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
        draft_seconds: As much, not less, as long as there is no draft.
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
    """Why the worker ended; whatever ends this function ends the worker."""
    if not sys.executable:
        return "there is no Python interpreter to run coacd with"
    environment = dict(os.environ)
    # The worker finds what this process finds, and does not take its own folder for a package's.
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["OPENBLAS_NUM_THREADS"] = "1"
    longest = draft_seconds * (_BUSY if hasattr(signal, "SIGXCPU") else 1.0)
    begin = time.monotonic()
    with subprocess.Popen(  # noqa: S603  # our own file and folder
        [sys.executable, "-c", _LAUNCH, str(_WORKER), str(folder)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C at the terminal reaches this process, which ends the worker.
        start_new_session=True,
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
