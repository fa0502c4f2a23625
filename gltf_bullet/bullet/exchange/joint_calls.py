"""Applying the solve's forces to joints and bases by PyBullet's calls, and reading their states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from struct import Struct
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.solver.articulation_arrays import ANCHOR, FLOATING, STATE_SIZES
from gltf_bullet.transforms import FloatArray, IntArray

Target: TypeAlias = tuple[int, list[int], list[int], bool]
"""Body id; links of its hinges and slides, and of its spherical joints; True if its base is free.
"""

Pushes: TypeAlias = "dict[int, tuple[list[float], list[list[float]]]]"
"""Forces by body: of hinges and slides [N m, N], and of spherical joints [N m, 3 each]."""


class JointCommands:
    """Forces and motors of the joints of one scene."""

    def __init__(
        self,
        client_id: int,
        sources: Sequence[tuple[int, int, Sequence[tuple[int, bool]]]],
        commands: FloatArray,
        motor_targets: FloatArray,
        motor_bounds: FloatArray,
        own_motors: IntArray,
    ) -> None:
        """Prepare the calls.

        Args:
            client_id: The world.
            sources: As for ``MultibodyStates``.
            commands: Forces of the solve, body by body: axes, spherical joints [3], free base [6].
            motor_targets: Velocities in the same order.
            motor_bounds: Largest forces of the motors, likewise; 0 without a motor.
            own_motors: 1 for axes with a motor of ours, likewise; others may have the user's.
        """
        self.client_id = client_id
        self.targets: list[Target] = [
            (
                body,
                [link for link, ball in links if not ball],
                [link for link, ball in links if ball],
                floats == STATE_SIZES[FLOATING],
            )
            for body, floats, links in sources
        ]
        self._commands = commands
        self._motor_targets = motor_targets
        self._motor_bounds = motor_bounds
        self._own_motors = own_motors

    def apply(self) -> None:
        """Apply the forces that the solve has found."""
        commands: list[float] = self._commands.tolist()
        client, at = self.client_id, 0
        for body, axes, balls, floats in self.targets:
            end = at + len(axes)
            if axes:
                pybullet.setJointMotorControlArray(
                    body,
                    axes,
                    pybullet.TORQUE_CONTROL,
                    forces=commands[at:end],
                    physicsClientId=client,
                )
            at = end
            if balls:
                end = at + 3 * len(balls)
                pybullet.setJointMotorControlMultiDofArray(
                    body,
                    balls,
                    pybullet.TORQUE_CONTROL,
                    forces=[commands[k : k + 3] for k in range(at, end, 3)],
                    physicsClientId=client,
                )
                at = end
            if floats:
                self._push_base(body, commands[at : at + 3], commands[at + 3 : at + 6])
                at += 6

    def _push_base(self, body: int, force: list[float], torque: list[float]) -> None:
        client = self.client_id
        if force[0] or force[1] or force[2]:
            point, _ = pybullet.getBasePositionAndOrientation(body, client)
            pybullet.applyExternalForce(body, -1, force, point, pybullet.WORLD_FRAME, client)
        if torque[0] or torque[1] or torque[2]:
            pybullet.applyExternalTorque(body, -1, torque, pybullet.WORLD_FRAME, client)

    def set_motors(self) -> None:
        """Use the engine's velocity motors where the last step went otherwise than predicted.

        They act within the engine's own solve of contacts, with a bounded force. Torques that were
        meant for other contacts than those that come about feed energy in without end (measured: 6
        of 24 ragdolls dropped at 60 Hz). Externally driven axes keep their motors: without, a robot
        under ``POSITION_CONTROL`` fell to the floor (measured).
        """
        wanted = (self._motor_bounds != 0.0) | (self._own_motors != 0)
        if not wanted.any():
            return
        at = 0
        for body, axes, balls, floats in self.targets:
            ours = (at + np.flatnonzero(wanted[at : at + len(axes)])).tolist()
            if ours:
                bounds = self._motor_bounds[ours]
                pybullet.setJointMotorControlArray(
                    body,
                    [axes[k - at] for k in ours],
                    pybullet.VELOCITY_CONTROL,
                    targetVelocities=self._motor_targets[ours].tolist(),
                    forces=bounds.tolist(),
                    physicsClientId=self.client_id,
                )
                self._own_motors[ours] = bounds != 0.0
            at += len(axes) + 3 * len(balls) + 6 * bool(floats)

    def pushes(self) -> Pushes:
        """Return the forces that were applied last."""
        commands: list[float] = self._commands.tolist()
        found, at = {}, 0
        for body, axes, balls, floats in self.targets:
            end = at + len(axes)
            last = end + 3 * len(balls)
            found[body] = commands[at:end], [commands[k : k + 3] for k in range(end, last, 3)]
            at = last + 6 * bool(floats)
        return found


# --- Reading bases and joints of many multibodies into one array: one or two calls each -----------

StateSource: TypeAlias = tuple[int, int, tuple[tuple[int, bool], ...]]
"""Body id; number of floats of its base, 0 if not read; link of each joint, True for a spherical
one.
"""

_BasePose: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]
"""Position [m] and rotation xyzw."""

_AT_REST = (0.0,) * (STATE_SIZES[ANCHOR] - STATE_SIZES[FLOATING])
"""Acceleration of a base at rest."""
_NO_MOTORS = (0.0,) * 6
"""Motor forces of a free base, which has no motors."""


class MultibodyStates:
    """Reads poses, coordinates and velocities of some multibodies."""

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
            numbers: Receives the result of :meth:`read`, with the layout of the joints' arena.
            motors: Receives the forces of the engine's motors [N m, N], in the order of commands.
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
        """Pose of each fixed base at rest, and its state."""

    def read(self) -> bool:
        """Read coordinates and velocities of everything from the engine.

        If they are not finite it returns False and keeps the former numbers.
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
                state += self._read_fixed(body)
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
        """Read the state of a base of mass 0, which only its user moves, as a kinematic one's.

        Its velocity is read only if its pose has changed, as it does in each step of a base that
        was given one (measured: 3 us a call, of a cart-pole's 35).
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
        """Read the velocities of fixed bases in the next step, as after a restored snapshot."""
        self._fixed.clear()
