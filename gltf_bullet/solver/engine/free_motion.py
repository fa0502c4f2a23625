"""Forces that free bodies need before an engine step, and marks of those that went too far in it.

*Before*: gravity that the engine lacks, and gyroscopic torques. Bullet takes ``-w x I w`` at the
beginning of a step: a body that tumbles at 5 rad/s gained half its energy in 5 s at 240 Hz
(measured). A body turns through a step with the new spin, so spins belong to the middle of steps:
here the spin after the step carries the momentum of the last one, both with the orientation at
mid-step. Orientations at the end of the step keep momentum, too, but waste energy: 9 % in 5 s at 9
rad/s and 240 Hz about the middle axis, 29 % at 60 (measured).

*After*: bodies that went further than they are thick, with something around them, are found; where
they passed a surface Python puts them back (``bullet.contacts.fast_bodies``).

Both are one pass over one table; Python makes the same pass where kernels cannot call the engine.
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import call, kernel
from gltf_bullet.solver.engine.calls import (
    MOST_RAYS,
    Engine,
    add_ray,
    begin_rays,
    cast_rays,
    is_alone_in_box,
    is_hit,
    read_pose,
    submit,
)
from gltf_bullet.solver.engine.free_records import FREE, HEADER
from gltf_bullet.solver.tree_kinematics import multiply, rotation_from_quat
from gltf_bullet.transforms import FloatArray

ENERGY_DRIFT = 1e-4
"""Relative energy error per second above which a tumbling body gets the correction."""
_MOST_SHIFT = 0.5
"""Relative change of ``w I w`` within a step above which the step is too long for the torques."""
_ENDLESS = 1e6
"""Ratio of moments from which on the larger stand for infinite ones. What they lack of their
momentum by rounding would spin the body about the others (measured: 1 rad/s became 184 in 2 s), so
spins stay as they are."""
_SLENDER = 1e3
"""Ratio of the two larger moments to the least from which on a body keeps its spin about the axis
of that one, as thin rods do. The momentum about it is nothing beside that of the others: found as
what is left of it, the spin of a rod of 1 m was lost (measured, 20 rad/s of rods of 1.4 and 1 mm:
7.2 and 0.15 after a second)."""
_ITERATIONS = 4
"""Passes of the fixed point for the new spin."""
_WORLD_FRAME = 2
_SWEEP_MARGIN = 0.9
"""Share of a body's limit of travel per step above which its spin counts as well."""
_SUDDEN_SPEED = 3.0
"""Change of speed [m/s] that a body may get within a step without a warning: bodies thinner than
the distance that this makes in a step are read in every step."""
_FEW = 16
"""Number of bodies that are read after every step."""
_LARGEST_TURN = 0.25 * math.pi
"""[rad] in a step, above which the engine turns bodies by less than their spin says."""
_LONGEST_PAUSE = 8
"""Largest number of steps between two readings of thicker bodies; users may set velocities any
time."""

# --- before the step ------------------------------------------------------------------------------


@kernel
def by_inertia(
    values: FloatArray, body: int, frame: int, vector: int, result: int, inverse: bool
) -> None:
    """Multiply a vector by the inertia with principal axes ``frame``, or by its ``inverse``.

    That is not found by a solve: moments may differ by more than doubles can tell.
    """
    a, b, c = 0.0, 0.0, 0.0
    for i in range(3):
        number = values[vector + i]
        a += values[frame + 3 * i] * number
        b += values[frame + 3 * i + 1] * number
        c += values[frame + 3 * i + 2] * number
    moments = body + FREE.moments
    if inverse:
        a, b, c = a / values[moments], b / values[moments + 1], c / values[moments + 2]
    else:
        a, b, c = a * values[moments], b * values[moments + 1], c * values[moments + 2]
    for i in range(3):
        row = frame + 3 * i
        values[result + i] = values[row] * a + values[row + 1] * b + values[row + 2] * c


@kernel
def _turn(values: FloatArray, body: int, spin: int, time: float) -> None:
    """Turn the principal axes by a spin for some time [s]: ``turned`` of ``frame``."""
    x, y, z = time * values[spin], time * values[spin + 1], time * values[spin + 2]
    angle = math.sqrt(x * x + y * y + z * z)
    factor = math.sin(0.5 * angle) / angle if angle > 0.0 else 0.5
    half = body + FREE.half
    values[half], values[half + 1], values[half + 2] = factor * x, factor * y, factor * z
    values[half + 3] = math.cos(0.5 * angle)
    rotation_from_quat(values[half:], values[body + FREE.turn :])
    frame, turned = body + FREE.frame, body + FREE.turned
    multiply(values[body + FREE.turn :], values[frame:], values[turned:])


