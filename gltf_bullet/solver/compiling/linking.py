"""Objects become a library, by the linker of this system.

The build backend runs this file on its own, before anything is installed: it needs nothing but the
standard library.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

__all__ = ["link", "linker"]

_OPTIONS = ("-shared", "-nostartfiles", "-Wl,-z,noexecstack,-z,now,--build-id=none,-s")
"""Nothing in the library depends on when or where it was made."""


def linker() -> list[str]:
    """The command that links here; empty where there is none."""
    for command in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        words = shlex.split(command)
        if words and shutil.which(words[0]):
            return words
    return []


def link(objects: Iterable[Path], library: Path) -> None:
    """Make a library of objects.

    Raises:
        RuntimeError: It cannot be made; the message is the linker's.
    """
    command = [*linker(), *_OPTIONS, "-o", str(library), *map(str, objects), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"{command[0]} could not link the kernels: {done.stderr}")
