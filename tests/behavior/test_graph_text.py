"""Graphs as text, and the page of operations."""

from __future__ import annotations

from gltf_bullet.behavior.graph_text import graph_lines
from tests.behavior.graphs import read
from tools.behavior_page import PAGE, behavior_page, introduction_of
from tools.graph_builder import GraphBuilder, Out


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == behavior_page(introduction_of(page)), "run python -m tools.behavior_page"


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
