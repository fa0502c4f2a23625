"""Graphs that tests read, run and ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gltf_bullet.behavior.graph import Graph
from gltf_bullet.behavior.preparing import Preparation
from gltf_bullet.behavior.reading import read_graph
from gltf_bullet.behavior.running import Behavior
from gltf_bullet.diagnostics import ROOT, Diagnostics
from tests.behavior.json_host import JsonHost
from tools.graph_builder import GraphBuilder

EMPTY: Mapping[str, Any] = {"asset": {"version": "2.0"}}


def read(graph: Mapping[str, Any], file: Mapping[str, Any] = EMPTY) -> Graph:
    found = Diagnostics()
    made = read_graph(graph, file, ROOT, found)
    assert made is not None, "\n".join(map(str, found))
    return made


def findings(graph: Any, file: Mapping[str, Any] = EMPTY) -> list[tuple[str, str]]:
    """Codes and places of what is wrong with a graph."""
    found = Diagnostics()
    read_graph(graph, file, ROOT, found)
    return [(issue.code, str(issue.pointer)) for issue in found]


def run(
    builder: GraphBuilder,
    file: Mapping[str, Any] = EMPTY,
    host: JsonHost | None = None,
    **options: Any,
) -> Behavior:
    """A behavior before its first tick."""
    graph = read(builder.graph(), file)
    count = len(file.get("nodes", ()))
    return Behavior(graph, host or JsonHost(file), count, **options)


def outputs(
    operation: str, values: Mapping[str, Any] | None = None, **configuration: Any
) -> dict[str, Any]:
    """What an operation gives for constant inputs."""
    builder = GraphBuilder()
    index = builder.add(operation, values, **configuration)
    behavior = run(builder)
    made = Preparation(behavior.graph, behavior).outputs
    behavior.clock.epoch += 1
    return {socket: made[index, socket]() for socket in behavior.graph.nodes[index].outputs}
