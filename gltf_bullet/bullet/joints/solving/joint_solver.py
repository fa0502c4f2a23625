"""The joint-space solve of one scene: reading the engine, solving, applying forces."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.bullet.exchange.native_calls import NativeWorld
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.articulation_builder import FLOATING_STATE
from gltf_bullet.bullet.joints.scene_arrays import SceneArrays
from gltf_bullet.bullet.joints.solving.contact_reader import ContactReader, Touching
from gltf_bullet.bullet.joints.solving.engine_io import EngineIo, connect
from gltf_bullet.bullet.joints.solving.scene_islands import SceneIslands
from gltf_bullet.bullet.joints.solving.step_warnings import StepWarnings
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.errors import EngineError
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.planning.plan_memo import PlanMemo
from gltf_bullet.solver import outcomes, scene_table
from gltf_bullet.solver.engine import stepping
from gltf_bullet.solver.engine.stepping import advance
from gltf_bullet.solver.entries import prepare
from gltf_bullet.solver.scene_table import SCENE
from gltf_bullet.transforms import FloatArray, IntArray

# --- Writing the joint coordinates of an articulation into the engine -----------------------------


class JointWriter:
    """Writes an articulation's joint and base states from the arena into the engine."""

    def __init__(self, articulation: Articulation) -> None:
        """Find the places of the coordinates in the arena."""
        self._client_id = articulation.client_id
        record = articulation.record
        self._all = articulation.body_ids
        self._bodies: list[tuple[int, list[int], list[slice], list[slice]]] = []
        self._bases: list[tuple[int, int]] = []
        """Bodies of the bases in the arena, with the place of their pose and velocities."""
        at = 0
        for body, (base, links) in zip(articulation.body_ids, record.states, strict=True):
            if base:
                self._bases.append((body, at))
            at += base
            places, speeds = [], []
            for _, is_ball in links:
                positions, velocities = (4, 3) if is_ball else (1, 1)
                places.append(slice(at, at + positions))
                at += positions
                speeds.append(slice(at, at + velocities))
                at += velocities
            if links:
                self._bodies.append((body, [link for link, _ in links], places, speeds))
        self._is_floating = any(base == FLOATING_STATE for base, _ in record.states)
        self._state = articulation.state[:at]
        self._last = articulation.arena.view(record, "last_state")
        self._placed = articulation.arena.view(record, "is_at_last_state")

    def write(self) -> None:
        """Write the arena's coordinates into the engine, bases that cannot move left out."""
        self._write(self._state.tolist(), has_moved=self._is_floating)

    def write_all(self) -> None:
        """Write all coordinates and velocities of the arena into the engine."""
        self._write(self._state.tolist(), has_moved=True)

    def are_finite(self) -> bool:
        """Return True if all coordinates and velocities in the engine are finite."""
        client, numbers = self._client_id, list[float]()
        for body in self._all:
            for part in pybullet.getBasePositionAndOrientation(body, client):
                numbers += part
        for body, links, _, _ in self._bodies:
            for state in pybullet.getJointStatesMultiDof(body, links, physicsClientId=client):
                numbers += (*state[0], *state[1])
        return all(map(math.isfinite, numbers))

    def _write(self, numbers: list[float], *, has_moved: bool) -> None:
        """``has_moved``: write the bases as well."""
        client = self._client_id
        self._last[:], self._placed[:] = numbers, 1.0
        for body, at in self._bases if has_moved else ():
            place, rotation_xyzw = numbers[at : at + 3], numbers[at + 3 : at + 7]
            linear, angular = numbers[at + 7 : at + 10], numbers[at + 10 : at + 13]
            pybullet.resetBasePositionAndOrientation(
                body, place, rotation_xyzw, physicsClientId=client
            )
            pybullet.resetBaseVelocity(body, linear, angular, physicsClientId=client)
        for body, links, places, speeds in self._bodies:
            pybullet.resetJointStatesMultiDof(
                body,
                links,
                [numbers[place] for place in places],
                [numbers[speed] for speed in speeds],
                physicsClientId=client,
            )


Acceleration = Callable[[FloatArray, npt.NDArray[np.intp]], FloatArray]
"""Returns accelerations [m/s^2] of centres of mass in the world [k, 3] on motion nodes [k]."""

_EVENTFUL = ~(outcomes.STEPPED | outcomes.LOOPS_CHECKED | outcomes.SENSED)
"""Outcomes of kernels after which Python has something to do."""

_ANEW = stepping.FIND_CONTACTS | stepping.SOLVE | stepping.APPLY
"""Stages that are gone through again where the islands had too little room."""


