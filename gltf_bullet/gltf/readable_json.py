"""JSON text that a person can read: what is short stays on one line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

__all__ = ["readable_json"]

LINE_LENGTH = 96
"""[characters]"""


def readable_json(value: object) -> str:
    """``value`` as indented JSON; arrays and objects that fit stay on one line.

    Raises:
        TypeError: Something is no JSON value, or a key is no string.
        ValueError: A number is NaN or infinite, which JSON cannot hold.
    """
    return _text(value, "") + "\n"


def _text(value: object, indent: str) -> str:
    if isinstance(value, Mapping):
        brackets = "{}"
        entries = [f"{_scalar(_key(key))}: {_text(value[key], indent + '  ')}" for key in value]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        brackets = "[]"
        entries = [_text(item, indent + "  ") for item in value]
        if len(entries) > 1 and not any(isinstance(item, (Mapping, list, tuple)) for item in value):
            entries = _filled(entries, LINE_LENGTH - len(indent))
    else:
        return _scalar(value)
    inner = ", ".join(entries)
    if "\n" not in inner and len(indent) + len(inner) <= LINE_LENGTH:
        return brackets[0] + inner + brackets[1]
    lines = ",\n".join(f"{indent}  {entry}" for entry in entries)
    return f"{brackets[0]}\n{lines}\n{indent}{brackets[1]}"


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a JSON key must be a string; got {key!r}")
    return key


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _filled(entries: Sequence[str], width: int) -> list[str]:
    """Numbers joined to as few lines as they need."""
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + len(entry) + 4 <= width:
            lines[-1] += ", " + entry
        else:
            lines.append(entry)
    return lines
