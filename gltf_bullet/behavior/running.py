"""A running graph: its state, its time, and its activations.

No function here calls itself: an activation pushes those that follow, and one loop takes them off.
So no graph is too deep, and counting detects one that never ends. State and loop are in one file,
since neither is understandable alone.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from gltf_bullet.behavior.graph import Graph
from gltf_bullet.behavior.host import Host, Property, is_open
from gltf_bullet.behavior.operations.easing import MOST_EASINGS, Easing, Easings
from gltf_bullet.behavior.preparing import Preparation
from gltf_bullet.behavior.values import Reference, Value
from gltf_bullet.diagnostics import Diagnostics, warning

# --- Delays: activations at a later time ("Delay Operations") -------------------------------------

DELAYS = "/extensions/KHR_interactivity/delays"
"""The list that references to delays refer into."""
MOST_DELAYS = 4096
"""Most delays at a time."""
_SOON = 1e-9
"""Tolerance of times [s]: sums of time steps round."""


class Delays:
    """The delays of one graph that have not ended yet."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[float, int]] = {}
        """Time [s] and node by number of the delay."""
        self._queue: list[tuple[float, int]] = []
        self.next_number = 0

    def add(self, time: float, node: int) -> Reference | None:
        """Wait until a time [s]; ``None`` if there are too many delays."""
        if len(self.waiting) >= MOST_DELAYS:
            return None
        number, self.next_number = self.next_number, self.next_number + 1
        self.waiting[number] = time, node
        heapq.heappush(self._queue, (time, number))
        return Reference(DELAYS, number)

    def cancel(self, delay: Value) -> None:
        """Cancel a delay; other values are ignored."""
        if isinstance(delay, Reference):
            if delay.collection == DELAYS:
                self.waiting.pop(delay.number, None)
        elif isinstance(delay, int):  # of an earlier draft
            self.waiting.pop(delay, None)

    def cancel_of(self, node: int) -> None:
        """Cancel all delays of a node."""
        for number in [k for k, (_, owner) in self.waiting.items() if owner == node]:
            del self.waiting[number]

    def pop_due(self, now: float) -> int | None:
        """The node of the next delay that is due; ``None`` if none is."""
        while self._queue and self._queue[0][0] <= now + _SOON:
            _, number = heapq.heappop(self._queue)
            found = self.waiting.pop(number, None)
            if found is not None:
                return found[1]
        return None

    def restore(self, waiting: Mapping[int, tuple[float, int]], next_number: int) -> None:
        """Restore the delays of a saved state."""
        self.waiting, self.next_number = dict(waiting), next_number
        self._queue = sorted((time, number) for number, (time, _) in waiting.items())


# --- Animations that a graph plays ("Animation Control Operations") -------------------------------

MOST_ANIMATIONS = 4096
"""Most animations at a time."""


class Track(NamedTuple):
    """One animation that plays."""

    start: float
    end: float
    stop: float
    speed: float
    since: float
    """Time of the start [s]."""
    node: int
    """Index of the node whose ``done`` flow follows the end."""
    stop_node: int
    """Index of the node whose ``done`` flow follows the stop; -1 for none."""

    def at(self, now: float) -> tuple[float, int | None]:
        """The requested time, and, once it is over, the node whose flow follows (-1 for none)."""
        if self.start == self.end:
            return self.start, self.node
        way = (now - self.since) * self.speed
        sign = 1.0 if self.start < self.end else -1.0
        time, slack = self.start + sign * way, _SOON * self.speed
        # From here on the formulas are those of forward playback.
        there, stop, end = sign * time, sign * self.stop, sign * self.end
        if sign * self.start <= stop < end and there >= stop - slack:
            return self.stop, self.stop_node
        if there >= end - slack:
            return self.end, self.node
        return time, None


def effective(requested: float, span: float) -> float:
    """Time in the data of an animation [s] for a requested time of its endless repetition."""
    if span == 0.0 or not math.isfinite(requested):
        return 0.0
    number = (
        math.ceil((requested - span) / span) if requested > 0.0 else math.floor(requested / span)
    )
    return min(max(requested - number * span, 0.0), span)


