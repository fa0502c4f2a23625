"""What the engine is given after a solve: torques, pushes on bases, velocity motors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pybullet

from gltf_bullet.solver.articulation_arrays import FLOATING, STATE_SIZES
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["JointCommands", "Pushes", "Target"]

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
