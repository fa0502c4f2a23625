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
def prepare_articulation(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> None:
    """Prepare the solve of one step of ``dt`` seconds, after :func:`evaluate_tree`."""
    n = articulation.dof_count
    mass, last = articulation.mass, articulation.last_mass
    for k in range(n * n):
        floats[last + k] = work[mass + k]
    factor_dense(work, mass, n, articulation.factor)
    _apply_known_forces(ints, floats, work, articulation, dt, gx, gy, gz)
    centre_bias(ints, floats, work, articulation, dt, False)
    _move_freely(work, articulation, dt)
    measure_rows(ints, floats, work, articulation)
    predict_curvature(ints, floats, work, articulation, dt)
    if articulation.closure_count:
        bend_closures(ints, floats, work, articulation, dt)
    fill_row_halves(work, articulation, 0)
    _bound_rows(ints, floats, work, articulation, dt)
    if is_mean_off(ints, floats, work, articulation, dt):
        centre_bias(ints, floats, work, articulation, dt, True)
        _move_freely(work, articulation, dt)
        predict_curvature(ints, floats, work, articulation, dt)
        _bound_rows(ints, floats, work, articulation, dt)


@kernel
def _move_freely(work: FloatArray, articulation: Articulation, dt: float) -> None:
    """Find the velocities after the step if no row does anything."""
    n, velocity, free = articulation.dof_count, articulation.velocity, articulation.free_velocity
    applied, centred = articulation.applied_force, articulation.centred_bias
    for k in range(n):
        work[free + k] = work[applied + k] - work[centred + k]
    solve_dense(work, articulation.factor, n, free)
    for k in range(n):
        work[free + k] = work[velocity + k] + dt * work[free + k]


@kernel
def _bound_rows(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Softness, velocity target and bounds of the impulse of every row."""
    articulation.outside_limit = 0
    n, rows = articulation.dof_count, articulation.row_count
    free, half = articulation.free_velocity, articulation.row_half
    softness, target = articulation.row_softness, articulation.row_target
    low, high = articulation.row_low, articulation.row_high
    last, last_dt = articulation.last_impulse, floats[articulation.last_dt]
    largest = 0.0
    for r in range(articulation.total_rows):
        total = dot(work, half + n * r, half + n * r, n)
        work[articulation.row_compliance + r] = total
        floats[articulation.last_compliance + r] = total
        largest = max(largest, total)
    c, k = 0, 0
    for r in range(articulation.total_rows):
        compliance = work[articulation.row_compliance + r]
        # A row that can move nothing has the softness of one that moves a little.
        hard = HARD * (max(compliance, 1e-6 * largest) if largest > 0.0 else 1.0)
        drift = work[articulation.row_drift + r]
        if r < rows:
            row = articulation.row_jacobian + n * r
            speed = drift
            for i in range(n):
                speed += work[row + i] * work[free + i]
            curvature = work[articulation.row_curvature + r]
            _bound_row(ints, floats, work, articulation, dt, r, speed, curvature, compliance, hard)
            if curvature != 0.0 and compliance > 1e-6 * largest:
                _refine_curvature(
                    ints, floats, work, articulation, dt, r, speed, curvature, compliance, hard
                )
        else:
            gap, bend = 0.0, 0.0
            if k < 3:
                gap = work[articulation.closure_gap + 3 * c + k]
                gap = min(max(gap, -CLOSURE_GAP), CLOSURE_GAP)
                bend = work[articulation.closure_bend + 3 * c + k]
            work[softness + r] = hard
            work[target + r] = -(BAUMGARTE * gap + bend) / dt
            work[low + r], work[high + r] = -math.inf, math.inf
            k += 1
            if k == ints[articulation.closure_size + c]:
                c, k = c + 1, 0
        work[target + r] -= drift
        if work[softness + r] == hard and last_dt > 0.0:
            # Memory: what the row did lately costs nothing.
            lately = floats[last + r] * dt / last_dt
            work[target + r] += hard * min(max(lately, work[low + r]), work[high + r])


@kernel
def _refine_curvature(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
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
        impulse = (work[articulation.row_target + r] - speed) / compliance
        impulse = max(impulse, work[articulation.row_low + r])
        impulse = min(impulse, work[articulation.row_high + r])
        if impulse == 0.0:
            return
        curvature = curvature_under_impulse(ints, floats, work, articulation, r, impulse, dt)
        first = curvature if k == 0 else first
        _bound_row(ints, floats, work, articulation, dt, r, speed, curvature, compliance, hard)
        if abs(curvature - before) <= LEAST_CURVATURE:
            return
        before = curvature
    # A step that crosses a good part of the circle: the first pass errs towards less energy.
    _bound_row(ints, floats, work, articulation, dt, r, speed, first, compliance, hard)


@kernel
def _bound_row(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
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
    softness, target = articulation.row_softness + r, articulation.row_target + r
    low, high = articulation.row_low + r, articulation.row_high + r
    value = work[articulation.row_value + r]
    lower, upper = floats[articulation.row_lower + r], floats[articulation.row_upper + r]
    stiffness = floats[articulation.row_stiffness + r]
    damping = floats[articulation.row_damping + r]
    is_drive = ints[articulation.row_is_drive + r] != 0
    velocity_target = 0.0
    at_lower, bound = False, 0.0
    work[low], work[high] = 0.0, 0.0
    work[softness], work[target] = hard, 0.0
    work[articulation.row_reduction + r] = 0.0
    if is_drive:
        if is_externally_driven(ints, floats, work, articulation, r):
            return
        gap = floats[articulation.row_position_target + r] - value
        velocity_target = floats[articulation.row_velocity_target + r]
        if ints[articulation.row_by_acceleration + r]:
            # Per unit of effective mass.
            stiffness /= max(compliance, 1e-12)
            damping /= max(compliance, 1e-12)
        impulse = floats[articulation.row_max_force + r] * dt
        work[low], work[high] = -impulse, impulse
    else:
        # A limit acts at the end that the step comes closer to.
        reach = value + dt * speed + curvature
        at_lower = reach - lower <= upper - reach
        bound = lower if at_lower else upper
        if math.isinf(bound):
            return
        gap = bound - value
        work[low] = 0.0 if at_lower else -math.inf
        work[high] = math.inf if at_lower else 0.0
    if math.isinf(stiffness):
        recovering = articulation.row_recovering + r
        outside = gap > 0.0 if at_lower else gap < 0.0
        equal = lower == upper
        is_out = value < lower - VIOLATED or value > upper + VIOLATED
        if articulation.state_set_by_user and is_out and not is_drive:
            ints[recovering], articulation.outside_limit = 1, 1
        if ints[recovering] and (not (outside or equal) or abs(gap) <= CLOSED):
            ints[recovering] = 0
        # Inside, a limit may be reached exactly; outside, a share is taken back per step.
        rate = BAUMGARTE / dt if outside or equal else 1.0 / dt
        if ints[recovering]:
            rate = 1.0 / max(RECOVERY_TIME, dt)
        if outside or equal or ints[recovering]:
            # An impact may wind an axis up by many turns in a step: a limb that was to turn back by
            # 84 rad went at 1000 rad/s, and threw what it met at 100 m/s (measured).
            gap = min(max(gap, -RECOVERY_SPEED / rate), RECOVERY_SPEED / rate)
        work[target] = gap * rate - curvature / dt
        if curvature != 0.0:
            came, is_upper = work[articulation.row_rate + r], equal or not at_lower
            given = target_reduction(gap * rate, curvature / dt, came, is_upper, equal or at_lower)
            work[articulation.row_reduction + r] = given
        # On its way back from a violation at load an axis is also kept from arriving at speed.
        if equal or ints[recovering]:
            work[low], work[high] = -math.inf, math.inf
        return
    if stiffness == 0.0 and damping == 0.0:
        work[low], work[high] = 0.0, 0.0
        return
    if not is_drive and lower == upper:
        # A spring about one place pulls as well as it pushes, also in the step that passes it.
        work[low], work[high] = -math.inf, math.inf
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
            work[low], work[high] = 0.0, 0.0
            return
        damping *= share
        gap *= theta
    resistance = max(theta * dt * stiffness + damping, 1e-30)
    work[softness] = 1.0 / (dt * resistance)
    work[target] = (stiffness * gap + damping * velocity_target) / resistance


@kernel
def _apply_known_forces(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> None:
    """Generalized forces of gravity, fields, announced loads and moving anchors.

    All of them, and those of them that the engine must be given.
    """
    count, n = articulation.frame_count, articulation.dof_count
    joints, states = articulation.frame_joint, articulation.frame_state
    links, poses = articulation.link, articulation.pose
    wrenches, composites = articulation.wrench, articulation.composite
    roots, scratch = articulation.frame_root, articulation.scratch
    applied, added = articulation.applied_force, articulation.added_force
    axes, frames = articulation.axis, articulation.dof_frame
    pulls, externals = articulation.field_acceleration, articulation.announced_wrench
    for f in range(count):
        out, link = wrenches + 6 * f, links + LINK.size * f
        mass, more = floats[link + LINK.mass], floats[link + LINK.gravity_factor] - 1.0
        e, p = externals + 6 * f, pulls + 3 * f
        x = mass * (more * gx + floats[p]) + floats[e + 3]
        y = mass * (more * gy + floats[p + 1]) + floats[e + 4]
        z = mass * (more * gz + floats[p + 2]) + floats[e + 5]
        c = poses + POSE.size * f + POSE.com
        work[out] = floats[e] + work[c + 1] * z - work[c + 2] * y
        work[out + 1] = floats[e + 1] + work[c + 2] * x - work[c] * z
        work[out + 2] = floats[e + 2] + work[c] * y - work[c + 1] * x
        work[out + 3], work[out + 4], work[out + 5] = x, y, z
    project_wrenches(ints, work, articulation, added)
    for i in range(n):
        work[added + i] += floats[articulation.external_pulse + i]
        f = ints[frames + i]
        s, h = axes + 6 * i, composites + 10 * f
        m, hx, hy, hz = work[h], work[h + 1], work[h + 2], work[h + 3]
        weight = (
            work[s] * (hy * gz - hz * gy)
            + work[s + 1] * (hz * gx - hx * gz)
            + work[s + 2] * (hx * gy - hy * gx)
            + m * (work[s + 3] * gx + work[s + 4] * gy + work[s + 5] * gz)
        )
        root = ints[roots + f]
        if ints[joints + root] == ANCHOR:
            # The engine sees an anchor's velocity, not its acceleration (measured) ...
            work[added + i] -= _anchor_inertia(
                ints, floats, work, articulation, i, root, states, scratch
            )
        loads = (
            floats[articulation.external_force + i] + floats[articulation.external_motor_force + i]
        )
        work[applied + i] = work[added + i] + weight + loads
        if ints[joints + root] == ANCHOR:
            # ... and it turns the velocity u of a base with its spin w, an acceleration of w x u
            # that what hangs on it feels (measured: 1 m/s and 1 rad/s tilt a pendulum by 0.1 rad).
            # It is given the u that becomes the velocity: see ``velocity_before_turn``.
            t = ints[states + root] + 7
            vx, vy, vz = floats[t], floats[t + 1], floats[t + 2]
            wx, wy, wz = floats[t + 3], floats[t + 4], floats[t + 5]
            if wx != 0.0 or wy != 0.0 or wz != 0.0:
                spin = dt * dt * (wx * wx + wy * wy + wz * wz)
                along = dt * dt * (wx * vx + wy * vy + wz * vz)
                px, py, pz = wy * vz - wz * vy, wz * vx - wx * vz, wx * vy - wy * vx
                vx = (vx - dt * px + wx * along) / (1.0 + spin)
                vy = (vy - dt * py + wy * along) / (1.0 + spin)
                vz = (vz - dt * pz + wz * along) / (1.0 + spin)
                work[scratch], work[scratch + 1], work[scratch + 2] = 0.0, 0.0, 0.0
                work[scratch + 3] = wy * vz - wz * vy
                work[scratch + 4] = wz * vx - wx * vz
                work[scratch + 5] = wx * vy - wy * vx
                composite_wrench(work, h, scratch, scratch + 6)
                total = 0.0
                for k in range(6):
                    total += work[s + k] * work[scratch + 6 + k]
                work[added + i] += total


@kernel
def _anchor_inertia(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    i: int,
    root: int,
    states: int,
    scratch: int,
) -> float:
    """Generalized force that the acceleration of an anchor takes of the ``i``-th velocity."""
    t = ints[states + root] + 13
    still = True
    for k in range(6):
        if floats[t + k] != 0.0:
            still = False
    if still:
        return 0.0
    p = articulation.pose + POSE.size * root + POSE.com
    bx, by, bz = floats[t + 3], floats[t + 4], floats[t + 5]
    work[scratch], work[scratch + 1], work[scratch + 2] = bx, by, bz
    work[scratch + 3] = floats[t] - (by * work[p + 2] - bz * work[p + 1])
    work[scratch + 4] = floats[t + 1] - (bz * work[p] - bx * work[p + 2])
    work[scratch + 5] = floats[t + 2] - (bx * work[p + 1] - by * work[p])
    frame = ints[articulation.dof_frame + i]
    composite_wrench(work, articulation.composite + 10 * frame, scratch, scratch + 6)
    total, s = 0.0, articulation.axis + 6 * i
    for k in range(6):
        total += work[s + k] * work[scratch + 6 + k]
    return total
