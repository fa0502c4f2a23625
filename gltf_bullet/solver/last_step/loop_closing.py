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

from gltf_bullet.numba_aot import kernel
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
from gltf_bullet.transforms import FloatArray, IntArray

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
def close_loops(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, dt: float
) -> int:
    """Move the joints of an articulation to where its loops are closed, with the least energy.

    Args:
        ints: Of the scene.
        floats: The state that was read; receives what it should be.
        work: Of the scene.
        articulation: The articulation.
        dt: [s] of the step that was made.

    Returns:
        LOOPS_MOVED if the engine must be given the state, LOOP_OPEN if a loop stays open, whose
        number is in ``open_loop``.
    """
    n, rows = articulation.dof_count, articulation.row_count
    count = articulation.total_rows - rows
    articulation.open_loop = 0
    follow_state(ints, floats, work, articulation)
    measure_closures(ints, floats, work, articulation)
    first = _widest_gap(work, articulation)
    largest_bend = _largest(work, articulation.closure_bend, 3 * articulation.closure_count)
    foreseen = WORTH_CLOSING + FORESEEN * largest_bend
    if first <= WORTH_CLOSING and _fastest_opening(work, articulation) * dt <= foreseen:
        return 0
    compose_inertias(ints, floats, work, articulation)
    fill_mass_matrix(ints, work, articulation)
    energy = _kinetic_energy(work, articulation)
    widest, found, is_led = first, 0, False
    _save_state(floats, work, articulation)
    wanted, motion = articulation.closure_impulse, articulation.closure_motion
    for _ in range(CLOSING_STEPS):
        if widest <= WORTH_CLOSING or not _factor_response(work, articulation, count):
            break
        _set_wanted_motion(ints, work, articulation, count)
        _find_motion(work, articulation, count, wanted, motion)
        move_joints(ints, floats, work, articulation, motion)
        found = LOOPS_MOVED
        evaluate_tree(ints, floats, work, articulation)
        measure_closures(ints, floats, work, articulation)
        widest = _widest_gap(work, articulation)
    if not widest <= first:  # rows that contradict each other lead anywhere
        _restore_state(floats, work, articulation)
        evaluate_tree(ints, floats, work, articulation)
        measure_closures(ints, floats, work, articulation)
        widest = first
    if widest > max(OPEN_GAP, REMAINING * first):
        found |= LOOP_OPEN
        articulation.open_loop = 1 + _widest_loop(work, articulation)
    if _factor_response(work, articulation, count):
        found |= LOOPS_MOVED
        for r in range(count):
            work[wanted + r] = -work[articulation.row_rate + rows + r]
            is_led |= work[articulation.row_drift + rows + r] != 0.0
        _find_motion(work, articulation, count, wanted, motion)
        for i in range(n):
            work[articulation.velocity + i] += work[motion + i]
    if found & LOOPS_MOVED:
        left, factor = _kinetic_energy(work, articulation), 1.0
        if left > energy and not is_led:
            factor = math.sqrt(energy / left)  # turned links hold more at the same velocities
        _scale_velocities(ints, floats, work, articulation, factor)
        remember_state(floats, articulation, True)
    return found


@kernel
def _save_state(floats: FloatArray, work: FloatArray, articulation: Articulation) -> None:
    """Save the coordinates and velocities of joints and bases."""
    for k in range(articulation.state_size):
        work[articulation.saved_state + k] = floats[articulation.state + k]


@kernel
def _restore_state(floats: FloatArray, work: FloatArray, articulation: Articulation) -> None:
    """Restore what :func:`_save_state` saved."""
    for k in range(articulation.state_size):
        floats[articulation.state + k] = work[articulation.saved_state + k]


@kernel
def _widest_gap(work: FloatArray, articulation: Articulation) -> float:
    return _largest(work, articulation.closure_gap, 3 * articulation.closure_count)


@kernel
def _largest(work: FloatArray, first: int, count: int) -> float:
    """Largest magnitude of some numbers."""
    largest: float = 0.0
    for k in range(first, first + count):
        largest = max(largest, abs(float(work[k])))
    return largest


@kernel
def _widest_loop(work: FloatArray, articulation: Articulation) -> int:
    widest, found = -1.0, 0
    for k in range(3 * articulation.closure_count):
        gap = abs(work[articulation.closure_gap + k])
        if gap > widest:
            widest, found = gap, k // 3
    return found


@kernel
def _fastest_opening(work: FloatArray, articulation: Articulation) -> float:
    """Largest speed at which ends of loops separate [m/s] or turn apart [rad/s]."""
    rows = articulation.row_count
    return _largest(work, articulation.row_rate + rows, articulation.total_rows - rows)


