"""Motors of PyBullet on our joints that are not ours, known by the force that they exert alone."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import Articulation
from gltf_bullet.solver.last_step.external_changes import SAME

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
def _reported_force(a: Articulation, k: int, dt: float) -> float:
    """Force of a motor in the last step; the engine divides impulses by the present time step."""
    told, last_dt = a.motor_force[k], a.last_dt[0]
    return float(told * dt / last_dt if last_dt > 0.0 else told)


@kernel
def compare_motors(a: Articulation, dt: float) -> None:
    """Compute by how much the motors of the user deviated from what the solve assumed.

    ``dt`` is the length that a step has now.

    Sets ``external_motor_change``, from ``motor_force``.
    """
    for k in range(a.dof_count):
        dof = a.command_dof[k]
        if a.motor_force_is_old[dof] != 0.0:
            continue
        change = 0.0
        if a.externally_driven[dof] != 0.0:
            change = _reported_force(a, k, dt)
            change -= a.external_motor_force[dof]
        a.external_motor_change[dof] = change


@kernel
def _is_driven(a: Articulation, dof: int) -> bool:
    """Tell whether a drive of the file acts on a velocity."""
    for r in range(a.row_count):
        unit = a.row_dof[r]
        acts = unit == dof if unit >= 0 else a.row_jacobian[r, dof] != 0.0
        if a.row_is_drive[r] and acts:
            return True
    return False


@kernel
def _is_at_stop(a: Articulation, dof: int) -> bool:
    """Tell whether an axis is at a hard limit, whose force the engine does not report."""
    for r in range(a.row_count):
        if a.row_dof[r] != dof or a.row_is_drive[r]:
            continue
        value = a.row_value[r]
        lower = a.row_lower[r] + AT_STOP
        upper = a.row_upper[r] - AT_STOP
        if math.isinf(a.row_stiffness[r]) and not lower < value < upper:
            return True
    return False


@kernel
def update_external_motors(a: Articulation, dt: float) -> None:
    """Detect axes that a motor of the user drives, and axes that it has released.

    The solve assumes that such a motor exerts the same force in the coming step.

    PyBullet goes on telling what a motor exerted last when it is switched off. So it is known to be
    off where that stays the same although the momentum knows of no such force.

    Sets ``externally_driven``, ``external_motor_force`` and what counts in them:
    ``idle_steps``, ``last_motor_impulse``, ``usual_residual``, ``motor_force_is_old``.
    """
    for k in range(a.dof_count):
        dof = a.command_dof[k]
        load, driven = a.external_motor_force, a.externally_driven
        if a.motor_force_is_old[dof] != 0.0:
            _skip_old_force(a, k, dof, dt)
        else:
            _update_motor(a, k, dof, dt)
            load[dof] = _reported_force(a, k, dt)
        if driven[dof] == 0.0:
            load[dof] = 0.0


@kernel
def _skip_old_force(a: Articulation, k: int, dof: int, dt: float) -> None:
    """Treat the reported force of a motor as old: it was read before, or the motor is off.

    After a snapshot was taken back it is of another moment. What was known holds on; but a motor
    that has exerted nothing has nothing.
    """
    impulse = dt * a.motor_force[k]
    a.last_motor_impulse[k] = impulse
    a.motor_force_is_old[dof] = 0.0
    if abs(impulse) <= NO_IMPULSE:
        a.externally_driven[dof] = 0.0


@kernel
def _update_motor(a: Articulation, k: int, dof: int, dt: float) -> None:
    impulse, last = dt * a.motor_force[k], a.last_motor_impulse
    is_same = abs(impulse - last[k]) <= SAME_IMPULSE * abs(last[k]) + NO_IMPULSE
    last[k] = impulse
    driven, idle = a.externally_driven, a.idle_steps
    residual, usual = a.momentum_residual, a.usual_residual
    bound = a.last_dt[0] * a.motor_bound[k] * (1.0 + SAME)
    is_own = a.own_motor[k] != 0 and abs(impulse) <= bound
    is_mine = driven[dof] == 0.0 and is_own
    if not is_same:
        idle[dof], usual[dof] = OLD_READING if is_mine else 0.0, residual[dof]
        if driven[dof] == 0.0 and not is_own:
            _start_external_drive(a, dof)
        return
    if is_mine or abs(impulse) <= NO_IMPULSE or a.closure_count:
        return
    if driven[dof] == 0.0 and idle[dof] == OLD_READING:
        return
    if a.mispredicted or _is_at_stop(a, dof):
        idle[dof] = 0.0
        return
    if driven[dof] == 0.0:
        # At its largest force, and unheard of since a state was taken back: a load is as large.
        is_load = abs(dt * residual[dof] - impulse) <= SMALL_SHARE * abs(impulse)
        idle[dof] = idle[dof] + 1.0 if is_load else 0.0
        if idle[dof] >= RELEASE_STEPS:
            _start_external_drive(a, dof)
        return
    missing = residual[dof] - usual[dof]
    if abs(impulse + dt * missing) > SMALL_SHARE * abs(impulse):
        idle[dof] = 0.0
        usual[dof] += ADAPTATION * missing
        return
    idle[dof] += 1.0
    is_free = a.measured_contact_force[dof] == 0.0
    if idle[dof] >= (RELEASE_STEPS if is_free else RELEASE_STEPS_IN_CONTACT):
        idle[dof] = 0.0
        if _is_driven(a, dof):  # else there is nothing to give the axis back to
            driven[dof], residual[dof] = 0.0, 0.0
            a.external_force[dof] = 0.0
            a.lasting_force[dof] = 0.0


@kernel
def _start_external_drive(a: Articulation, dof: int) -> None:
    """Mark an axis as driven by a motor of the user, whose force was an unknown load so far."""
    a.external_drive_started = 1
    a.externally_driven[dof] = 1.0
    a.idle_steps[dof], a.momentum_residual[dof] = 0.0, 0.0
    a.usual_residual[dof], a.external_force[dof] = 0.0, 0.0
    a.lasting_force[dof] = 0.0


@kernel
def is_externally_driven(a: Articulation, r: int) -> bool:
    """Tell whether a motor of the user drives an axis that a row acts on."""
    n, driven = a.dof_count, a.externally_driven
    unit = a.row_dof[r]
    if unit >= 0:
        return bool(driven[unit] != 0.0)
    row = a.row_jacobian[r]
    for k in range(n):  # noqa: SIM110  # kernels know no generators
        if driven[k] != 0.0 and row[k] != 0.0:
            return True
    return False


@kernel
def read_motors_for_snapshot(a: Articulation, dt: float) -> None:
    """Store the motor forces that the engine reports now: no snapshot of PyBullet holds them."""
    compare_motors(a, dt)
    update_external_motors(a, dt)
    for k in range(a.dof_count):
        dof = a.command_dof[k]
        a.motor_force_is_old[dof] = 1.0
        if abs(a.last_motor_impulse[k]) <= NO_IMPULSE:
            a.externally_driven[dof] = 0.0
