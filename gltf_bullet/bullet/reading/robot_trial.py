"""Robots that end PyBullet's process end that of a child first; what PyBullet says is caught there.

The texts are checked before, but nobody knows everything that PyBullet's importers trip over.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["RefusedError", "engine_lines", "try_robot", "without_engine_talk"]

_PROGRAM: Final = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # no pybullet.py of the working directory
import pybullet
call, path, fixed, flags = sys.argv[1:]
pybullet.connect(pybullet.DIRECT)
arguments = {"useFixedBase": fixed == "1", "flags": int(flags)} if call == "loadURDF" else {}
try:
    getattr(pybullet, call)(path, **arguments)
except pybullet.error:
    sys.exit(3)
"""
_REFUSED: Final = 3
"""How the program ends where PyBullet raises."""
_TAG: Final = re.compile(r"b3(?:Warning|Error|Printf)\[[^\]]*\]:\n?")
_FORESEEN: Final = (
    "unknown field", "unhandled", "No inertial data", "multiple root links",
    "joint without axis", "expected 'type' attribute", "requires 2 sizes", "geom requires type",
    "No default visual", "expected a world element", "joint unsupported", "no axis element",
    "Couldn't parse vector3", "Workaround activated",
)  # fmt: skip
"""Of what these lines tell there are issues that say it better, or it is nothing."""
_LONGEST: Final = 400
"""Characters of what PyBullet says."""


class RefusedError(Exception):
    """PyBullet does not load the file; the message says why."""


def try_robot(call: str, file: Path, *, fixed_base: bool, flags: int) -> str:
    """Load a file in a process of its own, and return what PyBullet said.

    Args:
        call: ``"loadURDF"``, ``"loadSDF"`` or ``"loadMJCF"``.
        file: What to load.
        fixed_base: URDF: the base stands still.
        flags: Of ``loadURDF``.

    Raises:
        RefusedError: PyBullet raises, or its process ends.
    """
    if not sys.executable:  # Python within another program
        return ""
    done = subprocess.run(  # noqa: S603  # our own program; the path is an argument of it
        [sys.executable, "-c", _PROGRAM, call, str(file), str(int(fixed_base)), str(flags)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace").replace(f"{file.parent}{os.sep}", "")
    if done.returncode == 0:
        return said
    if done.returncode == _REFUSED:
        raise RefusedError(engine_lines(said, ()) or "it says no reason")
    raise RefusedError(f"its process ends (exit code {done.returncode}) {engine_lines(said, ())}")


def engine_lines(said: str, passed_over: tuple[str, ...] = _FORESEEN) -> str:
    """What PyBullet said, in one line, without what issues tell."""
    said = re.sub(r"^pybullet build time.*$", "", said, flags=re.MULTILINE)
    parts = [" ".join(part.split()) for part in _TAG.split(said)]
    kept = []
    is_name = False
    for part in parts:
        if not part:
            continue
        # Names of what a line is about come as lines of their own.
        if any(words in part for words in passed_over) or (is_name and " " not in part):
            is_name = True
            continue
        is_name = False
        kept.append(part)
    line = "; ".join(kept)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


@contextmanager
def without_engine_talk() -> Iterator[None]:
    """What C code prints goes nowhere: the output may be JSON."""
    sys.stdout.flush()
    library = ctypes.CDLL(None) if os.name == "posix" else ctypes.cdll.msvcrt
    library.fflush(None)
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        library.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
