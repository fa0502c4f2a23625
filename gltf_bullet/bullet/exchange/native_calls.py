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

from gltf_bullet.bullet.exchange.joint_commands import Target
from gltf_bullet.bullet.exchange.library import client_place, function_addresses
from gltf_bullet.bullet.headless import is_headless
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.numba_aot import IS_COMPILED, address_of
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine import calls, stepping
from gltf_bullet.solver.entries import prepare, solve
from gltf_bullet.solver.island_layout import row_of
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = [
    "NO_NATIVE",
    "JointTables",
    "NativeWorld",
    "joint_tables",
    "lease_numbers",
    "python_contacts",
    "scene_plan",
]

_NONE: IntArray = np.zeros(0, dtype=np.int64)
_COORDINATES = 128
"""``MAX_DEGREE_OF_FREEDOM``: of a body, with its base."""
NO_NATIVE = (_NONE, _NONE, _NONE)
"""Of a scene that only Python steps."""
_NO_FLOATS: FloatArray = np.zeros(0)
_SPARE = 2
"""Room is made for this many times the contacts that there are."""


class NativeWorld:
    """A world whose engine the kernels call; ``session.shared`` keeps it."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self.engine = _engine_numbers(session.client_id)
        """How they call it; empty where they cannot."""
        self._row = row_of(_NONE, _NO_FLOATS, _NO_FLOATS, engine=(self.engine, _NONE, _NONE))
        self._contacts: FloatArray = np.zeros(32 * ROW_SIZE)
        if len(self.engine) and not self._answers():
            self.engine = _NONE

    def _answers(self) -> bool:
        """Whether the engine says to kernels what it says to Python: the structures are known."""
        if stepping.advance(self._row, stepping.LEARN, 0.0, 0.0, 0.0, 0.0):
            return False
        settings = self._session.settings()
        known = self.engine[calls.KNOWN : calls.KNOWN + 4].view(np.float64).tolist()
        return bool(
            known == [settings.time_step, *settings.gravity]
            and self.engine[calls.KNOWN + 4] == settings.substeps
        )

    def contacts(self) -> FloatArray:
        """Of the world, as ``contact_following`` has them, ROW_SIZE numbers each."""
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
    """The same by PyBullet's call, the fastest way measured: 0.55 us a row."""
    rows = [
        (a, b, on_a, on_b, *at_a, *at_b, *normal, *first, *second, distance, force, one, two)
        for _, a, b, on_a, on_b, at_a, at_b, normal, distance, force, one, first, two, second in (
            pybullet.getContactPoints(physicsClientId=client_id) or ()
        )
    ]
    return np.fromiter(chain.from_iterable(rows), float, ROW_SIZE * len(rows))


def _engine_numbers(client_id: int) -> IntArray:
    place = client_place(client_id)
    if not (place and IS_COMPILED):
        return _NONE
    numbers = np.zeros(calls.SIZE, dtype=np.int64)
    numbers[calls.HERE] = numbers.ctypes.data
    numbers[calls.CLIENT] = place
    numbers[calls.IS_DIRECT] = is_headless(client_id)
    numbers[calls.PREPARE], numbers[calls.SOLVE] = address_of(prepare), address_of(solve)
    addresses = function_addresses()
    numbers[calls.FUNCTION : calls.FUNCTION + len(addresses)] = addresses
    return numbers


class JointTables(NamedTuple):
    """Where the engine has the joints of a scene's bodies: the same for all copies of a plan."""

    bodies: tuple[int, ...]
    """Numbers per body, of :data:`calls.BODY_SIZE`; the first of each, its id, is left open."""
    tables: tuple[int, ...]
    """What they refer to."""


def joint_tables(
    client_id: int,
    states: Sequence[tuple[int, int, Sequence[tuple[int, bool]]]],
    told: Sequence[Target],
) -> JointTables | None:
    """What is read and told of a scene's joints, by the places that the engine gives them.

    Args:
        client_id: The world.
        states: As of ``MultibodyStates``: they fill the arena's floats from the beginning.
        told: As of ``JointCommands.targets``: the same bodies.

    Returns:
        Nothing where a body has more coordinates than the engine tells.
    """
    bodies: list[int] = []
    tables: list[int] = []
    first = calls.PLAN_HEADER + calls.BODY_SIZE * len(states)
    at = 0
    for (body, floats, links), (_, axes, balls, is_pushed) in zip(states, told, strict=True):
        base = at if floats else -1
        at += floats
        places = {link: pybullet.getJointInfo(body, link, client_id)[3:5] for link, _ in links}
        joint = first + len(tables)
        for link, is_ball in links:
            position, velocity = places[link]
            positions, velocities = (4, 3) if is_ball else (1, 1)
            if max(position + positions, velocity + velocities) > _COORDINATES:
                return None
            tables += (position, positions, velocity, velocities, at)
            at += positions + velocities
        pushed = [places[link][1] for link in axes]
        pushed += [places[link][1] + k for link in balls for k in range(3)]
        bodies += (
            -1, base, floats, len(links), joint,
            len(pushed), first + len(tables), int(is_pushed),
        )  # fmt: skip
        tables += pushed
    return JointTables(tuple(bodies), tuple(tables))


def scene_plan(
    joints: JointTables,
    body_ids: Sequence[int],
    commands: int,
    motors: int,
    starts: Sequence[int],
    loops: Sequence[IntArray] = (),
) -> IntArray:
    """What is read and told of a scene's joints, for the kernels.

    Args:
        joints: Of its bodies.
        body_ids: Of these, in that order.
        commands: First number of the forces in the arena's work.
        motors: The same of what the engine's motors exert.
        starts: Bodies whose contacts are the solve's business.
        loops: Records of the constraints that close loops.
    """
    known = max(starts, default=-1) + 1
    bodies, tables = list(joints.bodies), joints.tables
    bodies[:: calls.BODY_SIZE] = body_ids
    loop = calls.PLAN_HEADER + len(bodies) + len(tables)
    switches = loop + sum(map(len, loops))
    numbers = np.zeros(switches + known, dtype=np.int64)
    header = (len(body_ids), calls.PLAN_HEADER, commands, switches, known, motors, len(loops), loop)
    numbers[:loop] = (*header, *bodies, *tables)
    if loops:
        numbers[loop:switches] = np.concatenate(loops)
    for body in starts:
        numbers[switches + body] = 1
    return numbers


def lease_numbers(session: EngineSession, body_ids: Sequence[int]) -> IntArray:
    """How a scene's bodies are told from others with the same ids."""
    marks = [mark for body in body_ids if (mark := session.mark(body)) is not None]
    numbers = np.zeros(stepping.MARK + stepping.MARK_SIZE * len(marks), dtype=np.int64)
    numbers[stepping.OWN] = len(marks)
    rows = numbers[stepping.MARK :].reshape(-1, stepping.MARK_SIZE)
    for row, (datum, text) in zip(rows, marks, strict=True):
        row[0] = datum
        row[1:] = np.frombuffer(text.ljust(stepping.MARK_TEXT, b"\0"), dtype=np.int64)
    return numbers
