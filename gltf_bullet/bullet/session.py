"""One PyBullet world as we know it: what is ours in it, and whether it is still the same world.

``resetSimulation``, ``disconnect`` with a client id that is given out again, and somebody else's
``removeBody`` void our ids without a word: PyBullet then answers with strangers' bodies, or ends
the process. Every public call asks its ``BodyLease`` first.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index, itemgetter
from typing import Any, Protocol, TypeAlias, TypeVar

import pybullet

from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.errors import EngineError
from gltf_bullet.number_ranges import unusable_settings
from gltf_bullet.planning.body_plans import ColliderGroup, StaticPlan
from gltf_bullet.transforms import Vec3

__all__ = [
    "EngineLink",
    "EngineSession",
    "EngineSettings",
    "PhysicsClient",
    "SolidLink",
    "engine_session",
    "headless_world",
    "is_headless",
    "known_session",
    "require_client",
]

_SIGN_KEY = "gltf_bullet world"
"""User data of every body of ours: the token of the session that it was created in."""

_SETTINGS = itemgetter(
    "fixedTimeStep", "numSubSteps",
    "gravityAccelerationX", "gravityAccelerationY", "gravityAccelerationZ",
)  # fmt: skip
"""Those that we know, of what the engine tells."""

_SESSIONS: dict[int, EngineSession] = {}
"""The last known life of each client's world."""
_MAKING = threading.Lock()
"""Held by none that holds, or waits for, a session's own."""

T = TypeVar("T")


class _BulletClientObject(Protocol):
    """``pybullet_utils.bullet_client.BulletClient``, by what we need of it."""

    _client: int


