"""Declarations of operations: sockets and types, stated once, and the function behind them.

A *value* operation is a pure function of its inputs. A *flow* operation has input flows and may
have state; a function prepares closures of its effect for one node of a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.behavior.values import FLOATS, MATRICES, Value

__all__ = [
    "ANY",
    "OPERATIONS",
    "CustomEvent",
    "Operation",
    "Sockets",
    "Variable",
    "Variant",
    "declare",
    "find_operation",
]

# --- Custom variables and custom events of a graph ------------------------------------------------


class Variable(Struct, frozen=True):
    """A custom variable."""

    name: str
    """The ``id`` or ``name`` that exporters write in addition to the text; may be empty."""
    kind: str
    value: Value


class CustomEvent(Struct, frozen=True):
    """A custom event, within the graph or to the outside."""

    id: str | None
    values: Mapping[str, tuple[str, Value]]
    """Type and initial value by socket id."""


# --- Operations and the table of all of them ------------------------------------------------------

ANY: Final = "any"
"""Type of an input socket that accepts every type."""

Function: TypeAlias = Callable[..., Any]


class Sockets(Struct, frozen=True):
    """Value sockets of one node: type signatures by id."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


class Variant(Struct, frozen=True):
    """One overload of a value operation."""

    sockets: Sockets
    function: Function | None = None
    """Function of the inputs in the order of the sockets; it returns the output, or a tuple of
    several."""


@dataclass
class NodeReading:
    """Facts about a graph and a node for the functions of operations while the node is read."""

    types: tuple[str, ...]
    variables: tuple[Variable, ...]
    events: tuple[CustomEvent, ...]
    file: Mapping[str, Any]
    """The root of the glTF JSON."""
    inputs: Mapping[str, str]
    """Types of the node's inputs by socket id."""
    flow_ids: tuple[str, ...]
    """Output flows that are connected."""
    configuration: Mapping[str, Any]


class MadeNode(Protocol):
    """A checked node with the properties that its initial state depends on."""

    @property
    def index(self) -> int: ...
    @property
    def configuration(self) -> Mapping[str, Any]: ...
    @property
    def inputs(self) -> Mapping[str, Any]: ...
    @property
    def outputs(self) -> Mapping[str, str]: ...


class NodeMaking(Protocol):
    """Services for the function that prepares the closures of one node."""

    state: list[Any]
    """Internal state of the node."""
    behavior: Any
    """The ``Behavior`` of the closures."""

    @property
    def node(self) -> MadeNode: ...
    @property
    def configuration(self) -> Mapping[str, Any]: ...
    @property
    def flow_ids(self) -> tuple[str, ...]:
        """Connected output flows, in the order of the text."""

    def push(self, flow: Callable[[], None], /) -> None:
        """Activate this flow next; the last one pushed runs first."""

    def input(self, socket: str, default: Any = None) -> Callable[[], Any]:
        """The closure of an input value."""

    def flow(self, name: str) -> Callable[[], None] | None:
        """The closure that an output flow activates; ``None`` if it is unconnected."""

    def register_done(self) -> None:
        """Let the behavior activate the ``done`` flow by the index of the node."""

    def memoized(self, compute: Callable[[], Any]) -> Callable[[], Any]:
        """A closure whose value is computed once per activation."""

    def shared(self, name: str, make: Callable[[NodeMaking], Any]) -> Any:
        """A value that several outputs of the node share, made on first use."""


class Operation(Struct, frozen=True, kw_only=True):
    """One operation of the text."""

    name: str
    summary: str
    extension: str = ""
    """Extension whose text declares it; empty for the core text."""
    variants: tuple[Variant, ...] = ()
    flows_in: tuple[str, ...] = ()
    flows_out: tuple[str, ...] = ()
    """Fixed output flows; :attr:`find_flows` gives those that depend on the configuration."""
    configuration: Mapping[str, str] = msgspec_field(default_factory=dict)
    """Properties by name: ``bool``, ``int``, ``int[]`` or ``string``."""
    defaults: Mapping[str, Any] | None = None
    """The default configuration; ``None`` if there is none, or nothing to configure."""
    find_sockets: Callable[[NodeReading], Sockets | str] | None = None
    """Finds value sockets that depend on the configuration; a text result states the error in
    it."""
    find_flows: Callable[[NodeReading], tuple[Sequence[str], Sequence[str]]] | None = None
    """Finds input and output flows that depend on the configuration."""
    check: Callable[[NodeReading, dict[str, Any]], str] | None = None
    """Returns the error in the values of a configuration, empty if there is none."""
    optional: frozenset[str] = frozenset()
    """Names of inputs with a default, which the file need not connect."""
    slots: tuple[str, ...] = ()
    """Outputs that show the first members of the internal state, in this order."""
    state: Callable[[MadeNode], list[Any]] | None = None
    """Makes the initial internal state; its members are immutable."""
    prepare: Callable[[NodeMaking], Mapping[str, Callable[[], None]]] | None = None
    """Prepares the closures of the input flows; none for an event. Closures that the node itself
    calls are included, under names that no socket has."""
    make_output: Callable[[NodeMaking, str], Callable[[], Any]] | None = None
    """Makes the closure of one output value that is neither pure nor state."""

    @property
    def is_value(self) -> bool:
        """True if the operation has no flows: its outputs are computed on demand."""
        return self.prepare is None

    @property
    def is_event(self) -> bool:
        """True if the operation begins flows."""
        return self.name.startswith("event/") and not self.flows_in and self.prepare is not None


OPERATIONS: Final[dict[tuple[str, str], Operation]] = {}
"""All operations by extension and name."""


def find_operation(extension: str, name: str) -> Operation | None:
    """The operation of that name; ``None`` if the text has none."""
    return OPERATIONS.get((extension, name))


_PLACEHOLDERS: Final = {
    "floatN": FLOATS,
    "floatNxN": MATRICES,
    "numbers": (*FLOATS, *MATRICES),
    "vector": FLOATS[1:],
}


def declare(
    name: str,
    summary: str,
    *variants: tuple[str, Function | Callable[[str], Function] | None],
    **rest: Any,
) -> Operation:
    """Declare an operation; ``variants`` are sockets such as ``"float a, float b -> float value"``.

    A type ``floatN``, ``floatNxN`` or ``numbers`` stands for several overloads; the function that
    goes with it takes the type and returns the function of that overload.
    """
    made: list[Variant] = []
    for text, function in variants:
        placeholder = next((p for p in _PLACEHOLDERS if f"{p} " in text), None)
        if placeholder is None:
            made.append(Variant(_sockets(text), function))
            continue
        for kind in _PLACEHOLDERS[placeholder]:
            sockets = _sockets(text.replace(f"{placeholder} ", f"{kind} "))
            made.append(Variant(sockets, None if function is None else function(kind)))
    operation = Operation(name=name, summary=summary, variants=tuple(made), **rest)
    OPERATIONS[operation.extension, name] = operation
    return operation


def _sockets(text: str) -> Sockets:
    inputs, _, outputs = text.partition("->")
    return Sockets(_side(inputs), _side(outputs))


def _side(text: str) -> dict[str, str]:
    pairs = [part.split() for part in text.split(",") if part.strip()]
    return {name: kind for kind, name in pairs}
