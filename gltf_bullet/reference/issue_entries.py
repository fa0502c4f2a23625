"""The entries of ``issues.md``: meaning, reason, size and remedy of each issue code.

The page is the only owner of the three explanations; severity and message are copied into it from
the source by ``tools/list_issues.py``. An entry is::

    ### HULL_REDUCED

    *warning, found in bullet*

    > the convex hull has more than {limit} vertices; it is reduced ...

    - **Why:** ...
    - **How big:** ...
    - **What to do:** ...
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

from msgspec import Struct

# --- Markdown files beside this module, by name ---------------------------------------------------

_FOLDER = files("gltf_bullet.reference")


def page_names() -> tuple[str, ...]:
    """Names of the pages, without ``.md``, in alphabetical order."""
    names = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".md") for name in names if name.endswith(".md")))


def page(name: str) -> str:
    """The Markdown of a page.

    Raises:
        KeyError: There is no such page.
    """
    if name not in page_names():
        raise KeyError(name)
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def page_title(name: str) -> str:
    """The heading of a page.

    Raises:
        KeyError: There is no such page.
    """
    return page(name).partition("\n")[0].removeprefix("# ")


PARTS: Final = ("Why", "How big", "What to do")
"""Titles of the explanations of an entry, in their order."""

_HEADING: Final = re.compile(r"^### (?P<code>[A-Z0-9_]+)$", re.MULTILINE)
_FACTS: Final = re.compile(r"^\*(?P<severity>\w+), found in (?P<room>\w+)\*$", re.MULTILINE)
_MESSAGE: Final = re.compile(r"^> (?P<message>.+)$", re.MULTILINE)


class IssueEntry(Struct, frozen=True, kw_only=True):
    """The entry of one code; its texts are ``""`` if they are missing on the page."""

    code: str
    severity: str
    """``error``, ``warning`` or ``info``."""
    room: str
    """Part of the library that finds it."""
    message: str
    """Text of the finding, with the values to fill in in braces."""
    why: str
    how_big: str
    what_to_do: str


def issue_entries() -> dict[str, IssueEntry]:
    """All entries by code, in the order of the page: errors, warnings, notes."""
    return parse_entries(page("issues"))


def parse_entries(markdown: str) -> dict[str, IssueEntry]:
    """The entries of a Markdown text in the form of the page, by code."""
    headings = list(_HEADING.finditer(markdown))
    ends = [following.start() for following in headings[1:]] + [len(markdown)]
    found: dict[str, IssueEntry] = {}
    for heading, end in zip(headings, ends, strict=True):
        body = markdown[heading.start() : end].partition("\n## ")[0].strip()
        facts, message = _FACTS.search(body), _MESSAGE.search(body)
        why, how_big, what_to_do = (_part(body, name) for name in PARTS)
        found[heading["code"]] = IssueEntry(
            code=heading["code"],
            severity=facts["severity"] if facts else "",
            room=facts["room"] if facts else "",
            message=_plain(message["message"]) if message else "",
            why=why,
            how_big=how_big,
            what_to_do=what_to_do,
        )
    return found


def _plain(message: str) -> str:
    return message.replace("&lt;", "<").replace("\\*", "*")


def _part(body: str, name: str) -> str:
    """One explanation, its lines joined."""
    _, _, rest = body.partition(f"- **{name}:**")
    return " ".join(rest.partition("\n- **")[0].split())
