"""Activations that wait for their time ("Delay Operations")."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from gltf_bullet.behavior.values import Reference, Value

__all__ = ["DELAYS", "MOST_DELAYS", "Delays"]

DELAYS = "/extensions/KHR_interactivity/delays"
"""The list that references to delays refer into."""
MOST_DELAYS = 4096
"""At once."""
_SOON = 1e-9
"""[s] Sums of time steps round."""


class Delays:
    """The delays of one graph that have not ended yet."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[float, int]] = {}
        """Time [s] and node by number."""
        self._queue: list[tuple[float, int]] = []
        self.next_number = 0

    def add(self, time: float, node: int) -> Reference | None:
        """Wait until a time [s]; ``None`` where too many wait."""
        if len(self.waiting) >= MOST_DELAYS:
            return None
        number, self.next_number = self.next_number, self.next_number + 1
        self.waiting[number] = time, node
        heapq.heappush(self._queue, (time, number))
        return Reference(DELAYS, number)

    def cancel(self, delay: Value) -> None:
        """Take one back; anything else is no mistake."""
        if isinstance(delay, Reference):
            if delay.collection == DELAYS:
                self.waiting.pop(delay.number, None)
        elif isinstance(delay, int):  # of an earlier draft
            self.waiting.pop(delay, None)

    def cancel_of(self, node: int) -> None:
        """Take back all of a node."""
        for number in [k for k, (_, owner) in self.waiting.items() if owner == node]:
            del self.waiting[number]

    def pop_due(self, now: float) -> int | None:
        """The node of the next delay whose time has come."""
        while self._queue and self._queue[0][0] <= now + _SOON:
            _, number = heapq.heappop(self._queue)
            found = self.waiting.pop(number, None)
            if found is not None:
                return found[1]
        return None

    def restore(self, waiting: Mapping[int, tuple[float, int]], next_number: int) -> None:
        """Take back what waited."""
        self.waiting, self.next_number = dict(waiting), next_number
        self._queue = sorted((time, number) for number, (time, _) in waiting.items())
