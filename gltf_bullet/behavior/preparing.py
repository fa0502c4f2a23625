"""Preparation of a graph: the closures that ticks call, made once.

A value is computed by a closure without arguments. A value with several users is memoized until
the next activation, so that no graph costs more than it has nodes; long chains are divided into
pieces that are computed in order, so that none is too deep for Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from gltf_bullet.behavior.graph import Constant, Graph, GraphNode, Link
from gltf_bullet.behavior.values import DEFAULTS

_DEEPEST = 50
"""Depth of nested closures from which on a chain is divided."""
_LARGEST = 32
"""Number of nodes per call from which on their value is memoized, and counted as work."""

Getter = Callable[[], Any]


class NodeMaking:
    """Services for the function of an operation that prepares the closures of one node."""

    def __init__(self, preparation: Preparation, node: GraphNode) -> None:
        self._preparation = preparation
        self.node = node
        self.behavior = preparation.behavior
        self.configuration = node.configuration
        self.push = preparation.behavior.push
        """Activate this flow next; the last one pushed runs first."""
        self.state = preparation.states[node.index]
        self._shared: dict[str, Any] = {}

    @property
    def flow_ids(self) -> tuple[str, ...]:
        """Connected output flows, in the order of the text."""
        return tuple(self.node.flows)

    def input(self, socket: str, default: Any = None) -> Getter:
        """The closure of an input value."""
        source = self.node.inputs.get(socket)
        if source is None:
            return lambda: default
        return self._preparation.getter(source, is_flow=self.node.flows_in != ())

    def flow(self, name: str) -> Callable[[], None] | None:
        """The closure that an output flow activates; ``None`` if it is unconnected."""
        if name not in self.node.flows:
            return None
        return self._preparation.entries.get(self.node.flows[name])

    def register_done(self) -> None:
        """Let the behavior activate the ``done`` flow by the index of the node."""
        self.behavior.done[self.node.index] = self.flow("done")

    def memoized(self, compute: Getter) -> Getter:
        """A closure whose value is computed once per activation."""
        return self._preparation.memoized(compute, 1)

    def shared(self, name: str, make: Callable[[Any], Any]) -> Any:
        """A value that several outputs of the node share, made on first use."""
        if name not in self._shared:
            self._shared[name] = make(self)
        return self._shared[name]


class Preparation:
    """Makes the closures of one graph, for one behavior."""

    def __init__(self, graph: Graph, behavior: Any) -> None:
        self.graph, self.behavior = graph, behavior
        self.states: list[list[Any]] = [_first_state(graph, node) for node in graph.nodes]
        self.entries: dict[tuple[int, str], Callable[[], None]] = {}
        """Closures of input flows by node and socket."""
        self.owners: dict[Callable[[], None], int] = {}
        """Indices of nodes by their closures."""
        self.outputs: dict[tuple[int, str], Getter] = {}
        self._constants: dict[Getter, Any] = {}
        self._depths: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        """Number of nodes that the closure of each node computes in one call."""
        self._cuts: list[Getter] = []
        self._uses = Counter(
            source.node
            for node in graph.nodes
            for source in node.inputs.values()
            if isinstance(source, Link)
        )
        for index in graph.value_order:
            self._make_outputs(graph.nodes[index])
        for index in graph.flow_order:
            self._make_entries(graph.nodes[index])

    def _make_outputs(self, node: GraphNode) -> None:
        index, operation = node.index, node.operation
        links = [source.node for source in node.inputs.values() if isinstance(source, Link)]
        is_computed = operation is not None and operation.is_value
        depth = 1 + max((self._depths[other] for other in links), default=0) if is_computed else 0
        # A closure computes the earlier pieces of its chain first.
        is_cut = depth > _DEEPEST
        self._depths[index] = 0 if is_cut else depth
        size = 1 + sum(self._sizes[other] for other in links) if is_computed else 1
        is_shared = is_cut or self._uses[index] > 1 or size > _LARGEST
        self._sizes[index] = 1 if is_shared else size
        if operation is None:
            for socket, kind in node.outputs.items():
                self.outputs[index, socket] = self.constant(DEFAULTS[kind])
        elif node.variant is not None and node.variant.function is not None:
            self._make_function(node, node.variant.function, size if is_shared else 0)
        else:
            making = NodeMaking(self, node)
            for socket in node.outputs:
                if socket in operation.slots:
                    self.outputs[index, socket] = _member(
                        self.states[index], operation.slots.index(socket)
                    )
                elif operation.make_output is not None:
                    made = operation.make_output(making, socket)
                    if node.inputs and is_shared:
                        made = self.memoized(made, size)
                    self.outputs[index, socket] = made
        if is_cut:
            self._cuts += [self.outputs[index, socket] for socket in node.outputs]

    def _make_function(self, node: GraphNode, function: Callable[..., Any], size: int) -> None:
        """Make the closures of a pure function; with a ``size`` its value is memoized."""
        inputs = [self.getter(source) for source in node.inputs.values()]
        index, sockets = node.index, list(node.outputs)
        if all(source in self._constants for source in inputs):
            whole = self.constant(function(*(self._constants[source] for source in inputs)))
        else:
            whole = self._applied(function, inputs)
            if size:
                whole = self.memoized(whole, size)
        if len(sockets) == 1:
            self.outputs[index, sockets[0]] = whole
            return
        for place, socket in enumerate(sockets):
            self.outputs[index, socket] = (
                self.constant(self._constants[whole][place])
                if whole in self._constants
                else _part(whole, place)
            )

    def _applied(self, function: Callable[..., Any], inputs: list[Getter]) -> Getter:
        """A closure of a function of its inputs, with as few calls as possible."""
        if len(inputs) == 1:
            only = inputs[0]
            return lambda: function(only())
        if len(inputs) == 2:
            first, second = inputs
            if first in self._constants:
                left = self._constants[first]
                return lambda: function(left, second())
            if second in self._constants:
                right = self._constants[second]
                return lambda: function(first(), right)
            return lambda: function(first(), second())
        return lambda: function(*[source() for source in inputs])

    def constant(self, value: Any) -> Getter:
        """A closure that is known to be constant."""
        made: Getter = lambda: value  # noqa: E731
        self._constants[made] = value
        return made

    def memoized(self, compute: Getter, size: int) -> Getter:
        """A closure whose value is computed once per activation; ``size`` is its node count."""
        clock, at, value = self.behavior.clock, -1, None

        def get() -> Any:
            nonlocal at, value
            if at != clock.epoch:
                value, at = compute(), clock.epoch
                clock.spent += size
            return value

        return get

    def getter(self, source: Constant | Link, *, is_flow: bool = False) -> Getter:
        """The closure of the value of a source."""
        if isinstance(source, Constant):
            return self.constant(source.value)
        made = self.outputs[source.node, source.socket]
        if not (is_flow and self._cuts):
            return made
        cuts = tuple(self._cuts)

        def settled() -> Any:
            for cut in cuts:
                cut()
            return made()

        return settled

    def _make_entries(self, node: GraphNode) -> None:
        if node.operation is None or node.operation.prepare is None:
            return
        for socket, entry in node.operation.prepare(NodeMaking(self, node)).items():
            self.entries[node.index, socket] = entry
            self.owners[entry] = node.index


def _first_state(graph: Graph, node: GraphNode) -> list[Any]:
    if node.name == "event/receive" and node.operation is not None:
        event = graph.events[node.configuration["event"]]
        return [*(value for _, value in event.values.values()), None]
    if node.operation is None or node.operation.state is None:
        return []
    return node.operation.state(node)


def _member(state: list[Any], place: int) -> Getter:
    return lambda: state[place]


def _part(whole: Getter, place: int) -> Getter:
    return lambda: whole()[place]
