"""What a graph means and the file does not have is named by ``check``."""

from __future__ import annotations

import pytest

import gltf_bullet as gb
from tests.runtime.test_behavior import PHYSICS, acting, impulse
from tests.runtime.trigger_scenes import ball, node
from tools.graph_builder import GraphBuilder

MASS = f"/nodes/0/extensions/{PHYSICS}/motion/mass"
GRAPH = "/extensions/KHR_interactivity/graphs/0"


def setting(pointer: str) -> GraphBuilder:
    g = GraphBuilder()
    start = g.add("event/onStart")
    g.flow(start, g.add("pointer/set", {"value": 2.0}, pointer=pointer, type=g.type("float")))
    return g


def found(graph: GraphBuilder) -> list[tuple[str, str, str]]:
    issues = gb.check(acting(graph, ball((0, 1, 0)), node(name="Empty"))).issues
    return [(issue.code, str(issue.pointer), issue.message) for issue in issues]


def test_a_pointer_to_nothing_is_named_with_one_that_may_be_meant() -> None:
    assert found(setting(MASS)) == []
    ((code, place, message),) = found(setting(MASS.replace("mass", "mas")))
    assert (code, place) == (
        "BEHAVIOR_POINTER_UNKNOWN", f"{GRAPH}/nodes/1/configuration/pointer"
    )  # fmt: skip
    assert f"did you mean '{MASS}'" in message
    assert [code for code, *_ in found(setting(MASS.replace("/0/", "/7/")))] == [code]


@pytest.mark.parametrize(
    "pointer", ["/nodes/0/globalMatrix", "/nodes/1/parent", "/animations.length"]
)
def test_pointers_that_may_be_asked_for_are_not_named(pointer: str) -> None:
    g = GraphBuilder()
    kind = "float4x4" if pointer.endswith("Matrix") else "int"
    g.add("pointer/get", pointer=pointer, type=g.type(kind))
    assert found(g) == []


def test_an_impulse_on_a_node_without_motion_is_named() -> None:
    def pushing(target: int) -> GraphBuilder:
        g = GraphBuilder()
        g.flow(g.add("event/onStart"), impulse(g, target, (0.0, 1.0, 0.0)))
        return g

    assert found(pushing(0)) == []
    ((code, place, message),) = found(pushing(1))
    assert (code, place) == ("BEHAVIOR_IMPULSE_IDLE", f"{GRAPH}/nodes/1/values/nodeIndex")
    assert "node 1 does nothing" in message
    assert "such are 0" in message


def test_an_event_that_nobody_sends_is_noted_with_the_one_that_is_sent() -> None:
    def talking(heard: str) -> GraphBuilder:
        g = GraphBuilder()
        sent = g.event("opened")
        received = sent if heard == "opened" else g.event(heard)
        g.flow(g.add("event/onStart"), g.add("event/send", event=sent))
        g.add("event/receive", event=received)
        return g

    assert found(talking("opened")) == []
    ((code, place, message),) = found(talking("openned"))
    assert (code, place) == ("BEHAVIOR_EVENT_UNSENT", f"{GRAPH}/nodes/2")
    assert "did you mean 'opened'?" in message
