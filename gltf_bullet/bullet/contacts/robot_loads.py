"""What drives the links of other people's robots that press on our joints.

The solve takes such a link for a free body. Without what its motors do it would give way to every
push, and a stiff drive that it presses on would rest where no law puts it (measured: 37 times its
way at k = 1e5 and 60 Hz). The balance of momentum of the last step tells, as far as it lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.islands import CONTACT, FREE, HELD
from gltf_bullet.transforms import FloatArray, cross, matrices_from_quats

__all__ = ["LoadMemory", "RobotLoads"]

LoadMemory: TypeAlias = "dict[tuple[int, int], tuple[FloatArray, FloatArray, float]]"
"""By body and link: velocity and spin [6], what else than contacts changes them per second [6], and
the length of the step that follows [s]."""

_FIELDS = 4
"""First of the fields of a contact, behind bodies and links."""


class RobotLoads:
    """Of the links that touched something in the last step."""

    def __init__(self) -> None:
        self.memory: LoadMemory = {}
        """What the next step needs to know of the last one; replaced, never changed."""
        self._next: LoadMemory = {}

    def find(
        self, rows: FloatArray, dt: float, body: int, link: int, values: Sequence[float]
    ) -> tuple[float, ...] | None:
        """What motors and gravity will add to velocity and spin in the coming step [6].

        ``None`` where the link has only just been met.

        Args:
            rows: The engine's contacts, ROW_SIZE numbers each.
            dt: [s]
            body: The robot.
            link: Which of its links.
            values: Of the link, as ``islands`` has them.
        """
        velocity = np.array(values[FREE.velocity : FREE.velocity + 6])
        before = self.memory.get((body, link))
        if before is None:
            self._next[body, link] = velocity, np.zeros(6), dt
            return None
        known, rate, last_dt = before
        now = (velocity - known - _contact_gain(body, link, values, rows, dt)) / last_dt
        self._next[body, link] = velocity, now, dt
        lasts = now * rate > 0.0
        believed = np.where(np.abs(now) < np.abs(rate), now, rate)
        return tuple(np.where(lasts, dt * believed, 0.0).tolist())

    def turn_over(self) -> None:
        """The step is over that :meth:`find` was asked about."""
        if self.memory or self._next:
            self.memory, self._next = self._next, {}


def _contact_gain(
    body: int, link: int, values: Sequence[float], rows: FloatArray, dt: float
) -> FloatArray:
    """What the contacts of the last step have changed of a link's velocity and spin, [6]."""
    table = rows.reshape(-1, ROW_SIZE)
    table = table[table[:, _FIELDS + CONTACT.distance] > -HELD]
    force, torque = np.zeros(3), np.zeros(3)
    for side, sign in ((0, 1.0), (1, -1.0)):
        mine = table[(table[:, side] == body) & (table[:, 2 + side] == link), _FIELDS:]
        directions = mine[:, CONTACT.directions : CONTACT.distance].reshape(-1, 3, 3)
        pushes = mine[:, CONTACT.forces : CONTACT.forces + 3]
        forces = sign * np.einsum("nk,nki->ni", pushes, directions)
        arms = 0.5 * (mine[:, :3] + mine[:, 3:6]) - np.array(values[:3])
        force += forces.sum(axis=0)
        torque += cross(arms, forces).sum(axis=0)
    turn = matrices_from_quats(np.array(values[FREE.rotation : FREE.rotation + 4]))
    moments = np.array(values[FREE.moments : FREE.moments + 3])
    spin = turn @ ((turn.T @ torque) / moments)
    return dt * np.concatenate([force / values[FREE.mass], spin])
