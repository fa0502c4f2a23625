"""The line that says how far a compilation is."""

from __future__ import annotations

import io

import pytest

from gltf_bullet.numba_aot import progress
from gltf_bullet.numba_aot.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def shown(self) -> list[str]:
        """What stood there one after the other."""
        return self.getvalue().replace("\r\x1b[K", "\n").splitlines()


def test_a_terminal_shows_what_is_done_of_what_all_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.0)
    stream = Terminal()
    line = ProgressLine("compiling", stream)
    line.follow([["expect 300\n"]])
    line.follow([["expect 100\n", "advance 60\n"], ["advance 40\n", "of somebody else\n"]])
    line.close()
    first, *_, last, end = stream.shown()
    assert first == "compiling ..."
    assert f"[{'#' * 5}{' ' * 15}] {100 * (60 + 40) // (300 + 100)} %" in last
    assert end == "gltf_bullet: done in 0 s"
    assert max(map(len, stream.shown())) < 80  # a longer one would not be drawn over


def test_a_file_has_two_lines() -> None:
    stream = io.StringIO()
    line = ProgressLine("compiling", stream)
    line.follow([["expect 2\n", "advance 1\n", "advance 1\n"]])
    line.close()
    assert stream.getvalue() == "compiling ...\ngltf_bullet: done in 0 s\n"


def test_what_processes_report_is_what_the_line_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_reported", [])
    pipe = io.StringIO()
    progress.expect(7)  # to nobody
    progress.report_to(pipe)
    progress.expect(10)
    progress.advance(5)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.0)
    stream = Terminal()
    ProgressLine("compiling", stream).follow([pipe.getvalue().splitlines(keepends=True)])
    assert "50 %" in stream.shown()[-1]
