"""Contacts that couple a scene's joints with other bodies of its world, as tables for the solve.

The contacts are those of the engine's last collision detection. From every articulation with drives
or limits they are followed through free bodies and other articulations, as far as they reach: what
lies on an arm's load weighs on the arm as well.

The file is long because the tables have one row per side of a contact, whatever kind of body that
is on: a scene's, the user's free body or robot, or one end of the user's constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.foreign_bodies import is_immovable, read_free_body
from gltf_bullet.bullet.exchange.contact_memory import (
    ContactArrays,
    between_links,
    with_body_ids,
)
from gltf_bullet.bullet.exchange.native_calls import python_contacts
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.solving.world_bodies import WorldBodyTable
from gltf_bullet.bullet.state import link_state
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.solver.contact_following import FOLLOW, ROW_SIZE, WRITE
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


# --- the reader of a scene ------------------------------------------------------------------------

ContactMemory: TypeAlias = tuple[FloatArray, LoadMemory]
"""Contacts of the world, ROW_SIZE numbers each, where body -2 - k is the scene's k-th one; and the
estimates for other people's robots.
"""


class Owners(dict[int, "ContactReader"]):
    """Scene of each body id, for all scenes in a world."""

    def set_for(self, bodies: Iterable[int], reader: ContactReader) -> None:
        """Set the scene of some bodies."""
        self.update(dict.fromkeys(bodies, reader))
        self._forget_tables()

    def remove(self, bodies: Iterable[int], reader: ContactReader) -> None:
        """Remove those of some bodies that are of a scene."""
        for body in bodies:
            if self.get(body) is reader:
                del self[body]
        self._forget_tables()

    def _forget_tables(self) -> None:
        """Let all scenes make their tables of the world's bodies anew."""
        for reader in {*self.values()}:
            reader.arrays.forget_bodies()


_NO_INDEX: IntArray = np.zeros(0, dtype=np.int64)
_NO_VALUES: FloatArray = np.zeros(0)


def owners(_: object) -> Owners:
    """Create the table of a world; for ``session.shared``."""
    return Owners()


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
        self.articulations: Sequence[Articulation] = tuple(articulations)
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
        self.owners = Owners(dict.fromkeys(self.where, self))
        """Scene of each body id, for all scenes in the world."""
        self.saved: FloatArray | None = None
        """Contacts that the next solve uses instead of the engine's."""
        self.start_bodies: Set[int] = {
            body
            for articulation in self.articulations
            if articulation.record.row_count
            for body in articulation.body_ids
        }
        """Bodies of the articulations that have drives or limits."""
        self._is_solid = not self.start_bodies.isdisjoint(solid)
        self.only_transmits_forces = not self.start_bodies and not solid.isdisjoint(self.where)
        """True if its own solve needs no contacts, while the solves of scenes that it touches
        include it.
        """
        self.is_reached = False
        """True if the solve of another scene has included this passive one lately."""
        self.is_whole: Callable[[], bool] = lambda: True
        """Returns True if no body of the scene was removed, so that its ids are valid."""
        self.own_constraints: set[int] = set()
        """Ids of the constraints that close the scene's loops."""
        self.arrays = ContactArrays()
        """The arrays in which kernels follow the contacts."""
        self._bodies = WorldBodyTable(client_id, self, self.arrays)

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
        owners.set_for((*self.where, *gravity_factor), self)
        self.owners = owners

    @property
    def scenes(self) -> Sequence[ContactReader]:
        """Scenes by their numbers in the table of bodies; this one is the first."""
        return self._bodies.scenes

    def unregister(self) -> None:
        """Remove the scene from those of the world, after its bodies."""
        self.owners.remove((*self.where, *self.gravity_factor), self)

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
        return sorted(self.start_bodies) if self._is_solid else []

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
        if not self.start_bodies:
            return None
        rows = self._read() if rows is None else between_links(self.client_id, rows)
        if constrained := self.foreign.rows():
            rows = np.concatenate([rows, np.array(constrained).ravel()])
        if not len(rows):
            self.robot_loads.advance()
            return None
        count = len(rows) // ROW_SIZE
        self.arrays.set_room(count)
        self.arrays.found.rows[:count] = rows.reshape(-1, ROW_SIZE)
        links = self._follow(rows, count)
        touching = Touching(self, count, dt, gravity) if links > 0 else None
        self.robot_loads.advance()
        return touching

    def _follow(self, rows: FloatArray, count: int) -> int:
        """Follow the contacts from the scene's articulations; return the number of links."""
        ends = rows.reshape(-1, ROW_SIZE)[:, :4].astype(np.int64)
        links = set(map(tuple, np.concatenate([ends[:, ::2], ends[:, 1::2]]).tolist()))
        self._bodies.refresh(links, self.owners)
        return int(follow_contacts(*self.arrays.all, _NO_INDEX, _NO_VALUES, count, FOLLOW))


