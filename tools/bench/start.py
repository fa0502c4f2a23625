"""``python -m tools.bench start``: what the solve costs before its first step, in new processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tools.bench.assets import cart_pole_gltf

__all__ = ["START_ROWS", "StartRow"]

_BARE = "import numpy, pybullet; pybullet.stepSimulation(pybullet.connect(pybullet.DIRECT))"
_OURS = (
    "import sys, pybullet, gltf_bullet as gb; "
    "gb.load_gltf(sys.argv[1], pybullet.connect(pybullet.DIRECT)).step()"
)


@dataclass(frozen=True, slots=True)
class StartRow:
    """One line of the table."""

    name: str
    what: str
    measure: Callable[[int], float]
    """Seconds; takes the number of repeats."""
    goal: float | None = None
    """The largest good value [s] (DESIGN section 8)."""


def _process(code: str, folder: str) -> float:
    """Seconds of a new Python, which keeps its byte code in ``folder``."""
    path = Path(folder) / "cart_pole.gltf"
    path.write_bytes(cart_pole_gltf())
    kept = {"PYTHONPYCACHEPREFIX": folder}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(  # this Python and the lines above
        [sys.executable, "-c", code, str(path)],
        env=environment | kept, check=True, capture_output=True,
    )  # fmt: skip
    return time.perf_counter() - start


def _new(repeats: int) -> float:
    """Seconds more than bare PyBullet takes."""
    with TemporaryDirectory() as folder:
        _process(_OURS, folder)  # what is kept is kept
        return median(_process(_OURS, folder) - _process(_BARE, folder) for _ in range(repeats))


START_ROWS = (StartRow("new-process", "load and first step, beyond bare PyBullet", _new, 0.4),)
"""In the order of the table."""
