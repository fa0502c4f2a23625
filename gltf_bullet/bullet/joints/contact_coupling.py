"""Which articulations of a scene contacts couple in a step: read from the engine, then solved.

The contacts are those of the engine's last collision detection. From every articulation with drives
or limits they are followed through free bodies and other articulations, as far as they reach: what
lies on an arm's load weighs on the arm as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from weakref import WeakSet

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.foreign_bodies import read_free_mass
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.solver.articulation_solve import RowProblem
from gltf_bullet.solver.bounded_solve import solve_bounded
from gltf_bullet.solver.contact_island import ContactTable, FreeMass, solve_island
from gltf_bullet.transforms import FloatArray

__all__ = ["ContactCoupling", "ContactMemory"]

MOST_POINTS = 48
"""Contacts of one island that are solved with the joints: from the articulation outwards, and of
one body those that press hardest. What lies further up a heap is left to the engine: a drive below
then carries its weight only as its law says. (The cost grows with the third power: 200 boxes on one
lift took 300 ms per step.)"""

ContactRow: TypeAlias = tuple[Any, ...]
"""One row of ``getContactPoints``."""

ContactMemory: TypeAlias = tuple[tuple[int, tuple[ContactRow, ...]], ...]
"""Contacts by body; -2 - k stands for the scene's k-th body."""


class ContactCoupling:
    """The solves of all articulations of a scene, with the contacts between them."""

    def __init__(self, client_id: int, articulations: Sequence[Articulation]) -> None:
        self.client_id = client_id
        self.articulations = tuple(articulations)
        self.gravity_factor: Mapping[int, float] = {}
        """Of the scene's free bodies, by body id."""
        self.where: dict[int, tuple[int, dict[int, int]]] = {}
        """Body id -> articulation number, and the frame of each of its links."""
        for number, articulation in enumerate(self.articulations):
            for k, body in enumerate(articulation.body_ids):
                self.where[body] = (number, _frame_of_links(articulation, k))
        self.neighbours: WeakSet[ContactCoupling] = WeakSet((self,))
        """Of all scenes in the world, this one included."""
        self._held: dict[int, tuple[ContactRow, ...]] | None = None

    def join(self, neighbours: WeakSet[ContactCoupling]) -> None:
        """Know the other scenes of the world, as they know this one from now on."""
        neighbours.add(self)
        self.neighbours = neighbours

    def leave(self) -> None:
        """Be no neighbour any more: the bodies are gone."""
        self.neighbours.discard(self)

    def solve(self, problems: Sequence[RowProblem | None], dt: float, gravity: FloatArray) -> None:
        """Solve the problems of one step and give the engine what they ask for.

        Args:
            problems: By articulation, ``None`` where the step needs nothing.
            dt: [s]
            gravity: Of the world [m/s^2].
        """
        waiting = {n: problem for n, problem in enumerate(problems) if problem is not None}
        idle = {n for n, problem in enumerate(problems) if problem is None}
        for number in list(waiting):
            if number not in waiting or not self.articulations[number].solver.row_count:
                continue
            island = _Island(self, dt, gravity)
            island.grow(number)
            if not island.has_contacts:
                self._alone(number, waiting.pop(number))
                continue
            inside, solvers = {}, {}
            for n in sorted(island.articulations):
                articulation = island.known[n]
                solvers[n] = articulation.solver
                problem = problems[n] if n < len(problems) else None
                inside[n] = articulation.state_rows(dt, gravity) if problem is None else problem
            found = solve_island(solvers, inside, island.free, island.table(), dt)
            for n, problem in inside.items():
                # What another island has solved already, or another scene will, is context here:
                # forces given to the engine twice add up.
                if n in waiting or n in idle:
                    waiting.pop(n, None)
                    idle.discard(n)
                    step = solvers[n].finish(
                        problem, found.impulses[n], found.states[n], found.pushes[n]
                    )
                    island.known[n].finish(step)
        for number, problem in waiting.items():
            self._alone(number, problem)
        self._held = None

    def _alone(self, number: int, problem: RowProblem) -> None:
        impulse, guess = solve_bounded(
            problem.matrix, problem.right, problem.low, problem.high, problem.guess
        )
        articulation = self.articulations[number]
        articulation.finish(articulation.solver.finish(problem, impulse, guess))

    # --- contacts -----------------------------------------------------------------------------

    def contacts_of(self, body: int) -> tuple[ContactRow, ...]:
        """What a body touches, itself first in each row."""
        if self._held is not None:
            return self._held.get(body, ())
        return pybullet.getContactPoints(bodyA=body, physicsClientId=self.client_id) or ()

    def hold(self) -> None:
        """Keep the contacts for the next solve: they are about to be made anew, without forces."""
        if self._held is None:
            self._held = self._read()

    def memory(self, own: Sequence[int]) -> ContactMemory:
        """The contacts that the next solve reckons with; ``own`` are the scene's bodies."""
        held = self._read() if self._held is None else self._held
        code = {body: -2 - k for k, body in enumerate(own)}
        return _renamed(held.items(), code)

    def recall(self, memory: ContactMemory, own: Sequence[int]) -> None:
        """Take back a :meth:`memory` for the next solve."""
        code = {-2 - k: body for k, body in enumerate(own)}
        self._held = dict(_renamed(memory, code))

    def _read(self) -> dict[int, tuple[ContactRow, ...]]:
        if not any(articulation.solver.row_count for articulation in self.articulations):
            return {}
        rows = pybullet.getContactPoints(physicsClientId=self.client_id) or ()
        bodies = sorted({body for row in rows for body in row[1:3]})
        return {
            body: pybullet.getContactPoints(bodyA=body, physicsClientId=self.client_id) or ()
            for body in bodies
        }


