"""One step of the joints of a scene: the engine is read, the kernels solve, the engine is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.exchange.joint_commands import JointCommands
from gltf_bullet.bullet.exchange.multibody_states import MultibodyStates
from gltf_bullet.bullet.exchange.native_calls import NativeWorld
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.scene_arrays import SceneArrays
from gltf_bullet.bullet.joints.solving.aftermath import Aftermath
from gltf_bullet.bullet.joints.solving.contact_reader import ContactReader, Touching
from gltf_bullet.bullet.joints.solving.native_link import connect_kernels
from gltf_bullet.bullet.joints.solving.scene_islands import SceneIslands
from gltf_bullet.bullet.joints.solving.step_findings import StepFindings
from gltf_bullet.bullet.session import EngineSession, EngineSettings
from gltf_bullet.errors import EngineError
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.planning.scene_plan import Derive
from gltf_bullet.solver import outcomes, scene_table
from gltf_bullet.solver.engine import stepping
from gltf_bullet.solver.engine.calls import START_COUNT
from gltf_bullet.solver.engine.stepping import advance, ownership_at
from gltf_bullet.solver.entries import prepare
from gltf_bullet.solver.scene_table import SCENE
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["JointSolver"]

Pull = Callable[[FloatArray, npt.NDArray[np.intp]], FloatArray]
"""Accelerations [m/s^2] from centres of mass in the world [k, 3] and motion nodes [k]."""

_EVENTFUL = ~(outcomes.STEPPED | outcomes.LOOPS_CHECKED | outcomes.SENSED)
"""What a kernel says where Python has to do something about it."""
_OF_LOOPS = outcomes.LOOPS_CHECKED | outcomes.LOOPS_MOVED | outcomes.LOOP_OPEN
_STOPPED = outcomes.REFUSED | outcomes.NEW_CONTACTS | outcomes.STATE_LOST | outcomes.DIVIDES
_FIXED_STEP = stepping.WHOLE_STEP & ~stepping.DIVIDE
_STEPPED, _STEPS = outcomes.STEPPED, SCENE.steps
_BLIND_CALLS = 16
"""Calls of which one asks for contacts that cannot be."""


class JointSolver:
    """The joint-space solve of all articulations of one scene."""

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
        """What touches what, this scene's side."""
        self.findings = StepFindings(self.articulations)
        self._aftermath = Aftermath(self.articulations, self.findings)
        self.field: Pull | None = None  # what bodies accelerate more than the engine knows
        sources = [
            (body, *state)
            for articulation in articulations
            for body, state in zip(articulation.body_ids, articulation.record.states, strict=True)
        ]
        self._sources = sources
        self._states = MultibodyStates(
            client_id, sources, arena.floats[: arena.state_end], arena.work[arena.motor_forces]
        )
        self.forget_bases = self._states.forget_bases
        """Call it when a snapshot is made or taken back."""
        self.commands = JointCommands(
            client_id,
            sources,
            arena.work[arena.commands],
            arena.work[arena.motor_targets],
            arena.work[arena.motor_bounds],
            arena.ints[arena.own_motors],
            arena.externally_driven,
        )
        """What the engine is given."""
        self._pushed: list[FloatArray] = []
        self.is_last_part = True
        """Whether the coming engine step ends a step."""
        self.has_closed = False
        """Whether kernels have closed the loops that the last step has opened."""
        self.is_known = False
        """Whether kernels know what touches, or would in the next step, if it stays as it is."""
        self.last: tuple[float, Sequence[float]] = (0.0, (0.0, 0.0, 0.0))
        """The step's length [s], and gravity."""
        self.islands = SceneIslands(arena)
        self.is_native = False
        """Whether kernels call the engine."""
        self._meet_nothing: Callable[[], bool] = lambda: False
        self._starts = 0
        self._blind_calls = -1
        """How often kernels were called that asked for no contacts; -1 where they ask."""
        self.pairs_seen: int | None = None
        """What the triggers' kernel has found in the last step, where it could watch."""

    @property
    def row(self) -> IntTable:
        """Of the table that the kernels take."""
        row: IntTable = self.islands.row
        return row

    def connect(
        self,
        session: EngineSession,
        body_ids: Sequence[int],
        loops: Sequence[IntArray],
        derive: Derive,
        meet_nothing: Callable[[], bool],
    ) -> None:
        """Let the kernels call the engine from now on, where they can: see that function.

        ``meet_nothing``: tells whether rules and filters keep all links of the scene apart.
        """
        self._meet_nothing = meet_nothing
        self.contacts.is_whole = session.watch(self.contacts.where)
        world = session.shared(NativeWorld)
        self.is_native = connect_kernels(
            world, session, self.arena, self.islands, self._sources, self.commands,
            self.contacts.starts, body_ids, loops, self.read, derive,
        )  # fmt: skip
        if self.is_native:
            self.contacts.fetch = world.contacts
            self._starts = int(self.islands.native[1][START_COUNT])

    def watch(self, watcher: IntArray) -> None:
        """Let triggers watch the steps that :meth:`advance` makes: see ``Triggers.watcher``."""
        self.islands.connect(self.islands.native, watcher)

    def read(self, *, is_next: bool = False) -> None:
        """Take coordinates and velocities of everything from the engine.

        ``is_next``: nobody but the engine had a say since the last time.

        Raises:
            EngineError: They are not finite; see :meth:`require_found`.
        """
        found = outcomes.REFUSED
        if self.is_native:
            found = advance(self.row, stepping.READ, 0.0, 0.0, 0.0, 0.0)
            self.require_found(found)
        if found and not self._states.read(is_next=is_next):
            self.require_found(outcomes.STATE_LOST)

    def hear(self, dt: float) -> None:
        """Let the memory know what motors tell, for a snapshot; ``dt`` [s] of the next step."""
        self.read()
        prepare(self.row, scene_table.READ_MOTORS, 0, 0, dt, 0.0, 0.0, 0.0)

    def require_found(self, found: int) -> None:
        """Raise ``EngineError`` where a kernel says LOST; joints are as they were read last."""
        if found & outcomes.STATE_LOST:
            self.commands.has_motors = True
            raise EngineError(self.findings.name_lost(are_back=self._aftermath.restore()))

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
        """Reckon with a force at a frame's centre of mass, and a torque, in the coming step."""
        record = self.arena.records[number]
        external = self.arena.view(record, "announced_wrench")
        external[frame, :3] += torque
        external[frame, 3:] += force
        self._pushed.append(external)

    def step(self, dt: float, gravity: Sequence[float], *, is_next: bool = False) -> None:
        """Find and apply all joint forces for one engine step of ``dt`` seconds.

        ``is_next``: nobody but the engine had a say since the last step.

        Raises:
            EngineError: A force came out that is not finite; the engine was given nothing.
        """
        if not self.has_work:
            return
        if self._blind_calls >= 0:
            self._look_around()
        if self.is_undisturbed and not self.contacts.has_foreign_constraints():
            found = int(advance(self.row, stepping.FORCES, dt, *gravity))
            if found & outcomes.NEW_CONTACTS and self._knows_touch_again():
                found = int(advance(self.row, stepping.FORCES, dt, *gravity))
            self.require_found(found)
            if not found & (outcomes.REFUSED | outcomes.NEW_CONTACTS):
                self.take(found, dt, gravity)
                return
        touching = self.look(dt, gravity, is_next=is_next)
        if touching is None:
            prepare(self.row, scene_table.PREPARE, 0, 0, dt, *gravity)
            status = self.islands.solve_alone(dt)
        else:
            [(_, status)] = self.solve_touching(touching, dt, gravity)
        self.require_finite(status)
        self.finish(status, dt, gravity)

    @property
    def is_undisturbed(self) -> bool:
        """Whether the coming solve depends on nothing that only Python knows."""
        return self.is_native and self.field is None and self.contacts.is_undisturbed

    @property
    def is_pushed(self) -> bool:
        """Whether :meth:`push` was called for the coming step."""
        return bool(self._pushed)

    @property
    def has_work(self) -> bool:
        """Whether there is a joint at all."""
        return bool(self.articulations)

    def look(self, dt: float, gravity: Sequence[float], *, is_next: bool) -> Touching | None:
        """Read the engine; what touches the articulations, ``None`` where nothing does."""
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
        """How many engine steps a step of ``dt`` seconds needs, as its joints move now.

        ``has_room``: whether nothing is in their way.
        """
        self.read()
        return int(prepare(self.row, scene_table.DIVIDE, int(has_room), 0, dt, 0.0, 0.0, 0.0))

    def advance(self, settings: EngineSettings, count: int, *, may_divide: bool) -> int:
        """Make the world's next steps, all in one call where nothing in them needs Python.

        Nobody may want a say in them, after :meth:`learn`. How many were made, at most ``count``,
        fewer where something has happened; 0: the world or what touches is another one than
        before, or ``may_divide`` and the next one needs several engine steps.

        Raises:
            EngineError: A force came out that is not finite; the engine was given nothing.
        """
        if self._blind_calls >= 0:
            self._look_around()
        dt, gravity = settings.time_step, settings.gravity
        gx, gy, gz = gravity
        cells, has_motors = self.islands.cells, self.commands.has_motors
        count = 1 if self._pushed or has_motors else count
        cells[_STEPS] = count
        stages = stepping.WHOLE_STEP if may_divide else _FIXED_STEP
        if has_motors:
            # They are set between the solve and the engine's step.
            stages &= ~stepping.STEP
        found = advance(self.islands.row, stages, dt, gx, gy, gz)
        if found & outcomes.NEW_CONTACTS and self._knows_touch_again():
            cells = self.islands.cells
            cells[_STEPS] = count
            found = advance(self.islands.row, stages, dt, gx, gy, gz)
        made = cells[_STEPS]
        if found & _STOPPED:
            self.require_found(found)
            return 0
        self.is_known = True
        if found == _STEPPED and not self._pushed:
            self.last, self.pairs_seen = (dt, gravity), None
            return made
        if found & _EVENTFUL or not found & _STEPPED:
            self._take_eventful(int(found), dt, gravity)
        else:
            self._note(dt, gravity)
            self.has_closed = bool(found & outcomes.LOOPS_CHECKED)
        if found & outcomes.SENSED:
            self.pairs_seen = cells[SCENE.pairs]
        return made

    def _knows_touch_again(self) -> bool:
        return self.knows_again(self.contacts.fetch())

    def knows_again(self, rows: FloatArray) -> bool:
        """Whether links touch each other as they have before, so that kernels may try again.

        ``rows``: the world's contacts, ROW_SIZE numbers each.
        """
        return self.islands.know_again(self.contacts.own_rows(rows))

    def _take_eventful(self, found: int, dt: float, gravity: Sequence[float]) -> None:
        self.take(found & ~_OF_LOOPS, dt, gravity)
        if not found & outcomes.STEPPED:
            found = int(advance(self.row, stepping.STEP, dt, *gravity))
            if not found & outcomes.STEPPED:
                raise EngineError("stepSimulation: the engine does not answer")
        if found & outcomes.LOOPS_CHECKED:
            self.has_closed = True
            self._aftermath.take(found)

    def _note(self, dt: float, gravity: Sequence[float]) -> None:
        """What a step that was told leaves behind."""
        self.last = (dt, gravity)
        self.pairs_seen, self.has_closed = None, False
        if self._pushed and self.is_last_part:
            for external in self._pushed:
                external[:] = 0.0
            self._pushed.clear()

    def learn(self) -> None:
        """The world is as it should be: :meth:`advance` asks whether it still is."""
        if self.is_native and advance(self.row, stepping.CHECK_WORLD, 0.0, 0.0, 0.0, 0.0):
            advance(self.row, stepping.REMEMBER_WORLD, 0.0, 0.0, 0.0, 0.0)
            self.islands.forget()
            # Contacts that cannot be are not asked for: a sixth of a cart-pole's step (measured).
            _, plan, tags = self.islands.native
            ownership = ownership_at(tags, 0)
            is_alone = int(ownership.bodies) >> 32 == ownership.tag_count
            is_blind = bool(self._starts) and is_alone and self._meet_nothing()
            plan[START_COUNT] = 0 if is_blind else self._starts
            self._blind_calls = 0 if is_blind else -1

    def _look_around(self) -> None:
        """Ask for contacts now and then where none can be: users may have given PyBullet rules."""
        self._blind_calls += 1
        if self._blind_calls % _BLIND_CALLS == 0 and len(self.contacts.fetch()):
            self._meet_nothing, self._blind_calls = lambda: False, -1
            self.islands.native[1][START_COUNT] = self._starts

    def take(self, found: int, dt: float, gravity: Sequence[float]) -> None:
        """Go on with what a kernel has solved, and told unless something is the matter.

        Raises:
            EngineError: A force is not finite; the engine was given nothing.
        """
        self.is_known = True
        if not (found & _EVENTFUL or self.commands.has_motors):
            self._note(dt, gravity)
            return
        while found & outcomes.NEEDS_ROOM:
            self.islands.make_room()
            found = int(
                advance(
                    self.row, stepping.FIND_CONTACTS | stepping.SOLVE | stepping.APPLY, dt, *gravity
                )
            )
        is_told = not found & outcomes.NOT_APPLIED
        status = found & ~(outcomes.NOT_APPLIED | outcomes.STEPPED)
        self.require_finite(status)
        self.finish(status, dt, gravity, is_told=is_told)

    def finish(
        self, status: int, dt: float, gravity: Sequence[float], *, is_told: bool = False
    ) -> None:
        """Give the engine what the solve has found, unless it was told."""
        if status & outcomes.OUTSIDE_LIMIT:
            for articulation in self.articulations:
                articulation.refresh_native_limits()
        self.findings.take(status, self.islands.index)
        if not is_told and (
            not self.is_native or advance(self.row, stepping.APPLY, dt, *gravity) & outcomes.REFUSED
        ):
            self.commands.tell()
        self._note(dt, gravity)
        if status & outcomes.MISPREDICTED or self.commands.has_motors:
            self.commands.set_motors()

    def close_loops(self) -> None:
        """Close those that the step that was just made has opened."""
        dt, status = self.last[0], outcomes.REFUSED
        if self.is_native:
            status = int(advance(self.row, stepping.READ | stepping.CLOSE, dt, 0.0, 0.0, 0.0))
            self.require_found(status)
        if status & outcomes.REFUSED:
            self.read()
            status = prepare(self.row, scene_table.CLOSE, 0, 0, dt, 0.0, 0.0, 0.0)
        self._aftermath.take(status)

    def forget_motors(self) -> None:
        """The engine's motors are not as the state has them: set those of ours anew."""
        self.commands.forget()
        self.forget_bases()

    def solve_touching(
        self,
        touching: Touching,
        dt: float,
        gravity: Sequence[float],
        joined: Mapping[int, JointSolver] = MappingProxyType({}),
    ) -> list[tuple[JointSolver, int]]:
        """Solve a scene that touches something; what became of it and of those that join.

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
