"""Tables, issues and JSON on the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gltf_bullet.diagnostics import Issue, Severity

__all__ = ["console", "issue_rows", "print_issues", "print_json", "print_table", "vector"]

PIPED_WIDTH = 200
"""Columns where the output is no terminal: lines are cut by whoever reads them."""

MEANING = {
    Severity.ERROR: "refused",
    Severity.WARNING: "approximated",
    Severity.INFO: "note",
}
STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def console(*, err: bool = False) -> Console:
    """A console that writes whole lines where nobody looks at a screen."""
    stream = sys.stderr if err else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else PIPED_WIDTH, highlight=False)


def print_table(
    out: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """A table; nothing where there are no rows. Columns that end in ``>`` are right-aligned."""
    cells = [[value if isinstance(value, Text) else Text(str(value)) for value in r] for r in rows]
    if not cells:
        return
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(
            Text(column.rstrip(">")),
            justify="right" if column.endswith(">") else "left",
            overflow="fold",
        )
    for row in cells:
        table.add_row(*row)
    out.print(table)


def print_issues(out: Console, issues: Sequence[Issue]) -> None:
    """What is approximated or refused; one row per finding."""
    if not issues:
        out.print("No issues: everything is exact.")
        return
    print_table(
        out,
        "Issues",
        ("", "Code", "Where", "What"),
        (
            (Text(MEANING[i.severity], STYLE[i.severity]), i.code, i.pointer or "/", i.message)
            for i in sorted(issues, key=lambda issue: issue.severity)
        ),
    )
    out.print("`gltf-bullet explain CODE` says why, how big, and what to do.\n", style="dim")


def issue_rows(issues: Iterable[Issue]) -> list[dict[str, str]]:
    """Issues as JSON-ready values."""
    return [
        {
            "code": issue.code,
            "severity": issue.severity.name.lower(),
            "pointer": str(issue.pointer),
            "message": issue.message,
        }
        for issue in issues
    ]


def print_json(value: object) -> None:
    """Indented JSON on standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def vector(values: Iterable[float]) -> str:
    """Numbers in a cell of a table."""
    return " ".join(f"{value + 0.0:.4g}" for value in values)
