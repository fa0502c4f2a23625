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

from gltf_bullet.numba_aot import IntTable, entry, kernel
from gltf_bullet.solver.articulation_arrays import (
    CUT,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Articulation,
    SceneHeader,
    articulation_in,
    articulation_of,
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
    Islands,
    add_articulation,
    add_row,
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
    islands_of,
    scene_of,
)
from gltf_bullet.solver.tree_dynamics import evaluate_tree
from gltf_bullet.transforms import FloatArray

# --- prepare: the last step is compared with its prediction, rows of the coming one are set up ----


@kernel
def _prepare_one(
    scene: SceneHeader,
    islands: Islands,
    stage: int,
    number: int,
    contacts: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Go through a stage of one scene."""
    if stage == PREPARE_SNAPSHOT:
        for k in range(scene.articulation_count):
            a = articulation_of(scene, k)
            read_motors_for_snapshot(a, dt)
        return 0
    if stage == PREPARE_LOOPS:
        found = 0
        for k in range(scene.articulation_count):
            a = articulation_of(scene, k)
            if a.closure_count:
                found |= close_loops(a, dt)
        return int(found)
    _set_up_rows(scene, islands, number, contacts, dt, gx, gy, gz)
    return 0


@kernel
def _set_up_rows(
    scene: SceneHeader,
    islands: Islands,
    number: int,
    contacts: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> None:
    """Evaluate all articulations, compare the last step with its prediction, set up the rows."""
    for k in range(scene.articulation_count):
        a = articulation_of(scene, k)
        evaluate_tree(a)
        if scene.part == 0:
            _check_speeds(a, dt)
    add_contact_forces(scene, islands, number, contacts, dt)
    for k in range(scene.articulation_count):
        a = articulation_of(scene, k)
        takes_part = a.participation == 1
        if takes_part and not detect_external_change(a):
            compare_motors(a, dt)
            compare_prediction(a)
            estimate_external_force(a)
        if scene.part == 0:
            for i in range(a.dof_count):
                a.external_pulse[i] = 0.0
    for k in range(scene.articulation_count):
        a = articulation_of(scene, k)
        if a.participation != 0:
            if a.participation == 1:
                update_external_motors(a, dt)
                remember_state(a, False)
            prepare_articulation(a, dt, gx, gy, gz)


@entry
def evaluate(scenes: IntTable, number: int) -> int:
    """Compute poses, velocities, mass matrix and row values of an articulation of a scene.

    Args:
        scenes: The arrays of the scene, in one row: see ``scene_table.row_of``.
        number: Number of the articulation.

    Returns:
        0.
    """
    a = articulation_of(scene_of(scenes, 0), number)
    evaluate_tree(a)
    measure_rows(a)
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
        scene, islands = scene_of(scenes, row), islands_of(scenes, row)
        found |= _prepare_one(scene, islands, stage, number, contacts, dt, gx, gy, gz)
    return found


RESOLVED_TURN = 0.5
"""[rad] of a joint in an engine step, beyond which limits are passed and momentum is lost."""


@kernel
def _check_speeds(a: Articulation, dt: float) -> None:
    """Note a joint that turns farther in an engine step than it resolves."""
    if a.speed_reported:
        return
    fastest = 0.0
    for f in range(a.frame_count):
        joint, speeds = a.frame_joint[f], a.floats[a.frame_state[f] :]
        if joint == REVOLUTE:
            fastest = max(fastest, abs(speeds[1]))
        elif joint == SPHERICAL:
            x, y, z = speeds[4], speeds[5], speeds[6]
            fastest = max(fastest, math.sqrt(x * x + y * y + z * z))
    a.steps_for_speed = int(min(fastest * dt / RESOLVED_TURN, 1e6))
    if a.steps_for_speed:
        a.steps_for_speed += 1


TRUSTED_DEVIATION = 0.1
"""[m/s, rad/s], and share of a velocity, by which a step may deviate from its prediction and still
be trusted."""

MOTOR_DEVIATION = 2.0
"""The same bound for the engine's velocity motors to replace torques. With less, an arm
that carries a load at its stop goes to and fro between the two (measured at 0.1)."""


@kernel
def compare_prediction(a: Articulation) -> None:
    """Compare the velocities after the last step with their prediction.

    Sets ``mispredicted`` and ``uses_motors``, from ``velocity`` and ``expected_velocity``.
    """
    n, last_dt = a.dof_count, a.last_dt[0]
    velocity, expected = a.velocity, a.expected_velocity
    a.mispredicted, a.uses_motors = 0, 0
    if last_dt > 0.0:
        for i in range(n):
            speed = abs(velocity[i])
            miss = abs(velocity[i] - expected[i])
            if not miss <= TRUSTED_DEVIATION * (1.0 + speed):
                a.mispredicted = 1
            if not miss <= MOTOR_DEVIATION * (1.0 + speed):
                a.uses_motors = 1


# --- solve: islands are built and solved, their results are stored --------------------------------


@kernel
def _flags(scene: SceneHeader) -> int:
    """Collect the outcomes that follow from the switches of all articulations."""
    status = 0
    for k in range(scene.articulation_count):
        a = articulation_of(scene, k)
        status |= OUTSIDE_LIMIT if a.outside_limit else 0
        status |= EXTERNAL_DRIVE if a.external_drive_started else 0
        status |= LIMIT_EXCEEDED if a.overshot_row else 0
        if a.steps_for_speed and not a.speed_reported:
            status |= TOO_FAST
    return status


@kernel
def _solve_one(
    scene: SceneHeader,
    islands: Islands,
    stages: int,
    number: int,
    contacts: int,
    free_bodies: int,
    dt: float,
) -> int:
    """Go through some stages of one scene."""
    last_dt = last_engine_step(scene, dt)
    # The engine looked for contacts when its last substep began.
    since = last_dt / max(scene.substeps, 1)
    if stages & SOLVE_OPEN:
        open_islands(islands, contacts, free_bodies, since)
    if stages & SOLVE_GATHER and islands.needed == 0:
        for k in range(scene.articulation_count):
            a = articulation_of(scene, k)
            a.block = -1
            if a.participation != 0:
                add_articulation(a, islands)
        if islands.needed == 0:
            add_cut_constraints(scene, islands, dt)
            touch_articulations(scene, islands, number, since)
    if stages & SOLVE_ISLANDS and islands.needed == 0:
        add_contact_rows(islands, dt, since, dt / last_dt)
        solve_islands(islands)
        islands.targets_reduced = 0
    may_reduce = stages & SOLVE_REDUCE_TARGETS and islands.needed == 0
    if may_reduce and reduce_targets(scene, islands):
        islands.targets_reduced = 1
    if stages & SOLVE_FINISH and islands.needed == 0:
        if islands.targets_reduced:
            solve_islands(islands)
            islands.targets_reduced = 0
        status = 0 if store_results(scene, islands, dt) else NOT_FINITE
        status |= _flags(scene)
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
        scene, islands = scene_of(scenes, row), islands_of(scenes, row)
        status = _solve_one(scene, islands, stages, number, contacts, free_bodies, dt)
        scenes[row, SCENE.status] = status
        found |= status
    return found


MOTOR_RESERVE = 2.0
"""Largest force of a motor as a multiple of the solved force, as contacts may deviate from their
prediction."""


@kernel
def add_cut_constraints(scene: SceneHeader, islands: Islands, dt: float) -> None:
    """Add rows of the constraints between articulations that one was cut into."""
    for cut in range(scene.cut_count):
        sides = scene.cut[cut]
        first = articulation_in(scene, sides[CUT.first])
        second = articulation_in(scene, sides[CUT.second])
        if first.block < 0 or second.block < 0:
            continue
        size, local = sides[CUT.row_count], scene.cut_local[cut]
        n, m = first.dof_count, second.dof_count
        rows, others = reserve(islands, size * n), reserve(islands, size * m)
        if rows < 0 or others < 0:
            return
        # Scratch of the second articulation: 24 numbers here, a row after them.
        point = second.scratch
        wrench = point[8:]
        place_point(first, sides[CUT.first_frame], local, point[3:])
        place_point(second, sides[CUT.second_frame], local[3:], point)
        here, there = first.reference_point, second.reference_point
        for k in range(size):
            gap, drift, compliance = 0.0, 0.0, 0.0
            if k < 3:
                gap = point[k] + there[k] - point[3 + k] - here[k]
                gap = min(max(gap, -CLOSURE_GAP), CLOSURE_GAP)
            for side in range(2):
                a = first if side == 0 else second
                reference, sign = a.reference_point, -1.0 if side == 0 else 1.0
                count = n if side == 0 else m
                row = islands.floats[(rows if side == 0 else others) + count * k :]
                _direct_at(wrench, point, there, reference, k)
                part = a.scratch[24:]
                for i in range(count):
                    part[i] = 0.0
                frame = sides[CUT.first_frame if side == 0 else CUT.second_frame]
                add_path(a, frame, wrench, sign, part)
                drift += sign * prescribed_rate(a, frame, wrench)
                for i in range(count):
                    row[i] = part[i]
                forward_dense(a.factor, count, part)
                for i in range(count):
                    compliance += part[i] * part[i]
            softness = HARD * max(compliance, 1e-12)
            # Memory: what the row did lately costs nothing.
            last_dt, lately = first.last_dt[0], 0.0
            if last_dt > 0.0:
                lately = scene.cut_impulse[cut, k] * dt / last_dt
            number = add_row(
                islands,
                first.block,
                rows + n * k,
                -1,
                -1 - (6 * cut + k),
                -BAUMGARTE / dt * gap - drift + softness * lately,
                softness,
                -math.inf,
                math.inf,
            )
            islands.row_second[number] = second.block
            islands.row_second_jacobian[number] = others + m * k


@kernel
def _direct_at(
    wrench: FloatArray, point: FloatArray, origin: FloatArray, reference: FloatArray, k: int
) -> None:
    """The spatial force along (k < 3) or about a world axis at a point.

    The point is relative to ``origin``, the force about ``reference``.
    """
    for i in range(6):
        wrench[i] = 0.0
    if k >= 3:
        wrench[k - 3] = 1.0
        return
    wrench[3 + k] = 1.0
    p, q = (k + 1) % 3, (k + 2) % 3
    # r x e_k
    wrench[p] = point[q] + origin[q] - reference[q]
    wrench[q] = -(point[p] + origin[p] - reference[p])


@kernel
def _has_block(scene: SceneHeader, block: int) -> bool:
    """Tell whether a block is an articulation of a scene."""
    for k in range(scene.articulation_count):  # noqa: SIM110  # kernels know no generators
        if articulation_of(scene, k).block == block:
            return True
    return False


@kernel
def has_only_loops(a: Articulation) -> bool:
    """Tell whether all rows of an articulation are of loops, which the engine closes by itself.

    It is told no forces of theirs then: Bricard's linkage of six hinges, whose loop has five more
    conditions than it needs, gained 58 to 3098 J in 10 s by them, at 60 to 240 Hz (measured).
    """
    return bool(a.row_count == 0 and a.closure_count > 0)


@kernel
def store_results(scene: SceneHeader, islands: Islands, dt: float) -> bool:
    """Store impulses and velocities as forces, and as memory of the next step.

    Sets ``expected_velocity``, the memory of impulses and forces, ``joint_force`` and the
    commands, from ``velocity`` and ``row_impulse`` of the islands.

    Returns:
        True if all forces are finite.
    """
    for number in range(scene.articulation_count):
        a = articulation_of(scene, number)
        if a.participation != 1 or a.block < 0:
            continue
        n, total = a.dof_count, a.total_rows
        place = islands.block_place[a.block]
        for k in range(n):
            a.expected_velocity[k] = islands.velocity[place + k]
            a.persistent_force[k] = 0.0
            a.predicted_contact_force[k] = 0.0
            a.row_force[k] = 0.0
            a.all_row_force[k] = 0.0
            a.joint_force[k] = a.added_force[k]
            a.joint_force[k] += a.bias[k] - a.centred_bias[k]
            a.compliant_force[k] = 0.0
        for r in range(total):
            a.last_impulse[r] = 0.0
        a.last_dt[0] = dt
    for r in range(islands.row_count):
        source = islands.row_source[r]
        if source < 0 and _has_block(scene, islands.row_first[r]):
            cut, k = (-1 - source) // 6, (-1 - source) % 6
            scene.cut_impulse[cut, k] = islands.row_impulse[r]
    finite = True
    for number in range(scene.articulation_count):
        a = articulation_of(scene, number)
        if a.participation == 1 and a.block >= 0:
            _store_row_forces(islands, a, dt)
            if a.closure_count == 0:
                keep_momentum(a, dt)
            finite &= _write_commands(a)
    return finite


@kernel
def _write_commands(a: Articulation) -> bool:
    """Write forces and motors in the order of commands; tell whether all forces are finite."""
    targets, bounds, finite = a.motor_target, a.motor_bound, True
    for k in range(a.dof_count):
        dof = a.command_dof[k]
        command = a.joint_force[dof]
        targets[k], bounds[k] = 0.0, 0.0
        joint = a.frame_joint[a.dof_frame[dof]]
        is_free = a.externally_driven[dof] == 0.0
        if not is_free:  # its motor is another one now
            a.own_motor[k] = 0
        is_axis = joint == REVOLUTE or joint == PRISMATIC
        if a.uses_motors and is_axis and is_free:
            rows = a.all_row_force[dof]
            command -= rows
            targets[k] = a.expected_velocity[dof]
            bounds[k] = MOTOR_RESERVE * abs(rows)
        finite = finite and math.isfinite(command)
        a.command[k] = command
    return finite


@kernel
def _store_row_forces(islands: Islands, a: Articulation, dt: float) -> None:
    """Store the forces of an articulation's own rows, and of cut constraints on it."""
    block, n = a.block, a.dof_count
    tau, forces = a.joint_force, a.row_force
    persistent, predicted = a.persistent_force, a.predicted_contact_force
    is_loop = has_only_loops(a)
    for r in range(islands.row_count):
        source = islands.row_source[r]
        is_first = islands.row_first[r] == block
        is_second = islands.row_second[r] == block
        if not (is_first or is_second):
            continue
        x = islands.row_impulse[r]
        jacobians = islands.row_first_jacobian if is_first else islands.row_second_jacobian
        row, unit = islands.floats[jacobians[r] :], islands.row_unit[r]
        if source >= POINT_CONSTRAINT_ROWS_FROM:
            continue
        if source >= CONTACT_SOURCE:
            for k in range(n):
                predicted[k] += row[k] * x / dt
            continue
        if source >= 0:
            a.last_impulse[source] = x
        low, high = islands.row_low[r], islands.row_high[r]
        # Only persistent forces can be predicted for the next step: a one-sided limit that
        # chatters made light bodies on long levers gain energy without end.
        lasts = low != 0.0 and high != 0.0
        is_soft = False
        if 0 <= source < a.row_count:
            is_soft = not math.isinf(a.row_stiffness[source])
            if is_soft and not a.row_is_drive[source]:
                # Taken to last, it quadruples the error of a light body's swing (measured).
                lasts = False
        for k in range(n):
            part = x / dt
            if unit >= 0:
                part = part if k == unit else 0.0
            else:
                part *= row[k]
            if part == 0.0:
                continue
            if is_loop:
                persistent[k] += part
                continue  # The engine closes it by itself.
            tau[k] += part
            a.all_row_force[k] += part
            if 0 <= source < a.row_count:
                forces[k] += part
            if is_soft:
                a.compliant_force[k] += part
            if lasts:
                persistent[k] += part


# --- limits across several axes add no energy -----------------------------------------------------


@kernel
def reduce_targets(scene: SceneHeader, islands: Islands) -> bool:
    """Reduce targets where rows would add more energy than their budget; tell whether any is.

    A row that accounts for its curvature asks for what takes its metric to the limit along the
    curve (:mod:`row_curvature`). Where the curve turns by a good part of a radian in the step that
    is far more than the incoming velocity: a rope on a lever of 1 m that went taut at 60 Hz asked
    for 9.3 m/s instead of 2.7, and added 22 J to a body that had 21 (measured). What several rows
    add together is known after the solve alone. A limit that cannot be met without is exceeded.
    """
    any_reduced = False
    for number in range(scene.articulation_count):
        a = articulation_of(scene, number)
        if a.is_untouched == 0 or a.block < 0:
            continue
        reductions, can_reduce = a.row_reduction, False
        for r in range(a.row_count):
            can_reduce |= reductions[r] != 0.0
        if not can_reduce:
            continue
        added = _work_of_limits(a, islands)
        if added <= a.energy_budget[0]:
            continue
        for q in range(islands.row_count):
            r = islands.row_source[q]
            is_own = islands.row_first[q] == a.block
            if is_own and 0 <= r < a.row_count:
                islands.row_target[q] += reductions[r]
                any_reduced = True
    return any_reduced


@kernel
def _work_of_limits(a: Articulation, islands: Islands) -> float:
    """Work of the hard limits of an articulation in the step [J].

    Impulse times mean rate: exact, since the energy of motion changes by the forces of a step times
    the mean of the velocities before and after it.
    """
    done = 0.0
    for q in range(islands.row_count):
        r = islands.row_source[q]
        is_own = islands.row_first[q] == a.block
        if not is_own or not 0 <= r < a.row_count:
            continue
        is_drive = a.row_is_drive[r] != 0
        if is_drive or not math.isinf(a.row_stiffness[r]):
            continue
        before = a.row_rate[r]
        after = islands.row_speed[q] + a.row_drift[r]
        done += 0.5 * islands.row_impulse[q] * (before + after)
    return done
