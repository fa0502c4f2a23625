"""Bodies that are inside of something leave it without a kick.

The engine turns a depth into speed, ``ERP depth / dt``, and the speed stays: a box of 0.4 m that
begins 0.1 m deep in the ground leaves it at 1.9 m/s at 240 Hz (measured). What bodies get in this
way is taken from them again, step by step, until they are out: the depth shrinks all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import pybullet

from gltf_bullet.bullet.contacts.load_overlaps import LoadOverlap
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.transforms import FloatArray, Vec3

__all__ = ["Rising", "SoftExits"]

_SHALLOW = 1e-3
"""[m] of depth that a body is let out of as the engine does it."""

_FROM_FAR = 1e3
"""[m] A way within a step that is longer than any body may go unasked."""

Rising: TypeAlias = tuple[int, Vec3]
"""Row of a body, and the way within a step that brought it in [m]."""


class SoftExits:
    """The free dynamic bodies of one scene."""

    def __init__(self, client_id: int, plans: Sequence[BodyPlan], ids: Sequence[int]) -> None:
        """Name the bodies, by row."""
        self._client_id = client_id
        self._ids = ids
        self._row_of = {body_id: row for row, body_id in enumerate(ids)}
        self._masses = [plan.mass for plan in plans]

    def inside(self, overlaps: Sequence[LoadOverlap]) -> Iterator[Rising]:
        """Bodies that begin inside of others, as if they had come the shortest way."""
        for overlap in overlaps:
            for (body, _), sign in ((overlap.first, -1.0), (overlap.second, 1.0)):
                row = self._row_of.get(body, -1)
                if row >= 0 and self._masses[row] > 0.0:
                    x, y, z = (sign * _FROM_FAR * n for n in overlap.normal)
                    yield row, (x, y, z)

    def rise(self, rising: Sequence[Rising], furthest: FloatArray) -> tuple[Rising, ...]:
        """Take from bodies the speed that they are pushed out with; returns who is still deep.

        Looked at are contacts that stopped the body; others keep a sliding one from sinking.

        Args:
            rising: Who is let out.
            furthest: How far each body may come against a surface to count as sliding [m], by row.
        """
        still: list[Rising] = []
        before: dict[int, tuple[Vec3, Vec3]] = {}
        after: dict[int, Vec3] = {}

        def velocity_of(body: int) -> Vec3:
            if body not in before:
                before[body] = pybullet.getBaseVelocity(body, self._client_id)
            return before[body][0]

        for row, way in rising:
            body, deepest = self._ids[row], 0.0
            after.setdefault(body, velocity_of(body))
            for point in pybullet.getContactPoints(body, physicsClientId=self._client_id):
                normal, other = point[7], point[2]
                if point[8] >= 0.0 or -_dot(normal, way) < furthest[row]:
                    continue
                deepest = min(deepest, point[8])
                # What both have in common stays: pushes move no common centre of mass.
                own = self._share(row, other)
                common = own * _dot(normal, velocity_of(body))
                common += (1.0 - own) * _dot(normal, velocity_of(other))
                away = _dot(normal, after[body]) - common
                if away > 0.0:
                    x, y, z = (v - away * n for v, n in zip(after[body], normal, strict=True))
                    after[body] = (x, y, z)
            if deepest < -_SHALLOW:
                still.append((row, way))
        for body, velocity in after.items():
            if velocity != before[body][0]:
                pybullet.resetBaseVelocity(
                    body, velocity, before[body][1], physicsClientId=self._client_id
                )
        return tuple(still)

    def _share(self, row: int, other: int) -> float:
        """Of the mass of a body and what it is in, the body's own share; 0 against fixed ones."""
        if other in self._row_of:
            mass = self._masses[self._row_of[other]]
        else:
            mass = pybullet.getDynamicsInfo(other, -1, physicsClientId=self._client_id)[0]
        return float(self._masses[row] / (self._masses[row] + mass)) if mass > 0.0 else 0.0


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
