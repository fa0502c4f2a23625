"""Kernels that read the contacts of a scene's joints and all that is reached through them."""

from __future__ import annotations

from gltf_bullet.numba_aot import (
    FloatTable,
    cells,
    doubles_at,
    kernel,
    record,
    record_reader,
    words_at,
)
from gltf_bullet.solver.contact_following import (
    ARTICULATED,
    BODY,
    FREE_BODY,
    FollowedContacts,
    WorldBodies,
    followed_at,
    is_reached,
    mark_reached,
    order_contacts,
    world_bodies_at,
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
from gltf_bullet.transforms import FloatArray, IntArray

_ATTEMPTS = 3
"""The most times that contacts are followed: each time a body turned out to move, or to stand."""
_READ, _CHANGED, _NEEDS_PYTHON = range(3)


@record
class ContactMemory:
    """Addresses and lengths of the arrays in which a scene's contacts are followed."""

    world: IntArray = cells(2)
    """Integers of the ``WorldBodies``; of length 0 if Python has to make them."""
    factors: IntArray = cells(2)
    """Their floats."""
    ints: IntArray = cells(2)
    """Integers of the ``FollowedContacts``."""
    floats: IntArray = cells(2)
    most_contacts: int
    """Count of the contacts that there is room for in the islands."""
    most_free: int
    """Count of the free bodies, likewise."""


contact_memory_at = record_reader(ContactMemory)


@kernel
def _pick(engine: Engine, world: WorldBodies, found: FollowedContacts) -> bool:
    """Copy the contacts that forces reach; ``False`` if they reach an unknown body."""
    total = engine.contact_total
    for k in range(total):
        words = words_at(engine.contact_points + 8 * POINT_WORDS * k, POINT_WORDS)
        found.ends[k, 0], found.ends[k, 1] = low_half(words[0] >> 32), low_half(words[1])
        found.ends[k, 2], found.ends[k, 3] = low_half(words[1] >> 32), low_half(words[2])
    if not mark_reached(world, found, total):
        return False
    used = 0
    for k in range(total):
        if is_reached(world, found, k):
            copy_point(engine.contact_points + 8 * POINT_WORDS * k, found.rows[used], 0)
            used += 1
    found.used = used
    return True


@kernel
def _belongs_here(world: WorldBodies, found: FollowedContacts) -> bool:
    """Tell whether all links are of this scene or of free bodies; the others need Python."""
    for k in range(found.links_used):
        body = found.links[k, 0]
        kind = FREE_BODY if body < 0 else world.bodies[body, BODY.kind]
        if kind != FREE_BODY and (kind != ARTICULATED or world.bodies[body, BODY.scene] != 0):
            return False
    return True


@kernel
def _read_bodies(
    engine: Engine,
    client: int,
    world: WorldBodies,
    found: FollowedContacts,
    bodies: FloatTable,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Read frictions of links and the free bodies."""
    for k in range(found.links_used):
        body, link = found.links[k, 0], found.links[k, 1]
        if body < 0:
            found.frictions[k] = 0.0
            continue
        info = read_dynamics(engine, client, body, link)
        if info == 0:
            return _NEEDS_PYTHON
        found.frictions[k] = doubles_at(info, FRICTION + 1)[FRICTION]
    for k in range(found.free_used):
        body, free = found.free[k, 0], bodies[k]
        for i in range(FREE.size):
            free[i] = 0.0
        if body < 0:
            free[FREE.rotation + 3] = 1.0
            continue
        info = read_dynamics(engine, client, body, -1)
        if info == 0:
            return _NEEDS_PYTHON
        numbers, unit = doubles_at(info, 4), world.bodies[body, BODY.unit]
        moves = numbers[0] != 0.0
        if moves != (world.moves[unit] != 0):
            world.moves[unit] = moves
            return _CHANGED
        if moves:
            free[FREE.mass] = numbers[0]
            for i in range(3):
                free[FREE.moments + i] = max(numbers[1 + i], LEAST_MOMENT)
        if not read_pose(engine, client, body, free, 0, FREE.velocity):
            return _NEEDS_PYTHON
        factor = world.gravity_factor[unit]
        free[FREE.gain] = factor * (dt * gx)
        free[FREE.gain + 1] = factor * (dt * gy)
        free[FREE.gain + 2] = factor * (dt * gz)
    return _READ


@kernel
def read_contacts(
    engine: Engine,
    client: int,
    numbers: IntArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Put the contacts of a scene, and the free bodies that they reach, into the islands.

    Args:
        engine: The engine, whose contacts were found.
        client: Its client.
        numbers: The scene's :class:`ContactMemory`.
        index: Integers of the islands.
        values: Their floats.
        dt: Length of the step [s].
        gx: Gravity that the engine applies [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        The number of contacts, -1 if only Python can read them.
    """
    if len(numbers) == 0:
        return -1
    memory = contact_memory_at(numbers, 0)
    if memory.world[1] == 0:
        return -1
    world_ints = words_at(memory.world[0], memory.world[1])
    world_floats = doubles_at(memory.factors[0], memory.factors[1])
    world = world_bodies_at(world_ints, world_floats, 0)
    ints = words_at(memory.ints[0], memory.ints[1])
    floats = doubles_at(memory.floats[0], memory.floats[1])
    found, islands = followed_at(ints, floats, 0), islands_at(index, values, 0)
    if engine.contact_total > found.room:
        return -1
    for _ in range(_ATTEMPTS):
        if not _pick(engine, world, found) or found.used > memory.most_contacts:
            return -1
        order_contacts(world, found)
        if found.free_used > memory.most_free or not _belongs_here(world, found):
            return -1
        outcome = _read_bodies(engine, client, world, found, islands.free, dt, gx, gy, gz)
        if outcome == _READ:
            return write_contacts(found, islands)
        if outcome == _NEEDS_PYTHON:
            break
    return -1


@kernel
def free_bodies_of(numbers: IntArray) -> int:
    """Count of the free bodies that the contacts of a scene reach."""
    memory = contact_memory_at(numbers, 0)
    ints = words_at(memory.ints[0], memory.ints[1])
    return int(followed_at(ints, doubles_at(memory.floats[0], memory.floats[1]), 0).free_used)


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
