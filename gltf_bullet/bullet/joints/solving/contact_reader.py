"""Contacts that couple a scene's joints with other bodies of its world, as tables for the solve.

The contacts are those of the engine's last collision detection. From every articulation with drives
or limits they are followed through free bodies and other articulations, as far as they reach: what
lies on an arm's load weighs on the arm as well.

The file is long because the tables have one row per side of a contact, whatever kind of body that
is on: a scene's, the user's free body or robot, or one end of the user's constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.foreign_bodies import is_immovable, read_free_body
from gltf_bullet.bullet.exchange.contact_memory import (
    FoundContacts,
    between_links,
    with_body_ids,
)
from gltf_bullet.bullet.exchange.native_calls import python_contacts
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.bullet.state import link_state
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.solver import contact_following as following
from gltf_bullet.solver.contact_following import ENDS, PASSES_ON, ROW_SIZE, SORT, SPREAD, WRITE
from gltf_bullet.solver.entries import follow_contacts
from gltf_bullet.solver.islands import CONTACT, FREE, POINT_CONSTRAINT_MARK
from gltf_bullet.transforms import FloatArray, IntArray, Pose, cross, matrices_from_quats

# --- External forces on the links of other people's robots that press on our joints ---------------
#
# The solve treats such a link as a free body. Without the forces of its motors it would yield to
# every push, and a stiff drive that it presses on would rest where no law puts it (measured: 37
# times its displacement at k = 1e5 and 60 Hz). The momentum residual of the last step estimates
# them, while it has a constant sign.

LoadMemory: TypeAlias = "dict[tuple[int, int], tuple[FloatArray, FloatArray, float]]"
"""Velocity and spin [6] by body and link, their rate of change without contacts [6], and the length
of the step that follows [s].
"""

_FIELDS = 4
"""Column of a contact row where its fields begin, after bodies and links."""


class RobotLoads:
    """Estimates for the links that had contacts in the last step."""

    def __init__(self) -> None:
        self.memory: LoadMemory = {}
        """Values of the last step for the next one; replaced, never changed."""
        self._next: LoadMemory = {}

    def find(
        self, rows: FloatArray, dt: float, body: int, link: int, values: Sequence[float]
    ) -> tuple[float, ...] | None:
        """Return the change of velocity and spin by motors and gravity in the coming step [6].

        ``None`` if the link had no contact in the last step.

        Args:
            rows: The engine's contacts, ROW_SIZE numbers each.
            dt: Length of the step [s].
            body: Body id of the robot.
            link: Index of the link.
            values: Values of the link, as ``islands`` has them.
        """
        velocity = np.array(values[FREE.velocity : FREE.velocity + 6])
        before = self.memory.get((body, link))
        if before is None:
            self._next[body, link] = velocity, np.zeros(6), dt
            return None
        known, rate, last_dt = before
        now = (velocity - known - _contact_gain(body, link, values, rows, dt)) / last_dt
        self._next[body, link] = velocity, now, dt
        lasts = now * rate > 0.0
        believed = np.where(np.abs(now) < np.abs(rate), now, rate)
        return tuple(np.where(lasts, dt * believed, 0.0).tolist())

    def advance(self) -> None:
        """Finish a step: the values found in it become those of the last step."""
        if self.memory or self._next:
            self.memory, self._next = self._next, {}


def _contact_gain(
    body: int, link: int, values: Sequence[float], rows: FloatArray, dt: float
) -> FloatArray:
    """Return the change of a link's velocity and spin by the contacts of the last step, [6]."""
    table = rows.reshape(-1, ROW_SIZE)
    table = table[table[:, _FIELDS + CONTACT.distance] > -POINT_CONSTRAINT_MARK]
    force, torque = np.zeros(3), np.zeros(3)
    for side, sign in ((0, 1.0), (1, -1.0)):
        mine = table[(table[:, side] == body) & (table[:, 2 + side] == link), _FIELDS:]
        directions = mine[:, CONTACT.directions : CONTACT.distance].reshape(-1, 3, 3)
        pushes = mine[:, CONTACT.forces : CONTACT.forces + 3]
        forces = sign * np.einsum("nk,nki->ni", pushes, directions)
        arms = 0.5 * (mine[:, :3] + mine[:, 3:6]) - np.array(values[:3])
        force += forces.sum(axis=0)
        torque += cross(arms, forces).sum(axis=0)
    turn = matrices_from_quats(np.array(values[FREE.rotation : FREE.rotation + 4]))
    moments = np.array(values[FREE.moments : FREE.moments + 3])
    spin = turn @ ((turn.T @ torque) / moments)
    return dt * np.concatenate([force / values[FREE.mass], spin])


