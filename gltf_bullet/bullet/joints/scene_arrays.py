"""The arrays of one scene's articulations, as Python sees them: views by name, and snapshots.

Kernels read them by the records of :mod:`gltf_bullet.solver.articulation_arrays`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gltf_bullet.cached_properties import cached_property
from gltf_bullet.model import JointDrive
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.planning.body_plans import changed
from gltf_bullet.solver.articulation_arrays import (
    Articulation,
    SceneHeader,
    articulation_at,
    scene_at,
)
from gltf_bullet.solver.scene_table import row_of
from gltf_bullet.solver.tables import Place
from gltf_bullet.transforms import FloatArray, Pose

IntArray = npt.NDArray[np.int64]

# --- the layout, the same for all copies of a scene -----------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrameTable:
    """The engine's links of an articulation's frames."""

    index: Mapping[tuple[int, int], int]
    """(multibody, link) -> frame; multibody -1 for anchors, whose link is their node or WORLD."""
    multibody: tuple[int, ...]
    link: tuple[int, ...]
    node: tuple[int, ...]
    """The motion node of the body, -1 for others."""
    of_links: tuple[Mapping[int, int], ...]
    """Per multibody the frame that each link moves with, its own or its body's."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArticulationLayout:
    """Places of one articulation in the arrays of its scene, and in all copies of them."""

    offset: int
    """First field of its record in the integers."""
    places: Mapping[str, Place]
    """Its tables by name."""
    memory: slice
    """Floats that one step leaves to the next."""
    frames: FrameTable
    row_count: int
    dof_count: int
    dof_index: tuple[int, ...]
    """(First) velocity of each planned degree of freedom."""
    base_index: Mapping[int, int]
    """First of six velocities of a floating multibody's base."""
    states: tuple[tuple[int, tuple[tuple[int, bool], ...]], ...]
    """The parts of the state that is read from the engine, in the order of the arrays: per
    multibody the size of its base's state, and (link, is a ball) of its joints."""
    state_start: int
    """First of the floats that are read from the engine."""
    hard_rows: tuple[int, ...]
    """Limits of single axes that do not give way, as authored."""


class CommandRoom(NamedTuple):
    """Places of numbers that are exchanged with the engine in its own order."""

    work: int
    """First of the forces, then of targets, bounds and forces of motors."""
    ints: int
    """First of the switches of motors."""
    size: int
    """Count of each, in all articulations."""

    def command_offsets(self, first_dof: int) -> dict[str, int]:
        """Offsets of an articulation's command tables; ``first_dof``: number of its first one."""
        names = ("command", "motor_target", "motor_bound", "motor_force")
        found = {name: self.work + k * self.size + first_dof for k, name in enumerate(names)}
        return {**found, "own_motor": self.ints + first_dof}


class ArraysStart(NamedTuple):
    """Initial values of the arrays of every copy of a scene; they are never written to."""

    ints: IntArray
    floats: FloatArray
    work_size: int


# --- the arrays -----------------------------------------------------------------------------------


