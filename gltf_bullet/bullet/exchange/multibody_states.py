"""Bases and joints of many multibodies, read into one array: one or two calls a multibody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from struct import Struct
from typing import TypeAlias

import pybullet

from gltf_bullet.solver.articulation_arrays import ANCHOR, FLOATING, STATE_SIZES
from gltf_bullet.transforms import FloatArray

__all__ = ["MultibodyStates", "StateSource"]

StateSource: TypeAlias = tuple[int, int, tuple[tuple[int, bool], ...]]
"""Body id; how many numbers of its base are read, if any; link of each joint, and whether it is a
ball."""

_BasePose: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]
"""Position [m] and rotation xyzw."""

_AT_REST = (0.0,) * (STATE_SIZES[ANCHOR] - STATE_SIZES[FLOATING])
"""Acceleration of a base that nothing moves."""
_NO_MOTORS = (0.0,) * 6
"""Of a base that moves."""


class MultibodyStates:
    """Where the engine has some multibodies, and how they move."""

    def __init__(
        self,
        client_id: int,
        sources: Sequence[StateSource],
        numbers: FloatArray,
        motors: FloatArray,
    ) -> None:
        """Prepare the calls.

        Args:
            client_id: The world.
            sources: In the order of their numbers.
            numbers: Receives what :meth:`read` finds, as the joints' arena has it.
            motors: Receives what the engine's motors exert [N m, N], in the order of commands.
        """
        self._client_id = client_id
        self._sources = [
            (
                body,
                floats,
                [link for link, _ in links],
                [number for number, (_, ball) in enumerate(links) if ball],
            )
            for body, floats, links in sources
        ]
        self._pack = Struct(f"{len(numbers)}d").pack_into
        self._pack_motors = Struct(f"{len(motors)}d").pack_into
        self._numbers, self._motors = numbers.data, motors.data
        self._fixed: dict[int, tuple[_BasePose, tuple[float, ...]]] = {}
        """Pose of each fixed base that rests, and what is read of it."""

    def read(self, *, is_next: bool = False) -> bool:
        """Take coordinates and velocities of everything from the engine.

        Where they are not finite it is ``False``, and the numbers of before are kept.

        ``is_next``: nobody but the engine had a say since the last time; what rests still does.
        """
        state: list[float] = []
        motors: list[float] = []
        client = self._client_id
        for body, floats, links, balls in self._sources:
            if floats == STATE_SIZES[FLOATING]:
                for part in pybullet.getBasePositionAndOrientation(body, client):
                    state += part
                for part in pybullet.getBaseVelocity(body, client):
                    state += part
            elif floats:
                rests = is_next and body in self._fixed
                state += self._fixed[body][1] if rests else self._read_fixed(body)
            if balls:
                joints = pybullet.getJointStatesMultiDof(body, links, client)
                for joint in joints:
                    state += joint[0]
                    state += joint[1]
                motors += [joint[3][0] for joint in joints if len(joint[1]) == 1]
                for number in balls:
                    motors += joints[number][3]
            elif links:
                for joint in pybullet.getJointStates(body, links, client):
                    state += joint[:2]
                    motors.append(joint[3])
            if floats == STATE_SIZES[FLOATING]:
                motors += _NO_MOTORS
        if not math.isfinite(sum(state)):
            return False
        # Three times as fast as an assignment to the array (measured).
        self._pack(self._numbers, 0, *state)
        self._pack_motors(self._motors, 0, *motors)
        return True

    def _read_fixed(self, body: int) -> tuple[float, ...]:
        """The state of a base of mass 0, which only its user moves, as an anchor's.

        Its velocity is asked for where its pose has changed, as it does in each step of a base
        that was given one (measured: 3 us a call, of a cart-pole's 35).
        """
        pose = pybullet.getBasePositionAndOrientation(body, self._client_id)
        known = self._fixed.get(body)
        if known is not None and known[0] == pose:
            return known[1]
        linear, angular = pybullet.getBaseVelocity(body, self._client_id)
        state = (*pose[0], *pose[1], *linear, *angular, *_AT_REST)
        if not (any(linear) or any(angular)):
            self._fixed[body] = pose, state
        return state

    def forget_bases(self) -> None:
        """Ask for the velocities of fixed bases in the next step: a snapshot begins with it."""
        self._fixed.clear()
