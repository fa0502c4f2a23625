"""What the engine is given after a solve: torques, pushes on bases, velocity motors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from struct import Struct
from typing import TypeAlias

import pybullet

from gltf_bullet.solver.articulation_arrays import ANCHOR, FLOATING, STATE_SIZES
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["JointCommands", "MultibodyStates", "Pushes", "StateSource", "Target"]

Target: TypeAlias = tuple[int, list[int], list[int], bool]
"""Body id; links of its axes and of its balls; whether its base is pushed as well."""

Pushes: TypeAlias = "dict[int, tuple[list[float], list[list[float]]]]"
"""By body: of hinges and slides, and of balls [3]."""


class JointCommands:
    """Of the joints of one scene."""

    def __init__(
        self,
        client_id: int,
        sources: Sequence[tuple[int, int, Sequence[tuple[int, bool]]]],
        commands: FloatArray,
        motor_targets: FloatArray,
        motor_bounds: FloatArray,
        own_motors: IntArray,
        taken: Callable[[], list[float]],
    ) -> None:
        """Prepare the calls.

        Args:
            client_id: The world.
            sources: As of ``MultibodyStates``.
            commands: Forces as the solve leaves them, body by body: axes, balls [3], base [6].
            motor_targets: Velocities in the same order.
            motor_bounds: Largest forces of the motors, likewise; 0 where none is needed.
            own_motors: Receives 1 for motors that are set here, likewise.
            taken: Tells which axes the motors of others have, likewise.
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
        self._own_motors, self._taken = own_motors, taken
        self.has_motors = False
        """Tell whether some axis is under a motor of ours, or may be."""
        self._motor_axes: set[tuple[int, int]] = set()
        """Axes (body, link) whose motor is ours at present; others may be the user's."""

    def tell(self) -> None:
        """Give the engine what the solve has found."""
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
        """Use the engine's velocity motors where the last step went otherwise than foreseen.

        They act within the engine's own solve of contacts, with a bounded force. Torques that were
        meant for other contacts than those that come about feed energy in without end (measured: 6
        of 24 ragdolls dropped at 60 Hz). Axes that others have taken keep the motors that they gave
        them: a robot under ``POSITION_CONTROL`` fell to the floor without (measured).
        """
        targets: list[float] = self._motor_targets.tolist()
        bounds: list[float] = self._motor_bounds.tolist()
        taken, at = self._taken(), 0
        for body, axes, balls, floats in self.targets:
            end = at + len(axes)
            self._motor_axes -= {(body, axes[k]) for k in range(len(axes)) if taken[at + k]}
            ours = [
                (axis, target, bound)
                for axis, target, bound in zip(axes, targets[at:end], bounds[at:end], strict=True)
                if bound or (body, axis) in self._motor_axes
            ]
            if ours:
                pybullet.setJointMotorControlArray(
                    body,
                    [axis for axis, _, _ in ours],
                    pybullet.VELOCITY_CONTROL,
                    targetVelocities=[target for _, target, _ in ours],
                    forces=[bound for _, _, bound in ours],
                    physicsClientId=self.client_id,
                )
            for axis, _, bound in ours:
                (self._motor_axes.add if bound else self._motor_axes.discard)((body, axis))
            self._own_motors[at:end] = [(body, axis) in self._motor_axes for axis in axes]
            at = end + 3 * len(balls) + 6 * bool(floats)
        self.has_motors = bool(self._motor_axes)

    def forget(self) -> None:
        """Set the motors that are ours anew: the next solve is one of another moment."""
        self.has_motors = bool(self._motor_axes)

    def pushes(self) -> Pushes:
        """What the engine was given last."""
        commands: list[float] = self._commands.tolist()
        found, at = {}, 0
        for body, axes, balls, floats in self.targets:
            end = at + len(axes)
            last = end + 3 * len(balls)
            found[body] = commands[at:end], [commands[k : k + 3] for k in range(end, last, 3)]
            at = last + 6 * bool(floats)
        return found


# --- Bases and joints of many multibodies, read into one array: one or two calls a multibody ------

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
