"""Text of others in one line that no terminal obeys."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gltf_bullet as gb
from gltf_bullet.diagnostics import Issue, IssueKind, JsonPointer, Severity
from gltf_bullet.printable import printable, printable_lines

OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories: controls, marks of format, half characters, separators of lines."""


@given(st.text(alphabet=st.characters()) | st.text("\x1b\x9b\r\n\x08\u202e\u2066\u2028a\ud800"))
def test_nothing_that_is_obeyed_is_left(text: str) -> None:
    shown = printable(text)
    left = {c for c in shown if unicodedata.category(c) in OBEYED}
    assert left <= {"\u200c", "\u200d"}
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown
    shown.encode("utf-8")


@pytest.mark.parametrize("text", ["Door", "箱", "Дверь 2", "a\u3000b", "C:\\x", "\U0001f600", ""])
def test_names_stay_as_they_are(text: str) -> None:
    assert printable(text) == text


def test_escapes_say_what_was_there() -> None:
    assert printable("\x1b[2J\r\n\u202e\ud83d") == r"\x1b[2J\r\n\u202e\ud83d"
    assert printable_lines("a\nb\rc") == "a\nb\\rc"


def test_issues_and_errors_quote_files_harmlessly() -> None:
    kind = IssueKind("KIND", Severity.ERROR, "{got} is wrong")
    issue = Issue(kind, JsonPointer("/a\nb"), {"got": "\x1b]0;x\x07"})
    for text in (str(issue), repr(issue), issue.message, issue.located("f\x1b.gltf")):
        assert text.isprintable()
    assert str(gb.AssetError("f\x1b.gltf", [issue])).isprintable()
    assert str(gb.EngineError("of \x9b31m")).isprintable()
