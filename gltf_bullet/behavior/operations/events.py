"""Events, which begin flows: start, ticks, custom events, selection, hovering; and the log."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from gltf_bullet.behavior.operations.declaring import ANY, NodeMaking, NodeReading, Sockets, declare
from gltf_bullet.behavior.values import as_index, shown

Closures = Mapping[str, Callable[[], None]]

_NAN3: Final = (math.nan, math.nan, math.nan)


def _begins(_: NodeMaking) -> Closures:
    """An event has no input flows; the behavior activates its output."""
    return {}


declare(
    "event/onStart", "once, before the first step", ("-> ref event", None),
    flows_out=("out",), prepare=_begins, slots=("event",), state=lambda _: [None],
)  # fmt: skip
declare(
    "event/onTick", "before every step",
    ("-> float timeSinceStart, float timeSinceLastTick, ref event", None),
    flows_out=("out",), prepare=_begins,
    slots=("timeSinceStart", "timeSinceLastTick", "event"),
    state=lambda _: [math.nan, math.nan, None],
)  # fmt: skip


def _stop_propagation(node: NodeMaking) -> Closures:
    immediate, event = node.input("stopImmediate"), node.input("event")
    push, out, behavior = node.push, node.flow("out"), node.behavior

    def enter() -> None:
        behavior.stop_event(event(), immediate=immediate())
        if out is not None:
            push(out)

    return {"in": enter}


declare(
    "event/stopPropagation", "keeps an event from further nodes",
    ("bool stopImmediate, ref event ->", None),
    flows_in=("in",), flows_out=("out",), prepare=_stop_propagation,
)  # fmt: skip


# --- custom events ----------------------------------------------------------------------------


def _known_event(node: NodeReading, configuration: dict[str, Any]) -> str:
    count = len(node.events)
    if 0 <= configuration["event"] < count:
        return ""
    return f"event: an index of the {count} events of the graph"


def _event_kinds(node: NodeReading) -> dict[str, str]:
    event = node.events[node.configuration["event"]]
    return {socket: kind for socket, (kind, _) in event.values.items()}


def _receive_output(node: NodeMaking, socket: str) -> Callable[[], Any]:
    sockets = [*node.behavior.graph.events[node.configuration["event"]].values, "event"]
    state, place = node.state, sockets.index(socket)
    return lambda: state[place]


def _send(node: NodeMaking) -> Closures:
    number, push, out = node.configuration["event"], node.push, node.flow("out")
    sources = [(s, node.input(s)) for s in node.behavior.graph.events[number].values]
    send = node.behavior.send_number

    def enter() -> None:
        send(number, {socket: source() for socket, source in sources})
        if out is not None:
            push(out)

    return {"in": enter}


declare(
    "event/receive", "when a custom event happens",
    configuration={"event": "int"}, check=_known_event,
    find_sockets=lambda node: Sockets({}, {**_event_kinds(node), "event": "ref"}),
    flows_out=("out",), prepare=_begins, make_output=_receive_output, state=lambda _: [],
)  # fmt: skip
declare(
    "event/send", "sends a custom event",
    configuration={"event": "int"}, check=_known_event,
    find_sockets=lambda node: Sockets(_event_kinds(node), {}),
    flows_in=("in",), flows_out=("out",), prepare=_send,
)  # fmt: skip


# --- selection and hovering -------------------------------------------------------------------


def _known_node(node: NodeReading, configuration: dict[str, Any]) -> str:
    nodes = node.file.get("nodes")
    count = len(nodes) if isinstance(nodes, list) else 0
    known = as_index(configuration["nodeIndex"], count)
    return "" if known is not None else f"nodeIndex: an index of the {count} nodes of the file"


_ON_NODE: Final[dict[str, Any]] = {
    "configuration": {"nodeIndex": "int"},
    "defaults": {"nodeIndex": -1},
    "check": _known_node,
    "flows_out": ("out",),
    "prepare": _begins,
}
_POINTS = "float3 selectionPoint, float3 selectionRayOrigin"
declare(
    "event/onSelect", "when a node, or one below, is selected",
    (f"-> ref selectedNode, int controllerIndex, {_POINTS}, ref event", None),
    # The int output is of an earlier draft.
    (f"-> int selectedNodeIndex, int controllerIndex, {_POINTS}, ref event", None),
    extension="KHR_node_selectability", **_ON_NODE,
    slots=("selectedNode", "controllerIndex", "selectionPoint", "selectionRayOrigin", "event",
           "selectedNodeIndex"),
    state=lambda _: [None, -1, _NAN3, _NAN3, None, -1],
)  # fmt: skip
for _way in ("In", "Out"):
    declare(
        f"event/onHover{_way}", f"when the pointer comes {'on' if _way == 'In' else 'off'} a node",
        ("-> ref hoveredNode, int controllerIndex, ref event", None),
        ("-> int hoverNodeIndex, int controllerIndex, ref event", None),
        extension="KHR_node_hoverability", **_ON_NODE,
        slots=("hoveredNode", "controllerIndex", "event", "hoverNodeIndex"),
        state=lambda _: [None, -1, None, -1],
    )  # fmt: skip


# --- the log ----------------------------------------------------------------------------------


def message_parts(message: str) -> tuple[list[str], list[str]] | None:
    """Literal parts and the sockets between them; ``None`` if the brackets do not match."""
    literals, sockets, now = [""], [], 0
    socket = ""
    for letter in message:
        if letter == "{":
            if now == 0:
                now = 1
            elif now == 1:
                now, literals[-1] = 0, literals[-1] + "{"
            else:
                return None
        elif letter == "}":
            if now == 0:
                now = 3
            elif now == 3:
                now, literals[-1] = 0, literals[-1] + "}"
            elif now == 2:
                now = 0
                sockets.append(socket)
                literals.append("")
            else:
                return None
        elif now == 1:
            now, socket = 2, letter
        elif now == 2:
            socket += letter
        elif now == 3:
            return None
        else:
            literals[-1] += letter
    return None if now else (literals, sockets)


def _is_message(_: NodeReading, configuration: dict[str, Any]) -> str:
    if message_parts(configuration["message"]) is None:
        return "message: text with matching brackets around parameters, others doubled"
    return ""


def _message_sockets(node: NodeReading) -> Sockets:
    _, sockets = message_parts(node.configuration["message"]) or ([], [])
    return Sockets(dict.fromkeys(sockets, ANY), {})


def _log(node: NodeMaking) -> Closures:
    severity, push, out = node.configuration["severity"], node.push, node.flow("out")
    literals, sockets = message_parts(node.configuration["message"]) or ([""], [])
    sources, log = [node.input(socket) for socket in sockets], node.behavior.note

    def enter() -> None:
        text = literals[0]
        for source, literal in zip(sources, literals[1:], strict=True):
            text += shown(source()) + literal
        log(severity, text)
        if out is not None:
            push(out)

    return {"in": enter}


declare(
    "debug/log", "writes a line into the log",
    configuration={"severity": "int", "message": "string"},
    defaults={"severity": 0, "message": ""}, check=_is_message,
    find_sockets=_message_sockets, flows_in=("in",), flows_out=("out",), prepare=_log,
)  # fmt: skip
