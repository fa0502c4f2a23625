"""Contacts of a world, sorted, and followed from link to link as far as forces reach.

Python knows what a link belongs to, the kernel which links touch: the kernel lists links that were
reached for the first time, Python says whether they pass forces on, until there are no more.
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.numba_aot import entry, kernel, record, record_reader
from gltf_bullet.solver.islands import CONTACT, SIDE, islands_at
from gltf_bullet.solver.tables import INTS, Column, pack, table
from gltf_bullet.transforms import FloatArray, IntArray

ROW_SIZE = 23
"""Floats of a contact: bodies, links, then the parts of an islands' contact up to friction."""
_KEYS = 7
"""Bodies, links and the place on the first one: no two contacts share them."""
_FIELDS = 4
"""First of the fields that the islands have as well."""

SORT = 0
"""Sort the contacts and number the links; gives their count."""
SPREAD = 1
"""List links that a link that passes forces on touches; gives their count."""
WRITE = 2
"""Fill in the contacts with a side that passes forces on; gives their count, -1 for no room."""

PASSES_ON = 1
ENDS = 2
_LISTED = 3


@record
class ContactMarks:
    """Scratch for some contacts: their order, and the distinct links between which they are."""

    order: int = table(INTS, "c")
    """The contacts, sorted."""
    sides: int = table(INTS, "c", 2)
    """Numbers of the two links of each contact."""
    links: int = table(INTS, "c", 4)
    """Body and link of each distinct link, at most two per contact."""
    states: int = table(INTS, "c", 2)
    """0, PASSES_ON, ENDS or listed, by link."""
    numbers: int = table(INTS, "c", 6)
    """First three numbers of a side of the islands, by link."""
    fresh: int = table(INTS, "fresh")
    """Scratch, and the links that are listed."""


marks_at = record_reader(ContactMarks)


def places(contacts: int) -> IntArray:
    """Make :class:`ContactMarks` for so many contacts."""
    columns = {INTS: Column(np.int64)}
    counts = {"c": contacts, "fresh": 8 * contacts + 8}
    pack(ContactMarks, columns, counts, {})
    return columns[INTS].made()


@kernel
def _is_before(rows: FloatArray, i: int, j: int) -> bool:
    """Tell whether contact i comes before contact j."""
    for k in range(_KEYS):
        a, b = rows[ROW_SIZE * i + k], rows[ROW_SIZE * j + k]
        if a != b:
            return bool(a < b)
    return False


@kernel
def sort_contacts(rows: FloatArray, count: int, ints: IntArray) -> None:
    """Merge sort; the engine lists contacts as they arose, which a replay need not repeat."""
    marks = marks_at(ints, 0)
    order, other = marks.order, marks.fresh
    for k in range(count):
        ints[order + k] = k
    width = 1
    while width < count:
        start = 0
        while start < count:
            middle, end = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for k in range(start, end):
                take_left = left < middle
                if take_left and right < end:
                    take_left = not _is_before(rows, ints[order + right], ints[order + left])
                if take_left:
                    ints[other + k] = ints[order + left]
                    left += 1
                else:
                    ints[other + k] = ints[order + right]
                    right += 1
            start = end
        for k in range(count):
            ints[order + k] = ints[other + k]
        width *= 2


@kernel
def number_links(rows: FloatArray, count: int, ints: IntArray) -> int:
    """Number distinct links in the order in which sorted contacts name them."""
    marks = marks_at(ints, 0)
    size = 8
    while size < 4 * count:
        size *= 2
    slots, found = marks.fresh, 0
    for k in range(size):
        ints[slots + k] = -1
    for k in range(count):
        row = ROW_SIZE * ints[marks.order + k]
        for which in range(2):
            body, link = int(rows[row + which]), int(rows[row + 2 + which])
            at = (body * 131 + link + 1) & (size - 1)
            while True:
                side = ints[slots + at]
                if side < 0:
                    side = found
                    ints[slots + at] = side
                    ints[marks.links + 2 * side] = body
                    ints[marks.links + 2 * side + 1] = link
                    ints[marks.states + side] = 0
                    found += 1
                    break
                known = marks.links + 2 * side
                if ints[known] == body and ints[known + 1] == link:
                    break
                at = (at + 1) & (size - 1)
            ints[marks.sides + 2 * k + which] = side
    return found


@kernel
def _spread(count: int, ints: IntArray) -> int:
    """List links of unknown kind that touch what passes forces on."""
    marks = marks_at(ints, 0)
    found, states = 0, marks.states
    for k in range(2 * count):
        side, other = ints[marks.sides + k], ints[marks.sides + (k ^ 1)]
        if ints[states + side] == 0 and ints[states + other] == PASSES_ON:
            ints[states + side] = _LISTED
            ints[marks.fresh + found] = side
            found += 1
    return found


@kernel
def write_contacts(
    rows: FloatArray,
    count: int,
    ints: IntArray,
    frictions: FloatArray,
    index: IntArray,
    values: FloatArray,
) -> int:
    """Fill in the contacts with a side that passes forces on; see :data:`WRITE`."""
    marks = marks_at(ints, 0)
    islands = islands_at(index, values, 0)
    states, used = marks.states, 0
    for k in range(count):
        first, second = ints[marks.sides + 2 * k], ints[marks.sides + 2 * k + 1]
        if ints[states + first] == PASSES_ON or ints[states + second] == PASSES_ON:
            used += 1
    if used > islands.contact_room:
        return -used
    contact, sides = islands.contact, islands.contact_sides
    for k in range(count):
        first, second = ints[marks.sides + 2 * k], ints[marks.sides + 2 * k + 1]
        if ints[states + first] != PASSES_ON and ints[states + second] != PASSES_ON:
            continue
        row = ROW_SIZE * ints[marks.order + k] + _FIELDS
        for i in range(CONTACT.friction):
            contact[i] = rows[row + i]
        contact[CONTACT.friction] = frictions[first] * frictions[second]
        for i in range(3):
            sides[i] = ints[marks.numbers + 3 * first + i]
            sides[SIDE.size + i] = ints[marks.numbers + 3 * second + i]
        contact, sides = contact[CONTACT.size :], sides[2 * SIDE.size :]
    return used


@entry
def follow_contacts(
    rows: FloatArray,
    count: int,
    ints: IntArray,
    frictions: FloatArray,
    index: IntArray,
    values: FloatArray,
    stage: int,
) -> int:
    """One stage of the way of contacts into the islands.

    Args:
        rows: The engine's contacts, shape [count * ROW_SIZE].
        count: How many.
        ints: From :func:`places`; between stages Python sets states and numbers of links.
        frictions: Of the links.
        index: Integers of the islands.
        values: Floats of the islands.
        stage: SORT, SPREAD or WRITE.
    """
    if stage == SORT:
        sort_contacts(rows, count, ints)
        return number_links(rows, count, ints)
    if stage == SPREAD:
        return _spread(count, ints)
    return write_contacts(rows, count, ints, frictions, index, values)
