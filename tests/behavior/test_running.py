"""What activates what, and when: control flow, delays, interpolation, animations, events."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from gltf_bullet.behavior.operations.easing import bezier
from gltf_bullet.behavior.running import Behavior, effective
from gltf_bullet.behavior.values import Reference
from tests.behavior.graphs import run
from tests.behavior.json_host import JsonHost
from tools.graph_builder import GraphBuilder, Out, Typed


class Counting(GraphBuilder):
    """A graph whose flows count: ``count(name)`` is a node that adds 1 to a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, int] = {}

    def count(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = self.variable(0, name)
        number = self.names[name]
        now = self.add("variable/get", variable=number)
        more = self.add("math/add", {"a": Out(now), "b": 1})
        return self.add("variable/set", {str(number): Out(more)}, variables=[number])

    def keep(self, name: str, source: Out, first: Any) -> int:
        """A node that keeps a value in a variable."""
        if name not in self.names:
            self.names[name] = self.variable(first, name)
        return self.add(
            "variable/set", {str(self.names[name]): source}, variables=[self.names[name]]
        )


def values(behavior: Behavior) -> dict[str, Any]:
    return {v.name: behavior.values[k] for k, v in enumerate(behavior.graph.variables)}


def ticked(behavior: Behavior, *times: float) -> dict[str, Any]:
    for time in times:
        behavior.tick(time)
    return values(behavior)


def test_a_sequence_goes_by_utf16_code_units() -> None:
    g = Counting()
    start, sequence = g.add("event/onStart"), g.add("flow/sequence")
    g.flow(start, sequence)
    order = g.variable(0, "order")
    # "North East Sans-Serif Arrow" is two surrogates, less than the replacement character.
    for digit, socket in enumerate(["10", "9", "\U0001f855", "�"], start=1):
        now = g.add("variable/get", variable=order)
        ten = g.add("math/mul", {"a": Out(now), "b": 10})
        plus = g.add("math/add", {"a": Out(ten), "b": digit})
        g.flow(sequence, socket, g.add("variable/set", {"0": Out(plus)}, variables=[order]))
    assert ticked(run(g), 0.0)["order"] == 1234


def test_loops_and_branches() -> None:
    g = Counting()
    start = g.add("event/onStart")
    outer = g.add("flow/for", {"startIndex": -2, "endIndex": 3}, initialIndex=7)
    inner = g.add("flow/for", {"startIndex": 0, "endIndex": Out(outer, "index")}, initialIndex=0)
    odd = g.add("math/and", {"a": Out(outer, "index"), "b": 1})
    branch = g.add("flow/branch", {"condition": Out(g.add("math/eq", {"a": Out(odd), "b": 1}))})
    sequence = g.add("flow/sequence")
    g.chain(start, outer)
    g.flow(outer, "loopBody", sequence)
    g.flow(sequence, "a", inner)
    g.flow(sequence, "b", branch)
    g.flow(inner, "loopBody", g.count("inner"))
    g.flow(branch, "true", g.count("odd"))
    g.flow(branch, "false", g.count("even"))
    g.flow(outer, "completed", g.count("done"))
    # -2..2: the inner loop runs 1 + 2 times; -1 and 1 are odd.
    assert ticked(run(g), 0.0) == {"inner": 3, "odd": 2, "even": 3, "done": 1}


def test_while_asks_again_after_each_body() -> None:
    g = Counting()
    start, number = g.add("event/onStart"), g.variable(0, "n")
    g.names["n"] = number
    now = g.add("variable/get", variable=number)
    loop = g.add("flow/while", {"condition": Out(g.add("math/lt", {"a": Out(now), "b": 5}))})
    after = g.count("completed")
    g.flow(start, loop)
    g.flow(loop, "loopBody", g.count("n"))
    g.flow(loop, "completed", after)
    assert ticked(run(g), 0.0) == {"n": 5, "completed": 1}


def test_do_n_and_its_reset() -> None:
    g = Counting()
    start, sequence = g.add("event/onStart"), g.add("flow/sequence")
    limited = g.add("flow/doN", {"n": 2})
    g.flow(start, sequence)
    for socket in ("a", "b", "c", "e", "f"):
        g.flow(sequence, socket, limited)
    g.flow(sequence, "d", limited, "reset")
    g.flow(limited, g.count("passed"))
    assert ticked(run(g), 0.0) == {"passed": 4}


@pytest.mark.parametrize(("is_loop", "expected"), [(False, [1, 1, 1]), (True, [3, 2, 2])])
def test_a_multi_gate_goes_through_its_outputs(is_loop: bool, expected: list[int]) -> None:
    g = Counting()
    start, sequence = g.add("event/onStart"), g.add("flow/sequence")
    gate = g.add("flow/multiGate", isRandom=False, isLoop=is_loop)
    g.flow(start, sequence)
    for socket in "abcdefg":
        g.flow(sequence, socket, gate)
    for k in range(3):
        g.flow(gate, f"out{k}", g.count(f"out{k}"))
    assert list(ticked(run(g), 0.0).values()) == expected


def test_a_random_gate_uses_each_output_once_and_follows_the_seed() -> None:
    def orders(seed: int) -> list[int]:
        g = Counting()
        tick = g.add("event/onTick")
        gate = g.add("flow/multiGate", isRandom=True, isLoop=True)
        g.flow(tick, gate)
        index = g.variable(-1, "index")
        for k in range(4):
            keep = g.add("variable/set", {"0": Out(gate, "lastIndex")}, variables=[index])
            g.flow(gate, str(k), keep)
        behavior = run(g, seed=seed)
        return [ticked(behavior, float(k))["index"] for k in range(40)]

    first = orders(1)
    assert all(sorted(first[k : k + 4]) == [0, 1, 2, 3] for k in range(0, 40, 4))
    assert first == orders(1)
    assert first != orders(2)
    assert len({tuple(first[k : k + 4]) for k in range(0, 40, 4)}) > 3


def test_wait_all_completes_with_the_last_input_and_after() -> None:
    g = Counting()
    start, sequence = g.add("event/onStart"), g.add("flow/sequence")
    wait = g.add("flow/waitAll", inputFlows=2)
    g.flow(start, sequence)
    for socket, into in zip("abcdef", ["0", "0", "1", "0", "reset", "1"], strict=True):
        g.flow(sequence, socket, wait, into)
    g.flow(wait, "out", g.count("out"))
    g.flow(wait, "completed", g.count("completed"))
    assert ticked(run(g), 0.0) == {"out": 3, "completed": 2}


def test_throttle_lets_through_once_in_its_time() -> None:
    g = Counting()
    tick, sequence = g.add("event/onTick"), g.add("flow/sequence")
    throttle = g.add("flow/throttle", {"duration": 1.0})
    keep = g.keep("remaining", Out(throttle, "lastRemainingTime"), 0.0)
    g.flow(tick, sequence)
    g.flow(sequence, "a", throttle)
    g.flow(sequence, "b", keep)
    g.flow(throttle, g.count("passed"))
    behavior = run(g)
    assert math.isnan(behavior._states[2][0])
    assert ticked(behavior, 0.0) == {"remaining": 0.0, "passed": 1}
    assert ticked(behavior, 0.25) == {"remaining": 0.75, "passed": 1}
    assert ticked(behavior, 1.0) == {"remaining": 0.0, "passed": 2}


@pytest.mark.parametrize("duration", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("operation", ["flow/throttle", "flow/setDelay"])
def test_times_that_are_none_lead_to_err(operation: str, duration: float) -> None:
    g = Counting()
    start, waiting = g.add("event/onStart"), g.add(operation, {"duration": duration})
    g.flow(start, waiting)
    for way in ("out", "err"):
        g.flow(waiting, way, g.count(way))
    assert ticked(run(g), 0.0, 10.0) == {"out": 0, "err": 1}


def test_delays_end_in_their_order_in_the_first_tick_past_their_time() -> None:
    g = Counting()
    start, sequence = g.add("event/onStart"), g.add("flow/sequence")
    g.flow(start, sequence)
    order = g.variable(0, "order")
    for digit, duration in enumerate([0.3, 0.1, 0.2], start=1):
        delay = g.add("flow/setDelay", {"duration": duration})
        g.flow(sequence, str(digit), delay)
        ten = g.add("math/mul", {"a": Out(g.add("variable/get", variable=order)), "b": 10})
        plus = g.add("math/add", {"a": Out(ten), "b": digit})
        g.flow(delay, "done", g.add("variable/set", {"0": Out(plus)}, variables=[order]))
    behavior = run(g)
    assert ticked(behavior, 0.0, 0.09) == {"order": 0}
    # Sums of time steps round: 0.1 is there at 0.09999999999999999, too.
    assert ticked(behavior, 0.09999999999999999) == {"order": 2}
    assert ticked(behavior, 1.0) == {"order": 231}


def test_delays_are_cancelled_one_by_one_and_all_together() -> None:
    g = Counting()
    start, sequence = g.add("event/onStart"), g.add("flow/sequence")
    g.flow(start, sequence)
    one, other = (
        g.add("flow/setDelay", {"duration": 1.0}),
        g.add("flow/setDelay", {"duration": 1.0}),
    )
    cancel = g.add("flow/cancelDelay", {"delay": Out(one, "lastDelay")})
    nothing = g.add("flow/cancelDelay", {"delay": Typed("ref")})
    for socket, target in zip("abcde", [one, one, other, cancel, nothing], strict=True):
        g.flow(sequence, socket, target)
    g.flow(sequence, "f", other, "cancel")
    g.flow(one, "done", g.count("one"))
    g.flow(other, "done", g.count("other"))
    assert ticked(run(g), 0.0, 2.0) == {"one": 1, "other": 0}


def test_delay_references_are_valid_while_they_wait() -> None:
    g = Counting()
    start, delay = g.add("event/onStart"), g.add("flow/setDelay", {"duration": 1.0})
    known = g.add(
        "pointer/get", {"d": Out(delay, "lastDelay")},
        pointer="/extensions/KHR_interactivity/delays/{d}", type=g.type("ref"),
    )  # fmt: skip
    tick = g.add("event/onTick")
    g.flow(start, delay)
    g.flow(tick, g.keep("valid", Out(known, "isValid"), False))
    behavior = run(g)
    assert ticked(behavior, 0.0, 0.5) == {"valid": True}
    assert ticked(behavior, 1.0) == {"valid": False}


def test_ticks_know_their_times() -> None:
    g = Counting()
    tick = g.add("event/onTick")
    g.chain(
        tick,
        g.keep("start", Out(tick, "timeSinceStart"), -1.0),
        g.keep("last", Out(tick, "timeSinceLastTick"), -1.0),
    )
    behavior = run(g)
    first = ticked(behavior, 5.0)
    assert first["start"] == 0.0
    assert math.isnan(first["last"])
    assert ticked(behavior, 5.25) == {"start": 0.25, "last": 0.25}


def test_a_stopped_event_reaches_no_further_nodes() -> None:
    g = Counting()
    ticks = [g.add("event/onTick") for _ in range(3)]
    stop = g.add("event/stopPropagation", {"stopImmediate": True, "event": Out(ticks[1], "event")})
    for k, tick in enumerate(ticks):
        g.flow(tick, g.count(f"tick{k}"))
    count = g.count("second")
    g.flow(ticks[1], stop)
    g.flow(stop, count)
    assert ticked(run(g), 0.0, 1.0) == {"tick0": 2, "tick1": 0, "tick2": 0, "second": 2}


def test_random_numbers_stay_until_something_is_activated() -> None:
    g = Counting()
    tick, chance = g.add("event/onTick"), g.add("math/random")
    same = g.add("math/eq", {"a": Out(chance), "b": Out(chance)})
    low = g.keep("first", Out(chance), -1.0)
    g.chain(tick, g.keep("same", Out(same), False), low, g.keep("second", Out(chance), -1.0))
    behavior = run(g, seed=3)
    seen = ticked(behavior, 0.0)
    assert seen["same"] is True
    assert 0.0 <= seen["first"] < 1.0
    assert seen["first"] != seen["second"]
    assert ticked(run(g, seed=3), 0.0) == seen


def test_events_of_the_graph_come_back_and_go_out() -> None:
    g = Counting()
    event = g.event("ping", strength=2.5, name=Typed("ref"))
    start = g.add("event/onStart")
    send = g.add("event/send", {"strength": 4.0, "name": Typed("ref")}, event=event)
    receive = g.add("event/receive", event=event)
    g.flow(start, send)
    g.flow(receive, g.keep("strength", Out(receive, "strength"), 0.0))
    told: list[Any] = []
    behavior = run(g)
    end = behavior.on(event, told.append)
    assert ticked(behavior, 0.0) == {"strength": 4.0}
    assert told == [{"strength": 4.0, "name": None}]
    end()
    # What the sender leaves out has its initial value again.
    behavior.receive(event, {})
    assert ticked(behavior, 1.0) == {"strength": 2.5}
    assert len(told) == 1


def test_an_endless_exchange_of_events_waits_for_the_next_step() -> None:
    g = Counting()
    event = g.event("again")
    start, receive = g.add("event/onStart"), g.add("event/receive", event=event)
    count = g.count("n")
    again, first = g.add("event/send", event=event), g.add("event/send", event=event)
    g.flow(start, first)
    g.chain(receive, count, again)
    behavior = run(g)
    once = ticked(behavior, 0.0)["n"]
    assert 100 < once < 10_000
    assert 2 * once <= ticked(behavior, 1.0)["n"] <= 2 * once + 1
    assert not len(behavior.found)


def test_an_endless_loop_is_stopped_and_named() -> None:
    g = Counting()
    start = g.add("event/onStart")
    loop = g.add("flow/while", {"condition": True})
    g.flow(start, loop)
    behavior = run(g, budget=1000)
    behavior.tick(0.0)
    (issue,) = behavior.found
    assert issue.code == "BEHAVIOR_ENDLESS"
    assert str(issue.pointer) == f"/nodes/{loop}"
    assert behavior.is_paused
    behavior.tick(1.0)
    assert behavior.clock.spent <= 1001


def test_no_graph_is_too_deep_and_shared_values_are_computed_once() -> None:
    g = Counting()
    start = g.add("event/onStart")
    variable = g.variable(1, "n")
    number = g.add("variable/get", variable=variable)
    for _ in range(3000):  # 2**3000 where each asked anew
        number = g.add("math/add", {"a": Out(number), "b": Out(number)})
    last: Any = start
    for _ in range(3000):
        sequence = g.add("flow/sequence")
        g.flow(last, "a" if last != start else "out", sequence)
        last = sequence
    g.flow(last, "a", g.keep("sum", Out(number), 0))
    assert ticked(run(g), 0.0) == {"n": 1, "sum": 0}  # 2**3000 modulo 2**32


def interpolating(**more: Any) -> tuple[Counting, int]:
    g = Counting()
    start = g.add("event/onStart")
    g.variable(1.0, "x")
    ease = {"value": 3.0, "duration": 2.0, "p1": (0.0, 0.0), "p2": (1.0, 1.0), **more}
    way = g.add("variable/interpolate", ease, variable=0, useSlerp=False)
    g.flow(start, way)
    for flow in ("out", "err", "done"):
        g.flow(way, flow, g.count(flow))
    return g, way


def test_a_variable_goes_to_its_value_on_a_straight_line() -> None:
    behavior = run(interpolating()[0])
    assert ticked(behavior, 0.0) == {"x": 1.0, "out": 1, "err": 0, "done": 0}
    assert ticked(behavior, 0.5)["x"] == pytest.approx(1.5)
    assert ticked(behavior, 1.0)["x"] == pytest.approx(2.0)
    assert ticked(behavior, 2.0) == {"x": 3.0, "out": 1, "err": 0, "done": 1}
    assert ticked(behavior, 3.0)["done"] == 1


@pytest.mark.parametrize(
    "wrong",
    [{"duration": -1.0}, {"p1": (1.5, 0.0)}, {"p2": (0.5, math.inf)}, {"duration": math.nan}],
)
def test_an_interpolation_that_is_none_leads_to_err(wrong: dict[str, Any]) -> None:
    assert ticked(run(interpolating(**wrong)[0]), 0.0, 5.0) == {
        "x": 1.0, "out": 0, "err": 1, "done": 0,
    }  # fmt: skip


def test_an_interpolation_of_no_time_is_there_in_the_next_tick() -> None:
    behavior = run(interpolating(duration=0.0)[0])
    assert ticked(behavior, 0.0)["x"] in (1.0, 3.0)
    assert ticked(behavior, 0.1) == {"x": 3.0, "out": 1, "err": 0, "done": 1}


@pytest.mark.parametrize("t", [0.1, 0.3, 0.5, 0.9])
def test_easing_follows_the_curve(t: float) -> None:
    # CSS "ease-in-out" is symmetric, and x = 3 r^2 s x1 + 3 r s^2 x2 + s^3 on it.
    p1, p2 = (0.42, 0.0), (0.58, 1.0)
    assert bezier(t, p1, p2) + bezier(1.0 - t, p1, p2) == pytest.approx(1.0)
    assert bezier(t, (1 / 3, 1 / 3), (2 / 3, 2 / 3)) == pytest.approx(t)
    for s in (0.2, 0.7):
        r = 1.0 - s
        x = 3 * r * r * s * 1.0 + 3 * r * s * s * 0.0 + s**3
        assert bezier(x, (1.0, 2.0), (0.0, -1.0)) == pytest.approx(
            3 * r * r * s * 2.0 - 3 * r * s * s + s**3, abs=1e-9
        )


def test_a_property_is_set_read_and_interpolated() -> None:
    file = {"asset": {"version": "2.0"}, "nodes": [{"rotation": [0, 0, 0, 1]}, {}]}
    g = Counting()
    kind, turn = g.type("float3"), g.type("float4")
    start, tick = g.add("event/onStart"), g.add("event/onTick")
    move = g.add(
        "pointer/set", {"n": "/nodes/1", "value": (1.0, 2.0, 3.0)},
        pointer="/nodes/{n}/translation", type=kind,
    )  # fmt: skip
    gone = g.add(
        "pointer/set", {"n": 7, "value": (1.0, 2.0, 3.0)},
        pointer="/nodes/[n]/translation", type=kind,
    )  # fmt: skip
    ease = g.add(
        "pointer/interpolate",
        {"value": (0.0, 0.0, 1.0, 0.0), "duration": 2.0, "p1": (0.0, 0.0), "p2": (1.0, 1.0)},
        pointer="/nodes/0/rotation", type=turn,
    )  # fmt: skip
    g.chain(start, move)
    g.flow(move, "out", gone)
    g.flow(gone, "err", ease)
    place = g.add("pointer/get", {"n": 1}, pointer="/nodes/[n]/translation", type=kind)
    wrong = g.add("pointer/get", {"n": 1}, pointer="/nodes/[n]/translation", type=turn)
    now = g.add("pointer/get", pointer="/nodes/0/rotation", type=turn)
    g.chain(
        tick,
        g.keep("place", Out(place), (0.0, 0.0, 0.0)),
        g.keep("rotation", Out(now), (0.0, 0.0, 0.0, 0.0)),
        g.keep("wrong", Out(wrong, "isValid"), True),
    )
    behavior = run(g, file)
    seen = ticked(behavior, 0.0, 1.0)
    assert seen["place"] == (1.0, 2.0, 3.0)
    assert seen["wrong"] is False
    s = math.sqrt(0.5)
    assert seen["rotation"] == pytest.approx((0.0, 0.0, s, s))


@pytest.mark.parametrize(
    ("requested", "span", "expected"),
    [(0.0, 2.0, 0.0), (2.0, 2.0, 2.0), (2.5, 2.0, 0.5), (4.0, 2.0, 2.0), (-0.5, 2.0, 1.5),
     (-2.0, 2.0, 0.0), (-4.5, 2.0, 1.5), (3.0, 0.0, 0.0)],
)  # fmt: skip
def test_times_of_the_endless_line_are_times_of_the_animation(
    requested: float, span: float, expected: float
) -> None:
    assert effective(requested, span) == pytest.approx(expected)


def playing(**times: float) -> tuple[Counting, int]:
    g = Counting()
    start = g.add("event/onStart")
    play = g.add(
        "animation/start",
        {"animation": "/animations/0", "startTime": 0.0, "endTime": 2.0, "speed": 1.0, **times},
    )
    g.flow(start, play)
    for flow in ("out", "err", "done"):
        g.flow(play, flow, g.count(flow))
    return g, play


ANIMATED = {"asset": {"version": "2.0"}, "animations": [{}]}


def test_an_animation_plays_to_its_end() -> None:
    host = JsonHost(ANIMATED, [(0.5, 2.0)])
    g, _ = playing(speed=2.0)
    behavior = run(g, ANIMATED, host)
    assert ticked(behavior, 0.0, 0.5) == {"out": 1, "err": 0, "done": 0}
    assert host.played[0] == pytest.approx(1.0)
    assert behavior.find("/animations/0/extensions/KHR_interactivity/isPlaying").get() is True
    assert ticked(behavior, 1.0) == {"out": 1, "err": 0, "done": 1}
    assert host.played[0] == 2.0
    assert behavior.find("/animations/0/extensions/KHR_interactivity/isPlaying").get() is False
    assert behavior.find("/animations/0/extensions/KHR_interactivity/playhead").get() == 2.0
    assert behavior.find("/animations/0/extensions/KHR_interactivity/minTime").get() == 0.5
    assert behavior.find("/animations/0/extensions/KHR_interactivity/maxTime").get() == 2.0
    assert behavior.find("/animations/1/extensions/KHR_interactivity/maxTime") is None


def test_an_animation_plays_backwards_without_end_and_is_stopped_at_a_time() -> None:
    host = JsonHost(ANIMATED, [(0.0, 2.0)])
    g, _ = playing(startTime=1.0, endTime=-math.inf)
    delay = g.add("flow/setDelay", {"duration": 1.5})
    start = g.add("event/onStart")
    stop = g.add("animation/stopAt", {"animation": "/animations/0", "stopTime": -1.25})
    g.chain(start, delay)
    g.flow(delay, "done", stop)
    g.flow(stop, "done", g.count("stopped"))
    behavior = run(g, ANIMATED, host)
    ticked(behavior, 0.0, 1.5)
    assert host.played[0] == pytest.approx(1.5)  # -0.5 of the endless line
    assert behavior.playing.heads[0][0] == pytest.approx(-0.5)
    assert ticked(behavior, 3.0) == {"out": 1, "err": 0, "done": 0, "stopped": 1}
    assert host.played[0] == pytest.approx(0.75)


def test_a_stopped_animation_stands_where_it_was_and_is_never_done() -> None:
    host = JsonHost(ANIMATED, [(0.0, 2.0)])
    g, _ = playing()
    tick = g.add("event/onTick")
    late = g.add("math/ge", {"a": Out(tick, "timeSinceStart"), "b": 1.0})
    branch = g.add("flow/branch", {"condition": Out(late)})
    stop = g.add("animation/stop", {"animation": "/animations/0"})
    g.flow(tick, branch)
    g.flow(branch, "true", stop)
    g.flow(stop, g.count("stopped"))
    behavior = run(g, ANIMATED, host)
    ticked(behavior, 0.0, 0.5)
    assert ticked(behavior, 1.0, 9.0) == {"out": 1, "err": 0, "done": 0, "stopped": 2}
    assert host.played[0] == pytest.approx(1.0)
    assert behavior.find("/animations/0/extensions/KHR_interactivity/isPlaying").get() is False


@pytest.mark.parametrize(
    "wrong",
    [{"startTime": math.inf}, {"endTime": math.nan}, {"speed": 0.0}, {"speed": math.inf},
     {"animation": "/animations/3"}],
)  # fmt: skip
def test_an_animation_that_cannot_play_leads_to_err(wrong: dict[str, Any]) -> None:
    host = JsonHost(ANIMATED, [(0.0, 2.0)])
    assert ticked(run(playing(**wrong)[0], ANIMATED, host), 0.0, 9.0) == {
        "out": 0, "err": 1, "done": 0,
    }  # fmt: skip


FAMILY = {
    "asset": {"version": "2.0"},
    "extensionsUsed": ["KHR_node_selectability", "KHR_node_hoverability"],
    "nodes": [{"children": [1, 2]}, {"children": [3]}, {}, {}],
}


def test_a_selection_bubbles_up_until_it_is_stopped() -> None:
    g = Counting()
    sockets = {"selectedNode": "ref", "selectionPoint": "float3", "event": "ref"}
    above, below, other = (
        g.add("event/onSelect", extension="KHR_node_selectability", outputs=sockets, nodeIndex=k)
        for k in (0, 1, 2)
    )
    stop = g.add("event/stopPropagation", {"stopImmediate": False, "event": Out(below, "event")})
    g.chain(above, g.count("above"), g.keep("point", Out(above, "selectionPoint"), (0.0, 0.0, 0.0)))
    g.chain(below, g.count("below"))
    g.chain(other, g.count("other"))
    behavior = run(g, FAMILY)
    assert behavior.select(3, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0))
    assert ticked(behavior, 0.0) == {
        "above": 1, "below": 1, "other": 0, "point": (1.0, 2.0, 3.0),
    }  # fmt: skip
    g.flow(below, stop)
    stopped = run(g, FAMILY)
    stopped.select(3, (1.0, 2.0, 3.0), (0.0, 0.0, 0.0))
    assert ticked(stopped, 0.0)["above"] == 0


def test_what_is_not_selectable_is_not_selected() -> None:
    nodes = [dict(node) for node in FAMILY["nodes"]]  # type: ignore[union-attr]
    nodes[1]["extensions"] = {"KHR_node_selectability": {"selectable": False}}
    behavior = run(Counting(), {**FAMILY, "nodes": nodes})
    assert not behavior.select(3, (), ())
    assert behavior.select(2, (), ())


def test_hovering_comes_in_and_goes_out_of_subtrees() -> None:
    g = Counting()
    for way in ("In", "Out"):
        for node in (0, 1, 2):
            event = g.add(
                f"event/onHover{way}", extension="KHR_node_hoverability",
                outputs={"hoveredNode": "ref"}, nodeIndex=node,
            )  # fmt: skip
            g.flow(event, g.count(f"{way}{node}"))
    behavior = run(g, FAMILY)
    zero = dict.fromkeys(["In0", "In1", "In2", "Out0", "Out1", "Out2"], 0)
    behavior.hover(3)
    assert ticked(behavior, 0.0) == zero | {"In0": 1, "In1": 1}
    behavior.hover(2)  # within 0 all the time
    assert ticked(behavior, 1.0) == zero | {"In0": 1, "In1": 1, "In2": 1, "Out1": 1}
    behavior.hover(-1)
    assert ticked(behavior, 2.0)["Out0"] == 1


def test_the_log_fills_in_its_parameters() -> None:
    g = Counting()
    start = g.add("event/onStart")
    log = g.add(
        "debug/log", {"a": 1.5, "b": (1.0, 2.0), "c": True},
        severity=2, message="a is {a}, {{b}} is {b}, {c} {a}",
    )  # fmt: skip
    g.flow(start, log)
    behavior = run(g)
    behavior.tick(0.25)
    (entry,) = behavior.log
    assert entry == (0.25, 2, "a is 1.5, {b} is (1, 2), true 1.5")


def test_an_unknown_operation_of_an_extension_does_nothing() -> None:
    g = Counting()
    start = g.add("event/onStart")
    odd = g.add(
        "odd/thing", {"a": 1.0}, extension="VND_odd", inputs={"a": "float"},
        outputs={"number": "int", "place": "float3"},
    )  # fmt: skip
    g.flow(start, g.keep("number", Out(odd, "number"), 5))
    other = g.add("event/onStart")
    g.flow(other, odd)
    g.flow(odd, g.count("after"))
    assert ticked(run(g), 0.0) == {"number": 0, "after": 0}


def test_a_state_goes_on_alike_in_another_behavior() -> None:
    g = Counting()
    tick = g.add("event/onTick")
    chance = g.add("math/random")
    delay = g.add("flow/setDelay", {"duration": 0.35})
    again = g.add("flow/throttle", {"duration": 0.21})
    way = g.add(
        "variable/interpolate",
        {"value": Out(chance), "duration": 0.5, "p1": (0.3, 0.0), "p2": (0.7, 1.0)},
        variable=g.variable(0.0, "x"), useSlerp=False,
    )  # fmt: skip
    sequence = g.add("flow/sequence")
    g.flow(tick, sequence)
    g.flow(sequence, "a", delay)
    g.flow(sequence, "b", again)
    g.flow(delay, "done", g.count("delays"))
    g.flow(again, way)
    g._nodes[again]["flows"]["out"] = {"node": g.count("through")}
    last = g.add(
        "variable/interpolate",
        {"value": Out(chance), "duration": 0.5, "p1": (0.3, 0.0), "p2": (0.7, 1.0)},
        variable=0, useSlerp=False,
    )  # fmt: skip
    g.flow(sequence, "c", last)
    one, two = run(g, seed=5), run(g, seed=9)
    times = [k / 60 for k in range(120)]
    ticked(one, *times[:50])
    two.restore(pickle.loads(pickle.dumps(one.state())))  # noqa: S301
    assert [ticked(one, t) for t in times[50:]] == [ticked(two, t) for t in times[50:]]
    assert values(one)["delays"] > 5
    assert one.state().chance == two.state().chance


def test_references_to_the_same_item_are_equal() -> None:
    file = {"asset": {"version": "2.0"}, "nodes": [{}, {}]}
    g = Counting()
    start = g.add("event/onStart")
    same = g.add("ref/eq", {"a": "/nodes/1", "b": "/nodes/1"})
    other = g.add("ref/eq", {"a": "/nodes/1", "b": "/nodes/0"})
    null = g.add("ref/eq", {"a": "/nodes/9", "b": "/nodes/0"})
    g.chain(
        start, g.keep("same", Out(same), False), g.keep("other", Out(other), True),
        g.keep("null", Out(null), True),
    )  # fmt: skip
    g.variable("/nodes/1", "kept")
    assert ticked(run(g, file), 0.0) == {
        "same": True, "other": False, "null": False, "kept": Reference("/nodes", 1),
    }  # fmt: skip


def test_hovering_ends_where_a_node_stops_being_hoverable() -> None:
    g = Counting()
    leave = g.add(
        "event/onHoverOut", extension="KHR_node_hoverability",
        outputs={"hoveredNode": "ref"}, nodeIndex=1,
    )  # fmt: skip
    event = g.event("off")
    receive = g.add("event/receive", event=event)
    off = g.add(
        "pointer/set", {"value": False}, type=g.type("bool"),
        pointer="/nodes/0/extensions/KHR_node_hoverability/hoverable",
    )  # fmt: skip
    g.flow(receive, off)
    g.flow(leave, g.count("out"))
    behavior = run(g, FAMILY)
    behavior.hover(3)
    assert ticked(behavior, 0.0) == {"out": 0}
    behavior.receive(event, {})
    assert ticked(behavior, 1.0) == {"out": 1}


@pytest.mark.parametrize("kind", ["int", "ref"])
def test_crossings_name_nodes_as_the_graph_declares_them(kind: str) -> None:
    physics = "KHR_physics_rigid_bodies"
    nodes = [{"extensions": {physics: {"trigger": {}}}}, {}]
    g = Counting()
    entered = g.add(
        "event/rigid_body_triggerEntered", extension=physics, nodeIndex=0,
        outputs={"colliderNodeIndex": kind, "motionNodeIndex": kind},
    )  # fmt: skip
    first = Typed(kind)
    g.chain(
        entered,
        g.keep("collider", Out(entered, "colliderNodeIndex"), first),
        g.keep("motion", Out(entered, "motionNodeIndex"), first),
    )
    behavior = run(g, {"asset": {"version": "2.0"}, "nodes": nodes})
    behavior.tick(0.0)
    behavior.catch_up(0.1, [("Entered", 0, 1, -1)])
    one, nobody = (1, -1) if kind == "int" else (Reference("/nodes", 1), None)
    assert values(behavior) == {"collider": one, "motion": nobody}


def test_events_that_breed_are_lost_in_the_end_and_named() -> None:
    g = Counting()
    event = g.event("more")
    start, receive = g.add("event/onStart"), g.add("event/receive", event=event)
    sends = [g.add("event/send", event=event) for _ in range(64)]
    g.flow(start, g.add("event/send", event=event))
    g.chain(receive, *sends)
    behavior = run(g)
    for k in range(4):
        behavior.tick(float(k))
    (issue,) = behavior.found
    assert issue.code == "BEHAVIOR_EVENTS_LOST"
    assert str(issue.pointer) == f"/events/{event}"
    assert len(behavior.state().queue) <= 16384
