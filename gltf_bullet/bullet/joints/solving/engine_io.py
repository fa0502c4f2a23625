"""The joints of one scene in the engine: their states are read, their forces are applied.

:class:`EngineIo` makes PyBullet's calls from Python; with :class:`NativeIo` the kernels call the
same functions of PyBullet's library: a step of a cart-pole takes 19 us then, 78 us by Python
(measured). Both read and apply the same numbers to the last bit
(``tests/runtime/test_native_calls.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gltf_bullet.bullet.exchange.joint_calls import JointCommands, MultibodyStates, StateSource
from gltf_bullet.bullet.exchange.native_calls import (
    NO_NATIVE,
    JointTables,
    NativeWorld,
    joint_tables,
    ownership_numbers,
    scene_plan,
)
from gltf_bullet.bullet.joints.scene_arrays import SceneArrays
from gltf_bullet.bullet.joints.solving.scene_islands import SceneIslands
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.solver import outcomes, scene_table
from gltf_bullet.solver.engine import stepping
from gltf_bullet.solver.engine.calls import START_COUNT
from gltf_bullet.solver.engine.stepping import advance, ownership_at
from gltf_bullet.solver.entries import prepare
from gltf_bullet.transforms import FloatArray, IntArray

_JOINT_TABLES: MemoKey[JointTables | None] = MemoKey("where the engine has the joints")
_ANSWERS: MemoKey[bool] = MemoKey("kernels read the same as Python")

_CALLS_WITHOUT_CONTACTS = 16
"""Number of calls of which one reads contacts although rules forbid them all."""


class EngineIo:
    """The joints of a scene by PyBullet's calls for Python."""

    is_native = False
    """True if kernels call the engine."""
    skips_contacts = False
    """True if kernels do not read contacts, because rules and filters forbid them all."""

    def __init__(
        self,
        client_id: int,
        arena: SceneArrays,
        islands: SceneIslands,
        sources: Sequence[StateSource],
    ) -> None:
        """Prepare the calls.

        Args:
            client_id: The PyBullet world.
            arena: The arrays that states are read into, and that forces are taken from.
            islands: The arena with the islands of a step, as the kernels take them.
            sources: The bodies, in the order of the arena.
        """
        self._islands = islands
        self.commands = JointCommands(
            client_id,
            sources,
            arena.work[arena.commands],
            arena.work[arena.motor_targets],
            arena.work[arena.motor_bounds],
            arena.ints[arena.own_motors],
        )
        """Forces and motors by PyBullet's calls."""
        self._states = MultibodyStates(
            client_id, sources, arena.floats[: arena.state_end], arena.work[arena.motor_forces]
        )
        self.forget_bases = self._states.forget_bases
        """Call it when a snapshot is made or restored."""

    def read(self) -> int:
        """Read coordinates and velocities of all joints and bases into the arena.

        Returns:
            0, or ``LOST`` if some are not finite; the arena keeps the last ones then.
        """
        return 0 if self._states.read() else outcomes.STATE_LOST

    def apply(self) -> None:
        """Apply the forces that the solve has found, and set its motors."""
        self.commands.apply()
        self.commands.set_motors()

    def close_loops(self, dt: float) -> int:
        """Move the coordinates in the arena so that loops are closed, after a step of ``dt`` [s].

        Returns:
            The outcome, or ``LOST``: see :mod:`gltf_bullet.solver.outcomes`.
        """
        lost = self.read()
        return lost or int(
            prepare(self._islands.row, scene_table.PREPARE_LOOPS, 0, 0, dt, 0.0, 0.0, 0.0)
        )

    def accept_settings(self) -> None:
        """Accept the present settings, bodies and constraints of the world as the known ones."""

    def recheck_contacts(self) -> None:
        """Read contacts now and then although rules forbid them: users may change the rules."""


