"""One step of the joints of a scene: the engine is read, the kernels solve, the engine is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.bullet.joints.arena_frames import FLOATING_STATE
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.contact_reader import ContactReader, Touching
from gltf_bullet.bullet.joints.scene_arena import Arena
from gltf_bullet.bullet.joints.step_findings import StepFindings
from gltf_bullet.bullet.state.multibody_states import MultibodyStates
from gltf_bullet.errors import EngineError
from gltf_bullet.solver import arena as slots
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.entries import (
    FINISH,
    GATHER,
    HURRIED,
    JUDGE,
    MISPREDICTED,
    MISTRUSTED,
    NEEDS_ROOM,
    NOT_CONVERGED,
    NOT_FINITE,
    OPEN,
    PREPARE,
    SLOWED,
    SOLVE,
    WAS_HURRIED,
    WAS_SLOWED,
    prepare,
    solve,
)
from gltf_bullet.transforms import FloatArray

__all__ = ["ALL_STAGES", "JointSolver"]

Pull = Callable[[FloatArray, npt.NDArray[np.intp]], FloatArray]
"""Accelerations [m/s^2] from centres of mass in the world [k, 3] and motion nodes [k]."""

ALL_STAGES = OPEN | GATHER | SOLVE | FINISH
_SPARE = 1.5
"""Room is made for this many times what is needed: contacts come and go."""


class JointSolver:
    """The joint-space solve of all articulations of one scene."""

    def __init__(
        self,
        client_id: int,
        arena: Arena,
        articulations: Sequence[Articulation],
        solid: Collection[int],
    ) -> None:
        """Prepare the lists to go through; ``solid`` are bodies that have colliders."""
        self.client_id = client_id
        self.arena = arena
        self.articulations = tuple(articulations)
        self.contacts = ContactReader(client_id, articulations, solid)
        """What touches what, this scene's side."""
        self.findings = StepFindings(self.articulations)
        self.field: Pull | None = None
        """What bodies accelerate more than the engine knows."""
        self._states = MultibodyStates(
            client_id,
            [
                (body, *state)
                for articulation in articulations
                for body, state in zip(
                    articulation.body_ids, articulation.record.states, strict=True
                )
            ],
            arena.floats[: arena.state_end],
        )
        self.read = self._states.read
        """Take coordinates and velocities of everything from the engine."""
        self.forget_bases = self._states.forget_bases
        """Call it when a snapshot is made or taken back."""
        self._targets = [
            (
                body,
                [link for link, ball in links if not ball],
                [link for link, ball in links if ball],
                floats == FLOATING_STATE,
            )
            for articulation in articulations
            for body, (floats, links) in zip(
                articulation.body_ids, articulation.record.states, strict=True
            )
        ]
        self._commands = arena.work[arena.commands]
        self._pushed: list[FloatArray] = []
        self._has_motors = False
        self._motor_axes: set[tuple[int, int]] = set()
        """Axes (body, link) whose motor is ours at present; others may be the user's."""
        self.is_mistrustful = False  # whether :meth:`judge` has something to do
        self.is_hurried = False  # whether a link goes further in the step than it is thick
        self.last: tuple[float, Sequence[float]] = (0.0, ())
        """The step's length [s], and gravity."""
        self._rows = sum(
            int(arena.ints[record.offset + slots.TOTAL_ROWS]) for record in arena.records
        ) + 6 * int(arena.ints[slots.CUTS])
        self._dofs = sum(record.dof_count for record in arena.records)
        self._index, self._values = layout.allocate(
            len(arena.records), self._rows, 0, 0, self._dofs, 1024
        )
        self.row = layout.row_of(*arena.arrays, self._index, self._values)
        """Of the table that the kernels take."""
        self._room = (len(arena.records), self._rows, 0, 0, self._dofs)

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
            pull = self.arena.model(articulation.record, slots.PULL, len(frames.link), 3)
            pull[massive] = self.field(states.com[massive], nodes)

    def push(self, number: int, frame: int, force: FloatArray, torque: FloatArray) -> None:
        """Reckon with a force at a frame's centre of mass, and a torque, in the coming step."""
        record = self.arena.records[number]
        external = self.arena.model(record, slots.EXTERNAL, len(record.frames.link), 6)
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
        touching = self.look(dt, gravity, is_next=is_next)
        if touching is None:
            prepare(self.row, PREPARE, 0, 0, dt, *gravity)
            status = self.solve_alone(dt)
        else:
            [(_, status)] = self.solve_touching(touching, dt, gravity)
        self.require_finite(status)
        self.finish(status, dt, gravity)

    @property
    def has_work(self) -> bool:
        """Whether there is a joint at all."""
        return bool(self._targets)

    def look(self, dt: float, gravity: Sequence[float], *, is_next: bool) -> Touching | None:
        """Read the engine; what touches the articulations, ``None`` where nothing does."""
        self._read(is_next=is_next)
        return self.contacts.read(dt, gravity)

    def solve_alone(self, dt: float) -> int:
        """Solve what was prepared and touches nothing; what became of it."""
        while (status := int(solve(self.row, ALL_STAGES, 0, 0, 0, dt))) == NEEDS_ROOM:
            self._make_room(*self._room)
        return status

    def require_finite(self, status: int) -> None:
        """Refuse forces that are not; the engine was given nothing yet.

        Raises:
            EngineError: A force is not finite.
        """
        if status & NOT_FINITE:
            raise EngineError(self.findings.explain())

    def finish(self, status: int, dt: float, gravity: Sequence[float]) -> None:
        """Give the engine what the solve has found."""
        if status & SLOWED:
            self._give_back_velocities(dt)
        if status & NOT_CONVERGED:
            self.findings.name_unconverged(self._index)
        self.is_mistrustful = bool(status & MISTRUSTED)
        self.is_hurried = bool(status & HURRIED)
        self.last = (dt, gravity)
        self._tell()
        while self._pushed:
            self._pushed.pop()[:] = 0.0
        if status & MISPREDICTED or self._has_motors:
            self._set_motors()

    def judge(self) -> None:
        """Take back what the step that was just made has thrown, while contacts are unsettled."""
        dt, gravity = self.last
        self.is_mistrustful = False
        self.read()
        touching = self.contacts.read(dt, gravity, learns=False)
        contacts = 0 if touching is None else self._fill(touching, [])
        status = prepare(self.row, JUDGE, 0, contacts, dt, *gravity)
        self.is_hurried |= bool(status & WAS_HURRIED)
        if status & WAS_SLOWED:
            self._give_back_velocities(dt)

    def _give_back_velocities(self, dt: float) -> None:
        self.findings.name_slowed(dt)
        for articulation in self.articulations:
            articulation.give_back_velocities()

    def _set_motors(self) -> None:
        """Use the engine's velocity motors where the last step went otherwise than foreseen.

        They act within the engine's own solve of contacts, with a bounded force. Torques that were
        meant for other contacts than those that come about feed energy in without end (measured: 6
        of 24 ragdolls dropped at 60 Hz). Axes that no row of ours acts on keep the motors that
        users gave them: a robot under ``POSITION_CONTROL`` fell to the floor without (measured).
        """
        targets: list[float] = self.arena.work[self.arena.motor_targets].tolist()
        bounds: list[float] = self.arena.work[self.arena.motor_bounds].tolist()
        at = 0
        for body, axes, balls, floats in self._targets:
            end = at + len(axes)
            ours = [
                (axis, target, bound)
                for axis, target, bound in zip(axes, targets[at:end], bounds[at:end], strict=True)
                if bound or (body, axis) in self._motor_axes
            ]
            if ours:
                pybullet.setJointMotorControlArray(
                    body,
                    [axis for axis, _, _ in ours],
                    pybullet.VELOCITY_CONTROL,
                    targetVelocities=[target for _, target, _ in ours],
                    forces=[bound for _, _, bound in ours],
                    physicsClientId=self.client_id,
                )
            for axis, _, bound in ours:
                (self._motor_axes.add if bound else self._motor_axes.discard)((body, axis))
            at = end + 3 * len(balls) + 6 * bool(floats)
        self._has_motors = bool(self._motor_axes)

    def forget_motors(self) -> None:
        """The engine's motors are not as this solve left them: set them anew."""
        self._has_motors = True
        self.is_mistrustful = False
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
        others = [
            joined[k + 1].arena if k + 1 in joined else self._borrow(touching, k, dt, gravity)
            for k in range(len(touching.readers))
        ]
        free = len(touching.free_bodies) // layout.FREE_SIZE
        contacts = self._fill(touching, others)
        prepare(self.row, PREPARE, 0, contacts, dt, *gravity)
        for k, solver in joined.items():
            row = layout.row_of(*solver.arena.arrays, self._index, self._values)
            prepare(row, PREPARE, k, contacts, dt, *gravity)
        while True:
            solve(self.row, OPEN | GATHER, 0, contacts, free, dt)
            rows = [layout.row_of(*other.arrays, self._index, self._values) for other in others]
            for k, row in enumerate(rows):
                solve(row, GATHER, k + 1, contacts, free, dt)
            status = int(solve(self.row, SOLVE | FINISH, 0, contacts, free, dt))
            if status != NEEDS_ROOM:
                break
            self._make_room(*self._room)
            contacts = self._fill(touching, others)
        found = [(self, status)]
        for k, solver in joined.items():
            found.append((solver, int(solve(rows[k - 1], FINISH, k, contacts, free, dt))))
        for other in others:
            other.ints[[record.offset + slots.ACTS for record in other.records]] = 1
        return found

    def take_part(self, *, is_next: bool) -> None:
        """Read the engine for a solve of another scene that this one's bodies are part of."""
        self._read(is_next=is_next)
        self.contacts.pass_over()

    def _fill(self, touching: Touching, others: Sequence[Arena]) -> int:
        """Put contacts and free bodies into the islands; how many contacts there are."""
        numbers = touching.free_bodies
        free = len(numbers) // layout.FREE_SIZE
        count = touching.fill(self._index, self._values)
        records = [(other, record) for other in others for record in other.records]
        needed = (
            len(self.arena.records) + free + len(records),
            self._rows
            + 3 * abs(count)
            + sum(int(k.ints[record.offset + slots.TOTAL_ROWS]) for k, record in records),
            abs(count),
            free,
            self._dofs + 6 * free + sum(record.dof_count for _, record in records),
        )
        if count < 0 or any(need > room for need, room in zip(needed, self._room, strict=True)):
            self._make_room(
                *(
                    int(_SPARE * need) if need > room else room
                    for need, room in zip(needed, self._room, strict=True)
                )
            )
            count = touching.fill(self._index, self._values)
        start = self._index[layout.FREE]
        self._values[start : start + len(numbers)] = numbers
        return count

    def _borrow(self, touching: Touching, k: int, dt: float, gravity: Sequence[float]) -> Arena:
        """Another scene's articulations as they are now, for an island that reaches them.

        Forces given to the engine twice add up: its own solve tells the engine about it.
        """
        reader = touching.readers[k]
        other = reader.articulations[0].arena
        memory = other.memory()
        for number, articulation in enumerate(reader.articulations):
            reached = (k + 1, number) in touching.articulations
            other.ints[articulation.record.offset + slots.ACTS] = 2 if reached else 0
            if reached:
                articulation.evaluate()
        row = layout.row_of(*other.arrays, self._index, self._values)
        prepare(row, PREPARE, 0, 0, dt, *gravity)
        other.recall(memory)
        return other

    def _make_room(self, *room: int) -> None:
        """Larger arrays for the islands."""
        blocks, rows, contacts, free, dofs = room
        floats = max(
            int(self._index[layout.CAPACITY] - self._index[layout.FIRST]),
            int(_SPARE * (self._index[layout.NEEDED] - self._index[layout.FIRST])),
        )
        self._index, self._values = layout.allocate(blocks, rows, contacts, free, dofs, floats)
        self.row = layout.row_of(*self.arena.arrays, self._index, self._values)
        self._room = (blocks, rows, contacts, free, dofs)

    def _tell(self) -> None:
        """Give the engine what the solve has found."""
        commands: list[float] = self._commands.tolist()
        client, at = self.client_id, 0
        for body, axes, balls, floats in self._targets:
            end = at + len(axes)
            if axes:
                pybullet.setJointMotorControlArray(
                    body,
                    axes,
                    pybullet.TORQUE_CONTROL,
                    forces=commands[at:end],
                    physicsClientId=client,
                )
            at = end
            if balls:
                end = at + 3 * len(balls)
                pybullet.setJointMotorControlMultiDofArray(
                    body,
                    balls,
                    pybullet.TORQUE_CONTROL,
                    forces=[commands[k : k + 3] for k in range(at, end, 3)],
                    physicsClientId=client,
                )
                at = end
            if floats:
                self._push_base(body, commands[at : at + 3], commands[at + 3 : at + 6])
                at += 6

    def pushes(self) -> dict[int, tuple[list[float], list[list[float]]]]:
        """What the engine was given last, by body: of hinges and slides, and of balls."""
        commands: list[float] = self._commands.tolist()
        found, at = {}, 0
        for body, axes, balls, floats in self._targets:
            end = at + len(axes)
            last = end + 3 * len(balls)
            found[body] = commands[at:end], [commands[k : k + 3] for k in range(end, last, 3)]
            at = last + 6 * bool(floats)
        return found

    def _push_base(self, body: int, force: list[float], torque: list[float]) -> None:
        client = self.client_id
        if force[0] or force[1] or force[2]:
            point, _ = pybullet.getBasePositionAndOrientation(body, client)
            pybullet.applyExternalForce(body, -1, force, point, pybullet.WORLD_FRAME, client)
        if torque[0] or torque[1] or torque[2]:
            pybullet.applyExternalTorque(body, -1, torque, pybullet.WORLD_FRAME, client)
