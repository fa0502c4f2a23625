"""The gyroscopic torques of free bodies, so that what tumbles keeps its angular momentum.

Bullet takes ``-w x I w`` at the beginning of a step: a body that tumbles at 5 rad/s gained half
its energy in 5 s at 240 Hz (measured). A body turns through a step with the new spin, so spins
belong to the middle of steps: here the spin after the step carries the momentum of the last one,
both with the orientation at mid-step. Orientations at the end of the step keep momentum, too, but
waste energy: 9 % in 5 s at 9 rad/s and 240 Hz about the middle axis, 29 % at 60 (measured).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from gltf_bullet.numba_aot import IntTable, call, entry, ints_at, kernel
from gltf_bullet.solver.engine.calls import Engine, engine_at, engine_client, read_pose, submit
from gltf_bullet.solver.scene_table import SCENE
from gltf_bullet.solver.tables import offsets
from gltf_bullet.solver.tree_kinematics import multiply, rotation_from_quat
from gltf_bullet.transforms import FloatArray

__all__ = ["ENERGY_DRIFT", "HEADER", "SPINNING", "find_torque", "steady_spins"]

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

HEADER = 1
"""Numbers before the bodies: the largest squared speed [m^2/s^2] of all of them."""


class _Spinning(NamedTuple):
    """One body: what is known of it, what is read of it, and the torque that it needs."""

    body_id: int = 1
    slow: int = 1
    """Squared spin [rad^2/s^2] times time step [s] up to which the engine is right enough."""
    moments: int = 3
    """Principal moments of inertia [kg m^2]."""
    position: int = 3
    rotation: int = 4
    """xyzw, world from principal axes."""
    velocity: int = 3
    spin: int = 3
    """[rad/s], world axes."""
    torque: int = 3
    """[N m], world axes."""
    frame: int = 9
    """[3, 3] scratch: principal axes now, as a matrix."""
    turn: int = 9
    turned: int = 9
    """[3, 3] scratch: principal axes at another time of the step."""
    half: int = 4
    momentum: int = 3
    found: int = 3
    explicit: int = 3
    size: int = 0


SPINNING = offsets(_Spinning)


@kernel
def _by_inertia(
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
    moments = body + SPINNING.moments
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
    half = body + SPINNING.half
    values[half], values[half + 1], values[half + 2] = factor * x, factor * y, factor * z
    values[half + 3] = math.cos(0.5 * angle)
    rotation_from_quat(values, half, values, body + SPINNING.turn)
    frame, turned = body + SPINNING.frame, body + SPINNING.turned
    multiply(values, body + SPINNING.turn, values, frame, values, turned)


@kernel
def _drifts(values: FloatArray, body: int, dt: float) -> bool:
    """Tell whether the engine's explicit term changes the energy by more than the threshold.

    It does not for a capsule that rolls about its own axis.
    """
    frame, spin, moments = body + SPINNING.frame, body + SPINNING.spin, body + SPINNING.moments
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
    spin = body + SPINNING.spin
    x, y, z = values[spin], values[spin + 1], values[spin + 2]
    if (x * x + y * y + z * z) * dt <= values[body + SPINNING.slow]:
        return False
    frame, turned = body + SPINNING.frame, body + SPINNING.turned
    rotation_from_quat(values, body + SPINNING.rotation, values, frame)
    if not _drifts(values, body, dt):
        return False
    torque, momentum, found = (
        body + SPINNING.torque, body + SPINNING.momentum, body + SPINNING.found,
    )  # fmt: skip
    # The engine's own term, which is taken back.
    _by_inertia(values, body, frame, spin, momentum, False)
    energy = 0.0
    for i in range(3):
        energy += values[spin + i] * values[momentum + i]
    explicit = body + SPINNING.explicit
    values[explicit] = y * values[momentum + 2] - z * values[momentum + 1]
    values[explicit + 1] = z * values[momentum] - x * values[momentum + 2]
    values[explicit + 2] = x * values[momentum + 1] - y * values[momentum]
    for i in range(3):
        values[torque + i] = values[explicit + i]
    moments = body + SPINNING.moments
    a, b, c = values[moments], values[moments + 1], values[moments + 2]
    axis = _slender_axis(a, b, c)
    if axis < 0 and max(a, max(b, c)) > _ENDLESS * min(a, min(b, c)):
        return True
    own = 0.0
    _turn(values, body, spin, -0.5 * dt)
    _by_inertia(values, body, turned, spin, momentum, False)
    for i in range(3):
        values[found + i] = values[spin + i]
    if axis >= 0:
        for i in range(3):
            own += values[frame + 3 * i + axis] * values[spin + i]
    for _ in range(_ITERATIONS):
        _turn(values, body, found, 0.5 * dt)
        _by_inertia(values, body, turned, momentum, found, True)
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
    _by_inertia(values, body, frame, found, momentum, False)
    after = 0.0
    for i in range(3):
        after += values[found + i] * values[momentum + i]
    if abs(after - energy) > _MOST_SHIFT * energy:
        return True
    for i in range(3):
        values[found + i] -= values[spin + i]
    _by_inertia(values, body, frame, found, momentum, False)
    for i in range(3):
        values[torque + i] += values[momentum + i] / dt
    return True


@kernel
def _apply(engine: Engine, client: int, values: FloatArray, body: int) -> None:
    command = call(engine.force_command, (client,))
    address = values.ctypes.data + 8 * (body + SPINNING.torque)
    number = int(values[body + SPINNING.body_id])
    call(engine.torque, (command, number, -1, address, _WORLD_FRAME))
    submit(engine, client, command)


@entry
def steady_spins(scenes: IntTable, values: FloatArray, dt: float) -> int:
    """Read free bodies and apply the torques that they need in the coming engine step.

    Args:
        scenes: A row of the world, for its engine: see ``scene_table.row_of``.
        values: HEADER numbers, then SPINNING.size of each body.
        dt: Length of the engine's step [s].

    Returns:
        How many torques were applied, -1 if the engine does not answer.
    """
    engine = engine_at(ints_at(scenes, 0, SCENE.engine), 0)
    client = engine_client(engine)
    if client == 0:
        return -1
    count, fastest = 0, 0.0
    for k in range((len(values) - HEADER) // SPINNING.size):
        body = HEADER + SPINNING.size * k
        number = int(values[body + SPINNING.body_id])
        position, velocity = body + SPINNING.position, body + SPINNING.velocity
        if not read_pose(engine, client, number, values, position, velocity):
            return -1
        speed = 0.0
        for i in range(3):
            speed += values[velocity + i] * values[velocity + i]
        fastest = max(fastest, speed)
        if find_torque(values, body, dt):
            _apply(engine, client, values, body)
            count += 1
    values[0] = fastest
    return count
