"""Formulas over what is read of a scene: one pass gives what an environment shows in a step.

A formula is a list of operations on numbers in one array. Some of these numbers are read of the
engine, some are constants, some are filled in by Python. So observations, rewards and ends of any
environment need no code of their own here, and none of Python's in a step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from gltf_bullet.numba_aot import (
    IntTable,
    doubles_at,
    entry,
    floats_at,
    ints_at,
    kernel,
    words_at,
)
from gltf_bullet.solver.engine.calls import (
    Engine,
    ask_links,
    ask_state,
    begin_call,
    copy_floats,
    copy_link,
    engine_at,
)
from gltf_bullet.solver.tables import offsets
from gltf_bullet.transforms import FloatArray, IntArray

# --- the table of copies ----------------------------------------------------------------------


class _CopyColumns(NamedTuple):
    """Columns of the table of copies; of each array the address, then the length."""

    engine: int = 2
    """Integers by which the engine is called; empty where Python reads it."""
    reads: int = 2
    """Reads: :class:`_Read` of each body, with the joints and links that follow it."""
    numbers: int = 2
    """All numbers of the copy."""
    formula: int = 2
    """The operations, :class:`_Operation` each."""
    shown: int = 2
    """Numbers that are shown, in order."""
    drives: int = 2
    """Targets of the action: :class:`_Drive` of each number."""
    is_read: int = 1
    """1 if the last pass has read the engine."""
    size: int = 0


class _Read(NamedTuple):
    """A body that is read, and the places of its numbers."""

    body_id: int = 1
    base: int = 1
    """Place of position [3], rotation xyzw, velocity [3] and spin [3] of the base, or -1."""
    joints: int = 1
    """Count of the joints: see :class:`_Joint`."""
    links: int = 1
    """Count of the links, after the joints: see :class:`_Link`."""
    size: int = 0


class _Joint(NamedTuple):
    position_at: int = 1
    """Number of its coordinate in the engine."""
    velocity_at: int = 1
    position: int = 1
    """Place of the coordinate."""
    velocity: int = 1
    size: int = 0


class _Link(NamedTuple):
    link: int = 1
    state: int = 1
    """Place of its state, as of a base."""
    size: int = 0


class _Operation(NamedTuple):
    code: int = 1
    first: int = 1
    """Place of the first operand."""
    second: int = 1
    third: int = 1
    result: int = 1
    size: int = 0


class _Drive(NamedTuple):
    """A target that a number of the action sets."""

    mode: int = 1
    """POSITION, VELOCITY, FORCE, or NOTHING if Python does it."""
    action: int = 1
    """Place of the number, within [-1, 1]."""
    before: int = 1
    """Place of the number of the last step."""
    low: int = 1
    """Place of the value that -1 stands for."""
    half: int = 1
    """Place of half of the distance to the value that 1 stands for."""
    position_target: int = 1
    """Address, as all that follow."""
    velocity_target: int = 1
    max_force: int = 1
    stiffness: int = 1
    damping: int = 1
    by_acceleration: int = 1
    size: int = 0


COPY, READ, JOINT, LINK = offsets(_CopyColumns), offsets(_Read), offsets(_Joint), offsets(_Link)
OPERATION, DRIVE = offsets(_Operation), offsets(_Drive)

# --- formulas ---------------------------------------------------------------------------------

ADD, SUBTRACT, MULTIPLY = 1, 2, 3
SQUARE_ROOT = 4
"""0 of negative numbers."""
LESS, AT_MOST, EITHER = 5, 6, 7
"""1 for true, else 0."""
SMALLER, LARGER = 8, 9
"""The first operand, unless the second one is beyond it."""
CHOOSE = 10
"""The second operand if the first is not 0, else the third."""
ANGLE = 11
"""The angle whose sine and cosine are proportional to both operands, within [-pi, pi]."""

LARGEST = 3.4028234663852886e38
"""Largest number of 32 bits."""


@kernel
def _evaluate(formula: IntArray, numbers: FloatArray) -> None:
    for at in range(0, len(formula), OPERATION.size):
        code = formula[at]
        a, b = numbers[formula[at + OPERATION.first]], numbers[formula[at + OPERATION.second]]
        found = 0.0
        if code == ADD:
            found = a + b
        elif code == SUBTRACT:
            found = a - b
        elif code == MULTIPLY:
            found = a * b
        elif code == SQUARE_ROOT:
            found = math.sqrt(a) if a > 0.0 else 0.0 * a
        elif code == LESS:
            found = 1.0 if a < b else 0.0
        elif code == AT_MOST:
            found = 1.0 if a <= b else 0.0
        elif code == EITHER:
            found = 1.0 if a != 0.0 or b != 0.0 else 0.0
        elif code == SMALLER:
            found = b if b < a else a
        elif code == LARGER:
            found = b if b > a else a
        elif code == CHOOSE:
            found = b if a != 0.0 else numbers[formula[at + OPERATION.third]]
        elif code == ANGLE:
            found = math.atan2(a, b)
        numbers[formula[at + OPERATION.result]] = found


# --- reading ----------------------------------------------------------------------------------


@kernel
def _read_body(engine: Engine, client: int, reads: IntArray, at: int, numbers: FloatArray) -> bool:
    """Read one body; ``False`` if the engine does not answer."""
    body, joints, links = reads[at], reads[at + READ.joints], reads[at + READ.links]
    status = ask_links(engine, client, body) if links else ask_state(engine, client, body)
    if status == 0:
        return False
    q, u, base = engine.scratch[0], engine.scratch[1], reads[at + READ.base]
    if base >= 0:
        copy_floats(q, 7, numbers, base)
        copy_floats(u, 6, numbers, base + 7)
    at += READ.size
    for _ in range(joints):
        copy_floats(q + 8 * reads[at], 1, numbers, reads[at + JOINT.position])
        copy_floats(u + 8 * reads[at + JOINT.velocity_at], 1, numbers, reads[at + JOINT.velocity])
        at += JOINT.size
    for _ in range(links):
        if not copy_link(engine, client, status, reads[at], numbers, reads[at + LINK.state]):
            return False
        at += LINK.size
    return True


@kernel
def _read(copies: IntTable, row: int) -> bool:
    ints = ints_at(copies, row, COPY.engine)
    if len(ints) == 0:
        return False
    engine = engine_at(ints, 0)
    client = begin_call(engine)
    if client == 0:
        return False
    reads, numbers = ints_at(copies, row, COPY.reads), floats_at(copies, row, COPY.numbers)
    at = 0
    while at < len(reads):
        if not _read_body(engine, client, reads, at, numbers):
            return False
        joints, links = reads[at + READ.joints], reads[at + READ.links]
        at += READ.size + JOINT.size * joints + LINK.size * links
    return True


@entry
def observe(copies: IntTable, results: FloatArray, count: int, is_read: int) -> int:
    """Read copies and find what they show.

    Args:
        copies: A row for each: see :data:`COPY`.
        results: Receives of each copy what it shows, one after another.
        count: Number of the results, from the first on, that are brought into the range of 32 bits
            (0 for what is no number).
        is_read: 1 if Python has read the engine.

    Returns:
        Number of the copies that only Python can read; their results are as they were.
    """
    left, to = 0, 0
    for row in range(len(copies)):
        shown = ints_at(copies, row, COPY.shown)
        copies[row, COPY.is_read] = 1
        if not is_read and not _read(copies, row):
            copies[row, COPY.is_read] = 0
            left += 1
            to += len(shown)
            continue
        numbers = floats_at(copies, row, COPY.numbers)
        _evaluate(ints_at(copies, row, COPY.formula), numbers)
        for k in range(len(shown)):
            number = numbers[shown[k]]
            if k < count:
                if math.isnan(number):
                    number = 0.0
                number = min(max(number, -LARGEST), LARGEST)
            results[to] = number
            to += 1
    return left


# --- actions ----------------------------------------------------------------------------------

NOTHING, POSITION, VELOCITY, FORCE = 0, 1, 2, 3
CLIPPED, NOT_FINITE = 1, 2
_PUSH_DAMPING = 1e6
_PUSH_SPEED = 1e6
"""A drive this stiff towards a speed this high always exerts exactly its ``max_force``: a constant
force that the joint solve takes into account."""


@entry
def act(copies: IntTable, actions: FloatArray) -> int:
    """Set targets and forces of the drives of copies.

    Args:
        copies: A row for each.
        actions: The numbers of each copy, one after another; those beyond [-1, 1] are clipped.

    Returns:
        CLIPPED, NOT_FINITE (nothing is set then), or 0.
    """
    found = 0
    for k in range(len(actions)):
        if not math.isfinite(actions[k]):
            return NOT_FINITE
        if actions[k] < -1.0 or actions[k] > 1.0:
            actions[k], found = min(max(actions[k], -1.0), 1.0), CLIPPED
    taken = 0
    for row in range(len(copies)):
        drives, numbers = ints_at(copies, row, COPY.drives), floats_at(copies, row, COPY.numbers)
        for at in range(0, len(drives), DRIVE.size):
            number, taken = actions[taken], taken + 1
            numbers[drives[at + DRIVE.before]] = numbers[drives[at + DRIVE.action]]
            numbers[drives[at + DRIVE.action]] = number
            low, half = numbers[drives[at + DRIVE.low]], numbers[drives[at + DRIVE.half]]
            _set_drive(drives, at, low + (number + 1.0) * half)
    return found


@kernel
def _set_drive(drives: IntArray, at: int, value: float) -> None:
    mode = drives[at]
    if mode == POSITION:
        doubles_at(drives[at + DRIVE.position_target], 1)[0] = value
    elif mode == VELOCITY:
        doubles_at(drives[at + DRIVE.velocity_target], 1)[0] = value
    elif mode == FORCE:
        doubles_at(drives[at + DRIVE.position_target], 1)[0] = 0.0
        doubles_at(drives[at + DRIVE.stiffness], 1)[0] = 0.0
        doubles_at(drives[at + DRIVE.damping], 1)[0] = _PUSH_DAMPING
        words_at(drives[at + DRIVE.by_acceleration], 1)[0] = 0
        doubles_at(drives[at + DRIVE.velocity_target], 1)[0] = math.copysign(_PUSH_SPEED, value)
        doubles_at(drives[at + DRIVE.max_force], 1)[0] = abs(value)
