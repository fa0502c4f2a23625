"""Friction by slip: it follows the speed of surfaces along each other.

One table holds the bodies of a scene whose static and dynamic friction differ. After an engine step
the contacts are read once, and the engine is given the coefficients that change; Python is asked
only where it keeps contact points with an earlier one (``bullet.contacts.slip_friction``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from gltf_bullet.numba_aot import IntTable, entry, ints_at, kernel
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine.calls import (
    POINT_WORDS,
    Engine,
    ask_links,
    begin_call,
    change_friction,
    copy_link,
    copy_point,
    engine_at,
    find_contacts,
    read_pose,
)
from gltf_bullet.solver.scene_table import SCENE
from gltf_bullet.solver.tables import offsets
from gltf_bullet.transforms import FloatArray

SLOWEST_SLIP = 0.05
"""Slip speed [m/s] below which surfaces count as at rest towards each other."""
_GRAVITY_STEPS = 1.5
"""Number of steps of gravity whose speed is the threshold if larger: a body at rest creeps."""
HOLD = 0.02
"""Time [s] that a slip must last before the dynamic coefficient applies; impacts are shorter."""
_CERTAIN = 4.0
"""Multiple of the threshold above which it applies at once: thrown bodies never stick."""
LOOK = 2.0
_NOBODY = -2.0
_FORCE = 20
_POINT, _NORMAL = 4, 10
"""Places in a contact's row: see ``calls.copy_point``."""


class _Header(NamedTuple):
    """Numbers before the tables, which follow in the order of their counts."""

    body_count: int = 1
    link_count: int = 1
    partner_count: int = 1
    surface_count: int = 1
    is_due: int = 1
    """1 if Python has something to do, LOOK if it has to look itself."""
    first: int = 15
    """Body and link of the first side of a contact; position, rotation, velocity and spin."""
    second: int = 15
    """Likewise of the second side."""
    contact: int = ROW_SIZE
    """Scratch for a contact."""
    size: int = 0


class _Body(NamedTuple):
    """A body whose friction follows its slip; in the order of their ids."""

    body_id: int = 1
    first_link: int = 1
    """Number of its first link in the table of links."""
    link_count: int = 1
    slid: int = 1
    """Time for which it has slid [s]; negative: time left to settle."""
    touched: int = 1
    """Time for which it has had contacts [s]; negative: for which it has had none."""
    slip: int = 1
    """The fastest slip of its contacts in the step [m/s], -1 without any."""
    size: int = 0


class _Link(NamedTuple):
    """A link of such a body with a collider."""

    link: int = 1
    surface: int = 1
    """Row of its surface in the table of pairs."""
    friction: int = 1
    """The dynamic coefficient."""
    gain: int = 1
    """Factor on it."""
    wanted: int = 1
    """The factor from now on."""
    is_stale: int = 1
    """1 if kept contact points still have an earlier coefficient."""
    rest: int = 1
    """The largest factor at rest towards what it touches, -1 where it touches nothing known."""
    size: int = 0


class _Partner(NamedTuple):
    """A link of the scene; in the order of bodies, then of links."""

    body_id: int = 1
    link: int = 1
    surface: int = 1
    size: int = 0


HEADER, BODY, LINK, PARTNER = (
    offsets(_Header), offsets(_Body), offsets(_Link), offsets(_Partner)
)  # fmt: skip


@kernel
def _first_link(values: FloatArray) -> int:
    return HEADER.size + BODY.size * int(values[HEADER.body_count])


@kernel
def _first_partner(values: FloatArray) -> int:
    return _first_link(values) + LINK.size * int(values[HEADER.link_count])


@kernel
def _first_factor(values: FloatArray) -> int:
    return _first_partner(values) + PARTNER.size * int(values[HEADER.partner_count])


@kernel
def body_of(values: FloatArray, number: int) -> int:
    """Return the place of a body by its id, -1 if it is not in the table."""
    low, high = 0, int(values[HEADER.body_count])
    while low < high:
        middle = (low + high) // 2
        if values[HEADER.size + BODY.size * middle] < number:
            low = middle + 1
        else:
            high = middle
    at = HEADER.size + BODY.size * low
    if low < int(values[HEADER.body_count]) and int(values[at]) == number:
        return at
    return -1


