"""Bodies that move further in a step than they are thick: put back to what they would pass.

Multibodies have no continuous collision detection. Measured, 100 shots each at 10 to 50 m/s of
balls, rods and cubes on boxes and meshes: the engine alone lost 17 to 100 of 100; margins and
contact thresholds change nothing. So after the step the paths of such bodies are traced by rays; a
body that reached a surface is put back on its path to where it touches, with the velocity that it
had there, and the next step solves the impact with the friction and restitution of the pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.bullet.bodies.free_table import WARY, FreeTable
from gltf_bullet.bullet.contacts.fast_paths import FastPath, near_others
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.planning.body_sizes import BodySize
from gltf_bullet.transforms import (
    FloatArray,
    Quat,
    Vec3,
)

__all__ = ["FastBodies", "FastState"]

_SUDDEN_SPEED = 3.0
"""[m/s] that bodies may get within a step without a warning: thinner ones than what this makes in
a step are watched at every step."""

_LONGEST_PAUSE = 8
"""Steps between two readings of thicker bodies at most: users may set velocities at any time."""

_FEW = 16
"""Bodies that are read after every step at no cost to speak of (20 us)."""

_IN_VAIN = 3
"""Times that a body is put back before something without any contact, until it may pass."""
_MOST_PASSED = 6
"""Hits that are looked through where filters let a body pass, or where it hits its own parts."""


_Ray: TypeAlias = tuple[int, list[float], list[float]]
"""Number of a path, start and end."""
_Hit: TypeAlias = tuple[Any, ...]
"""As PyBullet gives it."""
_Velocities: TypeAlias = tuple[Vec3, Vec3]
"""Of a centre of mass [m/s], and spin [rad/s]."""
Held: TypeAlias = tuple[int, int, int]
"""Row of a body, and the body id and link in its way."""


class FastState(NamedTuple):
    """What the next step remembers of the last one."""

    held: tuple[tuple[Held, int], ...]
    """Who was put back before what, and how often in vain."""
    passes: frozenset[Held]
    """... and made no contact there: somebody has told the engine to let it through."""


NOTHING = FastState((), frozenset())


class FastBodies:
    """The free dynamic bodies of one scene; nothing is asked of the engine while all are slow."""

    def __init__(
        self,
        client_id: int,
        table: FreeTable,
        ids: Sequence[int],
        mask_of: Callable[[int], int],
        may_meet: Callable[[EngineLink, EngineLink], bool],
        aim: Callable[[Collection[tuple[EngineLink, EngineLink]]], None],
    ) -> None:
        """Measure the bodies.

        Args:
            client_id: The world.
            table: Of all free bodies.
            ids: Their body ids.
            mask_of: The collision mask of a body.
            may_meet: Whether rules and filters of the scene let two links collide.
            aim: Told which links begin the coming step at what they are about to hit.
        """
        self._client_id = client_id
        self.ids = ids
        self._free = frozenset(ids)
        self._mask_of, self._may_meet, self._aim = mask_of, may_meet, aim
        self._time_step = 0.0
        self.know(table)
        self.is_any = self._pace.thinnest < math.inf
        """Whether any body can ever be too fast."""
        self.state = NOTHING
        self.last: Sequence[Vec3] | None = None
        """Where the bodies were when they were read."""
        self._steps = 0
        self._pause = 0
        self._gravity: Vec3 = (0.0, 0.0, 0.0)

    def know(self, table: FreeTable) -> None:
        """Note what the bodies are like, now and whenever masses or surfaces have changed."""
        self._table = table
        self._sizes = table.sizes
        self._pace = table.pace(self._time_step)

    def restore(self, state: FastState) -> None:
        """Take back a :attr:`state`."""
        self.last, self._pause = None, 0
        self._hold(state)

    def before_step(self, time_step: float, gravity: Vec3) -> None:
        """Note what the coming step is like.

        Args:
            time_step: [s] of the engine's last substep.
            gravity: [m/s^2]
        """
        if time_step != self._time_step:
            self._time_step = time_step
            self.know(self._table)
        self._gravity = gravity
        self._steps += 1

    def needs_reading(self) -> bool:
        """Whether bodies must be read after this step although nobody wants to know."""
        return 0 < self._steps >= self._pause and self.is_any

    def stay_slow(self, fastest: float) -> bool:
        """Tell whether bodies that began the step that slowly [m/s] need no look after it.

        What hits them may make them faster by as much as for :meth:`needs_reading`. Where they were
        is not known then: the next look asks for the velocity of each.
        """
        step = self._time_step
        pull = math.hypot(*self._gravity) * step
        if (fastest + 2.0 * pull + _SUDDEN_SPEED) * step > WARY * self._pace.thinnest:
            return False
        self.last = None
        if self.state.held:
            self._hold(self.state._replace(held=()))
        return True

    def are_slow(self, poses: Sequence[tuple[Vec3, Quat]]) -> bool:
        """Whether :meth:`put_back` has nothing to do for poses as the engine gives them.

        The same sums as there, in the same order; for a handful of bodies without arrays.
        """
        last = self.last
        if last is None or not self.is_calm or len(last) != len(poses):
            return False
        for ((x, y, z), _), (a, b, c), furthest in zip(poses, last, self._pace.reach, strict=True):
            way = math.sqrt((x - a) * (x - a) + (y - b) * (y - b) + (z - c) * (z - c))
            if way / self._steps > furthest:
                return False
        self.note_slow([position for position, _ in poses])
        return True

    @property
    def is_calm(self) -> bool:
        """Whether there are only a handful of bodies."""
        return len(self.ids) <= _FEW

    @property
    def reach(self) -> list[float]:
        """Way of each body in a step that nothing needs to be asked about [m]."""
        return self._pace.reach

    def note_slow(self, positions: Sequence[Vec3]) -> None:
        """Take in where a step has brought the bodies, of which none was fast."""
        self.last, self._steps, self._pause = positions, 0, 0
        if self.state.held:
            self._hold(self.state._replace(held=()))

    def put_back(
        self, positions: FloatArray, rotations: FloatArray, kinematic: Collection[int]
    ) -> None:
        """Put bodies back that went through something; does nothing twice for one step.

        Args:
            positions: Centres of mass of all free bodies [m], shape [n, 3]; corrected.
            rotations: Of their inertial frames, xyzw, shape [n, 4]; corrected.
            kinematic: Rows of bodies whose poses are prescribed at present: they pass.
        """
        if not self.is_any or not self._steps:
            return
        rows = set(self._candidates(positions).tolist())
        rows -= set(kinematic)
        if rows:
            self._trace(sorted(rows), positions, rotations)
        elif self.state.held:
            self._hold(self.state._replace(held=()))
        self.last, self._steps = positions.tolist(), 0

    def _candidates(self, positions: FloatArray) -> npt.NDArray[np.intp]:
        """Rows of bodies that may be fast, and how long none can be."""
        if self.last is None or len(self.last) != len(positions):
            self._pause = 0
            return np.flatnonzero(np.isfinite(self._table.half_thickness))
        moved = np.linalg.norm(positions - np.array(self.last), axis=1) / self._steps
        self._pause = self._safe_steps(moved)
        # A body that was put elsewhere moved far as well: the velocity decides.
        return np.flatnonzero(moved > WARY * self._pace.furthest)

    def _safe_steps(self, moved: FloatArray) -> int:
        step = self._time_step
        if self._pace.thinnest < _SUDDEN_SPEED * step or len(self.ids) <= _FEW:
            return 0
        # Twice the gravity that there is, for forces that are not gravity.
        gain = 2.0 * float(np.linalg.norm(self._gravity)) * step * step
        spare = float((self._pace.furthest - moved).min())
        return int(min(_LONGEST_PAUSE, 0.5 * spare / gain if gain > 0.0 else _LONGEST_PAUSE))

    def _trace(self, rows: Sequence[int], positions: FloatArray, rotations: FloatArray) -> None:
        step, client_id = self._time_step, self._client_id
        velocities: dict[int, _Velocities] = {}
        moving: dict[int, BodySize] = {}
        for row in rows:
            body, size = self.ids[row], self._sizes[row]
            if size is None:
                continue
            velocity, spin = pybullet.getBaseVelocity(body, client_id)
            speed, turn = math.hypot(*velocity) * step, math.hypot(*spin) * step
            if speed + turn * size.half_length > self._pace.furthest[row]:
                moving[row], velocities[row] = size, (velocity, spin)
        near = self._near_others(moving, positions, velocities) if moving else ()
        fast = [self._path(row, moving[row], velocities, positions, rotations) for row in near]
        held: dict[Held, int] = {}
        former = dict(self.state.held)
        for path, hits in zip(fast, self._cast(fast), strict=True):
            share, first = 1.0, None
            for hit in hits:
                groups = self._groups_that_meet(path.row, hit[0], hit[1])
                found = path.share_before(hit[3], np.array(hit[4]), groups)
                if found < share:
                    share, first = found, hit
            if first is not None:
                met = (path.row, first[0], first[1])
                held[met] = former.get(met, -1) + 1
                # What is put back to its start again and again hangs there: it moves on along what
                # is fixed, and the engine lets it out of what moves.
                if share > 0.0 or held[met] < _IN_VAIN:
                    self._put_back(path, share, first, positions, rotations)
                elif self._meets_fixed(path.row, first[0], first[1]):
                    self._lead_along(path, np.array(first[4]), positions)
        if held or self.state.held:
            self._hold(FastState(tuple(held.items()), self.state.passes))

    def _hold(self, state: FastState) -> None:
        """Take a state in; who was put back begins the next step at a surface."""
        self.state = state
        self._aim(
            [
                ((self.ids[row], k - 1), (body, link))
                for (row, body, link), _ in state.held
                for k in self._groups_that_meet(row, body, link)
            ]
        )

    def _near_others(
        self,
        sizes: Mapping[int, BodySize],
        positions: FloatArray,
        velocities: Mapping[int, _Velocities],
    ) -> Iterator[int]:
        """Those of some fast bodies that may touch something within this step or the next one."""
        rows, ids = list(sizes), [self.ids[row] for row in sizes]
        ways = self._time_step * np.abs([velocities[row][0] for row in rows])
        reaches = ways + np.array([[size.reach] for size in sizes.values()])
        return compress(rows, near_others(self._client_id, ids, positions[rows], reaches))

    def _path(
        self,
        row: int,
        size: BodySize,
        velocities: Mapping[int, _Velocities],
        positions: FloatArray,
        rotations: FloatArray,
    ) -> FastPath:
        """Of a body within the step."""
        step, (velocity, spin) = self._time_step, velocities[row]
        travel, turned = step * np.array(velocity), step * np.array(spin)
        return FastPath(row, size, positions[row], rotations[row], travel, turned)

    def _groups_that_meet(self, row: int, body: int, link: int) -> list[int]:
        """The colliders of a body that somebody's link stops; each group is on a link of its own.

        One that a filter keeps from the floor may be below it all the time: a sled with such a hull
        stood still at 6 m/s.
        """
        size, own = self._sizes[row], self.ids[row]
        groups = range(size.group_count if size is not None else 0)
        return [k for k in groups if self._may_meet((own, k - 1), (body, link))]

    def _stops(self, row: int, body: int, link: int) -> bool:
        """Whether what is in the way collides at all."""
        met = (row, body, link)
        if met in self.state.passes or not self._groups_that_meet(row, body, link):
            return False
        if dict(self.state.held).get(met, 0) >= _IN_VAIN and not pybullet.getContactPoints(
            self.ids[row], body, physicsClientId=self._client_id
        ):
            # It was put there step after step and nothing came of it: a filter of the caller.
            self.state = self.state._replace(passes=self.state.passes | {met})
            return False
        return True

    def _cast(self, paths: Sequence[FastPath]) -> list[list[_Hit]]:
        """What the probes of each path hit first, the bodies themselves left out."""
        hits: list[list[_Hit]] = [[] for _ in paths]
        touching = {row for (row, _, _), _ in self.state.held}
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
        """What each ray hits first of all that stops its body."""
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
        """Tell whether a link in the way is fixed and no filter of the caller lets it through."""
        points = pybullet.getContactPoints(self.ids[row], body, physicsClientId=self._client_id)
        return bool(points) and pybullet.getDynamicsInfo(body, link, self._client_id)[0] == 0.0

    def _lead_along(self, path: FastPath, normal: FloatArray, positions: FloatArray) -> None:
        """Take from a body what leads it into something fixed: an impact without a bounce.

        Cubes of 20 mm that spin at 3000 rad/s get no contact from the engine as they stand.
        """
        row, body = path.row, self.ids[path.row]
        velocity, spin = map(np.array, pybullet.getBaseVelocity(body, self._client_id))
        into = min(float(velocity @ normal), 0.0) * normal
        positions[row] = path.position - min(float(path.travel @ normal), 0.0) * normal
        pybullet.resetBasePositionAndOrientation(
            body, positions[row].tolist(), path.rotation.tolist(), self._client_id
        )
        pybullet.resetBaseVelocity(body, (velocity - into).tolist(), spin.tolist(), self._client_id)

    def _came_after(self, ray: _Ray, hit: _Hit) -> bool:
        """Tell whether what a ray hit was behind its start when the step began: two that part.

        A ball that another one sent ahead was put back to that one, which had followed (seen).
        """
        if hit[0] not in self._free:
            return False
        velocity = np.array(pybullet.getBaseVelocity(hit[0], self._client_id)[0])
        start, way = np.array(ray[1]), np.array(ray[2]) - np.array(ray[1])
        came = self._time_step * velocity
        return bool(came @ way > 0.0 > (np.array(hit[3]) - came - start) @ way)

    def _put_back(
        self,
        path: FastPath,
        share: float,
        hit: _Hit,
        positions: FloatArray,
        rotations: FloatArray,
    ) -> None:
        row, body = path.row, self.ids[path.row]
        velocity, spin = pybullet.getBaseVelocity(body, self._client_id)
        # The step has added gravity for the whole way; kept, every impact would gain energy.
        lost = (1.0 - share) * self._time_step
        slower = np.array(velocity) - lost * np.array(self._gravity)
        place = path.put_before(self._client_id, body, share, (hit[0], hit[1]))
        pybullet.resetBaseVelocity(body, slower.tolist(), spin, physicsClientId=self._client_id)
        positions[row], rotations[row] = place