class Playing:
    """The animations that one graph plays."""

    def __init__(self, span: Callable[[int], tuple[float, float] | None]) -> None:
        self._span = span
        self.tracks: dict[int, Track] = {}
        """Tracks by animation, in the order of their start."""
        self.heads: dict[int, tuple[float, float]] = {}
        """Last requested and effective time of each animation that has played."""
        self.on_stop: Callable[[int], None] = lambda _: None
        """Called with each animation that was stopped."""

    def begin(
        self, animation: int, start: float, end: float, speed: float, now: float, node: int
    ) -> bool:
        """Start or restart an animation; returns False if there are too many."""
        if animation not in self.tracks and len(self.tracks) >= MOST_ANIMATIONS:
            return False
        self.tracks.pop(animation, None)
        self.tracks[animation] = Track(start, end, end, speed, now, node, -1)
        return True

    def stop(self, animation: int) -> None:
        """Stop an animation at its current time."""
        if self.tracks.pop(animation, None) is not None:
            self.on_stop(animation)

    def stop_at(self, animation: int, time: float, node: int) -> None:
        """Let an animation stop when it reaches a time."""
        track = self.tracks.get(animation)
        if track is not None:
            self.tracks[animation] = track._replace(stop=time, stop_node=node)

    def effective(self, animation: int, requested: float) -> float:
        """Time in the data of an animation [s] for a requested time."""
        span = self._span(animation)
        return effective(requested, span[1] if span else 0.0)

    def advance(self, now: float) -> Iterator[tuple[int, float, int | None]]:
        """Every animation with its effective time, and the node whose flow follows at its end."""
        for animation, track in [*self.tracks.items()]:
            if self.tracks.get(animation) is not track:
                continue  # a flow that followed has stopped or restarted it
            requested, follower = track.at(now)
            time = self.effective(animation, requested)
            self.heads[animation] = requested, time
            if follower is not None:
                del self.tracks[animation]
            yield animation, time, follower

    def ahead(self, now: float) -> Iterator[tuple[int, float, bool]]:
        """Every animation with its effective time at a later time, and True if it has ended."""
        for animation, track in self.tracks.items():
            requested, follower = track.at(now)
            yield animation, self.effective(animation, requested), follower is not None


# --- The graph: activations, events and state -----------------------------------------------------

BEHAVIOR_ENDLESS = warning(
    "BEHAVIOR_ENDLESS",
    "the graph was activated more than {allowed} times in the step at {time:.6g} s, at this node"
    " last; it is stopped, and the scene goes on without it",
)

BEHAVIOR_EVENTS_LOST = warning(
    "BEHAVIOR_EVENTS_LOST",
    "{got} is sent more often than it can be received: {allowed} events wait; it is not received"
    " until fewer do",
)

EVENTS = "/extensions/KHR_interactivity/events"
"""The list that references to events refer into."""
MOST_EVENTS = 256
"""Most custom events of one step; further ones wait for the next."""
MOST_WAITING = 16384
"""Most custom events that wait; further ones are lost."""
_OF_ANIMATIONS = ("animations", "extensions", "KHR_interactivity")
_MOST_LOG = 1000
"""Most lines of the log; older ones are dropped."""

_Listener = tuple[list[Any], Callable[[], None] | None, int]
"""State, output flow and index of an event node."""


def _named(node: int, kind: str | None) -> Value:
    """A glTF node as an index, or as a reference if the graph has declared it so."""
    if kind != "ref":
        return node
    return Reference("/nodes", node) if node >= 0 else None


class LogEntry(NamedTuple):
    """A line of ``debug/log``."""

    time: float
    """Simulated time [s]."""
    severity: int
    message: str


