"""Which bodies of a world contacts couple with a scene's joints, as tables for the solve.

The contacts are those of the engine's last collision detection. From every articulation with drives
or limits they are followed through free bodies and other articulations, as far as they reach: what
lies on an arm's load weighs on the arm as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.contacts.robot_loads import LoadMemory, RobotLoads
from gltf_bullet.bullet.exchange.contact_memory import (
    FoundContacts,
    between_links,
    contacts_of,
    renamed,
)
from gltf_bullet.bullet.exchange.native_calls import python_contacts
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.solving.foreign_constraints import ForeignConstraints
from gltf_bullet.bullet.joints.solving.free_sides import FreeSide, FreeSides
from gltf_bullet.solver import contact_following as following
from gltf_bullet.solver.contact_following import (
    ENDS,
    PASSES_ON,
    ROW_SIZE,
    SORT,
    SPREAD,
    WRITE,
)
from gltf_bullet.solver.entries import follow_contacts
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["ContactMemory", "ContactReader", "Owners", "Touching", "owners"]

ContactMemory: TypeAlias = tuple[FloatArray, LoadMemory]
"""Contacts of the world, ROW_SIZE numbers each; body -2 - k is the scene's k-th one; and what is
remembered of other people's robots."""

Owners: TypeAlias = "dict[int, ContactReader]"
"""Whose a body is, of all scenes in a world."""

_FOREIGN = -1
_NO_MARKS: IntArray = np.zeros(0, dtype=np.int64)
_NO_FRICTIONS: FloatArray = np.zeros(0)
_SPARE = 2
"""Room is made for this many times the contacts that there are."""


def owners(_: object) -> Owners:
    """Of all scenes in one world; to be asked for by ``session.shared``."""
    return {}


class ContactReader:
    """A scene's view of the contacts in its world."""

    def __init__(
        self, client_id: int, articulations: Sequence[Articulation], solid: Set[int]
    ) -> None:
        """Index the bodies.

        Args:
            client_id: The world.
            articulations: Of the scene.
            solid: Body ids of those multibodies that have colliders.
        """
        self.client_id = client_id
        self.articulations = tuple(articulations)
        self.fetch: Callable[[], FloatArray] = partial(python_contacts, client_id)
        """Asks the engine for all contacts of the world, ROW_SIZE numbers each."""
        self.gravity_factor: Mapping[int, float] = {}
        """Of the scene's free bodies, by body id."""
        self.where: dict[int, tuple[int, Mapping[int, int]]] = {}
        """Body id -> articulation number, and the frame of each of its links."""
        for number, articulation in enumerate(self.articulations):
            of_links = articulation.record.frames.of_links
            for body, frames in zip(articulation.body_ids, of_links, strict=True):
                self.where[body] = (number, frames)
        self.owners: Owners = dict.fromkeys(self.where, self)
        """Of the bodies of all scenes in the world, this one's included."""
        self.held: FloatArray | None = None
        """Contacts that the next solve reckons with instead of the engine's."""
        self._starts = {
            body
            for articulation in self.articulations
            if articulation.record.row_count
            for body in articulation.body_ids
        }
        self._is_solid = not self._starts.isdisjoint(solid)
        self.is_passive = not self._starts and not solid.isdisjoint(self.where)
        """Whether contacts are nothing to its own solve, but to those of others that it touches."""
        self.is_reached = False
        """Whether such a one took part in another scene's solve lately."""
        self.is_whole: Callable[[], bool] = lambda: True
        """Whether nobody has removed bodies of the scene: their ids may be others' by now."""
        self.own_constraints: set[int] = set()
        """Ids of the constraints that close the scene's loops."""
        self.marks: IntArray = _NO_MARKS
        """Scratch of :func:`follow_contacts`."""
        self.frictions: FloatArray = _NO_FRICTIONS

    @cached_property
    def foreign(self) -> ForeignConstraints:
        """What others hold by constraints."""
        return ForeignConstraints(self.client_id, self._is_ours)

    @cached_property
    def robot_loads(self) -> RobotLoads:
        """What drives the links of other people's robots."""
        return RobotLoads()

    def _is_ours(self, constraint: int, body: int) -> bool:
        """Whether a scene has made a constraint."""
        owner = self.owners.get(body)
        return owner is not None and constraint in owner.own_constraints

    def join(self, owners: Owners, gravity_factor: Mapping[int, float]) -> None:
        """Know the other scenes of the world, as they know this one from now on.

        Args:
            owners: Of the world.
            gravity_factor: Of the scene's free bodies, by body id.
        """
        self.gravity_factor = gravity_factor
        for body in (*self.where, *gravity_factor):
            owners[body] = self
        self.owners = owners

    def leave(self) -> None:
        """Be no neighbour any more: the bodies are gone."""
        for bodies in (self.where, self.gravity_factor):
            for body in bodies:
                if self.owners.get(body) is self:
                    del self.owners[body]

    def hold(self) -> None:
        """Keep the contacts for the next solve: they are about to be made anew, without forces."""
        if self.held is None:
            self.held = self._read()

    def memory(self, own: Sequence[int]) -> ContactMemory:
        """The contacts that the next solve reckons with; ``own`` are the scene's bodies."""
        held = self._read() if self.held is None else self.held
        rows = renamed(held, {body: -2 - k for k, body in enumerate(own)})
        return rows, self.robot_loads.memory

    def recall(self, memory: ContactMemory, own: Sequence[int]) -> None:
        """Take back a :meth:`memory` for the next solve."""
        rows, self.robot_loads.memory = memory
        if not len(rows) and not len(self._read()):
            self.held = None  # what the engine tells is the same
            return
        self.held = renamed(rows, {-2 - k: body for k, body in enumerate(own)})

    @property
    def is_undisturbed(self) -> bool:
        """Whether the next :meth:`read` depends on nothing but what the engine tells.

        Constraints of others apart, as far as they were not known in the last step.
        """
        return not (self.foreign.ids or self.robot_loads.memory) and self.held is None

    def has_foreign_constraints(self) -> bool:
        """Whether others hold something by a constraint now."""
        return bool(self.foreign.rows())

    @property
    def starts(self) -> list[int]:
        """Bodies whose contacts are the solve's business."""
        return sorted(self._starts) if self._is_solid else []

    def own_rows(self, rows: FloatArray) -> FloatArray:
        """Pick the contacts of bodies that the solve deals with."""
        return contacts_of(rows, self._starts)

    @property
    def is_curious(self) -> bool:
        """Whether the next :meth:`read` asks the engine."""
        return self.held is None and self._is_solid

    def take(self, rows: FloatArray) -> None:
        """Reckon with these contacts in the next :meth:`read`."""
        self.held = rows

    def pass_over(self) -> None:
        """Another scene's solve reckons with the contacts of this step."""
        self.held = None
        self.robot_loads.turn_over()

    def _read(self) -> FloatArray:
        if not self._is_solid:
            return np.zeros(0)
        return self.fetch()

    def read(self, dt: float, gravity: Sequence[float]) -> Touching | None:
        """Everything that touches the scene's articulations, directly or through others.

        ``None`` where nothing does.
        """
        rows = self.held
        self.held = None
        if not self._starts:
            return None
        rows = self._read() if rows is None else between_links(self.client_id, rows)
        if held := self.foreign.rows():
            rows = np.concatenate([rows, np.array(held).ravel()])
        if not len(rows):
            self.robot_loads.turn_over()
            return None
        count = len(rows) // ROW_SIZE
        if 2 * count > len(self.frictions):
            self.marks = following.places(_SPARE * count)
            self.frictions = np.zeros(2 * _SPARE * count)
        found = Touching(self, rows, dt, gravity)
        is_any = found.follow(self._starts)
        self.robot_loads.turn_over()
        return found if is_any else None


