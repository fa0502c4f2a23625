"""The engine as the kernels call it, for one world and for the joints of one scene.

Where PyBullet's library is another one than ``library`` knows, none of this is possible, and its
calls for Python do the same: the results are equal to the last bit, the tests say.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pybullet

from gltf_bullet.bullet.exchange.joint_calls import Target
from gltf_bullet.bullet.exchange.library import client_place, function_addresses
from gltf_bullet.bullet.session import EngineSession, is_headless
from gltf_bullet.numba_aot import IntTable, address_of, is_compiled, place_of, size_of
from gltf_bullet.numba_aot.library import package_library
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine import stepping
from gltf_bullet.solver.engine.calls import (
    BODY_SIZE,
    FUNCTIONS,
    JOINT_SIZE,
    PLAN_SIZE,
    Body,
    Engine,
    body_at,
    engine_at,
    joint_at,
    plan_at,
)
from gltf_bullet.solver.engine.stepping import TAG_SIZE, TAGS, TEXT_BYTES, ownership_at, tag_at
from gltf_bullet.solver.entries import prepare, solve
from gltf_bullet.solver.scene_table import row_of
from gltf_bullet.transforms import FloatArray, IntArray

_NONE: IntArray = np.zeros(0, dtype=np.int64)
_COORDINATES = 128
"""``MAX_DEGREE_OF_FREEDOM``: of a body, with its base."""
NO_NATIVE = (_NONE, _NONE, _NONE)
"""The arrays of a scene that only Python steps."""
_NO_FLOATS: FloatArray = np.zeros(0)
_SPARE = 2
"""Room is made for this many times the contacts that there are."""


class NativeWorld:
    """A world whose engine the kernels call; ``session.shared`` keeps it."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self.engine = _engine_numbers(session.client_id)
        """The :class:`Engine` record; empty if kernels cannot call the engine."""
        self._row = row_of(_NONE, _NO_FLOATS, _NO_FLOATS, engine=(self.engine, _NONE, _NONE))
        self._contacts: FloatArray = np.zeros(32 * ROW_SIZE)
        if len(self.engine) and not self._answers():
            self.engine = _NONE

    @property
    def row(self) -> IntTable | None:
        """A row for kernels that need nothing but the engine; ``None`` if they cannot call it."""
        return self._row if len(self.engine) else None

    def _answers(self) -> bool:
        """Tell whether kernels read what Python reads: then the structures are known."""
        if stepping.advance(self._row, stepping.REMEMBER_WORLD, 0.0, 0.0, 0.0, 0.0):
            return False
        # Amid a divided step those of its parts: reading the settings anew would end the division.
        settings = self._session.divided_settings or self._session.settings()
        *known, substeps = engine_at(self.engine, 0).known
        return bool(
            np.array(known).view(np.float64).tolist() == [settings.time_step, *settings.gravity]
            and substeps == settings.substeps
        )

    def contacts(self) -> FloatArray:
        """Contacts of the world, as ``contact_following`` has them, ROW_SIZE numbers each."""
        count = -1
        if len(self.engine):
            count = int(stepping.copy_contacts(self._row, self._contacts))
        if count < 0:
            return python_contacts(self._session.client_id)
        if ROW_SIZE * count > len(self._contacts):
            self._contacts = np.zeros(ROW_SIZE * _SPARE * count)
            stepping.copy_contacts(self._row, self._contacts)
        return self._contacts[: ROW_SIZE * count].copy()


def python_contacts(client_id: int) -> FloatArray:
    """Contacts of the world by PyBullet's call, the fastest way measured: 0.55 us a row."""
    rows = [
        (
            a,
            b,
            on_a,
            on_b,
            *at_a,
            *at_b,
            *normal,
            *first,
            *second,
            distance,
            force,
            one if force else 0.0,
            two if force else 0.0,
        )
        for _, a, b, on_a, on_b, at_a, at_b, normal, distance, force, one, first, two, second in (
            pybullet.getContactPoints(physicsClientId=client_id) or ()
        )
    ]
    return np.fromiter(chain.from_iterable(rows), float, ROW_SIZE * len(rows))


def _engine_numbers(client_id: int) -> IntArray:
    place = client_place(client_id)
    if not (place and is_compiled()):
        return _NONE
    numbers: IntArray = np.zeros(size_of(Engine), dtype=np.int64)
    engine = engine_at(numbers, 0)
    engine.client_place, engine.is_direct = place, is_headless(client_id)
    engine.prepare, engine.solve = address_of(prepare), address_of(solve)
    engine.scratch_address = numbers.ctypes.data + 8 * place_of(Engine, "scratch")
    for name, address in zip(FUNCTIONS, function_addresses(), strict=True):
        setattr(engine, name, address)
    return numbers


