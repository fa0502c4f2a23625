"""``gltf-bullet bench start``: what the solve costs before its first step, in new processes."""

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

from gltf_bullet.cli.benches.assets import cart_pole_gltf

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


def _process(code: str, *, cache: str | None = None) -> float:
    """Seconds of a new Python."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cart_pole.gltf"
        path.write_bytes(cart_pole_gltf())
        environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
        start = time.perf_counter()
        subprocess.run(  # noqa: S603  # this Python and the lines above
            [sys.executable, "-c", code, str(path)],
            env=environment, check=True, capture_output=True,
        )  # fmt: skip
        return time.perf_counter() - start


def _cold(_: int) -> float:
    with TemporaryDirectory() as cache:
        return _process(_OURS, cache=cache) - _process(_OURS, cache=cache)


def _beyond(code: str) -> Callable[[int], float]:
    """Seconds more than bare PyBullet takes."""

    def measure(repeats: int) -> float:
        _process(code)  # what is cached is cached
        return median(_process(code) - _process(_BARE) for _ in range(repeats))

    return measure


START_ROWS = (
    StartRow("first-use", "kernels compiled, the cache empty", _cold, 15.0),
    StartRow("new-process", "load and first step, beyond bare PyBullet", _beyond(_OURS), 0.4),
)
"""In the order of the table."""