class NativeIo(EngineIo):
    """The joints of a scene by kernels, with PyBullet's calls for what these cannot do."""

    is_native = True

    def __init__(
        self,
        calls_for_python: EngineIo,
        islands: SceneIslands,
        fetch: Callable[[], FloatArray],
        meet_nothing: Callable[[], bool],
    ) -> None:
        """Prepare a scene whose ``islands`` are connected with the engine.

        Args:
            calls_for_python: The scene by PyBullet's calls, used where kernels fail.
            islands: The islands of the scene.
            fetch: Reads all contacts of the world.
            meet_nothing: Returns True if rules and filters keep all links of the scene apart.
        """
        self._python, self._islands = calls_for_python, islands
        self.commands, self.forget_bases = calls_for_python.commands, calls_for_python.forget_bases
        self._fetch, self._meet_nothing = fetch, meet_nothing
        self._start_count = int(islands.native[1][START_COUNT])
        """Number of bodies whose contacts the solve includes."""
        self._calls_without_contacts = 0

    def read(self) -> int:
        """See :meth:`EngineIo.read`."""
        found = int(advance(self._islands.row, stepping.READ, 0.0, 0.0, 0.0, 0.0))
        return self._python.read() if found & outcomes.REFUSED else found

    def apply(self) -> None:
        """See :meth:`EngineIo.apply`."""
        if advance(self._islands.row, stepping.APPLY, 0.0, 0.0, 0.0, 0.0) & outcomes.REFUSED:
            self._python.apply()

    def close_loops(self, dt: float) -> int:
        """See :meth:`EngineIo.close_loops`."""
        stages = stepping.READ | stepping.CLOSE
        status = int(advance(self._islands.row, stages, dt, 0.0, 0.0, 0.0))
        return self._python.close_loops(dt) if status & outcomes.REFUSED else status

    def accept_settings(self) -> None:
        """See :meth:`EngineIo.accept_settings`."""
        row = self._islands.row
        if not advance(row, stepping.CHECK_WORLD, 0.0, 0.0, 0.0, 0.0):
            return
        advance(row, stepping.REMEMBER_WORLD, 0.0, 0.0, 0.0, 0.0)
        self._islands.forget()
        # Impossible contacts are not read: a sixth of a cart-pole's step (measured).
        _, plan, tags = self._islands.native
        ownership = ownership_at(tags, 0)
        is_alone = int(ownership.bodies) >> 32 == ownership.tag_count
        self.skips_contacts = bool(self._start_count) and is_alone and self._meet_nothing()
        self._calls_without_contacts = 0
        plan[START_COUNT] = 0 if self.skips_contacts else self._start_count

    def recheck_contacts(self) -> None:
        """See :meth:`EngineIo.recheck_contacts`."""
        self._calls_without_contacts += 1
        if self._calls_without_contacts % _CALLS_WITHOUT_CONTACTS == 0 and len(self._fetch()):
            self._meet_nothing, self.skips_contacts = lambda: False, False
            self._islands.native[1][START_COUNT] = self._start_count


def connect(
    io: EngineIo,
    session: EngineSession,
    arena: SceneArrays,
    islands: SceneIslands,
    sources: Sequence[StateSource],
    starts: Sequence[int],
    body_ids: Sequence[int],
    loops: Sequence[IntArray],
    memo: PlanMemo,
    meet_nothing: Callable[[], bool],
    free: FloatArray,
) -> EngineIo:
    """Let kernels call the engine for a scene if they can; return ``io`` itself if not.

    Args:
        io: The scene by PyBullet's calls.
        session: The session of the world.
        arena: The arena of the scene.
        islands: The islands of the scene.
        sources: The bodies and joints to read.
        starts: Bodies whose contacts the solve includes.
        body_ids: All bodies of the scene, tagged.
        loops: Records of the constraints that close loops.
        memo: Values that are the same for all copies of the plan.
        meet_nothing: Returns True if rules and filters keep all links of the scene apart.
        free: Table of the scene's free bodies.
    """
    world = session.shared(NativeWorld)
    if not len(world.engine):
        return io

    def answers() -> bool:
        """Return True if kernels read the same as Python."""
        state = arena.floats[: arena.state_end]
        io.read()
        seen = state.tobytes()
        state[:] = np.nan
        found = advance(islands.row, stepping.READ, 0.0, 0.0, 0.0, 0.0)
        return not found and state.tobytes() == seen

    targets = io.commands.targets
    joints = memo.get(_JOINT_TABLES, lambda: joint_tables(session.client_id, sources, targets))
    if joints is None:
        return io
    ids = [body for body, *_ in sources]
    places = (arena.commands, arena.motor_targets, arena.motor_bounds, arena.motor_forces)
    commands = [place.start for place in places]
    plan = scene_plan(joints, ids, commands, arena.own_motors.start, starts, loops)
    islands.connect((world.engine, plan, ownership_numbers(session, body_ids)), free=free)
    if memo.get(_ANSWERS, answers):
        return NativeIo(io, islands, world.contacts, meet_nothing)
    # The library differs from the known one in spite of its version.
    islands.connect(NO_NATIVE)
    io.read()
    return io
