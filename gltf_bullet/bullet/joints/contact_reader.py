"""Which bodies of a world contacts couple with a scene's joints, as tables for the solve.

The contacts are those of the engine's last collision detection. From every articulation with drives
or limits they are followed through free bodies and other articulations, as far as they reach: what
lies on an arm's load weighs on the arm as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakSet

import pybullet

from gltf_bullet.bullet.bodies.foreign_bodies import is_immovable, read_free_body
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.solver.island_layout import CONTACT_SIZE, FREE_SIZE

__all__ = ["ContactMemory", "ContactReader", "Touching"]

ContactRow: TypeAlias = tuple[Any, ...]
"""One row of ``getContactPoints``."""

ContactMemory: TypeAlias = tuple[ContactRow, ...]
"""Contacts of the world; body -2 - k stands for the scene's k-th one."""

_PADDING = (0.0,) * (CONTACT_SIZE - 20)
_FREE_PADDING = (0.0,) * (FREE_SIZE - 20)

_FOREIGN = -1

_PLACE = itemgetter(1, 2, 3, 4, 5)
"""Bodies, links and the place on the first one: no two contacts share them."""


class Touching:
    """The contacts of one step that matter to a scene, as the solve takes them."""

    def __init__(self) -> None:
        self.contacts: list[float] = []
        """CONTACT_SIZE numbers each."""
        self.sides: list[int] = []
        """Two times SIDE_SIZE numbers each."""
        self.free_bodies: list[float] = []
        """FREE_SIZE numbers each."""
        self.readers: list[ContactReader] = []
        """Other scenes that take part, in the order of their numbers, from 1 on."""
        self.articulations: set[tuple[int, int]] = set()
        """(number of the scene, number of the articulation) that are reached."""


class ContactReader:
    """A scene's view of the contacts in its world."""

    def __init__(self, client_id: int, articulations: Sequence[Articulation]) -> None:
        self.client_id = client_id
        self.articulations = tuple(articulations)
        self.gravity_factor: Mapping[int, float] = {}
        """Of the scene's free bodies, by body id."""
        self.where: dict[int, tuple[int, dict[int, int]]] = {}
        """Body id -> articulation number, and the frame of each of its links."""
        for number, articulation in enumerate(self.articulations):
            for k, body in enumerate(articulation.body_ids):
                self.where[body] = (number, _frame_of_links(articulation, k))
        self.neighbours: WeakSet[ContactReader] = WeakSet((self,))
        """Of all scenes in the world, this one included."""
        self._held: ContactMemory | None = None
        self._starts = [
            body
            for articulation in self.articulations
            if len(articulation.record.rows.lower)
            for body in articulation.body_ids
        ]

    def join(self, neighbours: WeakSet[ContactReader]) -> None:
        """Know the other scenes of the world, as they know this one from now on."""
        neighbours.add(self)
        self.neighbours = neighbours

    def leave(self) -> None:
        """Be no neighbour any more: the bodies are gone."""
        self.neighbours.discard(self)

    # --- the engine's contacts ----------------------------------------------------------------

    def hold(self) -> None:
        """Keep the contacts for the next solve: they are about to be made anew, without forces."""
        if self._held is None:
            self._held = self._read()

    def memory(self, own: Sequence[int]) -> ContactMemory:
        """The contacts that the next solve reckons with; ``own`` are the scene's bodies."""
        held = self._read() if self._held is None else self._held
        return _renamed(held, {body: -2 - k for k, body in enumerate(own)})

    def recall(self, memory: ContactMemory, own: Sequence[int]) -> None:
        """Take back a :meth:`memory` for the next solve."""
        self._held = _renamed(memory, {-2 - k: body for k, body in enumerate(own)})

    def _read(self) -> ContactMemory:
        if not self._starts:
            return ()
        return pybullet.getContactPoints(physicsClientId=self.client_id) or ()

    # --- what they couple ---------------------------------------------------------------------

    def read(self, dt: float, gravity: Sequence[float]) -> Touching | None:
        """Everything that touches the scene's articulations, directly or through others.

        ``None`` where nothing does.
        """
        if not self._starts:
            return None
        rows: Sequence[ContactRow] | None = self._held
        if rows is None:
            rows = pybullet.getContactPoints(physicsClientId=self.client_id)
        self._held = None
        if not rows:
            return None
        # The engine lists them in the order in which they arose, which a replay need not repeat.
        rows = sorted(rows, key=_PLACE)
        by_body: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            by_body.setdefault(row[1], []).append(number)
            if row[2] != row[1]:
                by_body.setdefault(row[2], []).append(number)
        if by_body.keys().isdisjoint(self._starts):
            return None
        return _Search(self, rows, by_body, dt, gravity).run(self._starts)


