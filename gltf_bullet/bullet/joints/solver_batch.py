"""The joints of many scenes, solved in one call as far as they touch nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.joint_solver import ALL_STAGES, JointSolver
from gltf_bullet.solver.compiling import IntTable
from gltf_bullet.solver.entries import NEEDS_ROOM, PREPARE, prepare, solve
from gltf_bullet.solver.island_layout import STATUS

__all__ = ["SolverBatch"]


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
        alone: list[JointSolver] = []
        for scene in scenes:
            scene.move_anchors()
            solver = scene.solver
            if not solver.has_work:
                continue
            touching = solver.look(dt, gravity, is_next=is_next)
            if touching is None:
                alone.append(solver)
                continue
            status = solver.solve_touching(touching, dt, gravity)
            solver.require_finite(status)
            solver.finish(status, dt, gravity)
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
