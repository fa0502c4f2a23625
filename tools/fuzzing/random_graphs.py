"""Random behavior graphs: well-formed ones of all operations, and ones with damage."""

from __future__ import annotations

import copy
import math
from random import Random
from typing import Any

from gltf_bullet.behavior.operations.catalogue import OPERATIONS
from gltf_bullet.behavior.operations.declaring import Operation, Sockets
from gltf_bullet.behavior.values import SIZES
from tools.fuzzing.mutations import Seeds, as_text
from tools.graph_builder import GraphBuilder, Out, Typed

__all__ = ["FILE", "damaged", "random_graph", "with_graph"]

FILE: dict[str, Any] = {
    "asset": {"version": "2.0"},
    "extensionsUsed": ["KHR_interactivity", "KHR_node_selectability", "KHR_node_hoverability"],
    "animations": [{}, {}],
    "materials": [{}],
    "nodes": [
        {"children": [1], "translation": [1, 2, 3]},
        {"children": [2]},
        {"extensions": {"KHR_physics_rigid_bodies": {"trigger": {}}}},
        {"matrix": [1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0, 0, 5, 6, 7, 1]},
    ],
}
"""What the graphs act on."""

_KINDS = tuple(SIZES)
_NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, math.pi, 1e300, -1e300, 1e-300, 1e9, math.nan, math.inf)
_INTEGERS = (0, 1, -1, 2, 3, 5, 31, 32, 2**31 - 1, -(2**31))
_POINTERS = (
    ("/nodes/[i]/translation", "float3"), ("/nodes/{r}/rotation", "float4"),
    ("/nodes/0/scale", "float3"), ("/nodes/[i]/globalMatrix", "float4x4"),
    ("/nodes/3/matrix", "float4x4"), ("/nodes.length", "int"), ("/nodes/[i]/parent", "int"),
    ("/materials/[i]/alphaCutoff", "float"),
    ("/nodes/[i]/extensions/KHR_node_selectability/selectable", "bool"),
    ("/extensions/KHR_interactivity/delays/{r}", "ref"),
    ("/extensions/KHR_interactivity/events/{r}", "ref"),
    ("/extensions/KHR_interactivity/limits/maxActiveDelays", "int"),
    ("/extensions/KHR_interactivity/activeCamera/position", "float3"),
    ("/animations/[i]/extensions/KHR_interactivity/playhead", "float"),
    ("/nothing/[i]", "float2"),
)  # fmt: skip
_REFERENCES = ("/nodes/0", "/nodes/2", "/animations/1", "/materials/0", "/nodes/77")
_DONE = ("out", "err", "done", "true", "false", "default", "loopBody", "completed", "hit", "miss",
         "0", "1", "2", "a", "b")  # fmt: skip


