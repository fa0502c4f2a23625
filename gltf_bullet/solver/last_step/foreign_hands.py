"""What others do to joints between two steps, noticed from what the engine tells.

``resetJointState``, ``resetBaseVelocity`` and the like leave no trace but this: a step ends where
its new velocities have led, and where no step lies in between, nothing may differ. PyBullet's own
motors are known by what they exert, alone.
"""

from __future__ import annotations

import math

from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import FLOATING, PRISMATIC, REVOLUTE, SPHERICAL
from gltf_bullet.solver.compiling import kernel
from gltf_bullet.solver.last_step.energy_guard import kinetic_energy
from gltf_bullet.transforms import FloatArray, IntArray

SAME = 1e-9
"""[m, rad, and per second] and share, by which sums of the same numbers may differ."""

TURNED = 1e-6
"""[rad] The same of turns."""

LARGEST_TURN = 0.7
"""[rad] per step, up to which the engine turns bases as they spin; faster ones it holds back."""

SILENT = 1e-12
"""[N s, N m s] What no motor that acts exerts."""

SAME_IMPULSE = 1e-12
"""Share by which what a motor exerted is the same, from one step to the next."""

LET_GO = 4
"""Steps after which a motor is taken for switched off, whose last impulse is still told, and of
which the balance of momentum knows nothing ..."""

LET_GO_IN_CONTACT = 16
"""... where contacts act on its axis: they hide what a motor does that is at its largest force, for
some steps (measured: a robot that presses its knees against their stops lost one)."""

UNFELT = 0.2
"""Share of its impulse that such a motor may seem to exert: the rest is missed."""

AT_STOP = 0.02
"""[m, rad] from a hard limit within which the engine's own stop may hold against a motor."""


@kernel
def note_places(ints: IntArray, floats: FloatArray, a: int, is_over: bool) -> None:
    """Remember where the joints of an articulation are, and how they move.

    ``is_over``: no step lies between this and the next reading.
    """
    last, states = ints[a + arena.LAST_STATE], ints[a + arena.STATE]
    for k in range(ints[a + arena.STATE_SIZE]):
        floats[last + k] = floats[states + k]
    floats[ints[a + arena.PLACED]] = 1.0 if is_over else 0.0


@kernel
def _differ(one: float, other: float) -> bool:
    return not abs(one - other) <= SAME * (1.0 + abs(one))


@kernel
def _turn_between(floats: FloatArray, one: int, other: int) -> float:
    """Angle between two rotations xyzw [rad]."""
    x, y, z, w = floats[one], floats[one + 1], floats[one + 2], floats[one + 3]
    p, q, r, s = floats[other], floats[other + 1], floats[other + 2], floats[other + 3]
    i = s * x - p * w - (q * z - r * y)
    j = s * y - q * w - (r * x - p * z)
    k = s * z - r * w - (p * y - q * x)
    return 2.0 * math.atan2(math.sqrt(i * i + j * j + k * k), abs(w * s + x * p + y * q + z * r))


@kernel
def _is_elsewhere(floats: FloatArray, place: int, before: int, size: int, way: float) -> bool:
    """Whether coordinates are not where velocities, ``size`` numbers on, have led in a time."""
    for k in range(size):
        if _differ(floats[place + k], floats[before + k] + way * floats[place + size + k]):
            return True
    return False


@kernel
def _is_turned(floats: FloatArray, place: int, before: int, spin: int, way: float) -> bool:
    """The same of a rotation, whose spin stands elsewhere."""
    x, y, z = floats[spin], floats[spin + 1], floats[spin + 2]
    expected = way * math.sqrt(x * x + y * y + z * z)
    if expected > LARGEST_TURN:
        return False
    return abs(_turn_between(floats, place, before) - expected) > TURNED * (1.0 + expected)


@kernel
def _is_set(ints: IntArray, floats: FloatArray, a: int) -> bool:
    """Whether others have set places or velocities since :func:`note_places`."""
    is_over = floats[ints[a + arena.PLACED]] != 0.0
    way = 0.0 if is_over else floats[ints[a + arena.LAST_DT]]
    if not is_over and (way <= 0.0 or ints[arena.SUBSTEPS] > 1):
        return False
    shift = ints[a + arena.LAST_STATE] - ints[a + arena.STATE]
    for f in range(ints[a + arena.FRAME_COUNT]):
        joint = ints[ints[a + arena.FRAME_JOINT] + f]
        place = ints[ints[a + arena.FRAME_STATE] + f]
        before, size, first = place + shift, 0, 0
        if joint == REVOLUTE or joint == PRISMATIC:
            size, first = 1, 1
            if _is_elsewhere(floats, place, before, 1, way):
                return True
        elif joint == SPHERICAL:
            size, first = 3, 4
            if _is_turned(floats, place, before, place + 4, way):
                return True
        elif joint == FLOATING:
            size, first = 6, 7
            for k in range(3):
                if _differ(floats[place + k], floats[before + k] + way * floats[place + 7 + k]):
                    return True
            if _is_turned(floats, place + 3, before + 3, place + 10, way):
                return True
        if is_over:
            for k in range(first, first + size):
                if _differ(floats[place + k], floats[before + k]):
                    return True
    return False


