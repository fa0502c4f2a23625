"""Continuous collision detection for free bodies that move further in a step than they are thick.

Multibodies have none in Bullet. Measured, 100 shots each at 10 to 50 m/s of balls, rods and cubes
on boxes and meshes: the engine alone lost 17 to 100 of 100; margins and contact thresholds change
nothing. So after the step the paths of such bodies are swept by rays; a body that reached a surface
is put back on its path to where it touches, with the velocity that it had there, and the next step
solves the impact with the friction and restitution of the pair.

The file is long because reading, sweeping and putting back share the state of one step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.planning.body_sizes import BodySize
from gltf_bullet.solver.engine.free_motion import turned_share
from gltf_bullet.transforms import (
    FloatArray,
    Vec3,
    matrices_from_quats,
    quat_from_rotation_vector,
    quat_multiply,
    quat_rotate,
)

# --- Path of a fast body within a step, and the time at which it first touched a surface on it ----

TOUCH = 2e-5
"""Depth [m] at which a body is put inside the surface: with a gap, boxes on boxes find no contact
and gain energy (measured: 7 times).
"""
TOUCH_SHARE = 5e-4
"""Smallest depth as a share of half the thickness: the triangle beside an edge of a mesh may keep a
ball off it (measured: 10 um too high to touch at a radius of 0.2 m).
"""

_STEADY = 0.01
"""Share of ``TOUCH`` by which a rotation may move the surface and still be neglected."""
_SAMPLES = 9
"""Number of poses sampled on a path."""
_BISECTIONS = 12
"""Number of bisections between two samples: to a tenth of ``TOUCH`` at 50 m/s."""


_NEAR = 0.02
"""Largest remaining gap [m] that is closed."""
_REFINEMENTS = 3


class FastPath:
    """The path of a body within the last step."""

    __slots__ = ("_is_turning", "position", "rotation", "row", "size", "touch", "travel", "turn")

    def __init__(
        self,
        row: int,
        size: BodySize,
        position: FloatArray,
        rotation: FloatArray,
        travel: FloatArray,
        turn: FloatArray,
    ) -> None:
        self.row, self.size = row, size
        self.position, self.rotation = position.copy(), rotation.copy()
        self.travel, self.turn = travel, turn
        self._is_turning = any(turn.tolist())
        self.touch = max(TOUCH, TOUCH_SHARE * size.half_thickness)
        """Depth at which the body is put into an obstacle [m]."""

    def put_before(self, client_id: int, body: int, share: float, other: EngineLink) -> None:
        """Put a body where it touches a link, after about a share of the path."""
        position, rotation = self.pose_after(share)
        for _ in range(_REFINEMENTS):
            pybullet.resetBasePositionAndOrientation(
                body, position.tolist(), rotation.tolist(), physicsClientId=client_id
            )
            # Ray hits are accurate to a tenth of a millimetre only (measured).
            near = pybullet.getClosestPoints(
                body, other[0], _NEAR, linkIndexB=other[1], physicsClientId=client_id
            )
            gap, normal = min(((n[8], n[7]) for n in near), default=(0.0, None))
            if normal is None or gap <= 0.0:
                break
            position = position - (gap + self.touch) * np.array(normal)

    def probe_paths(self, *, from_surface: bool) -> tuple[FloatArray, FloatArray]:
        """Return rays along the paths of the probes, longer by their reaches: starts and ends.

        Kernels cast them before: only bodies with a hit come here.

        Args:
            from_surface: Rays of balls begin just outside: from inside they hit the ball itself,
                while those of other bodies miss them (measured).
        """
        if self.size.is_central:
            starts, ends = (self.position - self.travel)[None], self.position[None]
        else:
            position, rotation = self.pose_after(0.0)
            starts = position + quat_rotate(rotation, self.size.probes)
            ends = self.position + quat_rotate(self.rotation, self.size.probes)
        ways = ends - starts
        lengths = np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-12)
        along = ways / lengths
        if from_surface and self.size.is_ball:
            starts += (1.0 + 1e-6) * self.size.half_thickness * along
        return starts, ends + along * self.size.reaches[:, None]

    def pose_after(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Return centre of mass [m] and rotation after a share of the path."""
        back = 1.0 - share
        if not self._is_turning:
            return self.position - back * self.travel, self.rotation
        turned = quat_multiply(quat_from_rotation_vector(-back * self.turn), self.rotation)
        return self.position - back * self.travel, turned

    def share_before(
        self, point: Sequence[float], normal: FloatArray, groups: Collection[int]
    ) -> float:
        """Return the share of the path after which the body touches a plane, 1 if it never does.

        Args:
            point: A point of the plane [m].
            normal: Unit normal, towards the start of the path.
            groups: Collider groups of the body that the plane stops.
        """
        touch = self.touch
        first, last = (self._gap(share, point, normal, groups) for share in (0.0, 1.0))
        approach = float(-normal @ self.travel)
        # Between the ends the rotation is off by half of it at most.
        sway = self.size.reach * math.hypot(*self.turn.tolist())
        if min(first, last) - abs(first - last - approach) - 0.5 * sway > -touch:
            return 1.0
        if first < -touch:
            # Part of it is behind the plane already, maybe beside the surface: its inscribed ball
            # decides. With half the thickness of a box around it instead, a hull that lay on a
            # corner was put back in each step and stayed there for good (seen).
            height = float(normal @ (self.position - self.travel - np.array(point)))
            if approach <= 0.0 or height <= 0.0:
                return 1.0  # it leaves, or its centre is inside: the engine pushes it out
            share = (height - self.size.core + touch) / approach
            return min(max(share, 0.0), 1.0)
        if sway < _STEADY * touch:
            return (first + touch) / (first - last) if last < -touch else 1.0
        shares = np.linspace(0.0, 1.0, _SAMPLES)
        inner = (self._gap(share, point, normal, groups) for share in shares[1:-1].tolist())
        gaps = [first, *inner, last]
        behind = [k for k, gap in enumerate(gaps) if gap < -touch]
        if not behind:
            return 1.0
        low, high = float(shares[behind[0] - 1]), float(shares[behind[0]])
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if self._gap(middle, point, normal, groups) < -touch:
                high = middle
            else:
                low = middle
        return high

    def _gap(
        self, share: float, point: Sequence[float], normal: FloatArray, groups: Collection[int]
    ) -> float:
        """Return the distance between the body and a plane after a share of the path [m]."""
        position, rotation = self.pose_after(share)
        reach = self.size.support(matrices_from_quats(rotation).T @ -normal, groups)
        return float(normal @ (position - np.array(point))) - reach


