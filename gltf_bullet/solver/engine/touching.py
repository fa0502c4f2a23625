"""Kernels that know contacts again: who touches whom is mostly what it was in the last step.

Python finds out what a link belongs to, and how far forces go. As long as the same links touch each
other that stays true, and only places, velocities, forces, masses and frictions are read anew.
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.numba_aot import doubles_at, kernel, words_at
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.contact_following import (
    BODIES,
    NUMBERS,
    ROW_SIZE,
    SIDES,
    STATES,
    number_links,
    places,
    sort_contacts,
    write_contacts,
)
from gltf_bullet.solver.engine import calls
from gltf_bullet.solver.engine.calls import (
    copy_point,
    low_half,
    read_dynamics,
    read_pose,
)
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["memory", "recognise", "touches"]

# --- slots of the memory's integers ---------------------------------------------------------------

LINKS = 0
"""How many links take part; 0 where nothing is remembered."""
LINK = 1
"""Offset of [LINKS, 2], body and link of each."""
STATE = 2
"""Offset of [LINKS], whether they pass forces on."""
NUMBER = 3
"""Offset of [LINKS, 3], first numbers of a side of the islands."""
PAIRS = 4
"""How many pairs of links touch."""
PAIR = 5
"""Offset of [PAIRS, 2], numbers of the links, in the order of the sorted contacts."""
FREE = 6
"""How many free bodies take part."""
FREE_BODY = 7
"""Offset of [FREE, 2], body id, -1 for the world, and whether it moves."""
ACTIVE = 8
"""How many switches follow."""
ACTIVE_BODY = 9
"""Offset of [ACTIVE], by body id: whether it has a link that passes forces on."""
ROOM = 10
"""How many contacts there is room for, here and in the islands."""
MARKS = 11
"""Offset of what ``contact_following.places`` needs, to the end."""
HEADER = 12

# --- and of its floats ----------------------------------------------------------------------------

FREE_VALUES = 0
"""First of all [FREE, FREE_SIZE] as the islands have them, but the share of gravity instead of the
first number of what known forces add."""


def memory(
    links: IntArray,
    states: IntArray,
    numbers: IntArray,
    pairs: IntArray,
    free: IntArray,
    values: FloatArray,
    active: IntArray,
    room: int,
) -> tuple[IntArray, FloatArray]:
    """Remember who touches whom; the arguments are the tables above."""
    tables = (links, states, numbers, pairs, free, active, places(room))
    flat = [np.asarray(table, dtype=np.int64).ravel() for table in tables]
    offsets = HEADER + np.cumsum([0, *map(len, flat)])
    header = np.zeros(HEADER, dtype=np.int64)
    header[[LINKS, PAIRS, FREE, ACTIVE]] = len(links), len(pairs), len(free), len(active)
    header[[LINK, STATE, NUMBER, PAIR, FREE_BODY, ACTIVE_BODY, MARKS]] = offsets[:-1]
    header[ROOM] = room
    floats = np.concatenate([values.ravel(), np.zeros((ROW_SIZE + 2) * room)])
    return np.concatenate([header, *flat]), floats


@kernel
def _pick(engine: IntArray, ints: IntArray, rows: FloatArray) -> int:
    """Take the contacts of active bodies; how many, -1 where there is no room."""
    count, used = engine[calls.CONTACT_COUNT], 0
    known, active = ints[ACTIVE], ints[ACTIVE_BODY]
    for k in range(count):
        at = engine[calls.CONTACT_POINTS] + 8 * calls.POINT_WORDS * k
        words = words_at(at, calls.POINT_WORDS)
        first, second = low_half(words[0] >> 32), low_half(words[1])
        is_active = 0 <= first < known and ints[active + first] != 0
        if not is_active:
            is_active = 0 <= second < known and ints[active + second] != 0
        if is_active:
            if used == ints[ROOM]:
                return -1
            copy_point(at, rows, ROW_SIZE * used)
            used += 1
    return used


@kernel
def _is_same(ints: IntArray, marks: IntArray, count: int) -> bool:
    """Whether the same links touch each other as before."""
    for k in range(2 * ints[LINKS]):
        if marks[marks[BODIES] + k] != ints[ints[LINK] + k]:
            return False
    pairs = 0
    for k in range(count):
        side = marks[SIDES] + 2 * k
        if k == 0 or marks[side] != marks[side - 2] or marks[side + 1] != marks[side - 1]:
            pair = ints[PAIR] + 2 * pairs
            if pairs == ints[PAIRS]:
                return False
            if marks[side] != ints[pair] or marks[side + 1] != ints[pair + 1]:
                return False
            pairs += 1
    return bool(pairs == ints[PAIRS])


@kernel
def _read_free(
    engine: IntArray,
    client: int,
    body: int,
    moves: int,
    values: FloatArray,
    at: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> bool:
    """Bring a free body's numbers up to date; ``False`` where it is another kind of body now."""
    info = read_dynamics(engine, client, body, -1)
    if info == 0:
        return False
    numbers = doubles_at(info, 4)
    if (numbers[0] != 0.0) != (moves != 0):
        return False
    if moves:
        values[at + layout.FREE_MASS] = numbers[0]
        for k in range(3):
            values[at + layout.FREE_MOMENTS + k] = max(numbers[1 + k], layout.LEAST_MOMENT)
    if not read_pose(engine, client, body, values, at, at + layout.FREE_VELOCITY):
        return False
    factor = values[at + layout.FREE_GAIN]
    values[at + layout.FREE_GAIN] = factor * (dt * gx)
    values[at + layout.FREE_GAIN + 1] = factor * (dt * gy)
    values[at + layout.FREE_GAIN + 2] = factor * (dt * gz)
    return True


