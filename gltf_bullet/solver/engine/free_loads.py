"""Forces that others give to free bodies, repeated in every engine step of a step.

PyBullet forgets what ``applyExternalForce`` and ``applyExternalTorque`` have given after each
engine step: of a step that is made of ``n`` of them a body would feel one ``n``-th. What changed a
body's momentum in the first one, and is neither gravity, nor a contact, nor from us, is given to it
in the others again. The balance is exact (measured: 1e-13 N under 20 N of contacts), so nothing is
estimated. Left out are bodies whose balance has terms that are not known: those that constraints
hold, those whose mass or damping the user has changed, and turns where a contact rolls or spins
with friction.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import doubles_at, kernel, words_at
from gltf_bullet.solver.engine.calls import (
    DAMPING,
    POINT_WORDS,
    ROLLING,
    Engine,
    copy_point,
    find_contacts,
    low_half,
    read_dynamics,
    read_pose,
)
from gltf_bullet.solver.engine.free_motion import by_inertia, push
from gltf_bullet.solver.engine.free_records import FREE, HEADER
from gltf_bullet.solver.tree_kinematics import rotation_from_quat
from gltf_bullet.transforms import FloatArray

_ROUNDING = 1e-9
"""Share of all impulses on a body below which one is none."""
_SAME = 1e-9
"""Relative difference of masses that are the same."""
_FIRST_POINT, _SECOND_POINT, _NORMAL, _DIRECTIONS, _FORCES = 4, 7, 10, 13, 20
"""Places in a contact's row, which begins with both bodies: see ``calls.copy_point``."""


