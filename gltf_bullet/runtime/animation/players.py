"""Players of a file's animations, with time, speed and loop."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from gltf_bullet.errors import UnknownNameError
from gltf_bullet.scene import Animation, AnimationSampler
from gltf_bullet.transforms import IntArray


class Playing(enum.Enum):
    """Hold of a player on its nodes."""

    STOPPED = enum.auto()
    """It has released them."""
    PAUSED = enum.auto()
    """It holds them."""
    RUNNING = enum.auto()
    """It moves them."""


class Advance(enum.Flag):
    """Change of a player in a step."""

    WENT_ON = 0
    BEGAN = enum.auto()
    """It was the first step since it began or was sought."""
    WRAPPED = enum.auto()
    """It started over."""
    ENDED = enum.auto()


class PlayerState(Struct, frozen=True):
    """The state of a player."""

    time: float
    speed: float
    loop: bool
    playing: Playing
    is_beginning: bool
    """True if the next step jumps to its time, because it was sought or begins."""


_ROUNDING = 1e-9
"""[s] Nearer to an end than this is at it."""


class AnimationPlayer:
    """One glTF animation of a scene.

    While it is *active* (playing or paused) it drives its nodes; a body among them is kinematic and
    becomes dynamic again, with the velocity that it has, when the animation stops or ends.
    """

    def __init__(
        self, animation: Animation, index: int, guard: Callable[[], None] = lambda: None
    ) -> None:
        """Create a player at rest.

        Args:
            animation: The animation of the file.
            index: Index of it in the file.
            guard: Raises an error if the scene is gone; called by all methods for users.
        """
        self.animation = animation
        self._guard = guard
        self.index = index
        """Index in the file's ``animations``."""
        self.sampler = AnimationSampler(animation.tracks)
        self.speed = 1.0
        """Factor on simulated time; negative plays backwards."""
        self.loop = True
        """True to start over at its end; channels whose end equals their beginning move on, others
        jump.
        """
        self._time = 0.0
        self._playing = Playing.STOPPED
        self._beginning = False
        self._next_time: tuple[float, bool, bool] | None = None
        self._last = Advance.WENT_ON

    @property
    def name(self) -> str:
        """The authored name; empty if the file gives none."""
        return self.animation.name

    @property
    def duration(self) -> float:
        """Time of the last keyframe [s]."""
        return self.animation.duration

    @property
    def time(self) -> float:
        """Present time in the animation [s]."""
        return self._time

    @property
    def is_playing(self) -> bool:
        """True while its time runs."""
        return self._playing is Playing.RUNNING

    @property
    def is_active(self) -> bool:
        """True while it drives its nodes: playing or paused."""
        return self._playing is not Playing.STOPPED

    @property
    def is_ending(self) -> bool:
        """True in the step in which it ends.

        Nodes and colliders still reach their last pose in it, while bodies are dynamic already.
        """
        return Advance.ENDED in self._last

    def play(self) -> None:
        """Run from the present time; from the start after its end, or backwards from the end."""
        self._guard()
        self.begin()

    def begin(self) -> None:
        """Do :meth:`play` during the creation of the scene."""
        first, last = (0.0, self.duration) if self.speed >= 0.0 else (self.duration, 0.0)
        if not self.is_active and self._time == last:
            self._time = first
        self._beginning |= not self.is_active
        self._playing = Playing.RUNNING

    def pause(self) -> None:
        """Stop time and keep the present pose."""
        self._guard()
        if self.is_active:
            self._playing = Playing.PAUSED

    def stop(self) -> None:
        """Release the nodes at their present poses; bodies are dynamic again."""
        self._guard()
        self._playing = Playing.STOPPED

    def seek(self, time: float) -> None:
        """Go to a time [s] at once; bodies jump there."""
        self._guard()
        self._time = min(max(float(time), 0.0), self.duration)
        self._beginning = True

    def lead(self, time: float, *, begins: bool, is_backwards: bool, is_last: bool) -> None:
        """Set the time [s] after the next :meth:`advance`, independent of speed and loop.

        Args:
            time: Time in the animation.
            begins: True to jump there.
            is_backwards: True to come there from later times.
            is_last: True to end there.
        """
        self._beginning |= begins or not self.is_active
        self._playing = Playing.RUNNING
        self._next_time = time, is_backwards, is_last

    def advance(self, time_step: float) -> None:
        """Advance by a time step [s]."""
        self._last, self._beginning = Advance.BEGAN if self._beginning else Advance.WENT_ON, False
        if self._next_time is not None:
            (time, is_backwards, is_last), self._next_time = self._next_time, None
            if (time < self._time) != is_backwards and time != self._time:
                self._last |= Advance.WRAPPED
            self._time = time
            if is_last:
                self._end()
            return
        if not self.is_playing:
            return
        time = self._time + self.speed * time_step
        for end in (0.0, self.duration):
            # Sums of steps are off by rounding: an animation that fills them shows its last key.
            if abs(time - end) <= _ROUNDING:
                time = end
        if 0.0 <= time <= self.duration:
            self._time = time
        elif self.loop and self.duration > 0.0:
            self._time = time % self.duration
            self._last |= Advance.WRAPPED
        else:
            self._time = min(max(time, 0.0), self.duration)
            self._end()

    def _end(self) -> None:
        self._playing = Playing.STOPPED
        self._last |= Advance.ENDED

    @property
    def has_begun(self) -> bool:
        """True if the last :meth:`advance` was the first since it began or was sought."""
        return Advance.BEGAN in self._last

    @property
    def has_wrapped(self) -> bool:
        """True if the last :meth:`advance` started over."""
        return Advance.WRAPPED in self._last

    @property
    def has_jumped(self) -> bool:
        """True if any channel jumped in the last :meth:`advance`."""
        return self.has_begun or (self.has_wrapped and not self.sampler.closes)

    @property
    def jumped_nodes(self) -> IntArray:
        """Nodes that jumped; a loop whose end equals its beginning does not jump."""
        return self.sampler.animated_nodes if self.has_begun else self.sampler.open_nodes

    def state(self) -> PlayerState:
        """Return the state for :meth:`restore`."""
        return PlayerState(self._time, self.speed, self.loop, self._playing, self._beginning)

    def restore(self, state: PlayerState) -> None:
        """Restore a :meth:`state`."""
        self._time, self.speed, self.loop = state.time, state.speed, state.loop
        self._playing, self._beginning = state.playing, state.is_beginning
        self._last &= ~Advance.ENDED

    def __repr__(self) -> str:
        return f"AnimationPlayer({self.index}, {self.name!r}, time={self._time:.4g})"


class Animations(Sequence[AnimationPlayer]):
    """The animations of a scene, by index or name."""

    def __init__(
        self,
        animations: Sequence[Animation],
        *,
        play: bool,
        loop: bool = True,
        guard: Callable[[], None],
    ) -> None:
        """Create players of all animations of a file.

        Args:
            animations: The animations of the file.
            play: True to run them from the first step on.
            loop: True to start them over at their ends.
            guard: Raises an error if the scene is gone.
        """
        self._players = tuple(AnimationPlayer(a, k, guard) for k, a in enumerate(animations))
        for player in self._players:
            player.loop = loop
            if play:
                player.begin()
            # The scene has the first frame already when the first step begins.
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
