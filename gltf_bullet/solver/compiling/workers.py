"""Processes that compile side by side, one per core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, cast

from gltf_bullet.solver.compiling.progress import ProgressLine

__all__ = ["run_workers"]

_PROGRAM = (
    "import sys; sys.path[:] = {!r}; import gc; gc.disable(); "
    "from gltf_bullet.solver.compiling import progress; progress.report_to(sys.stdout); "
    "import {}; {}"
)
"""The program of each process: looking for garbage would take a tenth of the time, and save 100 MB
(measured).

Places to import from are not theirs from the start: a ``types.py`` there would end them.
"""


def run_workers(
    modules: tuple[str, ...], task: str, environment: Mapping[str, str], line: ProgressLine
) -> bool:
    """Import modules in a process per core and do something there.

    Args:
        modules: Dealt among the processes, the one that takes longest first.
        task: Python, run in each when its modules are imported.
        environment: Environment variables of the processes.
        line: Shows how far they are.

    Returns:
        True if no process failed.
    """
    places = [os.path.abspath(path) for path in sys.path]
    workers = [
        subprocess.Popen(  # noqa: S603  # our own module, by the same interpreter
            [sys.executable, "-c", _PROGRAM.format(places, ", ".join(dealt), task)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for dealt in _deal(modules, _cores())
    ]
    line.follow([cast("IO[str]", worker.stdout) for worker in workers])
    codes = [worker.wait() for worker in workers]
    return not any(codes)


def _cores() -> int:
    """Count the cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _deal(modules: tuple[str, ...], hands: int) -> list[tuple[str, ...]]:
    """Longest first, to and fro: as long for each as can be, of the few that there are."""
    hands = min(hands, len(modules))
    return [modules[k :: 2 * hands] + modules[2 * hands - 1 - k :: 2 * hands] for k in range(hands)]