def _renamed(
    contacts: Iterable[tuple[int, tuple[ContactRow, ...]]], code: Mapping[int, int]
) -> ContactMemory:
    return tuple(
        (
            code.get(body, body),
            tuple((r[0], code.get(r[1], r[1]), code.get(r[2], r[2]), *r[3:]) for r in rows),
        )
        for body, rows in contacts
    )


_Side = tuple[int, int]
"""Articulation number and frame, or -1 and the row of a free mass."""


class _Island:
    """Contacts, articulations and free bodies that hang together in one step."""

    def __init__(self, coupling: ContactCoupling, dt: float, gravity: FloatArray) -> None:
        self._coupling = coupling
        self._client_id = coupling.client_id
        self._dt = dt
        self._gravity = gravity
        self.known: list[Articulation] = list(coupling.articulations)
        """By number: the scene's own, then those of other scenes that it touches."""
        self._number_of: dict[Articulation, int] = {}
        """Of other scenes' articulations."""
        self.articulations: set[int] = set()
        self.free: list[FreeMass] = []
        self._row_of_free: dict[tuple[int, int], int] = {}
        """By body, and by link where links of a body move apart."""
        self._points: list[ContactRow] = []
        self._sides: list[tuple[_Side, _Side]] = []
        self._friction: dict[tuple[int, int], float] = {}

    @property
    def has_contacts(self) -> bool:
        """Whether there is anything beside the rows of the articulations."""
        return bool(self._points)

    def grow(self, start: int) -> None:
        """Take in everything that touches an articulation, directly or through what it touches."""
        self.articulations.add(start)
        queue, done = deque(self.known[start].body_ids), set[int]()
        while queue and len(self._points) < MOST_POINTS:
            body = queue.popleft()
            done.add(body)
            rows = self._coupling.contacts_of(body)
            if len(self._points) + len(rows) > MOST_POINTS:
                rows = tuple(sorted(rows, key=_by_force)[: MOST_POINTS - len(self._points)])
            for row in rows:
                other = row[2] if row[1] == body else row[1]
                if other in done and other != body:
                    continue
                sides = self._side(row[1], row[3]), self._side(row[2], row[4])
                self._points.append(row)
                self._sides.append(sides)
                side = sides[0 if row[1] == other else 1]
                fresh: Sequence[int] = ()
                if side[0] >= 0:
                    if side[0] not in self.articulations:
                        self.articulations.add(side[0])
                        fresh = self.known[side[0]].body_ids
                elif self.free[side[1]].inverse_mass:
                    fresh = (other,)
                queue += [b for b in fresh if b not in done and b not in queue]

    def table(self) -> ContactTable:
        """All contacts that can be solved."""

        def column(number: int) -> FloatArray:
            return np.array([point[number] for point in self._points], dtype=np.float64)

        sides = np.array(self._sides, dtype=np.intp)
        return ContactTable(
            position=0.5 * (column(5) + column(6)),
            directions=np.stack([column(7), column(11), column(13)], axis=1),
            forces=np.stack([column(9), column(10), column(12)], axis=1),
            distance=column(8),
            friction=np.array(
                [
                    self._friction_of(point[1], point[3]) * self._friction_of(point[2], point[4])
                    for point in self._points
                ]
            ),
            articulation=sides[:, :, 0],
            index=sides[:, :, 1],
        )

    def _side(self, body: int, link: int) -> _Side:
        for coupling in (self._coupling, *self._coupling.neighbours):
            if body in coupling.where:
                number, frames = coupling.where[body]
                if coupling is not self._coupling:
                    number = self._number(coupling.articulations[number])
                return number, frames[link]
        key = (body, link) if self._is_fixed_robot(body) else (body, -1)
        if key not in self._row_of_free:
            self._row_of_free[key] = len(self.free)
            gain = self._dt * self._gravity_factor(body) * self._gravity
            self.free.append(read_free_mass(self._client_id, *key, gain))
        return -1, self._row_of_free[key]

    def _number(self, articulation: Articulation) -> int:
        if articulation not in self._number_of:
            self._number_of[articulation] = len(self.known)
            self.known.append(articulation)
        return self._number_of[articulation]

    def _gravity_factor(self, body: int) -> float:
        for coupling in self._coupling.neighbours:
            if body in coupling.gravity_factor:
                return coupling.gravity_factor[body]
        return 1.0

    def _is_fixed_robot(self, body: int) -> bool:
        """Whether it is somebody else's articulation with a base of mass 0."""
        client = self._client_id
        return bool(
            pybullet.getNumJoints(body, physicsClientId=client)
            and pybullet.getDynamicsInfo(body, -1, physicsClientId=client)[0] == 0.0
        )

    def _friction_of(self, body: int, link: int) -> float:
        known = self._friction.get((body, link))
        if known is None:
            info = pybullet.getDynamicsInfo(body, link, physicsClientId=self._client_id)
            known = self._friction[body, link] = float(info[1])
        return known


def _by_force(row: ContactRow) -> tuple[float, float]:
    """Sorts the strongest contact first, then the deepest."""
    return -row[9], row[8]


def _frame_of_links(articulation: Articulation, multibody: int) -> dict[int, int]:
    """The frame that each link of a multibody moves with, its own or its body's."""
    frames, plan = articulation.model.frames, articulation.plan.multibodies[multibody]
    result = {
        int(frames.link[k]): k for k in np.flatnonzero(frames.multibody == multibody).tolist()
    }
    link_of_node = dict(plan.bodies)
    for link, (node, _) in enumerate(plan.owners):
        if link not in result and link_of_node.get(node) in result:
            result[link] = result[link_of_node[node]]
    return result
