"""Actions: numbers in [-1, 1] that become targets or forces of a scene's drives."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from gltf_bullet.envs.config import Action, DriveAction, EventAction, VariableAction
from gltf_bullet.envs.copy_table import Look
from gltf_bullet.envs.sight import graph_of
from gltf_bullet.model import JointDrive
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.solver.formulas import (
    CLIPPED,
    DRIVE,
    FORCE,
    NOT_FINITE,
    NOTHING,
    POSITION,
    VELOCITY,
    act,
)
from gltf_bullet.transforms import FloatArray, IntArray

_DRIVE_MODES: Final = {"position": POSITION, "velocity": VELOCITY, "force": FORCE}
_SET: Final = (
    "position_target", "velocity_target", "max_force", "stiffness", "damping", "by_acceleration",
)  # fmt: skip
"""Columns of a drive's row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Channel:
    """One number of the action, and the drive, variable or event that it controls."""

    index: int
    """Index in ``joint_controls.drives``, or of a variable of the graph."""
    joint_node: int
    drive: int
    mode: Literal["position", "velocity", "force", "variable", "event"]
    low: float
    high: float
    event: str = ""


class DriveActions:
    """The actions of one asset; independent of the engine once made, picklable."""

    def __init__(
        self, scene: Scene, wanted: tuple[Action, ...] | None, *, needed: bool = False
    ) -> None:
        """Resolve names and ranges.

        Args:
            scene: The scene of the drives.
            wanted: The actions; ``None``: one for every drive.
            needed: True if the file must have drives in that case.

        Raises:
            KeyError: There is no such joint.
            ValueError: There is no such drive, there are none at all, or a range is unknown.
        """
        self.has_warned = False
        """True once a warning has reported that actions are clipped."""
        if wanted is None:
            wanted = tuple(
                DriveAction(joint=d.joint_node, drive=d.drive) for d in scene.joint_controls.drives
            )
            if needed and not wanted:
                joints = len(scene.joints)
                what = f"its {joints} joints have no drives" if joints else "it has no joints"
                raise ValueError(
                    f"{scene.asset.path} is no environment: {what}, so no action would do "
                    "anything. EnvConfig(...) says what is rewarded and what acts, such as "
                    "EnvConfig(actions=(VariableAction(variable=...),)) for a behavior graph"
                )
        self._channels = tuple(_resolve(scene, action) for action in wanted)
        self.low: FloatArray = np.array([c.low for c in self._channels], dtype=np.float64)
        """Values that -1 stands for, shape [count]."""
        self.high: FloatArray = np.array([c.high for c in self._channels], dtype=np.float64)
        """Values that 1 stands for, shape [count]."""
        self.names = tuple(_name(scene, channel) for channel in self._channels)
        """Name of each number: what it controls, and how."""

    def __len__(self) -> int:
        return len(self._channels)

    def taken(self, actions: npt.NDArray[np.floating], *copies: int) -> FloatArray:
        """Return a copy of actions, shape [count], or [copies, count] if their number is given.

        Raises:
            ValueError: Another shape.
        """
        given = np.array(actions, dtype=np.float64)
        if given.shape != (*copies, len(self)):
            raise self._refused(actions)
        return given

    def apply(self, rows: IntTable, actions: FloatArray) -> None:
        """Set the targets and forces of copies, and clip the actions to [-1, 1] in place.

        Args:
            rows: The copies' rows of their table.
            actions: From :meth:`taken`.

        Raises:
            ValueError: A number is not finite; nothing was set.
        """
        given = actions if self.has_warned else actions.copy()
        found = act(rows, actions.reshape(-1))
        if found == NOT_FINITE:
            raise self._refused(actions)
        if found == CLIPPED and not self.has_warned:
            self.has_warned = True
            warnings.warn(
                "actions are within [-1, 1], which stand for the lowest and highest value of a "
                f"drive; one of {np.abs(given).max():g} is cut, as are all further ones",
                RuntimeWarning,
                stacklevel=4,
            )

    def _refused(self, actions: npt.NDArray[np.floating]) -> ValueError:
        return ValueError(f"the action must be {len(self)} finite numbers; got {actions!r}")

    def drives(self, look: Look) -> IntArray:
        """Return what the action sets in a scene, as ``DRIVE`` of ``solver.formulas`` has it."""
        controls = look.scene.core.joint_controls
        found: IntArray = np.zeros((len(self), DRIVE.size), dtype=np.int64)
        for row, channel, number, before in zip(
            found, self._channels, look.action, look.action_before, strict=True
        ):
            row[DRIVE.action] = number.place
            row[DRIVE.before] = before.place
            row[DRIVE.low] = look.maker.place_of(channel.low)
            row[DRIVE.half] = look.maker.place_of(0.5 * (channel.high - channel.low))
            row[DRIVE.mode] = _DRIVE_MODES.get(channel.mode, NOTHING)
            if row[DRIVE.mode] != NOTHING:
                table, k = controls.drive_row(channel.index)
                for name in _SET:
                    row[getattr(DRIVE, name)] = getattr(table, name)[k:].ctypes.data
        return found.reshape(-1)

    def graph_actions(self, scene: Scene) -> Callable[[FloatArray], None] | None:
        """Return what takes a clipped action to the scene's behavior graph; ``None`` if nothing."""
        channels = [
            (k, channel, 0.5 * (channel.high - channel.low))
            for k, channel in enumerate(self._channels)
            if channel.mode in ("variable", "event")
        ]
        if not channels:
            return None

        def apply(action: FloatArray) -> None:
            graph = graph_of(scene)
            for place, channel, half in channels:
                value = channel.low + (float(action[place]) + 1.0) * half
                if channel.mode == "event":
                    if value > 0.0:
                        graph.send(channel.event)
                elif isinstance(graph.variables[channel.index], bool):
                    graph.variables[channel.index] = value > 0.0
                elif isinstance(graph.variables[channel.index], int):
                    graph.variables[channel.index] = round(value)
                else:
                    graph.variables[channel.index] = value

        return apply


