"""Motors of PyBullet on our joints that are not ours, known by the force that they exert alone."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import Articulation
from gltf_bullet.solver.last_step.external_changes import SAME
from gltf_bullet.transforms import FloatArray, IntArray

NO_IMPULSE = 1e-12
"""[N s, N m s] Impulse below which a motor does not act."""

SAME_IMPULSE = 1e-12
"""Relative difference of two impulses of a motor that count as the same."""

RELEASE_STEPS = 4
"""Steps after which a motor counts as switched off, if its reported impulse stays the same and the
balance of momentum shows no such force."""

RELEASE_STEPS_IN_CONTACT = 16
"""The same where contacts act on its axis: they hide a motor at its largest force for some steps
(measured: a robot that presses its knees against their stops lost one)."""

SMALL_SHARE = 0.2
"""Share of its impulse that a motor which was switched off may still seem to exert."""

ADAPTATION = 0.2
"""Share of what is missed that no longer counts a step later: loads that grow against a motor at
its largest force, as damping does, are no sign of it."""

AT_STOP = 0.02
"""[m, rad] from a hard limit within which the engine's own stop may hold against a motor."""


OLD_READING = -1.0
"""Stands in place of a count of idle steps if the reported force is that of a motor of ours which
was switched off, now or before a state was taken back. A load of 4 steps that was as large took a
walker's knee, and two limbs of a ragdoll that lay on the floor, from their drives."""


@kernel
def _reported_force(
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    k: int,
    dt: float,
) -> float:
    """Force of a motor in the last step; the engine divides impulses by the present time step."""
    told, last_dt = work[articulation.motor_force + k], floats[articulation.last_dt]
    return float(told * dt / last_dt if last_dt > 0.0 else told)


