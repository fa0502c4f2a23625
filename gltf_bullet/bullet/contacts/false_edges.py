"""Edges inside of flat meshes that stopped a body, which they must not.

Bullet turns the normal of such a contact to the triangle's, but leaves it where it points away from
the triangle's front, be it by 0.1 degrees: what slides tilted a little, a few millimetres deep,
meets the next triangle with its side (measured, 160 slides of plates at 60 Hz: 19 so stopped).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pybullet

from gltf_bullet.transforms import FloatArray

__all__ = ["any_false_edge"]

_ASIDE = 2e-3
"""[m] beside an edge where its surface is looked for."""
_UPRIGHT = 0.3
"""A surface whose normal has no more than this along that of the contact cannot give it."""
_COMMON_NORMAL = 0.99
"""Cosine between the normals of both sides of an edge that counts as flat."""

_Point: TypeAlias = Sequence[Any]
"""As ``getContactPoints`` gives it."""


def any_false_edge(client_id: int, body: int, least: float) -> bool:
    """Whether a flat inner edge of something fixed has stopped a body in the last step.

    Args:
        client_id: The world.
        body: That may slide on a mesh.
        least: Force [N] from which on a contact is looked at.
    """
    return any(
        point[9] > least and _is_inner(client_id, point)
        for point in pybullet.getContactPoints(body, physicsClientId=client_id)
    )


def _is_inner(client_id: int, point: _Point) -> bool:
    """Whether the surface goes on, flat, on both sides of a contact, and lies along its normal."""
    if pybullet.getDynamicsInfo(point[2], point[4], physicsClientId=client_id)[0] != 0.0:
        return False
    place, normal = np.array(point[6]), np.array(point[7])
    across = np.eye(3)[np.argmin(np.abs(normal))]
    first = np.cross(normal, across)
    first /= np.linalg.norm(first)
    second = np.cross(normal, first)
    fan = [first, second, first + second, first - second]
    ways = [sign * way / np.linalg.norm(way) for way in fan for sign in (1.0, -1.0)]
    beyond = place - _ASIDE * normal
    met = _met(client_id, point, [(beyond, way) for way in ways])
    along = [
        (abs(float(found @ way)), found)
        for found, way in zip(met, ways, strict=True)
        if found is not None and abs(float(found @ normal)) < _UPRIGHT
    ]
    if not along:
        return False
    surface = max(along, key=lambda entry: entry[0])[1]
    before = _met(client_id, point, [(place + _ASIDE * normal, surface)])[0]
    return before is not None and float(before @ surface) > _COMMON_NORMAL


def _met(
    client_id: int, point: _Point, probes: Sequence[tuple[FloatArray, FloatArray]]
) -> list[FloatArray | None]:
    """Normals of the partner's surface where rays against directions meet it at a place."""
    starts = [(place + 2.0 * _ASIDE * way).tolist() for place, way in probes]
    ends = [(place - 2.0 * _ASIDE * way).tolist() for place, way in probes]
    hits = pybullet.rayTestBatch(starts, ends, physicsClientId=client_id)
    return [np.array(hit[4]) if (hit[0], hit[1]) == (point[2], point[4]) else None for hit in hits]
