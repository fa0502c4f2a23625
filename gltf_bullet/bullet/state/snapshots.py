"""The engine's own state as a value: cheap inside a process, bytes when it is pickled.

``pybullet.saveState`` holds poses, velocities and contacts of the whole world, but no motors,
masses, frictions, pair rules or filters (measured): those belong to :class:`EngineWorld.state`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator

import pybullet

from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.bullet.state.body_states import read_body, write_body
from gltf_bullet.errors import EngineError

__all__ = ["EngineSnapshot"]


class EngineSnapshot:
    """A state of a whole PyBullet world. Picklable; restores into the same bodies anywhere."""

    __slots__ = (
        "__weakref__", "_bodies", "_client_id", "_data", "_finalizer", "_removals", "_session",
        "_state_id",
    )  # fmt: skip

    def __init__(self, session: EngineSession) -> None:
        """Take the state of a world as it is now.

        Raises:
            EngineError: PyBullet refused.
        """
        client_id = self._client_id = session.client_id
        self._data: bytes | None = None
        try:
            # A contact that the state does not know stays as it is at restoring (measured: bodies
            # that touch at load replayed otherwise). So every contact is found before.
            pybullet.performCollisionDetection(physicsClientId=client_id)
            self._state_id = int(pybullet.saveState(physicsClientId=client_id))
            # A restored contact lacks its stiffness until it is made anew (measured). Going on from
            # the restored state makes the first continuation equal to every later one.
            pybullet.restoreState(stateId=self._state_id, physicsClientId=client_id)
        except pybullet.error as error:
            raise EngineError(f"saveState: {error}") from error
        self._session: weakref.ref[EngineSession] | None = weakref.ref(session)
        self._removals = dict(session.removals)
        self._bodies = {body: read_body(client_id, body) for body in _bodies(client_id)}
        self._finalizer = weakref.finalize(self, _forget, weakref.ref(session), self._state_id)

    def restore(self, client_id: int, replaced: Iterable[tuple[int, int]] = ()) -> None:
        """Put a world back into this state; its bodies must be those of the saved one.

        The engine knows them by their places in its lists, where the last one takes the place of
        one that is removed: it would put bodies where others were, without a word. So where some
        of ours were made anew, those that are still the same are put back one by one, and contacts
        are found anew.

        Args:
            client_id: The world.
            replaced: Ids of bodies then and now that were made anew.

        Raises:
            EngineError: PyBullet refused: the bodies are others.
        """
        try:
            if self._state_id >= 0 and client_id == self._client_id:
                session = self._session() if self._session else None
                if session is not None and session.removals != self._removals:
                    self._restore_bodies(session, dict(replaced))
                    return
                pybullet.restoreState(stateId=self._state_id, physicsClientId=client_id)
                return
            with _temporary_file(self.to_bytes()) as path:
                pybullet.restoreState(fileName=path, physicsClientId=client_id)
        except pybullet.error as error:
            raise EngineError(f"restoreState: {error}; the world holds other bodies") from error

    def _restore_bodies(self, session: EngineSession, replaced: dict[int, int]) -> None:
        client_id, removals = session.client_id, session.removals
        if pybullet.getNumBodies(physicsClientId=client_id) != len(self._bodies):
            raise EngineError("restoreState: the world holds other bodies")
        for body, state in self._bodies.items():
            if body in replaced:
                write_body(client_id, replaced[body], state)
            elif removals[body] == self._removals.get(body, 0):
                write_body(client_id, body, state)

    def to_bytes(self) -> bytes:
        """The state as a ``.bullet`` file."""
        if self._data is None:
            self._data = self._serialize()
        return self._data

    def _serialize(self) -> bytes:
        client_id = self._client_id
        now = pybullet.saveState(physicsClientId=client_id)
        try:
            pybullet.restoreState(stateId=self._state_id, physicsClientId=client_id)
            with _temporary_file(b"") as path:
                pybullet.saveBullet(path, physicsClientId=client_id)
                with open(path, "rb") as file:
                    return file.read()
        finally:
            pybullet.restoreState(stateId=now, physicsClientId=client_id)
            pybullet.removeState(now, physicsClientId=client_id)

    def __getstate__(self) -> bytes:
        return self.to_bytes()

    def __setstate__(self, data: bytes) -> None:
        self._client_id, self._state_id, self._data = -1, -1, data
        self._session, self._bodies, self._removals = None, {}, {}


def _bodies(client_id: int) -> list[int]:
    count = pybullet.getNumBodies(physicsClientId=client_id)
    return [pybullet.getBodyUniqueId(k, physicsClientId=client_id) for k in range(count)]


def _forget(session: weakref.ref[EngineSession], state_id: int) -> None:
    """Free the engine's copy, unless the world has been reset since and the id means another."""
    world = session()
    if world is not None and world.is_current():
        with contextlib.suppress(pybullet.error):
            pybullet.removeState(state_id, physicsClientId=world.client_id)


@contextlib.contextmanager
def _temporary_file(data: bytes) -> Iterator[str]:
    # A fresh name each time: Bullet caches file contents by path.
    handle, path = tempfile.mkstemp(prefix="gltf_bullet_", suffix=".bullet")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield path
    finally:
        os.unlink(path)