class _Side(NamedTuple):
    """A link that touches something."""

    numbers: tuple[int, int, int, int, int]
    """Scene, record and frame, or the free body; two places that the kernels fill in."""
    reached: tuple[int, ...]
    """Bodies that forces on the link reach."""
    friction: float


class _Search:
    """Follows the contacts of one step."""

    def __init__(
        self,
        reader: ContactReader,
        rows: Sequence[ContactRow],
        by_body: Mapping[int, list[int]],
        dt: float,
        gravity: Sequence[float],
    ) -> None:
        self._reader = reader
        self._client_id = reader.client_id
        self._rows = rows
        self._by_body = by_body
        self._gain = tuple(dt * g for g in gravity)
        self._found = Touching()
        self._scene_of: dict[ContactReader, int] = {reader: 0}
        self._free: dict[tuple[int, int], tuple[int, bool]] = {}
        """By body, and by link where links of a body move apart: number, and whether it moves."""
        self._is_fixed_robot: dict[int, bool] = {}
        self._sides: dict[tuple[int, int], _Side] = {}

    def run(self, starts: Iterable[int]) -> Touching:
        """Take in everything that hangs together with some bodies."""
        found, queue = self._found, list(starts)
        sides, contacts, known_sides = found.sides, found.contacts, self._sides
        known = set(queue)
        used: set[int] = set()
        place = 0
        while place < len(queue):
            body = queue[place]
            place += 1
            for number in self._by_body.get(body, ()):
                if number in used:
                    continue
                used.add(number)
                row = self._rows[number]
                first = known_sides.get(row[1:4:2]) or self._side(row[1], row[3])
                second = known_sides.get(row[2:5:2]) or self._side(row[2], row[4])
                for fresh in (*first.reached, *second.reached):
                    if fresh not in known:
                        known.add(fresh)
                        queue.append(fresh)
                sides += first.numbers
                sides += second.numbers
                contacts += row[5]
                contacts += row[6]
                contacts += row[7]
                contacts += row[11]
                contacts += row[13]
                contacts += (row[8], row[9], row[10], row[12], first.friction * second.friction)
                contacts += _PADDING
        return found

    def _side(self, body: int, link: int) -> _Side:
        """What touches with a link."""
        info = pybullet.getDynamicsInfo(body, link, self._client_id)
        reader = self._reader
        if body not in reader.where:
            reader = next((n for n in reader.neighbours if body in n.where), reader)
        if body in reader.where:
            number, frames = reader.where[body]
            articulation = reader.articulations[number]
            if reader not in self._scene_of:
                self._scene_of[reader] = len(self._scene_of)
                self._found.readers.append(reader)
            scene = self._scene_of[reader]
            self._found.articulations.add((scene, number))
            numbers = (scene, articulation.record.offset, frames[link], 0, 0)
            side = _Side(numbers, articulation.body_ids, float(info[1]))
        else:
            if body not in self._is_fixed_robot:
                self._is_fixed_robot[body] = self._stands_fixed(body)
            key = (body, link) if self._is_fixed_robot[body] else (body, -1)
            known = self._free.get(key)
            if known is None:
                known = self._free[key] = self._add_free(*key)
            number, moves = known
            side = _Side((_FOREIGN, number, -1, 0, 0), (body,) if moves else (), float(info[1]))
        self._sides[body, link] = side
        return side

    def _add_free(self, body: int, link: int) -> tuple[int, bool]:
        factor, is_own = 1.0, False
        for reader in self._reader.neighbours:
            if body in reader.gravity_factor:
                factor, is_own = reader.gravity_factor[body], True
        x, y, z = self._gain
        gain = (factor * x, factor * y, factor * z)
        values = read_free_body(self._client_id, body, link, gain, is_rigid=is_own)
        self._found.free_bodies += (*values, *_FREE_PADDING)
        return len(self._free), not is_immovable(values)

    def _stands_fixed(self, body: int) -> bool:
        """Whether it is somebody else's articulation with a base of mass 0."""
        client = self._client_id
        return bool(
            pybullet.getNumJoints(body, physicsClientId=client)
            and pybullet.getDynamicsInfo(body, -1, physicsClientId=client)[0] == 0.0
        )


def _renamed(rows: Iterable[ContactRow], code: Mapping[int, int]) -> ContactMemory:
    return tuple((r[0], code.get(r[1], r[1]), code.get(r[2], r[2]), *r[3:]) for r in rows)


def _frame_of_links(articulation: Articulation, multibody: int) -> dict[int, int]:
    """The frame that each link of a multibody moves with, its own or its body's."""
    frames, plan = articulation.record.frames, articulation.plan.multibodies[multibody]
    result = {link: f for (k, link), f in frames.index.items() if k == multibody}
    link_of_node = dict(plan.bodies)
    for link, (node, _) in enumerate(plan.owners):
        if link not in result and link_of_node.get(node) in result:
            result[link] = result[link_of_node[node]]
    return result