@kernel
def recognise(
    engine: IntArray,
    client: int,
    ints: IntArray,
    floats: FloatArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Put contacts and free bodies into the islands if the same links touch as before.

    Returns:
        The number of contacts, -1 where something is another.
    """
    if len(ints) == 0 or ints[LINKS] == 0:
        return -1
    rows = floats[layout.FREE_SIZE * ints[FREE] :]
    frictions = rows[ROW_SIZE * ints[ROOM] :]
    marks = ints[ints[MARKS] :]
    count = _pick(engine, ints, rows)
    if count <= 0:
        return -1
    sort_contacts(rows, count, marks)
    if number_links(rows, count, marks) != ints[LINKS] or not _is_same(ints, marks, count):
        return -1
    for k in range(ints[LINKS]):
        link = ints[LINK] + 2 * k
        info = read_dynamics(engine, client, ints[link], ints[link + 1])
        if info == 0:
            return -1
        frictions[k] = doubles_at(info, calls.FRICTION + 1)[calls.FRICTION]
        marks[marks[STATES] + k] = ints[ints[STATE] + k]
    for k in range(3 * ints[LINKS]):
        marks[marks[NUMBERS] + k] = ints[ints[NUMBER] + k]
    free = index[layout.FREE]
    for k in range(layout.FREE_SIZE * ints[FREE]):
        values[free + k] = floats[FREE_VALUES + k]
    for k in range(ints[FREE]):
        body, moves = ints[ints[FREE_BODY] + 2 * k], ints[ints[FREE_BODY] + 2 * k + 1]
        at = free + layout.FREE_SIZE * k
        if body >= 0 and not _read_free(engine, client, body, moves, values, at, dt, gx, gy, gz):
            return -1
    return int(write_contacts(rows, count, marks, frictions, index, values))


@kernel
def touches(engine: IntArray, plan: IntArray) -> bool:
    """Whether some contact is the scene's business."""
    count, starts, known = engine[calls.CONTACT_COUNT], plan[calls.STARTS], plan[calls.START_COUNT]
    points = words_at(engine[calls.CONTACT_POINTS], calls.POINT_WORDS * count)
    for k in range(count):
        first = low_half(points[calls.POINT_WORDS * k] >> 32)
        second = low_half(points[calls.POINT_WORDS * k + 1])
        if 0 <= first < known and plan[starts + first]:
            return True
        if 0 <= second < known and plan[starts + second]:
            return True
    return False
