"""Animations that a graph plays ("Animation Control Operations")."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["MOST_ANIMATIONS", "Playing", "Track", "effective"]

MOST_ANIMATIONS = 4096
"""At once."""
_SOON = 1e-9


class Track(NamedTuple):
    """One animation that plays."""

    start: float
    end: float
    stop: float
    speed: float
    since: float
    """[s] When it was begun."""
    node: int
    """Whose ``done`` flow follows its end."""
    stop_node: int
    """Whose ``done`` flow follows its stop; -1: nobody's."""

    def at(self, now: float) -> tuple[float, int | None]:
        """The requested time, and once it is over whose flow follows (-1: nobody's)."""
        if self.start == self.end:
            return self.start, self.node
        way = (now - self.since) * self.speed
        sign = 1.0 if self.start < self.end else -1.0
        time, slack = self.start + sign * way, _SOON * self.speed
        # From here on as if it played forwards.
        there, stop, end = sign * time, sign * self.stop, sign * self.end
        if sign * self.start <= stop < end and there >= stop - slack:
            return self.stop, self.stop_node
        if there >= end - slack:
            return self.end, self.node
        return time, None


def effective(requested: float, span: float) -> float:
    """Where in the data of an animation a time of its endless line is [s]."""
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
        """By animation, in the order of their beginning."""
        self.heads: dict[int, tuple[float, float]] = {}
        """The last requested and effective time of each animation that has played."""
        self.on_stop: Callable[[int], None] = lambda _: None
        """Called with an animation that was stopped."""

    def begin(
        self, animation: int, start: float, end: float, speed: float, now: float, node: int
    ) -> bool:
        """Play one, in the place of what it did; whether there is room."""
        if animation not in self.tracks and len(self.tracks) >= MOST_ANIMATIONS:
            return False
        self.tracks.pop(animation, None)
        self.tracks[animation] = Track(start, end, end, speed, now, node, -1)
        return True

    def stop(self, animation: int) -> None:
        """Stop one where it is."""
        if self.tracks.pop(animation, None) is not None:
            self.on_stop(animation)

    def stop_at(self, animation: int, time: float, node: int) -> None:
        """Stop one when it comes to a time."""
        track = self.tracks.get(animation)
        if track is not None:
            self.tracks[animation] = track._replace(stop=time, stop_node=node)

    def effective(self, animation: int, requested: float) -> float:
        """Where in its data an animation is [s]."""
        span = self._span(animation)
        return effective(requested, span[1] if span else 0.0)

    def advance(self, now: float) -> Iterator[tuple[int, float, int | None]]:
        """Every animation with its effective time, and whose flow follows where it is over."""
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
        """Where every animation is at a time to come, and whether it is over by then."""
        for animation, track in self.tracks.items():
            requested, follower = track.at(now)
            yield animation, self.effective(animation, requested), follower is not None