class _Growing:
    def __init__(self, random: Random, size: int) -> None:
        self.random, self.builder = random, GraphBuilder()
        self.outputs: dict[str, list[Out]] = {kind: [] for kind in _KINDS}
        self.entries: list[tuple[int, tuple[str, ...]]] = []
        self.starts: list[int] = []
        self.triggers: set[str] = set()
        self.chosen: dict[str, Sockets] = {}
        self.kinds = [random.choice(_KINDS) for _ in range(random.randint(1, 6))]
        for kind in self.kinds:
            self.builder.variable(self.value(kind))
        self.events = [self.event(k) for k in range(random.randint(1, 3))]
        operations = list(OPERATIONS.values())
        # Graphs need many beginnings and places where values arrive.
        often = [o for o in operations if not o.is_value]
        for _ in range(size):
            self.grow(random.choice(often if random.random() < 0.5 else operations))
        self.connect()

    def event(self, number: int) -> dict[str, str]:
        kinds = {f"v{k}": self.random.choice(_KINDS) for k in range(self.random.randint(0, 3))}
        values = {socket: self.value(kind) for socket, kind in kinds.items()}
        self.builder.event(f"event{number}", **values)
        return kinds

    def value(self, kind: str) -> Any:
        random = self.random
        if kind == "bool":
            return random.random() < 0.5
        if kind == "int":
            return random.choice(_INTEGERS)
        if kind == "ref":
            return Typed("ref", random.choice((None, *_REFERENCES)))
        numbers = [random.choice(_NUMBERS) for _ in range(SIZES[kind])]
        return Typed(kind, numbers)

    def source(self, kind: str) -> Any:
        known = self.outputs[kind]
        if known and self.random.random() < 0.7:
            return self.random.choice(known[-8:] if self.random.random() < 0.5 else known)
        return self.value(kind)

    def grow(self, operation: Operation) -> None:
        random, builder = self.random, self.builder
        inputs: dict[str, str] = {}
        outputs: dict[str, str] = {}
        configuration: dict[str, Any] = {}
        name = operation.name
        if operation.variants:
            sockets = random.choice(operation.variants).sockets
            if operation.extension:  # equal declarations must not be there twice
                sockets = self.chosen.setdefault(name, sockets)
            inputs, outputs = dict(sockets.inputs), dict(sockets.outputs)
        for key, kind in operation.configuration.items():
            configuration[key] = {
                "bool": random.random() < 0.5,
                "int": random.randint(0, 3),
                "int[]": [random.randint(-2, 3) for _ in range(random.randint(0, 3))],
                "string": random.choice(("yxz", "a {a} {{b}}", "xyz")),
            }[kind]
        if name.startswith("pointer/"):
            pointer, kind = random.choice(_POINTERS)
            configuration = {"pointer": pointer, "type": builder.type(kind)}
            inputs = {"i": "int"} if "[i]" in pointer else {"r": "ref"} if "{r}" in pointer else {}
            if name != "pointer/get":
                inputs["value"] = kind
            else:
                outputs = {"value": kind, "isValid": "bool"}
        if name.startswith("variable/"):
            number = random.randrange(len(self.kinds))
            kind = self.kinds[number]
            if name == "variable/set":
                configuration, inputs = {"variables": [number]}, {str(number): kind}
            elif name == "variable/get":
                configuration, outputs = {"variable": number}, {"value": kind}
            elif kind.startswith("float"):
                slerp = kind == "float4" and random.random() < 0.5
                configuration, inputs = {"variable": number, "useSlerp": slerp}, {"value": kind}
            else:
                return
        if name.endswith("/interpolate"):
            if configuration.get("type") is not None and inputs["value"] in ("bool", "int"):
                return
            inputs |= {"duration": "float", "p1": "float2", "p2": "float2"}
        if name in ("event/send", "event/receive"):
            number = random.randrange(len(self.events))
            configuration = {"event": number}
            if name == "event/send":
                inputs = self.events[number]
            else:
                outputs = {**self.events[number], "event": "ref"}
        if name in ("math/select", "math/switch"):
            kind = random.choice(_KINDS)
            outputs = {"value": kind}
            cases = configuration.get("cases", ())
            inputs = (
                {"condition": "bool", "a": kind, "b": kind}
                if name == "math/select"
                else {"selection": "int", "default": kind, **{str(c): kind for c in cases}}
            )
        if name == "debug/log":
            inputs = {"a": random.choice(_KINDS)}
        if "rigid_body_trigger" in name:
            configuration = {"nodeIndex": 2}
            if name in self.triggers:
                return
            self.triggers.add(name)
        index = builder.add(
            name,
            {socket: self.source(kind) for socket, kind in inputs.items()},
            extension=operation.extension,
            inputs=inputs if operation.extension else None,
            outputs=outputs if operation.extension else None,
            **configuration,
        )
        for socket, kind in outputs.items():
            self.outputs[kind].append(Out(index, socket))
        if operation.is_event:
            self.starts.append(index)
        elif not operation.is_value:
            self.entries.append((index, operation.flows_in or ("0",)))

    def connect(self) -> None:
        random = self.random
        for index in [*self.starts, *(entry for entry, _ in self.entries)]:
            later = [entry for entry in self.entries if entry[0] > index]
            for flow in _DONE:
                if later and random.random() < 0.3:
                    target, sockets = random.choice(later)
                    self.builder.flow(index, flow, target, random.choice((*sockets, "in", "reset")))


def random_graph(random: Random, size: int = 30) -> dict[str, Any]:
    """A graph of all operations, connected at random; mostly valid."""
    return _Growing(random, size).builder.graph()


def damaged(graph: dict[str, Any], random: Random, wounds: int = 3) -> dict[str, Any]:
    """A copy with some values replaced, removed or doubled."""
    made = copy.deepcopy(graph)
    for _ in range(wounds):
        owner: Any = made
        for _ in range(random.randint(1, 6)):
            if isinstance(owner, (dict, list)) and owner:
                key = random.choice(list(owner) if isinstance(owner, dict) else range(len(owner)))
                inner = owner[key]
                if random.random() < 0.3 or not isinstance(inner, (dict, list)) or not inner:
                    odd = (None, -1, 0, 1, 2**31, 0.5, 1e999, True, "", "in", [], {}, [0], "NaN")
                    owner[key] = random.choice(odd)
                    break
                owner = inner
    return made


def with_graph(seeds: Seeds, seed: str) -> tuple[str, bytes]:
    """The name of a file and its bytes with a random graph, damaged in one of three."""
    random = Random(seed)  # noqa: S311  # reproducible on purpose
    name, root, buffers, _ = random.choice(seeds.files)
    graph = random_graph(random, random.choice((5, 20, 60)))
    if random.random() < 0.33:
        graph = damaged(graph, random)
    root = copy.deepcopy(root)
    root.setdefault("extensions", {})["KHR_interactivity"] = {"graphs": [graph], "graph": 0}
    used = root.setdefault("extensionsUsed", [])
    if "KHR_interactivity" not in used:
        used.append("KHR_interactivity")
    # JSON knows no such numbers.
    return name, as_text(root, buffers).replace(b"NaN", b"null").replace(b"Infinity", b"1e308")