def _resolve(scene: Scene, action: Action) -> _Channel:
    if isinstance(action, EventAction):
        number = graph_of(scene).require_event(action.event)
        return _Channel(
            index=number, joint_node=-1, drive=-1, mode="event", low=-1.0, high=1.0,
            event=action.event,
        )  # fmt: skip
    if isinstance(action, VariableAction):
        number = graph_of(scene).variables.index_of(action.variable)
        return _Channel(
            index=number, joint_node=-1, drive=-1, mode="variable",
            low=float(action.low), high=float(action.high),
        )  # fmt: skip
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
    is_open = action.mode is None and action.low is None and action.high is None
    if is_open and not _is_range(low, high) and 0.0 < drive.max_force < math.inf:
        mode, low, high = "force", -drive.max_force, drive.max_force
    low = low if action.low is None else action.low
    high = high if action.high is None else action.high
    if not _is_range(low, high):
        name = joint.name or joint.node
        force = f", or mode='force' for its {drive.max_force:g}"
        is_own = action.low is not None and action.high is not None
        raise ValueError(
            f"drive {action.drive} of joint {name!r}: its {mode} goes from {low + 0.0:g} to "
            f"{high + 0.0:g}{'' if is_own else ' by the file'}; give a finite low < high"
            f"{force if 0.0 < drive.max_force < math.inf else ''}:\n"
            f"    config = EnvConfig(actions=(DriveAction(joint={name!r}, low=-1.0, high=1.0),))\n"
            f"    env = GltfEnv(path, config)"
        )
    return _Channel(
        index=place,
        joint_node=joint.node,
        drive=action.drive,
        mode=mode,
        low=float(low),
        high=float(high),
    )


def _name(scene: Scene, channel: _Channel) -> str:
    if channel.mode == "event":
        return f"{channel.event} event"
    if channel.mode == "variable":
        return f"{tuple(graph_of(scene).variables)[channel.index]} variable"
    joint = scene.core.asset.tree.names[channel.joint_node] or f"node {channel.joint_node}"
    count = sum(d.joint_node == channel.joint_node for d in scene.joint_controls.drives)
    return f"{joint} {channel.mode}{f' {channel.drive}' if count > 1 else ''}"


def _is_range(low: float, high: float) -> bool:
    return math.isfinite(low) and math.isfinite(high) and low < high


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
        # A limit on several axes bounds their common length, hence each of them.
        if limit.kind is drive.kind and drive.axis in limit.axes:
            floor = limit.minimum if len(limit.axes) == 1 else -limit.maximum
            low, high = max(low, floor), min(high, limit.maximum)
    return low, high
