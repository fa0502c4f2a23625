"""Contacts of a world, followed from body to body as far as forces reach, and sorted.

A table says of each body of the world what it is: part of an articulation, a free body, somebody
else's robot. From the articulations that have drives or limits, contacts are followed through all
that moves; those that were reached become contacts of the islands. Python makes the table, once for
the bodies that there are, and reads the bodies that were reached if kernels cannot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gltf_bullet.numba_aot import (
    FloatTable,
    IntTable,
    array,
    entry,
    kernel,
    record,
    record_reader,
)
from gltf_bullet.solver.islands import CONTACT, SIDE, Islands, islands_at
from gltf_bullet.solver.tables import FLOATS, INTS, Column, count, offsets, pack, table
from gltf_bullet.transforms import FloatArray, IntArray

ROW_SIZE = 23
"""Floats of a contact: bodies, links, then the parts of an islands' contact up to friction."""
_KEYS = 7
"""Bodies, links and the place on the first one: no two contacts share them."""
_FIELDS = 4
"""First of the fields that the islands have as well."""

FOLLOW = 0
"""Keep the contacts that are reached, sort them, number their links; gives the count of these, or
-1 for a body that the table does not have."""
WRITE = 1
"""Fill in the contacts; gives their count, negative for no room."""

# --- what the bodies of a world are ---------------------------------------------------------------

UNKNOWN, ARTICULATED, FREE_BODY, FLOATING_ROBOT, FIXED_ROBOT = range(5)
"""Kinds of bodies: not in the table; of a scene's articulation; a rigid body; somebody else's robot
that counts as one rigid body; one with a fixed base, each link of which counts as a free body."""

WORLD = 0
"""The unit of whatever is fixed to the world by no body of its own."""


class _BodyRow(NamedTuple):
    """A body."""

    kind: int = 1
    unit: int = 1
    """Number of what passes forces on as a whole: an articulation, or a free body; of a fixed robot
    that of its base, and those of its links follow."""
    scene: int = 1
    """Number of the articulation's scene, 0 for the scene that is solved."""
    record: int = 1
    """Offset of the articulation's record."""
    frames: int = 1
    """Number of the frame of its base in the table of frames; those of its links follow."""
    frame_count: int = 1
    """Count of its frames: another body may have got its id."""
    size: int = 0


BODY = offsets(_BodyRow)


@record
class WorldBodies:
    """The bodies of a world, as the solve of one scene sees them."""

    ints: IntArray = array()
    floats: FloatArray = array()

    body_count: int = count("b")
    bodies: IntTable = table(INTS, "b", BODY.size)
    """By body id."""
    unit_count: int = count("u")
    moves: IntArray = table(INTS, "u")
    """1 if forces go on through a unit, 0 if not."""
    starts: IntArray = table(INTS, "u")
    """1 for an articulation from which contacts are followed."""
    reached: IntArray = table(INTS, "u")
    """Scratch: 1 if forces reach a unit that moves."""
    number: IntArray = table(INTS, "u")
    """Scratch: number among the free bodies of a step, or -1."""
    frames: IntArray = table(INTS, "frames")
    """Frames of links in their articulations, -1 for a link without one."""
    gravity_factor: FloatArray = table(FLOATS, "u")


world_bodies_at = record_reader(WorldBodies)


@record
class FollowedContacts:
    """Contacts of one step: their order, and the distinct links between which they are."""

    ints: IntArray = array()
    floats: FloatArray = array()

    room: int = count("c")
    """Count of the contacts of the world that there is room for."""
    link_room: int = count("l")
    """Count of the links, at most two per contact."""
    used: int
    """Count of those that were reached."""
    links_used: int
    """Count of their links."""
    free_used: int
    """Count of the free bodies among these."""
    ends: IntTable = table(INTS, "c", 4)
    """Bodies, then links, of each contact of the world."""
    units: IntTable = table(INTS, "c", 2)
    """Their units, -1 if unknown."""
    order: IntArray = table(INTS, "c")
    """The reached contacts, sorted."""
    sides: IntTable = table(INTS, "c", 2)
    """Numbers of the two links of each contact."""
    links: IntTable = table(INTS, "l", 2)
    """Body and link of each distinct link."""
    numbers: IntTable = table(INTS, "l", 3)
    """First three numbers of a side of the islands, by link."""
    free: IntTable = table(INTS, "l", 2)
    """Body and link of each free body: -1 and -1 for the world, -1 for a body that moves whole."""
    scratch: IntArray = table(INTS, "scratch")
    rows: FloatTable = table(FLOATS, "c", ROW_SIZE)
    """The contacts."""
    frictions: FloatArray = table(FLOATS, "l")
    """By link."""