class JointSolver:
    """The joint-space solve of all articulations of one scene."""

    def __init__(
        self,
        client_id: int,
        arena: SceneArrays,
        articulations: Sequence[Articulation],
        contacts: ContactReader,
    ) -> None:
        """Prepare the solve."""
        self.client_id = client_id
        self.arena = arena
        self.articulations = tuple(articulations)
        self.contacts = contacts
        """Contacts of the scene's bodies."""
        self.warnings = StepWarnings(self.articulations)
        self.gravity_change: Acceleration | None = None
        """Accelerations of bodies by gravity that the engine lacks."""
        self._sources = [
            (body, *state)
            for articulation in articulations
            for body, state in zip(articulation.body_ids, articulation.record.states, strict=True)
        ]
        self.islands = SceneIslands(arena, contacts.arrays)
        self.io = EngineIo(client_id, arena, self.islands, self._sources)
        """Reads joint states from the engine and applies forces."""
        self.external_forces: list[FloatArray] = []
        """Tables of the forces of :meth:`apply_force` in the coming step."""
        self.has_closed = False
        """True if kernels have closed the loops that the last step has opened."""
        self.has_own_contacts = not articulations
        """True if the last step's contacts reached no other scene's joints, so that kernels can
        follow them.
        """
        self.last: tuple[float, Sequence[float]] = (0.0, (0.0, 0.0, 0.0))
        """Length of the last step [s], and gravity [m/s^2]."""
        self.pairs_seen: int | None = None
        """Number of overlaps that the triggers' kernel has counted in the last step; ``None``: none
        ran.
        """

    @property
    def row(self) -> IntTable:
        """The scene's row of the kernels' table."""
        row: IntTable = self.islands.row
        return row

    @property
    def is_native(self) -> bool:
        """True if kernels call the engine."""
        return self.io.is_native

    def connect(
        self,
        session: EngineSession,
        body_ids: Sequence[int],
        loops: Sequence[IntArray],
        memo: PlanMemo,
        meet_nothing: Callable[[], bool],
        free: FloatArray,
    ) -> None:
        """Let kernels call the engine from now on, if they can: see :func:`engine_io.connect`."""
        self.contacts.is_whole = session.watch(self.contacts.where)
        self.io = connect(
            self.io, session, self.arena, self.islands, self._sources, self.contacts.starts,
            body_ids, loops, memo, meet_nothing, free,
        )  # fmt: skip
        if self.is_native:
            self.contacts.fetch = session.shared(NativeWorld).contacts

    def watch(self, watcher: IntArray) -> None:
        """Set the array by which kernels' steps count overlaps: see ``Triggers.watcher``."""
        self.islands.connect(self.islands.native, watcher)

    def watch_slip(self, slip: FloatArray) -> None:
        """Set the table of the bodies whose friction follows their slip in kernels' steps."""
        self.islands.connect(self.islands.native, slip=slip)

    # --- reading ------------------------------------------------------------------------------

    def read(self) -> None:
        """Read coordinates and velocities of all joints and bases from the engine.

        Raises:
            EngineError: They are not finite; the joints are set to the last ones that were.
        """
        self.require_found(self.io.read())

    def read_motor_forces(self, dt: float) -> None:
        """Read motor forces into the memory, for a snapshot; ``dt`` [s] of the next step."""
        self.read()
        prepare(self.row, scene_table.PREPARE_SNAPSHOT, 0, 0, dt, 0.0, 0.0, 0.0)

    def require_found(self, found: int) -> None:
        """Raise ``EngineError`` if an outcome says ``STATE_LOST``; joints get their last states."""
        if found & outcomes.STATE_LOST:
            raise EngineError(self.warnings.name_lost(are_back=self._restore_joints()))

    def _restore_joints(self) -> bool:
        """Set all joints to the states that were read last.

        Returns:
            True if all states in the engine are finite now: fixed bases cannot be set.
        """
        places = [JointWriter(articulation) for articulation in self.articulations]
        for articulation in places:
            articulation.write_all()
        return all(articulation.are_finite() for articulation in places)

    def _read(self) -> None:
        self.read()
        if self.gravity_change is None:
            return
        for articulation in self.articulations:
            states = articulation.read()
            frames = articulation.record.frames
            massive = [
                f for f, k in enumerate(frames.multibody) if k >= 0 and states.masses[f] > 0.0
            ]
            nodes = np.array([frames.node[f] for f in massive], dtype=np.intp)
            pull = self.arena.view(articulation.record, "field_acceleration")
            pull[massive] = self.gravity_change(states.com[massive], nodes)

    def apply_force(self, number: int, frame: int, force: FloatArray, torque: FloatArray) -> None:
        """Apply a force [N] at a frame's centre of mass and a torque [N m] in the coming step."""
        record = self.arena.records[number]
        external = self.arena.view(record, "announced_wrench")
        external[frame, :3] += torque
        external[frame, 3:] += force
        self.external_forces.append(external)

    @property
    def is_undisturbed(self) -> bool:
        """True if kernels have all data that the coming solve depends on."""
        return self.is_native and self.gravity_change is None and self.contacts.is_undisturbed

    @property
    def has_joints(self) -> bool:
        """True if the scene has joints."""
        return bool(self.articulations)

    def find_contacts(self, dt: float, gravity: Sequence[float]) -> Touching | None:
        """Read the engine; return the contacts of the articulations, or ``None``."""
        self._read()
        touching = self.contacts.read(dt, gravity)
        self.islands.cells[SCENE.touching] = touching is not None
        self.has_own_contacts = touching is None or not touching.readers
        return touching

    def require_finite(self, status: int) -> None:
        """Raise ``EngineError`` for forces that are not finite; none was applied yet."""
        if status & outcomes.NOT_FINITE:
            raise EngineError(self.warnings.explain())

    def note(self, dt: float, gravity: Sequence[float]) -> None:
        """Record a step whose forces were applied."""
        self.last = (dt, gravity)
        self.pairs_seen, self.has_closed = None, False

    def end_step(self) -> None:
        """Forget the forces of :meth:`apply_force`, at the end of a step of the user's."""
        for external in self.external_forces:
            external[:] = 0.0
        self.external_forces.clear()

    def store_results(self, found: int, dt: float, gravity: Sequence[float]) -> None:
        """Finish what a kernel has solved, and applied unless its outcome says otherwise.

        Raises:
            EngineError: A force is not finite; the engine was given nothing.
        """
        self.has_own_contacts = True
        if not found & _EVENTFUL:
            self.note(dt, gravity)
            return
        while found & outcomes.NEEDS_ROOM:
            self.islands.make_room()
            found = int(
                advance(
                    self.row, stepping.FIND_CONTACTS | stepping.SOLVE | stepping.APPLY, dt, *gravity
                )
            )
        is_applied = not found & outcomes.NOT_APPLIED
        status = found & ~(outcomes.NOT_APPLIED | outcomes.STEPPED)
        self.require_finite(status)
        self.finish(status, dt, gravity, is_applied=is_applied)

    def finish(
        self, status: int, dt: float, gravity: Sequence[float], *, is_applied: bool = False
    ) -> None:
        """Apply the forces that the solve has found, unless kernels have (``is_applied``)."""
        if status & outcomes.OUTSIDE_LIMIT:
            for articulation in self.articulations:
                articulation.refresh_native_limits()
        self.warnings.report(status, self.islands.record)
        if not is_applied:
            self.io.apply()
        self.note(dt, gravity)

    def close_loops(self) -> None:
        """Close the loops that the last engine step has opened."""
        status = self.io.close_loops(self.last[0])
        self.require_found(status)
        self.write_closed_loops(status)

    def write_closed_loops(self, status: int) -> None:
        """Write the coordinates of closed loops into the engine; report loops that stay open."""
        if status & outcomes.LOOPS_MOVED:
            for places in self._looped:
                places.write()
        if status & outcomes.LOOP_OPEN:
            self.warnings.name_open_loops()

    @cached_property
    def _looped(self) -> list[JointWriter]:
        """Joint coordinates of articulations with loops."""
        return [
            JointWriter(articulation)
            for articulation in self.articulations
            if self.arena.record(articulation.record).closure_count
        ]

    def solve(
        self,
        touching: Touching | None,
        dt: float,
        gravity: Sequence[float],
        joined: Mapping[int, JointSolver] = MappingProxyType({}),
    ) -> list[tuple[JointSolver, int]]:
        """Solve a scene, ``touching`` its contacts; return its outcome and those of joined scenes.

        ``joined``: solvers of scenes that take their own forces from this solve, by their numbers
        in ``touching``, after :meth:`read_for_other_solve`.
        """
        if touching is None:
            return [(self, self.islands.solve_alone(dt, gravity))]
        arenas = {k: solver.arena for k, solver in joined.items()}
        status, others = self.islands.solve_touching(touching, dt, gravity, arenas)
        return [(self, status), *((solver, others[k]) for k, solver in joined.items())]

    def read_for_other_solve(self) -> None:
        """Read the engine for the solve of another scene that includes this one's bodies."""
        self.has_own_contacts = False
        self._read()
        self.contacts.drop_contacts()
