"""Joint-space solves that contacts couple: one bounded problem over articulations and free bodies.

Pure numpy, no engine. A drive that knows the contact it presses on computes the force that its law
asks for with the contact in place, however stiff it is; without, two stiff drives that press on
each other throw the pair to and fro (measured: k = 1e5 at 60 Hz swings by 1 m), and a hard limit
gives way to what lies on the arm. Only joint forces are taken from the result: the contact forces
are found anew by the engine, which comes to nearly the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.solver.articulation_solve import ArticulationSolver, RowProblem
from gltf_bullet.solver.bounded_solve import solve_bounded
from gltf_bullet.solver.dynamics import cross
from gltf_bullet.transforms import FloatArray

__all__ = [
    "ContactTable",
    "FreeMass",
    "IslandSolution",
    "solve_island",
]

CONTACT_ERP = 0.08
"""Share of a penetration that the engine takes back in one step (measured)."""

INERTIA_OF_FORCES = 1e-3
"""Relative cost of a contact impulse that differs from the last step's. Where several contacts
could carry a load, the engine goes on with what they carried; joints that reckon with another
share are thrown aside in every step."""

INERTIA_OF_STOPS = 0.3
"""The same for hard limits that hold already. The engine's contact forces scatter by some percent
from step to step; a stop that answers each of them in full keeps a heap of limbs trembling
(measured: a ragdoll at rest 0.05 to 0.1 m/s with 0, below 0.005 with 0.3; 1 overshoots)."""

EMPTY = 1e-12
"""Share of the largest inverse mass below which a row can move nothing."""

IntArray = npt.NDArray[np.intp]
StateArray = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FreeMass:
    """A body without joints, or a fixed or kinematic one, that something of the island touches."""

    com: FloatArray
    """[3], m"""
    inverse_mass: float
    """[1/kg], 0 for one that moves by itself."""
    inverse_inertia: FloatArray
    """[3, 3], world axes."""
    velocity: FloatArray
    """[6], linear and angular, now."""
    velocity_free: FloatArray
    """[6], after the step if nothing touched the body."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ContactTable:
    """p places where two bodies touch or are about to; side 0 is the first body."""

    position: FloatArray
    """[p, 3], m"""
    directions: FloatArray
    """[p, 3, 3], unit vectors: the normal, from the second body to the first, and two tangents."""
    forces: FloatArray
    """[p, 3], along the directions in the last step [N]."""
    distance: FloatArray
    """[p], m, at the last collision detection, negative inside."""
    friction: FloatArray
    """[p], coefficient of the pair."""
    articulation: IntArray
    """[p, 2], number of each side's articulation, -1 for bodies without joints."""
    index: IntArray
    """[p, 2], frame of the articulation, or row of the free masses."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class IslandSolution:
    """Per articulation number: impulses of its rows, their states, and what contacts do to it."""

    impulses: dict[int, FloatArray]
    states: dict[int, StateArray]
    pushes: dict[int, FloatArray]
    """Changes of velocity [free_count]."""


@dataclass(frozen=True, slots=True, eq=False)
class _ContactRows:
    """m rows over the velocities of all articulations and free masses of an island."""

    rows: FloatArray
    """[m, width]"""
    right: FloatArray
    """[m], by how much each velocity falls short of its target."""
    low: FloatArray
    high: FloatArray
    guess: StateArray
    last: FloatArray
    """[m], impulses of the last step."""


class _Layout:
    """Which columns of an island belong to whom."""

    def __init__(self, problems: Mapping[int, RowProblem], free: Sequence[FreeMass]) -> None:
        self.of_articulation: dict[int, slice] = {}
        start = 0
        for number, problem in problems.items():
            size = problem.rows.shape[1]
            self.of_articulation[number] = slice(start, start + size)
            start += size
        self.first_of_free = start + 6 * np.arange(len(free))
        self.width = start + 6 * len(free)


def solve_island(
    solvers: Mapping[int, ArticulationSolver],
    problems: Mapping[int, RowProblem],
    free: Sequence[FreeMass],
    table: ContactTable,
    dt: float,
) -> IslandSolution:
    """Solve the rows of all articulations together with their contacts.

    Args:
        solvers: By number.
        problems: Of this step, by the same numbers.
        free: Bodies without joints.
        table: The contacts between all of them.
        dt: [s]
    """
    layout = _Layout(problems, free)
    count = sum(len(problem.right) for problem in problems.values())
    contact = _contact_rows(solvers, problems, free, table, layout, dt)
    inverse = _inverse(solvers, free, contact.rows, layout)
    total = count + len(contact.right)
    matrix = np.zeros((total, total))
    right = np.concatenate([*(problem.right for problem in problems.values()), contact.right])
    slices: dict[int, slice] = {}
    start = 0
    for number, problem in problems.items():
        where = slices[number] = slice(start, start + len(problem.right))
        matrix[where, where] = problem.matrix
        coupling = problem.rows @ inverse[layout.of_articulation[number]]
        matrix[where, count:], matrix[count:, where] = coupling, coupling.T
        start = where.stop
    between = contact.rows @ inverse
    diagonal = between.diagonal().copy()
    # A locked axis cannot slide at all: its row is empty.
    largest = diagonal.max() or 1.0
    reluctance = np.where(
        diagonal > EMPTY * largest, INERTIA_OF_FORCES * diagonal, INERTIA_OF_FORCES * largest
    )
    between.flat[:: len(between) + 1] += reluctance
    matrix[count:, count:] = between
    right[count:] += reluctance * contact.last
    _calm(matrix, right, count, contact, solvers, slices)
    impulse, state = solve_bounded(
        matrix,
        right,
        np.concatenate([*(problem.low for problem in problems.values()), contact.low]),
        np.concatenate([*(problem.high for problem in problems.values()), contact.high]),
        np.concatenate([*(_started(problem) for problem in problems.values()), contact.guess]),
    )
    change = inverse @ impulse[count:]
    return IslandSolution(
        impulses={number: impulse[where] for number, where in slices.items()},
        states={number: state[where] for number, where in slices.items()},
        pushes={number: change[where] for number, where in layout.of_articulation.items()},
    )


def _calm(
    matrix: FloatArray,
    right: FloatArray,
    count: int,
    contact: _ContactRows,
    solvers: Mapping[int, ArticulationSolver],
    slices: Mapping[int, slice],
) -> None:
    """Let hard limits go on with the impulses that they had, in place."""
    last = np.zeros(count)
    for number, where in slices.items():
        solver = solvers[number]
        rows = solver.model.rows
        stops = np.isinf(rows.stiffness) & ~rows.is_drive & ~solver.recovering
        last[where.start : where.start + solver.row_count] = np.where(stops, solver.impulses, 0.0)
    held = np.flatnonzero(last)
    pressing = count + np.flatnonzero(contact.guess == 0)
    if not len(held) or not len(pressing):
        return
    # How far a stop gives way to an impulse, with all that rests on it.
    across = matrix[np.ix_(held, pressing)]
    give = matrix[held, held] - np.einsum(
        "ij,ji->i", across, np.linalg.solve(matrix[np.ix_(pressing, pressing)], across.T)
    )
    reluctance = INERTIA_OF_STOPS * np.maximum(give, 0.0)
    matrix[held, held] += reluctance
    right[held] += reluctance * last[held]


def _started(problem: RowProblem) -> StateArray:
    if problem.guess is not None and len(problem.guess) == len(problem.right):
        return problem.guess
    free_or_high = np.where(problem.high == 0.0, 1, 0)
    return np.where(problem.low == 0.0, -1, free_or_high).astype(np.int8)


def _inverse(
    solvers: Mapping[int, ArticulationSolver],
    free: Sequence[FreeMass],
    rows: FloatArray,
    layout: _Layout,
) -> FloatArray:
    """M^-1 rows^T, [width, m]."""
    inverse = np.zeros((layout.width, len(rows)))
    for number, where in layout.of_articulation.items():
        inverse[where] = solvers[number].factor.solve(rows[:, where].T)
    for body, first in zip(free, layout.first_of_free.tolist(), strict=True):
        inverse[first : first + 3] = body.inverse_mass * rows[:, first : first + 3].T
        inverse[first + 3 : first + 6] = body.inverse_inertia @ rows[:, first + 3 : first + 6].T
    return inverse


def _contact_rows(
    solvers: Mapping[int, ArticulationSolver],
    problems: Mapping[int, RowProblem],
    free: Sequence[FreeMass],
    table: ContactTable,
    layout: _Layout,
    dt: float,
) -> _ContactRows:
    count = len(table.distance)
    rows = np.zeros((count, 3, layout.width))
    now, after = np.zeros((count, 3)), np.zeros((count, 3))
    for side, sign in ((0, 1.0), (1, -1.0)):
        for number, columns in layout.of_articulation.items():
            touched = np.flatnonzero(table.articulation[:, side] == number)
            solver, problem = solvers[number], problems[number]
            jacobian = solver.geometry.point_jacobians(
                solver.solved_state(), table.index[touched, side], table.position[touched]
            )
            now[touched] += sign * (jacobian @ problem.velocities)
            after[touched] += sign * (jacobian @ problem.velocity_free)
            size = columns.stop - columns.start
            rows[touched, :, columns] += sign * (table.directions[touched] @ jacobian[:, :, :size])
        touched = np.flatnonzero(table.articulation[:, side] < 0)
        if not len(touched):
            continue
        which = table.index[touched, side]
        arm = table.position[touched] - np.array([body.com for body in free])[which]
        for rate, velocity in (
            (now, np.array([body.velocity for body in free])[which]),
            (after, np.array([body.velocity_free for body in free])[which]),
        ):
            rate[touched] += sign * (velocity[:, :3] + cross(velocity[:, 3:], arm))
        directions = table.directions[touched]
        columns_of_free = layout.first_of_free[which, None] + np.arange(6)
        block = np.concatenate([directions, cross(arm[:, None], directions)], axis=2)
        rows[touched[:, None, None], np.arange(3)[None, :, None], columns_of_free[:, None]] += (
            sign * block
        )
    # The engine detected the contacts before the last step moved the bodies.
    gap = table.distance + dt * np.einsum("pk,pk->p", table.directions[:, 0], now)
    right = -np.einsum("pjk,pk->pj", table.directions, after)
    right[:, 0] += np.where(gap > 0.0, -gap, -CONTACT_ERP * gap) / dt
    last = dt * table.forces
    grip = (table.friction * last[:, 0])[:, None]
    low = np.concatenate([np.zeros_like(grip), -grip, -grip], axis=1)
    high = np.concatenate([np.full_like(grip, math.inf), grip, grip], axis=1)
    guess = np.zeros((count, 3), dtype=np.int8)
    guess[last[:, 0] <= 0.0, 0] = -1
    # Tangents count where the contact presses.
    kept = np.concatenate([np.ones_like(grip, dtype=bool), grip > 0.0, grip > 0.0], axis=1)
    return _ContactRows(rows[kept], right[kept], low[kept], high[kept], guess[kept], last[kept])
