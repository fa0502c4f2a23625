"""Links that move further in a step than they are thick: put back to what they would pass.

What ``contacts/fast_bodies`` does for free bodies by rays, for bodies on joints by the distances
along their way: two slides at 20 m/s would pass each other, a door a ball (measured, 60 Hz). After
the step an articulation goes back on its path to where the first of its links touches, with the
velocities that it had there; the next step solves the impact with the friction and restitution of
the pair. The time that is left of the step is lost to what was put back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, TypeAlias

import pybullet

from gltf_bullet.bullet.engine_link import EngineLink
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.fast.link_moves import LinkMoves, Motion
from gltf_bullet.bullet.joints.fast.link_paths import ArticulationPath, FreePath, Path
from gltf_bullet.bullet.joints.solving.contact_reader import ContactReader
from gltf_bullet.transforms import Vec3

__all__ = ["FastLinks", "MayMeet", "Pair", "none_meet"]

Pair: TypeAlias = tuple[EngineLink, EngineLink]
_Gap: TypeAlias = tuple[float, Vec3]
"""Between two links [m], negative inside; and the direction from the second to the first."""
_Span: TypeAlias = tuple[float, float]
"""Shares of the step before and after which two links are apart."""

TOUCH = 2e-5
"""[m] that a link is put inside of what it meets: with a gap boxes on boxes find no contact."""
_FEW = 3
"""Things near an articulation that are asked for its distance as a whole."""
_ALL = -2
"""What PyBullet calls all links of a body."""
_ADVANCES = 24
"""Most distances that are asked for along one way."""
_RESERVE = 1.1
"""Ways are longer than their ends tell by this at most: joints turn meanwhile."""


MayMeet: TypeAlias = Callable[[EngineLink, EngineLink], bool]
"""Whether rules and filters let two links collide."""


def none_meet(_one: EngineLink, _other: EngineLink) -> bool:
    """A :data:`MayMeet` of a scene that stands alone."""
    return False


class _Approach(NamedTuple):
    """Two links that may have met."""

    link: EngineLink
    other: EngineLink
    travel: Vec3
    """Of the first one against the second [m]."""
    turnings: tuple[Vec3, Vec3]
    """Of both."""
    way: float
    """How far two points of both may have moved against each other [m]."""

    def closing(self, normal: Vec3, sense: float = 1.0) -> float:
        """How much of a distance along a direction the step can have closed at most [m].

        With a ``sense`` of -1: how much of one after the step it can have opened.
        """
        (x, y, z), (dx, dy, dz) = normal, self.travel
        found = max(-sense * (dx * x + dy * y + dz * z), 0.0)
        for a, b, c in self.turnings:
            # A turn moves points about its axis: along it, by nothing.
            found += math.hypot(b * z - c * y, c * x - a * z, a * y - b * x)
        return found + (_RESERVE - 1.0) / _RESERVE * self.way

    def apart(self, gaps: Iterable[_Gap], sense: float = 1.0) -> float:
        """For what share of the step, from where ``gaps`` are, the links stay apart; at most 1.

        Of convex parts: the plane between them stays between them for so long.
        """
        found = 1.0
        for gap, normal in gaps:
            if gap < found * (closing := self.closing(normal, sense)):
                found = max(gap, 0.0) / closing
        return found


class FastLinks:
    """The jointed bodies of one scene; nothing is asked of the engine while all are slow."""

    def __init__(
        self,
        client_id: int,
        articulations: Sequence[Articulation],
        links_of: Callable[[int], Sequence[EngineLink]],
        contacts: ContactReader,
        may_meet: MayMeet,
    ) -> None:
        """Index the links.

        Args:
            client_id: The world.
            articulations: Of the scene.
            links_of: All links of a motion node's body.
            contacts: Of the scene; knows the bodies of all scenes in the world.
            may_meet: Whether the scene's rules and filters let two links collide.
        """
        self._client_id = client_id
        self._articulations = articulations
        self._contacts = contacts
        self._may_meet = may_meet
        self._frame: dict[EngineLink, tuple[int, int]] = {}
        self._links_of: list[list[tuple[EngineLink, int]]] = [[] for _ in articulations]
        """Of each articulation, with their frames."""
        for number, articulation in enumerate(articulations):
            for frame, node in enumerate(articulation.record.frames.node):
                for link in links_of(node) if node >= 0 else ():
                    self._frame[link] = number, frame
                    self._links_of[number].append((link, frame))
        self.held: frozenset[Pair] = frozenset()
        """What was put back in the last step: the engine has had its say about it."""

    def put_back(self, dt: float, gravity: Sequence[float]) -> None:
        """Put articulations back that went through something in the last step.

        Args:
            dt: [s] of the step.
            gravity: [m/s^2]
        """
        if self._is_alone():
            self.held = frozenset()
            return
        moves = [LinkMoves(articulation, dt) for articulation in self._articulations]
        motions = _Motions(self._client_id, moves, self._frame, dt)
        furthest = max(move.furthest for move in moves)
        numbers = [
            k for k in range(len(moves)) if self._may_have_met(k, moves[k], furthest, motions)
        ]
        if not numbers:
            self.held = frozenset()  # of several scenes at once kernels tell what is true of any
            return
        hurried = {
            link: motions.of(link)
            for number in numbers
            for link, frame in self._links_of[number]
            if moves[number].is_hurried(frame)
        }
        points = pybullet.getContactPoints(physicsClientId=self._client_id) or ()
        known = {_pair((p[1], p[3]), (p[2], p[4])) for p in points if p[9] > 0.0} | self.held
        paths: dict[int, Path] = {}
        shares: dict[Path, float] = {}
        held: set[Pair] = set()
        for approach, span in self._approaching(hurried, furthest, motions, known, dt, paths):
            link, other = approach.link, approach.other
            movers = self._paths_of((link[0], other[0]), paths, dt)
            share = self._share(approach, span, movers)
            if share < 1.0:
                held.add(_pair(link, other))
                for path in movers:
                    shares[path] = min(shares.get(path, 1.0), share)
        for path, share in shares.items():
            path.leave(share, gravity)
        self.held = frozenset(held)

    def _is_alone(self) -> bool:
        """Whether there is nothing in the world that a link could meet."""
        count = pybullet.getNumBodies(self._client_id)
        return bool(count == len(self._bodies)) and not self._own_pairs

    @cached_property
    def _own_pairs(self) -> frozenset[Pair]:
        """Pairs of the scene's own links that may meet."""
        pairs = combinations(self._frame, 2)
        return frozenset(_pair(one, other) for one, other in pairs if self._may_meet(one, other))

    def _approaching(
        self,
        hurried: Mapping[EngineLink, Motion],
        furthest: float,
        motions: _Motions,
        known: Collection[Pair],
        dt: float,
        paths: dict[int, Path],
    ) -> list[tuple[_Approach, _Span]]:
        """Pairs that were apart before the step and may touch within it, and when in it."""
        found: dict[Pair, tuple[_Approach, float]] = {}
        for link, motion in hurried.items():
            for other in self._near(link, motion, furthest):
                pair = _pair(link, other)
                if pair in found or pair in known:
                    continue
                theirs = motions.of(other)
                (x, y, z), (a, b, c) = motion.travel, theirs.travel
                travel = x - a, y - b, z - c
                # What falls beside it comes no nearer; what goes less deep than it is thick is
                # pushed out again; what is further away than the way was never there.
                way = _RESERVE * (math.hypot(*travel) + motion.turned + theirs.turned)
                if way <= motion.half_thickness:
                    continue
                if pair not in self._own_pairs and not self._may_meet(link, other):
                    continue
                turnings = motion.turning, theirs.turning
                approach = _Approach(link, other, travel, turnings, way)
                apart = approach.apart(self._gaps(approach, way), -1.0)
                if apart < 1.0:
                    found[pair] = approach, 1.0 - apart
        if not found:
            return []
        movers = self._paths_of(sorted({link[0] for pair in found for link in pair}), paths, dt)
        for path in movers:
            path.place(0.0)
        gaps = [self._gaps(approach, approach.way) for approach, _ in found.values()]
        for path in movers:
            path.place(1.0)
        # Inside of each other before: the engine knows about that.
        return [
            (approach, (apart, end))
            for (approach, end), near in zip(found.values(), gaps, strict=True)
            if (apart := approach.apart(near)) < end and min(near)[0] >= 0.0
        ]

    def _may_have_met(
        self, number: int, move: LinkMoves, furthest: float, motions: _Motions
    ) -> bool:
        """Whether an articulation is to be looked at link by link: few questions for all of it.

        What falls with it comes no nearer; of what is near, few things are near enough.
        """
        if not move.furthest:
            return False
        if self._meet_themselves[number] and 2.0 * _RESERVE * move.spread > move.thinnest:
            return True
        low, high = move.box(3.0 * furthest)
        bodies = self._articulations[number].body_ids
        near = pybullet.getOverlappingObjects(low, high, physicsClientId=self._client_id) or ()
        others = {o for o in near if o[0] not in bodies}
        if len(others) > _FEW:
            return True
        for other in others:
            theirs = motions.of(other)
            way = _RESERVE * (move.furthest + theirs.reach)
            for body in bodies:
                if pybullet.getClosestPoints(
                    body, other[0], way, _ALL, other[1], physicsClientId=self._client_id
                ):
                    return True
        return False

    def _near(self, link: EngineLink, motion: Motion, furthest: float) -> list[EngineLink]:
        """What a link may have met on its way, others having moved as far as any did."""
        box = pybullet.getAABB(*link, physicsClientId=self._client_id)
        # The engine looks its boxes up where they were a step ago (measured).
        spare = 2.0 * furthest + motion.reach
        low, high = (
            [x + side for x in end] for end, side in zip(box, (-spare, spare), strict=True)
        )
        near = pybullet.getOverlappingObjects(low, high, physicsClientId=self._client_id)
        left = set(near or ()) - self._never[link]
        # The engine has boxes also of links without colliders, as joints of several axes have.
        own, known = self._bodies, self._frame
        return sorted(other for other in left if other in known or other[0] not in own)

    @cached_property
    def _meet_themselves(self) -> list[bool]:
        """Whether any two links of each articulation may meet."""
        return [
            any(self._may_meet(one, other) for (one, _), (other, _) in combinations(links, 2))
            for links in self._links_of
        ]

    @cached_property
    def _bodies(self) -> frozenset[int]:
        return frozenset(body for body, _ in self._frame)

    @cached_property
    def _never(self) -> dict[EngineLink, set[EngineLink]]:
        """Of the scene's own links those that a link cannot meet, itself among them."""
        own = set(self._frame)
        partners: dict[EngineLink, set[EngineLink]] = {link: set() for link in own}
        for one, other in self._own_pairs:
            partners[one].add(other)
            partners[other].add(one)
        return {link: own - met for link, met in partners.items()}

    def _paths_of(self, bodies: Sequence[int], paths: dict[int, Path], dt: float) -> list[Path]:
        """The paths of what moves among some bodies, each once."""
        for body in bodies:
            if body in paths:
                continue
            owner = self._contacts.owners.get(body)
            if owner is not None and body in owner.where:
                articulation = owner.articulations[owner.where[body][0]]
                path: Path = ArticulationPath(articulation, dt)
                paths |= dict.fromkeys(articulation.body_ids, path)
            else:
                paths[body] = FreePath(self._client_id, body, dt, may_go_back=owner is not None)
        return list(dict.fromkeys(paths[body] for body in bodies))

    def _share(self, approach: _Approach, span: _Span, movers: Sequence[Path]) -> float:
        """The share of the step after which two links touch, 1 where they do not.

        By conservative advancement through the span: what is apart stays so for a while.
        """
        (share, end), found = span, 1.0
        for advance in range(_ADVANCES):
            if share >= end:
                break
            for path in movers:
                path.place(share)
            near = self._gaps(approach, (1.0 - share) * approach.way)
            if not near:
                break
            gap = min(near)[0]
            if gap <= -0.5 * TOUCH or advance == _ADVANCES - 1:
                found = share
                break
            ahead = min((max(g, 0.0) + TOUCH) / max(approach.closing(n), TOUCH) for g, n in near)
            share += ahead
        for path in movers:
            path.place(1.0)
        return found

    def _gaps(self, approach: _Approach, distance: float) -> list[_Gap]:
        """Between all convex parts and triangles of two links, up to ``distance`` [m]."""
        link, other = approach.link, approach.other
        near = pybullet.getClosestPoints(
            link[0], other[0], distance, link[1], other[1], physicsClientId=self._client_id
        )
        return [(point[8], point[7]) for point in near or ()]


