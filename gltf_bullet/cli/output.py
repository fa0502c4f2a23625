"""Output on the terminal: tables, issues, JSON, and lines that may quote a file."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TextIO, cast

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gltf_bullet.diagnostics import Issue, Severity
from gltf_bullet.printable import printable, printable_lines

PIPED_WIDTH = 80
"""Number of columns if the output is no terminal and ``COLUMNS`` is not set."""
NARROWEST = 40
"""Smallest number of columns of a table."""

NAMES = frozenset({"Name", "Trigger", "Collider", "Of the body", "Variable", "Code"})
"""Table columns whose texts stay in one line."""
TABLE_GAP = 3
"""Number of blanks between two columns."""

STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


class _Unpadded:
    """A stream that drops the blanks that pad the last column of a table."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        self._stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return False


def console(*, err: bool = False) -> Console:
    """A console as wide as the terminal; without one, of ``COLUMNS`` or 80 columns."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        return Console(file=stream, highlight=False)
    columns = os.environ.get("COLUMNS", "")
    width = max(int(columns), NARROWEST) if columns.isdecimal() else PIPED_WIDTH
    return Console(file=cast("TextIO", _Unpadded(stream)), width=width, highlight=False)


def plain(text: object, style: str = "") -> Text:
    """Text that may come from a file, in one line, without markup or control characters."""
    return Text(printable(text), style)


def say(text: object, *, err: bool = False) -> None:
    """Print a line that may quote a file."""
    typer.echo(printable(text), err=err)


def say_error(error: Exception) -> None:
    """Print the reason of a failure; line breaks of the message are the library's."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        missing = isinstance(error, FileNotFoundError)
        text = f"{error.filename}: {'no such file' if missing else error.strerror}"
    typer.echo(f"error: {printable_lines(text)}", err=True)


def take_every_text() -> None:
    """Let the output write characters outside of its encoding as escapes, and be closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # ``>&-``: what is printed goes nowhere, as for Python
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_table(
    out: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Print a table, or nothing without rows. Columns that end in ``>`` are right-aligned.

    No word is broken, and no text in columns of :data:`NAMES`: if that needs more room, lines are
    longer, and terminals break them.
    """
    cells = [[value if isinstance(value, Text) else plain(value) for value in r] for r in rows]
    if not cells:
        return
    table = Table(
        title=plain(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    headers = [column.rstrip(">") for column in columns]
    texts = [[header, *(row[k].plain for row in cells)] for k, header in enumerate(headers)]
    least = [
        max(cell_len(word) for text in column for word in _unbroken(header, text))
        for header, column in zip(headers, texts, strict=True)
    ]
    most = [max(map(cell_len, column)) for column in texts]
    widths = _between(least, most, out.width - TABLE_GAP * len(columns))
    for column, header, width in zip(columns, headers, widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.endswith(">") else "left"
        table.add_column(Text(header), justify=justify, overflow="fold", width=width)
    for row in cells:
        table.add_row(*row)
    width, out.width = out.width, max(out.width, sum(widths) + TABLE_GAP * len(columns))
    out.print(table)
    out.width = width


def _unbroken(header: str, text: str) -> list[str]:
    """The parts of a cell that stay in one line each."""
    return [text] if header in NAMES and text != header else text.split(" ")


def _between(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Widths of columns that fill a room; the column that lacks most gets most."""
    widths = list(least)
    for _ in range(min(room, sum(most)) - sum(least)):
        widths[max(range(len(widths)), key=lambda k: most[k] - widths[k])] += 1
    return widths


def print_issues(out: Console, issues: Sequence[Issue]) -> None:
    """Print findings, one after the other, the worst first."""
    if not issues:
        out.print("No issues: everything is exact.")
        return
    from rich.padding import Padding

    out.print("Issues\n", style="bold")
    for issue in sorted(issues, key=lambda issue: issue.severity):
        kind = Text(issue.meaning, STYLE[issue.severity])
        out.print(Text.assemble(kind, f" {issue.code}"))
        about = Text.assemble((issue.where, "dim"), f"\n{issue.message}")
        out.print(Padding(about, (0, 0, 0, 4)))
    out.print()
    out.print("`gltf-bullet explain CODE` says why, how big, and what to do.\n", style="dim")


def issue_rows(issues: Iterable[Issue]) -> list[dict[str, str]]:
    """Issues as JSON-ready values."""
    return [
        {
            "code": issue.code,
            "severity": issue.severity.name.lower(),
            "pointer": str(issue.pointer),
            "node": issue.node,
            "message": issue.message,
        }
        for issue in issues
    ]


def print_json(value: object) -> None:
    """Print indented JSON on standard output, in ASCII: no encoding or terminal interprets it."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def vector(values: Iterable[float]) -> str:
    """Numbers in a cell of a table; rounding errors of 0 are 0."""
    return " ".join(f"{value if abs(value) > 1e-12 else 0.0:.4g}" for value in values)


# --- Output files of one run, each of which may fail by itself ------------------------------------


class Attempts:
    """Runs the work for outputs, except for outputs that have failed, and collects the failures."""

    def __init__(self) -> None:
        self._failures: dict[str, Exception] = {}

    def has_failed(self, option: str) -> bool:
        """Return True if work for ``option`` has failed."""
        return option in self._failures

    def do(self, option: str, act: Callable[[], object]) -> None:
        """Call ``act`` for the output of ``option``; :meth:`report` names its exception."""
        if option in self._failures:
            return
        try:
            act()
        except typer.Exit:
            raise
        except Exception as error:
            self._failures[option] = error

    def report(self) -> None:
        """Print the failures, and end the program if there are any.

        Raises:
            typer.Exit: With 2 if all failures are files that could not be written, else with 1.
        """
        for option, error in self._failures.items():
            what = str(error) or type(error).__name__
            say(f"error: nothing was written for {option}: {what}", err=True)
        if self._failures:
            files_only = all(isinstance(error, OSError) for error in self._failures.values())
            raise typer.Exit(2 if files_only else 1)
