"""Contacts of a world, followed from body to body as far as forces reach, and sorted.

A table says of each body of the world what it is: part of an articulation, a free body, somebody
else's robot. From the articulations that have drives or limits, contacts are followed through all
that moves; those that were reached become contacts of the islands. Python makes the table, once for
the bodies that there are, and reads the bodies that were reached if kernels cannot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gltf_bullet.numba_aot import entry, kernel, record, record_reader
from gltf_bullet.solver.islands import CONTACT, SIDE, islands_at
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
    size: int = 0


BODY = offsets(_BodyRow)


@record
class WorldBodies:
    """The bodies of a world, as the solve of one scene sees them."""

    body_count: int = count("b")
    bodies: int = table(INTS, "b", BODY.size)
    """By body id."""
    unit_count: int = count("u")
    moves: int = table(INTS, "u")
    """1 if forces go on through a unit, 0 if not."""
    starts: int = table(INTS, "u")
    """1 for an articulation from which contacts are followed."""
    reached: int = table(INTS, "u")
    """Scratch: 1 if forces reach a unit that moves."""
    number: int = table(INTS, "u")
    """Scratch: number among the free bodies of a step, or -1."""
    frames: int = table(INTS, "frames")
    """Frames of links in their articulations, -1 for a link without one."""
    gravity_factor: int = table(FLOATS, "u")


world_bodies_at = record_reader(WorldBodies)


@record
class FollowedContacts:
    """Contacts of one step: their order, and the distinct links between which they are."""

    room: int = count("c")
    """Count of the contacts of the world that there is room for."""
    used: int
    """Count of those that were reached."""
    links_used: int
    """Count of their links."""
    free_used: int
    """Count of the free bodies among these."""
    ends: int = table(INTS, "c", 4)
    """Bodies, then links, of each contact of the world."""
    units: int = table(INTS, "c", 2)
    """Their units, -1 if unknown."""
    order: int = table(INTS, "c")
    """The reached contacts, sorted."""
    sides: int = table(INTS, "c", 2)
    """Numbers of the two links of each contact."""
    links: int = table(INTS, "c", 4)
    """Body and link of each distinct link, at most two per contact."""
    numbers: int = table(INTS, "c", 6)
    """First three numbers of a side of the islands, by link."""
    free: int = table(INTS, "c", 4)
    """Body and link of each free body: -1 and -1 for the world, -1 for a body that moves whole."""
    fresh: int = table(INTS, "fresh")
    """Scratch."""
    rows: int = table(FLOATS, "c", ROW_SIZE)
    """The contacts."""
    frictions: int = table(FLOATS, "c", 2)
    """By link."""


followed_at = record_reader(FollowedContacts)


def contact_room(contacts: int) -> tuple[IntArray, FloatArray]:
    """Make :class:`FollowedContacts` for so many contacts."""
    columns = {INTS: Column(np.int64), FLOATS: Column(np.float64)}
    pack(FollowedContacts, columns, {"c": contacts, "fresh": 8 * contacts + 8}, {})
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
def _frame_of(world: IntArray, body: int, link: int) -> int:
    """Return the frame of a link of an articulation, or -1."""
    known = world_bodies_at(world, 0)
    first = world[known.bodies + BODY.size * body + BODY.frames]
    return int(world[known.frames + first + link + 1])


@kernel
def _unit_of(world: IntArray, body: int, link: int) -> int:
    """Return the unit of a link, -1 for a body that the table does not have."""
    known = world_bodies_at(world, 0)
    if body < 0:
        return WORLD
    if body >= known.body_count:
        return -1
    row = known.bodies + BODY.size * body
    kind, unit = world[row + BODY.kind], world[row + BODY.unit]
    if kind == UNKNOWN:
        return -1
    if kind == ARTICULATED and _frame_of(world, body, link) < 0:
        return WORLD  # the base of an anchored one, which constraints may connect
    return int(unit + link + 1 if kind == FIXED_ROBOT else unit)


@kernel
def mark_reached(world: IntArray, ints: IntArray, count: int) -> bool:
    """Mark the units that forces reach; ``False`` if a body that they reach is unknown.

    ``ends`` of the contacts are filled in; ``units`` receives those of their links.
    """
    known, found = world_bodies_at(world, 0), followed_at(ints, 0)
    for k in range(known.unit_count):
        world[known.reached + k] = world[known.starts + k]
        world[known.number + k] = -1
    for k in range(count):
        for which in range(2):
            at = found.ends + 4 * k + which
            ints[found.units + 2 * k + which] = _unit_of(world, ints[at], ints[at + 2])
    goes_on = True
    while goes_on:
        goes_on = False
        for k in range(2 * count):
            here, there = ints[found.units + k], ints[found.units + (k ^ 1)]
            if here < 0 or not world[known.reached + here]:
                continue
            if there < 0:
                return False
            if world[known.moves + there] and not world[known.reached + there]:
                world[known.reached + there] = 1
                goes_on = True
    return True


@kernel
def is_reached(world: IntArray, ints: IntArray, contact: int) -> bool:
    """Tell whether forces reach a side of a contact of the world."""
    known, found = world_bodies_at(world, 0), followed_at(ints, 0)
    for which in range(2):
        unit = ints[found.units + 2 * contact + which]
        if unit >= 0 and world[known.reached + unit]:
            return True
    return False


# --- order ----------------------------------------------------------------------------------------


@kernel
def _is_before(rows: FloatArray, i: int, j: int) -> bool:
    """Tell whether contact i comes before contact j."""
    for k in range(_KEYS):
        a, b = rows[ROW_SIZE * i + k], rows[ROW_SIZE * j + k]
        if a != b:
            return bool(a < b)
    return False


@kernel
def _sort_contacts(ints: IntArray, rows: FloatArray) -> None:
    """Merge sort; the engine lists contacts as they arose, which a replay need not repeat."""
    found = followed_at(ints, 0)
    order, other, count = found.order, found.fresh, found.used
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
def _number_links(ints: IntArray, rows: FloatArray) -> None:
    """Number distinct links in the order in which sorted contacts name them."""
    found, used = followed_at(ints, 0), 0
    count, slots = found.used, found.fresh
    size = 8
    while size < 4 * count:
        size *= 2
    for k in range(size):
        ints[slots + k] = -1
    for k in range(count):
        row = ROW_SIZE * ints[found.order + k]
        for which in range(2):
            body, link = int(rows[row + which]), int(rows[row + 2 + which])
            at = (body * 131 + link + 1) & (size - 1)
            while True:
                side = ints[slots + at]
                if side < 0:
                    side = used
                    ints[slots + at] = side
                    ints[found.links + 2 * side] = body
                    ints[found.links + 2 * side + 1] = link
                    used += 1
                    break
                known = found.links + 2 * side
                if ints[known] == body and ints[known + 1] == link:
                    break
                at = (at + 1) & (size - 1)
            ints[found.sides + 2 * k + which] = side
    found.links_used = used


@kernel
def _describe_links(world: IntArray, ints: IntArray) -> None:
    """Set the numbers of all links, and number the free bodies among them."""
    known, found = world_bodies_at(world, 0), followed_at(ints, 0)
    found.free_used = 0
    for k in range(found.links_used):
        body, link = ints[found.links + 2 * k], ints[found.links + 2 * k + 1]
        unit, numbers = _unit_of(world, body, link), found.numbers + 3 * k
        row = known.bodies + BODY.size * body
        kind = UNKNOWN if unit == WORLD else world[row + BODY.kind]
        if kind == ARTICULATED:
            ints[numbers], ints[numbers + 1] = world[row + BODY.scene], world[row + BODY.record]
            ints[numbers + 2] = _frame_of(world, body, link)
            continue
        number = world[known.number + unit]
        if number < 0:
            number = found.free_used
            world[known.number + unit] = number
            free = found.free + 2 * number
            ints[free] = -1 if unit == WORLD else body
            ints[free + 1] = link if kind == FIXED_ROBOT else -1
            found.free_used += 1
        ints[numbers], ints[numbers + 1], ints[numbers + 2] = -1, number, -1


@kernel
def order_contacts(world: IntArray, ints: IntArray, rows: FloatArray) -> None:
    """Sort the contacts that are reached; number and describe the links between which they are."""
    _sort_contacts(ints, rows)
    _number_links(ints, rows)
    _describe_links(world, ints)


# --- into the islands -----------------------------------------------------------------------------


@kernel
def write_contacts(ints: IntArray, floats: FloatArray, index: IntArray, values: FloatArray) -> int:
    """Fill in the contacts; see :data:`WRITE`."""
    found, islands = followed_at(ints, 0), islands_at(index, values, 0)
    if found.used > islands.contact_room:
        return int(-found.used)
    for k in range(found.used):
        first, second = ints[found.sides + 2 * k], ints[found.sides + 2 * k + 1]
        row = found.rows + ROW_SIZE * ints[found.order + k] + _FIELDS
        contact, sides = islands.contact[k], islands.contact_sides[k]
        for i in range(CONTACT.friction):
            contact[i] = floats[row + i]
        contact[CONTACT.friction] = (
            floats[found.frictions + first] * floats[found.frictions + second]
        )
        for i in range(3):
            sides[i] = ints[found.numbers + 3 * first + i]
            sides[SIDE.size + i] = ints[found.numbers + 3 * second + i]
    return int(found.used)


@entry
def follow_contacts(
    world: IntArray,
    ints: IntArray,
    floats: FloatArray,
    index: IntArray,
    values: FloatArray,
    count: int,
    stage: int,
) -> int:
    """One stage of the way of contacts into the islands.

    Args:
        world: The :class:`WorldBodies`.
        ints: Integers of :func:`contact_room`.
        floats: Its floats; ``rows`` holds the contacts of the world, ``frictions``, before WRITE,
            the friction of each link.
        index: Integers of the islands.
        values: Floats of the islands.
        count: Count of the contacts of the world.
        stage: FOLLOW or WRITE.
    """
    if stage == WRITE:
        return write_contacts(ints, floats, index, values)
    found = followed_at(ints, 0)
    for k in range(count):
        for i in range(4):
            ints[found.ends + 4 * k + i] = int(floats[found.rows + ROW_SIZE * k + i])
    found.used, found.links_used = 0, 0
    if not mark_reached(world, ints, count):
        return -1
    for k in range(count):
        if is_reached(world, ints, k):
            to, row = found.rows + ROW_SIZE * found.used, found.rows + ROW_SIZE * k
            for i in range(ROW_SIZE):
                floats[to + i] = floats[row + i]
            found.used += 1
    order_contacts(world, ints, floats[found.rows :])
    return int(found.links_used)
