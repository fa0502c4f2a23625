"""Poses of the links of any PyBullet bodies, read fast for recordings."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import pybullet

from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import FloatArray

_KEY = "gltf_bullet recording"
"""User data key of recorded bodies; the data is removed with the body, whose id is reused."""


class InertialPoses:
    """Reads the inertial frames of all links of some bodies, body by body, the base first.

    A removed body keeps the poses that were read last.
    """

    def __init__(self, client_id: int, body_ids: Sequence[int]) -> None:
        self._client = client_id
        self._bodies = [_Body(client_id, body) for body in body_ids]

    def read(self) -> FloatArray:
        """Return positions and rotations xyzw in the world, shape [link_count, 7].

        Raises:
            EngineError: The client is not connected.
        """
        rows: list[float] = []
        for body in self._bodies:
            if not body.is_lost:
                try:
                    body.read()
                except pybullet.error as error:
                    raise EngineError(f"body {body.id} cannot be read: {error}") from error
            rows += body.rows
        return np.array(rows).reshape(-1, 7)

    def newly_lost(self) -> list[tuple[int, int]]:
        """Return numbers and ids of the bodies that were removed since the last call.

        Raises:
            EngineError: The client is not connected.
        """
        lost = []
        try:
            for number, body in enumerate(self._bodies):
                if not body.is_lost and not body.is_there():
                    body.is_lost = True
                    lost.append((number, body.id))
        except pybullet.error as error:
            raise EngineError(f"physics client {self._client}: {error}") from error
        return lost

    def time_step(self) -> float:
        """Return the length of one ``stepSimulation`` [s].

        Raises:
            EngineError: The client is not connected.
        """
        try:
            values = pybullet.getPhysicsEngineParameters(physicsClientId=self._client)
        except pybullet.error as error:
            raise EngineError(f"physics client {self._client}: {error}") from error
        return float(values["fixedTimeStep"])


class _Body:
    """One recorded body, identified by user data."""

    def __init__(self, client_id: int, body_id: int) -> None:
        self.id = body_id
        self.is_lost = False
        self.rows: list[float] = []
        self._client = client_id
        self._links = list(range(pybullet.getNumJoints(body_id, physicsClientId=client_id)))
        # A tag of another recording is as good.
        self._tag_id = pybullet.getUserDataId(body_id, _KEY, physicsClientId=client_id)
        if self._tag_id < 0:
            pybullet.addUserData(body_id, _KEY, secrets.token_hex(8), physicsClientId=client_id)
            # PyBullet returns none on bodies that it has not synchronised (those of a batch).
            self._tag_id = pybullet.getUserDataId(body_id, _KEY, physicsClientId=client_id)
        self._tag = self._read_tag()

    def is_there(self) -> bool:
        """Return True if the id still belongs to this body."""
        if self._tag_id >= 0:
            return self._read_tag() == self._tag
        try:
            pybullet.getBasePositionAndOrientation(self.id, self._client)
        except pybullet.error:
            if pybullet.isConnected(self._client):
                return False
            raise
        return True

    def _read_tag(self) -> bytes | None:
        if self._tag_id < 0:
            return None
        tag: bytes | None = pybullet.getUserData(self._tag_id, self._client)
        return tag

    def read(self) -> None:
        """Read the poses of all links."""
        rows: list[float] = []
        for part in pybullet.getBasePositionAndOrientation(self.id, self._client):
            rows += part
        if self._links:
            for state in pybullet.getLinkStates(
                self.id, self._links, computeForwardKinematics=1, physicsClientId=self._client
            ):
                rows += (*state[0], *state[1])
        self.rows = rows
