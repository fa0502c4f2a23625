"""The state of some bodies only: what lets one scene go back while its neighbours go on.

``pybullet.restoreState`` knows whole worlds. Poses, velocities and joints can be written body by
body; contacts cannot, so they are found anew in the next step (a resting body settles again).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pybullet

from gltf_bullet.errors import EngineError

__all__ = ["BodyState", "BodyStates", "is_placed", "read_body", "write_body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyState:
    """Of one body."""

    base: tuple[Any, Any, Any, Any]
    """Position [m], rotation xyzw, velocity [m/s] and spin [rad/s] of the inertial frame."""
    joints: tuple[tuple[int, Any, Any], ...]
    """Link, position and velocity of every joint that can move."""


class BodyStates:
    """Poses, velocities and joint positions of some bodies, in their order. Picklable."""

    __slots__ = ("_states",)

    def __init__(self, client_id: int, body_ids: Sequence[int]) -> None:
        """Read the bodies as they are now."""
        self._states = [read_body(client_id, body) for body in body_ids]

    def restore(self, client_id: int, body_ids: Sequence[int]) -> None:
        """Put bodies back; their ids may be others than those that were read.

        Raises:
            EngineError: There are more or fewer bodies, or PyBullet refused.
        """
        if len(body_ids) != len(self._states):
            raise EngineError(f"{len(body_ids)} bodies; the state has {len(self._states)}")
        try:
            for body, state in zip(body_ids, self._states, strict=True):
                write_body(client_id, body, state)
        except pybullet.error as error:
            raise EngineError(f"restoring bodies: {error}") from error


def read_body(client_id: int, body: int) -> BodyState:
    """As it is now."""
    position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
    velocity, spin = pybullet.getBaseVelocity(body, client_id)
    joints = []
    for link in range(pybullet.getNumJoints(body, physicsClientId=client_id)):
        state = pybullet.getJointStateMultiDof(body, link, physicsClientId=client_id)
        if len(state[0]):
            joints.append((link, state[0], state[1]))
    return BodyState(base=(position, rotation, velocity, spin), joints=tuple(joints))


def write_body(client_id: int, body: int, state: BodyState) -> None:
    """Put a body back."""
    position, rotation, velocity, spin = state.base
    pybullet.resetBasePositionAndOrientation(body, position, rotation, physicsClientId=client_id)
    pybullet.resetBaseVelocity(body, velocity, spin, physicsClientId=client_id)
    for link, place, speed in state.joints:
        pybullet.resetJointStateMultiDof(body, link, place, speed, physicsClientId=client_id)


def is_placed(client_id: int, body: int, state: BodyState) -> bool:
    """Whether a body stands where a state has it, to the bit."""
    position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
    return bool((position, rotation) == state.base[:2])
