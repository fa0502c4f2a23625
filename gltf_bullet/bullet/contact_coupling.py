"""Which components of a scene contacts couple in a step: read from the engine, then solved.

The contacts are those of the engine's last collision detection. From every component with drives
or limits they are followed through free bodies and other components, as far as they reach: what
lies on an arm's load weighs on the arm as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pybullet

from gltf_bullet.bullet.articulation import Component
from gltf_bullet.bullet.component_solver import RowProblem
from gltf_bullet.bullet.contact_island import ContactPoint, FreeMass, Side, solve_island
from gltf_bullet.bullet.joint_solve import solve_bounded
from gltf_bullet.transforms import FloatArray, matrices_from_quats

__all__ = ["ContactCoupling"]

MOST_POINTS = 96
"""Contacts of one island that are solved with the joints; a pile beyond is left to the engine
(the cost grows with the third power: 1 ms at 60, measured)."""


class _Island:
    """Contacts, components and free bodies that hang together in this step."""

    def __init__(self) -> None:
        self.components: set[int] = set()
        self.free: dict[int, FreeMass] = {}
        self.points: list[ContactPoint] = []


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
        self._inertia_of: dict[int, tuple[float, FloatArray]] = {}

    def solve(self, problems: Sequence[RowProblem | None], dt: float, gravity: FloatArray) -> None:
        """Solve the problems of one step and give the engine what they ask for."""
        left = {number for number, problem in enumerate(problems) if problem is not None}
        for number in sorted(left):
            if number not in left or not self._components[number].solver.row_count:
                continue
            island = self._island(number, problems, dt, gravity)
            if not island.points or len(island.points) > MOST_POINTS:
                continue
            left -= island.components
            numbers = sorted(island.components)
            inside = {n: p for n in numbers if (p := problems[n]) is not None}
            solvers = {n: self._components[n].solver for n in numbers}
            found = solve_island(solvers, inside, island.free, island.points, dt)
            for n, problem in inside.items():
                step = solvers[n].finish(
                    problem, found.impulses[n], found.states[n], found.pushes[n]
                )
                self._components[n].finish(step)
        for number in sorted(left):
            problem = problems[number]
            if problem is None:
                continue
            impulse, guess = solve_bounded(
                problem.matrix, problem.right, problem.low, problem.high, problem.guess
            )
            component = self._components[number]
            component.finish(component.solver.finish(problem, impulse, guess))

    # --- reading ------------------------------------------------------------------------------

    def _island(
        self, start: int, problems: Sequence[RowProblem | None], dt: float, gravity: FloatArray
    ) -> _Island:
        """Everything that touches a component, directly or through what it touches."""
        island = _Island()
        island.components.add(start)
        waiting = list(self._components[start].body_ids)
        done: set[int] = set()
        while waiting and len(island.points) <= MOST_POINTS:
            body = waiting.pop()
            done.add(body)
            for row in pybullet.getContactPoints(bodyA=body, physicsClientId=self._client_id) or ():
                first, second = row[1], row[2]
                other = second if first == body else first
                if other in done and other != body:
                    continue
                sides = []
                for one, link in ((first, row[3]), (second, row[4])):
                    side = self._side(island, problems, one, link, dt, gravity)
                    if side is None:
                        break
                    sides.append(side)
                if len(sides) < 2:
                    continue
                island.points.append(
                    ContactPoint(
                        first=sides[0],
                        second=sides[1],
                        position=0.5 * (np.array(row[5]) + np.array(row[6])),
                        normal=np.array(row[7]),
                        distance=row[8],
                        presses=row[9] > 0.0,
                    )
                )
                if other not in done and other not in waiting:
                    number = self._where.get(other, (-1, {}))[0]
                    if number >= 0:
                        island.components.add(number)
                        waiting += [
                            b
                            for b in self._components[number].body_ids
                            if b not in done and b not in waiting
                        ]
                    elif other in island.free:
                        waiting.append(other)
        return island

    def _side(
        self,
        island: _Island,
        problems: Sequence[RowProblem | None],
        body: int,
        link: int,
        dt: float,
        gravity: FloatArray,
    ) -> Side | None:
        """One side of a contact; ``None`` where nothing is known of the body."""
        known = self._where.get(body)
        if known is not None:
            number, frames = known
            if problems[number] is None or link not in frames:
                return None
            return Side(component=number, frame=frames[link])
        if body in island.free:
            return Side(free=body)
        if pybullet.getNumJoints(body, physicsClientId=self._client_id):
            return None
        mass, moments = self._mass_of(body)
        position, rotation = pybullet.getBasePositionAndOrientation(body, self._client_id)
        velocity = np.concatenate(pybullet.getBaseVelocity(body, self._client_id))
        com = np.array(position)
        if mass == 0.0:
            return Side(com=com, velocity=velocity)
        turn = matrices_from_quats(np.array(rotation))
        pull = self.gravity_factor.get(body, 1.0) * gravity
        island.free[body] = FreeMass(
            com=com,
            mass=mass,
            inverse_inertia=turn @ np.diag(1.0 / moments) @ turn.T,
            velocity=velocity,
            velocity_free=velocity + dt * np.concatenate([pull, np.zeros(3)]),
        )
        return Side(free=body)

    def _mass_of(self, body: int) -> tuple[float, FloatArray]:
        info = pybullet.getDynamicsInfo(body, -1, physicsClientId=self._client_id)
        return float(info[0]), np.maximum(np.array(info[2]), 1e-12)


def _frame_of_links(component: Component, piece: int) -> dict[int, int]:
    """The frame that each link of a piece moves with, its own or its body's."""
    frames = component.model.frames
    plan = component.plan.pieces[piece]
    result = {int(frames.link[k]): k for k in range(len(frames.piece)) if frames.piece[k] == piece}
    link_of_node = dict(plan.bodies)
    for link, (node, _) in enumerate(plan.owners):
        if link not in result and node in link_of_node and link_of_node[node] in result:
            result[link] = result[link_of_node[node]]
    return result
