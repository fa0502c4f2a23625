"""The scenes of a world, for those who meet their bodies."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gltf_bullet.bullet.session import EngineLink, EngineSession, known_session
from gltf_bullet.errors import WorldChangedError
from gltf_bullet.model import PhysicsScene
from gltf_bullet.runtime.scene_core import SceneCore

__all__ = ["LiveScene", "LiveScenes", "idle_axes", "scenes_among"]

_FEW = 16
"""Scenes that are not looked through for those that are gone."""


@dataclass(frozen=True, eq=False)
class LiveScene:
    """A scene whose bodies are in the world, whether or not anybody holds it."""

    path: str
    core: SceneCore | None
    """``None``: nobody holds the scene any more; nobody steps its joints."""
    physics: PhysicsScene
    body_ids: tuple[int, ...]


class _Entry(NamedTuple):
    core: weakref.ref[SceneCore]
    model_at_load: PhysicsScene
    body_ids: tuple[int, ...]
    origins: tuple[str, ...]
    path: str


class LiveScenes:
    """Of one world; ask for it by ``session.shared``."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self._entries: list[_Entry] = []
        self._most = _FEW

    def add(self, core: SceneCore) -> None:
        """Take note of a scene that was just made."""
        if len(self._entries) >= self._most:
            self._entries = [entry for entry in self._entries if self._is_there(entry)]
            self._most = max(_FEW, 2 * len(self._entries))
        ids = core.world.body_ids
        origins = self._session.origins_of(ids)
        self._entries.append(
            _Entry(weakref.ref(core), core.model.at_load, ids, origins, str(core.asset.path))
        )

    def __iter__(self) -> Iterator[LiveScene]:
        """Those that are whole, in the order of loading."""
        for entry in self._entries:
            core = entry.core()
            if core is None:
                if self._is_there(entry):
                    yield LiveScene(entry.path, None, entry.model_at_load, entry.body_ids)
            elif not core.is_removed:
                try:
                    core.world.lease.require()
                except WorldChangedError:
                    continue
                yield LiveScene(entry.path, core, core.model.now, core.world.body_ids)

    def _is_there(self, entry: _Entry) -> bool:
        core = entry.core()
        if core is not None:
            return not core.is_removed
        known = self._session.origins
        return all(
            known.get(body) == origin and self._session.holds(body)
            for body, origin in zip(entry.body_ids, entry.origins, strict=True)
        )


def scenes_among(client_id: int, body_ids: Iterable[int]) -> list[LiveScene]:
    """The scenes in a world that have some of these bodies."""
    session, ids = known_session(client_id), set(body_ids)
    if session is None:
        return []
    return [s for s in session.shared(LiveScenes) if not ids.isdisjoint(s.body_ids)]


def idle_axes(scenes: Iterable[LiveScene]) -> set[EngineLink]:
    """Axes of the scenes' joints that nobody's motor has, whatever PyBullet says of it."""
    return {
        axis
        for scene in scenes
        if scene.core is not None
        for axis in scene.core.joint_controls.axes_without_motor()
    }
