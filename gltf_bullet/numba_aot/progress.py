"""The progress of a compilation: reported by processes that compile, drawn in one line.

The unit is a byte of Python's bytecode, which Numba takes about equally long for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import IO

from gltf_bullet.numba_aot.library import project

__all__ = ["ProgressLine", "advance", "expect", "report_to"]

_reported: list[IO[str]] = []
_SECONDS_BETWEEN = 0.2


def report_to(stream: IO[str]) -> None:
    """Have this process say to another one how far it is."""
    _reported.append(stream)


def expect(amount: int) -> None:
    """Say that there is more to do."""
    _report("expect", amount)


def advance(amount: int) -> None:
    """Say that something is done."""
    _report("advance", amount)


def _report(what: str, amount: int) -> None:
    for stream in _reported:
        stream.write(f"{what} {amount}\n")
        stream.flush()


class ProgressLine:
    """Two lines about work that other processes do; on a terminal the second one shows how far."""

    def __init__(self, text: str, stream: IO[str]) -> None:
        """Say what begins.

        Args:
            text: What is done, without a full stop.
            stream: Where the line is written.
        """
        self._stream = stream
        self._start = self._drawn = time.monotonic()
        self._expected = self._done = 0
        self._lock = threading.Lock()
        self._is_terminal = stream.isatty()
        name = project().name
        self._begin = f"\r\x1b[K{name}: " if self._is_terminal else f"{name}: "
        self._write(f"{text} ...\n")

    def follow(self, reports: Iterable[Iterable[str]]) -> None:
        """Draw what processes report, one stream for each, until all have ended."""
        threads = [threading.Thread(target=self._take, args=(lines,)) for lines in reports]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def close(self) -> None:
        """Say how long it took."""
        seconds = time.monotonic() - self._start
        self._write(f"{self._begin}done in {seconds:.0f} s\n")

    def _take(self, lines: Iterable[str]) -> None:
        for line in lines:
            what, _, amount = line.partition(" ")
            if what not in ("expect", "advance") or not amount.strip().isdigit():
                continue  # somebody else's
            with self._lock:
                if what == "expect":
                    self._expected += int(amount)
                else:
                    self._done += int(amount)
                self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if not self._is_terminal or now - self._drawn < _SECONDS_BETWEEN:
            return
        self._drawn = now
        percent = 100 * self._done // max(self._expected, 1)
        bar = "#" * (percent // 5)
        self._write(f"{self._begin}[{bar:20}] {percent} %, {now - self._start:.0f} s")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