class _Clock:
    """Counter of activations."""

    __slots__ = ("epoch", "spent")

    def __init__(self) -> None:
        self.epoch = 0
        """Number of activations so far; values memoized at another number are invalid."""
        self.spent = 0
        """Activations of this step; too many mean an endless graph."""


class BehaviorState(Struct, frozen=True, eq=False, kw_only=True):
    """All changing data of a running graph, as plain values; picklable."""

    now: float
    started_at: float | None
    ticked_at: float | None
    is_paused: bool
    values: tuple[Value, ...]
    states: tuple[tuple[Any, ...], ...]
    delays: tuple[tuple[int, tuple[float, int]], ...]
    next_delay: int
    easings: tuple[tuple[int | str, Easing], ...]
    tracks: tuple[tuple[int, Track], ...]
    heads: tuple[tuple[int, tuple[float, float]], ...]
    queue: tuple[tuple[Any, ...], ...]
    next_event: int
    hovered: tuple[tuple[int, int], ...]
    chance: int


class Behavior:
    """One graph in one world."""

    def __init__(
        self, graph: Graph, host: Host, node_count: int, *, seed: int = 0, budget: int = 100_000
    ) -> None:
        """Prepare a graph; nothing is activated before the first :meth:`tick`.

        Args:
            graph: Graph from :func:`read_graphs`.
            host: The world that it acts in.
            node_count: Number of nodes of the glTF file.
            seed: Seed of ``math/random``.
            budget: Most activations of one step; above it, the graph counts as endless.
        """
        self.graph, self.host, self.node_count = graph, host, node_count
        self.budget = budget
        self.clock = _Clock()
        self._stack: list[Callable[[], None]] = []
        self.push, self.extend = self._stack.append, self._stack.extend
        self.now = 0.0
        """Current time [s]."""
        self.values: list[Value] = [variable.value for variable in graph.variables]
        """Values of the custom variables."""
        self.delays, self.easings = Delays(), Easings()
        self.playing = Playing(host.animation_span)
        self.playing.on_stop = host.end_animation
        self.done: dict[int, Callable[[], None] | None] = {}
        """The ``done`` flows by node."""
        self.log: deque[LogEntry] = deque(maxlen=_MOST_LOG)
        self.found = Diagnostics()
        """Findings while running."""
        self.is_paused = False
        self._started_at: float | None = None
        self._ticked_at: float | None = None
        self._queue: deque[tuple[Any, ...]] = deque()
        self._hovered: dict[int, int] = {}
        self._next_event = 0
        self._event = -1
        self._is_halted = self._is_halted_above = False
        self._chance = 0
        self.reseed(seed)
        self._callbacks: list[tuple[int, Callable[[Mapping[str, Value]], object]]] = []
        preparation = Preparation(graph, self)
        self._states, self._owners = preparation.states, preparation.owners
        self._listeners: dict[tuple[Any, ...], list[_Listener]] = {}
        for node in graph.nodes:
            if node.operation is not None and node.operation.is_event:
                key = (node.name, *node.configuration.values())
                flow = preparation.entries.get(node.flows.get("out", (-1, "")))
                self._listeners.setdefault(key, []).append(
                    (preparation.states[node.index], flow, node.index)
                )
        self._on_tick = self._listeners.get(("event/onTick",), [])

    # --- time -------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """True if a tick would have no effect."""
        return self.is_paused or not (
            self._on_tick
            or self._started_at is None
            or self._queue
            or self.delays.waiting
            or self.easings.running
            or self.playing.tracks
        )

    def tick(self, now: float) -> None:
        """Process all that is due up to a time [s], before the step that follows it."""
        self.now = now
        if self.is_idle:
            return
        self.clock.spent = 0
        if self._started_at is None:
            self._started_at = now
            self._dispatch(self._listeners.get(("event/onStart",), []), ())
        self._let_time_pass()
        self._take_queue()
        if self._on_tick:
            since = float("nan") if self._ticked_at is None else now - self._ticked_at
            self._ticked_at = now
            self._dispatch(self._on_tick, (now - self._started_at, since))
            self._take_queue()
        for controller, node in [*self._hovered.items()]:
            # Hovering also ends if a node stops being hoverable.
            if node >= 0 and not is_open(self.host, node, "hoverable"):
                self._hover(-1, controller)

    def catch_up(self, now: float, crossings: Sequence[tuple[str, int, int, int]] = ()) -> None:
        """Process the events of a step, right after it.

        Args:
            now: End of the step [s].
            crossings: ``Entered`` or ``Exited``, and the glTF nodes of trigger, collider, motion.
        """
        self.now = now
        if self.is_paused or not (crossings or self._queue):
            return
        self.clock.spent = 0
        for way, trigger, collider, motion in crossings:
            listeners = self._listeners.get((f"event/rigid_body_trigger{way}", trigger), ())
            for state, flow, index in listeners:
                kinds = self.graph.nodes[index].outputs
                state[:] = [
                    _named(collider, kinds.get("colliderNodeIndex")),
                    _named(motion, kinds.get("motionNodeIndex")),
                ]
                if flow is not None:
                    self._run(flow)
        self._take_queue()

    def _let_time_pass(self) -> None:
        now = self.now
        while (node := self.delays.pop_due(now)) is not None:
            self._follow(node)
        if self.easings.running:
            self._ease()
        if self.playing.tracks:
            for animation, time, follower in self.playing.advance(now):
                self.host.animate(animation, time)
                if follower is not None:
                    self.host.end_animation(animation)
                    self._follow(follower)

    def _ease(self) -> None:
        running = self.easings.running
        for key, easing in [*running.items()]:
            if running.get(key) is not easing:
                continue  # a flow that followed has ended it
            found = easing.at(self.now)
            if found is None:
                continue
            value, is_last = found
            self.clock.epoch += 1
            if isinstance(key, int):
                self.values[key] = value
            else:
                owner = self.find(key)
                if owner is not None and owner.set is not None:
                    (owner.glide or owner.set)(value)
            if is_last:
                del running[key]
                self._follow(easing.node)

    def _follow(self, node: int) -> None:
        flow = self.done.get(node)
        if flow is not None:
            self._run(flow)

    def _run(self, flow: Callable[[], None]) -> None:
        """Activate a flow, and all flows that follow."""
        if self.is_paused:
            return
        stack, clock, budget = self._stack, self.clock, self.budget
        stack.append(flow)
        try:
            while stack:
                clock.epoch += 1
                clock.spent += 1
                if clock.spent > budget:
                    self._stop(stack[-1])
                    return
                stack.pop()()
        finally:
            stack.clear()

    def _stop(self, flow: Callable[[], None]) -> None:
        self.is_paused = True
        node = self._owners.get(flow, 0)
        at = self.graph.pointer / "nodes" / node
        self.found.report(BEHAVIOR_ENDLESS, at, allowed=self.budget, time=self.now)

    # --- events -----------------------------------------------------------------------------

    def _dispatch(self, listeners: Sequence[_Listener], values: tuple[Any, ...]) -> None:
        """Activate event nodes one after the other, all with the same values and reference."""
        reference = self._new_event()
        event = reference.number
        for state, flow, _ in listeners:
            if self._is_halted and self._event == event:
                break
            state[:] = [*values, reference]
            if flow is not None:
                self._run(flow)

    def _new_event(self) -> Reference:
        self._event, self._next_event = self._next_event, self._next_event + 1
        self._is_halted = self._is_halted_above = False
        return Reference(EVENTS, self._event)

    def stop_event(self, event: Value, *, immediate: bool) -> None:
        """Stop the current event (``event/stopPropagation``)."""
        if event == Reference(EVENTS, self._event):
            self._is_halted_above = True
            self._is_halted |= immediate

    def _take_queue(self) -> None:
        queue = self._queue
        for _ in range(MOST_EVENTS):
            if not queue or self.is_paused:
                return
            kind, *rest = queue.popleft()
            if kind == "custom":
                self._receive(*rest)
            elif kind == "select":
                self._select(*rest)
            else:
                self._hover(*rest)

    def _receive(self, number: int, values: Mapping[str, Value]) -> None:
        event = self.graph.events[number]
        sockets = tuple(values.get(name, value) for name, (_, value) in event.values.items())
        self._dispatch(self._listeners.get(("event/receive", number), []), sockets)

    def send_number(self, number: int, values: Mapping[str, Value]) -> None:
        """Send a custom event: to the outside at once, to the graph after this activation."""
        if ("event/receive", number) in self._listeners:
            if len(self._queue) < MOST_WAITING:
                self._queue.append(("custom", number, values))
            else:
                got = self.graph.events[number].id or f"event {number}"
                at = self.graph.pointer / "events" / number
                self.found.report(BEHAVIOR_EVENTS_LOST, at, got=got, allowed=MOST_WAITING)
        for wanted, callback in tuple(self._callbacks):
            if wanted == number:
                callback(values)

    def receive(self, number: int, values: Mapping[str, Value]) -> None:
        """Queue an event from outside for the next tick."""
        self._queue.append(("custom", number, values))

    def on(
        self, number: int, callback: Callable[[Mapping[str, Value]], object]
    ) -> Callable[[], None]:
        """Call ``callback`` with the values of a custom event; returns a function to end that."""
        entry = (number, callback)
        self._callbacks.append(entry)

        def end() -> None:
            if entry in self._callbacks:
                self._callbacks.remove(entry)

        return end

    def select(
        self, node: int, point: tuple[float, ...], origin: tuple[float, ...], controller: int = 0
    ) -> bool:
        """Select a glTF node, in the next tick; returns True if it is selectable."""
        if not is_open(self.host, node, "selectable"):
            return False
        self._queue.append(("select", node, point, origin, controller))
        return True

    def _line_of(self, node: int) -> list[int]:
        """A node and its ancestors."""
        line: list[int] = []
        while 0 <= node < self.node_count and len(line) <= self.node_count:
            line.append(node)
            node = self.host.parent_of(node)
        return line

    def _select(
        self, node: int, point: tuple[float, ...], origin: tuple[float, ...], controller: int
    ) -> None:
        event = self._new_event()
        state = [Reference("/nodes", node), controller, point, origin, event, node]
        self._bubble("event/onSelect", self._line_of(node), state)

    def _bubble(self, name: str, line: Sequence[int], values: list[Any]) -> None:
        event = self._event
        for above in line:
            for state, flow, _ in self._listeners.get((name, above), ()):
                if self._is_halted and self._event == event:
                    return
                state[:] = values
                if flow is not None:
                    self._run(flow)
            if self._is_halted_above and self._event == event:
                return

    def hover(self, node: int, controller: int = 0) -> None:
        """Point at a glTF node, in the next tick; -1 for none."""
        if node >= 0 and not is_open(self.host, node, "hoverable"):
            node = -1
        self._queue.append(("hover", node, controller))

    def _hover(self, node: int, controller: int) -> None:
        before = self._hovered.get(controller, -1)
        if node == before:
            return
        self._hovered[controller] = node
        old, new = self._line_of(before), self._line_of(node)
        shared = set(old) & set(new)
        for way, target, line in (("Out", before, old), ("In", node, new)):
            event = self._new_event()
            values = [Reference("/nodes", target), controller, event, target]
            self._bubble(f"event/onHover{way}", [n for n in line if n not in shared], values)

    # --- services for operations ------------------------------------------------------------

    def note(self, severity: int, message: str) -> None:
        """Append a line to the log (``debug/log``)."""
        self.log.append(LogEntry(self.now, severity, message[:4096]))

    def reseed(self, seed: int) -> None:
        """Restart the random numbers."""
        self._chance = (seed * 0x9E3779B97F4A7C15 + 0x1234567) & 0xFFFFFFFFFFFFFFFF

    def draw(self) -> float:
        """A random number in [0, 1): splitmix64, whose whole state is one integer."""
        self._chance = (self._chance + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = self._chance
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        return ((z ^ z >> 31) >> 11) * 2.0**-53

    def find(self, pointer: str) -> Property | None:
        """A property of the graph itself, or of the host."""
        if pointer.startswith("/extensions/KHR_interactivity/"):
            found = self._own_property(pointer)
            if found is not None:
                return found
        parts = pointer.split("/")
        if len(parts) == 6 and (parts[1], *parts[3:5]) == _OF_ANIMATIONS:
            return self._animation_property(parts[2], parts[5])
        return self.host.find(pointer)

    def _own_property(self, pointer: str) -> Property | None:
        limits = {
            "maxActiveAnimations": MOST_ANIMATIONS,
            "maxActiveDelays": MOST_DELAYS,
            "maxActivePropertyInterpolations": MOST_EASINGS,
            "maxActiveVariableInterpolations": MOST_EASINGS,
        }
        place, _, name = pointer.rpartition("/")
        if place == "/extensions/KHR_interactivity/limits" and name in limits:
            return Property("int", lambda: limits[name])
        if not (name.isascii() and name.isdigit() and len(name) < 20):
            return None
        number = int(name)
        if place == DELAYS:
            reference = Reference(DELAYS, number)
            return Property("ref", lambda: reference if number in self.delays.waiting else None)
        if place == EVENTS:
            event = Reference(EVENTS, number)
            return Property("ref", lambda: event if number < self._next_event else None)
        return None

    def _animation_property(self, index: str, name: str) -> Property | None:
        animations = self.host.find("/animations.length")
        count = animations.get() if animations is not None else 0
        if not (index.isascii() and index.isdigit() and len(index) < 10):
            return None
        number = int(index)
        if not isinstance(count, int) or number >= count:
            return None
        span = self.host.animation_span(number)
        if name == "isPlaying":
            return Property("bool", lambda: number in self.playing.tracks)
        if name in ("minTime", "maxTime"):
            value = float("nan") if span is None else span[name == "maxTime"]
            return Property("float", lambda: value)
        if name in ("playhead", "virtualPlayhead"):
            place = int(name == "playhead")
            if span is None:
                return Property("float", lambda: float("nan"))
            heads, unmoved = self.playing.heads, (0.0, 0.0)
            return Property("float", lambda: heads.get(number, unmoved)[place])
        return None

    # --- state ------------------------------------------------------------------------------

    def state(self) -> BehaviorState:
        """All changing data, as a value."""
        return BehaviorState(
            now=self.now, started_at=self._started_at, ticked_at=self._ticked_at,
            is_paused=self.is_paused, values=tuple(self.values),
            states=tuple(map(tuple, self._states)),
            delays=tuple(self.delays.waiting.items()), next_delay=self.delays.next_number,
            easings=tuple(self.easings.running.items()),
            tracks=tuple(self.playing.tracks.items()), heads=tuple(self.playing.heads.items()),
            queue=tuple(self._queue), next_event=self._next_event,
            hovered=tuple(self._hovered.items()), chance=self._chance,
        )  # fmt: skip

    def restore(self, state: BehaviorState) -> None:
        """Restore a :meth:`state`, also one of another behavior of the same graph."""
        self.now, self._started_at = state.now, state.started_at
        self._ticked_at, self.is_paused = state.ticked_at, state.is_paused
        self.values[:] = state.values
        for mine, kept in zip(self._states, state.states, strict=True):
            mine[:] = kept
        self.delays.restore(dict(state.delays), state.next_delay)
        self.easings.running.clear()
        self.easings.running.update(state.easings)
        self.playing.tracks.clear()
        self.playing.tracks.update(state.tracks)
        self.playing.heads.clear()
        self.playing.heads.update(state.heads)
        self._queue.clear()
        self._queue.extend(state.queue)
        self._hovered = dict(state.hovered)
        self._next_event, self._chance = state.next_event, state.chance
        self._event = -1
        self.clock.epoch += 1
