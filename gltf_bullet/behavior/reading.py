"""Reading of the JSON to a checked graph: every rule of "Validation", each finding located.

Reading continues after a finding, so that one pass reports all; a graph with an error is not run,
and the rest of the file is. It is one file because the rules depend on each other's findings: a
part that was refused is not reported again by parts that refer to it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gltf_bullet.behavior.earlier_drafts import with_present_spellings
from gltf_bullet.behavior.findings import (
    BEHAVIOR_CONFIGURATION,
    BEHAVIOR_EARLIER_SPELLING,
    BEHAVIOR_INVALID,
    BEHAVIOR_REQUIRED,
    BEHAVIOR_TOO_LARGE,
    BEHAVIOR_UNSUPPORTED,
    BEHAVIOR_UNUSED,
    MOST,
    show,
)
from gltf_bullet.behavior.graph import (
    Constant,
    Graph,
    GraphNode,
    Link,
    Source,
)
from gltf_bullet.behavior.operations.catalogue import find_operation
from gltf_bullet.behavior.operations.declaring import (
    ANY,
    OPERATIONS,
    CustomEvent,
    NodeReading,
    Operation,
    Sockets,
    Variable,
    Variant,
)
from gltf_bullet.behavior.values import (
    DEFAULTS,
    SIGNATURES,
    SIZES,
    Reference,
    Value,
    as_index,
    as_int32,
    is_pointer,
)
from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.suggestions import did_you_mean

EXTENSION = "KHR_interactivity"
_AT = ROOT / "extensions" / EXTENSION


class _Declaration(NamedTuple):
    """Operation and sockets of the nodes of one declaration."""

    name: str
    extension: str
    operation: Operation | None
    sockets: Sockets | None
    """Declared sockets of an operation of an extension."""


def read_graphs(file: Mapping[str, Any], diagnostics: Diagnostics) -> Graph | None:
    """The graph that a file selects; ``None`` if it has none that can be run.

    All graphs of the file are checked.
    """
    extensions = file.get("extensions")
    if not isinstance(extensions, Mapping) or EXTENSION not in extensions:
        return None
    graph = _selected(extensions[EXTENSION], file, diagnostics)
    required = file.get("extensionsRequired")
    if graph is None and isinstance(required, list) and EXTENSION in required:
        diagnostics.report(BEHAVIOR_REQUIRED, _AT)
    return graph


def _selected(owner: object, file: Mapping[str, Any], diagnostics: Diagnostics) -> Graph | None:
    graphs = owner.get("graphs") if isinstance(owner, Mapping) else None
    if not isinstance(owner, Mapping) or not isinstance(graphs, list) or not graphs:
        _invalid(diagnostics, _AT / "graphs", "graphs", graphs, "a list of graphs")
        return None
    if len(graphs) > MOST["graphs"]:
        _too_large(diagnostics, _AT / "graphs", "graphs", len(graphs))
        return None
    read = [
        read_graph(graph, file, _AT / "graphs" / k, diagnostics) for k, graph in enumerate(graphs)
    ]
    chosen = as_index(owner.get("graph", 0), len(graphs))
    if chosen is None:
        got = owner.get("graph")
        _invalid(diagnostics, _AT / "graph", "graph", got, f"an index below {len(graphs)}")
        return None
    return read[chosen]


def read_graph(
    graph: object, file: Mapping[str, Any], at: JsonPointer, diagnostics: Diagnostics
) -> Graph | None:
    """One graph; ``None`` if it is invalid."""
    if not isinstance(graph, Mapping):
        _invalid(diagnostics, at, "the graph", graph, "an object")
        return None
    present = with_present_spellings(graph, at, diagnostics)
    return _GraphReader(graph, present, file, at, diagnostics).read()


def _invalid(
    diagnostics: Diagnostics, at: JsonPointer, what: str, got: object, allowed: str
) -> None:
    diagnostics.report(BEHAVIOR_INVALID, at, what=what, got=show(got), allowed=allowed)


def _too_large(diagnostics: Diagnostics, at: JsonPointer, what: str, got: int) -> None:
    allowed = MOST.get(what, MOST["sockets"])
    diagnostics.report(BEHAVIOR_TOO_LARGE, at, got=got, what=what, allowed=allowed)


def _similar_operation(extension: str, name: str) -> str:
    """The end of a message: what may be meant by an operation that the text does not have."""
    if (extension, name) in OPERATIONS:
        return ""
    for owner, known in OPERATIONS:
        if known == name:
            return f' (with "extension": "{owner}"?)' if owner else " (without an extension?)"
    others = (known for owner, known in OPERATIONS if owner == extension)
    return did_you_mean(name[:80], others)


def item_at(file: Mapping[str, Any], pointer: str) -> Reference | None:
    """Reference for a static pointer to an item of a list; ``None`` if there is no item."""
    owner: Any = file
    tokens = pointer.split("/")[1:]
    for token in tokens:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(owner, list):
            if not (key.isascii() and key.isdigit() and len(key) < 10) or int(key) >= len(owner):
                return None
            owner = owner[int(key)]
        elif isinstance(owner, Mapping) and key in owner:
            owner = owner[key]
        else:
            return None
    collection, _, last = pointer.rpartition("/")
    is_item = isinstance(owner, Mapping) and last.isascii() and last.isdigit()
    return Reference(collection, int(last)) if is_item else None


class _GraphReader:
    def __init__(
        self,
        original: Mapping[str, Any],
        graph: Mapping[str, Any],
        file: Mapping[str, Any],
        at: JsonPointer,
        diagnostics: Diagnostics,
    ) -> None:
        self.original = original
        self.graph, self.file, self.at, self.diagnostics = graph, file, at, diagnostics
        self.refused = 0
        self.types: tuple[str, ...] = ()
        self.variables: tuple[Variable, ...] = ()
        self.events: tuple[CustomEvent, ...] = ()
        self.declarations: list[_Declaration | None] = []
        self.raw_nodes: list[Any] = []
        self.nodes: dict[int, GraphNode] = {}

    # --- findings ---------------------------------------------------------------------------

    def reject(self, at: JsonPointer, what: str, got: object, allowed: str) -> None:
        self.refused += 1
        _invalid(self.diagnostics, at, what, got, allowed)

    def reject_size(self, at: JsonPointer, what: str, got: int) -> None:
        self.refused += 1
        _too_large(self.diagnostics, at, what, got)

    def items(self, key: str) -> list[Any]:
        value, at = self.graph.get(key), self.at / key
        if value is None and key not in self.graph:
            return []
        if not isinstance(value, list):
            self.reject(at, key, value, "a list")
            return []
        if len(value) > MOST[key]:
            self.reject_size(at, key, len(value))
            return []
        return value

    def sockets(self, owner: Mapping[str, Any], key: str, at: JsonPointer) -> dict[str, Any]:
        """A member that is an object of objects, checked."""
        value = owner.get(key)
        if key not in owner:
            return {}
        if not isinstance(value, Mapping) or not value:
            self.reject(at / key, key, value, "an object that is not empty")
            return {}
        if len(value) > MOST["sockets"]:
            self.reject_size(at / key, f"{key} of one object", len(value))
            return {}
        found: dict[str, Any] = {}
        for name, item in value.items():
            if isinstance(item, Mapping):
                found[name] = item
            else:
                self.reject(at / key / name, name, item, "an object")
        return found

    # --- the whole graph --------------------------------------------------------------------

    def read(self) -> Graph | None:
        self.read_types()
        self.read_variables()
        self.read_events()
        self.declarations = [
            self.declaration(item, self.at / "declarations" / k)
            for k, item in enumerate(self.items("declarations"))
        ]
        self.refuse_equal_declarations()
        self.raw_nodes = self.items("nodes")
        value_order = self.order_of(self.value_links(), "values")
        for index in value_order:
            if isinstance(self.raw_nodes[index], Mapping):
                node = self.node(index, self.raw_nodes[index], self.at / "nodes" / index)
                if node is not None:
                    self.nodes[index] = node
            else:
                at = self.at / "nodes" / index
                self.reject(at, "the node", self.raw_nodes[index], "an object")
        flow_order = self.order_of(self.flow_links(), "flows")
        self.note_backward()
        self.refuse_second_triggers()
        if self.refused:
            return None
        nodes = tuple(self.nodes[k] for k in range(len(self.raw_nodes)))
        return Graph(
            self.at, self.types, self.variables, self.events, nodes, value_order, flow_order
        )

    def read_types(self) -> None:
        kinds: list[str] = []
        for k, item in enumerate(self.items("types")):
            at = self.at / "types" / k
            kind = item.get("signature") if isinstance(item, Mapping) else None
            if kind not in SIGNATURES:
                self.reject(at / "signature", "signature", kind, f"one of {', '.join(SIGNATURES)}")
                kind = "custom"
            elif kind in kinds and kind != "custom":
                self.reject(at / "signature", "signature", kind, "there once only")
            kinds.append(str(kind))
        self.types = tuple(kinds)

    def read_variables(self) -> None:
        found = []
        for k, item in enumerate(self.items("variables")):
            at = self.at / "variables" / k
            if not isinstance(item, Mapping):
                self.reject(at, "the variable", item, "an object")
                item = {}
            kind, value = self.typed(item, at)
            name = next((item[key] for key in ("id", "name") if isinstance(item.get(key), str)), "")
            found.append(Variable(name, kind, value))
        self.variables = tuple(found)

    def read_events(self) -> None:
        found: list[CustomEvent] = []
        for k, item in enumerate(self.items("events")):
            at = self.at / "events" / k
            if not isinstance(item, Mapping):
                self.reject(at, "the event", item, "an object")
                item = {}
            name = item.get("id")
            if "id" in item and not isinstance(name, str):
                self.reject(at / "id", "id", name, "a string")
            elif name is not None and any(name == event.id for event in found):
                self.reject(at / "id", "id", name, "of one event only")
            values = self.sockets(item, "values", at)
            if "event" in values:
                self.reject(at / "values" / "event", "the socket", "event", "another name")
            typed = {key: self.typed(value, at / "values" / key) for key, value in values.items()}
            found.append(CustomEvent(name if isinstance(name, str) else None, typed))
        self.events = tuple(found)

    def kind_of(self, owner: Mapping[str, Any], at: JsonPointer) -> str | None:
        index = as_index(owner.get("type"), len(self.types))
        if index is None:
            count = len(self.types)
            self.reject(at / "type", "type", owner.get("type"), f"an index of the {count} types")
            return None
        return self.types[index]

    def typed(self, owner: Mapping[str, Any], at: JsonPointer) -> tuple[str, Value]:
        """Type and value, or the type's default ("Inline Value Object Validation")."""
        kind = self.kind_of(owner, at)
        if kind is None:
            return "custom", None
        if "value" not in owner or kind == "custom":
            return kind, DEFAULTS[kind]
        items = owner["value"]
        if not isinstance(items, list) or len(items) != SIZES[kind]:
            count = SIZES[kind]
            self.reject(at / "value", "value", items, f"a list of {count} for the type {kind}")
            return kind, DEFAULTS[kind]
        return kind, self.inline(kind, items, at / "value")

    def inline(self, kind: str, items: Sequence[Any], at: JsonPointer) -> Value:
        if kind.startswith("float"):
            numbers = []
            for item in items:
                if isinstance(item, bool) or not isinstance(item, (int, float)):
                    self.reject(at, "value", item, "a number")
                    return DEFAULTS[kind]
                try:
                    numbers.append(float(item))
                except OverflowError:  # an integer of more than 308 digits
                    numbers.append(float("inf") if item > 0 else float("-inf"))
            return numbers[0] if kind == "float" else tuple(numbers)
        item = items[0]
        if kind == "bool" and isinstance(item, bool):
            return item
        if kind == "int" and (number := as_int32(item)) is not None:
            return number
        if kind == "ref" and isinstance(item, str) and is_pointer(item):
            return item_at(self.file, item)
        allowed = {"bool": "true or false", "int": "a 32-bit integer", "ref": "a JSON pointer"}
        self.reject(at, "value", item, allowed[kind])
        return DEFAULTS[kind]

    # --- declarations -----------------------------------------------------------------------

    def declaration(self, owner: object, at: JsonPointer) -> _Declaration | None:
        if not isinstance(owner, Mapping):
            self.reject(at, "the declaration", owner, "an object")
            return None
        name = owner.get("op")
        if not isinstance(name, str):
            self.reject(at / "op", "op", name, "a string")
            return None
        if "extension" not in owner:
            return self.core_declaration(name, owner, at)
        extension = owner["extension"]
        if not isinstance(extension, str):
            self.reject(at / "extension", "extension", extension, "a string")
            return None
        sides = []
        for key in ("inputValueSockets", "outputValueSockets"):
            side = {}
            for socket, item in self.sockets(owner, key, at).items():
                kind = self.kind_of(item, at / key / socket)
                if kind is not None:
                    side[socket] = kind
            sides.append(side)
        declared = Sockets(*sides)
        operation = find_operation(extension, name)
        if operation is not None and not any(
            _fits(declared, variant.sockets, operation.optional) for variant in operation.variants
        ):
            operation = None
        if operation is None:
            self.diagnostics.report(
                BEHAVIOR_UNSUPPORTED, at, got=f"{extension} {name}"[:80],
                suggestion=_similar_operation(extension, name),
            )  # fmt: skip
        return _Declaration(name, extension, operation, declared)

    def core_declaration(
        self, name: str, owner: Mapping[str, Any], at: JsonPointer
    ) -> _Declaration | None:
        operation = find_operation("", name)
        if operation is None:
            near = _similar_operation("", name)
            allowed = f"an operation of the text, or have an extension{near}"
            self.reject(at / "op", "op", name, allowed)
            return None
        for key in ("inputValueSockets", "outputValueSockets"):
            if key in owner:
                self.reject(at / key, key, owner[key], "left out without an extension")
        return _Declaration(name, "", operation, None)

    def refuse_equal_declarations(self) -> None:
        seen: dict[object, int] = {}
        for k, declared in enumerate(self.declarations):
            if declared is None:
                continue
            inputs = frozenset(declared.sockets.inputs.items()) if declared.sockets else None
            first = seen.setdefault((declared.name, declared.extension, inputs), k)
            # An earlier draft's name and the present one, for the same operation.
            if first != k and self.raw_name(first) == self.raw_name(k):
                at = self.at / "declarations" / k
                self.reject(at, "the declaration", declared.name, f"another than number {first}")

    def raw_name(self, declaration: int) -> object:
        raw = self.original["declarations"][declaration]
        return raw.get("op") if isinstance(raw, Mapping) else None

    # --- the order of nodes -----------------------------------------------------------------

    def value_links(self) -> dict[int, set[int]]:
        """Nodes whose values each node takes."""
        links: dict[int, set[int]] = {}
        for index, raw in enumerate(self.raw_nodes):
            values = raw.get("values") if isinstance(raw, Mapping) else None
            for item in values.values() if isinstance(values, Mapping) else ():
                if isinstance(item, Mapping) and "node" in item:
                    other = as_index(item["node"], len(self.raw_nodes))
                    if other is not None and other != index:
                        links.setdefault(index, set()).add(other)
        return links

    def flow_links(self) -> dict[int, set[int]]:
        """Nodes that the flows of each node lead to."""
        return {
            index: {target for target, _ in node.flows.values()}
            for index, node in self.nodes.items()
            if node.flows
        }

    def note_backward(self) -> None:
        """Report values of higher nodes and flows to lower ones, which the text excludes."""
        values = [k for k, others in self.value_links().items() if max(others) > k]
        flows = [k for k, others in self.flow_links().items() if min(others) < k]
        for found, got in (
            (values, "a value of a later node"),
            (flows, "a flow to an earlier one"),
        ):
            if found:
                self.diagnostics.report(
                    BEHAVIOR_EARLIER_SPELLING, self.at / "nodes" / found[0], got=got,
                    meaning="any other, as there is no circle", count=len(found),
                )  # fmt: skip

    def order_of(self, needed: Mapping[int, Iterable[int]], key: str) -> tuple[int, ...]:
        """All nodes, each after those it needs, otherwise by index; a cycle is refused."""
        count = len(self.raw_nodes)
        waiting = {index: set(others) for index, others in needed.items()}
        users: dict[int, list[int]] = {}
        for index, others in waiting.items():
            for other in others:
                users.setdefault(other, []).append(index)
        ready = [index for index in range(count) if index not in waiting]
        heapq.heapify(ready)
        order: list[int] = []
        while ready:
            index = heapq.heappop(ready)
            order.append(index)
            for user in users.get(index, ()):
                waiting[user].discard(index)
                if not waiting[user]:
                    heapq.heappush(ready, user)
        if len(order) < count:
            stuck, seen = min(index for index, others in waiting.items() if others), set[int]()
            while stuck not in seen:  # from a node that waits into the cycle
                seen.add(stuck)
                stuck = min(waiting[stuck])
            at = self.at / "nodes" / stuck / key
            self.reject(at, key, "a circle", "free of circles")
            done = set(order)
            order += [index for index in range(count) if index not in done]
        return tuple(order)

    # --- nodes ------------------------------------------------------------------------------

    def node(self, index: int, owner: Mapping[str, Any], at: JsonPointer) -> GraphNode | None:
        chosen = as_index(owner.get("declaration"), len(self.declarations))
        if chosen is None:
            count = len(self.declarations)
            got = owner.get("declaration")
            self.reject(at / "declaration", "declaration", got, f"an index of the {count} ones")
        sources, is_whole = self.sources(index, owner, at)
        flows = self.flows(index, owner, at)
        raw = self.sockets(owner, "configuration", at)
        declared = None if chosen is None else self.declarations[chosen]
        if declared is None:
            return None
        operation = declared.operation
        if operation is None:
            outputs = dict(declared.sockets.outputs) if declared.sockets else {}
            return GraphNode(index, None, None, declared.name, sources, outputs, flows)
        kinds = {socket: source.kind for socket, source in sources.items()}
        reading = NodeReading(
            self.types, self.variables, self.events, self.file, kinds,
            tuple(sorted(flows, key=_utf16)), {},
        )  # fmt: skip
        configuration = self.configuration(operation, raw, reading, at)
        if configuration is None:
            return None
        if not is_whole:
            return None  # that an input which was refused is missing would be said twice
        reading.configuration = configuration
        variant, sockets = self.resolved(operation, declared, reading, at)
        if sockets is None:
            return None
        flows_in, flows_out = operation.flows_in, operation.flows_out
        if operation.find_flows is not None:
            more_in, more_out = operation.find_flows(reading)
            flows_in, flows_out = (*flows_in, *more_in), (*flows_out, *more_out)
        for flow in [flow for flow in flows if flow not in flows_out]:
            self.diagnostics.report(
                BEHAVIOR_UNUSED, at / "flows" / flow, got=show(flow), operation=declared.name
            )
        return GraphNode(
            index, operation, variant, declared.name,
            {socket: sources[socket] for socket in sockets.inputs if socket in sources},
            dict(sockets.outputs), {flow: flows[flow] for flow in flows_out if flow in flows},
            tuple(flows_in), configuration,
        )  # fmt: skip

    def sources(
        self, index: int, owner: Mapping[str, Any], at: JsonPointer
    ) -> tuple[dict[str, Source], bool]:
        """The inputs of a node, and False if one was refused, here or with the node it is of."""
        found: dict[str, Source] = {}
        refused, is_whole = self.refused, True
        for socket, item in self.sockets(owner, "values", at).items():
            here = at / "values" / socket
            if "node" not in item:
                found[socket] = Constant(*self.typed(item, here))
                continue
            if "value" in item:
                self.reject(here / "value", "value", item["value"], "left out beside node")
            other = as_index(item["node"], len(self.raw_nodes))
            if other is None or other == index:
                self.reject(here / "node", "node", item["node"], "the index of another node")
                continue
            name = item.get("socket", "value")
            if not isinstance(name, str):
                self.reject(here / "socket", "socket", name, "a string")
                continue
            if other not in self.nodes:
                is_whole = False  # that node is reported
                continue
            kind = self.nodes[other].outputs.get(name)
            if kind is None:
                outputs = ", ".join(self.nodes[other].outputs) or "none"
                self.reject(here / "socket", "socket", name, f"of node {other}: {outputs}")
                continue
            stated = self.kind_of(item, here) if "type" in item else kind
            if stated is not None and stated != kind:
                self.reject(here / "type", "type", stated, f"{kind}, as the output is")
            found[socket] = Link(kind, other, name)
        return found, is_whole and self.refused == refused

    def flows(
        self, index: int, owner: Mapping[str, Any], at: JsonPointer
    ) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        for flow, item in self.sockets(owner, "flows", at).items():
            here = at / "flows" / flow
            target = as_index(item.get("node"), len(self.raw_nodes))
            if target is None or target == index:
                self.reject(here / "node", "node", item.get("node"), "the index of another node")
                continue
            socket = item.get("socket", "in")
            if not isinstance(socket, str):
                self.reject(here / "socket", "socket", socket, "a string")
                continue
            found[flow] = (target, socket)
        return found

    def configuration(
        self,
        operation: Operation,
        raw: Mapping[str, Mapping[str, Any]],
        reading: NodeReading,
        at: JsonPointer,
    ) -> Mapping[str, Any] | None:
        """Checked configuration; the default if it is wrong, ``None`` if there is no default."""
        at = at / "configuration"
        for name in [name for name in raw if name not in operation.configuration]:
            self.diagnostics.report(
                BEHAVIOR_UNUSED, at / name, got=show(name), operation=operation.name
            )
        for name, item in raw.items():
            if not isinstance(item.get("value"), list):
                self.reject(at / name / "value", "value", item.get("value"), "a list")
        if not operation.configuration:
            return {}
        found: dict[str, Any] = {}
        wrong: tuple[JsonPointer, str, object, str] | None = None
        for name, kind in operation.configuration.items():
            items = raw[name].get("value") if name in raw else None
            value = _configured(kind, items)
            if value is None:
                wrong = wrong or (at / name, name, items, _CONFIGURED[kind])
            else:
                found[name] = value
        if wrong is None and operation.check is not None:
            reading.configuration = found
            if said := operation.check(reading, found):
                name, _, allowed = said.partition(": ")
                wrong = (at / name, name, found.get(name), allowed)
        if wrong is None:
            return found
        if operation.defaults is None:
            self.reject(*wrong)
            return None
        if raw.keys() & operation.configuration.keys():
            here, name, got, allowed = wrong
            self.diagnostics.report(
                BEHAVIOR_CONFIGURATION, here, what=name, got=show(got), allowed=allowed
            )
        return operation.defaults

    def resolved(
        self,
        operation: Operation,
        declared: _Declaration,
        reading: NodeReading,
        at: JsonPointer,
    ) -> tuple[Variant | None, Sockets | None]:
        """The overload, and the sockets of the node."""
        sockets = declared.sockets
        if operation.find_sockets is not None:
            found = operation.find_sockets(reading)
            if isinstance(found, str):
                socket, _, allowed = found.partition(": ")
                self.reject(at / "values", socket, reading.inputs.get(socket), allowed)
                return None, None
            if len(found.inputs) > MOST["sockets"]:
                self.reject_size(at / "values", "input sockets", len(found.inputs))
                return None, None
            sockets = found
        if sockets is not None:
            return None, sockets if self.has_inputs(sockets, reading.inputs, at) else None
        for variant in operation.variants:
            needed = variant.sockets.inputs
            if all(
                reading.inputs.get(socket) == kind or socket not in reading.inputs
                for socket, kind in needed.items()
            ) and (needed.keys() - operation.optional <= reading.inputs.keys()):
                return variant, variant.sockets
        self.refuse_inputs(operation, reading.inputs, at)
        return None, None

    def refuse_inputs(
        self, operation: Operation, inputs: Mapping[str, str], at: JsonPointer
    ) -> None:
        """Report that none of the overloads fits."""
        wanted = operation.variants[0].sockets.inputs
        for socket in wanted:
            if socket not in inputs and len(operation.variants) <= len(SIZES):
                self.reject(at / "values" / socket, socket, None, "connected or given a value")
                return
        given = ", ".join(f"{socket} {kind}" for socket, kind in inputs.items()) or "nothing"
        options = sorted({" and ".join(v.sockets.inputs.values()) for v in operation.variants})
        self.reject(
            at / "values", f"the input of {operation.name}", given, " or ".join(options)[:200]
        )

    def has_inputs(self, sockets: Sockets, inputs: Mapping[str, str], at: JsonPointer) -> bool:
        is_whole = True
        for socket, kind in sockets.inputs.items():
            got = inputs.get(socket)
            if got != kind and (got is None or kind != ANY):
                self.reject(at / "values" / socket, socket, got, f"of the type {kind}")
                is_whole = False
        return is_whole

    def refuse_second_triggers(self) -> None:
        """Report two trigger event nodes of one kind and one ``nodeIndex`` (text of physics)."""
        seen: dict[tuple[str, object], int] = {}
        for index, node in self.nodes.items():
            if node.operation is None or not node.name.startswith("event/rigid_body_"):
                continue
            first = seen.setdefault((node.name, node.configuration.get("nodeIndex")), index)
            if first != index:
                at = self.at / "nodes" / index / "configuration" / "nodeIndex"
                got = node.configuration.get("nodeIndex")
                self.reject(at, "nodeIndex", got, f"another than that of node {first}")


_CONFIGURED = {
    "bool": "a list of one boolean",
    "int": "a list of one 32-bit integer",
    "int[]": "a list of 32-bit integers",
    "string": "a list of one string",
}


def _configured(kind: str, items: object) -> Any:
    """A configuration value; ``None`` if it is of another type."""
    if not isinstance(items, list):
        return None
    if kind == "int[]":
        numbers = [as_int32(item) for item in items]
        return None if None in numbers else tuple(dict.fromkeys(numbers))
    if len(items) != 1:
        return None
    if kind == "int":
        return as_int32(items[0])
    if isinstance(items[0], bool if kind == "bool" else str):
        return items[0]
    return None


def _fits(declared: Sockets, known: Sockets, optional: frozenset[str]) -> bool:
    """Return True if declared sockets match; outputs and optional inputs may be missing."""
    return (
        declared.inputs.items() <= known.inputs.items()
        and declared.outputs.items() <= known.outputs.items()
        and known.inputs.keys() - optional <= declared.inputs.keys()
    )


def _utf16(text: str) -> bytes:
    """Sort key of socket ids, which the text orders by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")
