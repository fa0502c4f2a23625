"""The states that ``reset`` goes back to: taken together for all scenes of a world.

A state holds the whole world. Each of 300 scenes took one at its first step: as many copies of all
bodies, and 12 s for 90 ragdolls. Scenes that begin at the same moment share one.
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

__all__ = ["SceneStart", "StartStates"]


class _Scene(Protocol):
    """What a scene core is for this module."""

    is_removed: bool
    world: EngineWorld

    def state_with(self, engine: EngineSnapshot) -> SceneState: ...


class StartStates:
    """Of one world; :meth:`EngineSession.shared` keeps it."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self._steps = 0
        # In the order of loading, which no set keeps: what is made anew last touches last, and
        # the engine solves contacts in the order in which they came about. By identity, and not
        # in a weak dictionary: Ctrl-C in what that does at the end of a scene is lost (seen).
        self._waiting: dict[int, weakref.ref[_Scene]] = {}
        self._prepared: dict[int, tuple[weakref.ref[_Scene], int, SceneState]] = {}

    def expect(self, core: _Scene) -> None:
        """A scene that may take its first step soon."""
        self.forget(core)  # one that is gone may have had its address, and its place in the order
        self._waiting[id(core)] = weakref.ref(core)

    def forget(self, core: _Scene) -> None:
        """A scene that was removed or needs no start."""
        self._waiting.pop(id(core), None)
        self._prepared.pop(id(core), None)

    def note_step(self) -> None:
        """The world has moved on: what was prepared is of another moment."""
        self._steps += 1

    def take(self, core: _Scene) -> SceneState:
        """The state of a scene that is about to take its first step."""
        known, moment, state = self._prepared.pop(id(core), (None, -1, None))
        if state is None or known is None or known() is not core or moment != self._steps:
            self._waiting.setdefault(id(core), weakref.ref(core))
            alive = [scene for known in self._waiting.values() if (scene := known()) is not None]
            others = [other for other in alive if _is_whole(other)]
            worlds = [other.world for other in others]
            snapshot = EngineSnapshot(self._session, worlds, has_moved=False)
            state = core.state_with(snapshot)
            for other in others:
                if other is not core:
                    prepared = weakref.ref(other), self._steps, other.state_with(snapshot)
                    self._prepared[id(other)] = prepared
            # Once only: those that are never stepped by themselves cost nothing afterwards.
            self._waiting.clear()
        self._waiting.pop(id(core), None)
        return state


def _is_whole(scene: _Scene) -> bool:
    """Whether a scene is still as it was loaded: its next call says what is the matter."""
    if scene.is_removed:
        return False
    try:
        scene.world.lease.require()
    except WorldChangedError:
        return False
    return True


class SceneStart:
    """The state that one scene's ``reset`` goes back to."""

    def __init__(self, core: _Scene, session: EngineSession) -> None:
        """Of a scene that was just made."""
        self._core = core
        self._all = session.shared(StartStates)
        self.note_step: Callable[[], None] = self._all.note_step
        """Say that the world has moved on."""
        self.is_kept = True
        self.is_wanted = True
        """Whether the next step is the first one."""
        self.state: SceneState | None = None
        """``None`` before the first step."""

    def expect(self) -> None:
        """The scene may take its first step soon."""
        self._all.expect(self._core)

    def take(self) -> None:
        """Keep the state as it is now."""
        self.state, self.is_wanted = self._all.take(self._core), False

    def forget(self) -> None:
        """What was kept is of other bodies."""
        self.state, self.is_wanted = None, self.is_kept

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What goes on within makes bodies anew and leaves the start as it is."""
        state, is_wanted = self.state, self.is_wanted
        try:
            yield
        finally:
            self.state, self.is_wanted = state, is_wanted

    def disable(self) -> None:
        """Keep none."""
        self.leave()
        self.is_kept = False
        self.forget()

    def leave(self) -> None:
        """The scene is removed, or needs no start."""
        if self.is_wanted:
            self._all.forget(self._core)
