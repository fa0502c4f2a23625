"""The joints of many scenes: one call for all that touch nothing, one solve for who do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.solving.contact_reader import ContactReader, Owners
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver
from gltf_bullet.bullet.joints.solving.scene_islands import ALL_STAGES
from gltf_bullet.bullet.session import EngineSettings
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.solver import outcomes
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine.stepping import (
    AT_ONCE,
    BY_SCENE,
    CHECK_WORLD,
    DIVIDE,
    FIND_CONTACTS,
    FORCES,
    READ,
    STEP,
    WHOLE_STEP,
    advance,
)
from gltf_bullet.solver.entries import prepare, solve
from gltf_bullet.solver.scene_table import PREPARE, SCENE
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["SolverBatch", "WorldContacts"]

Member: TypeAlias = "ContactReader | int"
"""A scene, or the id of a body that is nobody's."""

_PATIENCE = 8
"""Steps after which a scene that kernels did not know is shown to them again."""
_NOTHING: FloatArray = np.zeros(0)


class MadeSteps(NamedTuple):
    """What became of steps that were wanted."""

    over: int
    """How many are over."""
    is_open: bool = False
    """Whether one more was begun, which each scene has to finish ..."""
    is_stepped: bool = False
    """... after the engine's step, unless it has made it."""


class WorldContacts:
    """The contacts of a world with nothing but our scenes in it, read once for all of them."""

    def __init__(self, client_id: int, wanted: frozenset[int] | None = None) -> None:
        """``wanted``: bodies; what touches none of them is left out, unless this is ``None``."""
        self._client_id = client_id
        self._wanted = wanted
        self._rows: FloatArray | None = None
        self._group_of: dict[Member, Member] = {}
        """Towards who stands for the group."""
        self._number_of: dict[Member, int] = {}
        """Of the group that somebody stands for."""
        self._numbers: IntArray = np.zeros(0, dtype=np.int64)
        """Of the group that each row belongs to, -1 for none."""
        self._rows_of: dict[int, FloatArray] = {}
        """By the number of a group that somebody has asked for."""

    def give(self, reader: ContactReader) -> None:
        """Spare a reader its own call: it shall reckon with these the next time.

        They are all contacts of what hangs together with it: what lies on a neighbour weighs.
        """
        if not reader.is_curious:
            return
        rows = self._read(reader)
        if not len(self._numbers):
            self._group(rows, reader.owners)
        number = self._number_of.get(self._find(reader))
        if number is None:
            reader.take(_NOTHING)
            return
        if number not in self._rows_of:
            self._rows_of[number] = rows[self._numbers == number].ravel()
        reader.take(self._rows_of[number])

    def _read(self, reader: ContactReader) -> FloatArray:
        if self._rows is None:
            self._rows = reader.fetch().reshape(-1, ROW_SIZE)
        return self._rows

    def _group(self, rows: FloatArray, owners: Owners) -> None:
        bodies: list[tuple[int, int]] = list(map(tuple, rows[:, :2].astype(np.int64).tolist()))
        pairs = set(bodies)
        if self._wanted is not None:
            pairs = {pair for pair in pairs if not self._wanted.isdisjoint(pair)}
        member_of = {body: self._member(body, owners) for body in {*chain(*pairs)}}
        members = {pair: (member_of[pair[0]], member_of[pair[1]]) for pair in pairs}
        for one, other in members.values():
            if one is not None and other is not None:
                self._group_of[self._find(one)] = self._find(other)
        known = self._number_of
        number_of_member: dict[Member | None, int] = {None: -1}
        for member in member_of.values():
            if member is not None and member not in number_of_member:
                number_of_member[member] = known.setdefault(self._find(member), len(known))
        number_of = {
            pair: number_of_member[other if one is None else one]
            for pair, (one, other) in members.items()
        }
        self._numbers = np.array([number_of.get(pair, -1) for pair in bodies], dtype=np.int64)

    def _member(self, body: int, owners: Owners) -> Member | None:
        """What passes forces on to all that touches it: a scene, or somebody else's body."""
        owner = owners.get(body)
        if owner is not None and body in owner.where:
            return owner
        mass = pybullet.getDynamicsInfo(body, -1, physicsClientId=self._client_id)[0]
        if mass == 0.0 and not pybullet.getNumJoints(body, self._client_id):
            return None
        return body if owner is None else owner

    def _find(self, member: Member) -> Member:
        while (next_one := self._group_of.get(member, member)) != member:
            member = next_one
        return member


