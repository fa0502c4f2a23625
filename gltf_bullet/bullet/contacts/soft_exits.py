"""Bodies that are inside of something leave it without a kick.

The engine turns a depth into speed, ``ERP depth / dt``, and the speed stays: a box of 0.4 m that
begins 0.1 m deep in the ground leaves it at 1.9 m/s at 240 Hz (measured). What bodies get in this
way is taken from them again, step by step, until they are out: the depth shrinks all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.contacts.load_overlaps import LoadOverlap
from gltf_bullet.bullet.contacts.restitution_tuning import pushing_out
from gltf_bullet.transforms import FloatArray, Vec3, matrices_from_quats

__all__ = ["Rising", "SoftExits"]

_SHALLOW = 1e-3
"""[m] of depth that a body is let out of as the engine does it."""

_PASSES = 8
"""Over the contacts of a body that is let out: a box has four."""

_FROM_FAR = 1e3
"""[m] A way within a step that is longer than any body may go unasked."""

_STILL = (0.0, 0.0, 0.0)

Rising: TypeAlias = tuple[int, Vec3, Vec3]
"""Row of a body, and the way [m] and the turn [rad] within a step that brought it in."""


class SoftExits:
    """The free dynamic bodies of one scene."""

    def __init__(
        self, client_id: int, masses: Sequence[float], moments: FloatArray, ids: Sequence[int]
    ) -> None:
        """Name the bodies, by row: masses [kg] and principal moments [kg m^2], shape [n, 3]."""
        self._client_id = client_id
        self._ids = ids
        self._row_of = {body_id: row for row, body_id in enumerate(ids)}
        self.masses, self._moments = masses, moments

    def inside(self, overlaps: Sequence[LoadOverlap]) -> Iterator[Rising]:
        """Bodies that begin inside of others, as if they had come the shortest way."""
        for overlap in overlaps:
            for (body, _), sign in ((overlap.first, -1.0), (overlap.second, 1.0)):
                row = self._row_of.get(body, -1)
                if row >= 0 and self.masses[row] > 0.0:
                    x, y, z = (sign * _FROM_FAR * n for n in overlap.normal)
                    yield row, (x, y, z), _STILL

    def rise(
        self, rising: Sequence[Rising], furthest: FloatArray, time_step: float
    ) -> tuple[Rising, ...]:
        """Take from bodies the speed that they are pushed out with; returns who is still deep.

        Looked at are contacts that stopped the body; others keep a sliding one from sinking. A
        contact gives back no more than its depth can have given, as an impulse at its place: what
        rocks after its landing rises as well.

        Args:
            rising: Who is let out.
            furthest: How far each body may come against a surface to count as sliding [m], by row.
            time_step: [s] of the engine's last substep.
        """
        still: list[Rising] = []
        before: dict[int, tuple[Vec3, Vec3]] = {}
        pushed: dict[int, _Pushed] = {}
        erp = pushing_out(time_step)

        def velocity_of(body: int) -> tuple[Vec3, Vec3]:
            if body not in before:
                before[body] = pybullet.getBaseVelocity(body, self._client_id)
            return before[body]

        for row, way, turn in rising:
            body, deepest = self._ids[row], 0.0
            center = pybullet.getBasePositionAndOrientation(body, self._client_id)[0]
            for point in pybullet.getContactPoints(body, physicsClientId=self._client_id):
                place, normal, other = point[6], point[7], point[2]
                if point[8] >= 0.0 or -_speed_at(place, normal, center, way, turn) < furthest[row]:
                    continue
                deepest = min(deepest, point[8])
                if body not in pushed:
                    pushed[body] = self._pushed(row, *velocity_of(body))
                partner = pybullet.getBasePositionAndOrientation(other, self._client_id)[0]
                common = _speed_at(place, normal, partner, *velocity_of(other))
                # What both have in common stays: pushes move no common centre of mass.
                most = (1.0 - self._share(row, other)) * -point[8] * erp / time_step
                pushed[body].contacts.append(_Push(place, normal, common, most))
            if deepest < -_SHALLOW:
                still.append((row, way, turn))
        for body, one in pushed.items():
            if one.settle():
                pybullet.resetBaseVelocity(
                    body, one.velocity, one.spin, physicsClientId=self._client_id
                )
        return tuple(still)

    def _pushed(self, row: int, velocity: Vec3, spin: Vec3) -> _Pushed:
        center, rotation = pybullet.getBasePositionAndOrientation(self._ids[row], self._client_id)
        axes = matrices_from_quats(np.array(rotation))
        with np.errstate(divide="ignore"):
            turns = np.where(self._moments[row] > 0.0, 1.0 / self._moments[row], 0.0)
        turn_ease = ((axes * turns) @ axes.T).tolist()
        return _Pushed(center, list(velocity), list(spin), 1.0 / self.masses[row], turn_ease)

    def _share(self, row: int, other: int) -> float:
        """Of the mass of a body and what it is in, the body's own share; 0 against fixed ones."""
        if other in self._row_of:
            mass = self.masses[self._row_of[other]]
        else:
            mass = pybullet.getDynamicsInfo(other, -1, physicsClientId=self._client_id)[0]
        return float(self.masses[row] / (self.masses[row] + mass)) if mass > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class _Push:
    """A contact that pushes a body out."""

    place: Vec3
    normal: Vec3
    common: float
    """Speed along the normal of the partner's surface [m/s]."""
    most: float
    """Speed that the push can have given [m/s]."""


@dataclass(slots=True, eq=False)
class _Pushed:
    """A body, and the contacts that push it out of something."""

    center: Vec3
    velocity: list[float]
    spin: list[float]
    ease: float
    """One over the mass [1/kg]."""
    turn_ease: list[list[float]]
    """Inverse inertia in world axes, 3 x 3."""
    contacts: list[_Push] = field(default_factory=list)

    def settle(self) -> bool:
        """Take the impulses of the pushes back; returns whether there were any."""
        given = [0.0] * len(self.contacts)
        # Plain numbers: arrays of three take ten times as long, of hundreds that land (measured).
        pushes = [(push, *self._lever(push)) for push in self.contacts]
        for _ in range(_PASSES):
            for number, (push, lever, turn, ease) in enumerate(pushes):
                away = _dot(push.normal, self.velocity) + _dot(lever, self.spin) - push.common
                now = min(max(given[number] + away / ease, 0.0), push.most / ease)
                change, given[number] = now - given[number], now
                for k in range(3):
                    self.velocity[k] -= change * self.ease * push.normal[k]
                    self.spin[k] -= change * turn[k]
        return any(given)

    def _lever(self, push: _Push) -> tuple[Vec3, Vec3, float]:
        """Of a push: its moment, what that turns, and how easily it moves the body."""
        a, b, c = (p - q for p, q in zip(push.place, self.center, strict=True))
        x, y, z = push.normal
        lever = (b * z - c * y, c * x - a * z, a * y - b * x)
        p, q, r = (_dot(row, lever) for row in self.turn_ease)
        return lever, (p, q, r), self.ease + lever[0] * p + lever[1] * q + lever[2] * r


def _speed_at(place: Vec3, normal: Vec3, center: Vec3, velocity: Vec3, spin: Vec3) -> float:
    """Of a body's surface at a place, along a normal [m/s]."""
    (x, y, z), (a, b, c) = spin, (p - q for p, q in zip(place, center, strict=True))
    turned = (y * c - z * b, z * a - x * c, x * b - y * a)
    return _dot(normal, velocity) + _dot(normal, turned)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
