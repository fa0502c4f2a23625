"""Cut constraints as rows between articulations, and the way of all results back to the arenas."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import (
    CUT,
    PRISMATIC,
    REVOLUTE,
    Articulation,
    articulation_at,
    scene_at,
)
from gltf_bullet.solver.articulation_step import BAUMGARTE, CLOSURE_GAP, HARD
from gltf_bullet.solver.cholesky import forward_dense
from gltf_bullet.solver.island import add_row, take
from gltf_bullet.solver.island_layout import CONTACT_SOURCE, HELD_SOURCE, islands_at
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
    scene = scene_at(ints, 0)
    islands = islands_at(index, 0)
    for cut in range(scene.cut_count):
        sides = scene.cut + CUT.size * cut
        first = articulation_at(ints, ints[sides + CUT.first])
        second = articulation_at(ints, ints[sides + CUT.second])
        if first.block < 0 or second.block < 0:
            continue
        size, local = ints[sides + CUT.row_count], scene.cut_local + 6 * cut
        n, m = first.dof_count, second.dof_count
        rows, others = take(index, size * n), take(index, size * m)
        if rows < 0 or others < 0:
            return
        # Scratch of the second articulation: 24 numbers here, a row after them.
        point = second.scratch
        wrench = point + 8
        place_point(floats, work, first, ints[sides + CUT.first_frame], local, point + 3)
        place_point(floats, work, second, ints[sides + CUT.second_frame], local + 3, point)
        here, there = first.reference_point, second.reference_point
        for k in range(size):
            gap, drift, compliance = 0.0, 0.0, 0.0
            if k < 3:
                gap = work[point + k] + work[there + k] - work[point + 3 + k] - work[here + k]
                gap = min(max(gap, -CLOSURE_GAP), CLOSURE_GAP)
            for side in range(2):
                articulation = first if side == 0 else second
                reference, sign = articulation.reference_point, -1.0 if side == 0 else 1.0
                count = n if side == 0 else m
                row = (rows if side == 0 else others) + count * k
                _direct_at(work, wrench, point, there, reference, k)
                part = articulation.scratch + 24
                for i in range(count):
                    work[part + i] = 0.0
                frame = ints[sides + (CUT.first_frame if side == 0 else CUT.second_frame)]
                add_path(ints, work, articulation, frame, wrench, sign, part)
                drift += sign * prescribed_rate(ints, work, articulation, frame, wrench)
                for i in range(count):
                    values[row + i] = work[part + i]
                forward_dense(work, articulation.factor, count, part)
                for i in range(count):
                    compliance += work[part + i] ** 2
            softness = HARD * max(compliance, 1e-12)
            # Memory: what the row did lately costs nothing.
            last_dt, lately = floats[first.last_dt], 0.0
            if last_dt > 0.0:
                lately = floats[scene.cut_impulse + 6 * cut + k] * dt / last_dt
            row = add_row(
                index,
                values,
                first.block,
                rows + n * k,
                -1,
                -1 - (6 * cut + k),
                -BAUMGARTE / dt * gap - drift + softness * lately,
                softness,
                -math.inf,
                math.inf,
            )
            index[islands.row_second + row] = second.block
            index[islands.row_second_jacobian + row] = others + m * k


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
    scene = scene_at(ints, 0)
    for k in range(scene.articulation_count):
        if articulation_at(ints, ints[scene.articulations + k]).block == block:
            return True
    return False


@kernel
def is_loop_alone(articulation: Articulation) -> bool:
    """Whether nothing but loops acts on an articulation, which the engine closes by itself.

    What they say twice is no force of ours to find: Bricard's linkage of six hinges, whose loop has
    five more conditions than it needs, gained 58 to 3098 J in 10 s by them, at 60 to 240 Hz, and
    at most 0.2 J without (measured; bare PyBullet 0.7).
    """
    return bool(articulation.row_count == 0 and articulation.closure_count > 0)


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
    scene = scene_at(ints, 0)
    islands = islands_at(index, 0)
    for number in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + number])
        if articulation.participation != 1 or articulation.block < 0:
            continue
        n, total = articulation.dof_count, articulation.total_rows
        place = index[islands.block_place + articulation.block]
        is_loop = is_loop_alone(articulation)
        for k in range(n):
            floats[articulation.expected_velocity + k] = values[islands.velocity + place + k]
            floats[articulation.persistent_force + k] = 0.0
            floats[articulation.predicted_contact_force + k] = 0.0
            work[articulation.row_force + k] = 0.0
            work[articulation.all_row_force + k] = 0.0
            work[articulation.joint_force + k] = work[articulation.added_force + k]
            if not is_loop:
                work[articulation.joint_force + k] += (
                    work[articulation.bias + k] - work[articulation.centred_bias + k]
                )
            floats[articulation.compliant_force + k] = 0.0
        for r in range(total):
            floats[articulation.last_impulse + r] = 0.0
        floats[articulation.last_dt] = dt
    for r in range(islands.row_count):
        source = index[islands.row_source + r]
        if source < 0 and _has_block(ints, index[islands.row_first + r]):
            floats[scene.cut_impulse - 1 - source] = values[islands.row_impulse + r]
    finite = True
    for number in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + number])
        if articulation.participation == 1 and articulation.block >= 0:
            _take_rows(ints, floats, work, index, values, articulation, dt)
            if articulation.closure_count == 0:
                keep_momentum(ints, floats, work, articulation, dt)
            commands, dofs = articulation.command, articulation.command_dof
            targets, bounds = articulation.motor_target, articulation.motor_bound
            for k in range(articulation.dof_count):
                dof = ints[dofs + k]
                command = work[articulation.joint_force + dof]
                work[targets + k], work[bounds + k] = 0.0, 0.0
                joint = ints[articulation.frame_joint + ints[articulation.dof_frame + dof]]
                is_free = floats[articulation.externally_driven + dof] == 0.0
                is_axis = joint == REVOLUTE or joint == PRISMATIC
                if articulation.uses_motors and is_axis and is_free:
                    rows = work[articulation.all_row_force + dof]
                    command -= rows
                    work[targets + k] = floats[articulation.expected_velocity + dof]
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
    articulation: Articulation,
    dt: float,
) -> None:
    """Forces of an articulation's own rows, and of cut constraints on it."""
    islands = islands_at(index, 0)
    block, n = articulation.block, articulation.dof_count
    tau, forces = articulation.joint_force, articulation.row_force
    lasting, touched = articulation.persistent_force, articulation.predicted_contact_force
    is_loop = is_loop_alone(articulation)
    for r in range(islands.row_count):
        source = index[islands.row_source + r]
        is_first = index[islands.row_first + r] == block
        is_second = index[islands.row_second + r] == block
        if not (is_first or is_second):
            continue
        x = values[islands.row_impulse + r]
        jacobians = islands.row_first_jacobian if is_first else islands.row_second_jacobian
        row, unit = index[jacobians + r], index[islands.row_unit + r]
        if source >= HELD_SOURCE:
            continue
        if source >= CONTACT_SOURCE:
            for k in range(n):
                floats[touched + k] += values[row + k] * x / dt
            continue
        if source >= 0:
            floats[articulation.last_impulse + source] = x
        low, high = values[islands.row_low + r], values[islands.row_high + r]
        # Of the next step only what lasts can be foretold: a one-sided limit that chatters made
        # light bodies on long levers gain energy without end.
        lasts = low != 0.0 and high != 0.0
        is_soft = False
        if 0 <= source < articulation.row_count:
            is_soft = not math.isinf(floats[articulation.row_stiffness + source])
            if is_soft and not ints[articulation.row_is_drive + source]:
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
            work[articulation.all_row_force + k] += part
            if 0 <= source < articulation.row_count:
                work[forces + k] += part
            if is_soft:
                floats[articulation.compliant_force + k] += part
            if lasts:
                floats[lasting + k] += part