def engine_row(session: EngineSession) -> IntTable | None:
    """A row of the world's engine for kernels that are at hand; nothing is compiled for it."""
    return session.shared(NativeWorld).row if package_library() is not None else None


class JointTables(NamedTuple):
    """The engine's places of the joints of a scene's bodies: the same for all copies of a plan."""

    bodies: IntArray
    """A :class:`Body` of each, as a row; the ids are left open."""
    tables: IntArray
    """The tables that the bodies refer to."""


def joint_tables(
    client_id: int,
    states: Sequence[tuple[int, int, Sequence[tuple[int, bool]]]],
    told: Sequence[Target],
) -> JointTables | None:
    """Look up the places that the engine gives to a scene's joints.

    Args:
        client_id: The world.
        states: As of ``MultibodyStates``: they fill the floats from the beginning.
        told: As of ``JointCommands.targets``: the same bodies.

    Returns:
        Nothing where a body has more coordinates than the engine tells.
    """
    bodies: IntArray = np.zeros((len(states), BODY_SIZE), dtype=np.int64)
    tables: list[int] = []
    first, at = PLAN_SIZE + bodies.size, 0
    for number, ((index, floats, links), (_, axes, balls, is_pushed)) in enumerate(
        zip(states, told, strict=True)
    ):
        body = body_at(bodies, BODY_SIZE * number)
        body.base, body.base_size = at if floats else -1, floats
        body.joint_count, body.joints = len(links), first + len(tables)
        at += floats
        places = {link: pybullet.getJointInfo(index, link, client_id)[3:5] for link, _ in links}
        for link, is_ball in links:
            position, velocity = places[link]
            positions, velocities = (4, 3) if is_ball else (1, 1)
            if max(position + positions, velocity + velocities) > _COORDINATES:
                return None
            numbers: IntArray = np.zeros(JOINT_SIZE, dtype=np.int64)
            joint = joint_at(numbers, 0)
            joint.position_at, joint.positions = position, positions
            joint.velocity_at, joint.velocities = velocity, velocities
            joint.state = at
            tables += numbers.tolist()
            at += positions + velocities
        pushed = [places[link][1] for link in axes]
        pushed += [places[link][1] + k for link in balls for k in range(3)]
        body.axis_count, body.axes = len(pushed), first + len(tables)
        body.base_is_pushed = is_pushed
        tables += pushed
    return JointTables(bodies, np.array(tables, dtype=np.int64))


def scene_plan(
    joints: JointTables,
    body_ids: Sequence[int],
    commands: Sequence[int],
    own_motors: int,
    starts: Sequence[int],
    loops: Sequence[IntArray] = (),
) -> IntArray:
    """Make the :class:`Plan` of a scene's joints, for the kernels.

    Args:
        joints: Of its bodies.
        body_ids: Of these, in that order.
        commands: First number in the work array of the forces, then of the targets, of the bounds
            and of the forces of motors.
        own_motors: First switch of motors that are ours.
        starts: Bodies whose contacts belong to the solve.
        loops: Records of the constraints that close loops.
    """
    bodies = joints.bodies.copy()
    bodies[:, place_of(Body, "body_id")] = body_ids
    parts = [np.zeros(PLAN_SIZE, dtype=np.int64), bodies.ravel(), joints.tables, *loops]
    switches: IntArray = np.zeros(max(starts, default=-1) + 1, dtype=np.int64)
    switches[list(starts)] = 1
    numbers: IntArray = np.concatenate([*parts, switches])
    plan = plan_at(numbers, 0)
    plan.body_count, plan.bodies = len(body_ids), PLAN_SIZE
    plan.commands, plan.motor_targets, plan.motor_bounds, plan.motors = commands
    plan.own_motors = own_motors
    plan.loop_count, plan.loops = len(loops), PLAN_SIZE + bodies.size + len(joints.tables)
    plan.start_count, plan.starts = len(switches), len(numbers) - len(switches)
    return numbers


def ownership_numbers(session: EngineSession, body_ids: Sequence[int]) -> IntArray:
    """Make the :class:`Ownership` of a scene's bodies, with the tag of each."""
    marks = [mark for body in body_ids if (mark := session.mark(body)) is not None]
    numbers: IntArray = np.zeros(TAGS + TAG_SIZE * len(marks), dtype=np.int64)
    ownership_at(numbers, 0).tag_count = len(marks)
    for k, (datum, text) in enumerate(marks):
        tag = tag_at(numbers, TAGS + TAG_SIZE * k)
        tag.datum = datum
        tag.text[:] = np.frombuffer(text.ljust(TEXT_BYTES, b"\0"), dtype=np.int64)
    return numbers
