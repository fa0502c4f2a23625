"""The engine's own state as a value, and as the bytes that are pickled.

``pybullet.saveState`` holds poses, velocities and contacts of the whole world, but no motors,
masses, frictions, pair rules or filters (measured): those belong to :class:`EngineWorld.state`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import pybullet
from msgspec import Struct

from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.errors import EngineError
from gltf_bullet.private_folders import scratch_folder
from gltf_bullet.transforms import Quat, Vec3, matrices_from_quats

__all__ = [
    "ZERO",
    "BodyStates",
    "EngineSnapshot",
    "LinkState",
    "apply_base_force",
    "apply_base_impulse",
    "link_state",
    "set_base_pose",
    "set_base_velocity",
    "velocity_after_turn",
    "velocity_before_turn",
]

# --- State of some bodies only: restores one scene while others in the world go on ----------------
#
# ``pybullet.restoreState`` restores whole worlds. Poses, velocities and joints can be written body
# by body; contacts cannot, so they are found anew in the next step (a resting body settles again).


class BodyState(Struct, frozen=True, kw_only=True):
    """State of one body."""

    base: tuple[Any, Any, Any, Any]
    """Position [m], rotation xyzw, velocity [m/s] and spin [rad/s] of the inertial frame."""
    joints: tuple[tuple[int, Any, Any], ...]
    """Link, position and velocity of every joint that can move."""


class BodyStates:
    """Poses, velocities and joint positions of some bodies, in their order. Picklable."""

    __slots__ = ("_states",)

    def __init__(self, client_id: int, body_ids: Sequence[int]) -> None:
        """Read the current states of the bodies."""
        self._states = [read_body(client_id, body) for body in body_ids]

    def restore(self, client_id: int, body_ids: Sequence[int]) -> None:
        """Write the states back; the body ids may differ from those that were read.

        Raises:
            EngineError: There are more or fewer bodies, or PyBullet refused.
        """
        if len(body_ids) != len(self._states):
            raise EngineError(f"{len(body_ids)} bodies; the state has {len(self._states)}")
        try:
            for body, state in zip(body_ids, self._states, strict=True):
                write_body(client_id, body, state)
        except pybullet.error as error:
            raise EngineError(f"restoring bodies: {error}") from error


def read_body(client_id: int, body: int) -> BodyState:
    """Read the current state of a body."""
    position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
    velocity, spin = pybullet.getBaseVelocity(body, client_id)
    joints = []
    for link in range(pybullet.getNumJoints(body, physicsClientId=client_id)):
        state = pybullet.getJointStateMultiDof(body, link, physicsClientId=client_id)
        if len(state[0]):
            joints.append((link, state[0], state[1]))
    return BodyState(base=(position, rotation, velocity, spin), joints=tuple(joints))


def write_body(client_id: int, body: int, state: BodyState) -> None:
    """Write a state to a body."""
    position, rotation, velocity, spin = state.base
    pybullet.resetBasePositionAndOrientation(body, position, rotation, physicsClientId=client_id)
    pybullet.resetBaseVelocity(body, velocity, spin, physicsClientId=client_id)
    for link, place, speed in state.joints:
        pybullet.resetJointStateMultiDof(body, link, place, speed, physicsClientId=client_id)


def is_placed(client_id: int, body: int, state: BodyState) -> bool:
    """Return True if the pose of a body equals that of a state, to the bit."""
    position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
    return bool((position, rotation) == state.base[:2])


class Renewable(Protocol):
    """The bodies of one scene, as far as a snapshot changes them."""

    def renew_contacts(self) -> None: ...


class EngineSnapshot:
    """A state of a whole PyBullet world. Picklable; restores into the same bodies anywhere."""

    __slots__ = (
        "__weakref__", "_bodies", "_data", "_finalizer", "_state_id", "_world",
    )  # fmt: skip

    def __init__(
        self,
        session: EngineSession,
        worlds: Sequence[Renewable],
        *,
        has_moved: bool = True,
        is_kept: bool = True,
    ) -> None:
        """Take the state of a world as it is now, and go on from it as from a restored one.

        Restoring keeps contacts that are not in the state, restored contacts lack their stiffness
        until they are made anew, and pairs have the order in which they were made anew (all
        measured: compounds 18 mm apart after 200 steps otherwise). So all contacts are made anew
        twice, before the state is taken and before it is restored: with one of both, 61 of 90
        piles of compounds replay differently, with both 8.

        Args:
            session: The world.
            worlds: Scenes that will be restored from it, in that order.
            has_moved: True if they have been stepped; before the first step, renewing the contacts
                once is enough.
            is_kept: False if the state never leaves this world, so that it has no bytes. They are
                made here, as long as the world has this state and these bodies.

        Raises:
            EngineError: PyBullet refused.
        """
        client_id = session.client_id
        try:
            for world in worlds:
                world.renew_contacts()
            self._state_id = int(pybullet.saveState(physicsClientId=client_id))
        except pybullet.error as error:
            raise EngineError(f"saveState: {error}") from error
        self._world = session.token
        self._bodies = {name: read_body(client_id, body) for name, body in _bodies(session)}
        _free_forgotten(session)
        self._finalizer = weakref.finalize(self, _forget, weakref.ref(session), self._state_id)
        for world in worlds if has_moved else ():
            world.renew_contacts()
        self._restore_whole(session)
        self._data = _serialized(client_id) if is_kept else b""

    def restore(self, session: EngineSession) -> bool:
        """Put a world back into this state; its bodies must be those of the saved one.

        The engine identifies them by their places in its lists, where the last one fills the place
        of a removed one: it would restore bodies to the poses of others, silently. So if their
        order has changed, bodies that are still known are restored one by one, others stay as they
        are, and contacts are found anew.

        Returns:
            True if the engine has restored them all, so that :meth:`restore_again` may follow.

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
                # The engine's lists are not quite in the order of its ids: poses are compared.
                if state is not None and not is_placed(session.client_id, body, state):
                    write_body(session.client_id, body, state)
                    is_whole = False
            return is_whole
        except pybullet.error as error:
            raise EngineError(f"restoreState: {error}; the world holds other bodies") from error

    def restore_again(self, session: EngineSession) -> None:
        """Repeat a :meth:`restore` that has just returned True."""
        self._restore_whole(session)

    def _is_in_order(self, now: list[tuple[str, int]], *, is_same_world: bool) -> bool:
        """Return True if all known bodies have the places in the engine's list that they had.

        In another world, bodies whose scenes were not restored yet are taken for the saved ones.
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
        with _temporary_file(self._data) as path:
            pybullet.restoreState(fileName=path, physicsClientId=client_id)

    def __getstate__(self) -> tuple[bytes, str, dict[str, BodyState]]:
        return self._data, self._world, self._bodies

    def __setstate__(self, state: tuple[bytes, str, dict[str, BodyState]]) -> None:
        self._state_id = -1
        self._data, self._world, self._bodies = state


def _serialized(client_id: int) -> bytes:
    """Return the present state of a world as a ``.bullet`` file."""
    with _temporary_file(b"") as path:
        try:
            pybullet.saveBullet(path, physicsClientId=client_id)
        except pybullet.error as error:
            raise EngineError(f"saveBullet: {error}") from error
        with open(path, "rb") as file:
            return file.read()


def _bodies(session: EngineSession) -> list[tuple[str, int]]:
    """Name and id of every body, in the engine's order."""
    client_id = session.client_id
    count = pybullet.getNumBodies(physicsClientId=client_id)
    ids = [pybullet.getBodyUniqueId(k, physicsClientId=client_id) for k in range(count)]
    return [(session.origins.get(body, f"body {body}"), body) for body in ids]


