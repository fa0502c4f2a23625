"""The joint solve of scenes that step together, for one engine step or for whole steps in one call.

One scene or many go the same way. Kernels solve all scenes whose contacts they have in memory, in
one call, and make the engine's steps in the same call if nothing in them needs Python. All other
scenes are solved from here: contacts are followed from scene to scene, and an island that spans
several scenes is solved once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver
from gltf_bullet.bullet.joints.solving.scene_islands import cells_of
from gltf_bullet.bullet.joints.solving.world_contacts import WorldContacts
from gltf_bullet.bullet.session import EngineSettings
from gltf_bullet.numba_aot import IntTable, address_of
from gltf_bullet.solver import outcomes
from gltf_bullet.solver.engine.stepping import (
    AT_ONCE,
    BY_SCENE,
    CHECK_WORLD,
    FIND_CONTACTS,
    FORCES,
    READ,
    WHOLE_STEP,
    advance,
    advance_worlds,
)
from gltf_bullet.solver.scene_table import SCENE

_RETRY_INTERVAL = 8
"""Number of steps after which kernels try again to follow the contacts of a scene."""
_CANNOT = outcomes.REFUSED | outcomes.STATE_LOST
"""Outcomes if the engine did not answer or has lost a body: reading each scene shows which one."""
_STEPPED = outcomes.STEPPED


NOTHING, BEFORE_ENGINE, AFTER_ENGINE = range(3)
"""Places at which kernels leave an engine step."""


class MadeSteps(NamedTuple):
    """Result of whole steps that kernels have made."""

    finished: int
    """Number of finished steps."""
    part: int = 0
    """Number of finished engine steps of the next one."""
    pending: int = NOTHING
    """Place from which Python has to finish one more engine step: BEFORE_ENGINE or AFTER_ENGINE;
    NOTHING if none was begun.
    """


_NONE_MADE, _ONE_MADE = MadeSteps(0), MadeSteps(1)


class _KernelTable:
    """The rows of addresses of some scenes of one world, as the kernels' table."""

    def __init__(self, solvers: Sequence[JointSolver]) -> None:
        self.solvers = tuple(solvers)
        self._is_one = len(self.solvers) == 1
        self._rows: list[IntTable] = []
        self._table: IntTable = self.solvers[0].row
        self._cells = self.solvers[0].islands.cells

    def scene_rows(self) -> tuple[IntTable, memoryview]:
        """Return the table, and the same numbers as a flat view, which Python reads faster.

        The table of one scene is its own row: kernels write directly into the scene's.
        """
        if self._is_one:
            islands = self.solvers[0].islands
            return islands.row, islands.cells
        rows = [solver.row for solver in self.solvers]
        if list(map(id, rows)) != list(map(id, self._rows)):
            self._rows, self._table = rows, np.concatenate(rows)
            self._cells = cells_of(self._table)
        return self._table, self._cells


