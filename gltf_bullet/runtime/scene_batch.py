"""Many scenes in one world, stepped together: what they share is read once."""

from __future__ import annotations

from collections.abc import Sequence

from gltf_bullet.bullet.joints.contact_reader import WorldContacts
from gltf_bullet.runtime.scene_core import SceneCore

__all__ = ["SceneBatch"]


class SceneBatch:
    """Scenes of one world that nobody steps otherwise."""

    def __init__(self, cores: Sequence[SceneCore]) -> None:
        self._cores = tuple(cores)
        self._session = cores[0].session
        self._next = 0

    def step(self) -> None:
        """Advance the world by one time step, and all scenes with it.

        Raises:
            WorldChangedError: The world is not the one that the scenes were loaded into.
        """
        cores, session = self._cores, self._session
        with session.lock:
            # They all are of this world; each asks for its own bodies in turn.
            self._next = (self._next + 1) % len(cores)
            cores[self._next].require_alive()
            settings = session.settings()
            contacts = WorldContacts(session.client_id)
            for core in cores:
                contacts.give(core.world.articulations.contacts)
            for core in cores:
                core.begin_step(settings)
            session.step()
            contacts = WorldContacts(session.client_id)
            for core in cores:
                if core.world.articulations.solver.is_mistrustful:
                    contacts.give(core.world.articulations.contacts)
                core.finish_step(settings)
