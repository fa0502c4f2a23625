"""Free space around articulations: thin links need a divided step only if something is in reach.

Steps of changing length lose an error cancellation of the engine's integrator that equal steps have
(measured: a minitaur that swings freely for 1 s was off by 0.69 rad where its thin legs divided
some of its steps at 240 Hz, and by 0.02 where they divide none).
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
"""Factor on the travel within a step by which boxes are larger: the engine's are one step old."""

_MOST_OTHERS = 4
"""The most bodies whose distance is measured: the sum must cost less than an engine step."""


class FreeSpace:
    """Tests the space around the articulations of one scene."""

    def __init__(
        self,
        client_id: int,
        articulations: Sequence[Articulation],
        links: Iterable[EngineLink],
        may_meet: Callable[[EngineLink, EngineLink], bool],
    ) -> None:
        """Store the links of each articulation.

        Args:
            client_id: The world.
            articulations: All articulations of the scene.
            links: All links of the scene with colliders.
            may_meet: Returns True if rules and filters let two of them collide.
        """
        self._client_id = client_id
        self._may_meet = may_meet
        solid = list(links)
        bodies = [set(articulation.body_ids) for articulation in articulations]
        self._links_of = [
            (own, found) for own in bodies if (found := [link for link in solid if link[0] in own])
        ]

    @cached_property
    def are_limbs_apart(self) -> bool:
        """True if no link can collide with another one of its own articulation."""
        return not any(
            self._may_meet(*pair) for _, links in self._links_of for pair in combinations(links, 2)
        )

    @cached_property
    def _is_ordinary(self) -> bool:
        """True if all masses are realistic: at 1e12 kg finer steps stay finite a little longer."""
        return all(
            pybullet.getDynamicsInfo(*link, physicsClientId=self._client_id)[0] < HEAVY
            for _, links in self._links_of
            for link in links
        )

    def is_free(self, dt: float) -> bool:
        """Return True if no link can touch another body in a step of ``dt`` seconds."""
        return self._is_ordinary and all(
            self._has_room(own, links, dt) for own, links in self._links_of
        )

    def _has_room(self, own: set[int], links: Sequence[EngineLink], dt: float) -> bool:
        client_id = self._client_id
        boxes = np.array([pybullet.getAABB(*link, physicsClientId=client_id) for link in links])
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        way = _AHEAD * dt * self._fastest(own, float(np.linalg.norm(high - low)))
        found = pybullet.getOverlappingObjects(
            (low - way).tolist(), (high + way).tolist(), physicsClientId=client_id
        )
        others = {body for body, _ in found or ()} - own
        # Boxes of planes are endless, those of terrains and rooms hold all that is in them.
        return len(others) <= _MOST_OTHERS and not any(
            pybullet.getClosestPoints(body, other, way, physicsClientId=client_id)
            for body in own
            for other in others
        )

    def _fastest(self, own: set[int], extent: float) -> float:
        """Return an upper bound of the speed [m/s] of all points of bodies; ``extent`` [m]."""
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