# --- Constraints of other people on our bodies, as rows of the solve like the contacts ------------
#
# A stiff drive whose solve lacks the 5 kg hung on its arm of 1 kg swings by 0.35 m at 60 Hz
# (measured). Points and welds become rows; gears and slides act as an external force, estimated one
# step late.

_ARM = 0.1
"""Distance [m] between the three points by which a weld is represented."""
_POINTS = {
    pybullet.JOINT_POINT2POINT: ((0.0, 0.0, 0.0),),
    pybullet.JOINT_FIXED: ((0.0, 0.0, 0.0), (_ARM, 0.0, 0.0), (0.0, _ARM, 0.0)),
}
"""Constrained points by constraint type, in the constraint's frame [m]."""
_WORLD_AXES = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_IDENTITY = (0.0, 0.0, 0.0, 1.0)

Row: TypeAlias = "tuple[float, ...]"
"""A contact row as of ``contact_following``, with a gap [m] for the forces, and for the distance
the code that :data:`POINT_CONSTRAINT_MARK` defines.
"""


class ForeignConstraints:
    """Constraints of a world that other code has created."""

    def __init__(self, client_id: int, is_ours: Callable[[int, int], bool]) -> None:
        """Begin without any.

        Args:
            client_id: The world.
            is_ours: Returns True if a scene made a constraint, given its id and first body.
        """
        self._client_id = client_id
        self._is_ours = is_ours
        self._known = (0, -1)
        self.ids: list[int] = []
        """Ids of the known ones at the last :meth:`rows`."""

    def rows(self) -> list[Row]:
        """Return one row per constrained point."""
        client = self._client_id
        count = pybullet.getNumConstraints(client)
        if not count:
            self._known = (0, -1)
            self.ids = []
            return []
        known = (count, pybullet.getConstraintUniqueId(count - 1, client))
        if known != self._known:
            self._known = known
            ids = [pybullet.getConstraintUniqueId(k, client) for k in range(count)]
            self.ids = [k for k in ids if self._is_row(k, self._info(k))]
        return [row for k in self.ids for row in self._rows_of(self._info(k))]

    def _is_row(self, constraint: int, info: tuple[Any, ...]) -> bool:
        return info[4] in _POINTS and not self._is_ours(constraint, info[0])

    def _info(self, constraint: int) -> tuple[Any, ...]:
        found: tuple[Any, ...] = pybullet.getConstraintInfo(constraint, self._client_id)
        return found

    def _rows_of(self, info: tuple[Any, ...]) -> list[Row]:
        parent, parent_link, child, child_link, kind, _, at_parent, at_child = info[:8]
        turns, strength = info[8:10], float(info[10])
        first = self._pose(parent, parent_link) @ Pose(turns[0] or _IDENTITY, at_parent)
        second = self._pose(child, child_link) @ Pose(turns[1] or _IDENTITY, at_child)
        found = []
        for point in _POINTS[kind]:
            here = (first @ Pose(_IDENTITY, point)).translation
            there = (second @ Pose(_IDENTITY, point)).translation
            gap = [a - b for a, b in zip(here, there, strict=True)]
            ends = (parent, child, parent_link, child_link, *here, *there)
            found.append((*ends, *_WORLD_AXES, -(POINT_CONSTRAINT_MARK + strength), *gap))
        return found

    def _pose(self, body: int, link: int) -> Pose:
        """Return the inertial frame of a link; body -1 is the world."""
        if body < 0:
            return Pose(_IDENTITY, (0.0, 0.0, 0.0))
        position, rotation, _, _ = link_state(self._client_id, body, link)
        return Pose(rotation, position)


