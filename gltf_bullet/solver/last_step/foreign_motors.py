"""PyBullet's own motors on our joints, known by what they exert, alone."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver import arena
from gltf_bullet.solver.last_step.foreign_hands import SAME
from gltf_bullet.transforms import FloatArray, IntArray

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
"""Share of its impulse that such a motor may seem to exert: the rest is missed, all at once."""

GETS_USED = 0.2
"""Share of what is missed that no longer counts a step later: loads that grow against a motor at
its largest force, as damping does, are no sign of it."""

AT_STOP = 0.02
"""[m, rad] from a hard limit within which the engine's own stop may hold against a motor."""


OLD_NEWS = -1.0
"""Instead of a count of quiet steps: what is told is of a motor of ours, switched off meanwhile or
before a state was taken back. A load of 4 steps that was as large took a walker's knee, and two
limbs of a ragdoll that lay on the floor, from their drives."""


@kernel
def _force_told(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, k: int, dt: float
) -> float:
    """What a motor exerted in the last step; the engine divides by the length of one now."""
    told, last_dt = work[ints[a + arena.MOTOR_FORCE] + k], floats[ints[a + arena.LAST_DT]]
    return float(told * dt / last_dt if last_dt > 0.0 else told)


@kernel
def compare_motors(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, dt: float) -> None:
    """By how much the motors of others did otherwise than the solve reckoned with.

    ``dt`` is the length that a step has now.
    """
    for k in range(ints[a + arena.DOF_COUNT]):
        dof = ints[ints[a + arena.COMMAND_DOF] + k]
        if floats[ints[a + arena.IS_HEARD] + dof] != 0.0:
            continue
        change = 0.0
        if floats[ints[a + arena.TAKEN] + dof] != 0.0:
            change = _force_told(ints, floats, work, a, k, dt)
            change -= floats[ints[a + arena.MOTOR_LOAD] + dof]
        floats[ints[a + arena.MOTOR_CHANGE] + dof] = change


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
        load, taken = ints[a + arena.MOTOR_LOAD] + dof, ints[a + arena.TAKEN] + dof
        if floats[ints[a + arena.IS_HEARD] + dof] != 0.0:
            _hear_again(ints, floats, work, a, k, dof, dt)
        else:
            _hear_motor(ints, floats, work, a, k, dof, dt)
            floats[load] = _force_told(ints, floats, work, a, k, dt)
        if floats[taken] == 0.0:
            floats[load] = 0.0


@kernel
def _hear_again(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, k: int, dof: int, dt: float
) -> None:
    """Take what the engine tells of a motor for old: it was heard already, or was switched off.

    After a snapshot was taken back it is of another moment. What was known holds on; but a motor
    that has exerted nothing has nothing.
    """
    impulse = dt * work[ints[a + arena.MOTOR_FORCE] + k]
    floats[ints[a + arena.MOTOR_IMPULSE] + k] = impulse
    floats[ints[a + arena.IS_HEARD] + dof] = 0.0
    if abs(impulse) <= SILENT:
        floats[ints[a + arena.TAKEN] + dof] = 0.0


@kernel
def _hear_motor(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, k: int, dof: int, dt: float
) -> None:
    impulse, last = dt * work[ints[a + arena.MOTOR_FORCE] + k], ints[a + arena.MOTOR_IMPULSE] + k
    is_same = abs(impulse - floats[last]) <= SAME_IMPULSE * abs(floats[last]) + SILENT
    floats[last] = impulse
    taken, quiet = ints[a + arena.TAKEN] + dof, ints[a + arena.QUIET] + dof
    lately, felt = ints[a + arena.LATELY] + dof, ints[a + arena.FELT] + dof
    bound = floats[ints[a + arena.LAST_DT]] * work[ints[a + arena.MOTOR_BOUND] + k] * (1.0 + SAME)
    is_own = ints[ints[a + arena.OWN_MOTOR] + k] != 0 and abs(impulse) <= bound
    is_mine = floats[taken] == 0.0 and is_own
    if not is_same:
        floats[quiet], floats[felt] = OLD_NEWS if is_mine else 0.0, floats[lately]
        if floats[taken] == 0.0 and not is_own:
            _take_over(ints, floats, a, dof)
        return
    if is_mine or abs(impulse) <= SILENT or ints[a + arena.CLOSURE_COUNT]:
        return
    if floats[taken] == 0.0 and floats[quiet] == OLD_NEWS:
        return
    if ints[a + arena.MISPREDICTED] or _is_at_stop(ints, floats, work, a, dof):
        floats[quiet] = 0.0
        return
    if floats[taken] == 0.0:
        # At its largest force, and unheard of since a state was taken back: a load is as large.
        is_felt = abs(dt * floats[lately] - impulse) <= UNFELT * abs(impulse)
        floats[quiet] = floats[quiet] + 1.0 if is_felt else 0.0
        if floats[quiet] >= LET_GO:
            _take_over(ints, floats, a, dof)
        return
    missing = floats[lately] - floats[felt]
    if abs(impulse + dt * missing) > UNFELT * abs(impulse):
        floats[quiet] = 0.0
        floats[felt] += GETS_USED * missing
        return
    floats[quiet] += 1.0
    is_free = work[ints[a + arena.CONTACT_FORCE] + dof] == 0.0
    if floats[quiet] >= (LET_GO if is_free else LET_GO_IN_CONTACT):
        floats[quiet] = 0.0
        if _is_driven(ints, work, a, dof):  # else there is nothing to give the axis back to
            floats[taken], floats[lately] = 0.0, 0.0
            floats[ints[a + arena.UNKNOWN] + dof] = 0.0


@kernel
def _take_over(ints: IntArray, floats: FloatArray, a: int, dof: int) -> None:
    """Give an axis to a motor of somebody else, which was a load so far that nobody knew of."""
    ints[a + arena.TAKES_OVER] = 1
    floats[ints[a + arena.TAKEN] + dof] = 1.0
    floats[ints[a + arena.QUIET] + dof], floats[ints[a + arena.LATELY] + dof] = 0.0, 0.0
    floats[ints[a + arena.FELT] + dof], floats[ints[a + arena.UNKNOWN] + dof] = 0.0, 0.0


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


@kernel
def hear_before_saving(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, dt: float
) -> None:
    """Let the memory hold what the engine tells now: no snapshot of PyBullet does."""
    compare_motors(ints, floats, work, a, dt)
    hear_motors(ints, floats, work, a, dt)
    for k in range(ints[a + arena.DOF_COUNT]):
        dof = ints[ints[a + arena.COMMAND_DOF] + k]
        floats[ints[a + arena.IS_HEARD] + dof] = 1.0
        if abs(floats[ints[a + arena.MOTOR_IMPULSE] + k]) <= SILENT:
            floats[ints[a + arena.TAKEN] + dof] = 0.0
