"""PyBullet's own motors on our joints, known by what they exert, alone."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import Articulation
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
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    k: int,
    dt: float,
) -> float:
    """What a motor exerted in the last step; the engine divides by the length of one now."""
    told, last_dt = work[articulation.motor_force + k], floats[articulation.last_dt]
    return float(told * dt / last_dt if last_dt > 0.0 else told)


@kernel
def compare_motors(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """By how much the motors of others did otherwise than the solve reckoned with.

    ``dt`` is the length that a step has now.
    """
    for k in range(articulation.dof_count):
        dof = ints[articulation.command_dof + k]
        if floats[articulation.motor_force_is_old + dof] != 0.0:
            continue
        change = 0.0
        if floats[articulation.externally_driven + dof] != 0.0:
            change = _force_told(floats, work, articulation, k, dt)
            change -= floats[articulation.external_motor_force + dof]
        floats[articulation.external_motor_change + dof] = change


@kernel
def _is_driven(ints: IntArray, work: FloatArray, articulation: Articulation, dof: int) -> bool:
    """Whether a drive of the file acts on a velocity."""
    n = articulation.dof_count
    for r in range(articulation.row_count):
        unit = ints[articulation.row_dof + r]
        acts = unit == dof if unit >= 0 else work[articulation.row_jacobian + n * r + dof] != 0.0
        if ints[articulation.row_is_drive + r] and acts:
            return True
    return False


@kernel
def _is_at_stop(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dof: int
) -> bool:
    """Whether an axis is at a hard limit, whose force nobody tells."""
    for r in range(articulation.row_count):
        if ints[articulation.row_dof + r] != dof or ints[articulation.row_is_drive + r]:
            continue
        value = work[articulation.row_value + r]
        lower = floats[articulation.row_lower + r] + AT_STOP
        upper = floats[articulation.row_upper + r] - AT_STOP
        if math.isinf(floats[articulation.row_stiffness + r]) and not lower < value < upper:
            return True
    return False


@kernel
def hear_motors(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Notice axes that a motor of somebody else has, and such that it has let go of.

    What such a motor exerted it is taken to exert in the coming step as well.

    PyBullet goes on telling what a motor exerted last when it is switched off. So it is known to be
    off where that stays the same although the momentum knows of no such force.
    """
    for k in range(articulation.dof_count):
        dof = ints[articulation.command_dof + k]
        load, taken = articulation.external_motor_force + dof, articulation.externally_driven + dof
        if floats[articulation.motor_force_is_old + dof] != 0.0:
            _hear_again(floats, work, articulation, k, dof, dt)
        else:
            _hear_motor(ints, floats, work, articulation, k, dof, dt)
            floats[load] = _force_told(floats, work, articulation, k, dt)
        if floats[taken] == 0.0:
            floats[load] = 0.0


@kernel
def _hear_again(
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    k: int,
    dof: int,
    dt: float,
) -> None:
    """Take what the engine tells of a motor for old: it was heard already, or was switched off.

    After a snapshot was taken back it is of another moment. What was known holds on; but a motor
    that has exerted nothing has nothing.
    """
    impulse = dt * work[articulation.motor_force + k]
    floats[articulation.last_motor_impulse + k] = impulse
    floats[articulation.motor_force_is_old + dof] = 0.0
    if abs(impulse) <= SILENT:
        floats[articulation.externally_driven + dof] = 0.0


@kernel
def _hear_motor(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    k: int,
    dof: int,
    dt: float,
) -> None:
    impulse, last = dt * work[articulation.motor_force + k], articulation.last_motor_impulse + k
    is_same = abs(impulse - floats[last]) <= SAME_IMPULSE * abs(floats[last]) + SILENT
    floats[last] = impulse
    taken, quiet = articulation.externally_driven + dof, articulation.idle_steps + dof
    lately, felt = articulation.momentum_residual + dof, articulation.usual_residual + dof
    bound = floats[articulation.last_dt] * work[articulation.motor_bound + k] * (1.0 + SAME)
    is_own = ints[articulation.own_motor + k] != 0 and abs(impulse) <= bound
    is_mine = floats[taken] == 0.0 and is_own
    if not is_same:
        floats[quiet], floats[felt] = OLD_NEWS if is_mine else 0.0, floats[lately]
        if floats[taken] == 0.0 and not is_own:
            _take_over(floats, articulation, dof)
        return
    if is_mine or abs(impulse) <= SILENT or articulation.closure_count:
        return
    if floats[taken] == 0.0 and floats[quiet] == OLD_NEWS:
        return
    if articulation.mispredicted or _is_at_stop(ints, floats, work, articulation, dof):
        floats[quiet] = 0.0
        return
    if floats[taken] == 0.0:
        # At its largest force, and unheard of since a state was taken back: a load is as large.
        is_felt = abs(dt * floats[lately] - impulse) <= UNFELT * abs(impulse)
        floats[quiet] = floats[quiet] + 1.0 if is_felt else 0.0
        if floats[quiet] >= LET_GO:
            _take_over(floats, articulation, dof)
        return
    missing = floats[lately] - floats[felt]
    if abs(impulse + dt * missing) > UNFELT * abs(impulse):
        floats[quiet] = 0.0
        floats[felt] += GETS_USED * missing
        return
    floats[quiet] += 1.0
    is_free = work[articulation.measured_contact_force + dof] == 0.0
    if floats[quiet] >= (LET_GO if is_free else LET_GO_IN_CONTACT):
        floats[quiet] = 0.0
        if _is_driven(
            ints, work, articulation, dof
        ):  # else there is nothing to give the axis back to
            floats[taken], floats[lately] = 0.0, 0.0
            floats[articulation.external_force + dof] = 0.0


@kernel
def _take_over(floats: FloatArray, articulation: Articulation, dof: int) -> None:
    """Give an axis to a motor of somebody else, which was a load so far that nobody knew of."""
    articulation.external_drive_started = 1
    floats[articulation.externally_driven + dof] = 1.0
    floats[articulation.idle_steps + dof], floats[articulation.momentum_residual + dof] = 0.0, 0.0
    floats[articulation.usual_residual + dof], floats[articulation.external_force + dof] = 0.0, 0.0


@kernel
def is_taken(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, r: int
) -> bool:
    """Whether somebody else's motor has an axis that a row acts on."""
    n, taken = articulation.dof_count, articulation.externally_driven
    unit = ints[articulation.row_dof + r]
    if unit >= 0:
        return bool(floats[taken + unit] != 0.0)
    row = articulation.row_jacobian + n * r
    for k in range(n):  # noqa: SIM110  # kernels know no generators
        if floats[taken + k] != 0.0 and work[row + k] != 0.0:
            return True
    return False


@kernel
def hear_before_saving(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Let the memory hold what the engine tells now: no snapshot of PyBullet does."""
    compare_motors(ints, floats, work, articulation, dt)
    hear_motors(ints, floats, work, articulation, dt)
    for k in range(articulation.dof_count):
        dof = ints[articulation.command_dof + k]
        floats[articulation.motor_force_is_old + dof] = 1.0
        if abs(floats[articulation.last_motor_impulse + k]) <= SILENT:
            floats[articulation.externally_driven + dof] = 0.0