# --- Bodies with contacts that no scene solves, as tables for the solve ---------------------------

Load: TypeAlias = Callable[[int, int, Sequence[float]], Sequence[float] | None]
"""Returns the gains [6] by external forces of a moving link (body, link, its FREE.size numbers), or
``None``.
"""

_WORLD = (*(0.0,) * 6, 1.0, *(0.0,) * (FREE.size - 7))
"""Values of the immovable world as a free body."""
_PADDING = (0.0,) * (FREE.size - FREE.inertia)
_NO_SPIN = (0.0,) * 3


class FreeSide(NamedTuple):
    """A body, or one of its links, that no scene solves."""

    number: int
    """Number, in the order of addition."""
    state: int
    """PASSES_ON if contacts are followed through it, else ENDS."""
    friction: float


class FreeSides:
    """The bodies of one step that no scene solves, each read once."""

    def __init__(self, client_id: int, gain: Sequence[float], load: Load) -> None:
        """``gain``: change of velocity by gravity within the step [m/s], shape [3]."""
        self._client_id, self._gain, self._load = client_id, gain, load
        self.values: list[float] = []
        """FREE.size numbers per body."""
        self.by_link: dict[EngineLink, FreeSide] = {}
        """Bodies by id and link; -1 for all links of a body that moves as a whole."""

    def add(self, body: int, link: int, gravity_factor: float | None) -> FreeSide:
        """Add a body of a scene, by its gravity factor, or the user's body or link.

        Body -1 is the world, an end of constraints.
        """
        known = self.by_link.get((body, link))
        if known is None:
            known = self.by_link[body, link] = self._read(body, link, gravity_factor)
        return known

    def _read(self, body: int, link: int, gravity_factor: float | None) -> FreeSide:
        number = len(self.by_link)
        if body < 0:
            self.values += _WORLD
            return FreeSide(number, ENDS, 0.0)
        x, y, z = self._gain
        factor = 1.0 if gravity_factor is None else gravity_factor
        gain = (factor * x, factor * y, factor * z)
        is_ours = gravity_factor is not None
        values, friction = read_free_body(self._client_id, body, link, gain, is_rigid=is_ours)
        moves = not is_immovable(values)
        gains: Sequence[float] = (*gain, *_NO_SPIN)
        if moves and link >= 0:
            gains = self._load(body, link, values) or gains
        self.values += (*values[: FREE.gain], *gains, *_PADDING)
        return FreeSide(number, PASSES_ON if moves else ENDS, friction)


ContactMemory: TypeAlias = tuple[FloatArray, LoadMemory]
"""Contacts of the world, ROW_SIZE numbers each, where body -2 - k is the scene's k-th one; and the
estimates for other people's robots.
"""

Owners: TypeAlias = "dict[int, ContactReader]"
"""Scene of each body id, for all scenes in a world."""

_FOREIGN = -1
_NO_MARKS: IntArray = np.zeros(0, dtype=np.int64)
_NO_FRICTIONS: FloatArray = np.zeros(0)
_SPARE = 2
"""Factor of spare room for more contacts."""


def owners(_: object) -> Owners:
    """Create the table of a world; for ``session.shared``."""
    return {}


