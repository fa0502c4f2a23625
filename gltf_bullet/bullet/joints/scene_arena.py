"""The arena of a scene: the arrays that the joint-space solve works on, and views of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gltf_bullet.numba_aot import IntTable
from gltf_bullet.planning.changed_values import changed
from gltf_bullet.solver import arena
from gltf_bullet.solver.island_layout import row_of
from gltf_bullet.transforms import FloatArray, Pose

__all__ = [
    "AnchorMotion", "Arena", "ArenaStart", "CommandRoom", "FrameStates", "FrameTable", "Record",
    "RowTable",
]  # fmt: skip

IntArray = npt.NDArray[np.int64]


"""The one switch of the whole arena that a step leaves to the next."""


@dataclass(slots=True, eq=False, kw_only=True)
class RowTable:
    """Rows of the solve; views of the arena: targets, limits and gains change in place."""

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
    """1 for limits violated at load or by a change, on their way back."""

    @staticmethod
    def at(offset: int, ints: IntArray, floats: FloatArray) -> RowTable:
        """Views of the rows of the articulation whose header begins at ``offset``."""
        count = int(ints[offset + arena.ROW_COUNT])

        def numbers(slot: int) -> FloatArray:
            start = int(ints[offset + slot])
            return floats[start : start + count]

        def switches(slot: int) -> IntArray:
            start = int(ints[offset + slot])
            return ints[start : start + count]

        return RowTable(
            coordinate=switches(arena.ROW_DOF),
            lower=numbers(arena.ROW_LOWER),
            upper=numbers(arena.ROW_UPPER),
            stiffness=numbers(arena.ROW_STIFFNESS),
            damping=numbers(arena.ROW_DAMPING),
            position_target=numbers(arena.ROW_POSITION_TARGET),
            velocity_target=numbers(arena.ROW_VELOCITY_TARGET),
            max_force=numbers(arena.ROW_MAX_FORCE),
            is_drive=switches(arena.ROW_IS_DRIVE) != 0,
            by_acceleration=switches(arena.ROW_BY_ACCELERATION),
            recovering=switches(arena.ROW_RECOVERING),
        )

    @property
    def is_hard_limit(self) -> npt.NDArray[np.bool_]:
        """Which rows are limits that give no way."""
        result: npt.NDArray[np.bool_] = np.isinf(self.stiffness) & ~self.is_drive
        return result


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrameTable:
    """Which engine link each frame is."""

    index: Mapping[tuple[int, int], int]
    """(multibody, link) -> frame; multibody -1 for anchors, whose link is their node or WORLD."""
    multibody: tuple[int, ...]
    link: tuple[int, ...]
    node: tuple[int, ...]
    """The motion node of the body, -1 for others."""
    of_links: tuple[Mapping[int, int], ...]
    """Per multibody the frame that each link moves with, its own or its body's."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Record:
    """Where one articulation is in the arena, and in all copies of that."""

    offset: int
    """Of its header in the integers."""
    frames: FrameTable
    row_count: int
    dof_count: int
    dof_index: tuple[int, ...]
    """Per planned dof its (first) velocity."""
    base_index: Mapping[int, int]
    """First of six velocities of a floating multibody's base."""
    states: tuple[tuple[int, tuple[tuple[int, bool], ...]], ...]
    """What the engine tells, in the order of the arena: per multibody whether its base floats (1),
    and (link, is a ball) of its joints."""
    state_start: int
    """First of the floats that the engine tells of it."""
    hard_rows: tuple[int, ...]
    """Limits of single axes that give no way, as authored."""


class CommandRoom(NamedTuple):
    """Where numbers are that go to the engine and come back in its own order."""

    work: int
    """First of the forces, then of targets, bounds and forces of motors."""
    ints: int
    """First of the switches of motors."""
    size: int
    """How many of each, in all articulations."""

    def write(self, header: list[int], done: int) -> None:
        """Tell an articulation after ``done`` velocities of others where its own are."""
        for k, slot in enumerate(
            (arena.COMMAND, arena.MOTOR_TARGET, arena.MOTOR_BOUND, arena.MOTOR_FORCE)
        ):
            header[slot] = self.work + k * self.size + done
        header[arena.OWN_MOTOR] = self.ints + done


class ArenaStart(NamedTuple):
    """What every arena of a plan begins as; nobody writes to it."""

    ints: IntArray
    floats: FloatArray
    work_size: int


