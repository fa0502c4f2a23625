"""The bodies of a world as the solve of one scene sees them: contacts are followed by this table.

It depends on which bodies there are; which of those that no scene solves can move is read anew by
whoever follows contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Generic, Protocol, TypeVar

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.foreign_bodies import is_welded
from gltf_bullet.bullet.exchange.contact_memory import ContactArrays
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.solver.contact_following import (
    ARTICULATED,
    BODY,
    FIXED_ROBOT,
    FLOATING_ROBOT,
    FREE_BODY,
    UNKNOWN,
    make_world_bodies,
)
from gltf_bullet.transforms import FloatArray, IntArray


class _Scene(Protocol):
    """A scene, as ``ContactReader`` is one."""

    articulations: Sequence[Articulation]
    where: dict[int, tuple[int, Mapping[int, int]]]
    start_bodies: Set[int]
    gravity_factor: Mapping[int, float]
    is_whole: Callable[[], bool]


Scene = TypeVar("Scene", bound=_Scene)


class WorldBodyTable(Generic[Scene]):
    """The table of one scene, made anew when the world has other bodies or scenes."""

    def __init__(self, client_id: int, scene: Scene, arrays: ContactArrays) -> None:
        self._client_id, self._scene, self._arrays = client_id, scene, arrays
        self.scenes: list[Scene] = [scene]
        """Scenes by number."""
        self._known: tuple[object, ...] = ()

    def refresh(self, links: Collection[EngineLink], owners: Mapping[int, Scene]) -> None:
        """Bring the table up to date for links that have contacts.

        ``owners``: scene of each body id.
        """
        client = self._client_id
        count = pybullet.getNumBodies(client)
        touched = {owners[body] for body, _ in links if body in owners} - {self._scene}
        lost = frozenset(scene for scene in touched if not scene.is_whole())
        last = pybullet.getBodyUniqueId(count - 1, client) if count else -1
        known = (count, last, lost)
        touching = {body for body, _ in links if body >= 0}
        if known != self._known or not self._knows(touching):
            self._known = known
            self._arrays.set_bodies(*self._make(owners, lost, touching))
        table = self._arrays.bodies
        rows, moves = table.bodies, table.moves
        kinds, units = rows[:, BODY.kind].tolist(), rows[:, BODY.unit].tolist()
        for body, link in links:
            kind = kinds[body] if body >= 0 else UNKNOWN
            if kind in (UNKNOWN, ARTICULATED):
                continue
            part = link if kind == FIXED_ROBOT else -1
            is_moved = pybullet.getDynamicsInfo(body, part, client)[0] != 0.0
            is_moved = is_moved and not (part >= 0 and is_welded(client, body, part))
            moves[units[body] + part + 1] = is_moved

    def _knows(self, bodies: Collection[int]) -> bool:
        """Return True if the table has all of these bodies."""
        if not len(self._arrays.world):
            return False
        kinds = self._arrays.bodies.bodies[:, BODY.kind]
        return all(body < len(kinds) and kinds[body] != UNKNOWN for body in bodies)

    def _make(
        self, owners: Mapping[int, Scene], lost: Collection[Scene], touching: Collection[int]
    ) -> tuple[IntArray, FloatArray]:
        """Make the table.

        Args:
            owners: Scene of each body id.
            lost: Scenes whose bodies are not their own any more.
            touching: Bodies with contacts.
        """
        client = self._client_id
        count = pybullet.getNumBodies(client)
        # The client does not list bodies that were made in batches (measured).
        listed = {pybullet.getBodyUniqueId(k, client) for k in range(count)}
        ids = sorted({*listed, *owners, *touching})
        rows: IntArray = np.zeros((max(ids, default=-1) + 1, BODY.size), dtype=np.int64)
        self.scenes = [self._scene]
        moves, starts, factors, frames = [0], [0], [1.0], list[int]()
        unit_of: dict[tuple[Scene, int], int] = {}
        for body in ids:
            owner = owners.get(body)
            if owner is not None and body in owner.where and owner not in lost:
                number, of_links = owner.where[body]
                if owner not in self.scenes:
                    self.scenes.append(owner)
                unit = unit_of.setdefault((owner, number), len(moves))
                if unit == len(moves):
                    moves.append(1)
                    starts.append(int(body in self._scene.start_bodies))
                    factors.append(1.0)
                offset = owner.articulations[number].record.offset
                scene = self.scenes.index(owner)
                own = _frames(of_links, pybullet.getNumJoints(body, client))
                rows[body] = ARTICULATED, unit, scene, offset, len(frames), len(own)
                frames += own
                continue
            joints = 0 if owner is not None else pybullet.getNumJoints(body, client)
            is_fixed = joints and pybullet.getDynamicsInfo(body, -1, client)[0] == 0.0
            kind = (FIXED_ROBOT if is_fixed else FLOATING_ROBOT) if joints else FREE_BODY
            rows[body] = kind, len(moves), 0, 0, 0, 0
            units = 1 + joints if is_fixed else 1
            factor = 1.0 if owner is None else owner.gravity_factor.get(body, 1.0)
            moves += [0] * units
            starts += [0] * units
            factors += [factor] * units
        return make_world_bodies(
            rows,
            np.array(moves, dtype=np.int64),
            np.array(starts, dtype=np.int64),
            np.array(frames, dtype=np.int64),
            np.array(factors),
        )


def _frames(of_links: Mapping[int, int], joints: int) -> Sequence[int]:
    """Return the frames of a body's base and links, -1 for one without."""
    return [of_links.get(link, -1) for link in range(-1, joints)]
