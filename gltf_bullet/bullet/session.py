"""The session of one PyBullet world: which bodies are ours, and if it is still the same world.

``resetSimulation``, ``disconnect`` with a client id that is given out again, and somebody else's
``removeBody`` void our ids silently: PyBullet then answers with other bodies' values, or ends the
process. Every public call asks its ``BodyOwnership`` first.

The file is long because tags, settings and steps of a world end with the same session.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import index, itemgetter
from typing import Any, Protocol, TypeAlias, TypeVar

import pybullet
from msgspec import Struct

from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.bullet.world_lock import world_lock
from gltf_bullet.errors import EngineError
from gltf_bullet.number_ranges import unusable_settings
from gltf_bullet.planning.body_plans import ColliderGroup, StaticPlan
from gltf_bullet.transforms import Vec3

_TAG_KEY = "gltf_bullet world"
"""User data key of our bodies; the value, their ownership tag, begins with the session's token."""

_SETTINGS = itemgetter(
    "fixedTimeStep", "numSubSteps",
    "gravityAccelerationX", "gravityAccelerationY", "gravityAccelerationZ",
)  # fmt: skip
"""Picks our :class:`EngineSettings` out of ``getPhysicsEngineParameters``."""

_SESSIONS: dict[int, EngineSession] = {}
"""The last known session of each client."""
_MAKING = threading.Lock()
"""Guards :data:`_SESSIONS`; never acquired by a thread that holds or waits for a session's lock."""

T = TypeVar("T")


class _BulletClientObject(Protocol):
    """The part of ``pybullet_utils.bullet_client.BulletClient`` that we use."""

    _client: int


PhysicsClient: TypeAlias = "int | _BulletClientObject"


class EngineSettings(Struct, frozen=True):
    """Settings of a world, read anew in each step."""

    time_step: float
    """Time that one ``stepSimulation`` advances [s]."""
    substeps: int
    """Internal steps per ``stepSimulation``; 0 and 1 mean one."""
    gravity: Vec3
    """Gravity of the world [m/s^2]."""


