"""Where articulations and free bodies were within the last step, and how they are left there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.solver import arena as slots
from gltf_bullet.transforms import (
    FloatArray,
    quat_from_rotation_vector,
    quat_multiply,
    turned,
)

__all__ = ["ArticulationPath", "FreePath", "Path"]


class Path(Protocol):
    """Something that moved in the last step."""

    def place(self, share: float) -> None:
        """Put it where it was after a share of the step."""

    def leave(self, share: float, gravity: Sequence[float]) -> None:
        """Put it there for good, without the velocity that gravity gave it afterwards."""


class ArticulationPath:
    """All joints and bases of an articulation, which go back together."""

    def __init__(self, articulation: Articulation, dt: float) -> None:
        """Read the state after a step of ``dt`` seconds."""
        self._articulation, self._dt = articulation, dt
        client = articulation.client_id
        self._bases = [_Base(client, body) for body in articulation.body_ids]
        self._links: list[list[int]] = [[] for _ in articulation.body_ids]
        self._dofs: list[list[int]] = [[] for _ in articulation.body_ids]
        for dof, index in zip(articulation.plan.dofs, articulation.record.dof_index, strict=True):
            self._links[dof.multibody].append(dof.link)
            self._dofs[dof.multibody].append(index)
        self._states = [
            pybullet.getJointStatesMultiDof(body, links, client) if links else ()
            for body, links in zip(articulation.body_ids, self._links, strict=True)
        ]
        self._velocities = [[state[1] for state in states] for states in self._states]

    def place(self, share: float) -> None:
        """See :class:`Path`."""
        back = (1.0 - share) * self._dt
        for body, base, links, states, velocities in zip(
            self._articulation.body_ids,
            self._bases,
            self._links,
            self._states,
            self._velocities,
            strict=True,
        ):
            base.place(back)
            if links:
                pybullet.resetJointStatesMultiDof(
                    body,
                    links,
                    [_before(state[0], state[1], back) for state in states],
                    velocities,
                    physicsClientId=self._articulation.client_id,
                )

    def leave(self, share: float, gravity: Sequence[float]) -> None:
        """See :class:`Path`."""
        articulation, lost = self._articulation, (1.0 - share) * self._dt
        states = articulation.read()
        energy = _kinetic_energy(articulation)
        links = articulation.arena.model(
            articulation.record, slots.LINK, len(states.masses), slots.LINK_SIZE
        )
        weights = states.masses * links[:, slots.LINK_GRAVITY_FACTOR]
        gain = lost * articulation.accelerations(states, np.outer(weights, gravity))
        # The balance of momentum shall not take it for a load.
        articulation.arena.model(articulation.record, slots.EXPECTED, len(gain))[:] -= gain
        for k, dofs in enumerate(self._dofs):
            self._velocities[k] = [
                (np.array(state[1]) - gain[dof : dof + len(state[1])]).tolist()
                for state, dof in zip(self._states[k], dofs, strict=True)
            ]
            base = articulation.record.base_index.get(k)
            if base is not None:
                self._bases[k].slow(gain[base : base + 6])
        self.place(share)
        # The same velocities of joints that are turned back hold another energy (measured: a ring
        # whose bars turn by a radian in a step, four times as much).
        articulation.evaluate()
        now = _kinetic_energy(articulation)
        if now > energy:
            velocity = articulation.arena.table(articulation.record, slots.VELOCITY, len(gain))
            # Of masses 1e12 apart rounding makes it negative.
            articulation.set_velocities(math.sqrt(max(energy, 0.0) / now) * velocity)
        articulation.note_places()


def _kinetic_energy(articulation: Articulation) -> float:
    """As it was evaluated last [J]."""
    n, table = articulation.record.dof_count, articulation.arena.table
    mass = table(articulation.record, slots.MASS, n, n)
    velocity = table(articulation.record, slots.VELOCITY, n)
    return 0.5 * float(velocity @ mass @ velocity)


class FreePath:
    """A body without joints, or one that nothing moves."""

    def __init__(self, client_id: int, body: int, dt: float, *, may_go_back: bool) -> None:
        """Read the state after a step of ``dt`` seconds; other people's bodies stay there."""
        self._base, self._dt = _Base(client_id, body), dt
        mass = pybullet.getDynamicsInfo(body, -1, physicsClientId=client_id)[0]
        self._may_go_back = may_go_back and mass > 0.0

    def place(self, share: float) -> None:
        """See :class:`Path`."""
        self._base.place((1.0 - share) * self._dt)

    def leave(self, share: float, gravity: Sequence[float]) -> None:
        """See :class:`Path`; what follows a path of its own stays on it."""
        if self._may_go_back:
            lost = (1.0 - share) * self._dt
            self._base.slow(np.array([*(lost * g for g in gravity), 0.0, 0.0, 0.0]))
            self.place(share)


class _Base:
    """The base of a multibody."""

    def __init__(self, client_id: int, body: int) -> None:
        self._client_id, self._body = client_id, body
        self._position, self._rotation = pybullet.getBasePositionAndOrientation(body, client_id)
        linear, angular = pybullet.getBaseVelocity(body, client_id)
        self.linear, self.angular = np.array(linear), np.array(angular)
        self._way = (*linear, *angular)
        self._new = linear, angular
        self._is_moving = any(self._way)

    def slow(self, gain: FloatArray) -> None:
        """Take velocities [6] back, linear and angular."""
        self._new = (self.linear - gain[:3]).tolist(), (self.angular - gain[3:]).tolist()

    def place(self, back: float) -> None:
        """Put it where it was ``back`` seconds ago."""
        if self._is_moving:
            self.move([-back * x for x in self._way])

    def move(self, way: Sequence[float]) -> None:
        """Put it elsewhere by a way [6] in m and rad, from where it is."""
        x, y, z = self._position
        pybullet.resetBasePositionAndOrientation(
            self._body,
            (x + way[0], y + way[1], z + way[2]),
            turned(self._rotation, way[3], way[4], way[5]),
            physicsClientId=self._client_id,
        )
        linear, angular = self._new
        pybullet.resetBaseVelocity(self._body, linear, angular, physicsClientId=self._client_id)


def _before(
    position: Sequence[float], velocity: Sequence[float] | FloatArray, back: float
) -> list[float]:
    """The coordinates of a joint ``back`` seconds ago; balls turn about their child's axes."""
    if len(position) == 4:
        turn = quat_from_rotation_vector(-back * np.array(velocity))
        found: list[float] = quat_multiply(np.array(position), turn).tolist()
        return found
    return [x - back * v for x, v in zip(position, velocity, strict=True)]
