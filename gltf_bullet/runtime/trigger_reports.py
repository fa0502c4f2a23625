"""Trigger events for users: those of the last step, and callbacks.

KHR_physics_rigid_bodies, "Trigger event nodes". A trigger reports the colliders of this scene only:
an event names glTF nodes, which other bodies do not have.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from gltf_bullet.bullet.triggers.triggers import Crossing, TriggerMemory, Triggers
from gltf_bullet.records import replace
from gltf_bullet.transforms import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerEvent:
    """Entry of a collider into a trigger, or exit from it."""

    kind: Literal["entered", "exited"]
    trigger_node: int
    """glTF index; for compound triggers the node that lists the others."""
    collider_node: int
    """glTF index of the collider's node."""
    motion_node: int
    """glTF index of the node with the motion of its body; -1 without one."""
    trigger: str = ""
    """Name of ``trigger_node``, empty if it has none."""
    collider: str = ""
    """Name of ``collider_node``."""
    motion: str = ""
    """Name of ``motion_node``; empty without one, too."""
    time: float
    """Simulated time [s]: the end of the step that detected it; earlier, as computed along the
    path, for entry and exit within one step.
    """


class _World(Protocol):
    """The part of an ``EngineWorld`` that this module uses."""

    @property
    def pairs_seen(self) -> int | None: ...

    def read_sensed(self) -> FloatArray: ...


class TriggerReports:
    """Turns crossings into events and calls the callbacks."""

    def __init__(self, triggers: Triggers, names: Callable[[], Sequence[str]]) -> None:
        """Report crossings of ``triggers``; ``names`` returns the names of all nodes."""
        self.triggers, self._names = triggers, names
        self.events: tuple[TriggerEvent, ...] = ()
        """Events of the last step, in order of time."""
        self._callbacks: dict[int, Callable[[TriggerEvent], object]] = {}
        self._next_ticket = 0
        self._inside: dict[int, tuple[int, ...]] | None = None

    def after_step(
        self,
        world: _World,
        world_from_node: Callable[[], FloatArray],
        *,
        time: float,
        time_step: float,
    ) -> None:
        """Find entries and exits of a step; :meth:`notify` calls the callbacks.

        Args:
            world: The scene in the engine.
            world_from_node: Returns the frames of all nodes now, shape [node_count, 4, 4].
            time: Time at the end of the step [s].
            time_step: Length of the step [s].
        """
        self._inside = None
        pairs = world.pairs_seen
        if pairs is not None:
            crossings = self.triggers.after_watched_step(pairs, time_step)
        else:
            crossings = self.triggers.after_step(world.read_sensed(), world_from_node, time_step)
        self.events = ()
        if crossings:
            names = self._names()
            self.events = tuple([_event(c, time, time_step, names) for c in crossings])

    def replace_triggers(
        self, triggers: Triggers, world_from_node: FloatArray, before: FloatArray
    ) -> None:
        """Use other engine-side triggers of the same nodes, with the same overlaps.

        Args:
            triggers: The new ones.
            world_from_node: Present frames of the nodes, shape [node_count, 4, 4].
            before: Former frames: pairs that overlapped there at rest, and rest no more, do not
                enter, but may leave.
        """
        # Poses may differ: only the overlaps are kept.
        memory = self.triggers.memory()
        overlaps = (*memory.overlaps, *triggers.overlaps_at_rest(self.triggers.plans, before))
        memory = replace(memory, places={}, overlaps=overlaps)
        self.triggers = triggers
        self.triggers.recall(memory, world_from_node)
        self._inside = None

    def notify(self) -> tuple[TriggerEvent, ...]:
        """Call every callback for every event of the step; their exceptions propagate."""
        for event in self.events:
            for ticket, callback in list(self._callbacks.items()):
                if ticket in self._callbacks:
                    callback(event)
        return self.events

    def subscribe(self, callback: Callable[[TriggerEvent], object]) -> Callable[[], None]:
        """Call ``callback`` for every event from now on; return a function that ends it."""
        ticket = self._next_ticket
        self._next_ticket += 1
        self._callbacks[ticket] = callback

        def unsubscribe() -> None:
            self._callbacks.pop(ticket, None)

        return unsubscribe

    def overlapping(self, node: int) -> tuple[int, ...]:
        """Return the collider nodes inside a trigger."""
        if self._inside is None:
            inside: dict[int, list[int]] = {}
            for trigger, collider in self.triggers.overlaps():
                inside.setdefault(trigger, []).append(collider)
            self._inside = {trigger: tuple(found) for trigger, found in inside.items()}
        return self._inside.get(node, ())

    def memory(self) -> TriggerMemory:
        """Return the state for a snapshot; picklable."""
        return self.triggers.memory()

    def recall(self, memory: TriggerMemory, world_from_node: FloatArray) -> None:
        """Restore a state without events; ``world_from_node``: the nodes' frames at that time."""
        self.triggers.recall(memory, world_from_node)
        self._inside = None
        self.events = ()


def _event(crossing: Crossing, time: float, time_step: float, names: Sequence[str]) -> TriggerEvent:
    return TriggerEvent(
        kind="entered" if crossing.entered else "exited",
        trigger_node=crossing.trigger_node,
        collider_node=crossing.collider_node,
        motion_node=crossing.motion_node,
        trigger=names[crossing.trigger_node],
        collider=names[crossing.collider_node],
        motion=names[crossing.motion_node] if crossing.motion_node >= 0 else "",
        time=time - (1.0 - crossing.fraction) * time_step,
    )


def require_callable(callback: object) -> None:
    """Raise ``TypeError`` now for what could not be called in a later step."""
    if not callable(callback):
        raise TypeError(f"callback is {reprlib.repr(callback)}; must be a function of one argument")
