"""The loop that a PyBullet user writes for jointed bodies: what a scene's step is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pybullet

__all__ = ["HandLoop", "Pushes", "add_floor", "heights_of"]

Pushes: TypeAlias = Mapping[int, tuple[Sequence[float], Sequence[Sequence[float]]]]
"""By body: torques or forces of its hinges and slides in order, then torques [3] of its balls."""

_AXES = (pybullet.JOINT_REVOLUTE, pybullet.JOINT_PRISMATIC)


class HandLoop:
    """Every multibody of a world: its joints read and pushed, each by one call, then the step.

    Raises nothing, checks nothing: the shortest loop that does the job.
    """

    def __init__(self, client_id: int) -> None:
        """Look for the joints; the world as it is now is where :meth:`rewind` goes back to."""
        self._client_id = client_id
        self._bodies: list[tuple[int, list[int], list[int], list[int]]] = []
        for number in range(pybullet.getNumBodies(client_id)):
            body = pybullet.getBodyUniqueId(number, client_id)
            kinds = [
                pybullet.getJointInfo(body, joint, client_id)[2]
                for joint in range(pybullet.getNumJoints(body, client_id))
            ]
            axes = [joint for joint, kind in enumerate(kinds) if kind in _AXES]
            balls = [joint for joint, kind in enumerate(kinds) if kind == pybullet.JOINT_SPHERICAL]
            if axes or balls:
                self._bodies.append((body, axes + balls, axes, balls))
        self._start: int = pybullet.saveState(client_id)

    def rewind(self) -> None:
        """Go back to where everything was at first."""
        pybullet.restoreState(self._start, physicsClientId=self._client_id)

    def step(self, pushes: Pushes) -> None:
        """Read, push and step once."""
        client = self._client_id
        for body, joints, axes, balls in self._bodies:
            torques, ball_torques = pushes[body]
            if not balls:
                pybullet.getJointStates(body, axes, client)
            else:
                pybullet.getJointStatesMultiDof(body, joints, client)
                pybullet.setJointMotorControlMultiDofArray(
                    body,
                    balls,
                    pybullet.TORQUE_CONTROL,
                    forces=ball_torques,
                    physicsClientId=client,
                )
            if axes:
                pybullet.setJointMotorControlArray(
                    body, axes, pybullet.TORQUE_CONTROL, forces=torques, physicsClientId=client
                )
        pybullet.stepSimulation(client)


def heights_of(client_id: int, body_ids: Sequence[int]) -> tuple[float, float]:
    """How low and how high any of the bodies' links reach [m]."""
    boxes = [
        pybullet.getAABB(body, link, client_id)
        for body in body_ids
        for link in range(-1, pybullet.getNumJoints(body, client_id))
    ]
    return min(low[2] for low, _ in boxes), max(high[2] for _, high in boxes)


def add_floor(client_id: int) -> None:
    """The plane z = 0."""
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client_id)
    pybullet.createMultiBody(0, plane, physicsClientId=client_id)
