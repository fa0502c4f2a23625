"""Loops that the engine's step has left open are closed: coordinates, and velocities as well.

The engine's constraints hold velocities together, along straight lines: an impact that turns the
links of a ring by 0.3 rad in a step leaves a gap of 50 mm (measured, 60 Hz). And they do not always
hold them: it stops once the last of its rows is satisfied, and where a link of little mass slides
along one axis, the rows of the others take from each other what they have done (measured: a bridge
that a box hits left its roller at 3.7 m/s, and 15 mm open in every step; with a hundred times the
iterations as well).
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import FloatTable, kernel
from gltf_bullet.solver.articulation_arrays import (
    ANCHOR,
    FLOATING,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Articulation,
)
from gltf_bullet.solver.cholesky import dot, factor_dense, solve_dense
from gltf_bullet.solver.last_step.external_changes import remember_state
from gltf_bullet.solver.outcomes import LOOP_OPEN, LOOPS_MOVED
from gltf_bullet.solver.row_metrics import fill_row_halves, measure_closures
from gltf_bullet.solver.tree_dynamics import compose_inertias, evaluate_tree, fill_mass_matrix
from gltf_bullet.solver.tree_kinematics import follow_state, move_frames
from gltf_bullet.transforms import FloatArray

WORTH_CLOSING = 2e-4
"""[m, rad] Least gap, present or within a step, that is closed."""

FORESEEN = 2.0
"""Multiple of what a step was to add to gaps by turning, up to which ends may go on to part."""

LARGEST_MOVE = 0.2
"""[m] Largest part of a gap that is closed at once: gaps that others have made may be larger."""

CLOSING_STEPS = 10
"""Largest number of Newton's steps: a gap of 50 mm is one of 1 mm after the first, but that of a
ring whose links turn by a radian, at 30 Hz, is still 0.2 m after three (measured)."""

OPEN_GAP = 0.02
"""[m] Largest gap that may stay open without a warning."""
REMAINING = 0.9
"""Share of a gap that may stay open without a warning: both ends may be prescribed."""

NEVER_SINGULAR = 1e-10
"""Share of their sum on the diagonal: loops may say the same thing twice."""


@kernel
def close_loops(a: Articulation, dt: float) -> int:
    """Move the joints of an articulation to where its loops are closed, with the least energy.

    Args:
        a: Its ``state`` is as it was read; receives what it should be.
        dt: [s] of the step that was made.

    Returns:
        LOOPS_MOVED if the engine must be given the state, LOOP_OPEN if a loop stays open, whose
        number is in ``open_loop``.
    """
    n, rows = a.dof_count, a.row_count
    count = a.total_rows - rows
    a.open_loop = 0
    follow_state(a)
    measure_closures(a)
    first = _widest_gap(a)
    largest_bend = _largest(a.closure_bend, a.closure_count)
    foreseen = WORTH_CLOSING + FORESEEN * largest_bend
    if first <= WORTH_CLOSING and _fastest_opening(a) * dt <= foreseen:
        return 0
    compose_inertias(a)
    fill_mass_matrix(a)
    energy = _kinetic_energy(a)
    widest, found, is_led = first, 0, False
    _save_state(a)
    wanted, motion = a.closure_impulse, a.closure_motion
    for _ in range(CLOSING_STEPS):
        if widest <= WORTH_CLOSING or not _factor_response(a, count):
            break
        _set_wanted_motion(a, count)
        _find_motion(a, count, wanted, motion)
        move_joints(a, motion)
        found = LOOPS_MOVED
        evaluate_tree(a)
        measure_closures(a)
        widest = _widest_gap(a)
    if not widest <= first:  # rows that contradict each other lead anywhere
        _restore_state(a)
        evaluate_tree(a)
        measure_closures(a)
        widest = first
    if widest > max(OPEN_GAP, REMAINING * first):
        found |= LOOP_OPEN
        a.open_loop = 1 + _widest_loop(a)
    if _factor_response(a, count):
        found |= LOOPS_MOVED
        for r in range(count):
            wanted[r] = -a.row_rate[rows + r]
            is_led |= a.row_drift[rows + r] != 0.0
        _find_motion(a, count, wanted, motion)
        for i in range(n):
            a.velocity[i] += motion[i]
    if found & LOOPS_MOVED:
        left, factor = _kinetic_energy(a), 1.0
        if left > energy and not is_led:
            factor = math.sqrt(energy / left)  # turned links hold more at the same velocities
        _scale_velocities(a, factor)
        remember_state(a, True)
    return found


@kernel
def _save_state(a: Articulation) -> None:
    """Save the coordinates and velocities of joints and bases."""
    for k in range(a.state_size):
        a.saved_state[k] = a.state[k]


@kernel
def _restore_state(a: Articulation) -> None:
    """Restore what :func:`_save_state` saved."""
    for k in range(a.state_size):
        a.state[k] = a.saved_state[k]


@kernel
def _widest_gap(a: Articulation) -> float:
    return _largest(a.closure_gap, a.closure_count)


@kernel
def _largest(gaps: FloatTable, count: int) -> float:
    """Largest magnitude in gaps [count, 3], or of what is added to them."""
    largest: float = 0.0
    for c in range(count):
        for k in range(3):
            largest = max(largest, abs(float(gaps[c, k])))
    return largest


@kernel
def _widest_loop(a: Articulation) -> int:
    widest, found = -1.0, 0
    for c in range(a.closure_count):
        for k in range(3):
            gap = abs(a.closure_gap[c, k])
            if gap > widest:
                widest, found = gap, c
    return found


@kernel
def _fastest_opening(a: Articulation) -> float:
    """Largest speed at which ends of loops separate [m/s] or turn apart [rad/s]."""
    fastest: float = 0.0
    for r in range(a.row_count, a.total_rows):
        fastest = max(fastest, abs(float(a.row_rate[r])))
    return fastest


@kernel
def _factor_response(a: Articulation, count: int) -> bool:
    """Factor J M^-1 J^T of the rows of loops; return whether any of them can move."""
    n, total = a.dof_count, 0.0
    response = a.closure_compliance
    factor_dense(a.mass, n, a.factor)
    fill_row_halves(a, a.row_count)
    half = a.row_half[a.row_count :]
    for r in range(count):
        for s in range(r + 1):
            product = dot(half[r], half[s], n)
            response[r, s] = response[s, r] = product
        total += response[r, r]
    for r in range(count):
        response[r, r] += NEVER_SINGULAR * total
    factor_dense(response, count, a.closure_factor)
    return total > 0.0


@kernel
def _set_wanted_motion(a: Articulation, count: int) -> None:
    """Set the wanted change of the rows: gaps are closed, rotations of welds stay."""
    wanted, r = a.closure_impulse, 0
    for k in range(count):
        wanted[k] = 0.0
    for c in range(a.closure_count):
        for k in range(3):
            gap = a.closure_gap[c, k]
            wanted[r + k] = -min(max(gap, -LARGEST_MOVE), LARGEST_MOVE)
        r += a.closure_size[c]


@kernel
def _find_motion(a: Articulation, count: int, wanted: FloatArray, motion: FloatArray) -> None:
    """Find the change of coordinates that changes the rows as wanted, which is overwritten."""
    n = a.dof_count
    rows = a.row_jacobian[a.row_count :]
    solve_dense(a.closure_factor, count, wanted)
    for i in range(n):
        total = 0.0
        for r in range(count):
            total += rows[r, i] * wanted[r]
        motion[i] = total
    solve_dense(a.factor, n, motion)


@kernel
def move_joints(a: Articulation, motion: FloatArray) -> None:
    """Put joints and floating bases elsewhere, ``motion`` in m and rad."""
    for f in range(a.frame_count):
        joint = a.frame_joint[f]
        dof = motion[a.frame_first_dof[f] :]
        place = a.floats[a.frame_state[f] :]
        if joint == ANCHOR:
            continue
        if joint == REVOLUTE or joint == PRISMATIC:
            place[0] += dof[0]
        elif joint == SPHERICAL:
            _turn(place, dof[0], dof[1], dof[2], False)
        elif joint == FLOATING:
            for k in range(3):
                place[k] += dof[k]
            _turn(place[3:], dof[3], dof[4], dof[5], True)


@kernel
def _turn(quat: FloatArray, x: float, y: float, z: float, is_in_world: bool) -> None:
    """Turn a rotation xyzw by a rotation vector, in its own axes or in those of the world."""
    angle = math.sqrt(x * x + y * y + z * z)
    if angle == 0.0:
        return
    share, w = math.sin(0.5 * angle) / angle, math.cos(0.5 * angle)
    x, y, z = share * x, share * y, share * z
    sign = 1.0 if is_in_world else -1.0
    i, j, k, r = quat[0], quat[1], quat[2], quat[3]
    quat[0] = w * i + r * x + sign * (y * k - z * j)
    quat[1] = w * j + r * y + sign * (z * i - x * k)
    quat[2] = w * k + r * z + sign * (x * j - y * i)
    quat[3] = w * r - x * i - y * j - z * k


@kernel
def _kinetic_energy(a: Articulation) -> float:
    """Kinetic energy of an articulation [J]."""
    n, mass = a.dof_count, a.mass
    velocity, total = a.velocity, 0.0
    for i in range(n):
        momentum = 0.0
        for k in range(n):
            momentum += mass[i, k] * velocity[k]
        total += 0.5 * momentum * velocity[i]
    return total


@kernel
def _scale_velocities(a: Articulation, factor: float) -> None:
    """Scale all velocities."""
    velocity = a.velocity
    for f in range(a.frame_count):
        dof = a.frame_first_dof[f]
        joint = a.frame_joint[f]
        if dof < 0 or joint == ANCHOR:
            continue
        state = a.frame_state[f]
        size, start = 1, state + 1
        if joint == SPHERICAL:
            size, start = 3, state + 4
        elif joint == FLOATING:
            size, start = 6, state + 7
        for k in range(size):
            speed = factor * velocity[dof + k]
            velocity[dof + k] = speed
            a.floats[start + k] = speed
    move_frames(a, velocity, a.twist)