class Touching:
    """The contacts of one step that matter to a scene."""

    def __init__(
        self, reader: ContactReader, rows: FloatArray, dt: float, gravity: Sequence[float]
    ) -> None:
        self.readers: list[ContactReader] = []
        """Other scenes that take part, in the order of their numbers, from 1 on."""
        self.articulations: set[tuple[int, int]] = set()
        """(number of the scene, number of the articulation) that are reached."""
        self._reader = reader
        self._client_id = reader.client_id
        load = partial(reader.robot_loads.find, rows, dt)
        self._free = FreeSides(reader.client_id, [dt * g for g in gravity], load)
        marks = self._marks = reader.marks
        self._arrays = (rows, len(rows) // ROW_SIZE, marks, reader.frictions)
        count = follow_contacts(*self._arrays, marks, rows, SORT)
        start = following.marks_at(marks, 0).links
        links = marks[start : start + 2 * count].tolist()
        self._body_of: list[int] = links[::2]
        self._link_of: list[int] = links[1::2]
        self._sides_of: dict[int, list[int]] = {}
        for side, body in enumerate(self._body_of):
            self._sides_of.setdefault(body, []).append(side)
        self._states = [0] * count
        self._numbers = [0] * (3 * count)
        self._frictions = [0.0] * count

    @property
    def free_bodies(self) -> list[float]:
        """FREE_SIZE numbers each."""
        return self._free.values

    def reaches_all(self, scene: int) -> bool:
        """Whether every articulation of another scene takes part; its number is one of those."""
        count = len(self.readers[scene - 1].articulations)
        return all((scene, number) in self.articulations for number in range(count))

    def found(self) -> FoundContacts | None:
        """What kernels may remember; ``None`` where next time only Python can tell."""
        if self.readers or self._reader.foreign.ids:
            return None
        owners, free = self._reader.owners, []
        for (body, link), side in self._free.by_link.items():
            owner = owners.get(body)
            is_simple = body < 0 or owner or not pybullet.getNumJoints(body, self._client_id)
            if link >= 0 or not is_simple:
                return None
            factor = owner.gravity_factor.get(body, 1.0) if owner is not None else 1.0
            free.append((body, int(side.state == PASSES_ON), factor))
        return FoundContacts(
            rows=self._arrays[0],
            links=list(zip(self._body_of, self._link_of, strict=True)),
            states=self._states,
            numbers=self._numbers,
            free=free,
            values=self.free_bodies,
            starts=self._reader.starts,
        )

    @property
    def own_rows(self) -> FloatArray:
        """The contacts of the scene's own bodies, ROW_SIZE numbers each."""
        return self._reader.own_rows(self._arrays[0])

    def follow(self, starts: Collection[int]) -> bool:
        """Take in everything that hangs together with some bodies; whether there is anything."""
        for body, sides in self._sides_of.items():
            if body in starts and not self._states[sides[0]]:
                self._take(sides[0])
        if not any(self._states):
            return False
        marks, states = self._marks, self._states
        marked = following.marks_at(marks, 0)
        at, fresh = marked.states, marked.fresh
        goes_on = True
        while goes_on:
            marks[at : at + len(states)] = states
            count = follow_contacts(*self._arrays, marks, self._reader.frictions, SPREAD)
            goes_on = False
            for side in marks[fresh : fresh + count].tolist():
                if not states[side]:
                    self._take(side)
                goes_on |= states[side] == PASSES_ON
        marks[at : at + len(states)] = states
        at = marked.numbers
        marks[at : at + len(self._numbers)] = self._numbers
        self._reader.frictions[: len(states)] = self._frictions
        return True

    def fill(self, index: IntArray, values: FloatArray) -> int:
        """Put the contacts into the islands; how many, negative where there is no room."""
        return int(follow_contacts(*self._arrays, index, values, WRITE))

    def _take(self, side: int) -> None:
        """What touches with a side's link, and with all that moves with it."""
        body, reader = self._body_of[side], self._reader
        if body not in reader.where:
            reader = reader.owners.get(body, reader)
        if body not in reader.where or not (reader is self._reader or reader.is_whole()):
            self._take_free(side)
            return
        number, _ = reader.where[body]
        scene = 0
        if reader is not self._reader:
            if reader not in self.readers:
                self.readers.append(reader)
            scene = 1 + self.readers.index(reader)
        self.articulations.add((scene, number))
        articulation = reader.articulations[number]
        record, states, numbers = articulation.record.offset, self._states, self._numbers
        # Of a heap's sides this is most of what Python does: no calls but the engine's.
        info, client, links = pybullet.getDynamicsInfo, self._client_id, self._link_of
        for part in articulation.body_ids:
            frames = reader.where[part][1]
            for one in self._sides_of.get(part, ()):
                frame = frames.get(links[one], -1)
                if frame < 0:
                    # The base of an anchored one, which constraints may hold on to.
                    self._set(one, _FOREIGN, self._add_free(-1, -1).number, -1, ENDS)
                    continue
                states[one] = PASSES_ON
                numbers[3 * one : 3 * one + 3] = scene, record, frame
                self._frictions[one] = info(part, links[one], client)[1]

    def _take_free(self, side: int) -> None:
        body = self._body_of[side]
        if body in self._reader.owners or not self._stands_fixed(body):
            free = self._add_free(body, -1)
            for one in self._sides_of[body]:
                friction = free.friction if self._link_of[one] == -1 else None
                self._set(one, _FOREIGN, free.number, -1, free.state, friction)
            return
        # Somebody else's arm: each link moves by itself.
        sides = [side]
        for one in sides:
            free = self._add_free(body, self._link_of[one])
            self._set(one, _FOREIGN, free.number, -1, free.state, free.friction)
            if free.state == PASSES_ON and len(sides) == 1:
                sides += [other for other in self._sides_of[body] if other != side]

    def _set(
        self,
        side: int,
        scene: int,
        record: int,
        frame: int,
        state: int,
        friction: float | None = None,
    ) -> None:
        self._states[side] = state
        self._numbers[3 * side : 3 * side + 3] = scene, record, frame
        if friction is None and self._body_of[side] >= 0:
            friction = self._friction_of(side)
        self._frictions[side] = friction or 0.0

    def _friction_of(self, side: int) -> float:
        body, link = self._body_of[side], self._link_of[side]
        return float(pybullet.getDynamicsInfo(body, link, self._client_id)[1])

    def _add_free(self, body: int, link: int) -> FreeSide:
        owner = self._reader.owners.get(body)
        return self._free.add(body, link, None if owner is None else owner.gravity_factor.get(body))

    def _stands_fixed(self, body: int) -> bool:
        """Whether it is somebody else's articulation with a base of mass 0."""
        client = self._client_id
        return bool(
            body >= 0
            and pybullet.getNumJoints(body, client)
            and pybullet.getDynamicsInfo(body, -1, client)[0] == 0.0
        )
