"""Worlds that one environment owns: reproducible, with or without a window."""

from __future__ import annotations

import os
import sys

import pybullet

from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import Vec3

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


def close_abandoned_world(session: EngineSession) -> None:
    """Disconnect, unless the client has another world by now; for finalisers, in any thread."""
    if session.lock.acquire(blocking=False):
        try:
            if session.is_current() and session.is_alive():
                close_world(session.client_id)
        finally:
            session.lock.release()
