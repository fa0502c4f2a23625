"""Puts the joints of an articulation somewhere, in one call a multibody."""

from __future__ import annotations

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.arena_frames import FLOATING_STATE
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.solver import arena as slots
from gltf_bullet.transforms import (
    FloatArray,
    quat_from_rotation_vector,
    quat_multiply,
    turned,
)

__all__ = ["JointPlaces"]


class JointPlaces:
    """The joints and bases of an articulation, as the arena has them."""

    def __init__(self, articulation: Articulation) -> None:
        """Look up where each number is."""
        self._client_id = articulation.client_id
        record = articulation.record
        dofs = {
            (dof.multibody, dof.link): index
            for dof, index in zip(articulation.plan.dofs, record.dof_index, strict=True)
        }
        axes: list[tuple[int, int]] = []
        balls: list[tuple[int, int]] = []
        self._bodies: list[tuple[int, list[int], list[slice], list[slice]]] = []
        self._bases: list[tuple[int, int]] = []
        """(body, where its pose and velocities begin) of the bases that the arena knows."""
        self._floating: list[tuple[int, int]] = []
        """(where its pose begins, first velocity) of those that move."""
        at = 0
        for k, (body, (base, links)) in enumerate(
            zip(articulation.body_ids, record.states, strict=True)
        ):
            if base:
                self._bases.append((body, at))
            if base == FLOATING_STATE:
                self._floating.append((at, record.base_index[k]))
            at += base
            places, speeds = [], []
            for link, is_ball in links:
                positions, velocities = (4, 3) if is_ball else (1, 1)
                (balls if is_ball else axes).append((at, dofs[k, link]))
                places.append(slice(at, at + positions))
                at += positions
                speeds.append(slice(at, at + velocities))
                at += velocities
            if links:
                self._bodies.append((body, [link for link, _ in links], places, speeds))
        self._axes = np.array(axes, dtype=np.intp).reshape(-1, 2).T
        self._balls = np.array(balls, dtype=np.intp).reshape(-1, 2).T
        self._state = articulation.state[:at]
        self._last = articulation.arena.model(record, slots.LAST_STATE, at)
        self._placed = articulation.arena.model(record, slots.PLACED, 1)

    def move(self, way: FloatArray) -> None:
        """Put everything elsewhere, at the velocities that it has; ``way`` is [n] in m and rad."""
        now = self._state.copy()
        now[self._axes[0]] += way[self._axes[1]]
        if self._balls.size:  # they turn about their child's axes
            rotation, turn = np.add.outer(self._balls[0], np.arange(4)), self._balls[1]
            turns = quat_from_rotation_vector(way[np.add.outer(turn, np.arange(3))])
            now[rotation] = quat_multiply(now[rotation], turns)
        for at, dof in self._floating:
            now[at : at + 3] += way[dof : dof + 3]
            now[at + 3 : at + 7] = turned(now[at + 3 : at + 7].tolist(), *way[dof + 3 : dof + 6])
        self._tell(now.tolist(), has_moved=bool(self._floating))

    def restore(self) -> None:
        """Put everything where the arena has it, at the velocities that it has there."""
        self._tell(self._state.tolist(), has_moved=True)

    def _tell(self, numbers: list[float], *, has_moved: bool) -> None:
        """``has_moved``: the bases, too."""
        client = self._client_id
        self._last[:], self._placed[:] = numbers, 1.0
        for body, at in self._bases if has_moved else ():
            place, rotation_xyzw = numbers[at : at + 3], numbers[at + 3 : at + 7]
            linear, angular = numbers[at + 7 : at + 10], numbers[at + 10 : at + 13]
            pybullet.resetBasePositionAndOrientation(
                body, place, rotation_xyzw, physicsClientId=client
            )
            pybullet.resetBaseVelocity(body, linear, angular, physicsClientId=client)
        for body, links, places, speeds in self._bodies:
            pybullet.resetJointStatesMultiDof(
                body,
                links,
                [numbers[place] for place in places],
                [numbers[speed] for speed in speeds],
                physicsClientId=client,
            )
