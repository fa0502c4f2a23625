"""The reference page of issue codes is what the source declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from gltf_bullet.reference import IssueEntry, issue_entries
from tools.list_issues import PAGE, declared_kinds, issues_page


def test_the_page_lists_every_issue_code() -> None:
    assert issues_page(declared_kinds(), issue_entries()) == PAGE.read_text(encoding="utf-8"), (
        "out of date: run python -m tools.list_issues"
    )


def test_codes_are_found_sorted_and_escaped(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(
        'A = note("B_SECOND", "a < b * 2")\nB = error("A_FIRST", "{got:.3g} is " "bad")\n'
    )
    written = IssueEntry(
        code="B_SECOND", severity="", room="", message="", why="W.", how_big="", what_to_do="D."
    )
    page = issues_page(declared_kinds(tmp_path), {"B_SECOND": written})
    _, first, second = page.split("### ")
    assert first.startswith("A_FIRST\n\n*error, found in room*\n\n> {got} is bad\n")
    assert "(to be written)" in first
    assert second == (
        "B_SECOND\n\n*info, found in room*\n\n> a &lt; b \\* 2\n\n"
        "- **Why:** W.\n- **What to do:** D.\n"
    )


def test_one_code_with_two_meanings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('A = note("X", "one")\n')
    (tmp_path / "b.py").write_text('A = error("X", "two")\n')
    with pytest.raises(ValueError, match="declared twice"):
        declared_kinds(tmp_path)
