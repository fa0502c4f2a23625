"""The joints of many scenes: one call for all that touch nothing, one solve for who do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.contact_reader import ContactReader, Owners, as_rows
from gltf_bullet.bullet.joints.joint_solver import ALL_STAGES, JointSolver
from gltf_bullet.solver.compiling import IntTable
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.entries import NEEDS_ROOM, PREPARE, prepare, solve
from gltf_bullet.solver.island_layout import STATUS
from gltf_bullet.transforms import FloatArray

__all__ = ["SolverBatch", "WorldContacts"]

Member: TypeAlias = "ContactReader | int"
"""A scene, or the id of a body that is nobody's."""

_NOTHING: FloatArray = np.zeros(0)


class WorldContacts:
    """The contacts of a world with nothing but our scenes in it, read once for all of them."""

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        self._rows: FloatArray | None = None
        self._group_of: dict[Member, Member] = {}
        """Towards who stands for the group."""
        self._numbers: dict[Member, list[int]] = {}
        """Of the rows that a group takes part in."""

    def give(self, reader: ContactReader) -> None:
        """Spare a reader its own call: it shall reckon with these the next time.

        They are all contacts of what hangs together with it: what lies on a neighbour weighs.
        """
        if not reader.is_curious:
            return
        if self._rows is None:
            self._rows = as_rows(pybullet.getContactPoints(physicsClientId=self._client_id))
            self._rows = self._rows.reshape(-1, ROW_SIZE)
            self._group(reader.owners)
        numbers = self._numbers.get(self._find(reader))
        reader.take(_NOTHING if numbers is None else self._rows[numbers].ravel())

    def _group(self, owners: Owners) -> None:
        pairs = self._rows[:, :2].astype(np.intp).tolist() if self._rows is not None else []
        member_of = {body: self._member(body, owners) for body in {*chain(*pairs)}}
        for a, b in pairs:
            one, other = member_of[a], member_of[b]
            if one is not None and other is not None:
                self._group_of[self._find(one)] = self._find(other)
        for number, (a, b) in enumerate(pairs):
            member = member_of[a] if member_of[a] is not None else member_of[b]
            if member is not None:
                self._numbers.setdefault(self._find(member), []).append(number)

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
        self._rows: list[IntTable] = []
        self._table: IntTable = np.zeros((0, STATUS + 1), dtype=np.int64)

    def before_step(
        self, scenes: Sequence[ArticulationSet], dt: float, gravity: Sequence[float], *,
        is_next: bool,
    ) -> None:  # fmt: skip
        """What :meth:`ArticulationSet.before_step` does for each of some scenes of one world.

        Raises:
            EngineError: A force is not finite; scenes that touch nothing were given nothing.
        """
        solver_of = {
            scene.solver.contacts: scene.solver for scene in scenes if scene.solver.has_work
        }
        alone: list[JointSolver] = []
        solved: set[JointSolver] = set()
        for scene in scenes:
            scene.move_anchors()
        for solver in solver_of.values():
            if solver in solved:
                continue
            touching = solver.look(dt, gravity, is_next=is_next)
            if touching is None:
                alone.append(solver)
                continue
            joined = {}
            for number, reader in enumerate(touching.readers, start=1):
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
        for scene in scenes:
            if scene.loop_constraints.is_any:
                scene.loop_constraints.tighten()

    def _solve(self, solvers: Sequence[JointSolver], dt: float, gravity: Sequence[float]) -> None:
        rows = [solver.row for solver in solvers]
        if list(map(id, rows)) != list(map(id, self._rows)):
            self._rows, self._table = rows, np.concatenate(rows)
        prepare(self._table, PREPARE, 0, 0, dt, *gravity)
        solve(self._table, ALL_STAGES, 0, 0, 0, dt)
        statuses: list[int] = self._table[:, STATUS].tolist()
        for k, solver in enumerate(solvers):
            if statuses[k] == NEEDS_ROOM:
                statuses[k] = solver.solve_alone(dt)
            solver.require_finite(statuses[k])
        for solver, status in zip(solvers, statuses, strict=True):
            solver.finish(status, dt, gravity)
