"""Which PyBullet world we talk to, and the engine settings that every step must respect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pybullet

from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import Vec3

__all__ = [
    "EngineSettings",
    "PhysicsClient",
    "detect_collisions",
    "engine_settings",
    "remove_bodies",
    "require_client",
    "step_simulation",
]


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
    client_id = getattr(physics_client, "_client", physics_client)
    if not isinstance(client_id, int) or isinstance(client_id, bool):
        raise TypeError(
            f"physics_client is {physics_client!r}; must be a client id or a BulletClient"
        )
    if client_id < 0 or not pybullet.isConnected(client_id):
        raise EngineError(
            f"physics client {client_id} is not connected; call pybullet.connect() first"
        )
    return client_id


def engine_settings(client_id: int) -> EngineSettings:
    """Read the current settings of a world.

    Raises:
        EngineError: The client was disconnected.
    """
    try:
        values = pybullet.getPhysicsEngineParameters(physicsClientId=client_id)
    except pybullet.error as error:
        raise EngineError(f"physics client {client_id}: {error}") from error
    return EngineSettings(
        time_step=float(values["fixedTimeStep"]),
        substeps=int(values["numSubSteps"]),
        gravity=(
            float(values["gravityAccelerationX"]),
            float(values["gravityAccelerationY"]),
            float(values["gravityAccelerationZ"]),
        ),
    )


def step_simulation(client_id: int) -> None:
    """Advance the world by one time step.

    Raises:
        EngineError: The client was disconnected.
    """
    try:
        pybullet.stepSimulation(physicsClientId=client_id)
    except pybullet.error as error:
        raise EngineError(f"stepSimulation: {error}") from error


def detect_collisions(client_id: int) -> None:
    """Find pairs and contacts for the poses as they are; nothing moves."""
    pybullet.performCollisionDetection(physicsClientId=client_id)


def remove_bodies(client_id: int, body_ids: Iterable[int]) -> None:
    """Remove bodies that we created; nothing happens where the world is gone already."""
    if not pybullet.isConnected(client_id):
        return
    for body_id in body_ids:
        # The caller may have removed it, or reset the world: it is gone either way.
        with contextlib.suppress(pybullet.error):
            pybullet.removeBody(body_id, physicsClientId=client_id)