class SceneArrays:
    """The arrays of one scene's articulations; made when the first of them is asked for."""

    def __init__(
        self,
        start: ArraysStart,
        records: tuple[ArticulationLayout, ...],
        anchor_states: dict[int, int],
        state_end: int,
        commands: CommandRoom,
        cut_impulses: slice,
    ) -> None:
        self._start = start
        self._world_from_anchor: Mapping[int, Pose] = {}
        self._cut_impulses = cut_impulses
        self.records = records
        self.anchor_states = anchor_states
        """First of each anchor's 19 numbers in the floats, by node."""
        self.state_end = state_end
        """The engine's part of the state is ``floats[:state_end]``."""
        forces, targets, bounds, exerted = (
            slice(commands.work + k * commands.size, commands.work + (k + 1) * commands.size)
            for k in range(4)
        )
        self.commands = forces
        """Forces for the engine in the work array, all articulations one after the other."""
        self.motor_targets, self.motor_bounds, self.motor_forces = targets, bounds, exerted
        self.own_motors = slice(commands.ints, commands.ints + commands.size)
        """Switches in the integers, 1 for motors that the solve has set, in the same order."""

    @cached_property
    def ints(self) -> IntArray:
        """Structure, offsets and switches."""
        return self._start.ints.copy()

    @cached_property
    def floats(self) -> FloatArray:
        """Model, state, and what one step leaves to the next."""
        floats = self._start.floats.copy()
        for node, pose in self._world_from_anchor.items():
            start = self.anchor_states[node]
            floats[start : start + 7] = *pose.translation, *pose.rotation_xyzw
        return floats

    @cached_property
    def work(self) -> FloatArray:
        """Results of a step."""
        return np.zeros(self._start.work_size)

    def copied(self, world_from_anchor: Mapping[int, Pose]) -> SceneArrays:
        """Return the initial arrays of another copy, with other poses of anchors by node."""
        # One that is copied has made no arrays.
        return changed(self, _world_from_anchor=world_from_anchor)

    @cached_property
    def alone(self) -> IntTable:
        """The arrays without islands, for the kernels."""
        return row_of(*self.arrays)

    @property
    def arrays(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The arrays that the kernels take: integers, floats, work."""
        return self.ints, self.floats, self.work

    @property
    def header(self) -> SceneHeader:
        """The record of the scene; what is set there acts."""
        return scene_at(*self.arrays, 0)

    def record(self, layout: ArticulationLayout) -> Articulation:
        """The record of an articulation; what is set there acts."""
        return articulation_at(*self.arrays, layout.offset)

    def view(self, layout: ArticulationLayout, name: str) -> FloatArray:
        """A view of a table of floats or of work, such as ``pose`` or ``velocity``."""
        array, where, shape = layout.places[name]
        found: FloatArray = getattr(self, array)[where].reshape(shape)
        return found

    def numbers(self, layout: ArticulationLayout, name: str) -> IntArray:
        """A view of a table of integers, such as ``frame_root``."""
        array, where, shape = layout.places[name]
        found: IntArray = getattr(self, array)[where].reshape(shape)
        return found

    def memory(self) -> tuple[FloatArray, IntArray]:
        """A copy of what one step leaves to the next."""
        floats = [self.floats[layout.memory] for layout in self.records]
        flags = [self.numbers(layout, "row_recovering") for layout in self.records]
        return np.concatenate([*floats, self.floats[self._cut_impulses]]), np.concatenate(flags)

    def recall(self, memory: tuple[FloatArray, IntArray]) -> None:
        """Restore what :meth:`memory` returned."""
        floats, ints = memory
        for layout in self.records:
            own, flags = self.floats[layout.memory], self.numbers(layout, "row_recovering")
            own[:], floats = floats[: len(own)], floats[len(own) :]
            flags[:], ints = ints[: len(flags)], ints[len(flags) :]
        self.floats[self._cut_impulses] = floats


# --- views ----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False, kw_only=True)
class RowTable:
    """Rows of the solve; views of the arrays: targets, limits and gains change in place."""

    coordinate: IntArray
    """[r], velocity of COORDINATE rows, -1 for measured ones."""
    lower: FloatArray
    upper: FloatArray
    stiffness: FloatArray
    """inf: hard."""
    damping: FloatArray
    position_target: FloatArray
    velocity_target: FloatArray
    max_force: FloatArray
    is_drive: npt.NDArray[np.bool_]
    by_acceleration: IntArray
    recovering: IntArray
    """1 for limits violated at load or by a change, while they recover."""

    @staticmethod
    def of(places: Mapping[str, Place], ints: IntArray, floats: FloatArray) -> RowTable:
        """Views of the rows of the articulation whose tables are at ``places``."""

        def rows(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
            return array[places[f"row_{name}"].where]

        return RowTable(
            coordinate=rows(ints, "dof"),
            lower=rows(floats, "lower"),
            upper=rows(floats, "upper"),
            stiffness=rows(floats, "stiffness"),
            damping=rows(floats, "damping"),
            position_target=rows(floats, "position_target"),
            velocity_target=rows(floats, "velocity_target"),
            max_force=rows(floats, "max_force"),
            is_drive=rows(ints, "is_drive") != 0,
            by_acceleration=rows(ints, "by_acceleration"),
            recovering=rows(ints, "recovering"),
        )

    @property
    def is_hard_limit(self) -> npt.NDArray[np.bool_]:
        """True for limits that do not give way."""
        result: npt.NDArray[np.bool_] = np.isinf(self.stiffness) & ~self.is_drive
        return result


class AnchorMotion:
    """Pose and motion of a moving anchor in the coming step, world axes; views."""

    __slots__ = ("acceleration", "position", "rotation_xyzw", "velocity")

    def __init__(self, arrays: SceneArrays, node: int) -> None:
        start = arrays.anchor_states[node]
        values = arrays.floats[start : start + 19]
        self.position = values[0:3]
        self.rotation_xyzw = values[3:7]
        self.velocity = values[7:13]
        """Linear (of the frame's origin) and angular [m/s, rad/s]."""
        self.acceleration = values[13:19]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrameStates:
    """Poses and velocities of all frames of an articulation, world axes."""

    com: FloatArray
    """[f, 3]"""
    rotation: FloatArray
    """[f, 3, 3], world from link frame."""
    inertia_in_world: FloatArray
    """[f, 3, 3], about the centres of mass."""
    linear_velocity: FloatArray
    """[f, 3], of the centres of mass."""
    angular_velocity: FloatArray
    """[f, 3]"""
    masses: FloatArray
    """[f]"""


# --- snapshots ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ArticulationState:
    """The state that ``pybullet.saveState`` leaves out; treat as opaque."""

    memory: tuple[FloatArray, npt.NDArray[np.int64]]
    drives: tuple[JointDrive, ...]
    """Targets and gains as they acted."""
    anchors: dict[int, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True, eq=False)
class ArticulationMoment:
    """All arrays of one scene as they stood after an :class:`ArticulationState`.

    Episodes begin with the same state again and again: copying this back costs a tenth.
    """

    ints: IntArray
    floats: FloatArray
    taken: tuple[FloatArray, ...]
    """Views of what says which axes motors of the user drive now."""
    limit_edits: int


NO_STATE = ArticulationState((np.zeros(0), np.zeros(0, dtype=np.int64)), (), {})
"""The state of a scene without joints."""

NO_MOMENT = ArticulationMoment(np.zeros(0, dtype=np.int64), np.zeros(0), (), 0)
"""The moment of a scene without joints."""