@kernel
def surface_of(values: FloatArray, number: int, link: int) -> int:
    """Row of the surface of a link of the scene, -1 of those of others."""
    first, low, high = _first_partner(values), 0, int(values[HEADER.partner_count])
    while low < high:
        middle = (low + high) // 2
        at = first + PARTNER.size * middle
        if values[at] < number or (values[at] == number and values[at + 1] < link):
            low = middle + 1
        else:
            high = middle
    at = first + PARTNER.size * low
    if low < int(values[HEADER.partner_count]) and values[at] == number and values[at + 1] == link:
        return int(values[at + PARTNER.surface])
    return -1


@kernel
def begin(values: FloatArray) -> None:
    """Forget the contacts of the last step."""
    values[HEADER.is_due] = 0.0
    values[HEADER.first], values[HEADER.second] = _NOBODY, _NOBODY
    for k in range(int(values[HEADER.body_count])):
        values[HEADER.size + BODY.size * k + BODY.slip] = -1.0
    for k in range(int(values[HEADER.link_count])):
        values[_first_link(values) + LINK.size * k + LINK.rest] = -1.0


@kernel
def note(values: FloatArray, body: int, link: int, partner: int, slip: float) -> None:
    """Note a contact of a body's link with a surface (-1: unknown) that slides with ``slip``."""
    values[body + BODY.slip] = max(values[body + BODY.slip], slip)
    if partner < 0:
        return
    first = _first_link(values) + LINK.size * int(values[body + BODY.first_link])
    for k in range(int(values[body + BODY.link_count])):
        at = first + LINK.size * k
        if int(values[at + LINK.link]) == link:
            row = int(values[HEADER.surface_count]) * int(values[at + LINK.surface])
            factor = values[_first_factor(values) + row + partner]
            values[at + LINK.rest] = max(values[at + LINK.rest], factor)


@kernel
def _slide(values: FloatArray, body: int, threshold: float, dt: float) -> None:
    """Find for how long a body with contacts has slid."""
    values[body + BODY.touched] = max(values[body + BODY.touched], 0.0) + dt
    slip, slid = values[body + BODY.slip], values[body + BODY.slid]
    if slip > _CERTAIN * threshold:
        slid = math.inf
    elif slid < 0.0:
        slid += dt
    elif slip < 0.5 * threshold:
        # A landing on one corner stops that corner for a moment.
        slid = slid if values[body + BODY.touched] < HOLD else 0.0
    elif slip > threshold:
        slid += dt
    values[body + BODY.slid] = slid


@kernel
def switch(values: FloatArray, dt: float, gx: float, gy: float, gz: float) -> bool:
    """Choose the factors of all links for the next step; ``True`` if Python has something to do."""
    values[HEADER.is_due] = 0.0
    gravity = math.sqrt(gx * gx + gy * gy + gz * gz)
    threshold = max(SLOWEST_SLIP, _GRAVITY_STEPS * gravity * dt)
    for k in range(int(values[HEADER.body_count])):
        body = HEADER.size + BODY.size * k
        is_touching, is_flying = values[body + BODY.slip] >= 0.0, False
        if is_touching:
            _slide(values, body, threshold, dt)
        else:
            values[body + BODY.touched] = min(values[body + BODY.touched], 0.0) - dt
            is_flying = values[body + BODY.touched] < -HOLD
            if is_flying:  # it lands sliding
                values[body + BODY.slid] = math.inf
        if not (is_touching or is_flying):
            continue
        first = _first_link(values) + LINK.size * int(values[body + BODY.first_link])
        for m in range(int(values[body + BODY.link_count])):
            link, wanted = first + LINK.size * m, 1.0
            if values[body + BODY.slid] < HOLD and values[link + LINK.rest] >= 0.0:
                wanted = values[link + LINK.rest]
            values[link + LINK.wanted] = wanted
            is_new = wanted != values[link + LINK.gain]
            if is_flying and not is_new:
                values[link + LINK.is_stale] = 0.0
            is_kept = values[link + LINK.is_stale] != 0.0 and values[body + BODY.touched] >= HOLD
            if is_new or is_kept:
                values[HEADER.is_due] = 1.0
    return bool(values[HEADER.is_due] != 0.0)


@kernel
def _speed(
    values: FloatArray, one: int, rows: FloatArray, other: FloatArray, at: int, i: int
) -> float:
    """A component of the speed of the first surface towards the second [m/s]."""
    p, q = (i + 1) % 3, (i + 2) % 3
    speed = values[one + 7 + i] - other[at + 7 + i]
    speed += values[one + 10 + p] * (rows[_POINT + q] - values[one + q])
    speed -= values[one + 10 + q] * (rows[_POINT + p] - values[one + p])
    speed -= other[at + 10 + p] * (rows[_POINT + q] - other[at + q])
    speed += other[at + 10 + q] * (rows[_POINT + p] - other[at + p])
    return float(speed)