class ContactReader:
    """A scene's view of the contacts in its world."""

    def __init__(
        self, client_id: int, articulations: Sequence[Articulation], solid: Set[int]
    ) -> None:
        """Index the bodies.

        Args:
            client_id: The world.
            articulations: All articulations of the scene.
            solid: Body ids of those multibodies that have colliders.
        """
        self.client_id = client_id
        self.articulations = tuple(articulations)
        self.fetch: Callable[[], FloatArray] = partial(python_contacts, client_id)
        """Reads all contacts of the world from the engine, ROW_SIZE numbers each."""
        self.gravity_factor: Mapping[int, float] = {}
        """Gravity factor of the scene's free bodies, by body id."""
        self.where: dict[int, tuple[int, Mapping[int, int]]] = {}
        """Articulation number and the frame of each link, by body id."""
        for number, articulation in enumerate(self.articulations):
            of_links = articulation.record.frames.of_links
            for body, frames in zip(articulation.body_ids, of_links, strict=True):
                self.where[body] = (number, frames)
        self.owners: Owners = dict.fromkeys(self.where, self)
        """Scene of each body id, for all scenes in the world."""
        self.saved: FloatArray | None = None
        """Contacts that the next solve uses instead of the engine's."""
        self._starts = {
            body
            for articulation in self.articulations
            if articulation.record.row_count
            for body in articulation.body_ids
        }
        self._is_solid = not self._starts.isdisjoint(solid)
        self.only_transmits_forces = not self._starts and not solid.isdisjoint(self.where)
        """True if its own solve needs no contacts, while the solves of scenes that it touches
        include it.
        """
        self.is_reached = False
        """True if the solve of another scene has included this passive one lately."""
        self.is_whole: Callable[[], bool] = lambda: True
        """Returns True if no body of the scene was removed, so that its ids are valid."""
        self.own_constraints: set[int] = set()
        """Ids of the constraints that close the scene's loops."""
        self.marks: IntArray = _NO_MARKS
        """Scratch of :func:`follow_contacts`."""
        self.frictions: FloatArray = _NO_FRICTIONS

    @cached_property
    def foreign(self) -> ForeignConstraints:
        """Constraints of other people."""
        return ForeignConstraints(self.client_id, self._is_ours)

    @cached_property
    def robot_loads(self) -> RobotLoads:
        """Estimated external forces on other people's robots."""
        return RobotLoads()

    def _is_ours(self, constraint: int, body: int) -> bool:
        """Return True if a scene has made a constraint."""
        owner = self.owners.get(body)
        return owner is not None and constraint in owner.own_constraints

    def register(self, owners: Owners, gravity_factor: Mapping[int, float]) -> None:
        """Register the scene with the others of the world.

        Args:
            owners: Scene of each body id of the world.
            gravity_factor: Gravity factor of the scene's free bodies, by body id.
        """
        self.gravity_factor = gravity_factor
        for body in (*self.where, *gravity_factor):
            owners[body] = self
        self.owners = owners

    def unregister(self) -> None:
        """Remove the scene from those of the world, after its bodies."""
        for bodies in (self.where, self.gravity_factor):
            for body in bodies:
                if self.owners.get(body) is self:
                    del self.owners[body]

    def save_contacts(self) -> None:
        """Save the contacts for the next solve, before new ones without forces replace them."""
        if self.saved is None:
            self.saved = self._read()

    def memory(self, own: Sequence[int]) -> ContactMemory:
        """Return the contacts of the next solve; ``own`` are the scene's bodies."""
        saved = self._read() if self.saved is None else self.saved
        rows = with_body_ids(saved, {body: -2 - k for k, body in enumerate(own)})
        return rows, self.robot_loads.memory

    def recall(self, memory: ContactMemory, own: Sequence[int]) -> None:
        """Restore a :meth:`memory` for the next solve."""
        rows, self.robot_loads.memory = memory
        if not len(rows) and not len(self._read()):
            self.saved = None  # the engine has none either
            return
        self.saved = with_body_ids(rows, {-2 - k: body for k, body in enumerate(own)})

    @property
    def is_undisturbed(self) -> bool:
        """True if the next :meth:`read` depends on the engine's contacts only.

        Constraints of others count if the last step knew them.
        """
        return not (self.foreign.ids or self.robot_loads.memory) and self.saved is None

    def has_foreign_constraints(self) -> bool:
        """Return True if other people's constraints exist now."""
        return bool(self.foreign.rows())

    @property
    def starts(self) -> list[int]:
        """Sorted ids of bodies whose contacts the solve includes."""
        return sorted(self._starts) if self._is_solid else []

    @property
    def reads_engine(self) -> bool:
        """True if the next :meth:`read` asks the engine."""
        return self.saved is None and self._is_solid

    def set_contacts(self, rows: FloatArray) -> None:
        """Set the contacts that the next :meth:`read` uses."""
        self.saved = rows

    def drop_contacts(self) -> None:
        """Drop the contacts of this step, which another scene's solve includes."""
        self.saved = None
        self.robot_loads.advance()

    def _read(self) -> FloatArray:
        if not self._is_solid:
            return np.zeros(0)
        return self.fetch()

    def read(self, dt: float, gravity: Sequence[float]) -> Touching | None:
        """Return the contacts of the scene's articulations, followed through other bodies.

        ``None`` if there are none.
        """
        rows = self.saved
        self.saved = None
        if not self._starts:
            return None
        rows = self._read() if rows is None else between_links(self.client_id, rows)
        if constrained := self.foreign.rows():
            rows = np.concatenate([rows, np.array(constrained).ravel()])
        if not len(rows):
            self.robot_loads.advance()
            return None
        count = len(rows) // ROW_SIZE
        if 2 * count > len(self.frictions):
            self.marks = following.places(_SPARE * count)
            self.frictions = np.zeros(2 * _SPARE * count)
        found = Touching(self, rows, dt, gravity)
        is_any = found.follow(self._starts)
        self.robot_loads.advance()
        return found if is_any else None


