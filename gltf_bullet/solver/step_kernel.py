"""The kernels of one step, from what was read to the forces that the engine is given.

:func:`prepare` compares the last step with its prediction and sets up the rows of each articulation
alone; :func:`solve` joins articulations, free bodies and contacts to islands, solves these and
stores the results. They are read from top to bottom here; ``articulation_step`` has what they call
for one articulation, ``islands``, ``island_contacts`` and ``newton`` what they call for islands.
Python, or the kernel of ``engine.stepping``, calls the engine around them.

The file is long so that a step reads in one piece.
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import IntTable, entry, floats_at, ints_at, kernel
from gltf_bullet.solver.articulation_arrays import (
    CUT,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Articulation,
    articulation_at,
    scene_at,
)
from gltf_bullet.solver.articulation_step import BAUMGARTE, HARD, prepare_articulation
from gltf_bullet.solver.cholesky import forward_dense
from gltf_bullet.solver.closure_bend import CLOSURE_GAP
from gltf_bullet.solver.island_contacts import (
    add_contact_rows,
    open_islands,
    touch_articulations,
)
from gltf_bullet.solver.islands import (
    CONTACT_SOURCE,
    POINT_CONSTRAINT_ROWS_FROM,
    add_articulation,
    add_row,
    islands_at,
    reserve,
)
from gltf_bullet.solver.last_step.external_changes import detect_external_change, remember_state
from gltf_bullet.solver.last_step.external_forces import (
    add_contact_forces,
    estimate_external_force,
    last_engine_step,
)
from gltf_bullet.solver.last_step.external_motors import (
    compare_motors,
    read_motors_for_snapshot,
    update_external_motors,
)
from gltf_bullet.solver.last_step.loop_closing import close_loops
from gltf_bullet.solver.momentum import keep_momentum
from gltf_bullet.solver.newton import solve_islands
from gltf_bullet.solver.outcomes import (
    EXTERNAL_DRIVE,
    LIMIT_EXCEEDED,
    NEEDS_ROOM,
    NOT_CONVERGED,
    NOT_FINITE,
    OUTSIDE_LIMIT,
    TOO_FAST,
)  # fmt: skip
from gltf_bullet.solver.row_metrics import add_path, measure_rows, place_point, prescribed_rate
from gltf_bullet.solver.scene_table import (
    PREPARE_LOOPS,
    PREPARE_SNAPSHOT,
    SCENE,
    SOLVE_FINISH,
    SOLVE_GATHER,
    SOLVE_ISLANDS,
    SOLVE_OPEN,
    SOLVE_REDUCE_TARGETS,
)
from gltf_bullet.solver.tree_dynamics import evaluate_tree
from gltf_bullet.transforms import FloatArray, IntArray

# --- prepare: the last step is compared with its prediction, rows of the coming one are set up ----


@kernel
def _prepare_one(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    stage: int,
    number: int,
    contacts: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Go through a stage of one scene."""
    scene = scene_at(ints, 0)
    if stage == PREPARE_SNAPSHOT:
        for k in range(scene.articulation_count):
            articulation = articulation_at(ints, ints[scene.articulations + k])
            read_motors_for_snapshot(ints, floats, work, articulation, dt)
        return 0
    if stage == PREPARE_LOOPS:
        found = 0
        for k in range(scene.articulation_count):
            articulation = articulation_at(ints, ints[scene.articulations + k])
            if articulation.closure_count:
                found |= close_loops(ints, floats, work, articulation, dt)
        return int(found)
    _set_up_rows(ints, floats, work, index, values, number, contacts, dt, gx, gy, gz)
    return 0


