"""What an operation is: its sockets and types, stated once, and the function behind it.

A *value* operation is a pure function of its inputs. A *flow* operation has input flows, may keep
state, and what it does is written as a function that prepares closures for one node of a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Variable:
    """A custom variable."""

    name: str
    """The ``id`` or ``name`` that exporters write beside the text; may be empty."""
    kind: str
    value: Value


@dataclass(frozen=True, slots=True)
class CustomEvent:
    """A custom event, within the graph or to the outside."""

    id: str | None
    values: Mapping[str, tuple[str, Value]]
    """Type and initial value by socket id."""


ANY: Final = "any"
"""An input socket of this type takes every type."""

Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Sockets:
    """Value sockets of one node: id to type signature."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Variant:
    """One overload of a value operation."""

    sockets: Sockets
    function: Function | None = None
    """Inputs in the order of the sockets to the output; to a tuple of all where there are more."""


@dataclass
class NodeReading:
    """What operations may ask while a node is read."""

    types: tuple[str, ...]
    variables: tuple[Variable, ...]
    events: tuple[CustomEvent, ...]
    file: Mapping[str, Any]
    """The root of the glTF JSON."""
    inputs: Mapping[str, str]
    """Types by socket id, as the node has them."""
    flow_ids: tuple[str, ...]
    """Output flows that are connected."""
    configuration: Mapping[str, Any]


class MadeNode(Protocol):
    """A checked node, as far as its first state depends on it."""

    @property
    def index(self) -> int: ...
    @property
    def configuration(self) -> Mapping[str, Any]: ...
    @property
    def inputs(self) -> Mapping[str, Any]: ...
    @property
    def outputs(self) -> Mapping[str, str]: ...


class NodeMaking(Protocol):
    """What the closures of one node are made of."""

    state: list[Any]
    """The internal state."""
    behavior: Any
    """The ``Behavior`` that they belong to."""

    @property
    def node(self) -> MadeNode: ...
    @property
    def configuration(self) -> Mapping[str, Any]: ...
    @property
    def flow_ids(self) -> tuple[str, ...]:
        """Connected output flows, in the order of the text."""

    def push(self, flow: Callable[[], None], /) -> None:
        """Activate this next; what was pushed last runs first."""

    def input(self, socket: str, default: Any = None) -> Callable[[], Any]:
        """The closure of an input value."""

    def flow(self, name: str) -> Callable[[], None] | None:
        """What an output flow activates; ``None`` where it is unconnected."""

    def remember_done(self) -> None:
        """The ``done`` flow of the node is activated by the behavior, by the node's index."""

    def remembered(self, compute: Callable[[], Any]) -> Callable[[], Any]:
        """The same value until something is activated."""

    def shared(self, name: str, make: Callable[[NodeMaking], Any]) -> Any:
        """Something that several outputs use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the text."""

    name: str
    summary: str
    extension: str = ""
    """Which text declares it; empty: the core text."""
    variants: tuple[Variant, ...] = ()
    flows_in: tuple[str, ...] = ()
    flows_out: tuple[str, ...] = ()
    """The fixed ones; operations with flows by configuration name more in :attr:`find_flows`."""
    configuration: Mapping[str, str] = field(default_factory=dict)
    """Property to ``bool``, ``int``, ``int[]`` or ``string``."""
    defaults: Mapping[str, Any] | None = None
    """The default configuration; ``None``: there is none, or nothing to configure."""
    find_sockets: Callable[[NodeReading], Sockets | str] | None = None
    """Value sockets that the configuration decides, of a ``NodeReading``; a text says what is
    wrong with it."""
    find_flows: Callable[[NodeReading], tuple[Sequence[str], Sequence[str]]] | None = None
    """Input and output flows that the configuration decides, of a ``NodeReading``."""
    check: Callable[[NodeReading, dict[str, Any]], str] | None = None
    """What is wrong with a value of the configuration, of a ``NodeReading`` and its values."""
    optional: frozenset[str] = frozenset()
    """Inputs with a default, which the file need not connect."""
    slots: tuple[str, ...] = ()
    """Outputs that show the internal state: the first members of it, in this order."""
    state: Callable[[MadeNode], list[Any]] | None = None
    """The internal state of a ``GraphNode`` as it begins; members never change in themselves."""
    prepare: Callable[[NodeMaking], Mapping[str, Callable[[], None]]] | None = None
    """The closures of the input flows of a ``NodeMaking``; of an event, none. What a node calls
    itself is there too, under names that no socket has."""
    make_output: Callable[[NodeMaking, str], Callable[[], Any]] | None = None
    """The closure of one output value of a ``NodeMaking`` that neither is pure nor state."""

    @property
    def is_value(self) -> bool:
        """True where it has no flows: its outputs are computed when asked for."""
        return self.prepare is None

    @property
    def is_event(self) -> bool:
        """True where it begins flows."""
        return self.name.startswith("event/") and not self.flows_in and self.prepare is not None


OPERATIONS: Final[dict[tuple[str, str], Operation]] = {}
"""By extension and name."""


def find_operation(extension: str, name: str) -> Operation | None:
    """The operation of that name; ``None`` where the text has none."""
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
