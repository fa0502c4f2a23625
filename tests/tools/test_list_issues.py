"""The README's table of issue codes is what the source declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.list_issues import BEGIN, END, README, issue_table, readme_with_table


def test_the_readme_lists_every_issue_code() -> None:
    readme = README.read_text(encoding="utf-8")
    assert readme_with_table(readme, issue_table()) == readme, (
        "out of date: run python -m tools.list_issues"
    )


def test_codes_are_found_sorted_and_escaped(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(
        'A = IssueKind("B_SECOND", Severity.INFO, "a | b")\n'
        'B = IssueKind("A_FIRST", Severity.ERROR, "{got} is " "bad")\n'
    )
    lines = issue_table(tmp_path).splitlines()
    assert lines[2:] == [
        "| `A_FIRST` | error | room | {got} is bad |",
        "| `B_SECOND` | info | room | a \\| b |",
    ]


def test_one_code_with_two_meanings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('A = IssueKind("X", Severity.INFO, "one")\n')
    (tmp_path / "b.py").write_text('A = IssueKind("X", Severity.ERROR, "two")\n')
    with pytest.raises(ValueError, match="declared twice"):
        issue_table(tmp_path)


def test_missing_markers_are_named() -> None:
    with pytest.raises(ValueError, match="must hold"):
        readme_with_table("no markers", "table")
    assert readme_with_table(f"a{BEGIN}old{END}b", "new") == f"a{BEGIN}\n\nnew\n\n{END}b"