@kernel
def slip_speed(values: FloatArray, one: int, rows: FloatArray, other: FloatArray, at: int) -> float:
    """Speed of two surfaces along each other at a contact [m/s].

    Args:
        values: Where the state of the first body is: position, rotation, velocity and spin.
        one: Its place there.
        rows: The contact.
        other: Where that of the second is.
        at: Its place there.
    """
    total, away = 0.0, 0.0
    for i in range(3):
        away += _speed(values, one, rows, other, at, i) * rows[_NORMAL + i]
    for i in range(3):
        along = _speed(values, one, rows, other, at, i) - away * rows[_NORMAL + i]
        total += along * along
    return math.sqrt(total)


@kernel
def _has_state(
    engine: Engine, client: int, values: FloatArray, side: int, body: int, link: int
) -> bool:
    """Have the state of a link (-1: the base) at a side of a contact; ``False``: no answer."""
    if values[side] == body and values[side + 1] == link:
        return True
    values[side], values[side + 1] = _NOBODY, link
    if link < 0:
        if not read_pose(engine, client, body, values, side + 2, side + 9):
            return False
    else:
        status = ask_links(engine, client, body)
        if status == 0 or not copy_link(engine, client, status, link, values, side + 2):
            return False
    values[side] = body
    return True


@kernel
def _give_factors(engine: Engine, client: int, values: FloatArray) -> bool:
    """Give the engine the factors that have changed; ``True`` if kept points have earlier ones."""
    is_due = False
    for k in range(int(values[HEADER.body_count])):
        body = HEADER.size + BODY.size * k
        first = _first_link(values) + LINK.size * int(values[body + BODY.first_link])
        for m in range(int(values[body + BODY.link_count])):
            link = first + LINK.size * m
            wanted = values[link + LINK.wanted]
            if wanted != values[link + LINK.gain]:
                friction = values[link + LINK.friction] * wanted
                number = int(values[link + LINK.link])
                change_friction(engine, client, int(values[body]), number, friction)
                values[link + LINK.gain], values[link + LINK.is_stale] = wanted, 1.0
            if values[body + BODY.touched] < 0.0:
                values[link + LINK.is_stale] = 0.0
            is_due |= values[link + LINK.is_stale] != 0.0 and values[body + BODY.touched] >= HOLD
    return is_due


@kernel
def watch_slip(
    engine: Engine, client: int, values: FloatArray, dt: float, gx: float, gy: float, gz: float
) -> int:
    """Find who slides after an engine step, and give the engine the coefficients for the next one.

    Returns:
        1 if Python has something to do, 0 if not, -1 if it has to look itself: the engine does not
        answer.
    """
    if len(values) == 0:
        return 0
    begin(values)
    count, row = find_contacts(engine, client), values[HEADER.contact :]
    values[HEADER.is_due] = LOOK
    if count < 0:
        return -1
    for k in range(count):
        copy_point(engine.contact_points + 8 * POINT_WORDS * k, row, 0)
        if row[_FORCE] <= 0.0:
            continue
        a, b = int(row[0]), int(row[1])
        one, other = body_of(values, a), body_of(values, b)
        if one < 0 and other < 0:
            continue
        link, partner = int(row[2]), int(row[3])
        if not _has_state(engine, client, values, HEADER.first, a, link):
            return -1
        if not _has_state(engine, client, values, HEADER.second, b, partner):
            return -1
        slip = slip_speed(values, HEADER.first + 2, row, values, HEADER.second + 2)
        if one >= 0:
            note(values, one, link, surface_of(values, b, partner), slip)
        if other >= 0:
            note(values, other, partner, surface_of(values, a, link), slip)
    if not switch(values, dt, gx, gy, gz):
        return 0
    is_due = _give_factors(engine, client, values)
    values[HEADER.is_due] = is_due
    return int(is_due)


@entry
def find_slip(
    scenes: IntTable, values: FloatArray, dt: float, gx: float, gy: float, gz: float
) -> int:
    """Find who slides after an engine step.

    Args:
        scenes: A row of the world, for its engine: see ``scene_table.row_of``.
        values: The table.
        dt: Length of that step [s].
        gx: Gravity of the engine [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        See :func:`watch_slip`.
    """
    engine = engine_at(ints_at(scenes, 0, SCENE.engine), 0)
    client = begin_call(engine)
    return -1 if client == 0 else int(watch_slip(engine, client, values, dt, gx, gy, gz))
