"""Which ids the bodies of one ``createMultiBody(batchPositions=...)`` have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pybullet

from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import Vec3

__all__ = ["ids_of_batch"]

_ROUNDING = 1e-9
"""Of a distance from the origin, or in metres near it."""


def ids_of_batch(
    client_id: int,
    told: Sequence[int],
    places: Sequence[Vec3],
    is_known: Callable[[int], bool],
) -> list[int]:
    """The ids of the bodies that were created at some places, in their order.

    PyBullet says that they end one after the other with the last one. Where bodies were removed
    before, their ids are given out again, last in, first out, and what it says are other bodies'
    (measured): then the new ones are found by where they stand.

    Args:
        client_id: The world.
        told: What ``createMultiBody`` returned.
        places: Of the bodies' centres of mass [m].
        is_known: Whether an id is that of an older body of ours.

    Raises:
        EngineError: A body cannot be found.
    """
    if all(
        not is_known(body) and _stands_at(client_id, body, place)
        for body, place in zip(told, places, strict=True)
    ):
        return list(told)
    from scipy.spatial import KDTree

    pybullet.syncBodyInfo(client_id)
    every = [
        pybullet.getBodyUniqueId(number, client_id)
        for number in range(pybullet.getNumBodies(client_id))
    ]
    # The newest first: of several at one place those that were there before stay what they are.
    unknown = [body for body in reversed(every) if not is_known(body)]
    where = [pybullet.getBasePositionAndOrientation(body, client_id)[0] for body in unknown]
    near = KDTree(where).query_ball_point(places, [_slack(place) for place in places])
    ids: list[int] = []
    taken: set[int] = set()
    for rows in near:
        free = [row for row in sorted(rows) if row not in taken]
        if not free:
            raise EngineError("bodies that were created cannot be found among those of the world")
        taken.add(free[0])
        ids.append(unknown[free[0]])
    return ids


def _stands_at(client_id: int, body: int, place: Vec3) -> bool:
    try:
        position, _ = pybullet.getBasePositionAndOrientation(body, client_id)
    except pybullet.error:
        return False
    return math.dist(position, place) <= _slack(place)


def _slack(place: Vec3) -> float:
    return _ROUNDING * max(1.0, *map(abs, place))
