"""Robots as PyBullet loads them, and as its users hold them in a pose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pybullet
import pybullet_data

from gltf_bullet.transforms import Vec3

__all__ = ["HeldRobot", "robot_file", "robot_loads"]

_AXES = (pybullet.JOINT_REVOLUTE, pybullet.JOINT_PRISMATIC)
_LIMITS = slice(8, 10)
"""Where ``getJointInfo`` has them."""
_INSIDE = 0.05
"""[rad or m] by which a pose is inside of limits."""


def robot_file(name: str) -> Path:
    """A robot that ``pybullet_data`` ships, by its path without suffix."""
    return Path(pybullet_data.getDataPath()) / f"{name}.urdf"


def robot_loads(client_id: int, path: Path, *, fixed_base: bool = False) -> Callable[[Vec3], int]:
    """``loadURDF`` of a robot at a place [m]; it returns the body's id."""
    # No keyword more than a user would write.
    asked = {"useFixedBase": True} if fixed_base else {}

    def load(place: Vec3) -> int:
        return int(pybullet.loadURDF(str(path), place, **asked, physicsClientId=client_id))

    return load


class HeldRobot:
    """A robot whose user gives all its axes a position in every step, and reads them after it."""

    def __init__(self, client_id: int, body_id: int) -> None:
        """Put the joints where they are to be held: at 0, or as near as their limits let them."""
        self._client_id, self._body_id = client_id, body_id
        count = pybullet.getNumJoints(body_id, physicsClientId=client_id)
        infos = [pybullet.getJointInfo(body_id, k, physicsClientId=client_id) for k in range(count)]
        self._axes = [info[0] for info in infos if info[2] in _AXES]
        self._targets = [_inside(*infos[axis][_LIMITS]) for axis in self._axes]
        for axis, target in zip(self._axes, self._targets, strict=True):
            pybullet.resetJointState(body_id, axis, target, physicsClientId=client_id)

    def command(self) -> None:
        """One call for all axes."""
        pybullet.setJointMotorControlArray(
            self._body_id,
            self._axes,
            pybullet.POSITION_CONTROL,
            targetPositions=self._targets,
            physicsClientId=self._client_id,
        )

    def steps(self, count: int) -> None:
        """The loop that one writes by hand: a command, a step and what it did."""
        for _ in range(count):
            self.command()
            pybullet.stepSimulation(physicsClientId=self._client_id)
            pybullet.getJointStates(self._body_id, self._axes, physicsClientId=self._client_id)


def _inside(lower: float, upper: float) -> float:
    if upper - lower < 2.0 * _INSIDE:  # no limits, or hardly any room
        return max(0.0, lower) if lower <= upper else 0.0
    return min(max(0.0, lower + _INSIDE), upper - _INSIDE)
