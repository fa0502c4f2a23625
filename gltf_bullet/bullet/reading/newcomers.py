"""Bodies that were made while a recording runs, and are not in it."""

from __future__ import annotations

import pybullet

from gltf_bullet.bullet.reading.world_reader import all_bodies
from gltf_bullet.errors import EngineError

__all__ = ["Newcomers"]


class Newcomers:
    """Notices bodies with ids that no body had before.

    One that has the id of a removed body is named with that removal.
    """

    def __init__(self, client_id: int) -> None:
        self._client = client_id
        self._known = set(all_bodies(client_id))
        self._seen = self._glance()

    def newly_made(self) -> list[tuple[int, str]]:
        """Ids and names of the bodies that were made since this was asked last.

        Raises:
            EngineError: The client is not connected.
        """
        try:
            seen = self._glance()
            if seen == self._seen:
                return []
            self._seen = seen
            made = [body for body in all_bodies(self._client) if body not in self._known]
            self._known.update(made)
            return [(body, self._name(body)) for body in made]
        except pybullet.error as error:
            raise EngineError(f"physics client {self._client}: {error}") from error

    def _glance(self) -> tuple[int, int]:
        """How many bodies there are, and which was made last: another one where any was made."""
        count = pybullet.getNumBodies(physicsClientId=self._client)
        return count, pybullet.getBodyUniqueId(count - 1, self._client) if count else -1

    def _name(self, body: int) -> str:
        base, name = pybullet.getBodyInfo(body, physicsClientId=self._client)[:2]
        return str((name or base).decode("utf-8", "replace"))