class Arena:
    """The arrays of one scene's articulations; made when the first of them is asked for."""

    def __init__(
        self,
        start: ArenaStart,
        records: tuple[Record, ...],
        anchor_states: dict[int, int],
        state_end: int,
        commands: CommandRoom,
    ) -> None:
        self._start = start
        self._world_from_anchor: Mapping[int, Pose] = {}
        self.records = records
        self.anchor_states = anchor_states
        """Where each anchor's 19 numbers are in the floats, by node."""
        self.state_end = state_end
        """The engine's part of the state is ``floats[:state_end]``."""
        forces, targets, bounds, exerted = (
            slice(commands.work + k * commands.size, commands.work + (k + 1) * commands.size)
            for k in range(4)
        )
        self.commands = forces
        """Of the work: what the engine is given, all articulations one after the other."""
        self.motor_targets, self.motor_bounds, self.motor_forces = targets, bounds, exerted
        self.own_motors = slice(commands.ints, commands.ints + commands.size)
        """Of the integers: 1 for motors that the solve has set, in the same order."""

    @cached_property
    def ints(self) -> IntArray:
        """Model, offsets and switches."""
        return self._start.ints.copy()

    @cached_property
    def floats(self) -> FloatArray:
        """What the engine tells, the model, and what one step leaves to the next."""
        floats = self._start.floats.copy()
        for node, pose in self._world_from_anchor.items():
            start = self.anchor_states[node]
            floats[start : start + 7] = *pose.translation, *pose.rotation_xyzw
        return floats

    @cached_property
    def work(self) -> FloatArray:
        """Results of a step."""
        return np.zeros(self._start.work_size)

    def copied(self, world_from_anchor: Mapping[int, Pose]) -> Arena:
        """One more of the same before its first step, its anchors elsewhere, by node."""
        # One that is copied has made no arrays.
        return changed(self, _world_from_anchor=world_from_anchor)

    @cached_property
    def alone(self) -> IntTable:
        """The arena without islands, for the kernels."""
        return row_of(*self.arrays)

    @property
    def arrays(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Those that the kernels take: integers, floats, work."""
        return self.ints, self.floats, self.work

    def table(self, record: Record, slot: int, *shape: int) -> FloatArray:
        """A view of a table of work, such as POSE or VELOCITY."""
        start = int(self.ints[record.offset + slot])
        return self.work[start : start + math.prod(shape)].reshape(shape)

    def model(self, record: Record, slot: int, *shape: int) -> FloatArray:
        """A view of a table of floats, such as LINK or EXTERNAL."""
        start = int(self.ints[record.offset + slot])
        return self.floats[start : start + math.prod(shape)].reshape(shape)

    def taken(self) -> list[float]:
        """Which axes the motors of others have, in the order of commands."""
        found: list[float] = []
        for record in self.records:
            n, at = record.dof_count, int(self.ints[record.offset + arena.COMMAND_DOF])
            table = self.model(record, arena.TAKEN, n)
            found += table[self.ints[at : at + n]].tolist()
        return found

    def memory(self) -> tuple[FloatArray, IntArray]:
        """A copy of what one step leaves to the next."""
        parts = [self._memory_of(record) for record in self.records]
        cuts = int(self.ints[arena.CUT_IMPULSE])
        cut = self.floats[cuts : cuts + 6 * int(self.ints[arena.CUTS])]
        return (
            np.concatenate([*(floats for floats, _ in parts), cut]),
            np.concatenate([flags for _, flags in parts]),
        )

    def recall(self, memory: tuple[FloatArray, IntArray]) -> None:
        """Take back a :meth:`memory`."""
        floats, ints = memory
        for record in self.records:
            own, flags = self._memory_of(record)
            own[:], floats = floats[: len(own)], floats[len(own) :]
            flags[:], ints = ints[: len(flags)], ints[len(flags) :]
        cuts = int(self.ints[arena.CUT_IMPULSE])
        self.floats[cuts : cuts + len(floats)] = floats

    def _memory_of(self, record: Record) -> tuple[FloatArray, IntArray]:
        start = int(self.ints[record.offset + arena.MEMORY])
        end = int(self.ints[record.offset + arena.MEMORY_END])
        first = int(self.ints[record.offset + arena.ROW_RECOVERING])
        return self.floats[start:end], self.ints[first : first + record.row_count]


class AnchorMotion:
    """Where a moving anchor is and how it moves in the coming step, world axes; views."""

    __slots__ = ("acceleration", "position", "rotation_xyzw", "velocity")

    def __init__(self, arena: Arena, node: int) -> None:
        start = arena.anchor_states[node]
        values = arena.floats[start : start + 19]
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
