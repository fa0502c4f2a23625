"""Control flow: sequences, branches, loops, delays; and values chosen by condition or chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gltf_bullet.behavior.operations.declaring import (
    MadeNode,
    NodeMaking,
    NodeReading,
    Sockets,
    declare,
)
from gltf_bullet.behavior.values import wrapped

Closures = Mapping[str, Callable[[], None]]

_SOON = 1e-9
"""Tolerance [s] of comparisons of times: sums of time steps round."""


def _connected(node: NodeReading) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (), node.flow_ids


def _sequence(node: NodeMaking) -> Closures:
    targets = [target for flow in node.flow_ids if (target := node.flow(flow)) is not None]
    targets.reverse()  # the last pushed runs first
    extend = node.behavior.extend
    return {"in": lambda: extend(targets)}


def _branch(node: NodeMaking) -> Closures:
    condition, push = node.input("condition"), node.push
    if_true, if_false = node.flow("true"), node.flow("false")

    def enter() -> None:
        target = if_true if condition() else if_false
        if target is not None:
            push(target)

    return {"in": enter}


def _case_flows(node: NodeReading) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (), (*map(str, node.configuration["cases"]), "default")


def _switch(node: NodeMaking) -> Closures:
    selection, push, default = node.input("selection"), node.push, node.flow("default")
    cases = {case: node.flow(str(case)) for case in node.configuration["cases"]}

    def enter() -> None:
        target = cases.get(selection(), default)
        if target is not None:
            push(target)

    return {"in": enter}


def _while(node: NodeMaking) -> Closures:
    condition, push = node.input("condition"), node.push
    body, completed = node.flow("loopBody"), node.flow("completed")

    def enter() -> None:
        if condition():
            push(enter)
            if body is not None:
                push(body)
        elif completed is not None:
            push(completed)

    return {"in": enter}


def _for(node: NodeMaking) -> Closures:
    start, end, push, state = (
        node.input("startIndex"),
        node.input("endIndex"),
        node.push,
        node.state,
    )
    body, completed = node.flow("loopBody"), node.flow("completed")

    def check() -> None:
        if state[0] < end():
            push(advance)
            if body is not None:
                push(body)
        elif completed is not None:
            push(completed)

    def advance() -> None:
        state[0] = wrapped(state[0] + 1)
        check()

    def enter() -> None:
        state[0] = start()
        check()

    return {"in": enter, "(again)": advance}


def _do_n(node: NodeMaking) -> Closures:
    count, push, out, state = node.input("n"), node.push, node.flow("out"), node.state

    def enter() -> None:
        if state[0] < count():
            state[0] += 1
            if out is not None:
                push(out)

    def reset() -> None:
        state[0] = 0

    return {"in": enter, "reset": reset}


def _multi_gate(node: NodeMaking) -> Closures:
    targets = [node.flow(flow) for flow in node.flow_ids]
    is_random, is_loop = node.configuration["isRandom"], node.configuration["isLoop"]
    state, push, draw, count = node.state, node.push, node.behavior.draw, len(targets)

    def enter() -> None:
        free = [k for k in range(count) if not state[1] >> k & 1]
        if not free:
            if not (is_loop and count):
                return
            state[1], free = 0, list(range(count))
        chosen = free[int(draw() * len(free))] if is_random else free[0]
        state[0], state[1] = chosen, state[1] | 1 << chosen
        target = targets[chosen]
        if target is not None:
            push(target)

    def reset() -> None:
        state[0], state[1] = -1, 0

    return {"in": enter, "reset": reset}


def _wait_all_flows(node: NodeReading) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(map(str, range(node.configuration["inputFlows"]))), ()


def _wait_all(node: NodeMaking) -> Closures:
    count, state, push = node.configuration["inputFlows"], node.state, node.push
    out, completed = node.flow("out"), node.flow("completed")

    def enter(flow: int) -> None:
        if not state[1] >> flow & 1:
            state[0], state[1] = state[0] - 1, state[1] | 1 << flow
        target = out if state[0] else completed
        if target is not None:
            push(target)

    def reset() -> None:
        state[0], state[1] = count, 0

    def entering(flow: int) -> Callable[[], None]:
        return lambda: enter(flow)

    return {"reset": reset, **{str(flow): entering(flow) for flow in range(count)}}


def is_duration(seconds: float) -> bool:
    """Return True if a delay of this duration is possible: not NaN, infinite or negative."""
    return 0.0 <= seconds < 1e12


def _throttle(node: NodeMaking) -> Closures:
    duration, state, push, behavior = node.input("duration"), node.state, node.push, node.behavior
    out, err = node.flow("out"), node.flow("err")

    def enter() -> None:
        wait, now = duration(), behavior.now
        if not is_duration(wait):
            if err is not None:
                push(err)
            return
        elapsed = math.inf if state[0] != state[0] else now - state[1]
        if wait > elapsed + _SOON:
            state[0] = wait - elapsed
            return
        state[0], state[1] = 0.0, now
        if out is not None:
            push(out)

    def reset() -> None:
        state[0] = math.nan

    return {"in": enter, "reset": reset}


def _set_delay(node: NodeMaking) -> Closures:
    duration, state, push, behavior = node.input("duration"), node.state, node.push, node.behavior
    out, err, index = node.flow("out"), node.flow("err"), node.node.index
    node.register_done()

    def enter() -> None:
        wait = duration()
        delay = behavior.delays.add(behavior.now + wait, index) if is_duration(wait) else None
        if delay is not None:
            state[0], state[1] = delay, delay.number
        target = err if delay is None else out
        if target is not None:
            push(target)

    def cancel() -> None:
        state[0], state[1] = None, -1
        behavior.delays.cancel_of(index)

    return {"in": enter, "cancel": cancel}


def _cancel_delay(node: NodeMaking) -> Closures:
    delay = node.input(next(iter(node.node.inputs)))
    push, out, cancel = node.push, node.flow("out"), node.behavior.delays.cancel

    def enter() -> None:
        cancel(delay())
        if out is not None:
            push(out)

    return {"in": enter}


def _input_flow_count(_: NodeReading, configuration: dict[str, Any]) -> str:
    return "" if 0 <= configuration["inputFlows"] <= 64 else "inputFlows: 0 to 64"


def _no_state(*begin: Any) -> Callable[[MadeNode], list[Any]]:
    return lambda _: list(begin)


_IN = ("in",)
declare(
    "flow/sequence", "activates its outputs one after the other", ("->", None),
    flows_in=_IN, find_flows=_connected, prepare=_sequence,
)  # fmt: skip
declare(
    "flow/branch", "goes on by a condition", ("bool condition ->", None),
    flows_in=_IN, flows_out=("true", "false"), prepare=_branch,
)  # fmt: skip
declare(
    "flow/switch", "goes on by a number", ("int selection ->", None),
    configuration={"cases": "int[]"}, defaults={"cases": ()},
    flows_in=_IN, find_flows=_case_flows, prepare=_switch,
)  # fmt: skip
declare(
    "flow/while", "repeats while a condition is true", ("bool condition ->", None),
    flows_in=_IN, flows_out=("loopBody", "completed"), prepare=_while,
)  # fmt: skip
declare(
    "flow/for", "repeats with an index", ("int startIndex, int endIndex -> int index", None),
    configuration={"initialIndex": "int"}, defaults={"initialIndex": 0},
    flows_in=_IN, flows_out=("loopBody", "completed"), prepare=_for,
    slots=("index",), state=lambda node: [node.configuration["initialIndex"]],
)  # fmt: skip
declare(
    "flow/doN", "goes on n times at most", ("int n -> int currentCount", None),
    flows_in=("in", "reset"), flows_out=("out",), prepare=_do_n,
    slots=("currentCount",), state=_no_state(0),
)  # fmt: skip
declare(
    "flow/multiGate", "goes on by one output after the other", ("-> int lastIndex", None),
    configuration={"isRandom": "bool", "isLoop": "bool"},
    defaults={"isRandom": False, "isLoop": False},
    flows_in=("in", "reset"), find_flows=_connected, prepare=_multi_gate,
    slots=("lastIndex",), state=_no_state(-1, 0),
)  # fmt: skip
declare(
    "flow/waitAll", "goes on when all inputs were activated", ("-> int remainingInputs", None),
    configuration={"inputFlows": "int"}, defaults={"inputFlows": 0}, check=_input_flow_count,
    flows_in=("reset",), flows_out=("out", "completed"), find_flows=_wait_all_flows,
    prepare=_wait_all,
    slots=("remainingInputs",), state=lambda node: [node.configuration["inputFlows"], 0],
)  # fmt: skip
declare(
    "flow/throttle", "goes on once in a time at most",
    ("float duration -> float lastRemainingTime", None),
    flows_in=("in", "reset"), flows_out=("out", "err"), prepare=_throttle,
    slots=("lastRemainingTime",), state=_no_state(math.nan, 0.0),
)  # fmt: skip
declare(
    "flow/setDelay", "goes on later",
    # The index is of an earlier draft.
    ("float duration -> ref lastDelay, int lastDelayIndex", None),
    flows_in=("in", "cancel"), flows_out=("out", "err", "done"), prepare=_set_delay,
    slots=("lastDelay", "lastDelayIndex"), state=_no_state(None, -1),
)  # fmt: skip
declare(
    "flow/cancelDelay", "takes back a delay",
    ("ref delay ->", None), ("int delayIndex ->", None),
    flows_in=_IN, flows_out=("out",), prepare=_cancel_delay,
)  # fmt: skip


# --- Values by condition, by case, by chance ------------------------------------------------------


def _select_sockets(node: NodeReading) -> Sockets | str:
    kind = node.inputs.get("a")
    if kind is None:
        return "a: connected or given a value"
    return Sockets({"condition": "bool", "a": kind, "b": kind}, {"value": kind})


def _select(node: NodeMaking, _: str) -> Callable[[], Any]:
    condition, first, second = node.input("condition"), node.input("a"), node.input("b")
    return lambda: first() if condition() else second()


def _switch_sockets(node: NodeReading) -> Sockets | str:
    kind = node.inputs.get("default")
    if kind is None:
        return "default: connected or given a value"
    cases = {str(case): kind for case in node.configuration["cases"]}
    return Sockets({"selection": "int", "default": kind, **cases}, {"value": kind})


def _select_case(node: NodeMaking, _: str) -> Callable[[], Any]:
    selection, default = node.input("selection"), node.input("default")
    cases = {case: node.input(str(case)) for case in node.configuration["cases"]}
    return lambda: cases.get(selection(), default)()


def _random(node: NodeMaking, _: str) -> Callable[[], float]:
    draw: Callable[[], float] = node.memoized(node.behavior.draw)
    return draw


declare(
    "math/select", "a where the condition is true, else b",
    find_sockets=_select_sockets, make_output=_select,
)  # fmt: skip
declare(
    "math/switch", "the input whose name is the selection",
    configuration={"cases": "int[]"}, defaults={"cases": ()},
    find_sockets=_switch_sockets, make_output=_select_case,
)  # fmt: skip
declare(
    "math/random", "a number of [0, 1), another one at each activation",
    ("-> float value", None), make_output=_random,
)  # fmt: skip


def _angle_order(_: NodeReading, configuration: dict[str, Any]) -> str:
    is_known = configuration["order"] in ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx")
    return "" if is_known else "order: an order of x, y and z"


def _angles(node: NodeMaking, _: str) -> Callable[[], Any]:
    from gltf_bullet.behavior.operations.vectors import from_angles

    turned = from_angles(node.configuration["order"])
    x, y, z = node.input("x"), node.input("y"), node.input("z")
    return lambda: turned(x(), y(), z())


declare(
    "math/quatFromAngles", "rotation of three angles",
    ("float x, float y, float z -> float4 value", None),
    configuration={"order": "string"}, defaults={"order": "yxz"}, check=_angle_order,
    make_output=_angles,
)  # fmt: skip
