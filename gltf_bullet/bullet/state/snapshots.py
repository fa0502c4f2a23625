"""The engine's own state as a value: cheap inside a process, bytes when it is pickled.

``pybullet.saveState`` holds poses, velocities and contacts of the whole world, but no motors,
masses, frictions, pair rules or filters (measured): those belong to :class:`EngineWorld.state`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import Protocol

import pybullet

from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.bullet.state.body_states import BodyState, is_placed, read_body, write_body
from gltf_bullet.errors import EngineError

__all__ = ["EngineSnapshot"]


class Renewable(Protocol):
    """What a scene has in the engine's world."""

    def renew_contacts(self) -> None: ...


class EngineSnapshot:
    """A state of a whole PyBullet world. Picklable; restores into the same bodies anywhere."""

    __slots__ = (
        "__weakref__", "_bodies", "_client_id", "_data", "_finalizer", "_state_id", "_world",
    )  # fmt: skip

    def __init__(
        self, session: EngineSession, worlds: Sequence[Renewable], *, has_moved: bool = True
    ) -> None:
        """Take the state of a world as it is now, and go on from it as from a restored one.

        A contact that the state does not know stays as it is at restoring, a restored one lacks
        its stiffness until it is made anew, and pairs have the order in which they were made anew
        (all measured: compounds 18 mm apart after 200 steps otherwise). So all contacts are made
        anew twice, before the state is taken and before it is restored: with one of both, 61 of 90
        piles of compounds replay otherwise, with both 8.

        Args:
            session: The world.
            worlds: Of the scenes that will be restored from it, in that order.
            has_moved: Whether they have been stepped: before, once is enough.

        Raises:
            EngineError: PyBullet refused.
        """
        client_id = self._client_id = session.client_id
        self._data: bytes | None = None
        try:
            for world in worlds:
                world.renew_contacts()
            self._state_id = int(pybullet.saveState(physicsClientId=client_id))
        except pybullet.error as error:
            raise EngineError(f"saveState: {error}") from error
        self._world = session.token
        self._bodies = {name: read_body(client_id, body) for name, body in _bodies(session)}
        self._finalizer = weakref.finalize(self, _forget, weakref.ref(session), self._state_id)
        for world in worlds if has_moved else ():
            world.renew_contacts()
        self._restore_whole(session)

    def restore(self, session: EngineSession) -> bool:
        """Put a world back into this state; its bodies must be those of the saved one.

        The engine knows them by their places in its lists, where the last one takes the place of
        one that is removed: it would put bodies where others were, without a word. So where their
        order is another, those that are still known are put back one by one, others stay as they
        are, and contacts are found anew.

        Returns:
            Whether the engine has put them all back: :meth:`restore_again` does for a second time.

        Raises:
            EngineError: PyBullet refused: the bodies are others.
        """
        now = _bodies(session)
        if len(now) != len(self._bodies):
            raise EngineError(
                f"the world holds other bodies: {len(now)}; the state has {len(self._bodies)}"
            )
        try:
            is_whole = self._is_in_order(now, is_same_world=session.token == self._world)
            if is_whole:
                self._restore_whole(session)
            for name, body in now:
                state = self._bodies.get(name)
                # The engine's lists are not quite that of its ids: what they tell is compared.
                if state is not None and not is_placed(session.client_id, body, state):
                    write_body(session.client_id, body, state)
                    is_whole = False
            return is_whole
        except pybullet.error as error:
            raise EngineError(f"restoreState: {error}; the world holds other bodies") from error

    def restore_again(self, session: EngineSession) -> None:
        """Put a world back where :meth:`restore` has just said that the engine does it all."""
        self._restore_whole(session)

    def _is_in_order(self, now: list[tuple[str, int]], *, is_same_world: bool) -> bool:
        """Whether all known bodies are where they were in the list of all.

        In another world those whose scenes were not restored yet are taken for the saved ones.
        """
        return all(
            name == then or (name not in self._bodies and not is_same_world)
            for (name, _), then in zip(now, self._bodies, strict=True)
        )

    def _restore_whole(self, session: EngineSession) -> None:
        client_id = session.client_id
        if session.token == self._world and self._state_id >= 0:
            pybullet.restoreState(stateId=self._state_id, physicsClientId=client_id)
            return
        with _temporary_file(self.to_bytes()) as path:
            pybullet.restoreState(fileName=path, physicsClientId=client_id)

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

    def __getstate__(self) -> tuple[bytes, str, dict[str, BodyState]]:
        return self.to_bytes(), self._world, self._bodies

    def __setstate__(self, state: tuple[bytes, str, dict[str, BodyState]]) -> None:
        self._client_id, self._state_id = -1, -1
        self._data, self._world, self._bodies = state


def _bodies(session: EngineSession) -> list[tuple[str, int]]:
    """Name and id of every body, in the engine's order."""
    client_id = session.client_id
    count = pybullet.getNumBodies(physicsClientId=client_id)
    ids = [pybullet.getBodyUniqueId(k, physicsClientId=client_id) for k in range(count)]
    return [(session.origins.get(body, f"body {body}"), body) for body in ids]


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
