"""JSON pointers with parameters: parsed once, filled in at run time ("Object Model Access")."""

from __future__ import annotations

import re

from msgspec import Struct

from gltf_bullet.behavior.values import Reference, Value, is_pointer

_RUNS = re.compile(r"(\[+|\]+|\{+|\}+)")


class PointerTemplate(Struct, frozen=True):
    """A JSON pointer with parameters."""

    literals: tuple[str, ...]
    """Text around the parameters: one item more than there are parameters."""
    parameters: tuple[tuple[str, str], ...]
    """Socket id and type, ``int`` or ``ref``, of each parameter, in the order of the text."""

    def fill(self, values: tuple[Value, ...]) -> str | None:
        """The pointer; ``None`` if a value is negative, null, or refers into another list."""
        text = self.literals[0]
        for value, literal in zip(values, self.literals[1:], strict=True):
            if isinstance(value, Reference):
                if text != f"{value.collection}/":
                    return None
                index = value.number
            elif isinstance(value, int):
                index = value
            else:
                return None
            if index < 0:
                return None
            text = f"{text}{index}{literal}"
        return text

    @property
    def text(self) -> str:
        """The template in readable form, with the names of its parameters."""
        names = [name for name, _ in self.parameters]
        holes = [f"{{{name}}}" for name in names]
        return "".join(
            part for pair in zip(self.literals, [*holes, ""], strict=True) for part in pair
        )


def parse_template(text: str) -> PointerTemplate | None:
    """The template of a text; ``None`` if the syntax is wrong."""
    if not is_pointer(text):
        return None
    literals: list[str] = []
    parameters: list[tuple[str, str]] = []
    done = ""
    for number, segment in enumerate(text.split("/")):
        done += "/" if number else ""
        opening = segment[:1]
        closing = {"[": "]", "{": "}"}.get(opening)
        if closing is None or segment[1:2] == opening:
            if any(len(run) % 2 for run in _RUNS.findall(segment)):
                return None
            for bracket in "[]{}":
                segment = segment.replace(bracket * 2, bracket)
            done += segment
            continue
        name = segment[1:-1]
        if not name or segment[-1] != closing or set(name) & set("[]{}"):
            return None
        socket = name.replace("~1", "/").replace("~0", "~")
        if any(socket == known for known, _ in parameters):
            return None
        parameters.append((socket, "int" if opening == "[" else "ref"))
        literals.append(done)
        done = ""
    return PointerTemplate((*literals, done), tuple(parameters))
