"""Child processes of the library as forks of this one: Python and its imports take 1 s to start."""

from __future__ import annotations

import contextlib
import importlib
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from gltf_bullet.bullet.reading import robot_loading
from gltf_bullet.convert.mjcf import compiling
from gltf_bullet.convert.usd import process

__all__ = ["convert_in_forks", "import_converters", "run_program"]


class _Fork:
    """What is used of ``subprocess.Popen``."""

    def __init__(self, command: tuple[str | Path, ...], *, folder: Path | None = None) -> None:
        program, *arguments = command
        reader, writer = os.pipe()
        self.returncode: int | None = None
        self._pid = os.fork()
        if self._pid == 0:
            run_program(program, arguments, folder, writer)
        os.close(writer)
        self._out = os.fdopen(reader, "rb")

    def __enter__(self) -> _Fork:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._out.close()

    def communicate(self, timeout: float = 60.0) -> tuple[bytes, None]:
        end = time.monotonic() + timeout
        out = self._out.read()
        while self.returncode is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise subprocess.TimeoutExpired("fork", timeout)
            else:
                time.sleep(1e-3)
        return out, None

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self._pid, signal.SIGKILL)
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def run_program(
    program: str | Path, arguments: Sequence[str | Path], folder: Path | None, out: int
) -> NoReturn:
    """Be the child that ``child_processes.start`` starts, in a process that was forked for it."""
    code = 1
    try:
        for stream in (1, 2):
            os.dup2(out, stream)
        os.chdir(folder or os.sep)
        sys.argv = [str(program), *map(str, arguments)]
        if isinstance(program, Path):
            runpy.run_path(str(program), run_name="__main__")
        else:
            exec(program, {"sys": sys})  # noqa: S102  # our own text
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        os._exit(code)


def import_converters() -> None:
    """Import what converts robots and stages, where it is installed, before anybody forks."""
    with contextlib.suppress(ImportError):
        importlib.import_module("mujoco")
    with contextlib.suppress(ImportError):
        importlib.import_module("gltf_bullet.convert.usd.world")


def convert_in_forks() -> None:
    """Convert robots and stages in forks of this process from now on."""
    for module in (robot_loading, compiling, process):
        module.python_command = lambda *parts: parts  # type: ignore[attr-defined]
        module.start = _Fork  # type: ignore[attr-defined]
