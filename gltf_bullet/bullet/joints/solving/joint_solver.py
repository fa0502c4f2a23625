"""One scene in the joint-space solve: read from the engine, prepared, its forces applied."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
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
from gltf_bullet.bullet.joints.solving.step_findings import StepFindings
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.errors import EngineError
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.planning.plan_memo import PlanMemo
from gltf_bullet.solver import outcomes, scene_table
from gltf_bullet.solver.engine import stepping
from gltf_bullet.solver.engine.stepping import advance
from gltf_bullet.solver.entries import prepare
from gltf_bullet.solver.scene_table import SCENE
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["JointSolver"]

# --- Puts the joints of an articulation somewhere, in one call a multibody ------------------------


class JointPlaces:
    """The joints and bases of an articulation, as the arena has them."""

    def __init__(self, articulation: Articulation) -> None:
        """Look up where each number is."""
        self._client_id = articulation.client_id
        record = articulation.record
        self._all = articulation.body_ids
        self._bodies: list[tuple[int, list[int], list[slice], list[slice]]] = []
        self._bases: list[tuple[int, int]] = []
        """(body, where its pose and velocities begin) of the bases that the arena knows."""
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

    def tell(self) -> None:
        """Give the engine what the arena has; bases that cannot move are left."""
        self._tell(self._state.tolist(), has_moved=self._is_floating)

    def restore(self) -> None:
        """Put everything where the arena has it, at the velocities that it has there."""
        self._tell(self._state.tolist(), has_moved=True)

    def are_finite(self) -> bool:
        """Whether the engine has numbers for all of it."""
        client, numbers = self._client_id, list[float]()
        for body in self._all:
            for part in pybullet.getBasePositionAndOrientation(body, client):
                numbers += part
        for body, links, _, _ in self._bodies:
            for state in pybullet.getJointStatesMultiDof(body, links, physicsClientId=client):
                numbers += (*state[0], *state[1])
        return all(map(math.isfinite, numbers))

    def _tell(self, numbers: list[float], *, has_moved: bool) -> None:
        """``has_moved``: the bases, too."""
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


Pull = Callable[[FloatArray, npt.NDArray[np.intp]], FloatArray]
"""Accelerations [m/s^2] from centres of mass in the world [k, 3] and motion nodes [k]."""

_EVENTFUL = ~(outcomes.STEPPED | outcomes.LOOPS_CHECKED | outcomes.SENSED)
"""Outcomes of kernels that Python has to do something about."""

_ANEW = stepping.FIND_CONTACTS | stepping.SOLVE | stepping.APPLY
"""Stages that are gone through again where the islands had too little room."""


class JointSolver:
    """The joint-space solve of all articulations of one scene: what it needs, what it leaves."""

    def __init__(
        self,
        client_id: int,
        arena: SceneArrays,
        articulations: Sequence[Articulation],
        contacts: ContactReader,
    ) -> None:
        """Prepare the lists to go through."""
        self.client_id = client_id
        self.arena = arena
        self.articulations = tuple(articulations)
        self.contacts = contacts
        """The contacts of the scene's bodies."""
        self.findings = StepFindings(self.articulations)
        self.field: Pull | None = None
        """Accelerations of bodies that the engine does not know."""
        self._sources = [
            (body, *state)
            for articulation in articulations
            for body, state in zip(articulation.body_ids, articulation.record.states, strict=True)
        ]
        self.islands = SceneIslands(arena)
        self.io = EngineIo(client_id, arena, self.islands, self._sources)
        """The engine, as the joints read it and are applied to it."""
        self.pushed: list[FloatArray] = []
        """Tables of the forces that :meth:`push` was given for the coming step."""
        self.is_last_part = True
        """True if the coming engine step ends a step."""
        self.has_closed = False
        """True if kernels have closed the loops that the last step has opened."""
        self.is_known = False
        """True if kernels know what touches, or would in the next step, if it stays as it is."""
        self.last: tuple[float, Sequence[float]] = (0.0, (0.0, 0.0, 0.0))
        """Length of the last step [s], and gravity [m/s^2]."""
        self.pairs_seen: int | None = None
        """Overlaps that the triggers' kernel has counted in the last step; ``None``: it did not."""

    @property
    def row(self) -> IntTable:
        """The scene's row of the table that the kernels take."""
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
    ) -> None:
        """Let kernels call the engine from now on, if they can: see :func:`engine_io.connect`."""
        self.contacts.is_whole = session.watch(self.contacts.where)
        self.io = connect(
            self.io, session, self.arena, self.islands, self._sources, self.contacts.starts,
            body_ids, loops, memo, meet_nothing,
        )  # fmt: skip
        if self.is_native:
            self.contacts.fetch = session.shared(NativeWorld).contacts

    def watch(self, watcher: IntArray) -> None:
        """Let triggers watch the steps that kernels make: see ``Triggers.watcher``."""
        self.islands.connect(self.islands.native, watcher)

    # --- reading ------------------------------------------------------------------------------

    def read(self, *, is_next: bool = False) -> None:
        """Take coordinates and velocities of everything from the engine.

        Args:
            is_next: True if only the engine has changed them since the last time.

        Raises:
            EngineError: They are not finite; the joints are put back to where they were read last.
        """
        self.require_found(self.io.read(is_next=is_next))

    def hear(self, dt: float) -> None:
        """Let the memory know what motors exert, for a snapshot; ``dt`` [s] of the next step."""
        self.read()
        prepare(self.row, scene_table.READ_MOTORS, 0, 0, dt, 0.0, 0.0, 0.0)

    def require_found(self, found: int) -> None:
        """Raise ``EngineError`` if an outcome says ``LOST``: joints go back to where they were."""
        if found & outcomes.STATE_LOST:
            self.io.commands.has_motors = True
            raise EngineError(self.findings.name_lost(are_back=self._restore_joints()))

    def _restore_joints(self) -> bool:
        """Put all joints where they were read last.

        Returns:
            True if the engine has them there: it does not move bases that are fixed.
        """
        places = [JointPlaces(articulation) for articulation in self.articulations]
        for articulation in places:
            articulation.restore()
        return all(articulation.are_finite() for articulation in places)

    def _read(self, *, is_next: bool) -> None:
        self.read(is_next=is_next)
        if self.field is None:
            return
        for articulation in self.articulations:
            states = articulation.read()
            frames = articulation.record.frames
            massive = [
                f for f, k in enumerate(frames.multibody) if k >= 0 and states.masses[f] > 0.0
            ]
            nodes = np.array([frames.node[f] for f in massive], dtype=np.intp)
            pull = self.arena.view(articulation.record, "field_acceleration")
            pull[massive] = self.field(states.com[massive], nodes)

    def push(self, number: int, frame: int, force: FloatArray, torque: FloatArray) -> None:
        """Apply a force [N] at a frame's centre of mass and a torque [N m] in the coming step."""
        record = self.arena.records[number]
        external = self.arena.view(record, "announced_wrench")
        external[frame, :3] += torque
        external[frame, 3:] += force
        self.pushed.append(external)

    @property
    def is_undisturbed(self) -> bool:
        """True if kernels know all that the coming solve depends on."""
        return self.is_native and self.field is None and self.contacts.is_undisturbed

    @property
    def has_work(self) -> bool:
        """True if the scene has joints."""
        return bool(self.articulations)

    def look(self, dt: float, gravity: Sequence[float], *, is_next: bool) -> Touching | None:
        """Read the engine; returns what touches the articulations, or ``None``."""
        self._read(is_next=is_next)
        touching = self.contacts.read(dt, gravity)
        self.islands.cells[SCENE.touching] = touching is not None
        self.is_known = touching is None or not touching.readers
        return touching

    def require_finite(self, status: int) -> None:
        """Raise ``EngineError`` for forces that are not; the engine was given nothing yet."""
        if status & outcomes.NOT_FINITE:
            raise EngineError(self.findings.explain())

    def steps_needed(self, dt: float, *, has_room: bool = False) -> int:
        """Count the engine steps that a step of ``dt`` seconds needs, as the joints move now.

        ``has_room``: nothing is in their way.
        """
        self.read()
        return int(prepare(self.row, scene_table.DIVIDE, int(has_room), 0, dt, 0.0, 0.0, 0.0))

    def knows_again(self, rows: FloatArray) -> bool:
        """Return True if links touch each other as they have before: kernels may try again.

        ``rows``: the world's contacts, ROW_SIZE numbers each.
        """
        return self.islands.know_again(self.contacts.own_rows(rows))

    def note(self, dt: float, gravity: Sequence[float]) -> None:
        """Take note of a step whose forces the engine has."""
        self.last = (dt, gravity)
        self.pairs_seen, self.has_closed = None, False
        if self.pushed and self.is_last_part:
            for external in self.pushed:
                external[:] = 0.0
            self.pushed.clear()

    def take(self, found: int, dt: float, gravity: Sequence[float]) -> None:
        """Finish what a kernel has solved, and applied unless its outcome says otherwise.

        Raises:
            EngineError: A force is not finite; the engine was given nothing.
        """
        self.is_known = True
        if not (found & _EVENTFUL or self.io.commands.has_motors):
            self.note(dt, gravity)
            return
        while found & outcomes.NEEDS_ROOM:
            self.islands.make_room()
            found = int(advance(self.row, _ANEW, dt, *gravity))
        is_told = not found & outcomes.NOT_APPLIED
        status = found & ~(outcomes.NOT_APPLIED | outcomes.STEPPED)
        self.require_finite(status)
        self.finish(status, dt, gravity, is_told=is_told)

    def finish(
        self, status: int, dt: float, gravity: Sequence[float], *, is_told: bool = False
    ) -> None:
        """Apply the forces that the solve has found, unless kernels have (``is_told``)."""
        if status & outcomes.OUTSIDE_LIMIT:
            for articulation in self.articulations:
                articulation.refresh_native_limits()
        self.findings.take(status, self.islands.index)
        if not is_told:
            self.io.apply()
        self.note(dt, gravity)
        commands = self.io.commands
        if status & outcomes.MISPREDICTED or commands.has_motors:
            commands.set_motors()

    def close_loops(self) -> None:
        """Close the loops that the last engine step has opened."""
        status = self.io.close_loops(self.last[0])
        self.require_found(status)
        self.take_closed(status)

    def take_closed(self, status: int) -> None:
        """Let the engine have the joints where loops are closed; name loops that stay open."""
        if status & outcomes.LOOPS_MOVED:
            for places in self._looped:
                places.tell()
        if status & outcomes.LOOP_OPEN:
            self.findings.name_torn()

    @cached_property
    def _looped(self) -> list[JointPlaces]:
        """The joints of articulations with loops."""
        return [
            JointPlaces(articulation)
            for articulation in self.articulations
            if self.arena.record(articulation.record).closure_count
        ]

    def forget_motors(self) -> None:
        """Set the motors that are ours anew: the engine's are not as the state has them."""
        self.io.commands.forget()
        self.io.forget_bases()

    def solve_touching(
        self,
        touching: Touching,
        dt: float,
        gravity: Sequence[float],
        joined: Mapping[int, JointSolver] = MappingProxyType({}),
    ) -> list[tuple[JointSolver, int]]:
        """Solve a scene that touches something; returns its outcome and those of who joins.

        ``joined``: solvers of scenes that take their own forces from this solve, by their numbers
        in ``touching``, after :meth:`take_part`.
        """
        arenas = {k: solver.arena for k, solver in joined.items()}
        status, others = self.islands.solve_touching(touching, dt, gravity, arenas)
        return [(self, status), *((solver, others[k]) for k, solver in joined.items())]

    def take_part(self, *, is_next: bool) -> None:
        """Read the engine for a solve of another scene that this one's bodies are part of."""
        self.is_known = False
        self._read(is_next=is_next)
        self.contacts.pass_over()
