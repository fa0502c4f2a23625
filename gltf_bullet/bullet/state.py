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
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.errors import EngineError
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

# --- The state of some bodies only: what lets one scene go back while its neighbours go on --------
#
# ``pybullet.restoreState`` knows whole worlds. Poses, velocities and joints can be written body by
# body; contacts cannot, so they are found anew in the next step (a resting body settles again).


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyState:
    """Of one body."""

    base: tuple[Any, Any, Any, Any]
    """Position [m], rotation xyzw, velocity [m/s] and spin [rad/s] of the inertial frame."""
    joints: tuple[tuple[int, Any, Any], ...]
    """Link, position and velocity of every joint that can move."""


class BodyStates:
    """Poses, velocities and joint positions of some bodies, in their order. Picklable."""

    __slots__ = ("_states",)

    def __init__(self, client_id: int, body_ids: Sequence[int]) -> None:
        """Read the bodies as they are now."""
        self._states = [read_body(client_id, body) for body in body_ids]

    def restore(self, client_id: int, body_ids: Sequence[int]) -> None:
        """Put bodies back; their ids may be others than those that were read.

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
    """As it is now."""
    position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
    velocity, spin = pybullet.getBaseVelocity(body, client_id)
    joints = []
    for link in range(pybullet.getNumJoints(body, physicsClientId=client_id)):
        state = pybullet.getJointStateMultiDof(body, link, physicsClientId=client_id)
        if len(state[0]):
            joints.append((link, state[0], state[1]))
    return BodyState(base=(position, rotation, velocity, spin), joints=tuple(joints))


def write_body(client_id: int, body: int, state: BodyState) -> None:
    """Put a body back."""
    position, rotation, velocity, spin = state.base
    pybullet.resetBasePositionAndOrientation(body, position, rotation, physicsClientId=client_id)
    pybullet.resetBaseVelocity(body, velocity, spin, physicsClientId=client_id)
    for link, place, speed in state.joints:
        pybullet.resetJointStateMultiDof(body, link, place, speed, physicsClientId=client_id)


def is_placed(client_id: int, body: int, state: BodyState) -> bool:
    """Whether a body stands where a state has it, to the bit."""
    position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
    return bool((position, rotation) == state.base[:2])


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


# --- State and impulses of single links, on demand; never in the default step ---------------------

ZERO: Vec3 = (0.0, 0.0, 0.0)
"""No velocity."""

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
    """Of what is at a place [m] on a link [m/s], world axes; arrays take 40 times as long."""
    (x, y, z), _, (u, v, w), (p, q, r) = state
    a, b, c = place[0] - x, place[1] - y, place[2] - z
    return u + q * c - r * b, v + r * a - p * c, w + p * b - q * a


def apply_base_force(
    client_id: int, body_id: int, force: Sequence[float], torque: Sequence[float]
) -> None:
    """Push [N] and turn [N m] a free body during the coming step, world axes."""
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
