"""Infinite planes that belong to no scene: the floor of the world's owner."""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import pybullet

from gltf_bullet.transforms import FloatArray, Pose


def foreign_planes(client_id: int, own: Container[int]) -> dict[int, FloatArray]:
    """Return world_from_plane, with normal y, shape [4, 4], by body id.

    Args:
        client_id: The world.
        own: Bodies that are left out.
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
    """Return a frame whose y axis is a unit vector."""
    x = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    x /= np.linalg.norm(x)
    matrix = np.eye(4)
    matrix[:3, :3] = np.stack([x, normal, np.cross(x, normal)], axis=1)
    return matrix