@kernel
def _set_up_rows(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    number: int,
    contacts: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> None:
    """Evaluate all articulations, compare the last step with its prediction, set up the rows."""
    scene = scene_at(ints, 0)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        evaluate_tree(ints, floats, work, articulation)
        if scene.part == 0:
            _check_speeds(ints, floats, articulation, dt)
    add_contact_forces(ints, floats, work, index, values, number, contacts, dt)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        takes_part = articulation.participation == 1
        if takes_part and not detect_external_change(ints, floats, articulation):
            compare_motors(ints, floats, work, articulation, dt)
            compare_prediction(floats, work, articulation)
            estimate_external_force(ints, floats, work, articulation)
        if scene.part == 0:
            for i in range(articulation.dof_count):
                floats[articulation.external_pulse + i] = 0.0
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        if articulation.participation != 0:
            if articulation.participation == 1:
                update_external_motors(ints, floats, work, articulation, dt)
                remember_state(floats, articulation, False)
            prepare_articulation(ints, floats, work, articulation, dt, gx, gy, gz)


@entry
def evaluate(scenes: IntTable, number: int) -> int:
    """Compute poses, velocities, mass matrix and row values of an articulation of a scene.

    Args:
        scenes: The arrays of the scene, in one row: see ``scene_table.row_of``.
        number: Number of the articulation.

    Returns:
        0.
    """
    ints, floats = ints_at(scenes, 0, SCENE.ints), floats_at(scenes, 0, SCENE.floats)
    work = floats_at(scenes, 0, SCENE.work)
    articulation = articulation_at(ints, ints[scene_at(ints, 0).articulations + number])
    evaluate_tree(ints, floats, work, articulation)
    measure_rows(ints, floats, work, articulation)
    return 0


@entry
def prepare(
    scenes: IntTable,
    stage: int,
    number: int,
    contacts: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Go through a stage of a step in which articulations are independent of each other.

    Args:
        scenes: Their arrays, a row each: see ``scene_table.row_of``.
        stage: PREPARE_ROWS, PREPARE_LOOPS or PREPARE_SNAPSHOT.
        number: Number of this scene in the sides of contacts.
        contacts: How many were filled in.
        dt: [s]
        gx: Gravity that the engine applies [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        LOOPS_MOVED if the engine must be given coordinates and velocities, LOOP_OPEN if a loop
        stays open.
    """
    found = 0
    for row in range(len(scenes)):
        found |= _prepare_one(
            ints_at(scenes, row, SCENE.ints),
            floats_at(scenes, row, SCENE.floats),
            floats_at(scenes, row, SCENE.work),
            ints_at(scenes, row, SCENE.island_ints),
            floats_at(scenes, row, SCENE.island_floats),
            stage, number, contacts, dt, gx, gy, gz,
        )  # fmt: skip
    return found


RESOLVED_TURN = 0.5
"""[rad] of a joint in an engine step, beyond which limits are passed and momentum is lost."""


@kernel
def _check_speeds(
    ints: IntArray, floats: FloatArray, articulation: Articulation, dt: float
) -> None:
    """Note a joint that turns farther in an engine step than it resolves."""
    if articulation.speed_reported:
        return
    fastest = 0.0
    for f in range(articulation.frame_count):
        joint, speeds = ints[articulation.frame_joint + f], ints[articulation.frame_state + f]
        if joint == REVOLUTE:
            fastest = max(fastest, abs(floats[speeds + 1]))
        elif joint == SPHERICAL:
            x, y, z = floats[speeds + 4], floats[speeds + 5], floats[speeds + 6]
            fastest = max(fastest, math.sqrt(x * x + y * y + z * z))
    articulation.steps_for_speed = int(min(fastest * dt / RESOLVED_TURN, 1e6))
    if articulation.steps_for_speed:
        articulation.steps_for_speed += 1


TRUSTED_DEVIATION = 0.1
"""[m/s, rad/s], and share of a velocity, by which a step may deviate from its prediction and still
be trusted."""

MOTOR_DEVIATION = 2.0
"""The same bound for the engine's velocity motors to replace torques. With less, an arm
that carries a load at its stop goes to and fro between the two (measured at 0.1)."""


@kernel
def compare_prediction(floats: FloatArray, work: FloatArray, articulation: Articulation) -> None:
    """Compare the velocities after the last step with their prediction."""
    n, last_dt = articulation.dof_count, floats[articulation.last_dt]
    velocity, expected = articulation.velocity, articulation.expected_velocity
    articulation.mispredicted, articulation.uses_motors = 0, 0
    if last_dt > 0.0:
        for i in range(n):
            speed = abs(work[velocity + i])
            miss = abs(work[velocity + i] - floats[expected + i])
            if not miss <= TRUSTED_DEVIATION * (1.0 + speed):
                articulation.mispredicted = 1
            if not miss <= MOTOR_DEVIATION * (1.0 + speed):
                articulation.uses_motors = 1


# --- solve: islands are built and solved, their results are stored --------------------------------


@kernel
def _flags(ints: IntArray) -> int:
    """Collect the outcomes that follow from the switches of all articulations."""
    scene, status = scene_at(ints, 0), 0
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        status |= OUTSIDE_LIMIT if articulation.outside_limit else 0
        status |= EXTERNAL_DRIVE if articulation.external_drive_started else 0
        status |= LIMIT_EXCEEDED if articulation.overshot_row else 0
        if articulation.steps_for_speed and not articulation.speed_reported:
            status |= TOO_FAST
    return status


@kernel
def _solve_one(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    stages: int,
    number: int,
    contacts: int,
    free_bodies: int,
    dt: float,
) -> int:
    """Go through some stages of one scene."""
    scene = scene_at(ints, 0)
    islands = islands_at(index, 0)
    last_dt = last_engine_step(ints, floats, dt)
    # The engine looked for contacts when its last substep began.
    since = last_dt / max(scene.substeps, 1)
    if stages & SOLVE_OPEN:
        open_islands(index, values, contacts, free_bodies, since)
    if stages & SOLVE_GATHER and islands.needed == 0:
        for k in range(scene.articulation_count):
            articulation = articulation_at(ints, ints[scene.articulations + k])
            articulation.block = -1
            if articulation.participation != 0:
                add_articulation(ints, work, articulation, index, values)
        if islands.needed == 0:
            add_cut_constraints(ints, floats, work, index, values, dt)
            touch_articulations(ints, work, index, values, number, since)
    if stages & SOLVE_ISLANDS and islands.needed == 0:
        add_contact_rows(index, values, dt, since, dt / last_dt)
        solve_islands(index, values)
        islands.targets_reduced = 0
    may_reduce = stages & SOLVE_REDUCE_TARGETS and islands.needed == 0
    if may_reduce and reduce_targets(ints, floats, work, index, values):
        islands.targets_reduced = 1
    if stages & SOLVE_FINISH and islands.needed == 0:
        if islands.targets_reduced:
            solve_islands(index, values)
            islands.targets_reduced = 0
        status = 0 if store_results(ints, floats, work, index, values, dt) else NOT_FINITE
        status |= _flags(ints)
        return status | (NOT_CONVERGED if islands.unconverged else 0)
    return NEEDS_ROOM if islands.needed else 0


@entry
def solve(
    scenes: IntTable,
    stages: int,
    number: int,
    contacts: int,
    free_bodies: int,
    dt: float,
) -> int:
    """Go through some stages of a step, all of them in one call where no other scene is touched.

    Where the islands have too little room, ``needed`` in their record says how much is needed, and
    all stages from SOLVE_OPEN on must be gone through again.

    Args:
        scenes: Their arrays after ``prepare``, a row each: see ``scene_table.row_of``; receives
            the outcome of each, as is returned.
        stages: Which ones.
        number: Of this scene in the sides of contacts.
        contacts: How many were filled in.
        free_bodies: How many were filled in.
        dt: [s]

    Returns:
        See ``outcomes``; of several scenes what is true of any.
    """
    found = 0
    for row in range(len(scenes)):
        status = _solve_one(
            ints_at(scenes, row, SCENE.ints),
            floats_at(scenes, row, SCENE.floats),
            floats_at(scenes, row, SCENE.work),
            ints_at(scenes, row, SCENE.island_ints),
            floats_at(scenes, row, SCENE.island_floats),
            stages, number, contacts, free_bodies, dt,
        )  # fmt: skip
        scenes[row, SCENE.status] = status
        found |= status
    return found


MOTOR_RESERVE = 2.0
"""Largest force of a motor as a multiple of the solved force, as contacts may deviate from their
prediction."""


@kernel
def add_cut_constraints(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
) -> None:
    """Add rows of the constraints between articulations that one was cut into."""
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
        rows, others = reserve(index, size * n), reserve(index, size * m)
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
                    compliance += work[part + i] * work[part + i]
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
    """Tell whether a block is an articulation of a scene."""
    scene = scene_at(ints, 0)
    for k in range(scene.articulation_count):
        if articulation_at(ints, ints[scene.articulations + k]).block == block:
            return True
    return False


@kernel
def has_only_loops(articulation: Articulation) -> bool:
    """Tell whether all rows of an articulation are of loops, which the engine closes by itself.

    It is told no forces of theirs then: Bricard's linkage of six hinges, whose loop has five more
    conditions than it needs, gained 58 to 3098 J in 10 s by them, at 60 to 240 Hz (measured).
    """
    return bool(articulation.row_count == 0 and articulation.closure_count > 0)


@kernel
def store_results(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    dt: float,
) -> bool:
    """Store impulses and velocities as forces, and as memory of the next step.

    Returns:
        True if all forces are finite.
    """
    scene = scene_at(ints, 0)
    islands = islands_at(index, 0)
    for number in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + number])
        if articulation.participation != 1 or articulation.block < 0:
            continue
        n, total = articulation.dof_count, articulation.total_rows
        place = index[islands.block_place + articulation.block]
        for k in range(n):
            floats[articulation.expected_velocity + k] = values[islands.velocity + place + k]
            floats[articulation.persistent_force + k] = 0.0
            floats[articulation.predicted_contact_force + k] = 0.0
            work[articulation.row_force + k] = 0.0
            work[articulation.all_row_force + k] = 0.0
            work[articulation.joint_force + k] = work[articulation.added_force + k]
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
            _store_row_forces(ints, floats, work, index, values, articulation, dt)
            if articulation.closure_count == 0:
                keep_momentum(ints, floats, work, articulation, dt)
            finite &= _write_commands(ints, floats, work, articulation)
    return finite


@kernel
def _write_commands(
    ints: IntArray, floats: FloatArray, work: FloatArray, articulation: Articulation
) -> bool:
    """Write forces and motors in the order of commands; tell whether all forces are finite."""
    targets, bounds, finite = articulation.motor_target, articulation.motor_bound, True
    for k in range(articulation.dof_count):
        dof = ints[articulation.command_dof + k]
        command = work[articulation.joint_force + dof]
        work[targets + k], work[bounds + k] = 0.0, 0.0
        joint = ints[articulation.frame_joint + ints[articulation.dof_frame + dof]]
        is_free = floats[articulation.externally_driven + dof] == 0.0
        if not is_free:  # its motor is another one now
            ints[articulation.own_motor + k] = 0
        is_axis = joint == REVOLUTE or joint == PRISMATIC
        if articulation.uses_motors and is_axis and is_free:
            rows = work[articulation.all_row_force + dof]
            command -= rows
            work[targets + k] = floats[articulation.expected_velocity + dof]
            work[bounds + k] = MOTOR_RESERVE * abs(rows)
        finite = finite and math.isfinite(command)
        work[articulation.command + k] = command
    return finite


@kernel
def _store_row_forces(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray,
    values: FloatArray,
    articulation: Articulation,
    dt: float,
) -> None:
    """Store the forces of an articulation's own rows, and of cut constraints on it."""
    islands = islands_at(index, 0)
    block, n = articulation.block, articulation.dof_count
    tau, forces = articulation.joint_force, articulation.row_force
    persistent, predicted = articulation.persistent_force, articulation.predicted_contact_force
    is_loop = has_only_loops(articulation)
    for r in range(islands.row_count):
        source = index[islands.row_source + r]
        is_first = index[islands.row_first + r] == block
        is_second = index[islands.row_second + r] == block
        if not (is_first or is_second):
            continue
        x = values[islands.row_impulse + r]
        jacobians = islands.row_first_jacobian if is_first else islands.row_second_jacobian
        row, unit = index[jacobians + r], index[islands.row_unit + r]
        if source >= POINT_CONSTRAINT_ROWS_FROM:
            continue
        if source >= CONTACT_SOURCE:
            for k in range(n):
                floats[predicted + k] += values[row + k] * x / dt
            continue
        if source >= 0:
            floats[articulation.last_impulse + source] = x
        low, high = values[islands.row_low + r], values[islands.row_high + r]
        # Only persistent forces can be predicted for the next step: a one-sided limit that
        # chatters made light bodies on long levers gain energy without end.
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
                floats[persistent + k] += part
                continue  # The engine closes it by itself.
            work[tau + k] += part
            work[articulation.all_row_force + k] += part
            if 0 <= source < articulation.row_count:
                work[forces + k] += part
            if is_soft:
                floats[articulation.compliant_force + k] += part
            if lasts:
                floats[persistent + k] += part


# --- limits across several axes add no energy -----------------------------------------------------


@kernel
def reduce_targets(
    ints: IntArray, floats: FloatArray, work: FloatArray, index: IntArray, values: FloatArray
) -> bool:
    """Reduce targets where rows would add more energy than their budget; tell whether any is.

    A row that accounts for its curvature asks for what takes its metric to the limit along the
    curve (:mod:`row_curvature`). Where the curve turns by a good part of a radian in the step that
    is far more than the incoming velocity: a rope on a lever of 1 m that went taut at 60 Hz asked
    for 9.3 m/s instead of 2.7, and added 22 J to a body that had 21 (measured). What several rows
    add together is known after the solve alone. A limit that cannot be met without is exceeded.
    """
    scene = scene_at(ints, 0)
    islands = islands_at(index, 0)
    any_reduced = False
    for number in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + number])
        if articulation.is_untouched == 0 or articulation.block < 0:
            continue
        reductions, can_reduce = articulation.row_reduction, False
        for r in range(articulation.row_count):
            can_reduce |= work[reductions + r] != 0.0
        if not can_reduce:
            continue
        added = _work_of_limits(ints, floats, work, articulation, index, values)
        if added <= work[articulation.energy_budget]:
            continue
        for q in range(islands.row_count):
            r = index[islands.row_source + q]
            is_own = index[islands.row_first + q] == articulation.block
            if is_own and 0 <= r < articulation.row_count:
                values[islands.row_target + q] += work[reductions + r]
                any_reduced = True
    return any_reduced


@kernel
def _work_of_limits(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    index: IntArray,
    values: FloatArray,
) -> float:
    """Work of the hard limits of an articulation in the step [J].

    Impulse times mean rate: exact, since the energy of motion changes by the forces of a step times
    the mean of the velocities before and after it.
    """
    islands = islands_at(index, 0)
    done = 0.0
    for q in range(islands.row_count):
        r = index[islands.row_source + q]
        is_own = index[islands.row_first + q] == articulation.block
        if not is_own or not 0 <= r < articulation.row_count:
            continue
        is_drive = ints[articulation.row_is_drive + r] != 0
        if is_drive or not math.isinf(floats[articulation.row_stiffness + r]):
            continue
        before = work[articulation.row_rate + r]
        after = values[islands.row_speed + q] + work[articulation.row_drift + r]
        done += 0.5 * values[islands.row_impulse + q] * (before + after)
    return done
