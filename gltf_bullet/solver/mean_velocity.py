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
from gltf_bullet.transforms import FloatArray, IntArray

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
def is_mean_off(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> bool:
    """Tell whether springs and drives make another mean velocity than what lasts; predict it.

    ``predicted_row_force`` receives the generalized forces of all rows then.
    """
    if work[articulation.coriolis_share] == 0.0:
        return False  # too calm to matter
    if articulation.mispredicted or not articulation.is_untouched:
        return False  # contacts push as well, and only the solve knows how
    n, rows = articulation.dof_count, articulation.row_count
    after, way, impulses = (
        articulation.scratch, articulation.scratch + n, articulation.predicted_impulse,
    )  # fmt: skip
    any_soft = False
    for r in range(rows):
        any_soft |= not math.isinf(floats[articulation.row_stiffness + r])
    if not any_soft:
        return False
    # The velocities after the step if all rows acted as in the last one ...
    last, last_dt = articulation.last_impulse, floats[articulation.last_dt]
    for k in range(n):
        work[way + k] = 0.0
    for r in range(articulation.total_rows):
        impulse = floats[last + r] * dt / last_dt if last_dt > 0.0 else 0.0
        low, high = work[articulation.row_low + r], work[articulation.row_high + r]
        impulse = min(max(impulse, low), high)
        work[impulses + r] = impulse
        if impulse != 0.0:
            subtract_row(work, way, -impulse, articulation.row_half + n * r, n)
    _add_up_forces(work, articulation, dt)
    backward_dense(work, articulation.factor, n, way)
    for k in range(n):
        work[after + k] = work[articulation.free_velocity + k] + work[way + k]
    # ... and what springs and drives would add to it.
    any_spring = False
    for r in range(rows):
        if math.isinf(floats[articulation.row_stiffness + r]):
            continue
        if ints[articulation.row_is_drive + r] == 0:
            any_spring |= (
                0.5 * dt * work[articulation.row_compliance + r] * abs(work[impulses + r])
                > LEAST_SHIFT
            )
        low, high = work[articulation.row_low + r], work[articulation.row_high + r]
        row, speed, before = articulation.row_jacobian + n * r, 0.0, work[impulses + r]
        for k in range(n):
            speed += work[row + k] * work[after + k]
        compliance, softness = (
            work[articulation.row_compliance + r], work[articulation.row_softness + r],
        )  # fmt: skip
        wanted = work[articulation.row_target + r] - speed - softness * before
        impulse = min(max(before + wanted / max(compliance + softness, 1e-30), low), high)
        if 0.5 * dt * compliance * abs(impulse - before) > LEAST_SHIFT:
            return _predict_forces(work, articulation, dt)
    if any_spring:
        return _is_small_shift(work, articulation, dt)
    return False


@kernel
def _predict_forces(work: FloatArray, articulation: Articulation, dt: float) -> bool:
    """Predict the forces of all rows by Gauss-Seidel; ``False`` if they move the links too far.

    It begins with the impulses of the last step, and the velocities that they lead to.
    """
    n = articulation.dof_count
    impulses, speeds = articulation.predicted_impulse, articulation.predicted_speed
    after, way = articulation.scratch, articulation.scratch + n
    for r in range(articulation.total_rows):
        work[speeds + r] = dot(work, articulation.row_jacobian + n * r, after, n)
    # The change of the velocities is U^-1 ``way``: a row and its impulse cost 2 n operations.
    for k in range(n):
        work[way + k] = 0.0
    for _ in range(PREDICTION_PASSES):
        changed = 0.0
        for r in range(articulation.total_rows):
            low, high = work[articulation.row_low + r], work[articulation.row_high + r]
            if low == high:
                continue
            half, softness = articulation.row_half + n * r, work[articulation.row_softness + r]
            speed, before = work[speeds + r] + dot(work, half, way, n), work[impulses + r]
            compliance = work[articulation.row_compliance + r]
            wanted = work[articulation.row_target + r] - speed - softness * before
            impulse = before + wanted / max(compliance + softness, 1e-30)
            impulse = min(max(impulse, low), high)
            changed = max(changed, compliance * abs(impulse - before))
            work[impulses + r] = impulse
            subtract_row(work, way, before - impulse, half, n)
        if dt * changed < PREDICTED:
            break
    backward_dense(work, articulation.factor, n, way)
    for k in range(n):
        work[after + k] += work[way + k]
    _add_up_forces(work, articulation, dt)
    return _is_small_shift(work, articulation, dt)


@kernel
def _add_up_forces(work: FloatArray, articulation: Articulation, dt: float) -> None:
    """Set the generalized forces that the predicted impulses of all rows are."""
    n, forces = articulation.dof_count, articulation.predicted_row_force
    for k in range(n):
        work[forces + k] = 0.0
    for r in range(articulation.total_rows):
        impulse = work[articulation.predicted_impulse + r]
        if impulse != 0.0:
            subtract_row(work, forces, -impulse / dt, articulation.row_jacobian + n * r, n)


@kernel
def _is_small_shift(work: FloatArray, articulation: Articulation, dt: float) -> bool:
    """Tell whether the mean of the velocities now and as predicted says something of the step."""
    after, shift = articulation.scratch, 0.0
    for k in range(articulation.dof_count):
        change = abs(work[after + k] - work[articulation.velocity + k])
        shift = max(shift, 0.5 * dt * change)
    return bool(shift <= MOST_SHIFT)