class SolverBatch:
    """Keeps the table of the scenes' arrays from step to step."""

    def __init__(self) -> None:
        self._turn = 0
        self._rows: list[IntTable] = []
        self._table: IntTable = np.zeros((0, SCENE.size), dtype=np.int64)

    def is_as_known(self, scenes: Sequence[ArticulationSet]) -> bool:
        """Whether the world and the scenes' bodies are as :meth:`JointSolver.learn` saw them."""
        solvers = [scene.solver for scene in scenes]
        if not all(solver.is_native for solver in solvers):
            return False
        return not advance(self._table_of(solvers), CHECK_WORLD, 0.0, 0.0, 0.0, 0.0)

    def before_step(
        self, scenes: Sequence[ArticulationSet], dt: float, gravity: Sequence[float], *,
        is_next: bool,
    ) -> None:  # fmt: skip
        """What :meth:`ArticulationSet.before_step` does for each of some scenes of one world.

        Raises:
            EngineError: A force is not finite; scenes that touch nothing were given nothing.
        """
        for scene in scenes:
            scene.move_anchors(dt)
        solvers = [scene.solver for scene in scenes]
        # Who hangs together with other scenes is known to Python only: ask again now and then.
        self._turn = (self._turn + 1) % _PATIENCE
        quiet = [
            solver
            for solver in solvers
            if solver.is_undisturbed and (solver.is_known or not self._turn)
        ]
        if len(quiet) < len(solvers):
            quiet = [solver for solver in quiet if not solver.contacts.is_reached]
        if quiet and not quiet[0].contacts.has_foreign_constraints():
            done = self._advance(quiet, dt, gravity)
            solvers = [solver for solver in solvers if solver not in done]
        if solvers:
            self._solve_in_python(solvers, dt, gravity, is_next=is_next)
        for scene in scenes:
            scene.tighten_loops()

    def _advance(
        self, solvers: Sequence[JointSolver], dt: float, gravity: Sequence[float]
    ) -> set[JointSolver]:
        """Solve without Python whatever can be; which ones."""
        table = self._table_of(solvers)
        found = int(advance(table, FORCES, dt, *gravity))
        if found & outcomes.NEW_CONTACTS and not found & (outcomes.REFUSED | outcomes.STATE_LOST):
            _know_again(solvers, table)
            table = self._table_of(solvers)
            found = int(advance(table, FORCES, dt, *gravity))
        if found & (outcomes.REFUSED | outcomes.STATE_LOST):  # whose, comes out when each is read
            return set()
        if found & outcomes.NEW_CONTACTS:
            reached = [solver.contacts.is_reached for solver in solvers]
            known = (table[:, SCENE.touching] >= 0) & ~np.array(reached)
            solvers = [solver for solver, is_known in zip(solvers, known, strict=True) if is_known]
            if not solvers:
                return set()
            table = table[known]
            found = int(advance(table, FORCES & ~(READ | FIND_CONTACTS), dt, *gravity))
        untold = found & outcomes.NOT_APPLIED
        columns = table[:, [SCENE.status, SCENE.touching]].tolist()
        for solver, (status, touching) in zip(solvers, columns, strict=True):
            solver.islands.cells[SCENE.touching] = touching
            solver.take(status | untold, dt, gravity)
        return set(solvers)

    def steps_needed(
        self, scenes: Sequence[ArticulationSet], dt: float, *, has_room: bool = False
    ) -> int:
        """How many engine steps a step of ``dt`` seconds needs, as the scenes' joints move now.

        ``has_room``: whether nothing is in the way of their links.
        """
        solvers = [scene.solver for scene in scenes]
        if not has_room and all(solver.is_native for solver in solvers):
            table = self._table_of(solvers)
            found = int(advance(table, READ | DIVIDE, dt, 0.0, 0.0, 0.0))
            # Whose state is lost comes out when each is read.
            if not found & (outcomes.REFUSED | outcomes.STATE_LOST):
                return int(table[0, SCENE.parts]) if found & outcomes.DIVIDES else 1
        return max(solver.steps_needed(dt, has_room=has_room) for solver in solvers)

    def make_steps(
        self, scenes: Sequence[ArticulationSet], settings: EngineSettings, count: int, *,
        may_divide: bool,
    ) -> MadeSteps:  # fmt: skip
        """Make the world's next steps in one call, as long as nothing in them needs Python.

        Each scene's :meth:`ArticulationSet.after_step` has nothing to do for those that are over.
        """
        solvers = [scene.solver for scene in scenes]
        dt, gravity = settings.time_step, settings.gravity
        table = self._table_of(solvers)
        has_motors = any(solver.commands.has_motors for solver in solvers)
        is_single = has_motors or any(solver.is_pushed for solver in solvers)
        wanted = 1 if is_single else min(count, AT_ONCE)
        table[0, SCENE.steps] = wanted
        stages = WHOLE_STEP | BY_SCENE if may_divide else (WHOLE_STEP | BY_SCENE) & ~DIVIDE
        if has_motors:  # they are set between the solve and the engine's step
            stages &= ~STEP
        found = int(advance(table, stages, dt, *gravity))
        if (
            found & outcomes.NEW_CONTACTS
            and not found & (outcomes.REFUSED | outcomes.STATE_LOST)
            and _know_again(solvers, table)
        ):
            table = self._table_of(solvers)
            table[0, SCENE.steps] = wanted
            found = int(advance(table, stages, dt, *gravity))
        steps = int(table[0, SCENE.steps])
        if found & (
            outcomes.REFUSED | outcomes.STATE_LOST | outcomes.NEW_CONTACTS | outcomes.DIVIDES
        ):  # whose, comes out when each is read
            # Unless a body is lost, such a step was the first.
            return MadeSteps(over=steps - 1 if found & outcomes.STATE_LOST else 0)
        is_open, untold = found != outcomes.STEPPED, found & outcomes.NOT_APPLIED
        columns = table[:, [SCENE.status, SCENE.touching]].tolist()
        for solver, (status, touching) in zip(solvers, columns, strict=True):
            solver.islands.cells[SCENE.touching] = touching
            solver.take(status | untold, dt, gravity)
        is_stepped = not (untold or has_motors)
        return MadeSteps(over=steps - is_open, is_open=is_open, is_stepped=is_stepped)

    def _solve_in_python(
        self, solvers: Sequence[JointSolver], dt: float, gravity: Sequence[float], *, is_next: bool
    ) -> None:
        """Follow the contacts from scene to scene; islands that span several are solved once."""
        contacts = WorldContacts(solvers[0].client_id)
        solver_of = {
            solver.contacts: solver for solver in _passive_last(solvers) if solver.has_work
        }
        for reader in solver_of:
            contacts.give(reader)
        alone: list[JointSolver] = []
        solved: set[JointSolver] = set()
        for solver in solver_of.values():
            if solver in solved:
                continue
            touching = solver.look(dt, gravity, is_next=is_next)
            if touching is None:
                alone.append(solver)
                solver.contacts.is_reached = False
                continue
            joined = {}
            for number, reader in enumerate(touching.readers, start=1):
                reader.is_reached = reader.is_passive
                other = solver_of.get(reader)
                is_free = other is not None and other not in solved and other not in alone
                if other is not None and is_free and touching.reaches_all(number):
                    other.take_part(is_next=is_next)
                    joined[number] = other
            found = solver.solve_touching(touching, dt, gravity, joined)
            for one, status in found:
                one.require_finite(status)
            for one, status in found:
                one.finish(status, dt, gravity)
                solved.add(one)
        if alone:
            self._solve(alone, dt, gravity)

    def _table_of(self, solvers: Sequence[JointSolver]) -> IntTable:
        rows = [solver.row for solver in solvers]
        if list(map(id, rows)) != list(map(id, self._rows)):
            self._rows, self._table = rows, np.concatenate(rows)
        return self._table

    def _solve(self, solvers: Sequence[JointSolver], dt: float, gravity: Sequence[float]) -> None:
        table = self._table_of(solvers)
        prepare(table, PREPARE, 0, 0, dt, *gravity)
        solve(table, ALL_STAGES, 0, 0, 0, dt)
        statuses: list[int] = table[:, SCENE.status].tolist()
        for k, solver in enumerate(solvers):
            if statuses[k] == outcomes.NEEDS_ROOM:
                statuses[k] = solver.islands.solve_alone(dt)
            solver.require_finite(statuses[k])
        for solver, status in zip(solvers, statuses, strict=True):
            solver.finish(status, dt, gravity)


def _know_again(solvers: Sequence[JointSolver], table: IntTable) -> bool:
    """Whether all scenes that touch in another way than before have touched so earlier.

    ``table``: their rows, as kernels have left them.
    """
    rows = solvers[0].contacts.fetch()
    unknown = np.flatnonzero(table[:, SCENE.touching] < 0).tolist()
    known = [k for k in unknown if solvers[k].knows_again(rows)]
    return len(known) == len(unknown)


def _passive_last(solvers: Iterable[JointSolver]) -> list[JointSolver]:
    """Those that do not follow contacts themselves take part in the solves of those that do."""
    return sorted(solvers, key=lambda solver: solver.contacts.is_passive)
