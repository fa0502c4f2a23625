"""``gltf-bullet explain``: the entry of an issue code, or a reference page."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from gltf_bullet.reference import IssueEntry


def explain(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[CODE|PAGE]", help="An issue code or a page; none: list them all."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Explain an issue code (what happened, why, how big, what to do) or show a reference page.

    Example: gltf-bullet explain HULL_REDUCED
    """
    from gltf_bullet.cli.output import console, print_json, say
    from gltf_bullet.reference import issue_entries, page, page_names

    entries = issue_entries()
    if name is None:
        _list_all(entries, as_json=as_json)
    elif (code := name.upper().replace("-", "_")) in entries:
        if as_json:
            print_json(_entry_as_json(entries[code]))
        else:
            _print_entry(console(), entries[code])
    elif (title := name.lower().removesuffix(".md")) in page_names():
        if as_json:
            print_json({"page": title, "markdown": page(title)})
        else:
            _print_page(console(), page(title))
    else:
        from gltf_bullet.suggestions import did_you_mean

        hint = did_you_mean(name, [*entries, *page_names()])
        say(f"error: there is no issue code or page {name!r}{hint}", err=True)
        raise typer.Exit(2)


def _list_all(entries: dict[str, IssueEntry], *, as_json: bool) -> None:
    from gltf_bullet.cli.output import STYLE, console, print_json, print_table
    from gltf_bullet.diagnostics import Severity
    from gltf_bullet.reference import page_names, page_title

    if as_json:
        print_json(
            {
                "codes": [_entry_as_json(entry) for entry in entries.values()],
                "pages": [{"page": name, "title": page_title(name)} for name in page_names()],
            }
        )
        return
    from rich.text import Text

    out = console()
    print_table(
        out,
        "Issue codes",
        ("", "Code", "What happened"),
        (
            (Text(e.severity, STYLE[Severity[e.severity.upper()]]), e.code, e.message)
            for e in entries.values()
        ),
    )
    print_table(
        out, "Pages", ("Page", "About"), ((name, page_title(name)) for name in page_names())
    )


def _entry_as_json(entry: IssueEntry) -> dict[str, str]:
    return {
        "code": entry.code,
        "severity": entry.severity,
        "found_in": entry.room,
        "message": entry.message,
        "why": entry.why,
        "how_big": entry.how_big,
        "what_to_do": entry.what_to_do,
    }


def _print_entry(out: Console, entry: IssueEntry) -> None:
    from rich.text import Text

    from gltf_bullet.cli.output import STYLE
    from gltf_bullet.diagnostics import Severity

    severity = Severity[entry.severity.upper()]
    meaning = {
        Severity.ERROR: "the file is refused, or a part of it left out",
        Severity.WARNING: "loaded, but not exactly as written",
        Severity.INFO: "nothing is lost",
    }[severity]
    out.print(Text(entry.code, "bold"), Text(f"{entry.severity}: {meaning}", STYLE[severity]))
    for label, text in (
        ("What happened", entry.message),
        ("Why", entry.why),
        ("How big", entry.how_big),
        ("What to do", entry.what_to_do),
    ):
        if text:
            out.print()
            # One line if the output is no terminal: its reader wraps it.
            out.print(Text.assemble((f"{label}: ", "bold"), text), soft_wrap=not out.is_terminal)


def _print_page(out: Console, markdown: str) -> None:
    if out.is_terminal:
        from rich.markdown import Markdown

        # A terminal opens no files relative to a page: names of pages for `explain` remain.
        text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"*(picture: \1)*", markdown)
        text = re.sub(r"\[([^\]]*)\]\((?!https)[^)]*\)", r"**\1**", text)
        out.print(Markdown(text, hyperlinks=False))
    else:
        sys.stdout.write(markdown)
