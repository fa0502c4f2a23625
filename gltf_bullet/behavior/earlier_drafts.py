"""Spellings of earlier drafts of KHR_interactivity, rewritten as in the ratified text.

Exporters wrote graphs for two years before the text was ratified, and Khronos' own tests still are
such graphs. Reading them loses nothing, so each spelling is reported once per graph and accepted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from gltf_bullet.behavior.findings import BEHAVIOR_EARLIER_SPELLING
from gltf_bullet.diagnostics import Diagnostics, JsonPointer

_NAMES: Final = {
    "variable/setMultiple": "variable/set",
    "math/e": "math/E",
    "math/pi": "math/Pi",
    "math/inf": "math/Inf",
    "math/nan": "math/NaN",
    "math/isnan": "math/isNaN",
    "math/isinf": "math/isInf",
}
_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,4})?")


def _float(text: str) -> float | str:
    """The number that a text spells; the text itself, which is refused, if it spells none."""
    return float(text) if _DECIMAL.fullmatch(text) else _NUMBERS.get(text, text)


def _integer(text: str) -> int | str:
    """The whole number that a text spells; the text itself, which is refused, otherwise."""
    number = _float(text)
    return int(number) if isinstance(number, float) and number.is_integer() else text


_NUMBER_OF: Final = {"float": _float, "int": _integer}
_HOLE: Final = re.compile(r"(?<!{){([^{}]*)}(?!})")
_SOCKETS: Final = {"math/rotate2D": ("b", "angle"), "math/rotate3D": ("b", "rotation")}
_EMPTY = ("an empty list or object", "nothing")


class _Rewriting:
    def __init__(self, graph: Mapping[str, Any], at: JsonPointer) -> None:
        self.at = at
        self.seen: Counter[tuple[str, str]] = Counter()
        self.first: dict[tuple[str, str], JsonPointer] = {}
        """The place of the first of each."""
        self.here = at
        self.graph = graph
        types = graph.get("types")
        self.types = types if isinstance(types, list) else []

    def note(self, got: str, meaning: str) -> None:
        """Count an earlier spelling in the object that is being read."""
        self.seen[got, meaning] += 1
        self.first.setdefault((got, meaning), self.here)

    def each(
        self, key: str, items: list[Any], rule: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> list[Any]:
        """The items of a list of the graph by a rule, other values as they are."""
        made = []
        for index, item in enumerate(items):
            self.here = self.at / key / index
            made.append(rule(item) if isinstance(item, dict) else item)
        self.here = self.at
        return made

    def whole(self) -> dict[str, Any]:
        graph = self.without_empty(
            self.graph, ("types", "variables", "events", "declarations", "nodes")
        )
        rules = {"variables": self.variable, "events": self.event, "declarations": self.declaration}
        for key, rule in rules.items():
            if isinstance(graph.get(key), list):
                graph[key] = self.each(key, graph[key], rule)
        declared = graph.get("declarations")
        names = [
            item.get("op") if isinstance(item, dict) and "extension" not in item else None
            for item in (declared if isinstance(declared, list) else ())
        ]
        if isinstance(graph.get("nodes"), list):
            graph["nodes"] = self.each("nodes", graph["nodes"], lambda item: self.node(item, names))
        return graph

    def without_empty(self, owner: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
        kept = dict(owner)
        for key in keys:
            if key in kept and kept[key] in ({}, []):
                del kept[key]
                self.note(*_EMPTY)
        return kept

    def signature(self, index: object) -> str:
        if isinstance(index, int) and 0 <= index < len(self.types):
            declared = self.types[index]
            if isinstance(declared, dict):
                return str(declared.get("signature"))
        return ""

    def value(self, owner: Mapping[str, Any]) -> dict[str, Any]:
        """Convert numbers from text: those that JSON cannot hold, and any other."""
        made = dict(owner)
        value = made.get("value")
        number = _NUMBER_OF.get(self.signature(made.get("type")).rstrip("x234"))
        if isinstance(value, list) and number and any(isinstance(item, str) for item in value):
            made["value"] = [number(item) if isinstance(item, str) else item for item in value]
            if made["value"] != value:
                self.note("a number as text", "that number")
        if isinstance(value, list) and not value:
            del made["value"]
            self.note(*_EMPTY)
        return made

    variable = value

    def event(self, owner: Mapping[str, Any]) -> dict[str, Any]:
        made = self.without_empty(owner, ("values",))
        if isinstance(made.get("values"), dict):
            made["values"] = self.values(made["values"])
        return made

    def values(self, owner: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: self.value(item) if isinstance(item, dict) else item for key, item in owner.items()
        }

    def declaration(self, owner: Mapping[str, Any]) -> dict[str, Any]:
        made = self.without_empty(owner, ("inputValueSockets", "outputValueSockets"))
        name = made.get("op")
        if isinstance(name, str) and "extension" not in made and name in _NAMES:
            if _NAMES[name] != name:
                self.note(name, _NAMES[name])
            made["op"] = _NAMES[name]
        return made

    def node(self, owner: Mapping[str, Any], names: list[Any]) -> dict[str, Any]:
        made = self.without_empty(owner, ("configuration", "values", "flows"))
        if isinstance(made.get("values"), dict):
            made["values"] = self.values(made["values"])
        index = made.get("declaration")
        name = names[index] if isinstance(index, int) and 0 <= index < len(names) else None
        if isinstance(name, str) and name in _SOCKETS:
            self.socket(made, *_SOCKETS[name])
        configuration = made.get("configuration")
        if not isinstance(configuration, dict):
            return made
        if name == "variable/interpolate" and "useSlerp" not in configuration:
            made["configuration"] = {**configuration, "useSlerp": {"value": [False]}}
            self.note("variable/interpolate without useSlerp", "false")
        if name == "debug/log":
            self.message(made, configuration)
        if name == "variable/set" and "variables" not in configuration:
            self.one_variable(made, configuration)
        if name in ("pointer/get", "pointer/set", "pointer/interpolate"):
            self.pointer(made, configuration)
        return made

    def socket(self, made: dict[str, Any], old: str, new: str) -> None:
        """Rename an input of a node."""
        values = made.get("values")
        if isinstance(values, dict) and old in values and new not in values:
            made["values"] = {new if key == old else key: item for key, item in values.items()}
            self.note(f"the input {old}", new)

    def one_variable(self, made: dict[str, Any], configuration: Mapping[str, Any]) -> None:
        """Rename the input ``value`` of a ``variable/set`` of one variable."""
        chosen = configuration.get("variable")
        number = chosen.get("value") if isinstance(chosen, dict) else None
        values = made.get("values")
        if not (isinstance(number, list) and len(number) == 1 and isinstance(values, dict)):
            return
        if not isinstance(number[0], (int, float)) or isinstance(number[0], bool):
            return
        if "value" not in values or not math.isfinite(number[0]):
            return
        rest = {key: item for key, item in values.items() if key != "value"}
        made["values"] = {**rest, str(int(number[0])): values["value"]}
        rest = {key: item for key, item in configuration.items() if key != "variable"}
        made["configuration"] = {**rest, "variables": chosen}
        self.note("variable/set with variable and value", "variables and the variable's index")

    def message(self, made: dict[str, Any], configuration: Mapping[str, Any]) -> None:
        """Escape brackets that have no input of their name, which were literal text."""
        chosen = configuration.get("message")
        texts = chosen.get("value") if isinstance(chosen, dict) else None
        if not (isinstance(texts, list) and len(texts) == 1 and isinstance(texts[0], str)):
            return
        values = made.get("values")
        known = values if isinstance(values, dict) else {}
        text = _HOLE.sub(
            lambda hole: hole[0] if hole[1] in known else f"{{{{{hole[1]}}}}}", texts[0]
        )
        if text != texts[0]:
            made["configuration"] = {**configuration, "message": {"value": [text]}}
            self.note("a parameter of a message without an input", "text")

    def pointer(self, made: dict[str, Any], configuration: Mapping[str, Any]) -> None:
        """Correct brackets around integer parameters, and pointers to lists meant as lengths."""
        chosen = configuration.get("pointer")
        texts = chosen.get("value") if isinstance(chosen, dict) else None
        if not (isinstance(texts, list) and len(texts) == 1 and isinstance(texts[0], str)):
            return
        text = texts[0]
        values = made.get("values")
        for socket, item in (values if isinstance(values, dict) else {}).items():
            hole = f"/{{{socket}}}"
            if hole in text and isinstance(item, dict) and self.is_integer(item):
                text = text.replace(hole, f"/[{socket}]")
                self.note("an integer in curly brackets", "one in square brackets")
        kind = configuration.get("type")
        numbers = kind.get("value") if isinstance(kind, dict) else None
        is_int = isinstance(numbers, list) and self.signature(next(iter(numbers), None)) == "int"
        if is_int and text.startswith("/nodes/") and text.endswith("/weights"):
            text += ".length"
            self.note("weights as an int", "their number")
        if text != texts[0]:
            made["configuration"] = {**configuration, "pointer": {"value": [text]}}

    def is_integer(self, item: Mapping[str, Any]) -> bool:
        if "node" not in item:
            return self.signature(item.get("type")) == "int"
        return self.output_kind(item.get("node"), item.get("socket", "value")) == "int"

    def output_kind(self, node: object, socket: object) -> str:
        """The type of another node's output, for the operations that commonly give an index."""
        nodes = self.graph.get("nodes")
        if not (isinstance(nodes, list) and isinstance(node, int) and 0 <= node < len(nodes)):
            return ""
        owner = nodes[node]
        declared = self.graph.get("declarations")
        try:
            declaration = declared[owner["declaration"]]  # type: ignore[index]
            name, configuration = declaration["op"], owner.get("configuration", {})
            if "outputValueSockets" in declaration:
                return self.signature(declaration["outputValueSockets"][socket]["type"])
            if name == "variable/get":
                variable = self.graph["variables"][configuration["variable"]["value"][0]]
                return self.signature(variable["type"])
            if name == "pointer/get":
                return self.signature(configuration["type"]["value"][0])
            if name == "event/receive":
                event = self.graph["events"][configuration["event"]["value"][0]]
                return self.signature(event["values"][socket]["type"])
            if name in ("flow/for", "type/boolToInt", "type/floatToInt", "flow/multiGate"):
                return "int"
            if name.startswith("math/") and name[5:] not in ("eq", "lt", "le", "gt", "ge"):
                chosen = ("condition", "selection")
                first = next(v for k, v in owner["values"].items() if k not in chosen)
                return "int" if self.is_integer(first) else ""
        except (KeyError, IndexError, TypeError, StopIteration, AttributeError, RecursionError):
            return ""
        return ""


def with_present_spellings(
    graph: Mapping[str, Any], at: JsonPointer, diagnostics: Diagnostics
) -> dict[str, Any]:
    """The graph in the ratified spellings; earlier ones are reported once, at the first place.

    Args:
        graph: The graph as in the file.
        at: Location of the graph.
        diagnostics: Receives the earlier spellings.
    """
    rewriting = _Rewriting(graph, at)
    made = rewriting.whole()
    for (got, meaning), count in rewriting.seen.items():
        place = rewriting.first[got, meaning]
        diagnostics.report(BEHAVIOR_EARLIER_SPELLING, place, got=got, meaning=meaning, count=count)
    return made