@kernel
def _drifts(values: FloatArray, body: int, dt: float) -> bool:
    """Tell whether the engine's explicit term changes the energy by more than the threshold.

    It does not for a capsule that rolls about its own axis.
    """
    frame, spin, moments = body + FREE.frame, body + FREE.spin, body + FREE.moments
    u, v, s = 0.0, 0.0, 0.0
    for i in range(3):
        u += values[frame + 3 * i] * values[spin + i]
        v += values[frame + 3 * i + 1] * values[spin + i]
        s += values[frame + 3 * i + 2] * values[spin + i]
    i, j, k = values[moments], values[moments + 1], values[moments + 2]
    e, f, g = (k - j) * v * s, (i - k) * s * u, (j - i) * u * v
    growth = (e * e / i if i else 0.0) + (f * f / j if j else 0.0) + (g * g / k if k else 0.0)
    return not growth * dt <= ENERGY_DRIFT * (i * u * u + j * v * v + k * s * s)


@kernel
def _slender_axis(a: float, b: float, c: float) -> int:
    """Return the axis of a slender body, of principal moments ``a, b, c`` [kg m^2]; -1: it is none.

    The other two are alike, as those of any body are.
    """
    least, largest = min(a, min(b, c)), max(a, max(b, c))
    middle = a + b + c - least - largest
    if middle <= _SLENDER * least or largest > 2.0 * middle:
        return -1
    return 0 if a == least else 1 if b == least else 2


@kernel
def find_torque(values: FloatArray, body: int, dt: float) -> bool:
    """Find the torque that keeps a body's angular momentum through the coming step of ``dt`` [s].

    Args:
        values: The bodies.
        body: Where one of them begins, its state as of now.
        dt: Length of the engine's step.

    Returns:
        False if the body needs none.
    """
    spin = body + FREE.spin
    x, y, z = values[spin], values[spin + 1], values[spin + 2]
    if (x * x + y * y + z * z) * dt <= values[body + FREE.slow]:
        return False
    frame, turned = body + FREE.frame, body + FREE.turned
    rotation_from_quat(values[body + FREE.rotation :], values[frame:])
    if not _drifts(values, body, dt):
        return False
    torque, momentum, found = (
        body + FREE.torque, body + FREE.momentum, body + FREE.found,
    )  # fmt: skip
    # The engine's own term, which is taken back.
    by_inertia(values, body, frame, spin, momentum, False)
    energy = 0.0
    for i in range(3):
        energy += values[spin + i] * values[momentum + i]
    explicit = body + FREE.explicit
    values[explicit] = y * values[momentum + 2] - z * values[momentum + 1]
    values[explicit + 1] = z * values[momentum] - x * values[momentum + 2]
    values[explicit + 2] = x * values[momentum + 1] - y * values[momentum]
    for i in range(3):
        values[torque + i] = values[explicit + i]
    moments = body + FREE.moments
    a, b, c = values[moments], values[moments + 1], values[moments + 2]
    axis = _slender_axis(a, b, c)
    if axis < 0 and max(a, max(b, c)) > _ENDLESS * min(a, min(b, c)):
        return True
    own = 0.0
    _turn(values, body, spin, -0.5 * dt)
    by_inertia(values, body, turned, spin, momentum, False)
    for i in range(3):
        values[found + i] = values[spin + i]
    if axis >= 0:
        for i in range(3):
            own += values[frame + 3 * i + axis] * values[spin + i]
    for _ in range(_ITERATIONS):
        _turn(values, body, found, 0.5 * dt)
        by_inertia(values, body, turned, momentum, found, True)
        if axis >= 0:
            along = own
            for i in range(3):
                along -= values[turned + 3 * i + axis] * values[found + i]
            for i in range(3):
                values[found + i] += along * values[turned + 3 * i + axis]
    # Seen with the old orientation, the energy of a spin that is right differs as well. Beyond a
    # turn of about a radian per step the fixed point of slender bodies may not exist; what it then
    # gives is another energy, which contacts turn into speed (measured: rods of 10 cm left the
    # floor with 40 times their energy): the spin stays as it is.
    by_inertia(values, body, frame, found, momentum, False)
    after = 0.0
    for i in range(3):
        after += values[found + i] * values[momentum + i]
    if abs(after - energy) > _MOST_SHIFT * energy:
        return True
    for i in range(3):
        values[found + i] -= values[spin + i]
    by_inertia(values, body, frame, found, momentum, False)
    for i in range(3):
        values[torque + i] += values[momentum + i] / dt
    return True