class JointSteps:
    """The joints of one scene, or of several in one world, in the order of their steps."""

    def __init__(self, scenes: Sequence[ArticulationSet]) -> None:
        self.scenes = tuple(scenes)
        self._table = _KernelTable([scene.solver for scene in scenes])
        self._solvers = self._table.solvers
        self._is_one = len(self._solvers) == 1
        self._steps_until_retry = 0

    def is_as_known(self) -> bool:
        """Return True if world and bodies are those of ``EngineIo.accept_settings``."""
        if not all(solver.is_native for solver in self._solvers):
            return False
        return not advance(self._table.scene_rows()[0], CHECK_WORLD, 0.0, 0.0, 0.0, 0.0)

    # --- the forces of one engine step --------------------------------------------------------

    def before_step(self, dt: float, gravity: Sequence[float]) -> None:
        """Find and apply all joint forces for one engine step of ``dt`` seconds.

        Args:
            dt: Length of the engine step [s].
            gravity: Gravity of the engine [m/s^2], world axes.

        Raises:
            EngineError: A force is not finite; its scene, and all that it touches, got nothing.
        """
        for scene in self.scenes:
            scene.move_anchors(dt)
        solvers: Sequence[JointSolver] = self._solvers
        for solver in solvers:
            if solver.io.skips_contacts:
                solver.io.recheck_contacts()
        known = self._with_own_contacts()
        if known and not known[0].contacts.has_foreign_constraints():
            done = self._solve_in_kernels(known, dt, gravity)
            solvers = [solver for solver in solvers if solver not in done]
        if solvers:
            _solve_in_python(solvers, dt, gravity)
        for scene in self.scenes:
            scene.tighten_loops()

    def _with_own_contacts(self) -> list[JointSolver]:
        """Return the scenes whose contacts kernels can probably follow."""
        # Contacts between scenes are tracked in Python only: kernels try again now and then.
        self._steps_until_retry = (self._steps_until_retry - 1) % _RETRY_INTERVAL
        known = [
            solver
            for solver in self._solvers
            if solver.is_undisturbed and (solver.has_own_contacts or not self._steps_until_retry)
        ]
        if len(known) < len(self._solvers):
            known = [solver for solver in known if not solver.contacts.is_reached]
        return known

    def _solve_in_kernels(
        self, solvers: Sequence[JointSolver], dt: float, gravity: Sequence[float]
    ) -> Sequence[JointSolver]:
        """Solve scenes by kernels; return those that were solved."""
        group = self._table if len(solvers) == len(self._solvers) else _KernelTable(solvers)
        table, _ = group.scene_rows()
        found = int(advance(table, FORCES, dt, *gravity))
        if found & _CANNOT:
            return ()
        if found & outcomes.NEW_CONTACTS:
            reached = [solver.contacts.is_reached for solver in solvers]
            known = (table[:, SCENE.touching] >= 0) & ~np.array(reached)
            solvers = [solver for solver, is_known in zip(solvers, known, strict=True) if is_known]
            if not solvers:
                return ()
            table = table[known]
            found = int(advance(table, FORCES & ~(READ | FIND_CONTACTS), dt, *gravity))
        _store_results(solvers, table, found, dt, gravity)
        return solvers

    # --- whole steps --------------------------------------------------------------------------

    def begin(self, settings: EngineSettings, count: int, parts: int) -> int:
        """Make the world's next steps in one call, as long as nothing in them needs Python.

        Call it only if nothing else acts in these steps, and after ``EngineIo.accept_settings``;
        then :meth:`finish`.

        Args:
            settings: Settings of the world in an engine step.
            count: The most steps to make.
            parts: Number of engine steps in each.

        Returns:
            The outcome of the last one: see :mod:`gltf_bullet.solver.outcomes`.
        """
        table, stages = self._prepare(count, parts)
        gx, gy, gz = settings.gravity
        return advance(table, stages, settings.time_step, gx, gy, gz)

    def _prepare(self, count: int, parts: int) -> tuple[IntTable, int]:
        stages, steps = WHOLE_STEP, min(count, AT_ONCE)
        if not self._is_one:
            stages |= BY_SCENE
        for solver in self._solvers:
            io = solver.io
            if io.skips_contacts:
                io.recheck_contacts()
            if solver.external_forces:
                steps = 1
        islands = self._solvers[0].islands
        # Spelled out for one scene: of a cart-pole's step a call is a hundredth.
        table, cells = (islands.row, islands.cells) if self._is_one else self._table.scene_rows()
        cells[SCENE.steps], cells[SCENE.parts] = steps, parts
        return table, stages

    def finish(self, found: int, settings: EngineSettings, parts: int) -> MadeSteps:
        """Process the outcome of :meth:`begin`.

        Returns:
            The steps that were made: none if the world or its contacts have changed.

        Raises:
            EngineError: A force is not finite; the engine was given nothing.
        """
        dt, gravity, solvers = settings.time_step, settings.gravity, self._solvers
        islands = solvers[0].islands
        table, cells = (islands.row, islands.cells) if self._is_one else self._table.scene_rows()
        made = cells[SCENE.steps] * parts + cells[SCENE.part]
        if found & outcomes.NOT_MADE:  # unless a body is lost, it was the first
            return MadeSteps(*divmod(made, parts)) if made else _NONE_MADE
        if found & _STEPPED and not found & ~outcomes.OVER:  # most steps of all
            for solver in solvers:
                solver.has_own_contacts = True
                solver.note(dt, gravity)
                if solver.external_forces and made >= parts:
                    solver.end_step()
            if found != _STEPPED:  # only in calls for one scene
                solvers[0].has_closed = bool(found & outcomes.LOOPS_CHECKED)
                if found & outcomes.SENSED:
                    solvers[0].pairs_seen = cells[SCENE.pairs]
            return _ONE_MADE if made == parts == 1 else MadeSteps(*divmod(made, parts))
        _store_results(solvers, table, found, dt, gravity)
        if found & outcomes.LOOPS_CHECKED:  # only in calls for one scene
            solvers[0].has_closed = True
            solvers[0].write_closed_loops(found)
        finished, part = divmod(made - 1, parts)
        return MadeSteps(finished, part, AFTER_ENGINE if found & _STEPPED else BEFORE_ENGINE)