class Touching:
    """The contacts of one step that the solve of a scene includes."""

    def __init__(
        self, reader: ContactReader, rows: FloatArray, dt: float, gravity: Sequence[float]
    ) -> None:
        self.readers: list[ContactReader] = []
        """Other scenes whose bodies are reached; the first has number 1."""
        self.articulations: set[tuple[int, int]] = set()
        """(number of the scene, number of the articulation) of all that are reached."""
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
        """FREE.size numbers of each free body."""
        return self._free.values

    def reaches_all(self, scene: int) -> bool:
        """Return True if every articulation of another scene is reached; ``scene``: its number."""
        count = len(self.readers[scene - 1].articulations)
        return all((scene, number) in self.articulations for number in range(count))

    def found(self) -> FoundContacts | None:
        """Return contacts for the memory of kernels; ``None`` if those need Python again."""
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

    def follow(self, starts: Collection[int]) -> bool:
        """Find all that is connected with some bodies by contacts; return True if anything is."""
        for body, sides in self._sides_of.items():
            if body in starts and not self._states[sides[0]]:
                self._reach(sides[0])
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
                    self._reach(side)
                goes_on |= states[side] == PASSES_ON
        marks[at : at + len(states)] = states
        at = marked.numbers
        marks[at : at + len(self._numbers)] = self._numbers
        self._reader.frictions[: len(states)] = self._frictions
        return True

    def fill(self, index: IntArray, values: FloatArray) -> int:
        """Write the contacts into the islands; return their number, negative without room."""
        return int(follow_contacts(*self._arrays, index, values, WRITE))

    def _reach(self, side: int) -> None:
        """Add all sides of contacts on a side's articulation, or on its free body."""
        body, reader = self._body_of[side], self._reader
        if body not in reader.where:
            reader = reader.owners.get(body, reader)
        if body not in reader.where or not (reader is self._reader or reader.is_whole()):
            self._reach_free_body(side)
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
        # This is most of Python's time for a heap: only the engine is called.
        info, client, links = pybullet.getDynamicsInfo, self._client_id, self._link_of
        for part in articulation.body_ids:
            frames = reader.where[part][1]
            for one in self._sides_of.get(part, ()):
                frame = frames.get(links[one], -1)
                if frame < 0:
                    # The base of an anchored one, which constraints may connect.
                    self._set(one, _FOREIGN, self._add_free(-1, -1).number, -1, ENDS)
                    continue
                states[one] = PASSES_ON
                numbers[3 * one : 3 * one + 3] = scene, record, frame
                self._frictions[one] = info(part, links[one], client)[1]

    def _reach_free_body(self, side: int) -> None:
        body = self._body_of[side]
        if body in self._reader.owners or not self._stands_fixed(body):
            free = self._add_free(body, -1)
            for one in self._sides_of[body]:
                friction = free.friction if self._link_of[one] == -1 else None
                self._set(one, _FOREIGN, free.number, -1, free.state, friction)
            return
        # Somebody else's arm: each link is a free body.
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
        """Return True for the user's articulation with a base of mass 0."""
        client = self._client_id
        return bool(
            body >= 0
            and pybullet.getNumJoints(body, client)
            and pybullet.getDynamicsInfo(body, -1, client)[0] == 0.0
        )
