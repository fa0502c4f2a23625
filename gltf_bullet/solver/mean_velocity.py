"""Springs and drives change the mean velocity of a step: their forces are predicted for it.

Coriolis forces are those at the mean velocity, first found with the drives' forces of the last step
and without springs. A spring that holds a body against centrifugal forces of 5 kN turned them by a
third so, and a stiff drive turns round within few steps: both pumped energy (measured: 10 kNm/rad
below 30 kg on 100 kN/m, from 1 to 5 kJ in 2 s at 240 Hz, and the more the finer the steps; four
bodies on springs, 30 times their energy, now 1.8 at most).
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import Articulation
from gltf_bullet.solver.cholesky import backward_dense, dot, subtract_row

LEAST_SHIFT = 1e-4
"""[rad, m] per step: what a spring or drive must change of the mean velocity to matter. An arm on
stiff drives is below it, and its step costs what it did."""

MOST_SHIFT = 0.1
"""[rad, m] per step: beyond it the mean of two velocities says nothing about the step."""

PREDICTION_PASSES = 50
"""The most Gauss-Seidel passes that predict the impulses of rows."""

PREDICTED = 1e-10
"""[rad, m] per step by which the last of them may change a row: their order must not matter."""


@kernel
def is_mean_off(a: Articulation, dt: float) -> bool:
    """Tell whether springs and drives make another mean velocity than what lasts; predict it.

    ``predicted_row_force`` receives the generalized forces of all rows then,
    ``predicted_impulse`` their impulses; rows must be bounded.
    """
    if a.coriolis_share[0] == 0.0:
        return False  # too calm to matter
    if a.mispredicted or not a.is_untouched:
        return False  # contacts push as well, and only the solve knows how
    n, rows = a.dof_count, a.row_count
    after, way, impulses = a.scratch, a.scratch[n:], a.predicted_impulse
    any_soft = False
    for r in range(rows):
        any_soft |= not math.isinf(a.row_stiffness[r])
    if not any_soft:
        return False
    # The velocities after the step if all rows acted as in the last one ...
    last, last_dt = a.last_impulse, a.last_dt[0]
    for k in range(n):
        way[k] = 0.0
    for r in range(a.total_rows):
        impulse = last[r] * dt / last_dt if last_dt > 0.0 else 0.0
        low, high = a.row_low[r], a.row_high[r]
        impulse = min(max(impulse, low), high)
        impulses[r] = impulse
        if impulse != 0.0:
            subtract_row(way, -impulse, a.row_half[r], n)
    _add_up_forces(a, dt)
    backward_dense(a.factor, n, way)
    for k in range(n):
        after[k] = a.free_velocity[k] + way[k]
    # ... and what springs and drives would add to it.
    any_spring = False
    for r in range(rows):
        if math.isinf(a.row_stiffness[r]):
            continue
        if a.row_is_drive[r] == 0:
            any_spring |= 0.5 * dt * a.row_compliance[r] * abs(impulses[r]) > LEAST_SHIFT
        low, high = a.row_low[r], a.row_high[r]
        row, speed, before = a.row_jacobian[r], 0.0, impulses[r]
        for k in range(n):
            speed += row[k] * after[k]
        compliance, softness = a.row_compliance[r], a.row_softness[r]
        wanted = a.row_target[r] - speed - softness * before
        impulse = min(max(before + wanted / max(compliance + softness, 1e-30), low), high)
        if 0.5 * dt * compliance * abs(impulse - before) > LEAST_SHIFT:
            return _predict_forces(a, dt)
    if any_spring:
        return _is_small_shift(a, dt)
    return False


@kernel
def _predict_forces(a: Articulation, dt: float) -> bool:
    """Predict the forces of all rows by Gauss-Seidel; ``False`` if they move the links too far.

    It begins with the impulses of the last step, and the velocities that they lead to.
    """
    n = a.dof_count
    impulses, speeds = a.predicted_impulse, a.predicted_speed
    after, way = a.scratch, a.scratch[n:]
    for r in range(a.total_rows):
        speeds[r] = dot(a.row_jacobian[r], after, n)
    # The change of the velocities is U^-1 ``way``: a row and its impulse cost 2 n operations.
    for k in range(n):
        way[k] = 0.0
    for _ in range(PREDICTION_PASSES):
        changed = 0.0
        for r in range(a.total_rows):
            low, high = a.row_low[r], a.row_high[r]
            if low == high:
                continue
            half, softness = a.row_half[r], a.row_softness[r]
            speed, before = speeds[r] + dot(half, way, n), impulses[r]
            compliance = a.row_compliance[r]
            wanted = a.row_target[r] - speed - softness * before
            impulse = before + wanted / max(compliance + softness, 1e-30)
            impulse = min(max(impulse, low), high)
            changed = max(changed, compliance * abs(impulse - before))
            impulses[r] = impulse
            subtract_row(way, before - impulse, half, n)
        if dt * changed < PREDICTED:
            break
    backward_dense(a.factor, n, way)
    for k in range(n):
        after[k] += way[k]
    _add_up_forces(a, dt)
    return _is_small_shift(a, dt)


@kernel
def _add_up_forces(a: Articulation, dt: float) -> None:
    """Set the generalized forces that the predicted impulses of all rows are."""
    n, forces = a.dof_count, a.predicted_row_force
    for k in range(n):
        forces[k] = 0.0
    for r in range(a.total_rows):
        impulse = a.predicted_impulse[r]
        if impulse != 0.0:
            subtract_row(forces, -impulse / dt, a.row_jacobian[r], n)


@kernel
def _is_small_shift(a: Articulation, dt: float) -> bool:
    """Tell whether the mean of the velocities now and as predicted says something of the step."""
    after, shift = a.scratch, 0.0
    for k in range(a.dof_count):
        change = abs(after[k] - a.velocity[k])
        shift = max(shift, 0.5 * dt * change)
    return bool(shift <= MOST_SHIFT)
