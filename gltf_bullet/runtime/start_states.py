"""The states that ``reset`` goes back to, taken together for all scenes of a world.

An engine state contains the whole world. One for each of 300 scenes at its first step would be as
many copies of all bodies (12 s for 90 ragdolls). Scenes that begin at the same time share one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.bullet.state import EngineSnapshot
from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.errors import WorldChangedError
from gltf_bullet.runtime.scene_state import SceneState


class _Scene(Protocol):
    """The part of a scene core that this module uses."""

    is_removed: bool
    world: EngineWorld

    def state_with(self, engine: EngineSnapshot) -> SceneState: ...


class StartStates:
    """Start states of one world; made by :meth:`EngineSession.shared`."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self._steps = 0
        # In the order of loading, which matters: what is rebuilt last touches last, and the engine
        # solves contacts in their order of appearance. By id, and not in a weak dictionary: Ctrl-C
        # in its callbacks at the end of a scene is lost (seen).
        self._waiting: dict[int, weakref.ref[_Scene]] = {}
        self._prepared: dict[int, tuple[weakref.ref[_Scene], int, SceneState]] = {}

    def expect(self, core: _Scene) -> None:
        """Add a scene that may take its first step soon."""
        self.forget(core)  # a removed scene may have had the same id, at another place
        self._waiting[id(core)] = weakref.ref(core)

    def forget(self, core: _Scene) -> None:
        """Remove a scene that is gone or needs no start state."""
        self._waiting.pop(id(core), None)
        self._prepared.pop(id(core), None)

    def note_step(self) -> None:
        """Discard prepared states, because the world has moved."""
        self._steps += 1

    def take(self, core: _Scene) -> SceneState:
        """Return the state of a scene that is about to take its first step."""
        known, moment, state = self._prepared.pop(id(core), (None, -1, None))
        if state is None or known is None or known() is not core or moment != self._steps:
            self._waiting.setdefault(id(core), weakref.ref(core))
            alive = [scene for known in self._waiting.values() if (scene := known()) is not None]
            others = [other for other in alive if _is_whole(other)]
            worlds = [other.world for other in others]
            snapshot = EngineSnapshot(self._session, worlds, has_moved=False, is_kept=False)
            state = core.state_with(snapshot)
            for other in others:
                if other is not core:
                    prepared = weakref.ref(other), self._steps, other.state_with(snapshot)
                    self._prepared[id(other)] = prepared
            # Only once: scenes that are never stepped by themselves cost nothing afterwards.
            self._waiting.clear()
        self._waiting.pop(id(core), None)
        return state


def _is_whole(scene: _Scene) -> bool:
    """Return True if no body of a scene is gone; if not, its next call raises the error."""
    if scene.is_removed:
        return False
    try:
        scene.world.ownership.require()
    except WorldChangedError:
        return False
    return True


class SceneStart:
    """The state that one scene's ``reset`` goes back to."""

    def __init__(self, core: _Scene, session: EngineSession) -> None:
        """Prepare for a new scene."""
        self._core = core
        self._all = session.shared(StartStates)
        self.note_step: Callable[[], None] = self._all.note_step
        """Callable for when the world has moved."""
        self.is_kept = True
        self.state: SceneState | None = None
        """The start state; ``None`` before the first step."""

    @property
    def is_wanted(self) -> bool:
        """True if the next step is the first one."""
        return self.is_kept and self.state is None

    def expect(self) -> None:
        """Announce that the scene may take its first step soon."""
        self._all.expect(self._core)

    def take(self) -> None:
        """Take the present state as start state."""
        self.state = self._all.take(self._core)

    def forget(self) -> None:
        """Discard the state, whose bodies are gone; the next step is the first one."""
        self.state = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the start state while the following block rebuilds bodies."""
        state = self.state
        try:
            yield
        finally:
            self.state = state

    def disable(self) -> None:
        """Discard the state, and take none any more."""
        self.leave()
        self.is_kept = False
        self.forget()

    def leave(self) -> None:
        """Stop waiting for the first step."""
        if self.is_wanted:
            self._all.forget(self._core)
