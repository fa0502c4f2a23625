"""Ownership of a scene's bodies: every public call checks first that they are still in the world.

PyBullet gives the id of a body that somebody else removed to the next body that anybody creates.
Ownership tags (user data on each body) tell the two apart, and the session knows each tag's owner.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NoReturn

import pybullet

from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.errors import EngineError, WorldChangedError

_ROUNDS = 8
"""Number of calls between two checks of another body's tag, where the last created body is ours."""


class BodyOwnership:
    """The bodies of one scene; raises an error once any of them is gone from the world."""

    __slots__ = (
        "_body_ids", "_count", "_last", "_lost", "_name_of", "_next", "_own", "_session", "owner",
    )  # fmt: skip

    def __init__(
        self,
        session: EngineSession,
        body_ids: Sequence[int],
        unsynchronised: Container[int],
        name_of: Callable[[int], str],
    ) -> None:
        """Tag the bodies.

        Args:
            session: The world that they were created in.
            body_ids: All bodies of a scene.
            unsynchronised: Those of them that were made in batches.
            name_of: Gives the name of a body for a message.
        """
        self.owner = object()
        """Identity of the scene as owner; it keeps nothing of the scene alive."""
        session.tag(body_ids, unsynchronised, self.owner)
        self._session = session
        self._body_ids = tuple(body_ids)
        self._own = frozenset(body_ids)
        self._name_of = name_of
        self._count = -1
        self._last = -1
        self._next = 0
        self._lost = ""

    def require(self) -> None:
        """Raise an error unless the world is the known one and has all bodies (measured: 0.8 us).

        A single body's tag is read. With several, the bodies of the world are counted and one tag
        is read: that of the body created last, or another one in each call. All tags are read when
        the count or the last body has changed.

        Raises:
            WorldChangedError: The client was disconnected, the world was reset, or somebody else
                removed one of the bodies.
        """
        if self._lost:
            raise WorldChangedError(self._lost)
        client_id = self._session.client_id
        try:
            if len(self._body_ids) == 1 and self._session.has_body(self._body_ids[0], self.owner):
                return
            count = pybullet.getNumBodies(client_id)
            # A body that is created in the place of a removed one gets its id, and is the last.
            last = pybullet.getBodyUniqueId(count - 1, client_id) if count else -1
        except pybullet.error:
            self._lose(f"physics client {client_id} was disconnected")
        if count == self._count and last == self._last and self._has_next(last):
            return
        self._examine()
        self._count, self._last = count, last

    def require_body(self, body_id: int) -> None:
        """Do as :meth:`require` does, and check the tag of this body in particular.

        Raises:
            WorldChangedError: As for :meth:`require`.
        """
        self.require()
        if not self._session.has_body(body_id, self.owner):
            self._examine()

    def __enter__(self) -> None:
        """Turn PyBullet's errors in the following block into errors of this library."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raise the error that explains a refusal of the engine.

        Raises:
            WorldChangedError: Bodies are gone.
            EngineError: The engine refused for another reason.
        """
        if isinstance(error, pybullet.error):
            self._examine()
            raise EngineError(str(error)) from error

    def _has_next(self, last: int) -> bool:
        if not self._body_ids:
            return self._session.is_alive()
        has_body, own = self._session.has_body, self._body_ids
        self._next = (self._next + 1) % (_ROUNDS * len(own))
        if last not in self._own:
            return has_body(own[self._next % len(own)], self.owner)
        others = self._next // _ROUNDS
        return has_body(last, self.owner) and (
            self._next % _ROUNDS > 0 or has_body(own[others], self.owner)
        )

    def _examine(self) -> None:
        session = self._session
        if not session.is_alive():
            self._lose(
                f"the world of physics client {session.client_id} is another one now: "
                "resetSimulation was called, or the client was disconnected and its id given out "
                "again; load the asset anew"
            )
        for body_id in self._body_ids:
            if not session.has_body(body_id, self.owner):
                self._lose(
                    f"body {body_id} ({self._name_of(body_id)}) was removed from the world of "
                    f"physics client {session.client_id} by somebody else; remove the scene and "
                    "load the asset anew"
                )

    def _lose(self, why: str) -> NoReturn:
        self._lost = why
        raise WorldChangedError(why)
