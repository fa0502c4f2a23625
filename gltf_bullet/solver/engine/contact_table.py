"""Kernels that reuse the contact table: the links that touch are mostly those of the last step.

Python finds out what a link belongs to, and how far forces go. As long as the same links touch each
other that stays true, and only places, velocities, forces, masses and frictions are read anew.
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.numba_aot import doubles_at, kernel, record, record_reader, words_at
from gltf_bullet.solver.contact_following import (
    ROW_SIZE,
    marks_at,
    number_links,
    places,
    sort_contacts,
    write_contacts,
)
from gltf_bullet.solver.engine.calls import (
    FRICTION,
    POINT_WORDS,
    Engine,
    copy_point,
    low_half,
    plan_at,
    read_dynamics,
    read_pose,
)
from gltf_bullet.solver.islands import FREE, LEAST_MOMENT, islands_at
from gltf_bullet.solver.tables import FLOATS, INTS, Column, count, pack, table
from gltf_bullet.transforms import FloatArray, IntArray


@record
class ContactTable:
    """The links that touched in the last step, with what Python found out about them."""

    link_count: int = count("l")
    """Count of the links that take part; 0 if nothing is remembered."""
    links: int = table(INTS, "l", 2)
    """Body and link of each."""
    states: int = table(INTS, "l")
    """0, PASSES_ON or ENDS of ``contact_following``."""
    numbers: int = table(INTS, "l", 3)
    """First numbers of a side of the islands."""
    pair_count: int = count("p")
    """Count of the pairs of links that touch."""
    pairs: int = table(INTS, "p", 2)
    """Numbers of the links, in the order of the sorted contacts."""
    free_count: int = count("f")
    free_bodies: int = table(INTS, "f", 2)
    """Body id, -1 for the world, and 1 if it moves, of the free bodies that take part."""
    active_count: int = count("a")
    active: int = table(INTS, "a")
    """1 if the body has a link that passes forces on, by body id."""
    room: int
    """Count of the contacts that there is room for, here and in the islands."""
    marks: int = table(INTS, "marks")
    """The marks that ``contact_following.places`` makes."""
    free_values: int = table(FLOATS, "f", FREE.size)
    """Free bodies as the islands have them, but the share of gravity in place of the gain's first
    number."""
    rows: int = table(FLOATS, "rows")
    """Scratch for the contacts, then for frictions, to the end."""


contact_table_at = record_reader(ContactTable)


def make_contact_table(
    links: IntArray,
    states: IntArray,
    numbers: IntArray,
    pairs: IntArray,
    free: IntArray,
    values: FloatArray,
    active: IntArray,
    room: int,
) -> tuple[IntArray, FloatArray]:
    """Make a :class:`ContactTable`; the arguments are its tables."""
    columns = {INTS: Column(np.int64), FLOATS: Column(np.float64)}
    marks = places(room)
    counts = {"l": len(links), "p": len(pairs), "f": len(free), "a": len(active)}
    counts |= {"marks": len(marks), "rows": (ROW_SIZE + 2) * room}
    given = {
        "links": links, "states": states, "numbers": numbers, "pairs": pairs, "room": room,
        "free_bodies": free, "active": active, "marks": marks, "free_values": values,
    }  # fmt: skip
    pack(ContactTable, columns, counts, given)
    return columns[INTS].made(), columns[FLOATS].made()


@kernel
def _pick(engine: Engine, ints: IntArray, rows: FloatArray) -> int:
    """Take the contacts of active bodies; how many, -1 where there is no room."""
    known, used = contact_table_at(ints, 0), 0
    size, active = known.active_count, known.active
    for k in range(engine.contact_total):
        at = engine.contact_points + 8 * POINT_WORDS * k
        words = words_at(at, POINT_WORDS)
        first, second = low_half(words[0] >> 32), low_half(words[1])
        is_active = 0 <= first < size and ints[active + first] != 0
        if not is_active:
            is_active = 0 <= second < size and ints[active + second] != 0
        if is_active:
            if used == known.room:
                return -1
            copy_point(at, rows, ROW_SIZE * used)
            used += 1
    return used


@kernel
def _is_same(ints: IntArray, marks: IntArray, count: int) -> bool:
    """Tell whether the same links touch each other as before."""
    known, marked = contact_table_at(ints, 0), marks_at(marks, 0)
    for k in range(2 * known.link_count):
        if marks[marked.links + k] != ints[known.links + k]:
            return False
    pairs = 0
    for k in range(count):
        side = marked.sides + 2 * k
        if k == 0 or marks[side] != marks[side - 2] or marks[side + 1] != marks[side - 1]:
            pair = known.pairs + 2 * pairs
            if pairs == known.pair_count:
                return False
            if marks[side] != ints[pair] or marks[side + 1] != ints[pair + 1]:
                return False
            pairs += 1
    return bool(pairs == known.pair_count)


@kernel
def _read_free(
    engine: Engine,
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
        values[at + FREE.mass] = numbers[0]
        for k in range(3):
            values[at + FREE.moments + k] = max(numbers[1 + k], LEAST_MOMENT)
    if not read_pose(engine, client, body, values, at, at + FREE.velocity):
        return False
    factor = values[at + FREE.gain]
    values[at + FREE.gain] = factor * (dt * gx)
    values[at + FREE.gain + 1] = factor * (dt * gy)
    values[at + FREE.gain + 2] = factor * (dt * gz)
    return True


@kernel
def reuse_contacts(
    engine: Engine,
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
    if len(ints) == 0:
        return -1
    known = contact_table_at(ints, 0)
    if known.link_count == 0:
        return -1
    rows = floats[known.rows :]
    frictions = rows[ROW_SIZE * known.room :]
    marks = ints[known.marks :]
    marked = marks_at(marks, 0)
    count = _pick(engine, ints, rows)
    if count <= 0:
        return -1
    sort_contacts(rows, count, marks)
    if number_links(rows, count, marks) != known.link_count or not _is_same(ints, marks, count):
        return -1
    for k in range(known.link_count):
        link = known.links + 2 * k
        info = read_dynamics(engine, client, ints[link], ints[link + 1])
        if info == 0:
            return -1
        frictions[k] = doubles_at(info, FRICTION + 1)[FRICTION]
        marks[marked.states + k] = ints[known.states + k]
    for k in range(3 * known.link_count):
        marks[marked.numbers + k] = ints[known.numbers + k]
    free = islands_at(index, 0).free
    for k in range(FREE.size * known.free_count):
        values[free + k] = floats[known.free_values + k]
    for k in range(known.free_count):
        body, moves = ints[known.free_bodies + 2 * k], ints[known.free_bodies + 2 * k + 1]
        at = free + FREE.size * k
        if body >= 0 and not _read_free(engine, client, body, moves, values, at, dt, gx, gy, gz):
            return -1
    return int(write_contacts(rows, count, marks, frictions, index, values))


@kernel
def has_contacts(engine: Engine, plan: IntArray) -> bool:
    """Tell whether any contact belongs to the scene's solve."""
    header, count = plan_at(plan, 0), engine.contact_total
    starts, known = header.starts, header.start_count
    points = words_at(engine.contact_points, POINT_WORDS * count)
    for k in range(count):
        first = low_half(points[POINT_WORDS * k] >> 32)
        second = low_half(points[POINT_WORDS * k + 1])
        if 0 <= first < known and plan[starts + first]:
            return True
        if 0 <= second < known and plan[starts + second]:
            return True
    return False