@kernel
def _factor_response(work: FloatArray, articulation: Articulation, count: int) -> bool:
    """Factor J M^-1 J^T of the rows of loops; return whether any of them can move."""
    n, total = articulation.dof_count, 0.0
    response = articulation.closure_compliance
    factor_dense(work, articulation.mass, n, articulation.factor)
    fill_row_halves(work, articulation, articulation.row_count)
    half = articulation.row_half + n * articulation.row_count
    for r in range(count):
        for s in range(r + 1):
            product = dot(work, half + n * r, half + n * s, n)
            work[response + count * r + s] = work[response + count * s + r] = product
        total += work[response + (count + 1) * r]
    for r in range(count):
        work[response + (count + 1) * r] += NEVER_SINGULAR * total
    factor_dense(work, response, count, articulation.closure_factor)
    return total > 0.0


@kernel
def _set_wanted_motion(
    ints: IntArray, work: FloatArray, articulation: Articulation, count: int
) -> None:
    """Set the wanted change of the rows: gaps are closed, rotations of welds stay."""
    wanted, r = articulation.closure_impulse, 0
    for k in range(count):
        work[wanted + k] = 0.0
    for c in range(articulation.closure_count):
        for k in range(3):
            gap = work[articulation.closure_gap + 3 * c + k]
            work[wanted + r + k] = -min(max(gap, -LARGEST_MOVE), LARGEST_MOVE)
        r += ints[articulation.closure_size + c]


@kernel
def _find_motion(
    work: FloatArray, articulation: Articulation, count: int, wanted: int, motion: int
) -> None:
    """Find the change of coordinates that changes the rows as wanted, which is overwritten."""
    n = articulation.dof_count
    row = articulation.row_jacobian + n * articulation.row_count
    solve_dense(work, articulation.closure_factor, count, wanted)
    for i in range(n):
        total = 0.0
        for r in range(count):
            total += work[row + n * r + i] * work[wanted + r]
        work[motion + i] = total
    solve_dense(work, articulation.factor, n, motion)


@kernel
def move_joints(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, motion: int
) -> None:
    """Put joints and floating bases elsewhere, ``motion`` in m and rad."""
    for f in range(articulation.frame_count):
        joint = ints[articulation.frame_joint + f]
        dof = motion + ints[articulation.frame_first_dof + f]
        place = ints[articulation.frame_state + f]
        if joint == ANCHOR:
            continue
        if joint == REVOLUTE or joint == PRISMATIC:
            floats[place] += work[dof]
        elif joint == SPHERICAL:
            _turn(floats, place, work[dof], work[dof + 1], work[dof + 2], False)
        elif joint == FLOATING:
            for k in range(3):
                floats[place + k] += work[dof + k]
            _turn(floats, place + 3, work[dof + 3], work[dof + 4], work[dof + 5], True)


@kernel
def _turn(floats: FloatArray, q: int, x: float, y: float, z: float, is_in_world: bool) -> None:
    """Turn a rotation xyzw by a rotation vector, in its own axes or in those of the world."""
    angle = math.sqrt(x * x + y * y + z * z)
    if angle == 0.0:
        return
    share, w = math.sin(0.5 * angle) / angle, math.cos(0.5 * angle)
    x, y, z = share * x, share * y, share * z
    sign = 1.0 if is_in_world else -1.0
    i, j, k, r = floats[q], floats[q + 1], floats[q + 2], floats[q + 3]
    floats[q] = w * i + r * x + sign * (y * k - z * j)
    floats[q + 1] = w * j + r * y + sign * (z * i - x * k)
    floats[q + 2] = w * k + r * z + sign * (x * j - y * i)
    floats[q + 3] = w * r - x * i - y * j - z * k


@kernel
def _kinetic_energy(work: FloatArray, articulation: Articulation) -> float:
    """Kinetic energy of an articulation [J]."""
    n, mass = articulation.dof_count, articulation.mass
    velocity, total = articulation.velocity, 0.0
    for i in range(n):
        momentum = 0.0
        for k in range(n):
            momentum += work[mass + n * i + k] * work[velocity + k]
        total += 0.5 * momentum * work[velocity + i]
    return total


@kernel
def _scale_velocities(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation, factor: float
) -> None:
    """Scale all velocities."""
    velocity = articulation.velocity
    for f in range(articulation.frame_count):
        dof = ints[articulation.frame_first_dof + f]
        joint = ints[articulation.frame_joint + f]
        if dof < 0 or joint == ANCHOR:
            continue
        state = ints[articulation.frame_state + f]
        size, start = 1, state + 1
        if joint == SPHERICAL:
            size, start = 3, state + 4
        elif joint == FLOATING:
            size, start = 6, state + 7
        for k in range(size):
            speed = factor * work[velocity + dof + k]
            work[velocity + dof + k] = speed
            floats[start + k] = speed
    move_frames(ints, floats, work, articulation, velocity, articulation.twist)
