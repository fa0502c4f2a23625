"""A graph as readable text: the flows of each event, with values written out."""

from __future__ import annotations

from collections.abc import Iterator

from gltf_bullet.behavior.graph import Constant, Graph, GraphNode, Link
from gltf_bullet.behavior.values import shown

_DEEPEST = 4
"""Depth of nested values from which on a node is only named."""
_MOST_LINES = 2000
_SIGNS = {
    "math/add": "+", "math/sub": "-", "math/mul": "*", "math/div": "/", "math/lt": "<",
    "math/le": "<=", "math/gt": ">", "math/ge": ">=", "math/eq": "=", "math/and": "and",
    "math/or": "or",
}  # fmt: skip


def graph_lines(graph: Graph) -> list[str]:
    """The lines; a flow that reaches a node a second time refers to it by number."""
    lines: list[str] = []
    for k, variable in enumerate(graph.variables):
        lines.append(f"variable {variable.name or k}: {variable.kind} = {shown(variable.value)}")
    visited: set[int] = set()
    for node in graph.nodes:
        if node.operation is not None and node.operation.is_event:
            lines.append(f"#{node.index} {node.name}{_configured(graph, node)}")
            lines += _flows(graph, node, visited)
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"... and {len(lines) - _MOST_LINES} lines more"]
    return lines


def _flows(graph: Graph, begin: GraphNode, visited: set[int]) -> Iterator[str]:
    stack = [(begin, flow, 1) for flow in reversed([*begin.flows])]
    while stack:
        owner, flow, depth = stack.pop()
        index, socket = graph.nodes[owner.index].flows[flow]
        node = graph.nodes[index]
        way = "" if flow == "out" else f"{flow}: "
        into = "" if socket == "in" else f" ({socket})"
        indent = "  " * min(depth, 40)
        if index in visited:
            yield f"{indent}{way}#{index} again{into}"
            continue
        visited.add(index)
        yield f"{indent}{way}#{index} {_done(graph, node)}{into}"
        # A single "out" continues at the same depth, as one statement follows another.
        for further in reversed([*node.flows]):
            goes_on = further == "out" and flow == "out"
            stack.append((node, further, depth if goes_on else depth + 1))


def _done(graph: Graph, node: GraphNode) -> str:
    values = {socket: _value(graph, source) for socket, source in node.inputs.items()}
    if node.name == "variable/set":
        return "set " + ", ".join(f"{_variable(graph, k)} = {v}" for k, v in values.items())
    given = ", ".join(f"{socket} = {value}" for socket, value in values.items())
    lost = " (unknown, does nothing)" if node.operation is None else ""
    return f"{node.name}{_configured(graph, node)}{f' with {given}' if given else ''}{lost}"


def _variable(graph: Graph, key: object) -> str:
    number = int(str(key))
    return graph.variables[number].name or f"variable {number}"


def _configured(graph: Graph, node: GraphNode) -> str:
    parts = []
    for key, value in node.configuration.items():
        if key == "event":
            parts.append(graph.events[value].id or f"event {value}")
        elif key in ("variable", "variables"):
            if node.name != "variable/set":
                parts.append(_variable(graph, value))
        elif key != "type":
            parts.append(str(value) if key in ("pointer", "message") else f"{key} {value}")
    return f" {', '.join(parts)}" if parts else ""


def _value(graph: Graph, source: Constant | Link, depth: int = 0) -> str:
    if isinstance(source, Constant):
        return shown(source.value)
    node = graph.nodes[source.node]
    socket = "" if source.socket == "value" else f".{source.socket}"
    is_pure = node.operation is not None and node.operation.is_value
    if node.name == "variable/get":
        return _variable(graph, node.configuration["variable"])
    if not is_pure or depth >= _DEEPEST:
        return f"#{source.node}{socket}"
    if len(node.inputs) > 4:
        return f"#{source.node}{socket}"
    inner = [_value(graph, s, depth + 1) for s in node.inputs.values()]
    if node.name in _SIGNS and len(inner) == 2:
        return f"({inner[0]} {_SIGNS[node.name]} {inner[1]})"
    name = node.name.removeprefix("math/")
    return f"{name}({', '.join([*inner, *_configured(graph, node).split()])}){socket}"
