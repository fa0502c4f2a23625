"""Registry of the scenes of a world, to find them by their bodies."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gltf_bullet.bullet.session import EngineLink, EngineSession, known_session
from gltf_bullet.errors import WorldChangedError
from gltf_bullet.model import PhysicsScene
from gltf_bullet.runtime.scene_core import SceneCore

_FEW = 16
"""Number of scenes up to which the registry is not searched for removed ones."""


@dataclass(frozen=True, eq=False)
class LiveScene:
    """A scene whose bodies are in the world, also if its object is gone."""

    path: str
    core: SceneCore | None
    """``None``: the object is gone, and nothing steps its joints."""
    physics: PhysicsScene
    body_ids: tuple[int, ...]


class _Entry(NamedTuple):
    core: weakref.ref[SceneCore]
    model_at_load: PhysicsScene
    body_ids: tuple[int, ...]
    origins: tuple[str, ...]
    path: str


class LiveScenes:
    """Registry of the scenes of one world; made by ``session.shared``."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self._entries: list[_Entry] = []
        self._most = _FEW

    def add(self, core: SceneCore) -> None:
        """Register a new scene."""
        if len(self._entries) >= self._most:
            self._entries = [entry for entry in self._entries if self._is_there(entry)]
            self._most = max(_FEW, 2 * len(self._entries))
        ids = core.world.body_ids
        origins = self._session.origins_of(ids)
        self._entries.append(
            _Entry(weakref.ref(core), core.model.at_load, ids, origins, str(core.asset.path))
        )

    def __iter__(self) -> Iterator[LiveScene]:
        """Yield the scenes with all their bodies, in the order of loading."""
        for entry in self._entries:
            core = entry.core()
            if core is None:
                if self._is_there(entry):
                    yield LiveScene(entry.path, None, entry.model_at_load, entry.body_ids)
            elif not core.is_removed:
                try:
                    core.world.ownership.require()
                except WorldChangedError:
                    continue
                yield LiveScene(entry.path, core, core.model.now, core.world.body_ids)

    def _is_there(self, entry: _Entry) -> bool:
        core = entry.core()
        if core is not None:
            return not core.is_removed
        known = self._session.origins
        return all(
            known.get(body) == origin and self._session.has_body(body)
            for body, origin in zip(entry.body_ids, entry.origins, strict=True)
        )


def scenes_among(client_id: int, body_ids: Iterable[int]) -> list[LiveScene]:
    """Return the scenes in a world that have some of these bodies."""
    session, ids = known_session(client_id), set(body_ids)
    if session is None:
        return []
    return [s for s in session.shared(LiveScenes) if not ids.isdisjoint(s.body_ids)]


def idle_axes(scenes: Iterable[LiveScene]) -> set[EngineLink]:
    """Return axes of the scenes' joints without an external motor, whatever PyBullet reports."""
    return {
        axis
        for scene in scenes
        if scene.core is not None
        for axis in scene.core.joint_controls.axes_without_motor()
    }