PhysicsClient: TypeAlias = "int | _BulletClientObject"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of a world, read anew each step and never assumed."""

    time_step: float
    """[s] that one ``stepSimulation`` advances."""
    substeps: int
    """Internal steps per ``stepSimulation``; 0 and 1 mean one."""
    gravity: Vec3
    """[m/s^2]"""


def require_client(physics_client: PhysicsClient) -> int:
    """The id of a connected physics server.

    Raises:
        EngineError: There is no such connection.
        TypeError: Neither an id nor a ``BulletClient``.
    """
    known: Any = getattr(physics_client, "_client", physics_client)
    try:
        client_id = known if known.__class__ is int else index(known)
    except TypeError:
        client_id = None
    if client_id is None or isinstance(known, bool):
        raise TypeError(
            f"physics_client is {physics_client!r}; must be a client id or a BulletClient"
        )
    if client_id < 0 or not pybullet.isConnected(client_id):
        raise EngineError(
            f"physics client {client_id} is not connected; call pybullet.connect() first"
        )
    return client_id


def engine_session(client_id: int) -> EngineSession:
    """The session of a connected client; a new one after a reset or a reconnection."""
    known = _SESSIONS.get(client_id)
    if known is not None:
        with known.lock:
            if known.is_alive():
                return known
    with _MAKING:
        if _SESSIONS.get(client_id) is known:
            _SESSIONS[client_id] = EngineSession(client_id)
        return _SESSIONS[client_id]


def known_session(client_id: int) -> EngineSession | None:
    """The session of a client if there is one, for those that only read its world."""
    known = _SESSIONS.get(client_id)
    return known if known is not None and known.is_alive() else None


class EngineSession:
    """One life of one client's world: from connecting, or a reset, to the next one."""

    def __init__(self, client_id: int) -> None:
        """Begin a session; call :func:`engine_session` instead."""
        self.client_id = client_id
        self.lock = threading.RLock()
        """Held while a scene is made, stepped or removed: PyBullet's worlds know no threads."""
        self.shapes = EngineShapes(client_id)
        """Collision shapes by content."""
        self.token = secrets.token_hex(8)
        """No other world has it."""
        self._marks: dict[int, tuple[int, bytes]] = {}
        """Of our bodies: the user data's id, and what it says."""
        self._owners: dict[int, object] = {}
        """Whose they are: the id of a body that others removed goes to another scene's."""
        self.origins: dict[int, str] = {}
        """What names a body of ours for good, in other processes too: ids are given out again."""
        self._signed = 0
        """How many bodies were named so."""
        self.known_settings = EngineSettings(time_step=0.0, substeps=0, gravity=(0.0, 0.0, 0.0))
        """As they were read last."""
        self._numbers: tuple[Any, ...] = ()
        """What they were made of."""
        self.force_scale = 1.0
        """Factor of the forces that PyBullet tells of contacts: impulses by the time step of now,
        which is several of those that the last engine step took where a step was divided."""
        self._undivided: float | None = None
        """The world's time step [s], while the engine makes parts of it."""
        self.divided_settings: EngineSettings | None = None
        """How the engine steps meanwhile."""
        self._unsigned: set[int] = set()
        """Bodies that PyBullet takes no mark for: those of a batch, before ``syncBodyInfo``."""
        self._shared: dict[object, Any] = {}

    # --- what all scenes of the world share ---------------------------------------------------

    def shared(self, make: Callable[[EngineSession], T]) -> T:
        """The one thing of its kind in this world, e.g. the collision bits; made at first use."""
        if make in self._shared:
            known: T = self._shared[make]
            return known
        made = self._shared[make] = make(self)
        return made

    # --- is this still the same world? --------------------------------------------------------

    def is_alive(self) -> bool:
        """Whether our ids still mean what they meant."""
        if _SESSIONS.get(self.client_id, self) is not self:
            return False
        if not pybullet.isConnected(self.client_id):
            return False
        while self._marks:
            body_id = next(iter(self._marks))
            if self._is_marked(body_id):
                return True
            del self._marks[body_id]
        return self.shapes.answers()

    def sign(
        self,
        body_ids: Iterable[int],
        unsynchronised: Container[int] = (),
        owner: object = None,
    ) -> None:
        """Mark bodies as ours; a mark goes with its body (measured: 2.5 us each).

        ``unsynchronised``: those of them that were made in batches. ``owner``: of new ones; else
        they take the place of others of the same owner.
        """
        for body_id in body_ids:
            # Ids of bodies and of user data are given out again: no mark says what another said.
            self._signed += 1
            mark = f"{self.token}{self._signed:x}"
            data = pybullet.addUserData(body_id, _SIGN_KEY, mark, physicsClientId=self.client_id)
            # PyBullet takes a mark for any body but shows none on those it has not synchronised, or
            # that of a body that had the same id.
            text = mark.encode()
            if body_id not in unsynchronised or text == pybullet.getUserData(data, self.client_id):
                self._marks[body_id] = (data, text)
            else:
                self._unsigned.add(body_id)
            if owner is not None:
                self._owners[body_id] = owner
            if owner is not None or body_id not in self.origins:
                self.origins[body_id] = f"{self.token} {self._signed}"

    def origins_of(self, body_ids: Iterable[int]) -> tuple[str, ...]:
        """What names bodies of ours for good."""
        return tuple([self.origins[body_id] for body_id in body_ids])

    def rename(self, body_ids: Sequence[int], origins: Sequence[str]) -> None:
        """Let bodies be those that others were, if they are as many and those are gone."""
        if len(body_ids) == len(origins) and set(self.origins.values()).isdisjoint(origins):
            self.origins.update(zip(body_ids, origins, strict=True))

    def mark(self, body_id: int) -> tuple[int, bytes] | None:
        """Number and text of the user datum that marks a body of ours; ``None`` without."""
        return self._marks.get(body_id)

    def knows(self, body_id: int) -> bool:
        """Whether an id is that of a body of ours, as far as can be told without the engine."""
        return body_id in self._marks or body_id in self._unsigned

    def holds(self, body_id: int, owner: object = None) -> bool:
        """Whether one of our bodies is still there (measured: 0.3 us, without a mark 1 us).

        ``owner``: whose it must be.
        """
        if owner is not None and self._owners.get(body_id) is not owner:
            return False
        mark = self._marks.get(body_id)
        if mark is not None:
            return bool(pybullet.getUserData(mark[0], self.client_id) == mark[1])
        if body_id not in self._unsigned:
            return False
        try:
            pybullet.getBasePositionAndOrientation(body_id, self.client_id)
        except pybullet.error:
            return False
        return True

    def watch(self, body_ids: Iterable[int]) -> Callable[[], bool]:
        """What says whether bodies are still those that are marked now."""
        marks = {body_id: self._marks.get(body_id) for body_id in body_ids}
        return lambda: all(
            self._marks.get(body_id) == mark and self.holds(body_id)
            for body_id, mark in marks.items()
        )

    def _is_marked(self, body_id: int) -> bool:
        mark = self._marks.get(body_id)
        return mark is not None and pybullet.getUserData(mark[0], self.client_id) == mark[1]

    def is_current(self) -> bool:
        """As far as can be told without asking the engine: safe while objects are finalised."""
        return _SESSIONS.get(self.client_id) is self and bool(pybullet.isConnected(self.client_id))

    # --- the world as a whole -----------------------------------------------------------------

    def settings(self) -> EngineSettings:
        """Read the current settings.

        Raises:
            EngineError: The client was disconnected, or somebody set a time step or a gravity with
                which nothing can be stepped.
        """
        self.undivide()
        try:
            values = pybullet.getPhysicsEngineParameters(self.client_id)
        except pybullet.error as error:
            raise EngineError(f"physics client {self.client_id}: {error}") from error
        numbers = _SETTINGS(values)
        if numbers != self._numbers:
            step, substeps, x, y, z = numbers
            if wrong := unusable_settings(step, (x, y, z)):
                raise EngineError(wrong.format(client=f"physics client {self.client_id}"))
            self._numbers = numbers
            self.known_settings = EngineSettings(
                time_step=step, substeps=substeps, gravity=(x, y, z)
            )
        return self.known_settings

    def divide(self, settings: EngineSettings, part: float) -> EngineSettings:
        """Let the engine's steps be parts of the world's time step, until :meth:`undivide`.

        Args:
            settings: Of the world.
            part: Length of the coming engine steps [s].

        Returns:
            How the engine steps meanwhile.
        """
        if self.divided_settings is not None and self.divided_settings.time_step == part:
            return self.divided_settings
        pybullet.setPhysicsEngineParameter(fixedTimeStep=part, physicsClientId=self.client_id)
        self._undivided = settings.time_step
        self.divided_settings = EngineSettings(part, settings.substeps, settings.gravity)
        return self.divided_settings

    def undivide(self) -> None:
        """Give the world its time step back; harmless where it has it."""
        if (
            self._undivided is not None
            and self.divided_settings is not None
            and pybullet.isConnected(self.client_id)
        ):
            self.force_scale = self._undivided / self.divided_settings.time_step
            pybullet.setPhysicsEngineParameter(
                fixedTimeStep=self._undivided, physicsClientId=self.client_id
            )
        self._undivided = self.divided_settings = None

    def step(self) -> None:
        """Advance the world by one time step.

        Raises:
            EngineError: The client was disconnected.
        """
        try:
            pybullet.stepSimulation(self.client_id)
        except pybullet.error as error:
            raise EngineError(f"stepSimulation: {error}") from error

    def last_body(self) -> tuple[int, int]:
        """How many bodies the world has, and the id of the last one; none once disconnected."""
        try:
            count = pybullet.getNumBodies(self.client_id)
            return count, pybullet.getBodyUniqueId(count - 1, self.client_id) if count else -1
        except pybullet.error:  # whoever wants to step is told so
            return 0, -1

    def detect_collisions(self) -> None:
        """Find pairs and contacts for the poses as they are; nothing moves."""
        pybullet.performCollisionDetection(physicsClientId=self.client_id)

    def holds_first(self, body_ids: Sequence[int], owner: object) -> bool:
        """Whether the first of some bodies bears its mark: then ids mean what they meant."""
        mark = self._marks.get(body_ids[0]) if body_ids else None
        if (
            mark is None
            or self._owners.get(body_ids[0]) is not owner
            or not pybullet.isConnected(self.client_id)
        ):
            return False
        return bool(pybullet.getUserData(mark[0], self.client_id) == mark[1])

    def remove_bodies(self, body_ids: Iterable[int], owner: object, held: int = 0) -> None:
        """Remove those of an owner's bodies that are still there, of a session that is alive.

        ``held``: how many of them, the first ones, are known to be there.
        """
        client_id, holds = self.client_id, self.holds
        marks, unsigned, origins = self._marks, self._unsigned, self.origins
        for number, body_id in enumerate(body_ids):
            if self._owners.get(body_id, owner) is not owner:
                continue  # it is another one by now
            self._owners.pop(body_id, None)
            try:
                if number < held or holds(body_id):
                    pybullet.removeBody(body_id, client_id)
            except pybullet.error:  # gone already
                pass
            if marks.pop(body_id, None) is None:
                unsigned.discard(body_id)
            origins.pop(body_id, None)