@kernel
def find_forces(values: FloatArray, body: int, dt: float, gx: float, gy: float, gz: float) -> bool:
    """Find the force and the torque that a body needs in the coming step of ``dt`` seconds.

    Returns:
        False if it needs neither.
    """
    lifted, force, torque = values[body + FREE.lifted], body + FREE.force, body + FREE.torque
    for i in range(3):
        values[torque + i] = 0.0
    values[force], values[force + 1], values[force + 2] = lifted * gx, lifted * gy, lifted * gz
    needs_torque = values[body + FREE.tumbles] != 0.0 and find_torque(values, body, dt)
    return bool(needs_torque or lifted != 0.0)


@kernel
def push(engine: Engine, client: int, values: FloatArray, body: int, force: int) -> None:
    """Apply a force and a torque to a body that was read: six numbers from ``force`` on."""
    number, at = int(values[body + FREE.body_id]), values.ctypes.data
    if values[force] != 0.0 or values[force + 1] != 0.0 or values[force + 2] != 0.0:
        command, place = call(engine.force_command, (client,)), at + 8 * (body + FREE.position)
        call(engine.force, (command, number, -1, at + 8 * force, place, _WORLD_FRAME))
        submit(engine, client, command)
    torque = force + 3
    if values[torque] != 0.0 or values[torque + 1] != 0.0 or values[torque + 2] != 0.0:
        command = call(engine.force_command, (client,))
        call(engine.torque, (command, number, -1, at + 8 * torque, _WORLD_FRAME))
        submit(engine, client, command)


