"""Links that move further in a step than they are thick: put back to what they would pass.

What ``contacts/fast_bodies`` does for free bodies by rays, for bodies on joints by the distances
along their way: two slides at 20 m/s would pass each other, a door a ball (measured, 60 Hz). After
the step an articulation goes back on its path to where the first of its links touches, with the
velocities that it had there; the next step solves the impact with the friction and restitution of
the pair. The time that is left of the step is lost to what was put back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.contact_reader import ContactReader
from gltf_bullet.bullet.joints.link_paths import ArticulationPath, FreePath, Path
from gltf_bullet.solver import arena as slots
from gltf_bullet.transforms import FloatArray

__all__ = ["FastLinks", "Link", "Pair"]

Link: TypeAlias = tuple[int, int]
"""Body id and link index."""
Pair: TypeAlias = tuple[Link, Link]

TOUCH = 2e-5
"""[m] that a link is put inside of what it meets: with a gap boxes on boxes find no contact."""
_ADVANCES = 24
"""Most distances that are asked for along one way."""
_RESERVE = 1.1
"""Ways are longer than their ends tell by this at most: joints turn meanwhile."""


_RUNAWAY = 10.0
"""[m] in one step from which on a link is not put back: at 400 m and 1e12 kg it became NaN."""


class _Hurried(NamedTuple):
    """A link that moved further than it is thick."""

    articulation: int
    link: Link
    travel: FloatArray
    """Of its centre of mass in the step, shape [3]."""
    reach: float
    """How far any of its points may have gone [m]."""


class FastLinks:
    """The jointed bodies of one scene; nothing is asked of the engine while all are slow."""

    def __init__(
        self,
        client_id: int,
        articulations: Sequence[Articulation],
        links_of: Callable[[int], Sequence[Link]],
        contacts: ContactReader,
    ) -> None:
        """Index the links.

        Args:
            client_id: The world.
            articulations: Of the scene.
            links_of: All links of a motion node's body.
            contacts: Of the scene; knows the bodies of all scenes in the world.
        """
        self._client_id = client_id
        self._articulations = articulations
        self._contacts = contacts
        self.may_meet: Callable[[Link, Link], bool] = lambda _one, _other: False
        """Whether the scene's rules and filters let two links collide."""
        self._owner: dict[int, int] = {
            body: number
            for number, articulation in enumerate(articulations)
            for body in articulation.body_ids
        }
        self._frame: dict[Link, tuple[int, int]] = {}
        for number, articulation in enumerate(articulations):
            for frame, node in enumerate(articulation.record.frames.node):
                for link in links_of(node) if node >= 0 else ():
                    self._frame[link] = number, frame
        self.held: frozenset[Pair] = frozenset()
        """What was put back in the last step: the engine has had its say about it."""

    def put_back(self, dt: float, gravity: Sequence[float]) -> None:
        """Put articulations back that went through something in the last step.

        Args:
            dt: [s] of the step.
            gravity: [m/s^2]
        """
        points = pybullet.getContactPoints(physicsClientId=self._client_id) or ()
        known = {_pair((p[1], p[3]), (p[2], p[4])) for p in points if p[9] > 0.0} | self.held
        reaches, hurried = self._find_hurried(dt)
        shares = [1.0] * len(self._articulations)
        paths: dict[int, Path] = {}
        shares_of_free: dict[int, float] = {}
        held: set[Pair] = set()
        furthest = max((link.reach for link in hurried), default=0.0)
        for link in hurried:
            for other in self._near(link, furthest):
                pair = _pair(link.link, other)
                if pair in held or pair in known or not self.may_meet(link.link, other):
                    continue
                movers = self._paths_of((link.link[0], other[0]), paths, dt)
                way = link.reach + self._way_of(other, reaches, paths)
                share = self._share(link.link, other, movers, _RESERVE * way)
                if share >= 1.0:
                    continue
                held.add(pair)
                for body in (link.link[0], other[0]):
                    if body in self._owner:
                        number = self._owner[body]
                        shares[number] = min(shares[number], share)
                    elif body in paths:
                        shares_of_free[body] = min(shares_of_free.get(body, 1.0), share)
        for number, share in enumerate(shares):
            if share < 1.0:
                path = paths[self._articulations[number].body_ids[0]]
                path.leave(share, gravity)
        for body, share in shares_of_free.items():
            paths[body].leave(share, gravity)
        self.held = frozenset(held)

    def _find_hurried(self, dt: float) -> tuple[dict[Link, float], list[_Hurried]]:
        """How far all links went at most [m], and those that went further than they are thick."""
        reaches: dict[Link, float] = {}
        hurried = []
        states = [articulation.read() for articulation in self._articulations]
        for link, (number, frame) in self._frame.items():
            articulation = self._articulations[number]
            count = len(articulation.record.frames.link)
            model = articulation.arena.model(
                articulation.record, slots.LINK, count, slots.LINK_SIZE
            )[frame]
            travel = dt * states[number].linear_velocity[frame]
            turn = dt * float(np.linalg.norm(states[number].angular_velocity[frame]))
            reach = float(np.linalg.norm(travel)) + turn * float(model[slots.LINK_HALF_LENGTH])
            reaches[link] = reach
            if model[slots.LINK_HALF_THICKNESS] < reach < _RUNAWAY:
                hurried.append(_Hurried(number, link, travel, reach))
        return reaches, hurried

    def _near(self, link: _Hurried, furthest: float) -> list[Link]:
        """What a link may have met on its way, others having moved as far as any did."""
        low, high = np.array(pybullet.getAABB(*link.link, physicsClientId=self._client_id))
        spare = furthest + (link.reach - float(np.linalg.norm(link.travel)))
        low = np.minimum(low, low - link.travel) - spare
        high = np.maximum(high, high - link.travel) + spare
        found = pybullet.getOverlappingObjects(
            low.tolist(), high.tolist(), physicsClientId=self._client_id
        )
        return sorted({(body, k) for body, k in found or ()} - {link.link})

    def _paths_of(self, bodies: Sequence[int], paths: dict[int, Path], dt: float) -> list[Path]:
        """The paths of what moves among some bodies, each once."""
        found: list[Path] = []
        for body in bodies:
            if body not in paths:
                number = self._owner.get(body, -1)
                if number >= 0:
                    articulation = self._articulations[number]
                    path: Path = ArticulationPath(articulation, dt)
                    paths |= dict.fromkeys(articulation.body_ids, path)
                else:
                    ours = body in self._contacts.owners
                    paths[body] = FreePath(self._client_id, body, dt, may_go_back=ours)
            if paths[body] not in found:
                found.append(paths[body])
        return found

    def _way_of(self, other: Link, reaches: dict[Link, float], paths: dict[int, Path]) -> float:
        """How far what is in the way may have gone itself [m]."""
        if other in reaches:
            return reaches[other]
        path = paths.get(other[0])
        return path.reach if path is not None else 0.0

    def _share(self, link: Link, other: Link, movers: Sequence[Path], way: float) -> float:
        """The share of the step after which two links touch, 1 where they do not.

        By conservative advancement: at a distance nothing can happen on a way of that length.
        """
        share, found = 0.0, 1.0
        for advance in range(_ADVANCES):
            for path in movers:
                path.place(share)
            gap = self._gap(link, other, (1.0 - share) * way)
            if gap is None or (gap < 0.0 and advance == 0):
                # Out of reach, or inside of each other before: the engine knows about that.
                break
            if gap <= -0.5 * TOUCH or advance == _ADVANCES - 1:
                found = share
                break
            share += (max(gap, 0.0) + TOUCH) / way
            if share >= 1.0:
                break
        for path in movers:
            path.place(1.0)
        return found

    def _gap(self, link: Link, other: Link, distance: float) -> float | None:
        """Between two links [m]; ``None`` where it is larger than ``distance`` [m]."""
        near = pybullet.getClosestPoints(
            link[0], other[0], distance, link[1], other[1], physicsClientId=self._client_id
        )
        return min((float(point[8]) for point in near or ()), default=None)


def _pair(one: Link, other: Link) -> Pair:
    return (one, other) if one <= other else (other, one)
