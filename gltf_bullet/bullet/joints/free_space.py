"""The space around what hangs on joints: how thin it is matters only if something is in reach.

A step whose length changes on the way costs what the engine's scheme has for free while all are
alike (measured: a minitaur that swings freely for 1 s ended 0.69 rad from the truth where its thin
legs divided some of its steps at 240 Hz, and 0.02 where they divide none).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.multibody_creation import HEAVY
from gltf_bullet.bullet.session import EngineLink

__all__ = ["FreeSpace"]

_AHEAD = 2.0
"""Times its way within a step that a box is made larger: the engine's boxes are one step old."""


class FreeSpace:
    """Around the articulations of one scene."""

    def __init__(
        self,
        client_id: int,
        articulations: Sequence[Articulation],
        links: Iterable[EngineLink],
        may_meet: Callable[[EngineLink, EngineLink], bool],
    ) -> None:
        """Note whose links are whose.

        Args:
            client_id: The world.
            articulations: Of the scene.
            links: All of the scene that have colliders.
            may_meet: Whether rules and filters let two of them collide.
        """
        self._client_id = client_id
        self._may_meet = may_meet
        solid = list(links)
        bodies = [set(articulation.body_ids) for articulation in articulations]
        self._links_of = [
            (own, found) for own in bodies if (found := [link for link in solid if link[0] in own])
        ]

    @cached_property
    def _is_apart(self) -> bool:
        """Whether no link meets another one of its own articulation."""
        return not any(
            self._may_meet(*pair) for _, links in self._links_of for pair in combinations(links, 2)
        )

    @cached_property
    def _is_ordinary(self) -> bool:
        """Whether masses are of this world: at 1e12 kg finer steps stay finite a little longer."""
        return all(
            pybullet.getDynamicsInfo(*link, physicsClientId=self._client_id)[0] < HEAVY
            for _, links in self._links_of
            for link in links
        )

    def is_free(self, dt: float) -> bool:
        """Whether no link can meet anything in a step of ``dt`` seconds."""
        return (
            self._is_apart
            and self._is_ordinary
            and all(self._has_room(own, links, dt) for own, links in self._links_of)
        )

    def _has_room(self, own: set[int], links: Sequence[EngineLink], dt: float) -> bool:
        client_id = self._client_id
        boxes = np.array([pybullet.getAABB(*link, physicsClientId=client_id) for link in links])
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        way = _AHEAD * dt * self._fastest(own, float(np.linalg.norm(high - low)))
        found = pybullet.getOverlappingObjects(
            (low - way).tolist(), (high + way).tolist(), physicsClientId=client_id
        )
        return all(body in own for body, _ in found or ())

    def _fastest(self, own: set[int], extent: float) -> float:
        """No point of some bodies, which hang together within an extent [m], is faster [m/s]."""
        client_id, fastest = self._client_id, 0.0
        for body in own:
            velocity, spin = pybullet.getBaseVelocity(body, physicsClientId=client_id)
            fastest += math.hypot(*velocity) + math.hypot(*spin) * extent
            joints = range(pybullet.getNumJoints(body, physicsClientId=client_id))
            if not joints:
                continue
            states = pybullet.getJointStatesMultiDof(body, joints, physicsClientId=client_id)
            fastest += sum(math.hypot(*state[1]) for state in states) * max(extent, 1.0)
        return fastest
