"""Kernels that reuse contact tables: the links that touch are mostly those of an earlier step.

Python finds out what a link belongs to, and how far forces go. Whenever the same links touch each
other that is true, and only places, velocities, forces, masses and frictions are read anew: feet
that come and go touch in the same few ways.
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.numba_aot import cells, doubles_at, kernel, record, record_reader, words_at
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
    """Links that touched in a step, with what Python found out about them."""

    link_count: int = count("l")
    """Count of the links that take part."""
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

MOST_TABLES = 64
"""Count of the tables that a scene keeps."""


@record
class ContactTables:
    """The contact tables of a scene."""

    count: int
    """Count of the tables; the one that was used last is the first."""
    tables: IntArray = cells(4, MOST_TABLES)
    """Address and length of the integers, then of the floats, of each."""


contact_tables_at = record_reader(ContactTables)


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
    """Take the contacts of a table's active bodies; how many, -1 where there is no room."""
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
    """Tell whether the same links touch each other as in a table."""
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
def _have_same_bodies(ints: IntArray, others: IntArray) -> bool:
    """Tell whether the same bodies are active in two tables, so that both pick the same."""
    known, other = contact_table_at(ints, 0), contact_table_at(others, 0)
    if known.active_count != other.active_count:
        return False
    for k in range(known.active_count):
        if ints[known.active + k] != others[other.active + k]:
            return False
    return True


@kernel
def reuse_contacts(
    engine: Engine,
    client: int,
    known: IntArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Put contacts and free bodies into the islands if the same links touch as in a table.

    Args:
        engine: The engine.
        client: Its client.
        known: The scene's :class:`ContactTables`; the one that fits becomes the first.
        index: Integers of the islands.
        values: Their floats.
        dt: Length of the step [s].
        gx: Gravity that the engine applies [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        The number of contacts, -1 where no table fits.
    """
    if len(known) == 0:
        return -1
    tables = contact_tables_at(known, 0)
    picked, count, links = 0, 0, 0
    for k in range(tables.count):
        ints = words_at(tables.tables[0, k], tables.tables[1, k])
        floats = doubles_at(tables.tables[2, k], tables.tables[3, k])
        last = words_at(tables.tables[0, picked], tables.tables[1, picked])
        if count == 0 or not _have_same_bodies(last, ints):
            last, picked = ints, k
            picker = contact_table_at(ints, 0)
            count = max(_pick(engine, ints, floats[picker.rows :]), 0)
            sort_contacts(floats[picker.rows :], count, ints[picker.marks :])
            links = number_links(floats[picker.rows :], count, ints[picker.marks :])
        picker, marks = contact_table_at(last, 0), last[contact_table_at(last, 0).marks :]
        rows = doubles_at(tables.tables[2, picked], tables.tables[3, picked])[picker.rows :]
        is_same = count > 0 and links == contact_table_at(ints, 0).link_count
        if not (is_same and _is_same(ints, marks, count)):
            continue
        frictions = rows[ROW_SIZE * picker.room :]
        if _read_bodies(
            engine, client, ints, floats, marks, frictions, index, values, dt, gx, gy, gz
        ):
            _put_first(tables, k)
            return int(write_contacts(rows, count, marks, frictions, index, values))
    return -1


@kernel
def _put_first(tables: ContactTables, number: int) -> None:
    """Let a table be the first one."""
    for i in range(4):
        place = tables.tables[i, number]
        for k in range(number, 0, -1):
            tables.tables[i, k] = tables.tables[i, k - 1]
        tables.tables[i, 0] = place


@kernel
def _read_bodies(
    engine: Engine,
    client: int,
    ints: IntArray,
    floats: FloatArray,
    marks: IntArray,
    frictions: FloatArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> bool:
    """Read what a table does not hold; ``False`` where something is of another kind by now."""
    known, marked = contact_table_at(ints, 0), marks_at(marks, 0)
    for k in range(known.link_count):
        link = known.links + 2 * k
        info = read_dynamics(engine, client, ints[link], ints[link + 1])
        if info == 0:
            return False
        frictions[k] = doubles_at(info, FRICTION + 1)[FRICTION]
        marks[marked.states + k] = ints[known.states + k]
    for k in range(3 * known.link_count):
        marks[marked.numbers + k] = ints[known.numbers + k]
    free = islands_at(index, values, 0).free
    for k in range(FREE.size * known.free_count):
        free[k] = floats[known.free_values + k]
    for k in range(known.free_count):
        body, moves = ints[known.free_bodies + 2 * k], ints[known.free_bodies + 2 * k + 1]
        at = FREE.size * k
        if body >= 0 and not _read_free(engine, client, body, moves, free, at, dt, gx, gy, gz):
            return False
    return True


@kernel
def free_bodies_of(known: IntArray) -> int:
    """Count of the free bodies in the table that is used."""
    tables = contact_tables_at(known, 0).tables
    return int(contact_table_at(words_at(tables[0, 0], tables[1, 0]), 0).free_count)


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
