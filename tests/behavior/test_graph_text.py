"""Graphs as text, and the page of operations."""

from __future__ import annotations

import json
import re

from gltf_bullet.behavior.graph_text import graph_lines
from tests.behavior.graphs import findings, read
from tools.behavior_page import PAGE, behavior_page, introduction_of
from tools.graph_builder import GraphBuilder, Out


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == behavior_page(introduction_of(page)), "run python -m tools.behavior_page"


def test_the_node_that_the_page_shows_is_right() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = json.loads(block)
    g = GraphBuilder()
    start, three = g.add("event/onStart"), g.add("math/combine3", {"a": 1.0, "b": 2.0, "c": 3.0})
    moved = g.add("pointer/set", {"n": 0, "value": Out(three)}, pointer="", type=1)
    g.flow(start, moved)
    graph = g.graph()
    graph["types"] = [{"signature": "int"}, {"signature": "float3"}, {"signature": "float"}]
    for value in graph["nodes"][three]["values"].values():
        value["type"] = 2
    graph["nodes"][moved] = shown | {
        "declaration": graph["nodes"][moved]["declaration"],
        "values": shown["values"] | {"value": {"node": three, "socket": "value"}},
    }
    del graph["nodes"][moved]["flows"]
    assert findings(graph, {"nodes": [{}] * 4}) == []


def test_a_graph_reads_like_a_program() -> None:
    g = GraphBuilder()
    score, event = g.variable(0, "score"), g.event("won", by=0)
    tick = g.add("event/onTick")
    now = g.add("variable/get", variable=score)
    more = g.add("math/add", {"a": Out(now), "b": 1})
    enough = g.add("math/gt", {"a": Out(more), "b": 9})
    branch = g.add("flow/branch", {"condition": Out(enough)})
    send = g.add("event/send", {"by": Out(now)}, event=event)
    keep = g.add("variable/set", {"0": Out(more)}, variables=[score])
    g.flow(tick, branch)
    g.flow(branch, "true", send)
    g.flow(branch, "false", keep)
    assert graph_lines(read(g.graph())) == [
        "variable score: int = 0",
        "#0 event/onTick",
        "  #4 flow/branch with condition = ((score + 1) > 9)",
        "    true: #5 event/send won with by = score",
        "    false: #6 set score = (score + 1)",
    ]
