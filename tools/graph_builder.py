"""Behavior graphs in few words, for tests and examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["GraphBuilder", "Out", "Typed"]

_SIZES = {2: "float2", 3: "float3", 4: "float4", 9: "float3x3", 16: "float4x4"}


@dataclass(frozen=True)
class Out:
    """An output value of a node."""

    node: int
    socket: str = "value"


@dataclass(frozen=True)
class Typed:
    """A value whose type its Python type does not say; ``None`` is the type's default."""

    kind: str
    value: Any = None


class GraphBuilder:
    """Collects a graph; nodes are added before those that take their values."""

    def __init__(self) -> None:
        self._types: list[str] = []
        self._variables: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        self._declarations: list[dict[str, Any]] = []
        self._nodes: list[dict[str, Any]] = []

    def type(self, kind: str) -> int:
        """The index of a type."""
        if kind not in self._types:
            self._types.append(kind)
        return self._types.index(kind)

    def variable(self, value: Any, name: str = "") -> int:
        """Add a variable with its initial value."""
        self._variables.append(({"id": name} if name else {}) | self._inline(value))
        return len(self._variables) - 1

    def event(self, name: str = "", /, **values: Any) -> int:
        """Add a custom event with the initial values of its sockets."""
        entry: dict[str, Any] = {"id": name} if name else {}
        if values:
            entry["values"] = {socket: self._inline(value) for socket, value in values.items()}
        self._events.append(entry)
        return len(self._events) - 1

    def add(
        self,
        operation: str,
        values: Mapping[str, Any] | None = None,
        *,
        extension: str = "",
        inputs: Mapping[str, str] | None = None,
        outputs: Mapping[str, str] | None = None,
        **configuration: Any,
    ) -> int:
        """Add a node: an operation, its input values, its configuration; the index of it."""
        entry: dict[str, Any] = {
            "declaration": self._declaration(operation, extension, inputs, outputs)
        }
        if configuration:
            entry["configuration"] = {
                key: {"value": list(value) if isinstance(value, (list, tuple)) else [value]}
                for key, value in configuration.items()
            }
        if values:
            entry["values"] = {socket: self._source(value) for socket, value in values.items()}
        self._nodes.append(entry)
        return len(self._nodes) - 1

    def flow(self, node: int, *ways: str | int) -> None:
        """Connect ``out`` of a node, or another output, to ``in`` of another node, or another."""
        names: Sequence[Any] = ways
        out = "out" if isinstance(names[0], int) else names[0]
        target = next(way for way in names if isinstance(way, int))
        socket = names[-1] if isinstance(names[-1], str) and names[-1] is not names[0] else "in"
        flows = self._nodes[node].setdefault("flows", {})
        flows[out] = {"node": target} | ({} if socket == "in" else {"socket": socket})

    def chain(self, *nodes: int) -> None:
        """Connect ``out`` of each node to ``in`` of the next one."""
        for node, target in pairwise(nodes):
            self.flow(node, target)

    def graph(self) -> dict[str, Any]:
        """The graph."""
        lists = {
            "types": [{"signature": kind} for kind in self._types],
            "variables": self._variables,
            "events": self._events,
            "declarations": self._declarations,
            "nodes": self._nodes,
        }
        return {key: value for key, value in lists.items() if value}

    def extension(self) -> dict[str, Any]:
        """The object of KHR_interactivity."""
        return {"graphs": [self.graph()], "graph": 0}

    def _declaration(
        self,
        operation: str,
        extension: str,
        inputs: Mapping[str, str] | None,
        outputs: Mapping[str, str] | None,
    ) -> int:
        entry: dict[str, Any] = {"op": operation}
        if extension:
            entry["extension"] = extension
        for key, sockets in (("inputValueSockets", inputs), ("outputValueSockets", outputs)):
            if sockets:
                entry[key] = {name: {"type": self.type(kind)} for name, kind in sockets.items()}
        if entry not in self._declarations:
            self._declarations.append(entry)
        return self._declarations.index(entry)

    def _source(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Out):
            return {"node": value.node} | (
                {} if value.socket == "value" else {"socket": value.socket}
            )
        return self._inline(value)

    def _inline(self, value: Any) -> dict[str, Any]:
        kind, plain = _kind_of(value)
        entry: dict[str, Any] = {"type": self.type(kind)}
        items = list(plain) if isinstance(plain, (list, tuple)) else [plain]
        unknown = [isinstance(item, float) and math.isnan(item) for item in items]
        if plain is None or all(unknown):
            return entry  # NaN is what a float is without a value
        # JSON has no NaN; an earlier draft wrote it as text.
        numbers = ["NaN" if nan else item for item, nan in zip(items, unknown, strict=True)]
        return entry | {"value": numbers}


def _kind_of(value: Any) -> tuple[str, Any]:
    if isinstance(value, Typed):
        return value.kind, value.value
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "ref")):
        if isinstance(value, kind):
            return name, value
    return _SIZES[len(value)], [float(item) for item in value]
