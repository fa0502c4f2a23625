"""Variables, properties of the object model, and animations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gltf_bullet.behavior.operations.declaring import NodeMaking, NodeReading, Sockets, declare
from gltf_bullet.behavior.operations.easing import Easing
from gltf_bullet.behavior.operations.flows import is_duration
from gltf_bullet.behavior.pointer_templates import PointerTemplate, parse_template
from gltf_bullet.behavior.values import DEFAULTS, Reference

Closures = Mapping[str, Callable[[], None]]

_EASING = {"duration": "float", "p1": "float2", "p2": "float2"}
_VALUE = "value"


# --- variables --------------------------------------------------------------------------------


def _known_variable(node: NodeReading, configuration: dict[str, Any]) -> str:
    count = len(node.variables)
    chosen = configuration.get("variables", (configuration.get("variable"),))
    name = "variables" if "variables" in configuration else "variable"
    if not chosen or not all(0 <= number < count for number in chosen):
        return f"{name}: of the {count} variables of the graph"
    return ""


def _known_eased_variable(node: NodeReading, configuration: dict[str, Any]) -> str:
    if said := _known_variable(node, configuration):
        return said
    kind = node.variables[configuration["variable"]].kind
    if kind in ("int", "bool"):
        return "variable: a variable that is neither int nor bool"
    if configuration["useSlerp"] and kind != "float4":
        return "useSlerp: false where the variable is no float4"
    return ""


def _get_sockets(node: NodeReading) -> Sockets:
    return Sockets({}, {_VALUE: node.variables[node.configuration["variable"]].kind})


def _get_variable(node: NodeMaking, _: str) -> Callable[[], Any]:
    variables, number = node.behavior.values, node.configuration["variable"]
    return lambda: variables[number]


def _set_sockets(node: NodeReading) -> Sockets:
    numbers = node.configuration["variables"]
    return Sockets({str(number): node.variables[number].kind for number in numbers}, {})


def _set_variables(node: NodeMaking) -> Closures:
    behavior, push, out = node.behavior, node.push, node.flow("out")
    variables, eased = behavior.values, behavior.easings.running
    numbers = node.configuration["variables"]
    sources = [(number, node.input(str(number))) for number in numbers]
    if len(sources) == 1:
        only, source = sources[0]

        def enter_one() -> None:
            value = source()
            if eased:
                eased.pop(only, None)
            variables[only] = value
            if out is not None:
                push(out)

        return {"in": enter_one}

    def enter() -> None:
        found = [(number, source()) for number, source in sources]
        for number, value in found:
            eased.pop(number, None)
            variables[number] = value
        if out is not None:
            push(out)

    return {"in": enter}


def _interpolate_sockets(node: NodeReading) -> Sockets:
    kind = node.variables[node.configuration["variable"]].kind
    return Sockets({_VALUE: kind, **_EASING}, {})


def _is_easing(duration: float, p1: tuple[float, ...], p2: tuple[float, ...]) -> bool:
    points = (*p1, *p2)
    is_finite = all(map(math.isfinite, points))
    return is_duration(duration) and is_finite and 0.0 <= p1[0] <= 1.0 and 0.0 <= p2[0] <= 1.0


def _interpolate_variable(node: NodeMaking) -> Closures:
    behavior, number = node.behavior, node.configuration["variable"]
    inputs = [node.input(name) for name in (_VALUE, *_EASING)]
    is_arc, push = node.configuration["useSlerp"], node.push
    out, err, index = node.flow("out"), node.flow("err"), node.node.index
    node.register_done()

    def enter() -> None:
        target, duration, p1, p2 = (source() for source in inputs)
        is_begun = _is_easing(duration, p1, p2) and behavior.easings.begin(
            number,
            Easing(behavior.now, duration, behavior.values[number], target, p1, p2, is_arc, index),
        )
        flow = out if is_begun else err
        if flow is not None:
            push(flow)

    return {"in": enter}


declare(
    "variable/get", "the value of a variable",
    configuration={"variable": "int"}, check=_known_variable,
    find_sockets=_get_sockets, make_output=_get_variable,
)  # fmt: skip
declare(
    "variable/set", "sets variables",
    configuration={"variables": "int[]"}, check=_known_variable, find_sockets=_set_sockets,
    flows_in=("in",), flows_out=("out",), prepare=_set_variables,
)  # fmt: skip
declare(
    "variable/interpolate", "takes a variable to a value in a time",
    configuration={"variable": "int", "useSlerp": "bool"}, check=_known_eased_variable,
    find_sockets=_interpolate_sockets,
    flows_in=("in",), flows_out=("out", "err", "done"), prepare=_interpolate_variable,
)  # fmt: skip


# --- object model -----------------------------------------------------------------------------


def _known_pointer(reserved: tuple[str, ...], *, floats: bool = False) -> Callable[..., str]:
    def check(node: NodeReading, configuration: dict[str, Any]) -> str:
        template = parse_template(configuration["pointer"])
        if template is None:
            return "pointer: a JSON pointer whose brackets are parameters or doubled"
        if any(name in reserved for name, _ in template.parameters):
            return f"pointer: without parameters named {', '.join(reserved)}"
        if not 0 <= configuration["type"] < len(node.types):
            return f"type: an index of the {len(node.types)} types"
        if floats and node.types[configuration["type"]] in ("bool", "int"):
            return "type: neither bool nor int"
        return ""

    return check


def _template(configuration: Mapping[str, Any]) -> PointerTemplate:
    template = parse_template(configuration["pointer"])
    if template is None:  # checked at reading
        raise ValueError(configuration["pointer"])
    return template


def _pointer_sockets(
    extra: Mapping[str, str], *, has_value: bool
) -> Callable[[NodeReading], Sockets]:
    def find(node: NodeReading) -> Sockets:
        kind = node.types[node.configuration["type"]]
        inputs = dict(_template(node.configuration).parameters)
        if has_value:
            return Sockets({**inputs, _VALUE: kind, **extra}, {})
        return Sockets(inputs, {_VALUE: kind, "isValid": "bool"})

    return find


def _access(node: NodeMaking) -> Callable[[], Any]:
    """A closure that returns the pointer and the property of the current parameters."""
    template = _template(node.configuration)
    kind, behavior = node.behavior.graph.types[node.configuration["type"]], node.behavior
    parameters = [node.input(name) for name, _ in template.parameters]
    known: dict[tuple[Any, ...], Any] = {}

    def find(*values: Any) -> Any:
        pointer = template.fill(values)
        found = None if pointer is None else behavior.find(pointer)
        if found is None or found.kind != kind:
            return None
        return pointer, found

    if not parameters:

        def access_fixed() -> Any:
            if () not in known:
                known[()] = find()
            return known[()]

        return access_fixed

    def access() -> Any:
        values = tuple([source() for source in parameters])
        try:
            return known[values]
        except KeyError:
            if len(known) >= 4096:  # a graph may count indices up for ever
                known.clear()
            return known.setdefault(values, find(*values))

    return access


def _get_pointer(node: NodeMaking, output: str) -> Callable[[], Any]:
    default = DEFAULTS[node.behavior.graph.types[node.configuration["type"]]]
    access = node.shared("access", _access)

    def read() -> tuple[Any, bool]:
        found = access()
        value = None if found is None else found[1].get()
        return (default, False) if value is None else (value, True)

    whole = node.shared("whole", lambda n: n.memoized(read))
    place = 0 if output == _VALUE else 1
    return lambda: whole()[place]


def _set_pointer(node: NodeMaking) -> Closures:
    access, value, push = _access(node), node.input(_VALUE), node.push
    out, err, eased = node.flow("out"), node.flow("err"), node.behavior.easings.running

    def enter() -> None:
        new, found = value(), access()
        if found is None or found[1].set is None:
            if err is not None:
                push(err)
            return
        if eased:
            eased.pop(found[0], None)
        found[1].set(new)
        if out is not None:
            push(out)

    return {"in": enter}


def _interpolate_pointer(node: NodeMaking) -> Closures:
    access, behavior, push = _access(node), node.behavior, node.push
    inputs = [node.input(name) for name in (_VALUE, *_EASING)]
    out, err, index = node.flow("out"), node.flow("err"), node.node.index
    node.register_done()

    def enter() -> None:
        target, duration, p1, p2 = (source() for source in inputs)
        found = access()
        is_begun = False
        if found is not None and found[1].set is not None and _is_easing(duration, p1, p2):
            pointer, owner = found
            begin = owner.get()
            is_begun = begin is not None and behavior.easings.begin(
                pointer,
                Easing(behavior.now, duration, begin, target, p1, p2, owner.is_rotation, index),
            )
        flow = out if is_begun else err
        if flow is not None:
            push(flow)

    return {"in": enter}


_POINTER = {"pointer": "string", "type": "int"}
declare(
    "pointer/get", "the value of a property",
    configuration=_POINTER, check=_known_pointer(()),
    find_sockets=_pointer_sockets({}, has_value=False), make_output=_get_pointer,
)  # fmt: skip
declare(
    "pointer/set", "sets a property",
    configuration=_POINTER, check=_known_pointer((_VALUE,)),
    find_sockets=_pointer_sockets({}, has_value=True),
    flows_in=("in",), flows_out=("out", "err"), prepare=_set_pointer,
)  # fmt: skip
declare(
    "pointer/interpolate", "takes a property to a value in a time",
    configuration=_POINTER, check=_known_pointer((_VALUE, *_EASING), floats=True),
    find_sockets=_pointer_sockets(_EASING, has_value=True),
    flows_in=("in",), flows_out=("out", "err", "done"), prepare=_interpolate_pointer,
)  # fmt: skip


# --- animations -------------------------------------------------------------------------------


def _animation_index(node: NodeMaking) -> Callable[[], int | None]:
    """The index of a valid animation; in an earlier draft it is an int."""
    source, span = node.input("animation"), node.behavior.host.animation_span

    def find() -> int | None:
        value = source()
        if isinstance(value, Reference):
            value = value.number if value.collection == "/animations" else -1
        return None if value is None or value < 0 or span(value) is None else value

    return find


def _start_animation(node: NodeMaking) -> Closures:
    animation, playing, push = _animation_index(node), node.behavior.playing, node.push
    inputs = [node.input(name) for name in ("startTime", "endTime", "speed")]
    out, err, index, behavior = node.flow("out"), node.flow("err"), node.node.index, node.behavior
    node.register_done()

    def enter() -> None:
        start, end, speed = (source() for source in inputs)
        found = animation()
        is_begun = (
            found is not None
            and math.isfinite(start)
            and end == end
            and 0.0 < speed < math.inf
            and playing.begin(found, start, end, speed, behavior.now, index)
        )
        flow = out if is_begun else err
        if flow is not None:
            push(flow)

    return {"in": enter}


def _stop_animation(node: NodeMaking) -> Closures:
    animation, playing, push = _animation_index(node), node.behavior.playing, node.push
    out, err = node.flow("out"), node.flow("err")

    def enter() -> None:
        found = animation()
        if found is not None:
            playing.stop(found)
        flow = err if found is None else out
        if flow is not None:
            push(flow)

    return {"in": enter}


def _stop_animation_at(node: NodeMaking) -> Closures:
    animation, playing, push = _animation_index(node), node.behavior.playing, node.push
    time, out, err, index = (
        node.input("stopTime"),
        node.flow("out"),
        node.flow("err"),
        node.node.index,
    )
    node.register_done()

    def enter() -> None:
        found, stop = animation(), time()
        flow = err
        if found is not None and stop == stop:
            playing.stop_at(found, stop, index)
            flow = out
        if flow is not None:
            push(flow)

    return {"in": enter}


_TIMES = "float startTime, float endTime, float speed"
declare(
    "animation/start", "plays an animation",
    (f"ref animation, {_TIMES} ->", None), (f"int animation, {_TIMES} ->", None),
    flows_in=("in",), flows_out=("out", "err", "done"), prepare=_start_animation,
)  # fmt: skip
declare(
    "animation/stop", "stops an animation at once",
    ("ref animation ->", None), ("int animation ->", None),
    flows_in=("in",), flows_out=("out", "err"), prepare=_stop_animation,
)  # fmt: skip
declare(
    "animation/stopAt", "stops an animation at a time of its own",
    ("ref animation, float stopTime ->", None), ("int animation, float stopTime ->", None),
    flows_in=("in",), flows_out=("out", "err", "done"), prepare=_stop_animation_at,
)  # fmt: skip