@kernel
def apply_forces(
    engine: Engine, client: int, values: FloatArray, dt: float, gx: float, gy: float, gz: float
) -> bool:
    """Read the bodies that need forces, and apply these; ``False`` without an answer."""
    if len(values) == 0 or values[HEADER.needs_forces] == 0.0:
        return True
    for k in range((len(values) - HEADER.size) // FREE.size):
        body = HEADER.size + FREE.size * k
        needs = values[body + FREE.tumbles] != 0.0 or values[body + FREE.lifted] != 0.0
        if values[body + FREE.is_held] != 0.0 or not needs:
            continue
        number = int(values[body + FREE.body_id])
        if not read_pose(
            engine, client, number, values, body + FREE.position, body + FREE.velocity
        ):
            return False
        if find_forces(values, body, dt, gx, gy, gz):
            push(engine, client, values, body, body + FREE.force)
    return True


# --- after the step -------------------------------------------------------------------------------


@kernel
def goes_too_far(values: FloatArray, body: int, dt: float) -> float:
    """By how much a body goes further in a step of ``dt`` seconds than it may unseen [m].

    What hardly leaves its place is no matter, however it spins.
    """
    speed, turn = 0.0, 0.0
    for i in range(3):
        velocity, spin = values[body + FREE.velocity + i], values[body + FREE.spin + i]
        speed += velocity * velocity
        turn += spin * spin
    way, furthest = dt * math.sqrt(speed), values[body + FREE.furthest]
    if way > _SWEEP_MARGIN * furthest:
        way += dt * math.sqrt(turn) * values[body + FREE.half_length]
    return float(way - furthest)


@kernel
def safe_steps(values: FloatArray, spare: float, dt: float, gravity: float) -> float:
    """Number of steps in which no body becomes fast, if the fastest has ``spare`` metres left."""
    is_few = len(values) <= HEADER.size + _FEW * FREE.size
    if is_few or values[HEADER.thinnest] < _SUDDEN_SPEED * dt:
        return 0.0
    # Twice the gravity that there is, for forces that are not gravity.
    gain = 2.0 * gravity * dt * dt
    pause = 0.5 * spare / gain if gain > 0.0 else 1e9
    return float(int(min(max(pause, 0.0), _LONGEST_PAUSE)))


@kernel
def _is_among_others(engine: Engine, client: int, values: FloatArray, body: int, dt: float) -> bool:
    """Tell whether other bodies are around a body, as far as it goes in a step."""
    for i in range(3):
        way = dt * abs(values[body + FREE.velocity + i]) + values[body + FREE.reach]
        # The ends of the box take the place of forces, which are over.
        values[body + FREE.force + i] = values[body + FREE.position + i] - way
        values[body + FREE.torque + i] = values[body + FREE.position + i] + way
    low = values.ctypes.data + 8 * (body + FREE.force)
    high = values.ctypes.data + 8 * (body + FREE.torque)
    return not is_alone_in_box(engine, client, int(values[body + FREE.body_id]), low, high)


@kernel
def turned_share(angle: float) -> float:
    """Return the share of the turn that a spin makes in a step [rad] by which the engine turns.

    It limits the angle, but not the axis that it multiplies with the sine of half of it. Of 3240
    shots 18 were lost that spun at 150 to 700 rad/s once a corner had hit: turned back by the whole
    angle they seemed to have begun in the wall.
    """
    if angle <= _LARGEST_TURN:
        return 1.0
    tangent = angle / _LARGEST_TURN * math.tan(0.5 * _LARGEST_TURN)
    return 2.0 * math.atan(tangent) / angle


@kernel
def _add_rays(engine: Engine, command: int, values: FloatArray, body: int, dt: float) -> None:
    """Add the paths of a body's probes, longer by their reaches, to a cast of rays.

    Those are the rays of ``fast_bodies.FastPath.probe_paths``.
    """
    spin, turn = 0.0, -dt
    for i in range(3):
        spin += values[body + FREE.spin + i] * values[body + FREE.spin + i]
    turn *= turned_share(dt * math.sqrt(spin))
    frame, turned = body + FREE.frame, body + FREE.turned
    rotation_from_quat(values[body + FREE.rotation :], values[frame:])
    _turn(values, body, body + FREE.spin, turn)
    ray = HEADER.ray
    at = values.ctypes.data + 8 * ray
    for k in range(int(values[body + FREE.probe_count])):
        probe, length = body + FREE.probes + 3 * k, 0.0
        for i in range(3):
            start, end = 0.0, 0.0
            for m in range(3 if values[body + FREE.is_central] == 0.0 else 0):
                start += values[turned + 3 * i + m] * values[probe + m]
                end += values[frame + 3 * i + m] * values[probe + m]
            end += values[body + FREE.position + i]
            start += values[body + FREE.position + i] - dt * values[body + FREE.velocity + i]
            values[ray + i], values[ray + 3 + i] = start, end
            length += (end - start) * (end - start)
        length, before = max(math.sqrt(length), 1e-12), 0.0
        if values[body + FREE.is_ball] != 0.0:  # from inside, rays hit the ball itself
            before = (1.0 + 1e-6) * values[body + FREE.half_thickness]
        for i in range(3):
            along = (values[ray + 3 + i] - values[ray + i]) / length
            values[ray + i] += before * along
            values[ray + 3 + i] += values[body + FREE.reaches + k] * along
        add_ray(engine, command, at, at + 24)


@kernel
def _is_cast(values: FloatArray, body: int, rays: int) -> bool:
    """Tell whether rays decide on a marked body, after so many of others; else Python does."""
    if values[body + FREE.is_fast] == 0.0 or values[body + FREE.is_stopped] != 0.0:
        return False
    count = int(values[body + FREE.probe_count])
    return 0 < count <= MOST_RAYS - rays


@kernel
def _keep_those_that_hit(
    engine: Engine, client: int, values: FloatArray, dt: float, count: int
) -> int:
    """Take the marks of bodies that nothing is in the way of; how many of ``count`` are left."""
    command, rays, bodies = begin_rays(engine, client), 0, (len(values) - HEADER.size) // FREE.size
    for k in range(bodies):
        body = HEADER.size + FREE.size * k
        if _is_cast(values, body, rays):
            _add_rays(engine, command, values, body, dt)
            rays += int(values[body + FREE.probe_count])
    if rays == 0:
        return count
    hits, rays = cast_rays(engine, client, command), 0
    for k in range(bodies):
        body = HEADER.size + FREE.size * k
        if not _is_cast(values, body, rays):
            continue
        own, has_hit = int(values[body + FREE.probe_count]), False
        for m in range(own):
            has_hit |= is_hit(hits, rays + m)
        rays += own
        if not has_hit:
            values[body + FREE.is_fast] = 0.0
            count -= 1
    return count


@kernel
def look_for_fast(
    engine: Engine, client: int, values: FloatArray, dt: float, gx: float, gy: float, gz: float
) -> int:
    """Mark the bodies that may have passed something in the last step; how many, -1: no answer."""
    if len(values) == 0 or math.isinf(values[HEADER.thinnest]):
        return 0
    if values[HEADER.pause] > 0.0:
        values[HEADER.pause] -= 1.0
        return 0
    count, spare = 0, math.inf
    for k in range((len(values) - HEADER.size) // FREE.size):
        body = HEADER.size + FREE.size * k
        values[body + FREE.is_fast] = 0.0
        if math.isinf(values[body + FREE.furthest]) or values[body + FREE.is_held] != 0.0:
            continue
        number = int(values[body + FREE.body_id])
        if not read_pose(
            engine, client, number, values, body + FREE.position, body + FREE.velocity
        ):
            return -1
        beyond = goes_too_far(values, body, dt)
        spare = min(spare, -beyond)
        if beyond > 0.0 and _is_among_others(engine, client, values, body, dt):
            values[body + FREE.is_fast] = 1.0
            count += 1
    values[HEADER.pause] = safe_steps(values, spare, dt, math.sqrt(gx * gx + gy * gy + gz * gz))
    return _keep_those_that_hit(engine, client, values, dt, count) if count else 0
