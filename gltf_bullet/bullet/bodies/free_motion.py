"""Forces on free bodies, and looks at them, around an engine step: see ``solver.engine``.

Kernels call the engine for it, or, where they cannot, Python does with the same results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.free_table import FreeTable
from gltf_bullet.bullet.exchange.native_calls import python_contacts
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.planning.body_sizes import BodySize
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine.calls import DAMPING
from gltf_bullet.solver.engine.free_loads import (
    clear_contacts,
    find_load,
    is_as_stated,
    note_contact,
)
from gltf_bullet.solver.engine.free_motion import (
    ENERGY_DRIFT,
    find_forces,
    goes_too_far,
    safe_steps,
)
from gltf_bullet.solver.engine.free_records import FREE, HEADER
from gltf_bullet.solver.engine.free_steps import after_free, before_free
from gltf_bullet.transforms import FloatArray, Vec3

_MOST_PROBES = 3
_SOFT_BODY = 3
"""Type of bodies that exert forces which are not among the contacts."""
Load: TypeAlias = tuple[int, Sequence[float], Sequence[float]]
"""A body's id, a force [N] at its centre of mass and a torque [N m], world axes."""


class FreeMotion:
    """Forces that the engine lacks on free bodies, and those of them that go too far in a step."""

    def __init__(
        self,
        client_id: int,
        ids: Sequence[int],
        table: FreeTable,
        gravity_factors: Sequence[float],
    ) -> None:
        """Store the bodies that need anything.

        Args:
            client_id: The PyBullet world.
            ids: Ids of all free bodies.
            table: Their properties.
            gravity_factors: Factor of each on the world's gravity.
        """
        self._client_id = client_id
        self._factors = np.array(gravity_factors, dtype=np.float64)
        self.find_row: Callable[[], IntTable | None] = lambda: None
        """Returns the kernels' row of the world's engine; ``None`` if only Python calls it."""
        self._time_step = 0.0
        tumbles, may_tunnel = (
            table.is_dynamic & table.is_lopsided,
            np.isfinite(table.half_thickness),
        )
        needs_force = tumbles | (self._lifted(table) != 0.0)
        self.rows: list[int] = np.flatnonzero(table.is_dynamic).tolist()
        """Rows of the bodies in the table."""
        self._present = (-1, -1)
        """Number of bodies and of constraints in the world that loads were last looked at for."""
        self._fast_count = 0
        self.needs_forces = bool(needs_force.any())
        self.may_tunnel = bool(may_tunnel.any())
        """True if some body may go too far in a step."""
        self.values: FloatArray = np.zeros(HEADER.size + FREE.size * len(self.rows))
        """The table of the kernels."""
        self.values[HEADER.needs_forces] = self.needs_forces
        self._places = {row: HEADER.size + FREE.size * k for k, row in enumerate(self.rows)}
        self._bodies = self.values[HEADER.size :].reshape(-1, FREE.size)
        for row, at in self._places.items():
            size = table.sizes[row]
            self.values[at + FREE.body_id] = ids[row]
            if size is not None:
                self._set_size(at, size)
        self.set_table(table)

    def _set_size(self, at: int, size: BodySize) -> None:
        """Note the size of the body whose numbers begin at a place."""
        values, count = self.values, len(size.probes)
        values[at + FREE.half_length], values[at + FREE.reach] = size.half_length, size.reach
        values[at + FREE.half_thickness] = size.half_thickness
        values[at + FREE.is_ball], values[at + FREE.is_central] = size.is_ball, size.is_central
        if count <= _MOST_PROBES:
            values[at + FREE.probe_count] = count
            values[at + FREE.probes : at + FREE.probes + 3 * count] = size.probes.ravel()
            values[at + FREE.reaches : at + FREE.reaches + count] = size.reaches

    def set_stopped(self, rows: Collection[int]) -> None:
        """Note which bodies were put back to a surface."""
        self._bodies[:, FREE.is_stopped] = 0.0
        for row in rows:
            self.values[self._places[row] + FREE.is_stopped] = 1.0

    def set_table(self, table: FreeTable) -> None:
        """Use other masses, moments and surfaces of the same bodies."""
        self._table, rows = table, self.rows
        moments = table.moments[rows]
        least = moments.min(axis=1, initial=math.inf)
        span = moments.max(axis=1, initial=0.0) - least
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # The torque is at most span w^2, along each axis; the energy least w^2 / 2.
            slow = np.sqrt(ENERGY_DRIFT / 3.0) * least / span
        bodies = self._bodies
        bodies[:, FREE.tumbles] = table.is_dynamic[rows] & table.is_lopsided[rows]
        bodies[:, FREE.lifted] = self._lifted(table)[rows]
        bodies[:, FREE.slow] = np.nan_to_num(slow**2, nan=math.inf, posinf=math.inf)
        bodies[:, FREE.moments : FREE.moments + 3] = moments
        masses = np.array(table.masses, dtype=np.float64)[rows]
        bodies[:, FREE.mass] = np.where(bodies[:, FREE.mass] > 0.0, masses, 0.0)
        self._set_pace()

    def _lifted(self, table: FreeTable) -> FloatArray:
        """Mass times (gravity factor - 1) of each body [kg]."""
        lifted = np.array(table.masses, dtype=np.float64) * (self._factors - 1.0)
        return np.where(table.is_dynamic, lifted, 0.0)

    def _set_pace(self) -> None:
        furthest = self._table.furthest(self._time_step)
        self._bodies[:, FREE.furthest] = furthest[self.rows]
        self.values[HEADER.thinnest] = furthest.min(initial=math.inf)
        self.values[HEADER.pause] = 0.0

    def use_time_step(self, time_step: float) -> None:
        """Prepare for engine steps of another length [s]."""
        if time_step != self._time_step:
            self._time_step = time_step
            self._set_pace()

    def hold(self, row: int, *, is_held: bool) -> None:
        """Leave a body out while its pose is prescribed."""
        if row in self._places:
            self.values[self._places[row] + FREE.is_held] = is_held

    @property
    def pause(self) -> float:
        """Number of steps in which no body can become fast."""
        return float(self.values[HEADER.pause])

    @pause.setter
    def pause(self, steps: float) -> None:
        self.values[HEADER.pause] = steps

    def before_step(self, gravity: Vec3, part: int, parts: int, given: Sequence[Load]) -> None:
        """Apply the forces that bodies need in the coming engine step.

        Args:
            gravity: Gravity of the engine [m/s^2].
            part: Number of the engine step in its step, from 0 on.
            parts: Number of engine steps in that step.
            given: Forces and torques of ours that it gets besides.
        """
        if not self.rows or (parts == 1 and not self.needs_forces):
            return
        if parts > 1 and part == 0:
            self._prepare_loads(given)
        row, dt, values = self._native_row, self._time_step, self.values
        if row is not None and before_free(row, values, part, parts, dt, *gravity) == 0:
            return
        for at in self._places.values():
            if values[at + FREE.is_held]:
                continue
            if part and values[at + FREE.load : at + FREE.load + 6].any():
                self._push(self._read(at), at, at + FREE.load)
            if values[at + FREE.tumbles] or values[at + FREE.lifted]:
                body = self._read(at)
                if find_forces(values, at, dt, *gravity):
                    self._push(body, at, at + FREE.force)
            if parts > 1 and part == 0:
                self._read(at)
                state = values[at + FREE.position : at + FREE.position + 13]
                values[at + FREE.was : at + FREE.was + 13] = state
                if values[at + FREE.tumbles] or values[at + FREE.lifted]:
                    forces = values[at + FREE.force : at + FREE.force + 6]
                    values[at + FREE.given : at + FREE.given + 6] += forces
        if part == 0:
            values[HEADER.is_first] = parts > 1

    def _prepare_loads(self, given: Sequence[Load]) -> None:
        """Note what others' loads on bodies are told from."""
        number = pybullet.getNumBodies(self._client_id)
        present = (number, pybullet.getNumConstraints(self._client_id))
        if present != self._present:
            self._present = present
            excluded = _held_by_others(self._client_id, *present)
            for row, at in self._places.items():
                is_left_out = excluded is None or self.values[at + FREE.body_id] in excluded
                self.values[at + FREE.mass] = 0.0 if is_left_out else self._table.masses[row]
        bodies = self._bodies
        bodies[:, FREE.load : FREE.load + 6] = 0.0
        bodies[:, FREE.given : FREE.given + 6] = 0.0
        for body_id, force, torque in given:
            bodies[bodies[:, FREE.body_id] == body_id, FREE.given : FREE.given + 6] += (
                *force, *torque
            )  # fmt: skip

    def _push(self, body: int, at: int, load: int) -> None:
        """Apply the six numbers of a force and a torque to a body that was read."""
        force, torque = self.values[load : load + 3].tolist(), self.values[load + 3 : load + 6]
        if any(force):
            place = self.values[at + FREE.position : at + FREE.position + 3].tolist()
            pybullet.applyExternalForce(
                body, -1, force, place, pybullet.WORLD_FRAME, physicsClientId=self._client_id
            )
        if torque.any():
            pybullet.applyExternalTorque(
                body, -1, torque.tolist(), pybullet.WORLD_FRAME, physicsClientId=self._client_id
            )

    def after_step(self, gravity: Vec3) -> None:
        """Find what others gave to bodies in the last engine step, and bodies that went far."""
        if not (self.may_tunnel or self.values[HEADER.is_first]):
            return
        row, dt = self._native_row, self._time_step
        count = -1 if row is None else int(after_free(row, self.values, dt, *gravity))
        if count < 0:
            self._find_loads_by_python(gravity)
            count = self._find_fast_by_python(gravity) if self.may_tunnel else 0
        self._fast_count = count

    def _find_loads_by_python(self, gravity: Vec3) -> None:
        values, client_id, dt = self.values, self._client_id, self._time_step
        if not values[HEADER.is_first]:
            return
        values[HEADER.is_first] = 0.0
        clear_contacts(values)
        rows = python_contacts(client_id).reshape(-1, ROW_SIZE)
        for contact in rows:
            note_contact(values, contact, dt)
        links = rows[:, :4].astype(np.intp).tolist()
        for at in self._places.values():
            if values[at + FREE.is_held] or not values[at + FREE.mass]:
                continue
            body = self._read(at)
            has_force, has_torque = find_load(values, at, dt, *gravity)
            if (has_force or has_torque) and not is_as_stated(values, at, self._numbers_of(body)):
                values[at + FREE.load : at + FREE.load + 6] = 0.0
                continue
            if has_torque and any(
                _rolls(client_id, a, link) or _rolls(client_id, b, other)
                for a, b, link, other in links
                if body in (a, b)
            ):
                values[at + FREE.load + 3 : at + FREE.load + 6] = 0.0

    def _numbers_of(self, body: int) -> FloatArray:
        """Mass and moments of a body by the engine; its damping is not told to Python."""
        info = pybullet.getDynamicsInfo(body, -1, self._client_id)
        numbers: FloatArray = np.zeros(DAMPING + 2)
        numbers[:4] = info[0], *info[2]
        return numbers

    def find_fast(self) -> list[int]:
        """Return the rows of bodies that :meth:`after_step` saw go too far."""
        return self.found() if self._fast_count else []

    def found(self) -> list[int]:
        """Return the rows of bodies that kernels, or :meth:`after_step`, saw go too far."""
        marks = self.values[HEADER.size + FREE.is_fast :: FREE.size]
        return [self.rows[k] for k in np.flatnonzero(marks).tolist()]

    def state_of(self, row: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return position, rotation xyzw, velocity and spin of a body as it was read last."""
        at = self._places[row]
        numbers = self.values[at + FREE.position : at + FREE.force].copy()
        return numbers[:3], numbers[3:7], numbers[7:10], numbers[10:]

    def _find_fast_by_python(self, gravity: Vec3) -> int:
        values, dt = self.values, self._time_step
        if values[HEADER.pause] > 0.0:
            values[HEADER.pause] -= 1.0
            return 0
        count, spare = 0, math.inf
        for at in self._places.values():
            values[at + FREE.is_fast] = 0.0
            if math.isinf(values[at + FREE.furthest]) or values[at + FREE.is_held]:
                continue
            body = self._read(at)
            beyond = goes_too_far(values, at, dt)
            spare = min(spare, -beyond)
            if beyond > 0.0 and self._is_among_others(at, body):
                values[at + FREE.is_fast] = 1.0
                count += 1
        x, y, z = gravity
        pull = math.sqrt(x * x + y * y + z * z)
        values[HEADER.pause] = safe_steps(values, spare, dt, pull)
        return count

    def _read(self, at: int) -> int:
        """Read the body whose numbers begin at a place; return its id."""
        body = int(self.values[at + FREE.body_id])
        position, rotation = pybullet.getBasePositionAndOrientation(body, self._client_id)
        velocity, spin = pybullet.getBaseVelocity(body, self._client_id)
        self.values[at + FREE.position : at + FREE.force] = (
            *position, *rotation, *velocity, *spin
        )  # fmt: skip
        return body

    def _is_among_others(self, at: int, body: int) -> bool:
        """Return True if other bodies are around a body, as far as it goes in a step."""
        position, _, velocity, _ = (
            self.values[at + k : at + k + 3]
            for k in (FREE.position, FREE.rotation, FREE.velocity, FREE.spin)
        )
        way = self._time_step * np.abs(velocity) + self.values[at + FREE.reach]
        found = pybullet.getOverlappingObjects(
            (position - way).tolist(), (position + way).tolist(), self._client_id
        )
        return any(other != body for other, _ in found or ())

    @cached_property
    def _native_row(self) -> IntTable | None:
        return self.find_row()


def _held_by_others(client_id: int, bodies: int, constraints: int) -> frozenset[int] | None:
    """Return the bodies whose momentum something changes that the engine does not tell.

    ``None``: there are soft bodies, which may touch any.
    """
    for k in range(bodies):
        body = pybullet.getBodyUniqueId(k, client_id)
        if pybullet.getDynamicsInfo(body, -1, client_id)[10] == _SOFT_BODY:
            return None
    held: set[int] = set()
    for k in range(constraints):
        found = pybullet.getConstraintInfo(
            pybullet.getConstraintUniqueId(k, physicsClientId=client_id), client_id
        )
        held.update((found[0], found[2]))
    return frozenset(held)


def _rolls(client_id: int, body: int, link: int) -> bool:
    """Return True if a link has rolling or spinning friction."""
    info = pybullet.getDynamicsInfo(body, link, client_id)
    return bool(info[6] or info[7])
