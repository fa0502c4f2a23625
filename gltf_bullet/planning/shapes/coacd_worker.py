"""A script that runs in its own process: coacd on one mesh, a coarse search, then a fine one.

All work is bounded by counts, so that the parts depend on the mesh and the options alone.

coacd ends the whole process on some meshes (``std::length_error``), takes minutes and gigabytes on
others, and cannot be interrupted. So it never runs in the user's process: ``decomposition.py``
starts this file, takes the parts that it has written when it ends, or when a watchdog ends it.

``python coacd_worker.py FOLDER``: reads ``FOLDER/mesh.npz``, writes ``draft.npz`` and ``full.npz``.
Imports nothing of this package, so that it starts fast and wherever the package lies.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_TRIANGLES = 2000
"""Triangles that coacd is given, if the mesh can be simplified to so few. A bumpy ball of 81920
took 0.1 s to simplify; coacd then takes 3 s for a draft, and did not end within 170 s before."""
VOLUME_TOLERANCE = 0.03
"""Relative change of a closed mesh's volume above which a simplification is not used: edge
collapse tears thin parts open."""

COARSE: dict[str, Any] = {
    "mcts_iterations": 10,
    "mcts_nodes": 8,
    "mcts_max_depth": 2,
    "resolution": 300,
}
"""A search more than ten times shorter than coacd's own, for a first result."""
COARSE_THRESHOLD = 0.15
COARSE_GRID = 20
"""Cells of the grid on which a mesh that is not simple is made anew for the coarse search; 30 takes
twice the time (measured on 60416 triangles: 3.3 s and 5.1 s)."""
FINE: dict[str, Any] = {
    "mcts_iterations": 40,
    "mcts_nodes": 12,
    "mcts_max_depth": 2,
    "resolution": 1000,
}
"""The search with the user's threshold: 2.3 s for 2000 triangles that give 15 parts (measured)."""


def limit_resources(seconds: float, memory_bytes: int) -> None:
    """Bounds that hold even when the starting process is gone."""
    try:
        import resource
    except ImportError:  # Windows: the starting process watches the time
        return
    # CPU seconds of all threads together; coacd uses little more than one (measured).
    for kind, limit in (
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_CPU, math.ceil(seconds)),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        with contextlib.suppress(OSError, ValueError):  # macOS refuses some
            resource.setrlimit(kind, (limit, hard))


def simplified(points: FloatArray, triangles: IntArray) -> tuple[FloatArray, IntArray]:
    """The mesh with about ``MAX_TRIANGLES``; as it is where that would change its volume."""
    if len(triangles) <= MAX_TRIANGLES:
        return points, triangles
    import fast_simplification

    fewer_points, fewer = fast_simplification.simplify(
        points.astype(np.float32), triangles.astype(np.int32), target_count=MAX_TRIANGLES
    )
    fewer_points, fewer = fewer_points.astype(np.float64), fewer.astype(np.int64)
    before, after = volume(points, triangles), volume(fewer_points, fewer)
    if not len(fewer) or abs(after - before) > VOLUME_TOLERANCE * abs(before):
        return points, triangles
    return fewer_points, fewer


def volume(points: FloatArray, triangles: IntArray) -> float:
    """Signed volume [m^3]; of an open mesh that of the cone over it, which changes with it too."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def write(parts: list[Any], path: Path) -> None:
    """Write the vertices of each part; a rename at the end hides the file until it is complete."""
    aside = path.with_suffix(".tmp")
    with open(aside, "wb") as file:
        named = {f"part{k}": np.asarray(points) for k, (points, _) in enumerate(parts)}
        np.savez(file, allow_pickle=False, **named)
    os.replace(aside, path)


def run(folder: Path) -> None:
    """Decompose the mesh in ``folder``."""
    with np.load(folder / "mesh.npz", allow_pickle=False) as given:
        points, triangles = given["points"], given["triangles"]
        threshold, max_parts = float(given["threshold"]), int(given["max_parts"])
        fine_search_parts = int(given["fine_search_parts"])
        limit_resources(float(given["seconds"]), int(given["memory_bytes"]))
    import coacd

    coacd.set_log_level("off")
    points, triangles = simplified(points, triangles)
    mesh = coacd.Mesh(points, triangles)
    is_simple = len(triangles) <= MAX_TRIANGLES
    coarse = coacd.run_coacd(
        mesh,
        threshold=max(threshold, COARSE_THRESHOLD),
        max_convex_hull=max_parts,
        preprocess_mode="auto" if is_simple else "on",
        preprocess_resolution=COARSE_GRID,
        seed=0,
        **COARSE,
    )
    if not is_simple or len(coarse) > fine_search_parts:
        write(coarse, folder / "full.npz")
        return
    write(coarse, folder / "draft.npz")
    fine = coacd.run_coacd(mesh, threshold=threshold, max_convex_hull=max_parts, seed=0, **FINE)
    write(fine, folder / "full.npz")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
