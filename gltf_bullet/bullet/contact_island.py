"""Joint-space solves that contacts couple: one bounded problem over components and free bodies.

Pure numpy, no engine. A drive that knows the contact it presses on computes the force that its law
asks for with the contact in place, however stiff it is; without, two stiff drives that press on
each other throw the pair to and fro (measured: k = 1e5 at 60 Hz swings by 1 m). Contacts stand here
as frictionless rows, which the engine's own contact solver then repeats with friction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.component_solver import ComponentSolver, RowProblem
from gltf_bullet.bullet.joint_solve import solve_bounded
from gltf_bullet.transforms import FloatArray

__all__ = ["ContactPoint", "FreeMass", "IslandSolution", "Side", "solve_island"]

CONTACT_ERP = 0.08
"""Share of a penetration that the engine takes back in one step (measured)."""

CONTACT_FLOOR = 1e-8
"""Relative softness of contact rows: four corners of a box carry what three could."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FreeMass:
    """A body without joints that something of the island touches."""

    com: FloatArray
    """[3], m"""
    mass: float
    inverse_inertia: FloatArray
    """[3, 3], world axes."""
    velocity: FloatArray
    """[6], linear and angular, now."""
    velocity_free: FloatArray
    """[6], after the step if nothing touched the body."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Side:
    """One of the two bodies of a contact: a link of a component, a free mass, or neither."""

    component: int = -1
    frame: int = -1
    """Index into the component's frames."""
    free: int = -1
    """Body id of a free mass."""
    com: FloatArray = field(default_factory=lambda: np.zeros(3))
    """[3], m; of a body that moves by itself (mass 0)."""
    velocity: FloatArray = field(default_factory=lambda: np.zeros(6))
    """[6]; of a body that moves by itself."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ContactPoint:
    """A place where two bodies touch or are about to."""

    first: Side
    second: Side
    position: FloatArray
    """[3], m"""
    normal: FloatArray
    """[3], from the second to the first."""
    distance: float
    """[m] at the last collision detection, negative inside."""
    presses: bool
    """Whether it carried a force in the last step."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class IslandSolution:
    """Per component number: impulses of its rows, their states, and what contacts do to it."""

    impulses: dict[int, FloatArray]
    states: dict[int, npt.NDArray[np.int8]]
    pushes: dict[int, FloatArray]


def solve_island(
    solvers: Mapping[int, ComponentSolver],
    problems: Mapping[int, RowProblem],
    free: Mapping[int, FreeMass],
    points: Sequence[ContactPoint],
    dt: float,
) -> IslandSolution:
    """Solve the rows of all components together with their contacts.

    Args:
        solvers: By number.
        problems: Of this step, by the same numbers.
        free: By body id.
        points: Each side is in ``solvers`` or ``free``, or moves by itself.
        dt: [s]
    """
    columns: dict[tuple[int, int], int] = {}
    width = 0
    for number, problem in problems.items():
        columns[number, -1] = width
        width += problem.rows.shape[1]
    for body in free:
        columns[-1, body] = width
        width += 6
    count = sum(len(problem.rows) for problem in problems.values())
    total = count + len(points)
    matrix = np.zeros((total, total))
    right, low, high = np.zeros(total), np.zeros(total), np.full(total, math.inf)
    guess = np.zeros(total, dtype=np.int8)
    rows = np.zeros((count, width))
    slices: dict[int, slice] = {}
    start = 0
    for number, problem in problems.items():
        where = slices[number] = slice(start, start + len(problem.rows))
        first = columns[number, -1]
        rows[where, first : first + problem.rows.shape[1]] = problem.rows
        matrix[where, where] = problem.matrix
        right[where], low[where], high[where] = problem.right, problem.low, problem.high
        guess[where] = _started(problem)
        start = where.stop
    touching, rates = _contact_rows(solvers, problems, free, points, columns, width, dt)
    inverse = np.zeros((width, len(points)))
    for number, problem in problems.items():
        first = columns[number, -1]
        block = slice(first, first + problem.rows.shape[1])
        inverse[block] = solvers[number].factor.solve(touching[:, block].T)
    for body, mass in free.items():
        first = columns[-1, body]
        inverse[first : first + 3] = touching[:, first : first + 3].T / mass.mass
        inverse[first + 3 : first + 6] = mass.inverse_inertia @ touching[:, first + 3 : first + 6].T
    coupling = rows @ inverse
    between = touching @ inverse
    between[np.diag_indices_from(between)] *= 1.0 + CONTACT_FLOOR
    matrix[:count, count:], matrix[count:, :count] = coupling, coupling.T
    matrix[count:, count:] = between
    right[count:] = rates
    guess[count:] = [0 if point.presses else -1 for point in points]
    impulse, state = solve_bounded(matrix, right, low, high, guess)
    change = inverse @ impulse[count:]
    return IslandSolution(
        impulses={number: impulse[where] for number, where in slices.items()},
        states={number: state[where] for number, where in slices.items()},
        pushes={
            number: change[columns[number, -1] : columns[number, -1] + problem.rows.shape[1]]
            for number, problem in problems.items()
        },
    )


def _started(problem: RowProblem) -> npt.NDArray[np.int8]:
    if problem.guess is not None and len(problem.guess) == len(problem.right):
        return problem.guess
    free_or_high = np.where(problem.high == 0.0, 1, 0)
    return np.where(problem.low == 0.0, -1, free_or_high).astype(np.int8)


def _contact_rows(
    solvers: Mapping[int, ComponentSolver],
    problems: Mapping[int, RowProblem],
    free: Mapping[int, FreeMass],
    points: Sequence[ContactPoint],
    columns: Mapping[tuple[int, int], int],
    width: int,
    dt: float,
) -> tuple[FloatArray, FloatArray]:
    """Velocity rows [k, width] of the contacts, and by how much each falls short of its target."""
    rows = np.zeros((len(points), width))
    rates = np.zeros(len(points))
    for k, point in enumerate(points):
        now = after = 0.0
        for side, sign in ((point.first, 1.0), (point.second, -1.0)):
            normal = sign * point.normal
            if side.component >= 0:
                solver, problem = solvers[side.component], problems[side.component]
                row = solver.geometry.normal_row(
                    solver.solved_state(), side.frame, point.position, normal
                )
                first, size = columns[side.component, -1], problem.rows.shape[1]
                rows[k, first : first + size] += row[:size]
                now += float(row @ problem.velocities)
                after += float(row @ problem.velocity_free)
                continue
            mass = free.get(side.free)
            com = side.com if mass is None else mass.com
            row = np.concatenate([normal, np.cross(point.position - com, normal)])
            if mass is not None:
                first = columns[-1, side.free]
                rows[k, first : first + 6] += row
                now += float(row @ mass.velocity)
                after += float(row @ mass.velocity_free)
            else:
                now += float(row @ side.velocity)
                after += float(row @ side.velocity)
        # The engine detected the contact before the last step moved the bodies.
        gap = point.distance + dt * now
        rates[k] = (-gap / dt if gap > 0.0 else -CONTACT_ERP * gap / dt) - after
    return rows, rates
