"""One articulation before the solve: known forces, free velocities, targets and bounds of rows."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import ANCHOR, LINK, POSE, Articulation
from gltf_bullet.solver.centred_bias import centre_bias
from gltf_bullet.solver.cholesky import dot, factor_dense, solve_dense
from gltf_bullet.solver.closure_bend import CLOSURE_GAP, bend_closures
from gltf_bullet.solver.last_step.external_motors import is_externally_driven
from gltf_bullet.solver.mean_velocity import is_mean_off
from gltf_bullet.solver.row_curvature import (
    LEAST_CURVATURE,
    curvature_under_impulse,
    predict_curvature,
    target_reduction,
)
from gltf_bullet.solver.row_metrics import fill_row_halves, measure_rows
from gltf_bullet.solver.tree_dynamics import (
    composite_wrench,
    project_wrenches,
)
from gltf_bullet.transforms import FloatArray, IntArray

BAUMGARTE = 0.2
"""Share of a small violation that one step removes."""

RECOVERY_TIME = 0.06
"""[s] Time constant with which a limit violated at load, or at a change, is restored."""

HARD = 1e-8
"""Softness of hard rows, in multiples of the row's own inverse mass; the memory of the last
impulse makes it exact at rest."""

VIOLATED = 1e-4
"""[m, rad] beyond which a limit counts as violated when an axis is put somewhere."""

CLOSED = 1e-4
"""[m, rad] A violation that counts as restored."""


RESOLVED = 0.25
"""Square of a spring's swing in a step [rad^2] up to which it is solved symplectically."""
SLOW_SPRING = 0.5
"""Share of a spring that is taken implicitly, below which a step is short for it."""

RECOVERY_SPEED = 10.0
"""[m/s, rad/s] With which a violation at load goes at most: ropes that were 2 m too short pulled at
33 m/s, and a bridge on such ropes gained 50 times its energy."""

CURVATURE_PASSES = 8
"""Fixed-point iterations between a row's impulse and its curvature. They converge where its
direction turns by less than some 40 degrees in the step."""


@kernel
def prepare_articulation(a: Articulation, dt: float, gx: float, gy: float, gz: float) -> None:
    """Prepare the solve of one step of ``dt`` seconds, after :func:`evaluate_tree`.

    Sets, in this order, ``last_mass`` and ``factor``; ``applied_force`` and ``added_force``;
    the bias forces and ``free_velocity``; all that rows are: values, Jacobians, curvatures,
    targets, softness and bounds.
    """
    n = a.dof_count
    mass, last = a.mass, a.last_mass
    for i in range(n):
        for k in range(n):
            last[i, k] = mass[i, k]
    factor_dense(mass, n, a.factor)
    _apply_known_forces(a, dt, gx, gy, gz)
    centre_bias(a, dt, False)
    _move_freely(a, dt)
    measure_rows(a)
    predict_curvature(a, dt)
    if a.closure_count:
        bend_closures(a, dt)
    fill_row_halves(a, 0)
    _bound_rows(a, dt)
    if is_mean_off(a, dt):
        centre_bias(a, dt, True)
        _move_freely(a, dt)
        predict_curvature(a, dt)
        _bound_rows(a, dt)


@kernel
def _move_freely(a: Articulation, dt: float) -> None:
    """Find the velocities after the step if no row does anything.

    Sets ``free_velocity``, from ``velocity``, ``applied_force``, ``centred_bias`` and
    ``factor``.
    """
    n, velocity, free = a.dof_count, a.velocity, a.free_velocity
    applied, centred = a.applied_force, a.centred_bias
    for k in range(n):
        free[k] = applied[k] - centred[k]
    solve_dense(a.factor, n, free)
    for k in range(n):
        free[k] = velocity[k] + dt * free[k]


