"""Playing the animations of a file: which run, at what time, how fast."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gltf_bullet.errors import UnknownNameError
from gltf_bullet.scene import Animation, AnimationSampler
from gltf_bullet.transforms import IntArray

__all__ = ["AnimationPlayer", "Animations", "PlayerState"]


@dataclass(frozen=True, slots=True)
class PlayerState:
    """Everything about a player that changes."""

    time: float
    speed: float
    loop: bool
    is_running: bool
    is_active: bool
    is_beginning: bool
    """Whether the next step goes to its time at once: it was sought, or begins."""


class AnimationPlayer:
    """One glTF animation of a scene.

    While it is *active* (playing or paused) it drives its nodes; a body among them is kinematic and
    becomes dynamic again, with the velocity that it has, when the animation stops or ends.
    """

    def __init__(
        self, animation: Animation, index: int, guard: Callable[[], None] = lambda: None
    ) -> None:
        """A player at rest.

        Args:
            animation: Of the file.
            index: Its place there.
            guard: Raises where the scene is gone; asked by whatever a user calls.
        """
        self.animation = animation
        self._guard = guard
        self.index = index
        """Place in the file's ``animations``."""
        self.sampler = AnimationSampler(animation.tracks)
        self.speed = 1.0
        """Factor of simulated time; negative plays backwards."""
        self.loop = True
        """Whether it starts over at its end; what ends as it begins moves on, the rest jumps."""
        self._time = 0.0
        self._running = False
        self._active = False
        self._beginning = False
        self._ending = False
        self._led: tuple[float, bool, bool] | None = None
        self.has_begun = False
        """Whether the last :meth:`advance` was the first since it began or was sought."""
        self.has_wrapped = False
        """Whether the last :meth:`advance` started over."""

    @property
    def name(self) -> str:
        """As authored; empty where the file gives none."""
        return self.animation.name

    @property
    def duration(self) -> float:
        """The time of the last keyframe [s]."""
        return self.animation.duration

    @property
    def time(self) -> float:
        """Where in the animation the scene is [s]."""
        return self._time

    @property
    def is_playing(self) -> bool:
        """Whether time runs."""
        return self._running

    @property
    def is_active(self) -> bool:
        """Whether it drives its nodes: playing or paused."""
        return self._active

    @property
    def is_ending(self) -> bool:
        """Whether the end was passed in this very step.

        Nodes and colliders still reach their last pose in it, while bodies already fly on.
        """
        return self._ending

    def play(self) -> None:
        """Run from the present time; when it had ended, from the start, backwards from the end."""
        self._guard()
        self.begin()

    def begin(self) -> None:
        """:meth:`play`, while the scene is still being made."""
        first, last = (0.0, self.duration) if self.speed >= 0.0 else (self.duration, 0.0)
        if not self._active and self._time == last:
            self._time = first
        self._beginning |= not self._active
        self._running = self._active = True

    def pause(self) -> None:
        """Hold the present pose."""
        self._guard()
        self._running = False

    def stop(self) -> None:
        """Let go of the nodes where they are; bodies are dynamic again."""
        self._guard()
        self._running = self._active = False

    def seek(self, time: float) -> None:
        """Go to a time [s] at once; bodies are put there without crossing the space between."""
        self._guard()
        self._time = min(max(float(time), 0.0), self.duration)
        self._beginning = True

    def lead(self, time: float, *, begins: bool, is_backwards: bool, is_last: bool) -> None:
        """Be at a time [s] after the next :meth:`advance`, whatever speed and loop say.

        Args:
            time: Where in the animation.
            begins: Whether it goes there at once, wherever it was.
            is_backwards: Whether it comes there from later times.
            is_last: Whether it ends there.
        """
        self._beginning |= begins or not self._active
        self._running = self._active = True
        self._led = time, is_backwards, is_last

    def advance(self, time_step: float) -> None:
        """Move on by a time step [s]."""
        self.has_begun, self._beginning = self._beginning, False
        self.has_wrapped = self._ending = False
        if self._led is not None:
            (time, is_backwards, is_last), self._led = self._led, None
            self.has_wrapped = (time < self._time) != is_backwards and time != self._time
            self._time = time
            self._running = self._active = not is_last
            self._ending = is_last
            return
        if not self._running:
            return
        time = self._time + self.speed * time_step
        if 0.0 <= time <= self.duration:
            self._time = time
        elif self.loop and self.duration > 0.0:
            self._time = time % self.duration
            self.has_wrapped = True
        else:
            self._time = min(max(time, 0.0), self.duration)
            self._running = self._active = False
            self._ending = True

    @property
    def has_jumped(self) -> bool:
        """Whether anything went elsewhere in the last :meth:`advance`, instead of moving there."""
        return self.has_begun or (self.has_wrapped and not self.sampler.closes)

    @property
    def jumped_nodes(self) -> IntArray:
        """The nodes among it; a loop that ends where it begins is no jump."""
        return self.sampler.animated_nodes if self.has_begun else self.sampler.open_nodes

    def state(self) -> PlayerState:
        """Everything that :meth:`restore` needs."""
        return PlayerState(
            self._time, self.speed, self.loop, self._running, self._active, self._beginning
        )

    def restore(self, state: PlayerState) -> None:
        """Take back a :meth:`state`."""
        self._time, self.speed, self.loop = state.time, state.speed, state.loop
        self._running, self._active = state.is_running, state.is_active
        self._beginning, self._ending = state.is_beginning, False

    def __repr__(self) -> str:
        return f"AnimationPlayer({self.index}, {self.name!r}, time={self._time:.4g})"


class Animations(Sequence[AnimationPlayer]):
    """The animations of a scene, by index or name."""

    def __init__(
        self, animations: Sequence[Animation], *, play: bool, guard: Callable[[], None]
    ) -> None:
        """Players of all animations of a file.

        Args:
            animations: Of the file.
            play: Whether they run from the first step on.
            guard: Raises where the scene is gone.
        """
        self._players = tuple(AnimationPlayer(a, k, guard) for k, a in enumerate(animations))
        for player in self._players:
            if play:
                player.begin()
            # The scene stands at the first frame already when the first step begins.
            player.advance(0.0)

    def __getitem__(self, key: int | str | slice) -> AnimationPlayer:  # type: ignore[override]
        if isinstance(key, slice):
            raise TypeError("animations are taken one by one, by index or name")
        if isinstance(key, int):
            return self._players[key]
        found = [player for player in self._players if player.name == key]
        if len(found) != 1:
            names = [player.name for player in self._players]
            raise UnknownNameError(f"{key!r} names {len(found)} animations; names: {names}")
        return found[0]

    def __len__(self) -> int:
        return len(self._players)

    def __iter__(self) -> Iterator[AnimationPlayer]:
        return iter(self._players)
