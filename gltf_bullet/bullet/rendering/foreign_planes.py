"""Planes without an end that are no scene's: the floor that whoever has the world put there."""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import pybullet

from gltf_bullet.transforms import FloatArray, Pose

__all__ = ["foreign_planes"]


def foreign_planes(client_id: int, own: Container[int]) -> dict[int, FloatArray]:
    """world_from_plane by body id, normal y, shape [4, 4].

    Args:
        client_id: The world.
        own: Bodies that are not looked at.
    """
    found: dict[int, FloatArray] = {}
    for number in range(pybullet.getNumBodies(physicsClientId=client_id)):
        body = pybullet.getBodyUniqueId(number, physicsClientId=client_id)
        if body in own:
            continue
        for shape in pybullet.getCollisionShapeData(body, -1, physicsClientId=client_id) or ():
            if shape[2] == pybullet.GEOM_PLANE:
                base = pybullet.getBasePositionAndOrientation(body, physicsClientId=client_id)
                found[body] = Pose(base[1], base[0]).matrix() @ _plane(np.array(shape[3]))
    return found


def _plane(normal: FloatArray) -> FloatArray:
    """A frame whose y is a unit vector."""
    x = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    x /= np.linalg.norm(x)
    matrix = np.eye(4)
    matrix[:3, :3] = np.stack([x, normal, np.cross(x, normal)], axis=1)
    return matrix