@kernel
def _bound_rows(a: Articulation, dt: float) -> None:
    """Softness, velocity target and bounds of the impulse of every row.

    Sets ``row_softness``, ``row_target``, ``row_low``, ``row_high``, ``row_compliance`` and
    ``row_reduction``, and notes in ``row_recovering`` and ``outside_limit`` which limits are
    violated.
    """
    a.outside_limit = 0
    n, rows = a.dof_count, a.row_count
    free, half = a.free_velocity, a.row_half
    softness, target = a.row_softness, a.row_target
    low, high = a.row_low, a.row_high
    last, last_dt = a.last_impulse, a.last_dt[0]
    largest = 0.0
    for r in range(a.total_rows):
        total = dot(half[r], half[r], n)
        a.row_compliance[r] = total
        a.last_compliance[r] = total
        largest = max(largest, total)
    c, k = 0, 0
    for r in range(a.total_rows):
        compliance = a.row_compliance[r]
        # A row that can move nothing has the softness of one that moves a little.
        hard = HARD * (max(compliance, 1e-6 * largest) if largest > 0.0 else 1.0)
        drift = a.row_drift[r]
        if r < rows:
            row = a.row_jacobian[r]
            speed = drift
            for i in range(n):
                speed += row[i] * free[i]
            curvature = a.row_curvature[r]
            _bound_row(a, dt, r, speed, curvature, compliance, hard)
            if curvature != 0.0 and compliance > 1e-6 * largest:
                _refine_curvature(a, dt, r, speed, curvature, compliance, hard)
        else:
            gap, bend = 0.0, 0.0
            if k < 3:
                gap = a.closure_gap[c, k]
                gap = min(max(gap, -CLOSURE_GAP), CLOSURE_GAP)
                bend = a.closure_bend[c, k]
            softness[r] = hard
            target[r] = -(BAUMGARTE * gap + bend) / dt
            low[r], high[r] = -math.inf, math.inf
            k += 1
            if k == a.closure_size[c]:
                c, k = c + 1, 0
        target[r] -= drift
        if softness[r] == hard and last_dt > 0.0:
            # Memory: what the row did lately costs nothing.
            lately = last[r] * dt / last_dt
            target[r] += hard * min(max(lately, low[r]), high[r])


@kernel
def _refine_curvature(
    a: Articulation,
    dt: float,
    r: int,
    speed: float,
    curvature: float,
    compliance: float,
    hard: float,
) -> None:
    """Find the target of a row together with the curvature that its own impulse causes."""
    first, before = 0.0, curvature
    for k in range(CURVATURE_PASSES):
        impulse = (a.row_target[r] - speed) / compliance
        impulse = max(impulse, a.row_low[r])
        impulse = min(impulse, a.row_high[r])
        if impulse == 0.0:
            return
        curvature = curvature_under_impulse(a, r, impulse, dt)
        first = curvature if k == 0 else first
        _bound_row(a, dt, r, speed, curvature, compliance, hard)
        if abs(curvature - before) <= LEAST_CURVATURE:
            return
        before = curvature
    # A step that crosses a good part of the circle: the first pass errs towards less energy.
    _bound_row(a, dt, r, speed, first, compliance, hard)


