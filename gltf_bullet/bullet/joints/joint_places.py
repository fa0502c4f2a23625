"""Puts the joints of an articulation somewhere, in one call a multibody."""

from __future__ import annotations

import math

import pybullet

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.articulation_builder import FLOATING_STATE

__all__ = ["JointPlaces"]


class JointPlaces:
    """The joints and bases of an articulation, as the arena has them."""

    def __init__(self, articulation: Articulation) -> None:
        """Look up where each number is."""
        self._client_id = articulation.client_id
        record = articulation.record
        self._all = articulation.body_ids
        self._bodies: list[tuple[int, list[int], list[slice], list[slice]]] = []
        self._bases: list[tuple[int, int]] = []
        """(body, where its pose and velocities begin) of the bases that the arena knows."""
        at = 0
        for body, (base, links) in zip(articulation.body_ids, record.states, strict=True):
            if base:
                self._bases.append((body, at))
            at += base
            places, speeds = [], []
            for _, is_ball in links:
                positions, velocities = (4, 3) if is_ball else (1, 1)
                places.append(slice(at, at + positions))
                at += positions
                speeds.append(slice(at, at + velocities))
                at += velocities
            if links:
                self._bodies.append((body, [link for link, _ in links], places, speeds))
        self._is_floating = any(base == FLOATING_STATE for base, _ in record.states)
        self._state = articulation.state[:at]
        self._last = articulation.arena.view(record, "last_state")
        self._placed = articulation.arena.view(record, "is_at_last_state")

    def tell(self) -> None:
        """Give the engine what the arena has; bases that cannot move are left."""
        self._tell(self._state.tolist(), has_moved=self._is_floating)

    def restore(self) -> None:
        """Put everything where the arena has it, at the velocities that it has there."""
        self._tell(self._state.tolist(), has_moved=True)

    def are_finite(self) -> bool:
        """Whether the engine has numbers for all of it."""
        client, numbers = self._client_id, list[float]()
        for body in self._all:
            for part in pybullet.getBasePositionAndOrientation(body, client):
                numbers += part
        for body, links, _, _ in self._bodies:
            for state in pybullet.getJointStatesMultiDof(body, links, physicsClientId=client):
                numbers += (*state[0], *state[1])
        return all(map(math.isfinite, numbers))

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