@kernel
def remember_motion(engine: Engine, client: int, values: FloatArray, part: int, parts: int) -> bool:
    """Remember how bodies move before the first engine step of several, and what we give to them.

    Call it when our own forces are applied. Returns False where the engine does not answer.
    """
    if part or len(values) <= HEADER.size:
        return True
    values[HEADER.is_first] = 1.0 if parts > 1 else 0.0
    values[HEADER.has_loads] = 0.0
    if parts == 1:
        return True
    for k in range((len(values) - HEADER.size) // FREE.size):
        body = HEADER.size + FREE.size * k
        if values[body + FREE.mass] == 0.0 or values[body + FREE.is_held] != 0.0:
            continue
        number, was = int(values[body + FREE.body_id]), body + FREE.was
        if not read_pose(engine, client, number, values, was, was + 7):
            return False
        if values[body + FREE.tumbles] != 0.0 or values[body + FREE.lifted] != 0.0:
            for i in range(6):
                values[body + FREE.given + i] += values[body + FREE.force + i]
    return True


@kernel
def note_contact(values: FloatArray, row: FloatArray, dt: float) -> None:
    """Add the impulses of a contact of the last engine step to the bodies that it touches.

    Args:
        values: The bodies.
        row: The contact as ``calls.copy_point`` has it.
        dt: Length of that engine step [s].
    """
    for side in range(2):
        body = _place_of(values, int(row[side]))
        if body < 0:
            continue
        sign = -dt if side else dt
        point = _SECOND_POINT if side else _FIRST_POINT
        pushed, was = body + FREE.pushed, body + FREE.was
        x, y, z = 0.0, 0.0, 0.0
        for i in range(3):
            force = sign * row[_FORCES + i]
            direction = _NORMAL if i == 0 else _DIRECTIONS + 3 * (i - 1)
            x += force * row[direction]
            y += force * row[direction + 1]
            z += force * row[direction + 2]
        a, b, c = row[point] - values[was], row[point + 1] - values[was + 1], 0.0
        c = row[point + 2] - values[was + 2]
        values[pushed] += x
        values[pushed + 1] += y
        values[pushed + 2] += z
        values[pushed + 3] += b * z - c * y
        values[pushed + 4] += c * x - a * z
        values[pushed + 5] += a * y - b * x
        values[pushed + 6] += abs(x) + abs(y) + abs(z)


@kernel
def _place_of(values: FloatArray, number: int) -> int:
    """Return the place of a body that others' forces are repeated on; -1 if it is none of these."""
    count = (len(values) - HEADER.size) // FREE.size
    # Bodies of a scene mostly have consecutive ids.
    guess = number - int(values[HEADER.size + FREE.body_id])
    for k in range(-1, count):
        row = guess if k < 0 else k
        if 0 <= row < count:
            body = HEADER.size + FREE.size * row
            if int(values[body + FREE.body_id]) == number:
                return -1 if values[body + FREE.mass] == 0.0 else body
    return -1


@kernel
def find_load(
    values: FloatArray, body: int, dt: float, gx: float, gy: float, gz: float
) -> tuple[bool, bool]:
    """Find the force and torque of others on a body in the first engine step of a step.

    Args:
        values: The bodies; the contacts of that step are noted.
        body: Where the body begins, its state as of after that step.
        dt: Length of that step [s].
        gx: Gravity of the engine [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        True for a force, and True for a torque.
    """
    mass, was, load = values[body + FREE.mass], body + FREE.was, body + FREE.load
    given, pushed = body + FREE.given, body + FREE.pushed
    has_force, has_torque, scale, turned = False, False, values[pushed + 6], 0.0
    for i in range(3):
        gravity = gx if i == 0 else gy if i == 1 else gz
        before, after = values[was + 7 + i], values[body + FREE.velocity + i]
        scale += mass * (abs(before) + abs(after) + dt * abs(gravity))
        impulse = mass * (after - before - dt * gravity) - values[pushed + i]
        values[load + i] = impulse / dt - values[given + i]
    for i in range(3):
        has_force |= abs(values[load + i]) * dt > _ROUNDING * scale
    frame, change, spin = body + FREE.frame, body + FREE.found, was + 10
    momentum, gained, moment = body + FREE.momentum, body + FREE.explicit, 0.0
    rotation_from_quat(values[was + 3 :], values[frame:])
    for i in range(3):
        values[change + i] = values[body + FREE.spin + i] - values[spin + i]
        turned += abs(values[spin + i]) + abs(values[change + i])
        moment = max(moment, values[body + FREE.moments + i])
    by_inertia(values, body, frame, spin, momentum, False)
    by_inertia(values, body, frame, change, gained, False)
    least = _ROUNDING * (moment * turned + values[pushed + 6] * values[body + FREE.reach])
    for i in range(3):
        p, q = (i + 1) % 3, (i + 2) % 3
        torque = (values[gained + i] - values[pushed + 3 + i]) / dt - values[given + 3 + i]
        # The engine's own gyroscopic term.
        torque += values[spin + p] * values[momentum + q] - values[spin + q] * values[momentum + p]
        values[load + 3 + i] = torque
        has_torque |= abs(torque) * dt > least
    for i in range(6):
        if not (has_force if i < 3 else has_torque):
            values[load + i] = 0.0
        values[given + i] = 0.0
    return has_force, has_torque


@kernel
def clear_contacts(values: FloatArray) -> None:
    """Forget the contacts that were noted."""
    for k in range((len(values) - HEADER.size) // FREE.size):
        for i in range(7):
            values[HEADER.size + FREE.size * k + FREE.pushed + i] = 0.0


@kernel
def _rolls(engine: Engine, client: int, number: int, count: int) -> bool:
    """Tell whether a contact of a body may exert a torque that the engine does not tell."""
    for k in range(count):
        words = words_at(engine.contact_points + 8 * POINT_WORDS * k, POINT_WORDS)
        first, second = low_half(words[0] >> 32), low_half(words[1])
        if number not in (first, second):
            continue
        for side in range(2):
            body = second if side else first
            link = low_half(words[2]) if side else low_half(words[1] >> 32)
            info = read_dynamics(engine, client, body, link)
            if info == 0:
                return True
            numbers = doubles_at(info, ROLLING + 2)
            if numbers[ROLLING] != 0.0 or numbers[ROLLING + 1] != 0.0:
                return True
    return False


@kernel
def is_as_stated(values: FloatArray, body: int, numbers: FloatArray) -> bool:
    """Tell whether a body has the mass and the moments that we gave to it, and no damping.

    ``numbers``: those of the engine, as far as DAMPING.
    """
    for i in range(4):
        stated = values[body + FREE.mass] if i == 0 else values[body + FREE.moments + i - 1]
        if abs(numbers[i] - stated) > _SAME * stated:
            return False
    return bool(numbers[DAMPING] == 0.0 and numbers[DAMPING + 1] == 0.0)


@kernel
def find_loads(
    engine: Engine, client: int, values: FloatArray, dt: float, gx: float, gy: float, gz: float
) -> bool:
    """Find what others have given to bodies in the first engine step; ``False``: no answer."""
    if len(values) <= HEADER.size or values[HEADER.is_first] == 0.0:
        return True
    values[HEADER.is_first] = 0.0
    clear_contacts(values)
    count, row = find_contacts(engine, client), values[HEADER.contact :]
    if count < 0:
        return False
    for k in range(count):
        copy_point(engine.contact_points + 8 * POINT_WORDS * k, row, 0)
        note_contact(values, row, dt)
    for k in range((len(values) - HEADER.size) // FREE.size):
        body = HEADER.size + FREE.size * k
        if values[body + FREE.mass] == 0.0 or values[body + FREE.is_held] != 0.0:
            continue
        number, state = int(values[body + FREE.body_id]), body + FREE.position
        if not read_pose(engine, client, number, values, state, body + FREE.velocity):
            return False
        has_force, has_torque = find_load(values, body, dt, gx, gy, gz)
        if not (has_force or has_torque):
            continue
        info = read_dynamics(engine, client, number, -1)
        is_unknown = info == 0 or not is_as_stated(values, body, doubles_at(info, DAMPING + 2))
        turns_unknown = has_torque and _rolls(engine, client, number, count)
        for i in range(6):
            if is_unknown or (turns_unknown and i >= 3):
                values[body + FREE.load + i] = 0.0
        values[HEADER.has_loads] = 1.0
    return True


@kernel
def repeat_loads(engine: Engine, client: int, values: FloatArray) -> bool:
    """Give to bodies again what others have given to them in the first engine step.

    Returns False where the engine does not answer.
    """
    if len(values) <= HEADER.size or values[HEADER.has_loads] == 0.0:
        return True
    for k in range((len(values) - HEADER.size) // FREE.size):
        body = HEADER.size + FREE.size * k
        if values[body + FREE.mass] == 0.0 or values[body + FREE.is_held] != 0.0:
            continue
        number, state = int(values[body + FREE.body_id]), body + FREE.position
        if not read_pose(engine, client, number, values, state, body + FREE.velocity):
            return False
        push(engine, client, values, body, body + FREE.load)
    return True
