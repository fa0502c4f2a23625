"""Curvature of limits: the change of a metric in a step beyond its rate, as on a circular path.

A row asks for a rate, along the direction in which its metric grows now. A body that goes round at
``v`` on a rope ``r`` leaves the circle by ``v^2 dt^2 / 2 r`` in a step all the same, and what pulls
it back later is energy from nowhere. So the row is given the *curvature* of its metric: its value
at the end of the step, less the value and what its rate adds. With that it holds the end of the
step along the direction of its beginning, which is the SHAKE of molecular dynamics (Ryckaert,
Ciccotti and Berendsen 1977): it keeps lengths, and energy as the leapfrog without limits does.
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import ANGLE, CONE, LINE, POINT, POSE, Articulation
from gltf_bullet.solver.centred_bias import CALM, motion_about_anchors
from gltf_bullet.solver.cholesky import solve_dense
from gltf_bullet.solver.row_metrics import attach, is_length, measure, relate_frames
from gltf_bullet.solver.tree_dynamics import accelerate_frames
from gltf_bullet.solver.tree_kinematics import move_frames, multiply, rotation_from_quat
from gltf_bullet.transforms import FloatArray

OVERSHOOT = 5e-3
"""[m] that a length across several axes is beyond its limit, and it is said: a body of 0.5 kg that
went 0.17 m round a radius of 0.28 m in a step left it by a third of a metre (measured). Without
contacts, slower ones stay within 1 mm."""

OVERSHOOT_ANGLE = 0.02
"""[rad] The same of an angle about several axes: of four links that reach theirs together at 240 Hz
one goes on by 0.033 rad (measured)."""

LEAST_CURVATURE = 1e-6
"""[rad, m] Smaller curvatures are neglected."""

ENERGY_SHARE = 0.02
"""Share of the kinetic energy that rows may add in a step because of curvature. A body that comes
to a circle along its tangent is given half the square of the angle that it goes round per step,
which it gives back where it leaves (0.011 at 10 m/s, 0.28 m and 240 Hz)."""


@kernel
def has_curvature(a: Articulation, r: int) -> bool:
    """Tell whether a row accounts for curvature: hard limits of measured metrics do."""
    return (
        a.is_untouched != 0
        and r < a.row_count
        and a.row_dof[r] < 0
        and a.row_is_drive[r] == 0
        and math.isinf(a.row_stiffness[r])
    )


@kernel
def _is_without_contacts(a: Articulation) -> bool:
    """Tell whether there are no contacts, now or in the last step.

    A row does not know the contacts to come: of 60 pairs of ragdolls dropped at 60 Hz one gained
    34 times its energy, and of 12 heaps of five one half of it, which do not without (measured).
    """
    for i in range(a.dof_count):
        touched = a.predicted_contact_force[i]
        if touched != 0.0 or a.measured_contact_force[i] != 0.0:
            return False
    return True


@kernel
def predict_curvature(a: Articulation, dt: float) -> None:
    """Compute the curvatures of all rows in a step in which no row acts.

    Sets ``is_untouched``, ``row_curvature``, ``energy_budget`` and ``overshot_row``, from
    ``free_velocity`` and the rows as they were measured.
    """
    a.is_untouched = 1 if _is_without_contacts(a) else 0
    curvatures, free = a.row_curvature, a.free_velocity
    for r in range(a.total_rows):
        curvatures[r] = 0.0
    fastest, any_curved = 0.0, False
    for k in range(a.dof_count):
        fastest = max(fastest, abs(free[k]))
    for r in range(a.row_count):
        if has_curvature(a, r):
            any_curved = True
            _notice_overshoot(a, r)
    if not any_curved or fastest * dt < CALM:
        return
    moving = 0.5 * motion_about_anchors(a)
    a.energy_budget[0] = ENERGY_SHARE * moving
    _move_with(a, free)
    for r in range(a.row_count):
        if has_curvature(a, r):
            curvature = _curvature(a, r, free, dt)
            curvatures[r] = curvature if abs(curvature) > LEAST_CURVATURE else 0.0


@kernel
def _notice_overshoot(a: Articulation, r: int) -> None:
    """Note a length or an angle beyond its limit that was not set there."""
    metric, value = a.row_metric[r], a.row_value[r]
    most = OVERSHOOT
    if metric == CONE or metric == ANGLE:
        most = OVERSHOOT_ANGLE
    elif metric != LINE and metric != POINT:
        return
    beyond = max(
        a.row_lower[r] - value,
        value - a.row_upper[r],
    )
    is_known = a.row_recovering[r] or a.state_set_by_user
    if beyond > most and not is_known and not a.overshoot_reported:
        a.overshot_row = r + 1


@kernel
def curvature_under_impulse(a: Articulation, r: int, impulse: float, dt: float) -> float:
    """Curvature of a row in a step in which only the row itself acts, with an impulse."""
    n, ahead = a.dof_count, a.trial_velocity
    row, free = a.row_jacobian[r], a.free_velocity
    for k in range(n):
        ahead[k] = row[k]
    solve_dense(a.factor, n, ahead)
    for k in range(n):
        ahead[k] = free[k] + impulse * ahead[k]
    _move_with(a, ahead)
    return _curvature(a, r, ahead, dt)


@kernel
def target_reduction(aim: float, curvature: float, came: float, pulls: bool, pushes: bool) -> float:
    """Reduction of a row's target with which its curvature adds no energy.

    Its work in a step is its impulse times the mean of the rates before and after it. So a row
    whose target is no more than the incoming rate, reversed, removes energy or none, whatever other
    rows do.

    Args:
        aim: Rate that takes it to its limit.
        curvature: Of the row, as a rate.
        came: Rate at the beginning of the step.
        pulls: Whether it may keep its metric from growing.
        pushes: Whether it may keep it from shrinking.
    """
    if curvature > 0.0 and pulls:
        return max(min(aim, -max(came, 0.0)) - (aim - curvature), 0.0)
    if curvature < 0.0 and pushes:
        return min(max(aim, -min(came, 0.0)) - (aim - curvature), 0.0)
    return 0.0


@kernel
def _move_with(a: Articulation, velocity: FloatArray) -> None:
    """Compute velocities and accelerations of all frames at constant joint velocities."""
    twist = a.mean_twist
    move_frames(a, velocity, twist)
    accelerate_frames(a, velocity, twist)


@kernel
def _curvature(a: Articulation, r: int, velocity: FloatArray, dt: float) -> float:
    """Curvature of one row, after :func:`_move_with` at these velocities."""
    n, scratch = a.dof_count, a.scratch
    frame_a, frame_b, relative = scratch, scratch[24:], scratch[48:]
    first, second = a.row_frame_a[r], a.row_frame_b[r]
    attach(a, first, a.row_local_a[r], frame_a)
    attach(a, second, a.row_local_b[r], frame_b)
    _advance_frame(a, first, frame_a, dt)
    _advance_frame(a, second, frame_b, dt)
    relate_frames(frame_a, frame_b, relative)
    metric = a.row_metric[r]
    end = measure(metric, a.row_axis[r], a.row_tilt_axis[r], relative, relative[3:], relative[12:])
    row, reach = a.row_jacobian[r], a.row_drift[r]
    for k in range(n):
        reach += row[k] * velocity[k]
    reach = a.row_value[r] + dt * reach
    if not is_length(metric) and (abs(reach) > math.pi or abs(end - reach) > 1.0):
        return 0.0  # Angles begin again at half a turn.
    return float(end - reach)


@kernel
def _advance_frame(a: Articulation, frame: int, at: FloatArray, dt: float) -> None:
    """Move an attachment frame, as :func:`attach` yields it, to where it is after a step."""
    t, b = a.mean_twist[frame], a.acceleration[frame]
    com = a.pose[frame, POSE.com :]
    turn = a.scratch[72:]
    quat, rotation = turn, turn[4:]
    speed, angle = turn[13:], 0.0
    for k in range(3):
        p, q = (k + 1) % 3, (k + 2) % 3
        speed[k] = t[3 + k] + t[p] * com[q] - t[q] * com[p]
        quat[k] = dt * (t[k] + 0.5 * dt * b[k])
        angle += quat[k] * quat[k]
    angle = math.sqrt(angle)
    scale = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
    for k in range(3):
        quat[k] *= scale
    quat[3] = math.cos(0.5 * angle)
    rotation_from_quat(quat, rotation)
    lever, turned = turn[16:], turn[19:]
    for k in range(3):
        lever[k] = at[k] - com[k]
    for k in range(3):
        p, q = (k + 1) % 3, (k + 2) % 3
        gain = b[3 + k] + b[p] * com[q] - b[q] * com[p]
        gain += t[p] * speed[q] - t[q] * speed[p]
        at[k] = com[k] + dt * (speed[k] + 0.5 * dt * gain)
        for i in range(3):
            at[k] += rotation[3 * k + i] * lever[i]
    multiply(rotation, at[3:], turned)
    for k in range(9):
        at[3 + k] = turned[k]