def _forget(session: weakref.ref[EngineSession], state_id: int) -> None:
    """Free the engine's copy, unless the world was reset since and the id means another state.

    Garbage is collected in any thread, at any time: where another one holds the world, it is freed
    with the next state that is saved.
    """
    world = session()
    if world is not None:
        world.forgotten.append(state_id)
        if world.lock.acquire(blocking=False):
            try:
                _free_forgotten(world)
            finally:
                world.lock.release()


def _free_forgotten(session: EngineSession) -> None:
    while session.forgotten:
        state_id = session.forgotten.pop()
        if session.is_current():
            with contextlib.suppress(pybullet.error):
                pybullet.removeState(state_id, physicsClientId=session.client_id)


@contextlib.contextmanager
def _temporary_file(data: bytes) -> Iterator[str]:
    # A fresh name each time: Bullet caches file contents by path.
    handle, path = tempfile.mkstemp(dir=scratch_folder(), suffix=".bullet")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield path
    finally:
        os.unlink(path)


# --- State and impulses of single links, read on demand; never in the default step ----------------

ZERO: Vec3 = (0.0, 0.0, 0.0)
"""Zero velocity."""

LinkState: TypeAlias = tuple[Vec3, Quat, Vec3, Vec3]
"""Centre of mass [m], world_from_inertial (xyzw), its velocity [m/s] and spin [rad/s]."""


