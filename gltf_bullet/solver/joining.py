"""Cut constraints as rows between articulations, and the way of all results back to the arenas."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver import arena
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.arena import PRISMATIC, REVOLUTE
from gltf_bullet.solver.articulation_step import BAUMGARTE, CLOSURE_GAP, HARD
from gltf_bullet.solver.cholesky import forward_dense
from gltf_bullet.solver.island import add_row, take
from gltf_bullet.solver.momentum import keep_momentum
from gltf_bullet.solver.row_metrics import add_path, place_point, prescribed_rate
from gltf_bullet.transforms import FloatArray, IntArray

MOTOR_RESERVE = 2.0
"""How many times the force that the solve found a motor may use, where contacts turn out otherwise
than foreseen."""


@kernel
def add_cut_constraints(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
) -> None:
    """Rows of the constraints between articulations that one was cut into."""
    for cut in range(ints[arena.CUTS]):
        sides = ints[arena.CUT_SIDES] + arena.CUT_SIZE * cut
        first, second = ints[sides], ints[sides + 2]
        if ints[first + arena.BLOCK] < 0 or ints[second + arena.BLOCK] < 0:
            continue
        size, local = ints[sides + 4], ints[arena.CUT_LOCAL] + 6 * cut
        n, m = ints[first + arena.DOF_COUNT], ints[second + arena.DOF_COUNT]
        rows, others = take(index, size * n), take(index, size * m)
        if rows < 0 or others < 0:
            return
        # Scratch of the second articulation: 24 numbers here, a row after them.
        point = ints[second + arena.SCRATCH]
        wrench = point + 8
        place_point(ints, floats, work, first, ints[sides + 1], local, point + 3)
        place_point(ints, floats, work, second, ints[sides + 3], local + 3, point)
        here, there = ints[first + arena.REFERENCE], ints[second + arena.REFERENCE]
        for k in range(size):
            gap, drift, compliance = 0.0, 0.0, 0.0
            if k < 3:
                gap = work[point + k] + work[there + k] - work[point + 3 + k] - work[here + k]
                gap = min(max(gap, -CLOSURE_GAP), CLOSURE_GAP)
            for side in range(2):
                a = first if side == 0 else second
                reference, sign = ints[a + arena.REFERENCE], -1.0 if side == 0 else 1.0
                count = n if side == 0 else m
                row = (rows if side == 0 else others) + count * k
                _direct_at(work, wrench, point, there, reference, k)
                part = ints[a + arena.SCRATCH] + 24
                for i in range(count):
                    work[part + i] = 0.0
                add_path(ints, work, a, ints[sides + 2 * side + 1], wrench, sign, part)
                drift += sign * prescribed_rate(ints, work, a, ints[sides + 2 * side + 1], wrench)
                for i in range(count):
                    values[row + i] = work[part + i]
                forward_dense(work, ints[a + arena.FACTOR], count, part)
                for i in range(count):
                    compliance += work[part + i] ** 2
            softness = HARD * max(compliance, 1e-12)
            # Memory: what the row did lately costs nothing.
            last_dt, lately = floats[ints[first + arena.LAST_DT]], 0.0
            if last_dt > 0.0:
                lately = floats[ints[arena.CUT_IMPULSE] + 6 * cut + k] * dt / last_dt
            row = add_row(
                index,
                values,
                ints[first + arena.BLOCK],
                rows + n * k,
                -1,
                -1 - (6 * cut + k),
                -BAUMGARTE / dt * gap - drift + softness * lately,
                softness,
                -math.inf,
                math.inf,
            )
            index[index[layout.ROW_SECOND] + row] = ints[second + arena.BLOCK]
            index[index[layout.ROW_SECOND_JACOBIAN] + row] = others + m * k


@kernel
def _direct_at(
    work: FloatArray, wrench: int, point: int, origin: int, reference: int, k: int
) -> None:
    """The spatial force along (k < 3) or about a world axis at a point.

    The point is relative to ``origin``, the force about ``reference``.
    """
    for i in range(6):
        work[wrench + i] = 0.0
    if k >= 3:
        work[wrench + k - 3] = 1.0
        return
    work[wrench + 3 + k] = 1.0
    p, q = (k + 1) % 3, (k + 2) % 3
    # r x e_k
    work[wrench + p] = work[point + q] + work[origin + q] - work[reference + q]
    work[wrench + q] = -(work[point + p] + work[origin + p] - work[reference + p])


@kernel
def _has_block(ints: IntArray, block: int) -> bool:
    """Whether a block stands for an articulation of an arena."""
    for k in range(ints[arena.ARTICULATIONS]):
        if ints[ints[ints[arena.RECORDS] + k] + arena.BLOCK] == block:
            return True
    return False


@kernel
def is_loop_alone(ints: IntArray, a: int) -> bool:
    """Whether nothing but loops acts on an articulation, which the engine closes by itself.

    What they say twice is no force of ours to find: Bricard's linkage of six hinges, whose loop has
    five more conditions than it needs, gained 58 to 3098 J in 10 s by them, at 60 to 240 Hz, and
    at most 0.2 J without (measured; bare PyBullet 0.7).
    """
    return bool(ints[a + arena.ROW_COUNT] == 0 and ints[a + arena.CLOSURE_COUNT] > 0)


@kernel
def take_results(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
) -> bool:
    """Bring impulses and velocities back, as forces and as memory of the next step.

    Returns:
        Whether everything that the engine shall apply is finite.
    """
    for number in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + number]
        if ints[a + arena.ACTS] != 1 or ints[a + arena.BLOCK] < 0:
            continue
        n, total = ints[a + arena.DOF_COUNT], ints[a + arena.TOTAL_ROWS]
        place = index[index[layout.BLOCK_PLACE] + ints[a + arena.BLOCK]]
        is_loop = is_loop_alone(ints, a)
        for k in range(n):
            floats[ints[a + arena.EXPECTED] + k] = values[index[layout.V] + place + k]
            floats[ints[a + arena.LASTING] + k] = 0.0
            floats[ints[a + arena.TOUCHED] + k] = 0.0
            work[ints[a + arena.ROW_FORCE] + k] = 0.0
            work[ints[a + arena.ROW_SUM] + k] = 0.0
            work[ints[a + arena.TAU] + k] = work[ints[a + arena.HANDED] + k]
            if not is_loop:
                work[ints[a + arena.TAU] + k] += (
                    work[ints[a + arena.BIAS] + k] - work[ints[a + arena.CENTRED] + k]
                )
            floats[ints[a + arena.GIVING] + k] = 0.0
        for r in range(total):
            floats[ints[a + arena.LAST_IMPULSE] + r] = 0.0
        floats[ints[a + arena.LAST_DT]] = dt
    for r in range(index[layout.ROWS]):
        source = index[index[layout.ROW_SOURCE] + r]
        if source < 0 and _has_block(ints, index[index[layout.ROW_FIRST] + r]):
            floats[ints[arena.CUT_IMPULSE] - 1 - source] = values[index[layout.ROW_IMPULSE] + r]
    finite = True
    for number in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + number]
        if ints[a + arena.ACTS] == 1 and ints[a + arena.BLOCK] >= 0:
            _take_rows(ints, floats, work, index, values, a, dt)
            if ints[a + arena.CLOSURE_COUNT] == 0:
                keep_momentum(ints, floats, work, a, dt)
            commands, dofs = ints[a + arena.COMMAND], ints[a + arena.COMMAND_DOF]
            targets, bounds = ints[a + arena.MOTOR_TARGET], ints[a + arena.MOTOR_BOUND]
            for k in range(ints[a + arena.DOF_COUNT]):
                dof = ints[dofs + k]
                command = work[ints[a + arena.TAU] + dof]
                work[targets + k], work[bounds + k] = 0.0, 0.0
                joint = ints[ints[a + arena.FRAME_JOINT] + ints[ints[a + arena.DOF_FRAME] + dof]]
                is_free = floats[ints[a + arena.TAKEN] + dof] == 0.0
                is_axis = joint == REVOLUTE or joint == PRISMATIC
                if ints[a + arena.MOTORS] and is_axis and is_free:
                    rows = work[ints[a + arena.ROW_SUM] + dof]
                    command -= rows
                    work[targets + k] = floats[ints[a + arena.EXPECTED] + dof]
                    work[bounds + k] = MOTOR_RESERVE * abs(rows)
                finite = finite and math.isfinite(command)
                work[commands + k] = command
    return finite


@kernel
def _take_rows(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    a: int,
    dt: float,
) -> None:
    """Forces of an articulation's own rows, and of cut constraints on it."""
    block, n = ints[a + arena.BLOCK], ints[a + arena.DOF_COUNT]
    tau, forces = ints[a + arena.TAU], ints[a + arena.ROW_FORCE]
    lasting, touched = ints[a + arena.LASTING], ints[a + arena.TOUCHED]
    is_loop = is_loop_alone(ints, a)
    for r in range(index[layout.ROWS]):
        source = index[index[layout.ROW_SOURCE] + r]
        is_first = index[index[layout.ROW_FIRST] + r] == block
        is_second = index[index[layout.ROW_SECOND] + r] == block
        if not (is_first or is_second):
            continue
        x = values[index[layout.ROW_IMPULSE] + r]
        slot = layout.ROW_FIRST_JACOBIAN if is_first else layout.ROW_SECOND_JACOBIAN
        row, unit = index[index[slot] + r], index[index[layout.ROW_UNIT] + r]
        if source >= layout.HELD_SOURCE:
            continue
        if source >= layout.CONTACT_SOURCE:
            for k in range(n):
                floats[touched + k] += values[row + k] * x / dt
            continue
        if source >= 0:
            floats[ints[a + arena.LAST_IMPULSE] + source] = x
        low, high = values[index[layout.ROW_LOW] + r], values[index[layout.ROW_HIGH] + r]
        # Of the next step only what lasts can be foretold: a one-sided limit that chatters made
        # light bodies on long levers gain energy without end.
        lasts = low != 0.0 and high != 0.0
        is_soft = False
        if 0 <= source < ints[a + arena.ROW_COUNT]:
            is_soft = not math.isinf(floats[ints[a + arena.ROW_STIFFNESS] + source])
            if is_soft and not ints[ints[a + arena.ROW_IS_DRIVE] + source]:
                # Taken to last, it quadruples the error of a light body's swing (measured).
                lasts = False
        for k in range(n):
            part = x / dt
            if unit >= 0:
                part = part if k == unit else 0.0
            else:
                part *= values[row + k]
            if part == 0.0:
                continue
            if is_loop:
                continue  # The engine closes it by itself.
            work[tau + k] += part
            work[ints[a + arena.ROW_SUM] + k] += part
            if 0 <= source < ints[a + arena.ROW_COUNT]:
                work[forces + k] += part
            if is_soft:
                floats[ints[a + arena.GIVING] + k] += part
            if lasts:
                floats[lasting + k] += part