@kernel
def compare_motors(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Compute by how much the motors of the user deviated from what the solve assumed.

    ``dt`` is the length that a step has now.
    """
    for k in range(articulation.dof_count):
        dof = ints[articulation.command_dof + k]
        if floats[articulation.motor_force_is_old + dof] != 0.0:
            continue
        change = 0.0
        if floats[articulation.externally_driven + dof] != 0.0:
            change = _reported_force(floats, work, articulation, k, dt)
            change -= floats[articulation.external_motor_force + dof]
        floats[articulation.external_motor_change + dof] = change


@kernel
def _is_driven(ints: IntArray, work: FloatArray, articulation: Articulation, dof: int) -> bool:
    """Tell whether a drive of the file acts on a velocity."""
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
    """Tell whether an axis is at a hard limit, whose force the engine does not report."""
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
def update_external_motors(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Detect axes that a motor of the user drives, and axes that it has released.

    The solve assumes that such a motor exerts the same force in the coming step.

    PyBullet goes on telling what a motor exerted last when it is switched off. So it is known to be
    off where that stays the same although the momentum knows of no such force.
    """
    for k in range(articulation.dof_count):
        dof = ints[articulation.command_dof + k]
        load, driven = articulation.external_motor_force + dof, articulation.externally_driven + dof
        if floats[articulation.motor_force_is_old + dof] != 0.0:
            _skip_old_force(floats, work, articulation, k, dof, dt)
        else:
            _update_motor(ints, floats, work, articulation, k, dof, dt)
            floats[load] = _reported_force(floats, work, articulation, k, dt)
        if floats[driven] == 0.0:
            floats[load] = 0.0


@kernel
def _skip_old_force(
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    k: int,
    dof: int,
    dt: float,
) -> None:
    """Treat the reported force of a motor as old: it was read before, or the motor is off.

    After a snapshot was taken back it is of another moment. What was known holds on; but a motor
    that has exerted nothing has nothing.
    """
    impulse = dt * work[articulation.motor_force + k]
    floats[articulation.last_motor_impulse + k] = impulse
    floats[articulation.motor_force_is_old + dof] = 0.0
    if abs(impulse) <= NO_IMPULSE:
        floats[articulation.externally_driven + dof] = 0.0


@kernel
def _update_motor(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    k: int,
    dof: int,
    dt: float,
) -> None:
    impulse, last = dt * work[articulation.motor_force + k], articulation.last_motor_impulse + k
    is_same = abs(impulse - floats[last]) <= SAME_IMPULSE * abs(floats[last]) + NO_IMPULSE
    floats[last] = impulse
    driven, idle = articulation.externally_driven + dof, articulation.idle_steps + dof
    residual, usual = articulation.momentum_residual + dof, articulation.usual_residual + dof
    bound = floats[articulation.last_dt] * work[articulation.motor_bound + k] * (1.0 + SAME)
    is_own = ints[articulation.own_motor + k] != 0 and abs(impulse) <= bound
    is_mine = floats[driven] == 0.0 and is_own
    if not is_same:
        floats[idle], floats[usual] = OLD_READING if is_mine else 0.0, floats[residual]
        if floats[driven] == 0.0 and not is_own:
            _start_external_drive(floats, articulation, dof)
        return
    if is_mine or abs(impulse) <= NO_IMPULSE or articulation.closure_count:
        return
    if floats[driven] == 0.0 and floats[idle] == OLD_READING:
        return
    if articulation.mispredicted or _is_at_stop(ints, floats, work, articulation, dof):
        floats[idle] = 0.0
        return
    if floats[driven] == 0.0:
        # At its largest force, and unheard of since a state was taken back: a load is as large.
        is_load = abs(dt * floats[residual] - impulse) <= SMALL_SHARE * abs(impulse)
        floats[idle] = floats[idle] + 1.0 if is_load else 0.0
        if floats[idle] >= RELEASE_STEPS:
            _start_external_drive(floats, articulation, dof)
        return
    missing = floats[residual] - floats[usual]
    if abs(impulse + dt * missing) > SMALL_SHARE * abs(impulse):
        floats[idle] = 0.0
        floats[usual] += ADAPTATION * missing
        return
    floats[idle] += 1.0
    is_free = work[articulation.measured_contact_force + dof] == 0.0
    if floats[idle] >= (RELEASE_STEPS if is_free else RELEASE_STEPS_IN_CONTACT):
        floats[idle] = 0.0
        if _is_driven(
            ints, work, articulation, dof
        ):  # else there is nothing to give the axis back to
            floats[driven], floats[residual] = 0.0, 0.0
            floats[articulation.external_force + dof] = 0.0
            floats[articulation.lasting_force + dof] = 0.0


@kernel
def _start_external_drive(floats: FloatArray, articulation: Articulation, dof: int) -> None:
    """Mark an axis as driven by a motor of the user, whose force was an unknown load so far."""
    articulation.external_drive_started = 1
    floats[articulation.externally_driven + dof] = 1.0
    floats[articulation.idle_steps + dof], floats[articulation.momentum_residual + dof] = 0.0, 0.0
    floats[articulation.usual_residual + dof], floats[articulation.external_force + dof] = 0.0, 0.0
    floats[articulation.lasting_force + dof] = 0.0


@kernel
def is_externally_driven(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, r: int
) -> bool:
    """Tell whether a motor of the user drives an axis that a row acts on."""
    n, driven = articulation.dof_count, articulation.externally_driven
    unit = ints[articulation.row_dof + r]
    if unit >= 0:
        return bool(floats[driven + unit] != 0.0)
    row = articulation.row_jacobian + n * r
    for k in range(n):  # noqa: SIM110  # kernels know no generators
        if floats[driven + k] != 0.0 and work[row + k] != 0.0:
            return True
    return False


@kernel
def read_motors_for_snapshot(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Store the motor forces that the engine reports now: no snapshot of PyBullet holds them."""
    compare_motors(ints, floats, work, articulation, dt)
    update_external_motors(ints, floats, work, articulation, dt)
    for k in range(articulation.dof_count):
        dof = ints[articulation.command_dof + k]
        floats[articulation.motor_force_is_old + dof] = 1.0
        if abs(floats[articulation.last_motor_impulse + k]) <= NO_IMPULSE:
            floats[articulation.externally_driven + dof] = 0.0