@kernel
def _bound_row(
    a: Articulation,
    dt: float,
    r: int,
    speed: float,
    curvature: float,
    compliance: float,
    hard: float,
) -> None:
    """Target, softness and bounds of a limit or drive that moves with ``speed`` if left alone.

    ``curvature`` is what the step adds to its value beyond that.
    """
    softness, target = a.row_softness, a.row_target
    low, high = a.row_low, a.row_high
    value = a.row_value[r]
    lower, upper = a.row_lower[r], a.row_upper[r]
    stiffness = a.row_stiffness[r]
    damping = a.row_damping[r]
    is_drive = a.row_is_drive[r] != 0
    velocity_target = 0.0
    at_lower, bound = False, 0.0
    low[r], high[r] = 0.0, 0.0
    softness[r], target[r] = hard, 0.0
    a.row_reduction[r] = 0.0
    if is_drive:
        if is_externally_driven(a, r):
            return
        gap = a.row_position_target[r] - value
        velocity_target = a.row_velocity_target[r]
        if a.row_by_acceleration[r]:
            # Per unit of effective mass.
            stiffness /= max(compliance, 1e-12)
            damping /= max(compliance, 1e-12)
        impulse = a.row_max_force[r] * dt
        low[r], high[r] = -impulse, impulse
    else:
        # A limit acts at the end that the step comes closer to.
        reach = value + dt * speed + curvature
        at_lower = reach - lower <= upper - reach
        bound = lower if at_lower else upper
        if math.isinf(bound):
            return
        gap = bound - value
        low[r] = 0.0 if at_lower else -math.inf
        high[r] = math.inf if at_lower else 0.0
    if math.isinf(stiffness):
        recovering = a.row_recovering
        outside = gap > 0.0 if at_lower else gap < 0.0
        equal = lower == upper
        is_out = value < lower - VIOLATED or value > upper + VIOLATED
        if a.state_set_by_user and is_out and not is_drive:
            recovering[r], a.outside_limit = 1, 1
        if recovering[r] and (not (outside or equal) or abs(gap) <= CLOSED):
            recovering[r] = 0
        # Inside, a limit may be reached exactly; outside, a share is taken back per step.
        rate = BAUMGARTE / dt if outside or equal else 1.0 / dt
        if recovering[r]:
            rate = 1.0 / max(RECOVERY_TIME, dt)
        if outside or equal or recovering[r]:
            # An impact may wind an axis up by many turns in a step: a limb that was to turn back by
            # 84 rad went at 1000 rad/s, and threw what it met at 100 m/s (measured).
            gap = min(max(gap, -RECOVERY_SPEED / rate), RECOVERY_SPEED / rate)
        target[r] = gap * rate - curvature / dt
        if curvature != 0.0:
            came, is_upper = a.row_rate[r], equal or not at_lower
            given = target_reduction(gap * rate, curvature / dt, came, is_upper, equal or at_lower)
            a.row_reduction[r] = given
        # On its way back from a violation at load an axis is also kept from arriving at speed.
        if equal or recovering[r]:
            low[r], high[r] = -math.inf, math.inf
        return
    if stiffness == 0.0 and damping == 0.0:
        low[r], high[r] = 0.0, 0.0
        return
    if not is_drive and lower == upper:
        # A spring about one place pulls as well as it pushes, also in the step that passes it.
        low[r], high[r] = -math.inf, math.inf
    # A damped spring: k (gap - theta dt v') + d (v_t - v'). theta is 0 up to half a radian of its
    # own swing in a step (symplectic: it keeps its energy; with a theta of 0.01 one of 28 rad/s
    # lost nine tenths of its amplitude in 20 s at 240 Hz), and goes to 1 from there (implicit:
    # k = 1e7 N/m is stable at any dt).
    fast = max((stiffness * compliance * dt * dt - RESOLVED) / (1.0 - RESOLVED), 0.0)
    fast = min(fast, 1e100)
    fast = 4.0 * fast * fast
    theta = max(fast / (1.0 + fast), 1e-9)
    is_inside = gap <= 0.0 if at_lower else gap >= 0.0
    if not is_drive and lower != upper and is_inside and theta < SLOW_SPRING:
        # A limit brakes beyond its bound alone: in the step that passes it, for that share of it.
        way = abs(dt * speed + curvature)
        share = 1.0 - abs(gap) / way if way > 0.0 else 0.0
        if share <= 0.0:
            low[r], high[r] = 0.0, 0.0
            return
        damping *= share
        gap *= theta
    resistance = max(theta * dt * stiffness + damping, 1e-30)
    softness[r] = 1.0 / (dt * resistance)
    target[r] = (stiffness * gap + damping * velocity_target) / resistance


