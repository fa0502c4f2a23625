"""A checked graph as values, with every socket resolved: the JSON is not needed any more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.behavior.operations.declaring import CustomEvent, Operation, Variable, Variant
from gltf_bullet.behavior.pointer_templates import parse_template
from gltf_bullet.behavior.values import Value
from gltf_bullet.diagnostics import JsonPointer

__all__ = ["Constant", "CustomEvent", "Graph", "GraphNode", "Link", "Source", "Variable"]


class Constant(Struct, frozen=True):
    """An input that always has the same value."""

    kind: str
    value: Value


class Link(Struct, frozen=True):
    """An input that another node computes."""

    kind: str
    node: int
    socket: str


Source = Constant | Link

_PLACE = re.compile("/nodes/([0-9]{1,9})/(?:translation|rotation|scale)")


class GraphNode(Struct, frozen=True):
    """One node of the graph."""

    index: int
    operation: Operation | None
    """``None`` for a node without effect, whose operation is not supported."""
    variant: Variant | None
    """The overload of a value operation; ``None`` for others."""
    name: str
    """Name of the operation, supported or not."""
    inputs: Mapping[str, Source] = msgspec_field(default_factory=dict)
    outputs: Mapping[str, str] = msgspec_field(default_factory=dict)
    """Types by socket id."""
    flows: Mapping[str, tuple[int, str]] = msgspec_field(default_factory=dict)
    """Connected output flows: node and socket by flow id."""
    flows_in: tuple[str, ...] = ()
    configuration: Mapping[str, Any] = msgspec_field(default_factory=dict)
    """Checked configuration, defaults filled in."""


class Graph(Struct, frozen=True, eq=False):
    """A behavior graph that can be run."""

    pointer: JsonPointer
    """Location of the graph in the file."""
    types: tuple[str, ...]
    variables: tuple[Variable, ...]
    events: tuple[CustomEvent, ...]
    nodes: tuple[GraphNode, ...]
    value_order: tuple[int, ...]
    """All nodes, each after the nodes whose values it takes."""
    flow_order: tuple[int, ...]
    """All nodes, each after the nodes that its flows lead to."""

    def moved_nodes(self) -> frozenset[int]:
        """The glTF nodes that it moves by a fixed pointer; others are known only at run time."""
        found: set[int] = set()
        for node in self.nodes:
            if node.name not in ("pointer/set", "pointer/interpolate"):
                continue
            template = parse_template(str(node.configuration.get("pointer")))
            if template is None or not all(
                isinstance(node.inputs.get(name), Constant) for name, _ in template.parameters
            ):
                continue
            values = [node.inputs[name] for name, _ in template.parameters]
            pointer = template.fill(tuple(v.value for v in values if isinstance(v, Constant)))
            match = _PLACE.fullmatch(pointer or "")
            if match is not None:
                found.add(int(match[1]))
        return frozenset(found)
