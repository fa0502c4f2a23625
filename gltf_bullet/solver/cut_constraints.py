"""The constraints between the multibodies of a cut articulation, solved together.

Pure numpy. The engine closes them one after the other; a rope of eight multibodies then hangs 7 mm
apart at its cuts (measured). Here all of them are one small linear system over the multibodies' own
solves. What it finds is applied a little smoothed, as the load that the constraints carry; the
engine corrects the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gltf_bullet.planning.joints.articulation_plan import CutConstraint, LoopConstraintKind
from gltf_bullet.solver.articulation_solve import ArticulationSolver
from gltf_bullet.transforms import FloatArray

__all__ = ["CutConstraintSolver"]

CLOSING_SHARE = 0.2
"""Share of a gap that one step takes back."""

LARGEST_GAP = 0.01
"""[m] that is reckoned with at once."""

FLOOR = 1e-10

SMOOTHING_TIME = 0.01
"""[s] over which the applied load follows the one found."""

WHIP = 0.2
"""Share of its velocity that a multibody turns over in a step, beyond which the load is let go."""


class CutConstraintSolver:
    """The loads between multibodies, remembered from step to step."""

    def __init__(
        self, loop_constraints: Sequence[CutConstraint], solvers: Sequence[ArticulationSolver]
    ) -> None:
        self._loop_constraints = tuple(loop_constraints)
        self._solvers = tuple(solvers)
        for cross in loop_constraints:
            solvers[cross.first_articulation].is_cut = True
            solvers[cross.second_articulation].is_cut = True
        sizes = [
            6 if c.loop_constraint.kind is LoopConstraintKind.WELD else 3 for c in loop_constraints
        ]
        self._slices = [
            slice(start, start + size)
            for start, size in zip(np.cumsum([0, *sizes]).tolist(), sizes, strict=False)
        ]
        self.loads = np.zeros(sum(sizes))
        """Force and torque on the second side of each loop constraint, world axes [N, N m]."""

    def forces(self, dt: float) -> dict[int, FloatArray]:
        """Generalized forces per articulation number, after its own solve of this step."""
        blocks: dict[int, FloatArray] = {}
        right = np.zeros(len(self.loads))
        for cross, where in zip(self._loop_constraints, self._slices, strict=True):
            first = self._solvers[cross.first_articulation]
            second = self._solvers[cross.second_articulation]
            a = first.frame_position(cross.loop_constraint.first)
            b = second.frame_position(cross.loop_constraint.second)
            size = where.stop - where.start
            row_a = first.point_rows(cross.loop_constraint.first, b, size)
            row_b = second.point_rows(cross.loop_constraint.second, b, size)
            right[where] = row_a @ first.after - row_b @ second.after
            gap = np.clip(b - a, -LARGEST_GAP, LARGEST_GAP)
            right[where.start : where.start + 3] -= CLOSING_SHARE / dt * gap
            for number, sign, row in (
                (cross.first_articulation, -1.0, row_a),
                (cross.second_articulation, 1.0, row_b),
            ):
                free = self._solvers[number].model.free_count
                block = blocks.setdefault(number, np.zeros((len(right), free)))
                block[where] += sign * row[:, :free]
        matrix = np.zeros((len(right), len(right)))
        for number, block in blocks.items():
            matrix += block @ self._solvers[number].factor.solve(block.T)
        matrix.flat[:: len(matrix) + 1] += FLOOR * float(matrix.diagonal().max(initial=1e-12))
        found = np.linalg.solve(matrix, right) / dt
        share = min(1.0, dt / SMOOTHING_TIME)
        for cross, where in zip(self._loop_constraints, self._slices, strict=True):
            whip = max(
                self._solvers[n].whip for n in (cross.first_articulation, cross.second_articulation)
            )
            goal = found[where] if whip < WHIP else 0.0
            self.loads[where] += share * (goal - self.loads[where])
        return {number: block.T @ self.loads for number, block in blocks.items()}
