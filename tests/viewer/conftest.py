"""A screen of its own for tests with a real window."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import ImageGrab

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 150.0
"""[s] A window on a busy machine without a graphics card is slow; nothing is timed."""

Image = npt.NDArray[np.uint8]


class Screen:
    """An Xvfb display with a keyboard and a mouse."""

    def __init__(self, name: str) -> None:
        self.name = name
        # llvmpipe with threads of its own competes with PyBullet's for the two cores of CI.
        self.environment = {
            **os.environ,
            "DISPLAY": name,
            "LP_NUM_THREADS": "0",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }

    def do(self, *arguments: object) -> None:
        """Call xdotool."""
        subprocess.run(
            ["xdotool", *map(str, arguments)],  # noqa: S607  # Debian's
            env=self.environment,
            check=True,
            capture_output=True,
            timeout=60,
        )

    def key(self, name: str) -> None:
        """Press a key and let it go; long enough for slow frames to notice."""
        self.do("keydown", name, "sleep", 0.3, "keyup", name)

    def picture(self) -> Image:
        """What is on the screen, RGB, shape [height, width, 3]."""
        return np.array(ImageGrab.grab(xdisplay=self.name).convert("RGB"))


@pytest.fixture(scope="session")
def screen() -> Iterator[Screen]:
    """An Xvfb display that nobody else uses."""
    missing = [tool for tool in ("Xvfb", "xdotool") if shutil.which(tool) is None]
    assert not missing, f"apt-get install xvfb xdotool libgl1-mesa-dri: {missing} missing"
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "1280x900x24", "-noreset"],  # noqa: S607
        pass_fds=[write_end],
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    try:
        with os.fdopen(read_end) as stream:
            number = stream.readline().strip()
        assert number, "Xvfb did not start"
        yield Screen(f":{number}")
    finally:
        server.terminate()
        server.wait(timeout=60)


class Program:
    """``view`` in another process, and what it tells."""

    def __init__(self, screen: Screen, *arguments: object) -> None:
        self.screen = screen
        self.lines: list[str] = []
        self.said: list[str] = []
        self.state: dict[str, Any] = {}
        self._queue: queue.Queue[str | None] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.viewer.driver", *map(str, arguments)],
            cwd=ROOT,
            env=screen.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def until(self, wanted: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        """Wait for a state; the newest one is returned."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                line = self._queue.get(timeout=1.0)
            except queue.Empty:
                continue
            if line is None:
                break
            if line.startswith("STATE "):
                self.state = json.loads(line[6:])
                if wanted(self.state):
                    return self.state
            else:
                self.lines.append(line)
        pytest.fail(f"never seen: {what}; last: {self.state}; {self.lines[-15:]}")

    def pictures_until(self, wanted: Callable[[Image], object], what: str) -> Image:
        """Take pictures until one is as wanted."""
        end = time.monotonic() + PATIENCE
        picture = self.screen.picture()
        while time.monotonic() < end:
            if wanted(picture):
                return picture
            time.sleep(0.3)
            picture = self.screen.picture()
        pytest.fail(f"never seen on screen: {what}; state {self.state}")

    def wait_closed(self) -> int:
        """The exit code, when the program has ended by itself."""
        code = self.process.wait(timeout=PATIENCE)
        while (line := self._queue.get(timeout=60)) is not None:
            if not line.startswith("STATE "):
                self.lines.append(line)
        return code


@pytest.fixture
def start(screen: Screen) -> Iterator[Callable[..., Program]]:
    """Start ``view`` with a file, a joint's name and layers; ended at the latest by the test."""
    programs: list[Program] = []

    def run(*arguments: object) -> Program:
        programs.append(Program(screen, *arguments))
        return programs[-1]

    yield run
    for program in programs:
        if program.process.poll() is None:
            program.process.kill()
            program.process.wait(timeout=60)
