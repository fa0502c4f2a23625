"""Worlds that one environment owns: reproducible, with or without a window."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import numpy as np
import pybullet

from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import FloatArray, Vec3

_ENDLESS = 1e3
"""Edge [m] from which a box is taken for that of a plane or a landscape."""

NO_DISPLAY = "a window needs a display and DISPLAY is not set"


def has_display() -> bool:
    """Return True if a window can be shown on this machine."""
    return bool(os.environ.get("DISPLAY")) or not sys.platform.startswith("linux")


def open_world(*, gravity: Vec3, time_step: float, window: bool = False) -> int:
    """Create a world whose contact order is the same in every run; return its client id.

    Args:
        gravity: [m/s^2]
        time_step: [s]
        window: Show it.

    Raises:
        EngineError: There is no display, or PyBullet has no room for another client.
    """
    # PyBullet ends the whole process where it finds no X server, so we look first.
    if window and not has_display():
        raise EngineError(NO_DISPLAY)
    client_id: int = pybullet.connect(pybullet.GUI if window else pybullet.DIRECT)
    if client_id < 0:
        raise EngineError("PyBullet refused another connection")
    if window:
        # Without the engine's side panels.
        pybullet.configureDebugVisualizer(pybullet.COV_ENABLE_GUI, 0, physicsClientId=client_id)
    pybullet.setGravity(*gravity, physicsClientId=client_id)
    pybullet.setTimeStep(time_step, physicsClientId=client_id)
    pybullet.setPhysicsEngineParameter(deterministicOverlappingPairs=1, physicsClientId=client_id)
    return client_id


def add_floor(client_id: int, *, y_up: bool) -> None:
    """Put a plane without an end through the origin."""
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_PLANE,
        planeNormal=[0.0, 1.0, 0.0] if y_up else [0.0, 0.0, 1.0],
        physicsClientId=client_id,
    )
    pybullet.createMultiBody(0.0, shape, physicsClientId=client_id)


def close_world(client_id: int) -> None:
    """Disconnect; harmless where the world is gone."""
    if pybullet.isConnected(client_id):
        pybullet.disconnect(client_id)


def extent(client_id: int, body_ids: Sequence[int]) -> FloatArray:
    """Return the edges of the box around bodies, endless ones left out [m], shape [3]."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for body in body_ids:
        for link in range(-1, pybullet.getNumJoints(body, physicsClientId=client_id)):
            ends = np.array(pybullet.getAABB(body, link, physicsClientId=client_id))
            if np.ptp(ends, axis=0).max() < _ENDLESS:
                low, high = np.minimum(low, ends[0]), np.maximum(high, ends[1])
    return np.asarray(np.maximum(high - low, 0.0), dtype=np.float64)


def forbid_contacts(client_id: int, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Keep two sets of bodies of a world from touching each other, for as long as it lives.

    The rules outlive the bodies (measured): meant for worlds that are filled once.
    """
    links = {
        body: range(-1, pybullet.getNumJoints(body, physicsClientId=client_id))
        for body in (*first, *second)
    }
    for a in first:
        for b in second:
            for link_a in links[a]:
                for link_b in links[b]:
                    pybullet.setCollisionFilterPair(
                        a, b, link_a, link_b, 0, physicsClientId=client_id
                    )