class Touching:
    """The contacts of one step that the solve of a scene includes."""

    def __init__(
        self, reader: ContactReader, count: int, dt: float, gravity: Sequence[float]
    ) -> None:
        """Read what was reached by ``count`` contacts of the world."""
        self._arrays, self._count = reader.arrays, count
        found = reader.arrays.found
        links = found.links[: found.links_used].tolist()
        info, client = pybullet.getDynamicsInfo, reader.client_id
        frictions = [info(body, link, client)[1] if body >= 0 else 0.0 for body, link in links]
        found.frictions[: len(links)] = frictions
        numbers = found.numbers[: len(links)]
        others = sorted({scene for scene in numbers[:, 0].tolist() if scene > 0})
        self.readers = [reader.scenes[scene] for scene in others]
        """Other scenes whose bodies are reached; the first has number 1."""
        for number, scene in enumerate(others, start=1):
            numbers[numbers[:, 0] == scene, 0] = number
        self.articulations = {(scene, record) for scene, record, _ in numbers.tolist()}
        """(number of the scene, offset of the articulation's record) of all that are reached."""
        self.free_bodies: list[float] = []
        """FREE.size numbers of each free body."""
        rows = found.rows[: found.used]
        for body, link in found.free[: found.free_used].tolist():
            self.free_bodies += _free_body(reader, rows, body, link, dt, gravity)

    def reaches_all(self, scene: int) -> bool:
        """Return True if every articulation of another scene is reached; ``scene``: its number."""
        return all(
            (scene, articulation.record.offset) in self.articulations
            for articulation in self.readers[scene - 1].articulations
        )

    def fill(self, index: IntArray, values: FloatArray) -> int:
        """Write the contacts into the islands; return their number, negative without room."""
        return int(follow_contacts(*self._arrays.all, index, values, self._count, WRITE))


_WORLD_BODY = (*(0.0,) * 6, 1.0, *(0.0,) * (FREE.size - 7))
"""The immovable world as a free body."""


def _free_body(
    reader: ContactReader,
    rows: FloatArray,
    body: int,
    link: int,
    dt: float,
    gravity: Sequence[float],
) -> tuple[float, ...]:
    """Return FREE.size numbers of a body, or of a link of a fixed robot, that no scene solves."""
    if body < 0:
        return _WORLD_BODY
    owner = reader.owners.get(body)
    factor = 1.0 if owner is None else owner.gravity_factor.get(body, 1.0)
    x, y, z = [factor * (dt * part) for part in gravity]  # as kernels do, to the bit
    is_rigid = owner is not None and body in owner.gravity_factor
    values, _ = read_free_body(reader.client_id, body, link, (x, y, z), is_rigid=is_rigid)
    gain: Sequence[float] = (x, y, z, 0.0, 0.0, 0.0)
    if link >= 0 and not is_immovable(values):
        gain = reader.robot_loads.find(rows, dt, body, link, values) or gain
    return (*values[: FREE.gain], *gain, *(0.0,) * (FREE.size - FREE.inertia))
