"""Which components of a scene contacts couple in a step: read from the engine, then solved.

The contacts are those of the engine's last collision detection. From every component with drives
or limits they are followed through free bodies and other components, as far as they reach: what
lies on an arm's load weighs on the arm as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pybullet

from gltf_bullet.bullet.articulation import Component
from gltf_bullet.bullet.component_solver import RowProblem
from gltf_bullet.bullet.contact_island import ContactTable, FreeMass, solve_island
from gltf_bullet.bullet.free_mass import read_free_mass
from gltf_bullet.bullet.joint_solve import solve_bounded
from gltf_bullet.transforms import FloatArray

__all__ = ["ContactCoupling"]

MOST_POINTS = 96
"""Contacts of one island that are solved with the joints, the nearest first. What lies further up
a heap is left to the engine: a drive below then carries its weight only as its law says, and a
hard limit gives way a little. (The cost grows with the third power.)"""


class ContactCoupling:
    """The solves of all components of a scene, with the contacts between them."""

    def __init__(self, client_id: int, components: Sequence[Component]) -> None:
        self._client_id = client_id
        self._components = tuple(components)
        self.gravity_factor: Mapping[int, float] = {}
        """Of free bodies, by body id; 1 where it does not say."""
        self._where: dict[int, tuple[int, dict[int, int]]] = {}
        """Body id -> component number, and the frame of each of its links."""
        for number, component in enumerate(self._components):
            for k, body in enumerate(component.body_ids):
                self._where[body] = (number, _frame_of_links(component, k))

    def solve(self, problems: Sequence[RowProblem | None], dt: float, gravity: FloatArray) -> None:
        """Solve the problems of one step and give the engine what they ask for.

        Args:
            problems: By component, ``None`` where the step needs nothing.
            dt: [s]
            gravity: Of the world [m/s^2].
        """
        waiting = {n: problem for n, problem in enumerate(problems) if problem is not None}
        for number in list(waiting):
            if number not in waiting or not self._components[number].solver.row_count:
                continue
            island = _Island(self._client_id, self._where, dt, gravity, self.gravity_factor)
            island.grow(number, self._components)
            inside = {
                n: waiting.pop(n) if n in waiting else self._components[n].state_rows(dt, gravity)
                for n in sorted(island.components)
            }
            if not island.has_contacts:
                self._alone(number, inside[number])
                continue
            solvers = {n: self._components[n].solver for n in inside}
            found = solve_island(solvers, inside, island.free, island.table(), dt)
            for n, problem in inside.items():
                step = solvers[n].finish(
                    problem, found.impulses[n], found.states[n], found.pushes[n]
                )
                self._components[n].finish(step)
        for number, problem in waiting.items():
            self._alone(number, problem)

    def _alone(self, number: int, problem: RowProblem) -> None:
        impulse, guess = solve_bounded(
            problem.matrix, problem.right, problem.low, problem.high, problem.guess
        )
        component = self._components[number]
        component.finish(component.solver.finish(problem, impulse, guess))


_Side = tuple[int, int]
"""Component number and frame, or -1 and the row of a free mass."""


class _Island:
    """Contacts, components and free bodies that hang together in one step."""

    def __init__(
        self,
        client_id: int,
        where: Mapping[int, tuple[int, dict[int, int]]],
        dt: float,
        gravity: FloatArray,
        gravity_factor: Mapping[int, float],
    ) -> None:
        self._client_id = client_id
        self._where = where
        self._dt = dt
        self._gravity = gravity
        self._gravity_factor = gravity_factor
        self.components: set[int] = set()
        self.free: list[FreeMass] = []
        self._row_of_free: dict[tuple[int, int], int] = {}
        """By body, and by link where links of a body move apart."""
        self._points: list[tuple[Any, ...]] = []
        """Rows of ``getContactPoints``."""
        self._sides: list[tuple[_Side, _Side]] = []
        self._friction: dict[tuple[int, int], float] = {}

    @property
    def has_contacts(self) -> bool:
        """Whether there is anything beside the rows of the components."""
        return bool(self._points)

    def grow(self, start: int, components: Sequence[Component]) -> None:
        """Take in everything that touches a component, directly or through what it touches."""
        self.components.add(start)
        queue, done = deque(components[start].body_ids), set[int]()
        while queue and len(self._points) < MOST_POINTS:
            body = queue.popleft()
            done.add(body)
            for row in pybullet.getContactPoints(bodyA=body, physicsClientId=self._client_id) or ():
                other = row[2] if row[1] == body else row[1]
                if other in done and other != body:
                    continue
                self._points.append(row)
                self._sides.append((self._side(row[1], row[3]), self._side(row[2], row[4])))
                side = self._sides[-1][0 if row[1] == other else 1]
                fresh: Sequence[int] = ()
                if side[0] >= 0:
                    if side[0] not in self.components:
                        self.components.add(side[0])
                        fresh = components[side[0]].body_ids
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
            component=sides[:, :, 0],
            index=sides[:, :, 1],
        )

    def _side(self, body: int, link: int) -> _Side:
        if body in self._where:
            number, frames = self._where[body]
            return number, frames[link]
        key = (body, link) if self._is_fixed_robot(body) else (body, -1)
        if key not in self._row_of_free:
            self._row_of_free[key] = len(self.free)
            pull = self._gravity_factor.get(body, 1.0) * self._gravity
            self.free.append(read_free_mass(self._client_id, *key, self._dt * pull))
        return -1, self._row_of_free[key]

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


def _frame_of_links(component: Component, piece: int) -> dict[int, int]:
    """The frame that each link of a piece moves with, its own or its body's."""
    frames, plan = component.model.frames, component.plan.pieces[piece]
    result = {int(frames.link[k]): k for k in np.flatnonzero(frames.piece == piece).tolist()}
    link_of_node = dict(plan.bodies)
    for link, (node, _) in enumerate(plan.owners):
        if link not in result and link_of_node.get(node) in result:
            result[link] = result[link_of_node[node]]
    return result
