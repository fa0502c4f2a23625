"""Children that convert robots and stages, forked from a process that has their libraries by then.

Python, MuJoCo and OpenUSD take 0.3 s to start, which was most of what the tests of converters cost.
Each conversion still has a process of its own, with its limits. ``convert/test_usd_trust.py`` and
the tests of the commands start real ones.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from gltf_bullet.bullet.reading import robot_loading
from gltf_bullet.convert.mjcf import compiling
from gltf_bullet.convert.usd import process
from tools.fuzzing.forks import run_program

_CONTEXT = (
    multiprocessing.get_context("forkserver")
    if "forkserver" in multiprocessing.get_all_start_methods()
    else None
)
if _CONTEXT is not None:
    # What is not installed is passed over.
    _CONTEXT.set_forkserver_preload(["mujoco", "gltf_bullet.convert.usd.world", __name__])


class _Child:
    """What is used of ``subprocess.Popen``."""

    def __init__(self, command: tuple[str | Path, ...], *, folder: Path | None = None) -> None:
        assert _CONTEXT is not None
        self._out = tempfile.NamedTemporaryFile()  # noqa: SIM115  # __exit__ closes it
        arguments = (command, folder, self._out.name, dict(os.environ))
        self._process = _CONTEXT.Process(target=_run, args=arguments)
        self._process.start()

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.join()
        self._out.close()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def communicate(self, timeout: float) -> tuple[bytes, None]:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("child", timeout)
        return self._out.read(), None

    def kill(self) -> None:
        self._process.kill()


def _run(
    command: tuple[str | Path, ...], folder: Path | None, out: str, variables: dict[str, str]
) -> None:
    os.environ.clear()
    os.environ.update(variables)
    program, *arguments = command
    run_program(program, arguments, folder, os.open(out, os.O_WRONLY))


@pytest.fixture(autouse=True)
def prepared_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convert robots and stages in children that need not start Python and its libraries.

    A module that needs the real start has a fixture of this name that does nothing.
    """
    convert_in_prepared_children(monkeypatch)


def convert_in_prepared_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the fixture does."""
    if _CONTEXT is None:
        return
    for module in (robot_loading, compiling, process):
        monkeypatch.setattr(module, "python_command", lambda *parts: parts)
        monkeypatch.setattr(module, "start", _Child)
