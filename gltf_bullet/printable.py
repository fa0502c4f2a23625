"""Text of files in printable form, which cannot control a terminal or imitate other lines.

Names, keys and paths come from files. On a terminal an escape sequence in one of them would clear
the screen or name the window, a line break would begin a line that looks like ours, and a mark of
direction would show a name backwards.
"""

from __future__ import annotations

import unicodedata

_HARMLESS = {"\u200c", "\u200d"}
"""Joiners, which Persian, the scripts of India and many emoji need."""


def printable(text: object) -> str:
    """``str(text)`` in one line; controls, direction marks and surrogates as escapes."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if _is_printed(c) else _escaped(c) for c in text)


def printable_lines(text: object) -> str:
    """:func:`printable` for each line of a text whose line breaks are the library's."""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def _is_printed(character: str) -> bool:
    # Unusual spaces are printed, too; line separators are not.
    return (
        character.isprintable() or character in _HARMLESS or unicodedata.category(character) == "Zs"
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
