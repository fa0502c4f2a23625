"""Loops that the engine has let open are closed after its step: places, and velocities as well.

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
from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import ANCHOR, FLOATING, PRISMATIC, REVOLUTE, SPHERICAL
from gltf_bullet.solver.cholesky import factor_dense, forward_dense, solve_dense
from gltf_bullet.solver.last_step.foreign_hands import note_places
from gltf_bullet.solver.outcomes import WAS_MOVED, WAS_TORN
from gltf_bullet.solver.row_metrics import measure_closures
from gltf_bullet.solver.tree_dynamics import compose_inertias, evaluate_tree, fill_mass_matrix
from gltf_bullet.solver.tree_kinematics import follow_state, move_frames
from gltf_bullet.transforms import FloatArray, IntArray

WORTH_CLOSING = 2e-4
"""[m, rad] A gap from which on joints are moved; and one that a step would make."""

LARGEST_MOVE = 0.2
"""[m] of a gap that is closed at once: larger ones, which somebody else has made, take steps."""

CLOSING_STEPS = 10
"""Of Newton's method at most: a gap of 50 mm is one of 1 mm after the first, but that of a ring
whose links turn by a radian, at 30 Hz, is still 0.2 m after three (measured)."""

TORN = 0.02
"""[m] A gap that is named if closing leaves"""
HELD = 0.9
"""of it, or more: what holds the loop on both sides is prescribed."""

NEVER_SINGULAR = 1e-10
"""Share of their sum on the diagonal: loops may say the same thing twice."""


@kernel
def close_loops(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, dt: float) -> int:
    """Move the joints of an articulation to where its loops are closed, the least way by energy.

    Args:
        ints: Of the arena.
        floats: The state that was read; receives what it should be.
        work: Of the arena.
        a: The articulation.
        dt: [s] of the step that was made.

    Returns:
        WAS_MOVED where the engine must be given the state, WAS_TORN where a loop stays open; TORN
        in the record tells which one.
    """
    n, rows = ints[a + arena.DOF_COUNT], ints[a + arena.ROW_COUNT]
    count = ints[a + arena.TOTAL_ROWS] - rows
    ints[a + arena.TORN] = 0
    follow_state(ints, floats, work, a)
    measure_closures(ints, floats, work, a)
    first = _widest_gap(ints, work, a)
    if first <= WORTH_CLOSING and _fastest_opening(ints, work, a) * dt <= WORTH_CLOSING:
        return 0
    compose_inertias(ints, floats, work, a)
    fill_mass_matrix(ints, work, a)
    energy = _kinetic_energy(ints, work, a)
    widest, found, is_led = first, 0, False
    _remember(ints, floats, work, a)
    pull, way = ints[a + arena.CLOSURE_PULL], ints[a + arena.CLOSURE_WAY]
    for _ in range(CLOSING_STEPS):
        if widest <= WORTH_CLOSING or not _respond(ints, work, a, count):
            break
        _aim(ints, work, a, count)
        _find_way(ints, work, a, count, pull, way)
        move_joints(ints, floats, work, a, way)
        found = WAS_MOVED
        evaluate_tree(ints, floats, work, a)
        measure_closures(ints, floats, work, a)
        widest = _widest_gap(ints, work, a)
    if not widest <= first:  # rows that contradict each other lead anywhere
        _go_back(ints, floats, work, a)
        evaluate_tree(ints, floats, work, a)
        measure_closures(ints, floats, work, a)
        widest = first
    if widest > max(TORN, HELD * first):
        found |= WAS_TORN
        ints[a + arena.TORN] = 1 + _widest_loop(ints, work, a)
    if _respond(ints, work, a, count):
        found |= WAS_MOVED
        for r in range(count):
            work[pull + r] = -work[ints[a + arena.ROW_RATE] + rows + r]
            is_led |= work[ints[a + arena.ROW_DRIFT] + rows + r] != 0.0
        _find_way(ints, work, a, count, pull, way)
        for i in range(n):
            work[ints[a + arena.VELOCITY] + i] += work[way + i]
    if found & WAS_MOVED:
        left, factor = _kinetic_energy(ints, work, a), 1.0
        if left > energy and not is_led:
            factor = math.sqrt(energy / left)  # turned links hold more at the same velocities
        _scale_velocities(ints, floats, work, a, factor)
        note_places(ints, floats, a, True)
    return found


@kernel
def _remember(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> None:
    """Note where joints and bases are."""
    for k in range(ints[a + arena.STATE_SIZE]):
        work[ints[a + arena.OPEN_STATE] + k] = floats[ints[a + arena.STATE] + k]


@kernel
def _go_back(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> None:
    """Put them where :func:`_remember` saw them."""
    for k in range(ints[a + arena.STATE_SIZE]):
        floats[ints[a + arena.STATE] + k] = work[ints[a + arena.OPEN_STATE] + k]


@kernel
def _widest_gap(ints: IntArray, work: FloatArray, a: int) -> float:
    widest: float = 0.0
    for k in range(3 * ints[a + arena.CLOSURE_COUNT]):
        widest = max(widest, abs(float(work[ints[a + arena.CLOSURE_GAP] + k])))
    return widest


@kernel
def _widest_loop(ints: IntArray, work: FloatArray, a: int) -> int:
    widest, found = -1.0, 0
    for k in range(3 * ints[a + arena.CLOSURE_COUNT]):
        gap = abs(work[ints[a + arena.CLOSURE_GAP] + k])
        if gap > widest:
            widest, found = gap, k // 3
    return found


@kernel
def _fastest_opening(ints: IntArray, work: FloatArray, a: int) -> float:
    """At which the ends of loops part [m/s], or turn apart [rad/s]."""
    fastest: float = 0.0
    for r in range(ints[a + arena.ROW_COUNT], ints[a + arena.TOTAL_ROWS]):
        fastest = max(fastest, abs(float(work[ints[a + arena.ROW_RATE] + r])))
    return fastest


@kernel
def _respond(ints: IntArray, work: FloatArray, a: int, count: int) -> bool:
    """Factor how the ends of loops give way to their own pull; whether any of them does."""
    n, total = ints[a + arena.DOF_COUNT], 0.0
    half, response = ints[a + arena.CLOSURE_HALF], ints[a + arena.CLOSURE_RESPONSE]
    factor_dense(work, ints[a + arena.MASS], n, ints[a + arena.FACTOR])
    row = ints[a + arena.ROW_JACOBIAN] + n * ints[a + arena.ROW_COUNT]
    for k in range(count * n):
        work[half + k] = work[row + k]
    for r in range(count):
        forward_dense(work, ints[a + arena.FACTOR], n, half + n * r)
        for s in range(r + 1):
            product = 0.0
            for i in range(n):
                product += work[half + n * r + i] * work[half + n * s + i]
            work[response + count * r + s] = work[response + count * s + r] = product
        total += work[response + (count + 1) * r]
    for r in range(count):
        work[response + (count + 1) * r] += NEVER_SINGULAR * total
    factor_dense(work, response, count, ints[a + arena.CLOSURE_FACTOR])
    return total > 0.0


@kernel
def _aim(ints: IntArray, work: FloatArray, a: int, count: int) -> None:
    """Want the gaps closed; turns of welds stay as they are."""
    pull, r = ints[a + arena.CLOSURE_PULL], 0
    for k in range(count):
        work[pull + k] = 0.0
    for c in range(ints[a + arena.CLOSURE_COUNT]):
        for k in range(3):
            gap = work[ints[a + arena.CLOSURE_GAP] + 3 * c + k]
            work[pull + r + k] = -min(max(gap, -LARGEST_MOVE), LARGEST_MOVE)
        r += ints[ints[a + arena.CLOSURE_SIZE] + c]


@kernel
def _find_way(ints: IntArray, work: FloatArray, a: int, count: int, wanted: int, way: int) -> None:
    """What the coordinates have to do so that the rows do what is wanted, which is overwritten."""
    n = ints[a + arena.DOF_COUNT]
    row = ints[a + arena.ROW_JACOBIAN] + n * ints[a + arena.ROW_COUNT]
    solve_dense(work, ints[a + arena.CLOSURE_FACTOR], count, wanted)
    for i in range(n):
        total = 0.0
        for r in range(count):
            total += work[row + n * r + i] * work[wanted + r]
        work[way + i] = total
    solve_dense(work, ints[a + arena.FACTOR], n, way)


@kernel
def move_joints(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, way: int) -> None:
    """Put joints and floating bases elsewhere, ``way`` in m and rad."""
    for f in range(ints[a + arena.FRAME_COUNT]):
        joint = ints[ints[a + arena.FRAME_JOINT] + f]
        dof = way + ints[ints[a + arena.FRAME_FIRST_DOF] + f]
        place = ints[ints[a + arena.FRAME_STATE] + f]
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
def _kinetic_energy(ints: IntArray, work: FloatArray, a: int) -> float:
    """Of an articulation as it moves now [J]."""
    n, mass = ints[a + arena.DOF_COUNT], ints[a + arena.MASS]
    velocity, total = ints[a + arena.VELOCITY], 0.0
    for i in range(n):
        momentum = 0.0
        for k in range(n):
            momentum += work[mass + n * i + k] * work[velocity + k]
        total += 0.5 * momentum * work[velocity + i]
    return total


@kernel
def _scale_velocities(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, factor: float
) -> None:
    """Scale all velocities."""
    velocity = ints[a + arena.VELOCITY]
    for f in range(ints[a + arena.FRAME_COUNT]):
        dof, joint = (
            ints[ints[a + arena.FRAME_FIRST_DOF] + f],
            ints[ints[a + arena.FRAME_JOINT] + f],
        )
        if dof < 0 or joint == ANCHOR:
            continue
        state = ints[ints[a + arena.FRAME_STATE] + f]
        size, start = 1, state + 1
        if joint == SPHERICAL:
            size, start = 3, state + 4
        elif joint == FLOATING:
            size, start = 6, state + 7
        for k in range(size):
            speed = factor * work[velocity + dof + k]
            work[velocity + dof + k] = speed
            floats[start + k] = speed
    move_frames(ints, floats, work, a, velocity, ints[a + arena.TWIST])
