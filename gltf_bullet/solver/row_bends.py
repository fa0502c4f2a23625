"""What a limit's metric does in a step beyond its rate: the way of a body on a rope is a curve.

A row asks for a rate, along the direction in which its metric grows now. A body that goes round at
``v`` on a rope ``r`` leaves the circle by ``v^2 dt^2 / 2 r`` in a step all the same, and what pulls
it back later is energy from nowhere. So the row is told how far its metric *bends*: what it will be
at the end of the step, less what its rate makes of it. With that it holds the end of the step along
the direction of its beginning, which is the SHAKE of molecular dynamics (Ryckaert, Ciccotti and
Berendsen 1977): it keeps lengths, and energy as the leapfrog without limits does.
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
from gltf_bullet.transforms import FloatArray, IntArray

BEYOND = 5e-3
"""[m] that a length across several axes is beyond its limit, and it is said: a body of 0.5 kg that
went 0.17 m round a radius of 0.28 m in a step left it by a third of a metre (measured). Without
contacts, slower ones stay within 1 mm."""

BEYOND_ANGLE = 0.02
"""[rad] The same of an angle about several axes: of four links that reach theirs together at 240 Hz
one goes on by 0.033 rad (measured)."""

BENT = 1e-6
"""[rad, m] Smaller bends are left to what pulls a row back."""

PAID = 0.02
"""Share of the energy of motion that rows may pay in a step for bends. What comes to a circle along
its tangent is paid half the square of the angle that it goes round per step, which it gives back
where it leaves (0.011 at 10 m/s, 0.28 m and 240 Hz)."""


@kernel
def may_bend(ints: IntArray, floats: FloatArray, articulation: Articulation, r: int) -> bool:
    """Whether a row is a hard limit of a measured metric, and looking ahead is of any use."""
    return (
        articulation.uses_curvature != 0
        and r < articulation.row_count
        and ints[articulation.row_dof + r] < 0
        and ints[articulation.row_is_drive + r] == 0
        and math.isinf(floats[articulation.row_stiffness + r])
    )


@kernel
def _may_look_ahead(floats: FloatArray, work: FloatArray, articulation: Articulation) -> bool:
    """Whether nothing touches, or did lately, as far as anybody knows.

    What contacts will do a row does not know: of 60 pairs of ragdolls dropped at 60 Hz one gained
    34 times its energy, and of 12 heaps of five one half of it, which do not without (measured).
    """
    for i in range(articulation.dof_count):
        touched = floats[articulation.predicted_contact_force + i]
        if touched != 0.0 or work[articulation.measured_contact_force + i] != 0.0:
            return False
    return True


@kernel
def bend_freely(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """How far all metrics bend in a step in which no row does anything."""
    articulation.uses_curvature = 1 if _may_look_ahead(floats, work, articulation) else 0
    bends, free = articulation.row_curvature, articulation.free_velocity
    for r in range(articulation.total_rows):
        work[bends + r] = 0.0
    fastest, any_bends = 0.0, False
    for k in range(articulation.dof_count):
        fastest = max(fastest, abs(work[free + k]))
    for r in range(articulation.row_count):
        if may_bend(ints, floats, articulation, r):
            any_bends = True
            _notice_overshoot(ints, floats, work, articulation, r)
    if not any_bends or fastest * dt < CALM:
        return
    moving = 0.5 * motion_about_anchors(ints, floats, work, articulation)
    work[articulation.energy_budget] = PAID * moving
    _go(ints, floats, work, articulation, free)
    for r in range(articulation.row_count):
        if may_bend(ints, floats, articulation, r):
            bend = _bend(ints, floats, work, articulation, r, free, dt)
            work[bends + r] = bend if abs(bend) > BENT else 0.0


@kernel
def _notice_overshoot(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, r: int
) -> None:
    """Notice a length or an angle that no row has kept, and nobody else has changed."""
    metric, value = ints[articulation.row_metric + r], work[articulation.row_value + r]
    most = BEYOND
    if metric == CONE or metric == ANGLE:
        most = BEYOND_ANGLE
    elif metric != LINE and metric != POINT:
        return
    beyond = max(
        floats[articulation.row_lower + r] - value,
        value - floats[articulation.row_upper + r],
    )
    is_known = ints[articulation.row_recovering + r] or articulation.state_set_by_user
    if beyond > most and not is_known and not articulation.overshoot_reported:
        articulation.overshot_row = r + 1


@kernel
def bend_held(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    r: int,
    impulse: float,
    dt: float,
) -> float:
    """How far the metric of a row bends in a step in which the row alone gives an impulse."""
    n, ahead = articulation.dof_count, articulation.trial_velocity
    row, free = articulation.row_jacobian + n * r, articulation.free_velocity
    for k in range(n):
        work[ahead + k] = work[row + k]
    solve_dense(work, articulation.factor, n, ahead)
    for k in range(n):
        work[ahead + k] = work[free + k] + impulse * work[ahead + k]
    _go(ints, floats, work, articulation, ahead)
    return _bend(ints, floats, work, articulation, r, ahead, dt)


@kernel
def relief(aim: float, bend: float, came: float, pulls: bool, pushes: bool) -> float:
    """What a row must ask less, as a rate, for its bend to make it pay no energy.

    What it does in a step is its impulse times the mean of the rates before and after it. So one
    that asks for no more than the rate with which its metric came, turned round, takes energy or
    none, whatever other rows do.

    Args:
        aim: Rate that takes it to its limit.
        bend: What it bends, as a rate.
        came: Rate at the beginning of the step.
        pulls: Whether it may keep its metric from growing.
        pushes: Whether it may keep it from shrinking.
    """
    if bend > 0.0 and pulls:
        return max(min(aim, -max(came, 0.0)) - (aim - bend), 0.0)
    if bend < 0.0 and pushes:
        return min(max(aim, -min(came, 0.0)) - (aim - bend), 0.0)
    return 0.0


@kernel
def _go(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, velocity: int
) -> None:
    """Velocities and accelerations of all frames that keep these joint velocities."""
    twist = articulation.mean_twist
    move_frames(ints, floats, work, articulation, velocity, twist)
    accelerate_frames(ints, floats, work, articulation, velocity, twist)


@kernel
def _bend(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    r: int,
    velocity: int,
    dt: float,
) -> float:
    """Of one row, after :func:`_go` at these velocities."""
    n, scratch = articulation.dof_count, articulation.scratch
    frame_a, frame_b, relative = scratch, scratch + 24, scratch + 48
    first, second = ints[articulation.row_frame_a + r], ints[articulation.row_frame_b + r]
    attach(floats, work, articulation, first, articulation.row_local_a + 7 * r, frame_a)
    attach(floats, work, articulation, second, articulation.row_local_b + 7 * r, frame_b)
    _take_ahead(work, articulation, first, frame_a, dt)
    _take_ahead(work, articulation, second, frame_b, dt)
    relate_frames(work, frame_a, frame_b, relative)
    metric = ints[articulation.row_metric + r]
    end = measure(
        metric,
        ints[articulation.row_axis + r],
        ints[articulation.row_tilt_axis + r],
        work,
        relative,
        relative + 3,
        relative + 12,
    )
    row, reach = articulation.row_jacobian + n * r, work[articulation.row_drift + r]
    for k in range(n):
        reach += work[row + k] * work[velocity + k]
    reach = work[articulation.row_value + r] + dt * reach
    if not is_length(metric) and (abs(reach) > math.pi or abs(end - reach) > 1.0):
        return 0.0  # Angles begin again at half a turn.
    return float(end - reach)


@kernel
def _take_ahead(
    work: FloatArray, articulation: Articulation, frame: int, at: int, dt: float
) -> None:
    """An attachment frame at ``work[at]``, to where it is after a step."""
    t, b = articulation.mean_twist + 6 * frame, articulation.acceleration + 6 * frame
    com = articulation.pose + POSE.size * frame + POSE.com
    turn = articulation.scratch + 72
    quat, rotation = turn, turn + 4
    speed, angle = turn + 13, 0.0
    for k in range(3):
        p, q = (k + 1) % 3, (k + 2) % 3
        work[speed + k] = (
            work[t + 3 + k] + work[t + p] * work[com + q] - work[t + q] * work[com + p]
        )
        work[quat + k] = dt * (work[t + k] + 0.5 * dt * work[b + k])
        angle += work[quat + k] ** 2
    angle = math.sqrt(angle)
    scale = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
    for k in range(3):
        work[quat + k] *= scale
    work[quat + 3] = math.cos(0.5 * angle)
    rotation_from_quat(work, quat, work, rotation)
    lever, turned = turn + 16, turn + 19
    for k in range(3):
        work[lever + k] = work[at + k] - work[com + k]
    for k in range(3):
        p, q = (k + 1) % 3, (k + 2) % 3
        gain = work[b + 3 + k] + work[b + p] * work[com + q] - work[b + q] * work[com + p]
        gain += work[t + p] * work[speed + q] - work[t + q] * work[speed + p]
        work[at + k] = work[com + k] + dt * (work[speed + k] + 0.5 * dt * gain)
        for i in range(3):
            work[at + k] += work[rotation + 3 * k + i] * work[lever + i]
    multiply(work, rotation, work, at + 3, work, turned)
    for k in range(9):
        work[at + 3 + k] = work[turned + k]
