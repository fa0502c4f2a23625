"""What users learn about triggers: events of the last step and callbacks.

KHR_physics_rigid_bodies, "Trigger event nodes". A trigger reports the colliders of this scene: an
event names glTF nodes, which bodies loaded otherwise do not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from gltf_bullet.bullet.triggers.triggers import Crossing, TriggerMemory, Triggers
from gltf_bullet.transforms import FloatArray

__all__ = ["TriggerEvent", "TriggerReports"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerEvent:
    """A collider that came into a trigger or left it."""

    kind: Literal["entered", "exited"]
    trigger_node: int
    """glTF index; for compound triggers the node that lists the others."""
    collider_node: int
    """glTF index of the very collider."""
    motion_node: int
    """glTF index of the node with the motion of its body; -1 without one."""
    trigger: str = ""
    """Name of ``trigger_node``, empty where it has none."""
    collider: str = ""
    """Name of ``collider_node``."""
    motion: str = ""
    """Name of ``motion_node``; empty without one, too."""
    time: float
    """Simulated time [s]: the end of the step that noticed it; earlier, as computed along the
    path, where the collider came and went within one step."""


class _World(Protocol):
    """What an ``EngineWorld`` is for this module."""

    @property
    def pairs_seen(self) -> int | None: ...

    def read_sensed(self) -> FloatArray: ...


class TriggerReports:
    """Turns crossings into events and hands them out."""

    def __init__(self, triggers: Triggers, names: Callable[[], Sequence[str]]) -> None:
        """Report what ``triggers`` notice; ``names`` tells those of all nodes of the file."""
        self.triggers, self._names = triggers, names
        self.events: tuple[TriggerEvent, ...] = ()
        """Of the last step, in order of time."""
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
        """Find out who came and went; :meth:`notify` tells the callbacks.

        Args:
            world: The scene in the engine.
            world_from_node: Tells where all nodes are now, shape [node_count, 4, 4].
            time: At the end of the step [s].
            time_step: Its length [s].
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
        """Go on with other engine-side triggers of the same nodes; who is inside stays inside.

        Args:
            triggers: The other ones.
            world_from_node: Where nodes stand now, shape [node_count, 4, 4].
            before: Where they stood until now: what overlapped there at rest, and rests no more,
                does not enter, but may leave.
        """
        # They may stand elsewhere: only who is inside is kept.
        memory = self.triggers.memory()
        overlaps = (*memory.overlaps, *triggers.overlaps_at_rest(self.triggers.plans, before))
        memory = replace(memory, places={}, overlaps=overlaps)
        self.triggers = triggers
        self.triggers.recall(memory, world_from_node)
        self._inside = None

    def notify(self) -> tuple[TriggerEvent, ...]:
        """Call every callback for every event of the step; what they raise is passed on."""
        for event in self.events:
            for ticket, callback in list(self._callbacks.items()):
                if ticket in self._callbacks:
                    callback(event)
        return self.events

    def subscribe(self, callback: Callable[[TriggerEvent], object]) -> Callable[[], None]:
        """Call ``callback`` for every event from now on; returns what ends that."""
        ticket = self._next_ticket
        self._next_ticket += 1
        self._callbacks[ticket] = callback

        def unsubscribe() -> None:
            self._callbacks.pop(ticket, None)

        return unsubscribe

    def overlapping(self, node: int) -> tuple[int, ...]:
        """Collider nodes inside a trigger."""
        if self._inside is None:
            inside: dict[int, list[int]] = {}
            for trigger, collider in self.triggers.overlaps():
                inside.setdefault(trigger, []).append(collider)
            self._inside = {trigger: tuple(found) for trigger, found in inside.items()}
        return self._inside.get(node, ())

    def memory(self) -> TriggerMemory:
        """What a snapshot keeps; picklable."""
        return self.triggers.memory()

    def recall(self, memory: TriggerMemory, world_from_node: FloatArray) -> None:
        """Take back a snapshot without events; ``world_from_node`` is where nodes stand then."""
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
