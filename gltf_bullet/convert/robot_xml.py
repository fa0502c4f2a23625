"""XML of robots, parsed like PyBullet's own parser (tinyxml2), with positions in the text.

Strict parsers refuse what is common in robots (undeclared prefixes, ``--`` in comments); this one
accepts what PyBullet accepts. Entities that a file declares are never resolved, so that nothing in
it can grow or lead to other files.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = [
    "Edit",
    "XmlAttribute",
    "XmlElement",
    "XmlError",
    "edited",
    "escaped",
    "parse_xml",
    "places",
]

_NAME: Final = re.compile(r"\s*([^\s=/<>\"']+)")
_ATTRIBUTE: Final = re.compile(r"""\s*([^\s=/<>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_END: Final = re.compile(r"\s*(/?)>")
_ENTITY: Final = re.compile(r"&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_SKIPPED: Final = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"))
_MOST_ELEMENTS: Final = 1_000_000
"""Bound on the number of elements, above that of any robot; each takes some hundred bytes."""


class XmlError(ValueError):
    """Markup that neither this parser nor PyBullet's accepts."""

    def __init__(self, line: int, found: str, allowed: str) -> None:
        super().__init__(f"line {line}: {found}; must be {allowed}")
        self.line = line
        self.found = found
        self.allowed = allowed


class XmlAttribute(NamedTuple):
    """The value of an attribute, with its position."""

    value: str
    start: int
    """Start in the text, quotes not included."""
    end: int


@dataclass(eq=False, slots=True)
class XmlElement:
    """An element and its position."""

    tag: str
    line: int
    start: int
    """Position of its ``<`` in the text."""
    parent: XmlElement | None
    attributes: dict[str, XmlAttribute] = field(default_factory=dict)
    children: list[XmlElement] = field(default_factory=list)
    text: str = ""
    """Text before its first child, without blanks at the ends."""
    text_start: int = 0
    text_end: int = 0
    end: int = 0
    """Position after its last ``>``."""

    def get(self, name: str, default: str = "") -> str:
        """The value of an attribute."""
        found = self.attributes.get(name)
        return default if found is None else found.value

    @property
    def name(self) -> str:
        """Its attribute ``name``."""
        return self.get("name")

    def named(self, tag: str) -> list[XmlElement]:
        """Children of a kind."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> XmlElement | None:
        """The first child of a kind, which is the one that PyBullet reads."""
        return next((child for child in self.children if child.tag == tag), None)

    def all_below(self) -> Iterator[XmlElement]:
        """The element itself and all elements below, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)


class Edit(NamedTuple):
    """A replacement of a part of the text."""

    start: int
    end: int
    text: str = ""


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with its parts replaced; edits within another replaced part are void."""
    parts = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if edit.start >= at:
            parts += [text[at : edit.start], edit.text]
            at = edit.end
    return "".join([*parts, text[at:]])


def escaped(value: str) -> str:
    """A value with its special characters as entities, for use between quotes or tags."""
    for name in ("amp", "lt", "gt", "quot", "apos"):
        value = value.replace(_ENTITIES[name], f"&{name};")
    return value


def parse_xml(text: str) -> XmlElement | None:
    """The first element of a text; ``None`` if it has none.

    Raises:
        XmlError: It is no XML.
    """
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    root: XmlElement | None = None
    open_element: XmlElement | None = None
    at = count = 0
    while (start := text.find("<", at)) >= 0:
        if open_element is not None and not open_element.children and not open_element.text:
            piece = text[at:start]
            open_element.text = _unescaped(piece.strip())
            open_element.text_start = at + len(piece) - len(piece.lstrip())
            open_element.text_end = at + len(piece.rstrip())
        line = bisect_right(lines, start)
        skipped = next((end for begin, end in _SKIPPED if text.startswith(begin, start)), None)
        if skipped is not None:
            end = text.find(skipped, start + 2)
            if end < 0:
                raise XmlError(
                    line, f"{text[start : start + 9]!r} without end", f"ended by {skipped}"
                )
            at = end + len(skipped)
            continue
        if text.startswith("</", start):
            name = _NAME.match(text, start + 2)
            close = text.find(">", start)
            closed = "" if name is None or close < 0 else name[1]
            if open_element is None or closed != open_element.tag:
                expected = "no end" if open_element is None else f"</{open_element.tag}>"
                raise XmlError(line, f"</{closed[:40]}>", expected)
            at = open_element.end = close + 1
            open_element = open_element.parent
            if open_element is None:
                break  # PyBullet reads the first element, too.
            continue
        count += 1
        if count > _MOST_ELEMENTS:
            raise XmlError(line, f"more than {_MOST_ELEMENTS} elements", "fewer")
        element, at, is_whole = _read_tag(text, start, line, open_element)
        if open_element is not None:
            open_element.children.append(element)
        root = root or element
        if not is_whole:
            open_element = element
        elif element is root:
            break
    if open_element is not None:
        raise XmlError(open_element.line, f"<{open_element.tag}> is not closed", "closed")
    return root


def _read_tag(
    text: str, start: int, line: int, parent: XmlElement | None
) -> tuple[XmlElement, int, bool]:
    """An element's start tag, its end in the text, and True if the element is empty."""
    name = _NAME.match(text, start + 1)
    if name is None:
        raise XmlError(line, repr(text[start : start + 20]), "<name ...>")
    element = XmlElement(name[1], line, start, parent)
    at = name.end()
    while (found := _ATTRIBUTE.match(text, at)) is not None:
        group = 2 if found[2] is not None else 3
        if found[1] in element.attributes:
            raise XmlError(line, f"<{element.tag}> with {found[1]} twice", "once")
        element.attributes[found[1]] = XmlAttribute(
            _unescaped(found[group]), found.start(group), found.end(group)
        )
        at = found.end()
    end = _END.match(text, at)
    if end is None:
        raise XmlError(line, f"<{element.tag}> with {text[at : at + 20]!r}", 'name="value"')
    element.end = end.end()
    return element, end.end(), end[1] == "/"


def _unescaped(value: str) -> str:
    """The value with entities resolved as in PyBullet's parser: unknown ones stay."""
    return _ENTITY.sub(_character, value) if "&" in value else value


def _character(match: re.Match[str]) -> str:
    if match[3]:
        return _ENTITIES[match[3]]
    number = int(match[1]) if match[1] else int(match[2], 16)
    return chr(number) if 0 < number < 0x110000 else match[0]


def places(elements: Sequence[XmlElement]) -> str:
    """Line numbers of elements, in words."""
    lines = list(dict.fromkeys(element.line for element in elements))
    word = "line" if len(lines) == 1 else "lines"
    return f"{word} {', '.join(map(str, lines[:3]))}{', ...' if len(lines) > 3 else ''}"
