"""XML of robots: parsed like PyBullet's own parser (tinyxml2), and written for engines.

Strict parsers refuse what is common in robots (undeclared prefixes, ``--`` in comments); this one
accepts what PyBullet accepts. Entities that a file declares are never resolved, so that nothing in
it can grow or lead to other files. Engines get what :func:`written` makes of the tree, never the
text of the file: two parsers can disagree about a text, and the engine would read files that were
not checked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.bounds import DESCRIPTION_BYTES, XML_ELEMENTS

_WORD: Final = r"\s*([A-Za-z_:\x80-\U0010ffff][A-Za-z0-9_:.\-\x80-\U0010ffff]*)"
"""A name as tinyxml2 takes it."""
_NAME: Final = re.compile(_WORD)
_ATTRIBUTE: Final = re.compile(_WORD + r"""\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_END: Final = re.compile(r"\s*(/?)>")
_ENTITY: Final = re.compile(r"&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_SKIPPED: Final = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"))
_LONGEST_LINE: Final = 500
"""Characters per line, well below the number that PyBullet reads in one piece."""


class XmlError(ValueError):
    """Markup that neither this parser nor PyBullet's accepts."""

    def __init__(self, line: int, found: str, allowed: str) -> None:
        super().__init__(f"line {line}: {found}; must be {allowed}")
        self.line = line
        self.found = found
        self.allowed = allowed


class XmlElement(Struct, eq=False):
    """An element and its line in the file."""

    tag: str
    line: int
    parent: XmlElement | None
    attributes: dict[str, str] = msgspec_field(default_factory=dict)
    children: list[XmlElement] = msgspec_field(default_factory=list)
    text: str = ""
    """Text before its first child, without blanks at the ends."""
    is_left_out: bool = False
    """True if :func:`written` leaves it out, with all below it."""

    def get(self, name: str, default: str = "") -> str:
        """The value of an attribute."""
        return self.attributes.get(name, default)

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


def escaped(value: str) -> str:
    """A value with its special characters as entities, for use between quotes or tags."""
    for name in ("amp", "lt", "gt", "quot", "apos"):
        value = value.replace(_ENTITIES[name], f"&{name};")
    return value


def written(root: XmlElement) -> str:
    """The text of a tree: elements, attributes and texts, without comments and declarations.

    An element has a line of its own, and so have the attributes of a long one: PyBullet cuts lines
    of more than about a thousand characters in the middle of a word.
    """
    lines: list[str] = []
    waiting: list[XmlElement | str] = [root]
    while waiting:
        element = waiting.pop()
        if isinstance(element, str):
            lines.append(element)
        elif not element.is_left_out:
            words = [element.tag]
            words += [f'{name}="{escaped(value)}"' for name, value in element.attributes.items()]
            is_long = sum(map(len, words)) + len(element.text) > _LONGEST_LINE
            head, text = ("\n" if is_long else " ").join(words), escaped(element.text)
            if element.children:
                lines.append(f"<{head}>{text}")
                waiting += [f"</{element.tag}>", *reversed(element.children)]
            else:
                lines.append(f"<{head}>{text}</{element.tag}>" if text else f"<{head}/>")
    return "\n".join(lines)


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        OSError: It cannot be read.
        XmlError: It is too large.
    """
    size = path.stat().st_size
    if size > DESCRIPTION_BYTES:
        raise XmlError(1, f"{size} bytes", f"at most {DESCRIPTION_BYTES}")
    with path.open("rb") as file:  # a pipe has no size
        return file.read(DESCRIPTION_BYTES).decode("utf-8-sig", "replace")


def parse_xml(text: str) -> XmlElement | None:
    """The first element of a text; ``None`` if it has none.

    Raises:
        XmlError: It is no XML.
    """
    text = text.rstrip("\0")  # as PyBullet's own humanoid ends
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise XmlError(line, "a character 0", "text")  # which ends it for an engine
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    root: XmlElement | None = None
    open_element: XmlElement | None = None
    at = count = 0
    while (start := text.find("<", at)) >= 0:
        if open_element is not None and not open_element.children and not open_element.text:
            open_element.text = _unescaped(text[at:start].strip())
        line = bisect_right(lines, start)
        skipped = next((pair for pair in _SKIPPED if text.startswith(pair[0], start)), None)
        if skipped is not None:
            end = text.find(skipped[1], start + len(skipped[0]))
            if end < 0:
                raise XmlError(
                    line, f"{text[start : start + 9]!r} without end", f"ended by {skipped[1]}"
                )
            at = end + len(skipped[1])
            continue
        if text.startswith("</", start):
            name = _NAME.match(text, start + 2)
            close = text.find(">", start)
            closed = "" if name is None or close < 0 else name[1]
            if open_element is None or closed != open_element.tag:
                expected = "no end" if open_element is None else f"</{open_element.tag}>"
                raise XmlError(line, f"</{closed[:40]}>", expected)
            at = close + 1
            open_element = open_element.parent
            if open_element is None:
                break  # PyBullet reads the first element, too.
            continue
        count += 1
        if count > XML_ELEMENTS:
            raise XmlError(line, f"more than {XML_ELEMENTS} elements", "fewer")
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
    element = XmlElement(name[1], line, parent)
    at = name.end()
    while (found := _ATTRIBUTE.match(text, at)) is not None:
        if found[1] in element.attributes:
            raise XmlError(line, f"<{element.tag}> with {found[1]} twice", "once")
        value = found[2] if found[2] is not None else found[3]
        element.attributes[found[1]] = _unescaped(value)
        at = found.end()
    end = _END.match(text, at)
    if end is None:
        raise XmlError(line, f"<{element.tag}> with {text[at : at + 20]!r}", 'name="value"')
    return element, end.end(), end[1] == "/"


def _unescaped(value: str) -> str:
    """The value with entities resolved as in PyBullet's parser: unknown ones stay."""
    return _ENTITY.sub(_character, value) if "&" in value else value


def _character(match: re.Match[str]) -> str:
    if match[3]:
        return _ENTITIES[match[3]]
    number = int(match[1]) if match[1] else int(match[2], 16)
    is_character = 0 < number < 0xD800 or 0xDFFF < number < 0x110000
    return chr(number) if is_character else match[0]


def places(elements: Sequence[XmlElement]) -> str:
    """Line numbers of elements, in words."""
    lines = list(dict.fromkeys(element.line for element in elements))
    word = "line" if len(lines) == 1 else "lines"
    return f"{word} {', '.join(map(str, lines[:3]))}{', ...' if len(lines) > 3 else ''}"