# --- Worlds of our own, without a window: for the command line, tests and benchmarks --------------

EARTH_GRAVITY: Vec3 = (0.0, 0.0, -9.81)
"""[m/s^2] in a Z-up world."""


def is_headless(client_id: int) -> bool:
    """Whether a connected world is in this process and has no window (measured: 0.3 us)."""
    method = pybullet.getConnectionInfo(client_id)["connectionMethod"]
    return bool(method == pybullet.DIRECT)


@contextmanager
def headless_world(
    *, gravity: Vec3 = EARTH_GRAVITY, time_step: float = 1.0 / 240.0
) -> Iterator[int]:
    """A new DIRECT world; gives its client id and disconnects at the end.

    Args:
        gravity: [m/s^2]
        time_step: [s]

    Raises:
        EngineError: PyBullet has no room for another client.
    """
    client_id = pybullet.connect(pybullet.DIRECT)
    if client_id < 0:
        raise EngineError("PyBullet refused another DIRECT connection")
    try:
        pybullet.setGravity(*gravity, physicsClientId=client_id)
        pybullet.setTimeStep(time_step, physicsClientId=client_id)
        yield client_id
    finally:
        if pybullet.isConnected(client_id):
            pybullet.disconnect(client_id)


# --- How PyBullet names a link: every room of the engine keeps lists of them ----------------------

EngineLink: TypeAlias = tuple[int, int]
"""(body id, link index); link -1 is the base."""

SolidLink: TypeAlias = tuple[EngineLink, "ColliderGroup | StaticPlan"]
"""A link and what is in it."""