def link_state(client_id: int, body_id: int, link_index: int) -> LinkState:
    """The inertial frame of a link (-1: the base) and its velocities, world axes."""
    if link_index < 0:
        position, rotation = pybullet.getBasePositionAndOrientation(body_id, client_id)
        linear, angular = pybullet.getBaseVelocity(body_id, client_id)
    else:
        state = pybullet.getLinkState(
            body_id,
            link_index,
            computeLinkVelocity=1,
            computeForwardKinematics=1,
            physicsClientId=client_id,
        )
        position, rotation, linear, angular = state[0], state[1], state[6], state[7]
    return position, rotation, linear, angular


def velocity_at(state: LinkState, place: Sequence[float]) -> Vec3:
    """Return the velocity of a point [m] of a link [m/s], world axes; numpy is 40 times as slow."""
    (x, y, z), _, (u, v, w), (p, q, r) = state
    a, b, c = place[0] - x, place[1] - y, place[2] - z
    return u + q * c - r * b, v + r * a - p * c, w + p * b - q * a


def apply_base_force(
    client_id: int, body_id: int, force: Sequence[float], torque: Sequence[float]
) -> None:
    """Apply a force [N] at the centre of mass and a torque [N m] to a free body, world axes."""
    point, _ = pybullet.getBasePositionAndOrientation(body_id, client_id)
    if any(force):
        pybullet.applyExternalForce(
            body_id, -1, force, point, pybullet.WORLD_FRAME, physicsClientId=client_id
        )
    if any(torque):
        pybullet.applyExternalTorque(
            body_id, -1, torque, pybullet.WORLD_FRAME, physicsClientId=client_id
        )


def apply_base_impulse(
    client_id: int,
    body_id: int,
    mass: float,
    moments: Vec3,
    linear: Sequence[float],
    angular: Sequence[float],
) -> None:
    """Change the velocity of a free body at once by an impulse at its centre of mass.

    Args:
        client_id: The world.
        body_id: A base-only multibody.
        mass: [kg]
        moments: Principal moments [kg m^2].
        linear: [N s], world axes.
        angular: [N m s], world axes.
    """
    _, rotation, velocity, spin = link_state(client_id, body_id, -1)
    frame = matrices_from_quats(np.array(rotation))
    change = frame @ ((frame.T @ np.asarray(angular, dtype=np.float64)) / np.array(moments))
    pybullet.resetBaseVelocity(
        body_id,
        (np.array(velocity) + np.asarray(linear, dtype=np.float64) / mass).tolist(),
        (np.array(spin) + change).tolist(),
        physicsClientId=client_id,
    )


def set_base_velocity(client_id: int, body_id: int, linear: Vec3, angular: Vec3) -> None:
    """Set the velocity of a base's centre of mass [m/s] and its spin [rad/s], world axes."""
    pybullet.resetBaseVelocity(body_id, linear, angular, physicsClientId=client_id)


def set_base_pose(client_id: int, body_id: int, position: Vec3, rotation_xyzw: Quat) -> None:
    """Put a base's inertial frame somewhere else; its velocity stays as it is in the world."""
    linear, angular = pybullet.getBaseVelocity(body_id, client_id)
    pybullet.resetBasePositionAndOrientation(
        body_id, position, rotation_xyzw, physicsClientId=client_id
    )
    # The engine keeps velocities in the body's own axes.
    pybullet.resetBaseVelocity(body_id, linear, angular, physicsClientId=client_id)


def velocity_after_turn(velocity: Sequence[float], spin: Sequence[float], dt: float) -> Vec3:
    """The velocity at which a mass-0 base moves in a step: see :func:`velocity_before_turn`."""
    vx, vy, vz = velocity
    wx, wy, wz = spin[0] * dt, spin[1] * dt, spin[2] * dt
    return vx + wy * vz - wz * vy, vy + wz * vx - wx * vz, vz + wx * vy - wy * vx


def velocity_before_turn(velocity: Sequence[float], spin: Sequence[float], dt: float) -> Vec3:
    """The velocity to give a mass-0 base so that it moves at ``velocity`` in a step of ``dt``.

    The engine turns the velocity of such a base with its spin first: it moves at ``v + dt w x v``
    (measured). This is the inverse of that, in closed form.
    """
    vx, vy, vz = velocity
    wx, wy, wz = spin[0] * dt, spin[1] * dt, spin[2] * dt
    along = wx * vx + wy * vy + wz * vz
    share = 1.0 / (1.0 + wx * wx + wy * wy + wz * wz)
    return (
        share * (vx - wy * vz + wz * vy + wx * along),
        share * (vy - wz * vx + wx * vz + wy * along),
        share * (vz - wx * vy + wy * vx + wz * along),
    )
