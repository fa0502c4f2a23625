"""Times for which bodies have touched nothing, of those that terms of an environment ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gltf_bullet.bullet.exchange.body_reads import pressing_links
from gltf_bullet.runtime.scene import Scene


@dataclass(slots=True)
class Stand:
    """Contact of one body."""

    touches: bool = False
    """True if it touched something in the last engine step."""
    air_time: float = 0.0
    """Time [s] for which it has not touched anything; 0 while it does."""
    landed_after: float = 0.0
    """Air time [s] that has ended in the last step; else 0."""


class ContactTimes:
    """The contacts of the bodies of one scene that were asked for, from step to step."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._stands: dict[int, Stand] = {}

    def of(self, motion_node: int) -> Stand:
        """Return the contact of a body, which is followed from now on."""
        if motion_node not in self._stands:
            self._stands[motion_node] = Stand(touches=bool(self._touching([motion_node])))
        return self._stands[motion_node]

    def begin(self) -> None:
        """Start an episode: nothing has touched anything yet."""
        for node in self._stands:
            self._stands[node] = Stand()

    def after_step(self, duration: float) -> None:
        """Follow all bodies over a step of ``duration`` [s]."""
        if not self._stands:
            return
        touching = self._touching(self._stands)
        for node, stand in self._stands.items():
            stand.touches = node in touching
            air, stand.landed_after = stand.air_time, 0.0
            stand.air_time = air + duration
            if stand.touches:
                stand.air_time, stand.landed_after = 0.0, air

    def _touching(self, nodes: Iterable[int]) -> set[int]:
        """Return those of some motion nodes whose bodies press on something."""
        core = self._scene.core
        pressing = pressing_links(core.session)
        return {node for node in nodes if not pressing.isdisjoint(core.world.links_of(node))}
