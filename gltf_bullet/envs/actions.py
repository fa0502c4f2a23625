"""Numbers in [-1, 1] become targets or forces of a scene's drives."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from gltf_bullet.envs.config import DriveAction
from gltf_bullet.model import DriveMode, JointDrive
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import FloatArray

__all__ = ["DriveActions"]

_PUSH_DAMPING = 1e6
_PUSH_SPEED = 1e6
"""A drive this stiff towards a speed this high always gives exactly its ``max_force``: that makes a
constant force of it which the joints' solve knows about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Channel:
    """One number of the action."""

    index: int
    """In ``joint_controls.drives``."""
    joint_node: int
    drive: int
    authored: JointDrive
    mode: Literal["position", "velocity", "force"]
    low: float
    high: float


class DriveActions:
    """The actions of one asset; engine-free once made, picklable."""

    def __init__(self, scene: Scene, wanted: tuple[DriveAction, ...] | None) -> None:
        """Resolve names and ranges.

        Raises:
            KeyError: There is no such joint.
            ValueError: There is no such drive, or nothing says how far it may go.
        """
        if wanted is None:
            wanted = tuple(
                DriveAction(joint=d.joint_node, drive=d.drive) for d in scene.joint_controls.drives
            )
        self._channels = tuple(_resolve(scene, action) for action in wanted)
        self.low: FloatArray = np.array([c.low for c in self._channels], dtype=np.float64)
        """What -1 means, shape [count]."""
        self.high: FloatArray = np.array([c.high for c in self._channels], dtype=np.float64)
        """What 1 means, shape [count]."""

    def __len__(self) -> int:
        return len(self._channels)

    def apply(self, scene: Scene, action: npt.NDArray[np.floating]) -> FloatArray:
        """Tell the drives; gives the action as it was understood.

        Args:
            scene: Of the same asset.
            action: Shape [count]; clipped to [-1, 1].

        Raises:
            ValueError: Another shape, or not finite.
        """
        given = np.array(action, dtype=np.float64)
        if given.shape != (len(self),) or not np.isfinite(given).all():
            raise ValueError(f"the action must be {len(self)} finite numbers; got {action!r}")
        clipped: FloatArray = np.clip(given, -1.0, 1.0)
        if not len(self):
            return clipped
        values = self.low + 0.5 * (clipped + 1.0) * (self.high - self.low)
        controls = scene.joint_controls
        positions, velocities = controls.drive_targets()
        for channel, value in zip(self._channels, values.tolist(), strict=True):
            if channel.mode == "position":
                positions[channel.index] = value
            elif channel.mode == "velocity":
                velocities[channel.index] = value
            else:
                positions[channel.index] = 0.0
                velocities[channel.index] = math.copysign(_PUSH_SPEED, value)
                controls.set_drive(channel.joint_node, channel.drive, _push(channel, value))
        scene.set_drive_targets(positions, velocities)
        return clipped

    def reset(self, scene: Scene) -> None:
        """Give the drives back what the file says, as a new episode starts."""
        for channel in self._channels:
            drives = scene.joints[channel.joint_node].model.description.drives
            scene.joint_controls.set_drive(channel.joint_node, channel.drive, drives[channel.drive])


def _push(channel: _Channel, force: float) -> JointDrive:
    return replace(
        channel.authored,
        mode=DriveMode.FORCE,
        stiffness=0.0,
        damping=_PUSH_DAMPING,
        position_target=0.0,
        velocity_target=math.copysign(_PUSH_SPEED, force),
        max_force=abs(force),
    )


def _resolve(scene: Scene, action: DriveAction) -> _Channel:
    joint = scene.joints[action.joint]
    place = next(
        (
            index
            for index, handle in enumerate(scene.joint_controls.drives)
            if handle.joint_node == joint.node and handle.drive == action.drive
        ),
        None,
    )
    if place is None:
        raise ValueError(f"joint {action.joint!r} has no acting drive {action.drive}")
    drive = joint.model.description.drives[action.drive]
    mode = action.mode or ("position" if drive.stiffness > 0.0 else "velocity")
    low, high = _authored_range(scene, joint.node, drive, mode)
    low = low if action.low is None else action.low
    high = high if action.high is None else action.high
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"drive {action.drive} of joint {action.joint!r}: its {mode} goes from {low} to "
            f"{high} by the file; give a finite low < high with DriveAction"
        )
    return _Channel(
        index=place,
        joint_node=joint.node,
        drive=action.drive,
        authored=drive,
        mode=mode,
        low=float(low),
        high=float(high),
    )


def _authored_range(
    scene: Scene, joint_node: int, drive: JointDrive, mode: str
) -> tuple[float, float]:
    if mode == "force":
        return -drive.max_force, drive.max_force
    if mode == "velocity":
        speed = abs(drive.velocity_target)
        return -speed, speed
    low, high = -math.inf, math.inf
    for limit in scene.joints[joint_node].limits:
        # A limit on several axes bounds their common length, so each of them as well.
        if limit.kind is drive.kind and drive.axis in limit.axes:
            floor = limit.minimum if len(limit.axes) == 1 else -limit.maximum
            low, high = max(low, floor), min(high, limit.maximum)
    return low, high