@kernel
def _apply_known_forces(a: Articulation, dt: float, gx: float, gy: float, gz: float) -> None:
    """Generalized forces of gravity, fields, announced loads and moving anchors.

    All of them, and those of them that the engine must be given.

    Sets ``applied_force`` and ``added_force``.
    """
    count, n = a.frame_count, a.dof_count
    joints, states = a.frame_joint, a.frame_state
    links, poses = a.link, a.pose
    wrenches, composites = a.wrench, a.composite
    roots, scratch = a.frame_root, a.scratch
    applied, added = a.applied_force, a.added_force
    axes, frames = a.axis, a.dof_frame
    pulls, externals = a.field_acceleration, a.announced_wrench
    for f in range(count):
        out, link = wrenches[f], links[f]
        mass, more = link[LINK.mass], link[LINK.gravity_factor] - 1.0
        e, p = externals[f], pulls[f]
        x = mass * (more * gx + p[0]) + e[3]
        y = mass * (more * gy + p[1]) + e[4]
        z = mass * (more * gz + p[2]) + e[5]
        c = poses[f, POSE.com :]
        out[0] = e[0] + c[1] * z - c[2] * y
        out[1] = e[1] + c[2] * x - c[0] * z
        out[2] = e[2] + c[0] * y - c[1] * x
        out[3], out[4], out[5] = x, y, z
    project_wrenches(a, added)
    for i in range(n):
        added[i] += a.external_pulse[i]
        f = frames[i]
        s, h = axes[i], composites[f]
        m, hx, hy, hz = h[0], h[1], h[2], h[3]
        weight = (
            s[0] * (hy * gz - hz * gy)
            + s[1] * (hz * gx - hx * gz)
            + s[2] * (hx * gy - hy * gx)
            + m * (s[3] * gx + s[4] * gy + s[5] * gz)
        )
        root = roots[f]
        if joints[root] == ANCHOR:
            # The engine sees an anchor's velocity, not its acceleration (measured) ...
            added[i] -= _anchor_inertia(a, i, root, states, scratch)
        loads = a.external_force[i] + a.external_motor_force[i]
        applied[i] = added[i] + weight + loads
        if joints[root] == ANCHOR:
            # ... and it turns the velocity u of a base with its spin w, an acceleration of w x u
            # that what hangs on it feels (measured: 1 m/s and 1 rad/s tilt a pendulum by 0.1 rad).
            # It is given the u that becomes the velocity: see ``velocity_before_turn``.
            t = a.floats[states[root] + 7 :]
            vx, vy, vz = t[0], t[1], t[2]
            wx, wy, wz = t[3], t[4], t[5]
            if wx != 0.0 or wy != 0.0 or wz != 0.0:
                spin = dt * dt * (wx * wx + wy * wy + wz * wz)
                along = dt * dt * (wx * vx + wy * vy + wz * vz)
                px, py, pz = wy * vz - wz * vy, wz * vx - wx * vz, wx * vy - wy * vx
                vx = (vx - dt * px + wx * along) / (1.0 + spin)
                vy = (vy - dt * py + wy * along) / (1.0 + spin)
                vz = (vz - dt * pz + wz * along) / (1.0 + spin)
                scratch[0], scratch[1], scratch[2] = 0.0, 0.0, 0.0
                scratch[3] = wy * vz - wz * vy
                scratch[4] = wz * vx - wx * vz
                scratch[5] = wx * vy - wy * vx
                composite_wrench(h, scratch, scratch[6:])
                total = 0.0
                for k in range(6):
                    total += s[k] * scratch[6 + k]
                added[i] += total


@kernel
def _anchor_inertia(
    a: Articulation, i: int, root: int, states: IntArray, scratch: FloatArray
) -> float:
    """Generalized force that the acceleration of an anchor takes of the ``i``-th velocity."""
    t = a.floats[states[root] + 13 :]
    still = True
    for k in range(6):
        if t[k] != 0.0:
            still = False
    if still:
        return 0.0
    p = a.pose[root, POSE.com :]
    bx, by, bz = t[3], t[4], t[5]
    scratch[0], scratch[1], scratch[2] = bx, by, bz
    scratch[3] = t[0] - (by * p[2] - bz * p[1])
    scratch[4] = t[1] - (bz * p[0] - bx * p[2])
    scratch[5] = t[2] - (bx * p[1] - by * p[0])
    frame = a.dof_frame[i]
    composite_wrench(a.composite[frame], scratch, scratch[6:])
    total, s = 0.0, a.axis[i]
    for k in range(6):
        total += s[k] * scratch[6 + k]
    return total