def require_client(physics_client: PhysicsClient) -> int:
    """Return the id of a connected physics client.

    Raises:
        EngineError: There is no such connection.
        TypeError: The value is neither an id nor a ``BulletClient``.
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
    """Return the session of a connected client; a new one after a reset or a reconnection."""
    known = _SESSIONS.get(client_id)
    with world_lock(client_id):
        if known is not None and known.is_alive():
            return known
    with _MAKING:
        if _SESSIONS.get(client_id) is known:
            _SESSIONS[client_id] = EngineSession(client_id)
        return _SESSIONS[client_id]


def known_session(client_id: int) -> EngineSession | None:
    """Return the session of a client if there is one, for code that only reads its world."""
    known = _SESSIONS.get(client_id)
    return known if known is not None and known.is_alive() else None


class EngineSession:
    """The life of one client's world, from connecting or a reset to the next reset."""

    def __init__(self, client_id: int) -> None:
        """Begin a session; call :func:`engine_session` instead."""
        self.client_id = client_id
        self.lock = world_lock(client_id)
        """Held by everything that touches the world; see :mod:`gltf_bullet.bullet.world_lock`."""
        self.forgotten: list[int] = []
        """Saved states of the engine that are to be freed."""
        self.shapes = EngineShapes(client_id)
        """Cache of collision shapes by content."""
        self.token = secrets.token_hex(8)
        """Random text that identifies this world among all worlds and processes."""
        self._tags: dict[int, tuple[int, bytes]] = {}
        """Ownership tag of each of our bodies: id and text of its user datum."""
        self._owners: dict[int, object] = {}
        """Owner of each of our bodies; an id may be given out again to another scene's body."""
        self.origins: dict[int, str] = {}
        """Permanent name of each of our bodies, unique across processes; body ids are reused."""
        self._tag_count = 0
        """Number of tags given so far; makes tags and permanent names unique."""
        self.reference_settings = EngineSettings(time_step=0.0, substeps=0, gravity=(0.0, 0.0, 0.0))
        """Settings at the last :meth:`settings`."""
        self._numbers: tuple[Any, ...] = ()
        """PyBullet's numbers that :attr:`reference_settings` were made of."""
        self.force_scale = 1.0
        """Factor on the contact forces that PyBullet reports after a divided step: the engine
        divides impulses by the current time step, which is several of those that its last step
        took.
        """
        self._parts: tuple[EngineSettings, int, EngineSettings] | None = None
        """Settings, a number of engine steps, and the settings of each of these."""
        self.divided_settings: EngineSettings | None = None
        """Settings of the engine while a step is divided; else ``None``."""
        self._untagged: set[int] = set()
        """Bodies without a readable tag: PyBullet shows none on bodies of a batch before
        ``syncBodyInfo``.
        """
        self._shared: dict[object, Any] = {}

    # --- objects shared by all scenes of the world --------------------------------------------

    def shared(self, make: Callable[[EngineSession], T]) -> T:
        """Return the world's one object of a kind, e.g. the collision bits; made at first use."""
        if make in self._shared:
            known: T = self._shared[make]
            return known
        made = self._shared[make] = make(self)
        return made

    # --- ownership tags: is this still the same world? ----------------------------------------

    def is_alive(self) -> bool:
        """Return True if the client still has the world of this session, and our ids are valid."""
        if _SESSIONS.get(self.client_id, self) is not self:
            return False
        if not pybullet.isConnected(self.client_id):
            return False
        while self._tags:
            body_id = next(iter(self._tags))
            if self._is_tagged(body_id):
                return True
            del self._tags[body_id]
        return self.shapes.answers()

    def tag(
        self,
        body_ids: Iterable[int],
        unsynchronised: Container[int] = (),
        owner: object = None,
    ) -> None:
        """Tag bodies as ours; a tag is removed with its body (measured: 2.5 us each).

        ``unsynchronised``: those of them that were made in batches. ``owner``: owner of new bodies;
        without it the bodies replace others and keep their owner and permanent name.
        """
        for body_id in body_ids:
            # Ids of bodies and of user data are reused, so no two tags have the same text.
            self._tag_count += 1
            tag = f"{self.token}{self._tag_count:x}"
            data = pybullet.addUserData(body_id, _TAG_KEY, tag, physicsClientId=self.client_id)
            # PyBullet accepts a tag for any body, but returns none for those it has not
            # synchronised, or that of an earlier body with the same id.
            text = tag.encode()
            if body_id not in unsynchronised or text == pybullet.getUserData(data, self.client_id):
                self._tags[body_id] = (data, text)
            else:
                self._untagged.add(body_id)
            if owner is not None:
                self._owners[body_id] = owner
            if owner is not None or body_id not in self.origins:
                self.origins[body_id] = f"{self.token} {self._tag_count}"

    def origins_of(self, body_ids: Iterable[int]) -> tuple[str, ...]:
        """Return the permanent names of bodies of ours."""
        return tuple([self.origins[body_id] for body_id in body_ids])

    def rename(self, body_ids: Sequence[int], origins: Sequence[str]) -> None:
        """Give bodies the permanent names of others, if as many, and if the others are gone."""
        if len(body_ids) == len(origins) and set(self.origins.values()).isdisjoint(origins):
            self.origins.update(zip(body_ids, origins, strict=True))

    def mark(self, body_id: int) -> tuple[int, bytes] | None:
        """Return id and text of the user datum that tags a body of ours; ``None`` without one."""
        return self._tags.get(body_id)

    def knows(self, body_id: int) -> bool:
        """Return True if an id is one of our bodies', by our own records alone."""
        return body_id in self._tags or body_id in self._untagged

    def has_body(self, body_id: int, owner: object = None) -> bool:
        """Return True if one of our bodies is still there (measured: 0.3 us, without a tag 1 us).

        ``owner``: the owner that it must have.
        """
        if owner is not None and self._owners.get(body_id) is not owner:
            return False
        tag = self._tags.get(body_id)
        if tag is not None:
            return bool(pybullet.getUserData(tag[0], self.client_id) == tag[1])
        if body_id not in self._untagged:
            return False
        try:
            pybullet.getBasePositionAndOrientation(body_id, self.client_id)
        except pybullet.error:
            return False
        return True

    def watch(self, body_ids: Iterable[int]) -> Callable[[], bool]:
        """Return a function that says if the bodies are still those that are tagged now."""
        tags = {body_id: self._tags.get(body_id) for body_id in body_ids}
        return lambda: all(
            self._tags.get(body_id) == tag and self.has_body(body_id)
            for body_id, tag in tags.items()
        )

    def _is_tagged(self, body_id: int) -> bool:
        tag = self._tags.get(body_id)
        return tag is not None and pybullet.getUserData(tag[0], self.client_id) == tag[1]

    def is_current(self) -> bool:
        """Return True if this is the client's last session; asks no engine: safe in finalisers."""
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
            self.reference_settings = EngineSettings(
                time_step=step, substeps=substeps, gravity=(x, y, z)
            )
        return self.reference_settings

    def part_settings(self, settings: EngineSettings, parts: int) -> EngineSettings:
        """Return the settings of each of the engine steps that a step of ``settings`` is made of.

        The same object is returned as long as settings and number are the same.
        """
        if parts == 1:
            return settings
        known = self._parts
        if known is None or known[0] is not settings or known[1] != parts:
            length = settings.time_step / parts
            part = EngineSettings(length, settings.substeps, settings.gravity)
            known = self._parts = (settings, parts, part)
        return known[2]

    def divide(self, part: EngineSettings) -> None:
        """Make engine steps of a part of the known time step, until :meth:`undivide`."""
        self._set_time_step(part.time_step)
        self.divided_settings = part

    def undivide(self) -> None:
        """Restore the world's own time step after :meth:`divide`; no effect otherwise."""
        part, self.divided_settings = self.divided_settings, None
        if part is not None and pybullet.isConnected(self.client_id):
            whole = self.reference_settings.time_step
            self.force_scale = whole / part.time_step
            self._set_time_step(whole)

    def _set_time_step(self, seconds: float) -> None:
        pybullet.setPhysicsEngineParameter(fixedTimeStep=seconds, physicsClientId=self.client_id)

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
        """Return the number of bodies and the id of the last one; 0 and -1 if disconnected."""
        try:
            count = pybullet.getNumBodies(self.client_id)
            return count, pybullet.getBodyUniqueId(count - 1, self.client_id) if count else -1
        except pybullet.error:  # the next step raises an error for it
            return 0, -1

    def detect_collisions(self) -> None:
        """Update overlapping pairs and contacts for the current poses without a time step."""
        pybullet.performCollisionDetection(physicsClientId=self.client_id)

    def has_first(self, body_ids: Sequence[int], owner: object) -> bool:
        """Return True if the first of some bodies has its tag and owner: the world is the same."""
        tag = self._tags.get(body_ids[0]) if body_ids else None
        if (
            tag is None
            or self._owners.get(body_ids[0]) is not owner
            or not pybullet.isConnected(self.client_id)
        ):
            return False
        return bool(pybullet.getUserData(tag[0], self.client_id) == tag[1])

    def remove_bodies(self, body_ids: Iterable[int], owner: object, held: int = 0) -> None:
        """Remove an owner's bodies that are still there; the session must be alive.

        ``held``: number of leading bodies that are known to be there.
        """
        client_id, has_body = self.client_id, self.has_body
        tags, untagged, origins = self._tags, self._untagged, self.origins
        for number, body_id in enumerate(body_ids):
            if self._owners.get(body_id, owner) is not owner:
                continue  # the id belongs to another owner's body by now
            self._owners.pop(body_id, None)
            try:
                if number < held or has_body(body_id):
                    pybullet.removeBody(body_id, client_id)
            except pybullet.error:  # gone already
                pass
            if tags.pop(body_id, None) is None:
                untagged.discard(body_id)
            origins.pop(body_id, None)


# --- Worlds without a window: for the command line, tests and benchmarks --------------------------

EARTH_GRAVITY: Vec3 = (0.0, 0.0, -9.81)
"""[m/s^2] in a Z-up world."""


def is_headless(client_id: int) -> bool:
    """Return True if a connected world is in this process and has no window (measured: 0.3 us)."""
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
