"""Every child process is started here, and finds no code of the folder that somebody works in.

A downloaded asset may come with a ``pybullet.py``. ``python -c`` looks for modules in the working
directory, ``python FILE`` beside the file; ``PYTHONPATH`` may name both by an empty entry, and so
may the search paths of programs and libraries.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final, TypeAlias

ChildProcess: TypeAlias = "subprocess.Popen[bytes]"

_NOWHERE: Final = os.path.abspath(os.sep)
"""The working directory of a child that is given none: nothing is put there by accident."""
_PACKAGES: Final = str(Path(__file__).resolve().parents[1])
_LAUNCH: Final = "import sys; sys.path[:] = {paths!r}; {program}"
_RUN: Final = "import runpy; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"


def python_command(program: str | Path, *arguments: str) -> list[str]:
    """Return a command that runs a program in this interpreter.

    It imports from where this process does, except from its working directory.

    Args:
        program: Text of the program, after ``import sys``, or its file.
        arguments: The rest of its ``sys.argv``; paths must be absolute.
    """
    paths = [os.path.abspath(path) for path in sys.path if path]
    if _PACKAGES not in paths:
        paths.append(_PACKAGES)
    is_file = isinstance(program, Path)
    text = _LAUNCH.format(paths=paths, program=_RUN if is_file else f"exec({program!r})")
    return [sys.executable, "-I", "-c", text, *([str(program)] if is_file else []), *arguments]


def start(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    out: int | IO[bytes] = subprocess.PIPE,
    error: int | IO[bytes] = subprocess.STDOUT,
    apart: bool = False,
) -> ChildProcess:
    """Start a program with absolute paths as arguments; its input is empty.

    Args:
        command: The program and its arguments.
        folder: Its working directory; ``None``: the root of the file system.
        variables: Environment variables that differ from those of this process.
        out: Its standard output, as for ``subprocess.Popen``.
        error: Its standard error, likewise.
        apart: True if Ctrl-C at the terminal does not reach it.

    Raises:
        OSError: It cannot be started.
    """
    return subprocess.Popen(  # noqa: S603  # our own programs and the linker
        command,
        cwd=_NOWHERE if folder is None else folder,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=error,
        start_new_session=apart,
    )
