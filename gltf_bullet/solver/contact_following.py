"""Contacts of a world, sorted, and followed from link to link as far as forces reach.

Python knows what a link belongs to, the kernel which links touch: the kernel lists links that were
reached for the first time, Python says whether they pass forces on, until there are no more.
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.numba_aot import entry, kernel
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.island_layout import CONTACT_FRICTION, CONTACT_SIZE, SIDE_SIZE
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = [
    "ENDS",
    "PASSES_ON",
    "PLACES",
    "ROW_SIZE",
    "SORT",
    "SPREAD",
    "WRITE",
    "follow_contacts",
    "number_links",
    "places",
    "sort_contacts",
    "write_contacts",
]

ROW_SIZE = 23
"""Of a contact: bodies, links, then the fields of a contact of the islands up to its friction."""
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

PLACES = 6
"""Tables in the integers, by their offsets, which stand first of all."""
ORDER, SIDES, BODIES, STATES, NUMBERS, FRESH = range(PLACES)
"""[n] contacts; [n, 2] number of the link; [2 n, 2] body and link; [2 n] whether forces go on;
[2 n, 3] first numbers of a side of the islands; [2 n] scratch, and links that are listed."""


def places(contacts: int) -> IntArray:
    """Integers for so many contacts."""
    sizes = (contacts, 2 * contacts, 4 * contacts, 2 * contacts, 6 * contacts, 8 * contacts + 8)
    ints = np.zeros(PLACES + sum(sizes), dtype=np.int64)
    ints[:PLACES] = PLACES + np.cumsum((0, *sizes[:-1]))
    return ints


@kernel
def _is_before(rows: FloatArray, i: int, j: int) -> bool:
    """Whether contact i comes before contact j."""
    for k in range(_KEYS):
        a, b = rows[ROW_SIZE * i + k], rows[ROW_SIZE * j + k]
        if a != b:
            return bool(a < b)
    return False


@kernel
def sort_contacts(rows: FloatArray, count: int, ints: IntArray) -> None:
    """Merge sort; the engine lists contacts as they arose, which a replay need not repeat."""
    order, other = ints[ORDER], ints[FRESH]
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
    size = 8
    while size < 4 * count:
        size *= 2
    slots, found = ints[FRESH], 0
    for k in range(size):
        ints[slots + k] = -1
    for k in range(count):
        row = ROW_SIZE * ints[ints[ORDER] + k]
        for which in range(2):
            body, link = int(rows[row + which]), int(rows[row + 2 + which])
            at = (body * 131 + link + 1) & (size - 1)
            while True:
                side = ints[slots + at]
                if side < 0:
                    side = found
                    ints[slots + at] = side
                    ints[ints[BODIES] + 2 * side] = body
                    ints[ints[BODIES] + 2 * side + 1] = link
                    ints[ints[STATES] + side] = 0
                    found += 1
                    break
                known = ints[BODIES] + 2 * side
                if ints[known] == body and ints[known + 1] == link:
                    break
                at = (at + 1) & (size - 1)
            ints[ints[SIDES] + 2 * k + which] = side
    return found


@kernel
def _spread(count: int, ints: IntArray) -> int:
    """List links of unknown kind that touch what passes forces on."""
    found, states = 0, ints[STATES]
    for k in range(2 * count):
        side, other = ints[ints[SIDES] + k], ints[ints[SIDES] + (k ^ 1)]
        if ints[states + side] == 0 and ints[states + other] == PASSES_ON:
            ints[states + side] = _LISTED
            ints[ints[FRESH] + found] = side
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
    states, used = ints[STATES], 0
    for k in range(count):
        first, second = ints[ints[SIDES] + 2 * k], ints[ints[SIDES] + 2 * k + 1]
        if ints[states + first] == PASSES_ON or ints[states + second] == PASSES_ON:
            used += 1
    room = index[layout.FREE_BLOCK] - index[layout.CONTACT_SIDES]
    if 2 * SIDE_SIZE * used > room:
        return -used
    at, sides = index[layout.CONTACT], index[layout.CONTACT_SIDES]
    for k in range(count):
        first, second = ints[ints[SIDES] + 2 * k], ints[ints[SIDES] + 2 * k + 1]
        if ints[states + first] != PASSES_ON and ints[states + second] != PASSES_ON:
            continue
        row = ROW_SIZE * ints[ints[ORDER] + k] + _FIELDS
        for i in range(CONTACT_FRICTION):
            values[at + i] = rows[row + i]
        values[at + CONTACT_FRICTION] = frictions[first] * frictions[second]
        for i in range(3):
            index[sides + i] = ints[ints[NUMBERS] + 3 * first + i]
            index[sides + SIDE_SIZE + i] = ints[ints[NUMBERS] + 3 * second + i]
        at += CONTACT_SIZE
        sides += 2 * SIDE_SIZE
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
        ints: From :func:`places`; between stages Python sets STATES and NUMBERS of links.
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
