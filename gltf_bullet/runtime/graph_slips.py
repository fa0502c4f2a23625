"""Likely slips of a behavior graph against its file: pointers, impulses and events to nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gltf_bullet.behavior.graph import Constant, Graph, GraphNode
from gltf_bullet.behavior.object_model import ObjectModel
from gltf_bullet.behavior.pointer_templates import parse_template
from gltf_bullet.behavior.values import Reference, as_index
from gltf_bullet.diagnostics import Diagnostics, note, warning
from gltf_bullet.dialects import IMPLEMENTED_EXTENSIONS
from gltf_bullet.gltf.document import Document
from gltf_bullet.model.motion import MotionKind
from gltf_bullet.model.physics_scene import PhysicsScene
from gltf_bullet.model.pointers import find_target, pointers_of
from gltf_bullet.suggestions import did_you_mean

BEHAVIOR_POINTER_UNKNOWN = warning(
    "BEHAVIOR_POINTER_UNKNOWN",
    "the object model has nothing at {got}; the node takes its way for errors{near}",
)
BEHAVIOR_IMPULSE_IDLE = warning(
    "BEHAVIOR_IMPULSE_IDLE",
    "an impulse on node {target} does nothing: neither it nor a node above it is a dynamic "
    "body{near}",
)
BEHAVIOR_EVENT_UNSENT = note(
    "BEHAVIOR_EVENT_UNSENT",
    "no node of the graph sends the event {event}, which is received here{near}",
)

_PLACES: Final = ("translation", "rotation", "scale", "matrix", "globalMatrix")
_MAY_BE_ABSENT: Final = ("parent", "camera", "mesh", "skin", "light", "skeleton", "material")
"""Last tokens of pointers that a graph may ask for in order to see whether there is one."""
_OF_THE_RUN: Final = ("/extensions/KHR_interactivity/", "/animations/")
"""Beginnings of pointers that only a running graph can answer."""
_MOST_NEAR: Final = 4096
"""Number of pointers that a wrong one is compared with."""


def report_graph_slips(
    graph: Graph, document: Document, physics: PhysicsScene, diagnostics: Diagnostics
) -> None:
    """Report what a graph means that the file does not have.

    Args:
        graph: The graph that is run.
        document: Its file.
        physics: The physics of the file.
        diagnostics: Receives the findings.
    """
    model = ObjectModel(document.json, supported=IMPLEMENTED_EXTENSIONS)
    known: list[str] = []
    for node, pointer in _fixed_pointers(graph):
        last = pointer.rpartition("/")[2]
        if last in _MAY_BE_ABSENT or last.endswith(".length") or pointer.startswith(_OF_THE_RUN):
            continue
        if find_target(physics, pointer) is not None or model.find(pointer) is not None:
            continue
        tokens = pointer.split("/")
        places = [f"/nodes/{k}/{name}" for k in range(len(document.tree)) for name in _PLACES]
        if len(tokens) == 4 and tokens[3] in _PLACES[3:] and pointer in places:
            continue
        known = known or [*pointers_of(physics), *places][:_MOST_NEAR]
        diagnostics.report(
            BEHAVIOR_POINTER_UNKNOWN,
            graph.pointer / "nodes" / node.index / "configuration" / "pointer",
            got=pointer[:120],
            near=did_you_mean(pointer[:120], known, similar=0.75),
        )
    _report_impulses(graph, document, physics, diagnostics)
    _report_events(graph, diagnostics)


def _fixed_pointers(graph: Graph) -> Iterator[tuple[GraphNode, str]]:
    """Nodes whose pointers do not depend on values that are computed, and those pointers."""
    for node in graph.nodes:
        if node.operation is None or not node.name.startswith("pointer/"):
            continue
        template = parse_template(str(node.configuration.get("pointer")))
        if template is None:
            continue
        sources = [node.inputs.get(name) for name, _ in template.parameters]
        values = tuple(source.value for source in sources if isinstance(source, Constant))
        pointer = template.fill(values) if len(values) == len(sources) else None
        if pointer is not None:
            yield node, pointer


def _report_impulses(
    graph: Graph, document: Document, physics: PhysicsScene, diagnostics: Diagnostics
) -> None:
    owner_of = physics.motion_node_of(document.tree)
    names = document.tree.names
    bodies = [k for k, motion in physics.motions.items() if motion.kind is MotionKind.DYNAMIC]
    shown = [f"{k} ({names[k]})" if names[k] else str(k) for k in bodies[:5]]
    for node in graph.nodes:
        target = node.inputs.get("nodeIndex")
        is_impulse = node.operation is not None and node.name in (
            "rigid_body/applyImpulse", "rigid_body/applyPointImpulse",
        )  # fmt: skip
        if not is_impulse or not isinstance(target, Constant):
            continue
        value = target.value
        index = value.number if isinstance(value, Reference) else value
        number = as_index(index, len(document.tree))
        if number is not None and int(owner_of[number]) in bodies:
            continue
        diagnostics.report(
            BEHAVIOR_IMPULSE_IDLE,
            graph.pointer / "nodes" / node.index / "values" / "nodeIndex",
            target=index,
            near=f"; such are {', '.join(shown)}" if shown else "; the file has none",
        )


def _report_events(graph: Graph, diagnostics: Diagnostics) -> None:
    numbers: dict[str, dict[int, int]] = {"event/send": {}, "event/receive": {}}
    for node in graph.nodes:
        if node.operation is not None and node.name in numbers:
            numbers[node.name].setdefault(node.configuration["event"], node.index)
    sent, received = numbers["event/send"], numbers["event/receive"]
    names = [event.id for event in graph.events]
    unheard = [str(names[number]) for number in sent if number not in received and names[number]]
    for number, index in received.items():
        if number not in sent:
            name = names[number]
            diagnostics.report(
                BEHAVIOR_EVENT_UNSENT,
                graph.pointer / "nodes" / index,
                event=repr(name) if name else f"{number}, which has no id",
                near=did_you_mean(name, unheard) if name else "",
            )