_MOST_TRIES = 3
"""Number of times that a body is put back to the same link without a contact before it may pass."""
_MOST_PASSED = 6
"""Number of hits of a ray that are searched where filters let the body pass or it hits itself."""


_Ray: TypeAlias = tuple[int, list[float], list[float]]
"""Row of a path, start and end [m]."""
_Hit: TypeAlias = tuple[Any, ...]
"""A hit as ``rayTestBatch`` returns it."""
Obstacle: TypeAlias = tuple[int, int, int]
"""Row of a body, and body id and link of the obstacle."""


class FastState(NamedTuple):
    """State of :class:`FastBodies` between two steps."""

    stops: tuple[tuple[Obstacle, int], ...]
    """Bodies put back to an obstacle in the last step, each with the number of earlier times."""
    ignored_obstacles: frozenset[Obstacle]
    """Bodies and obstacles without contact there: the user lets them pass, by an engine filter."""
    pause: float = 0.0
    """Number of steps in which no body can become fast."""


NOTHING = FastState((), frozenset())


class FastBodies:
    """Sweeps the free dynamic bodies of one scene that went further than they are thick."""

    def __init__(
        self,
        client_id: int,
        free: FreeBodies,
        mask_of: Callable[[int], int],
        may_meet: Callable[[EngineLink, EngineLink], bool],
        set_pair_restitution: Callable[[Collection[tuple[EngineLink, EngineLink]]], None],
    ) -> None:
        """Prepare the bodies.

        Args:
            client_id: The world.
            free: All free bodies.
            mask_of: Returns the collision mask of a body.
            may_meet: Returns True if rules and filters of the scene let two links collide.
            set_pair_restitution: Receives the links that begin the coming step at an obstacle,
                each with the obstacle.
        """
        self._client_id = client_id
        self._motion, self._free = free.motion, free
        self.ids = free.ids
        self._own = frozenset(free.ids)
        self._mask_of, self._may_meet, self._set_pair_restitution = (
            mask_of,
            may_meet,
            set_pair_restitution,
        )
        self.is_any = free.motion.may_tunnel
        """True if any body can ever be too fast."""
        self.state = NOTHING
        self._time_step = 0.0
        self._gravity: Vec3 = (0.0, 0.0, 0.0)

    def restore(self, state: FastState) -> None:
        """Restore a :attr:`state`."""
        self._set_stops(state)
        self._motion.pause = state.pause

    def state_now(self) -> FastState:
        """Return the state for a snapshot."""
        return self.state._replace(pause=self._motion.pause)

    def after_step(self, time_step: float, gravity: Vec3, *, is_sought: bool = True) -> None:
        """Put back bodies that passed through something in the last engine step.

        Args:
            time_step: Length of that step [s].
            gravity: Gravity of the world [m/s^2].
            is_sought: False if kernels have marked the bodies that may have.
        """
        if not self.is_any:
            return
        self._time_step, self._gravity = time_step, gravity
        rows = self._motion.find_fast() if is_sought else self._motion.found()
        if rows:
            self._trace(rows)
        elif self.state.stops:
            self._set_stops(self.state._replace(stops=()))

    def _trace(self, rows: Sequence[int]) -> None:
        fast = [self._path(row) for row in rows]
        stops: dict[Obstacle, int] = {}
        former = dict(self.state.stops)
        for path, hits in zip(fast, self._cast(fast), strict=True):
            share, first = 1.0, None
            for hit in hits:
                groups = self._groups_that_meet(path.row, hit[0], hit[1])
                found = path.share_before(hit[3], np.array(hit[4]), groups)
                if found < share:
                    share, first = found, hit
            if first is not None:
                met = (path.row, first[0], first[1])
                stops[met] = former.get(met, -1) + 1
                # A body that is put back to its start again and again is stuck: it moves on along
                # fixed obstacles, and the engine separates it from moving ones.
                if share > 0.0 or stops[met] < _MOST_TRIES:
                    self._put_back(path, share, first)
                elif self._meets_fixed(path.row, first[0], first[1]):
                    self._slide_along(path, np.array(first[4]))
        if stops or self.state.stops:
            self._set_stops(FastState(tuple(stops.items()), self.state.ignored_obstacles))

    def _set_stops(self, state: FastState) -> None:
        """Set the state; bodies that were put back begin the next step at a surface."""
        self.state = state
        self._motion.set_stopped({row for (row, _, _), _ in state.stops})
        self._set_pair_restitution(
            [
                ((self.ids[row], k - 1), (body, link))
                for (row, body, link), _ in state.stops
                for k in self._groups_that_meet(row, body, link)
            ]
        )

    def _path(self, row: int) -> FastPath:
        """Return the path of a body within the step."""
        size, step = self._free.table.sizes[row], self._time_step
        if size is None:
            raise ValueError("only bodies with a size are sought")
        position, rotation, velocity, spin = self._motion.state_of(row)
        travel, turned = step * velocity, step * spin
        turned *= turned_share(math.hypot(*turned.tolist()))
        return FastPath(row, size, position, rotation, travel, turned)

    def _groups_that_meet(self, row: int, body: int, link: int) -> list[int]:
        """Return the colliders of a body that a link stops; each group is on a link of its own.

        A group that a filter keeps from the floor may be below it all the time: a sled with such a
        hull stood still at 6 m/s.
        """
        size, own = self._free.table.sizes[row], self.ids[row]
        groups = range(size.group_count if size is not None else 0)
        return [k for k in groups if self._may_meet((own, k - 1), (body, link))]

    def _stops(self, row: int, body: int, link: int) -> bool:
        """Return True if an obstacle stops the body."""
        met = (row, body, link)
        if met in self.state.ignored_obstacles or not self._groups_that_meet(row, body, link):
            return False
        if dict(self.state.stops).get(met, 0) >= _MOST_TRIES and not pybullet.getContactPoints(
            self.ids[row], body, physicsClientId=self._client_id
        ):
            # It was put there step after step without any contact: a filter of the caller.
            self.state = self.state._replace(ignored_obstacles=self.state.ignored_obstacles | {met})
            return False
        return True

    def _cast(self, paths: Sequence[FastPath]) -> list[list[_Hit]]:
        """Return the first hit of each ray of each path, hits of the body itself left out."""
        hits: list[list[_Hit]] = [[] for _ in paths]
        touching = {row for (row, _, _), _ in self.state.stops}
        rays: dict[int, list[_Ray]] = {}
        for number, path in enumerate(paths):
            starts, ends = path.probe_paths(from_surface=path.row not in touching)
            rays.setdefault(self._mask_of(self.ids[path.row]), []).extend(
                (number, start, end)
                for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            )
        for mask, group in rays.items():
            found = self._first_hits(paths, group, mask)
            for ray, hit in zip(group, found, strict=True):
                if hit is not None:
                    hits[ray[0]].append(hit)
        return hits

    def _first_hits(
        self, paths: Sequence[FastPath], group: Sequence[_Ray], mask: int
    ) -> list[_Hit | None]:
        """Return the first hit of each ray that stops its body."""
        found: list[_Hit | None] = [None] * len(group)
        left = list(range(len(group)))
        # The closest hit at first; where that does not stop the body, one after the other of all
        # hits, which come in an order that depends on the engine's past (measured), at 40 us a ray
        # instead of 3.
        for ordinal in (-1, *range(_MOST_PASSED)):
            if not left:
                break
            chosen = {"reportHitNumber": ordinal} if ordinal >= 0 else {}
            results = pybullet.rayTestBatch(
                [group[k][1] for k in left],
                [group[k][2] for k in left],
                collisionFilterMask=mask,
                physicsClientId=self._client_id,
                **chosen,
            )
            more = []
            for k, hit in zip(left, results, strict=True):
                if hit[0] < 0:
                    continue
                row, best = paths[group[k][0]].row, found[k]
                is_first = best is None or hit[2] < best[2]
                if (
                    is_first
                    and hit[0] != self.ids[row]
                    and self._stops(row, hit[0], hit[1])
                    and not self._came_after(group[k], hit)
                ):
                    found[k] = hit
                if ordinal >= 0 or found[k] is None:
                    more.append(k)
            left = more
        return found

    def _meets_fixed(self, row: int, body: int, link: int) -> bool:
        """Return True if an obstacle is fixed and the body has contacts with it."""
        points = pybullet.getContactPoints(self.ids[row], body, physicsClientId=self._client_id)
        return bool(points) and pybullet.getDynamicsInfo(body, link, self._client_id)[0] == 0.0

    def _slide_along(self, path: FastPath, normal: FloatArray) -> None:
        """Remove the velocity of a body into a fixed obstacle: an impact without a bounce.

        Cubes of 20 mm that spin at 3000 rad/s get no contact from the engine at such a pose.
        """
        body = self.ids[path.row]
        velocity, spin = map(np.array, pybullet.getBaseVelocity(body, self._client_id))
        into = min(float(velocity @ normal), 0.0) * normal
        position = path.position - min(float(path.travel @ normal), 0.0) * normal
        pybullet.resetBasePositionAndOrientation(
            body, position.tolist(), path.rotation.tolist(), self._client_id
        )
        pybullet.resetBaseVelocity(body, (velocity - into).tolist(), spin.tolist(), self._client_id)

    def _came_after(self, ray: _Ray, hit: _Hit) -> bool:
        """Return True if what a ray hit was behind its start when the step began, and moves away.

        A ball that another one had hit was put back to that one, which followed it (seen).
        """
        if hit[0] not in self._own:
            return False
        velocity = np.array(pybullet.getBaseVelocity(hit[0], self._client_id)[0])
        start, way = np.array(ray[1]), np.array(ray[2]) - np.array(ray[1])
        came = self._time_step * velocity
        return bool(came @ way > 0.0 > (np.array(hit[3]) - came - start) @ way)

    def _put_back(self, path: FastPath, share: float, hit: _Hit) -> None:
        body = self.ids[path.row]
        velocity, spin = pybullet.getBaseVelocity(body, self._client_id)
        # The step has added gravity for the whole way; kept, every impact would gain energy.
        lost = (1.0 - share) * self._time_step
        slower = np.array(velocity) - lost * np.array(self._gravity)
        path.put_before(self._client_id, body, share, (hit[0], hit[1]))
        pybullet.resetBaseVelocity(body, slower.tolist(), spin, physicsClientId=self._client_id)