class _Motions:
    """Of the links of a scene, and of others that they may have met."""

    def __init__(
        self,
        client_id: int,
        moves: Sequence[LinkMoves],
        frames: Mapping[EngineLink, tuple[int, int]],
        dt: float,
    ) -> None:
        self._client_id, self._moves, self._frames, self._dt = client_id, moves, frames, dt
        self._known: dict[EngineLink, Motion] = {}

    def of(self, link: EngineLink) -> Motion:
        """How a link moved in the step."""
        if link not in self._known:
            at = self._frames.get(link)
            self._known[link] = (
                self._of_others(link) if at is None else self._moves[at[0]].motion(at[1])
            )
        return self._known[link]

    def _of_others(self, link: EngineLink) -> Motion:
        """Of a link that is none of the scene's joints."""
        (body, number), dt = link, self._dt
        if number < 0:
            (x, y, z), spin = pybullet.getBaseVelocity(body, self._client_id)
        else:
            (x, y, z), spin = pybullet.getLinkState(body, number, 1, 0, self._client_id)[6:8]
        a, b, c = spin
        # Of what stands still the size is of no interest: a plane's has no end.
        length = 0.5 * math.dist(*pybullet.getAABB(*link, self._client_id)) if any(spin) else 0.0
        return Motion.of(
            (dt * x, dt * y, dt * z), (dt * length * a, dt * length * b, dt * length * c)
        )


def _pair(one: EngineLink, other: EngineLink) -> Pair:
    return (one, other) if one <= other else (other, one)