def begin_in_worlds(
    calls: Sequence[tuple[JointSteps, EngineSettings, int, int]],
) -> list[int]:
    """Call :meth:`JointSteps.begin` for scenes that are alone in their worlds, all at once.

    Args:
        calls: The joints of each scene, and the arguments.

    Returns:
        The outcome of each.
    """
    if not calls:
        return []
    rows, settings = list[int](), list[float]()
    for joints, engine, count, parts in calls:
        _, stages = joints._prepare(count, parts)  # noqa: SLF001
        rows += (*joints._solvers[0].islands.place, stages, 0)  # noqa: SLF001
        settings += (engine.time_step, *engine.gravity)
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    advance_worlds(table, np.array(settings), address_of(advance))
    found: list[int] = table[:, 3].tolist()
    return found


def _store_results(
    solvers: Sequence[JointSolver],
    table: IntTable,
    found: int,
    dt: float,
    gravity: Sequence[float],
) -> None:
    """Finish what kernels have solved, scene by scene, from the rows of their table."""
    untold = found & outcomes.NOT_APPLIED
    if not found & ~outcomes.OVER:
        for solver in solvers:
            solver.store_results(0, dt, gravity)
        return
    columns = table[:, [SCENE.status, SCENE.touching]].tolist()
    for solver, (status, touching) in zip(solvers, columns, strict=True):
        solver.islands.cells[SCENE.touching] = touching
        solver.store_results(status | untold, dt, gravity)


def _solve_in_python(solvers: Sequence[JointSolver], dt: float, gravity: Sequence[float]) -> None:
    """Follow the contacts from scene to scene; islands that span several are solved once."""
    solver_of = {
        solver.contacts: solver for solver in _transmitting_last(solvers) if solver.has_joints
    }
    if len(solver_of) > 1:
        contacts = WorldContacts(solvers[0].client_id)
        for reader in solver_of:
            contacts.give(reader)
    solved: set[JointSolver] = set()
    for solver in solver_of.values():
        if solver in solved:
            continue
        joined: dict[int, JointSolver] = {}
        touching = solver.find_contacts(dt, gravity)
        if touching is None:
            solver.contacts.is_reached = False
        for number, reader in enumerate(touching.readers if touching else (), start=1):
            reader.is_reached = reader.only_transmits_forces
            other = solver_of.get(reader)
            if other and other not in solved and touching and touching.reaches_all(number):
                other.read_for_other_solve()
                joined[number] = other
        found = solver.solve(touching, dt, gravity, joined)
        for one, status in found:
            one.require_finite(status)
        for one, status in found:
            one.finish(status, dt, gravity)
            solved.add(one)


def _transmitting_last(solvers: Iterable[JointSolver]) -> list[JointSolver]:
    """Put scenes without drives and limits last: the solves of others may include them."""
    return sorted(solvers, key=lambda solver: solver.contacts.only_transmits_forces)