followed_at = record_reader(FollowedContacts)


def contact_room(contacts: int) -> tuple[IntArray, FloatArray]:
    """Make :class:`FollowedContacts` for so many contacts."""
    columns = {INTS: Column(np.int64), FLOATS: Column(np.float64)}
    counts = {"c": contacts, "l": 2 * contacts, "scratch": 8 * contacts + 8}
    pack(FollowedContacts, columns, counts, {})
    return columns[INTS].made(), columns[FLOATS].made()


def make_world_bodies(
    bodies: IntArray, moves: IntArray, starts: IntArray, frames: IntArray, factors: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Make :class:`WorldBodies`; the arguments are its tables."""
    columns = {INTS: Column(np.int64), FLOATS: Column(np.float64)}
    counts = {"b": len(bodies), "u": len(moves), "frames": len(frames)}
    given = {
        "bodies": bodies, "moves": moves, "starts": starts, "frames": frames,
        "gravity_factor": factors,
    }  # fmt: skip
    pack(WorldBodies, columns, counts, given)
    return columns[INTS].made(), columns[FLOATS].made()


# --- how far forces reach -------------------------------------------------------------------------


@kernel
def _frame_of(world: WorldBodies, body: int, link: int) -> int:
    """Return the frame of a link of an articulation, or -1."""
    if link + 1 >= world.bodies[body, BODY.frame_count]:
        return -1
    return int(world.frames[world.bodies[body, BODY.frames] + link + 1])


@kernel
def _unit_of(world: WorldBodies, body: int, link: int) -> int:
    """Return the unit of a link, -1 for a body that the table does not have."""
    if body < 0:
        return WORLD
    if body >= world.body_count:
        return -1
    kind, unit = world.bodies[body, BODY.kind], world.bodies[body, BODY.unit]
    if kind == UNKNOWN:
        return -1
    if kind == ARTICULATED and _frame_of(world, body, link) < 0:
        return WORLD  # the base of an anchored one, which constraints may connect
    return int(unit + link + 1 if kind == FIXED_ROBOT else unit)


@kernel
def mark_reached(world: WorldBodies, found: FollowedContacts, count: int) -> bool:
    """Mark the units that forces reach; ``False`` if a body that they reach is unknown.

    ``ends`` of the contacts are filled in; ``units`` receives those of their links.
    """
    for k in range(world.unit_count):
        world.reached[k] = world.starts[k]
        world.number[k] = -1
    for k in range(count):
        for which in range(2):
            body, link = found.ends[k, which], found.ends[k, 2 + which]
            found.units[k, which] = _unit_of(world, body, link)
    goes_on = True
    while goes_on:
        goes_on = False
        for k in range(count):
            for which in range(2):
                here, there = found.units[k, which], found.units[k, 1 - which]
                if here < 0 or world.reached[here] == 0:
                    continue
                if there < 0:
                    return False
                if world.moves[there] != 0 and world.reached[there] == 0:
                    world.reached[there] = 1
                    goes_on = True
    return True


@kernel
def is_reached(world: WorldBodies, found: FollowedContacts, contact: int) -> bool:
    """Tell whether forces reach a side of a contact of the world."""
    for which in range(2):
        unit = found.units[contact, which]
        if unit >= 0 and world.reached[unit] != 0:
            return True
    return False


# --- order ----------------------------------------------------------------------------------------


@kernel
def _is_before(rows: FloatTable, i: int, j: int) -> bool:
    """Tell whether contact i comes before contact j."""
    for k in range(_KEYS):
        a, b = rows[i, k], rows[j, k]
        if a != b:
            return bool(a < b)
    return False


@kernel
def _sort_contacts(found: FollowedContacts) -> None:
    """Merge sort; the engine lists contacts as they arose, which a replay need not repeat."""
    order, other, count = found.order, found.scratch, found.used
    for k in range(count):
        order[k] = k
    width = 1
    while width < count:
        start = 0
        while start < count:
            middle, end = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for k in range(start, end):
                take_left = left < middle
                if take_left and right < end:
                    take_left = not _is_before(found.rows, order[right], order[left])
                if take_left:
                    other[k] = order[left]
                    left += 1
                else:
                    other[k] = order[right]
                    right += 1
            start = end
        for k in range(count):
            order[k] = other[k]
        width *= 2


@kernel
def _number_links(found: FollowedContacts) -> None:
    """Number distinct links in the order in which sorted contacts name them."""
    count, slots, links, used = found.used, found.scratch, found.links, 0
    size = 8
    while size < 4 * count:
        size *= 2
    for k in range(size):
        slots[k] = -1
    for k in range(count):
        row = found.rows[found.order[k]]
        for which in range(2):
            body, link = int(row[which]), int(row[2 + which])
            at = (body * 131 + link + 1) & (size - 1)
            while True:
                side = slots[at]
                if side < 0:
                    side = used
                    slots[at] = side
                    links[side, 0], links[side, 1] = body, link
                    used += 1
                    break
                if links[side, 0] == body and links[side, 1] == link:
                    break
                at = (at + 1) & (size - 1)
            found.sides[k, which] = side
    found.links_used = used


@kernel
def _describe_links(world: WorldBodies, found: FollowedContacts) -> None:
    """Set the numbers of all links, and number the free bodies among them."""
    used = 0
    for k in range(found.links_used):
        body, link = found.links[k, 0], found.links[k, 1]
        unit, numbers = _unit_of(world, body, link), found.numbers[k]
        kind = UNKNOWN if unit == WORLD else world.bodies[body, BODY.kind]
        if kind == ARTICULATED:
            numbers[0], numbers[1] = world.bodies[body, BODY.scene], world.bodies[body, BODY.record]
            numbers[2] = _frame_of(world, body, link)
            continue
        number = world.number[unit]
        if number < 0:
            number = used
            world.number[unit] = number
            found.free[number, 0] = -1 if unit == WORLD else body
            found.free[number, 1] = link if kind == FIXED_ROBOT else -1
            used += 1
        numbers[0], numbers[1], numbers[2] = -1, number, -1
    found.free_used = used


@kernel
def order_contacts(world: WorldBodies, found: FollowedContacts) -> None:
    """Sort the contacts that are reached; number and describe the links between which they are."""
    _sort_contacts(found)
    _number_links(found)
    _describe_links(world, found)


# --- into the islands -----------------------------------------------------------------------------


@kernel
def write_contacts(found: FollowedContacts, islands: Islands) -> int:
    """Fill in the contacts; see :data:`WRITE`."""
    if found.used > islands.contact_room:
        return int(-found.used)
    for k in range(found.used):
        first, second = found.sides[k, 0], found.sides[k, 1]
        row = found.rows[found.order[k]]
        contact, sides = islands.contact[k], islands.contact_sides[k]
        for i in range(CONTACT.friction):
            contact[i] = row[_FIELDS + i]
        contact[CONTACT.friction] = found.frictions[first] * found.frictions[second]
        for i in range(3):
            sides[i] = found.numbers[first, i]
            sides[SIDE.size + i] = found.numbers[second, i]
    return int(found.used)


@entry
def follow_contacts(
    world_ints: IntArray,
    world_floats: FloatArray,
    ints: IntArray,
    floats: FloatArray,
    index: IntArray,
    values: FloatArray,
    count: int,
    stage: int,
) -> int:
    """One stage of the way of contacts into the islands.

    Args:
        world_ints: Integers of the :class:`WorldBodies`.
        world_floats: Their floats.
        ints: Integers of :func:`contact_room`.
        floats: Its floats; ``rows`` holds the contacts of the world, ``frictions``, before WRITE,
            the friction of each link.
        index: Integers of the islands.
        values: Floats of the islands.
        count: Count of the contacts of the world.
        stage: FOLLOW or WRITE.
    """
    found = followed_at(ints, floats, 0)
    if stage == WRITE:
        return write_contacts(found, islands_at(index, values, 0))
    world = world_bodies_at(world_ints, world_floats, 0)
    for k in range(count):
        for i in range(4):
            found.ends[k, i] = int(found.rows[k, i])
    found.used, found.links_used = 0, 0
    if not mark_reached(world, found, count):
        return -1
    for k in range(count):
        if is_reached(world, found, k):
            row, to = found.rows[k], found.rows[found.used]
            for i in range(ROW_SIZE):
                to[i] = row[i]
            found.used += 1
    order_contacts(world, found)
    return int(found.links_used)
