"""Actions: numbers in [-1, 1] that become targets or forces of a scene's drives."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.joints.joint_controls import JointControls
from gltf_bullet.bullet.joints.scene_arrays import RowTable
from gltf_bullet.envs.config import Action, DriveAction, EventAction, VariableAction
from gltf_bullet.envs.name_checks import graph_of
from gltf_bullet.model import JointDrive
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import FloatArray

_PUSH_DAMPING = 1e6
_PUSH_SPEED = 1e6
"""A drive this stiff towards a speed this high always exerts exactly its ``max_force``: a constant
force that the joint solve takes into account."""

_FEW = 16
"""Number of actions up to which they are decoded one by one."""


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
        self._half: FloatArray = 0.5 * (self.high - self.low)
        self._ranges = list(zip(self.low.tolist(), self._half.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self._channels)

    def decode(
        self, actions: npt.NDArray[np.floating], *copies: int
    ) -> tuple[FloatArray, list[Any]]:
        """Clip actions to [-1, 1], shape as given, and convert them to targets or forces.

        Args:
            actions: Shape [count], or [copies, count].
            copies: Number of copies, if the actions are of several.

        Raises:
            ValueError: Another shape, or not finite.
        """
        if not copies and np.shape(actions) == (len(self),) and len(self) <= _FEW:
            return self._decode_few(actions)
        given = np.array(actions, dtype=np.float64)
        if given.shape != (*copies, len(self)) or not np.isfinite(given).all():
            raise ValueError(f"the action must be {len(self)} finite numbers; got {actions!r}")
        clipped: FloatArray = np.minimum(np.maximum(given, -1.0), 1.0)
        if not self.has_warned and (clipped != given).any():
            self._warn(float(np.abs(given).max()))
        return clipped, (self.low + (clipped + 1.0) * self._half).tolist()

    def _warn(self, largest: float) -> None:
        """Warn once that actions are clipped."""
        self.has_warned = True
        warnings.warn(
            f"actions are within [-1, 1], which stand for the lowest and highest value of a drive;"
            f" one of {largest:g} is cut, as are all further ones",
            RuntimeWarning,
            stacklevel=4,
        )

    def _decode_few(self, actions: npt.NDArray[np.floating]) -> tuple[FloatArray, list[Any]]:
        """:meth:`decode` number by number: a fifth of the time of numpy's functions (measured).

        A step of the engine evicts numpy's functions from the processor's caches.
        """
        clipped = np.array(actions, dtype=np.float64)
        given: list[float] = clipped.tolist()
        # The sum is NaN if any number is.
        if given and not (min(given) >= -1.0 and max(given) <= 1.0 and sum(given) < math.inf):
            if not all(map(math.isfinite, given)):
                raise ValueError(f"the action must be {len(self)} finite numbers; got {given!r}")
            if not self.has_warned:
                self._warn(max(map(abs, given)))
            given = [min(max(value, -1.0), 1.0) for value in given]
            clipped = np.array(given)
        ranges = zip(given, self._ranges, strict=True)
        return clipped, [low + (value + 1.0) * half for value, (low, half) in ranges]

    def bind(self, scene: Scene) -> BoundActions:
        """Connect the actions to a scene of the same asset."""
        return BoundActions(self._channels, scene)


_Numbers: TypeAlias = Any
"""A memoryview; type checkers support only those of integers."""


class _Cells(NamedTuple):
    """Columns of some drives, written at a third of NumPy's cost."""

    position_target: _Numbers
    velocity_target: _Numbers
    max_force: _Numbers
    stiffness: _Numbers
    damping: _Numbers
    by_acceleration: _Numbers

    @staticmethod
    def of(rows: RowTable) -> _Cells:
        """The columns of a table."""
        return _Cells(*(getattr(rows, name).data for name in _Cells._fields))


class BoundActions:
    """The actions of one scene, connected to its drives."""

    def __init__(self, channels: Sequence[_Channel], scene: Scene) -> None:
        self._scene = scene
        self._numbers = [k for k, c in enumerate(channels) if c.mode not in ("variable", "event")]
        self._channels = [channels[k] for k in self._numbers]
        self._has_all = len(self._channels) == len(channels)
        self._graph_channels = [(k, c) for k, c in enumerate(channels) if k not in self._numbers]
        self._controls: JointControls | None = None
        self._rows: list[tuple[str, _Cells, int]] = []

    def apply(self, values: Sequence[float]) -> None:
        """Set the targets or forces of the drives, one per action."""
        controls = self._scene.core.joint_controls
        if controls is not self._controls:
            # New bodies have new rows.
            self._controls = controls
            rows = [(c.mode, *controls.drive_row(c.index)) for c in self._channels]
            self._rows = [(mode, _Cells.of(table), row) for mode, table, row in rows]
        if not self._has_all:
            self._apply_to_graph(values)
            values = [values[k] for k in self._numbers]
        for (mode, cells, row), value in zip(self._rows, values, strict=True):
            if mode == "position":
                cells.position_target[row] = value
            elif mode == "velocity":
                cells.velocity_target[row] = value
            else:
                cells.stiffness[row] = cells.position_target[row] = 0.0
                cells.damping[row] = _PUSH_DAMPING
                cells.by_acceleration[row] = 0
                cells.velocity_target[row] = math.copysign(_PUSH_SPEED, value)
                cells.max_force[row] = abs(value)

    def _apply_to_graph(self, values: Sequence[float]) -> None:
        graph = graph_of(self._scene)
        for place, channel in self._graph_channels:
            value = values[place]
            if channel.mode == "event":
                if value > 0.0:
                    graph.send(channel.event)
            elif isinstance(graph.variables[channel.index], bool):
                graph.variables[channel.index] = value > 0.0
            elif isinstance(graph.variables[channel.index], int):
                graph.variables[channel.index] = round(value)
            else:
                graph.variables[channel.index] = value


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
        raise ValueError(
            f"drive {action.drive} of joint {name!r}: its {mode} goes from {low + 0.0:g} to "
            f"{high + 0.0:g} by the file; give a finite low < high"
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