@kernel
def notice_hands(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> bool:
    """Take what others have set as it is; whether they have.

    Its energy is nobody's mistake, and its change of momentum nobody's load.
    """
    ints[a + arena.SET_BY_OTHERS] = 0
    if not _is_set(ints, floats, a):
        return False
    ints[a + arena.SET_BY_OTHERS] = 1
    ints[a + arena.MISPREDICTED], ints[a + arena.MOTORS], ints[a + arena.SLOWED] = 0, 0, 0
    floats[ints[a + arena.LAST_ENERGY]] = kinetic_energy(ints, work, a)
    velocity, before = ints[a + arena.VELOCITY], ints[a + arena.LAST_VELOCITY]
    for i in range(ints[a + arena.DOF_COUNT]):
        floats[before + i] = work[velocity + i]
    return True


@kernel
def compare_motors(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> None:
    """By how much the motors of others did otherwise than the solve reckoned with."""
    for k in range(ints[a + arena.DOF_COUNT]):
        dof = ints[ints[a + arena.COMMAND_DOF] + k]
        change = 0.0
        if floats[ints[a + arena.TAKEN] + dof] != 0.0:
            change = (
                work[ints[a + arena.MOTOR_FORCE] + k] - floats[ints[a + arena.MOTOR_LOAD] + dof]
            )
        work[ints[a + arena.MOTOR_CHANGE] + dof] = change


@kernel
def _is_driven(ints: IntArray, work: FloatArray, a: int, dof: int) -> bool:
    """Whether a drive of the file acts on a velocity."""
    n = ints[a + arena.DOF_COUNT]
    for r in range(ints[a + arena.ROW_COUNT]):
        unit = ints[ints[a + arena.ROW_DOF] + r]
        acts = unit == dof if unit >= 0 else work[ints[a + arena.ROW_JACOBIAN] + n * r + dof] != 0.0
        if ints[ints[a + arena.ROW_IS_DRIVE] + r] and acts:
            return True
    return False


@kernel
def _is_at_stop(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, dof: int) -> bool:
    """Whether an axis is at a hard limit, whose force nobody tells."""
    for r in range(ints[a + arena.ROW_COUNT]):
        if ints[ints[a + arena.ROW_DOF] + r] != dof or ints[ints[a + arena.ROW_IS_DRIVE] + r]:
            continue
        value = work[ints[a + arena.ROW_VALUE] + r]
        lower = floats[ints[a + arena.ROW_LOWER] + r] + AT_STOP
        upper = floats[ints[a + arena.ROW_UPPER] + r] - AT_STOP
        if math.isinf(floats[ints[a + arena.ROW_STIFFNESS] + r]) and not lower < value < upper:
            return True
    return False


@kernel
def hear_motors(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, dt: float) -> None:
    """Notice axes that a motor of somebody else has, and such that it has let go of.

    What such a motor exerted it is taken to exert in the coming step as well.

    PyBullet goes on telling what a motor exerted last when it is switched off. So it is known to be
    off where that stays the same although the momentum knows of no such force.
    """
    for k in range(ints[a + arena.DOF_COUNT]):
        dof = ints[ints[a + arena.COMMAND_DOF] + k]
        _hear_motor(ints, floats, work, a, k, dof, dt)
        load = ints[a + arena.MOTOR_LOAD] + dof
        floats[load] = 0.0
        if floats[ints[a + arena.TAKEN] + dof] != 0.0:
            floats[load] = work[ints[a + arena.MOTOR_FORCE] + k]


@kernel
def _hear_motor(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, k: int, dof: int, dt: float
) -> None:
    impulse = dt * work[ints[a + arena.MOTOR_FORCE] + k]
    known = work[ints[a + arena.MOTOR_IMPULSE] + k]
    work[ints[a + arena.MOTOR_IMPULSE] + k] = impulse
    taken, quiet = ints[a + arena.TAKEN] + dof, ints[a + arena.QUIET] + dof
    lately = ints[a + arena.LATELY] + dof
    if abs(impulse - known) > SAME_IMPULSE * abs(known) + SILENT:
        floats[quiet] = 0.0
        bound = dt * work[ints[a + arena.MOTOR_BOUND] + k] * (1.0 + SAME)
        is_own = ints[ints[a + arena.OWN_MOTOR] + k] != 0 and abs(impulse) <= bound
        if floats[taken] == 0.0 and not is_own:
            # So far it was a load that nobody knew of.
            floats[taken] = 1.0
            floats[lately], floats[ints[a + arena.UNKNOWN] + dof] = 0.0, 0.0
        return
    if floats[taken] == 0.0 or abs(impulse) <= SILENT or ints[a + arena.CLOSURE_COUNT]:
        return
    is_felt = abs(impulse + dt * floats[lately]) > UNFELT * abs(impulse)
    if is_felt or ints[a + arena.MISPREDICTED] or _is_at_stop(ints, floats, work, a, dof):
        floats[quiet] = 0.0
        return
    floats[quiet] += 1.0
    is_free = work[ints[a + arena.CONTACT_FORCE] + dof] == 0.0
    if floats[quiet] >= (LET_GO if is_free else LET_GO_IN_CONTACT):
        floats[quiet] = 0.0
        if _is_driven(ints, work, a, dof):  # else there is nothing to give the axis back to
            floats[taken], floats[lately] = 0.0, 0.0
            floats[ints[a + arena.UNKNOWN] + dof] = 0.0


@kernel
def is_taken(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, r: int) -> bool:
    """Whether somebody else's motor has an axis that a row acts on."""
    n, taken = ints[a + arena.DOF_COUNT], ints[a + arena.TAKEN]
    unit = ints[ints[a + arena.ROW_DOF] + r]
    if unit >= 0:
        return bool(floats[taken + unit] != 0.0)
    row = ints[a + arena.ROW_JACOBIAN] + n * r
    for k in range(n):  # noqa: SIM110  # kernels know no generators
        if floats[taken + k] != 0.0 and work[row + k] != 0.0:
            return True
    return False
