"""The kernel that reads, judges the last step and states the rows of the coming one."""

from __future__ import annotations

from gltf_bullet.solver import arena
from gltf_bullet.solver import island_layout as layout
from gltf_bullet.solver.articulation_step import prepare_articulation
from gltf_bullet.solver.compiling import IntTable, entry, floats_at, ints_at, kernel
from gltf_bullet.solver.island_layout import (
    CLOSE,
    DIVIDE,
    EVALUATE,
    HEAR,
    JUDGE,
    MOVES,
    WAS_HURRIED,
    WAS_THROWN,
)
from gltf_bullet.solver.last_step.closing import close_loops
from gltf_bullet.solver.last_step.energy_guard import judge_step, note_speed, notice_misses
from gltf_bullet.solver.last_step.foreign_hands import note_places, notice_hands
from gltf_bullet.solver.last_step.foreign_motors import (
    compare_motors,
    hear_before_saving,
    hear_motors,
)
from gltf_bullet.solver.last_step.link_moves import note_moves
from gltf_bullet.solver.last_step.thrown_steps import fastest_body, is_thrown, undo_step
from gltf_bullet.solver.last_step.unknown_loads import add_contact_forces, find_unknown_load
from gltf_bullet.solver.row_metrics import measure_rows
from gltf_bullet.solver.step_division import steps_needed
from gltf_bullet.solver.tree_dynamics import evaluate_tree
from gltf_bullet.solver.tree_kinematics import is_hurried
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["prepare"]


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
    if stage == EVALUATE:
        a = ints[ints[arena.RECORDS] + number]
        evaluate_tree(ints, floats, work, a)
        measure_rows(ints, floats, work, a)
        return 0
    if stage == MOVES:
        note_moves(ints, floats, work, ints[ints[arena.RECORDS] + number], dt)
        return 0
    if stage == HEAR:
        for k in range(ints[arena.ARTICULATIONS]):
            hear_before_saving(ints, floats, work, ints[ints[arena.RECORDS] + k], dt)
        return 0
    if stage == DIVIDE:
        return int(steps_needed(ints, floats, dt))
    slowed = 0
    if stage == JUDGE or stage == CLOSE:
        for k in range(ints[arena.ARTICULATIONS]):
            a = ints[ints[arena.RECORDS] + k]
            if ints[a + arena.CLOSURE_COUNT]:
                slowed |= close_loops(ints, floats, work, a, dt)
    if stage == CLOSE:
        return int(slowed)
    for k in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + k]
        ints[a + arena.THROWN] = 0
        evaluate_tree(ints, floats, work, a)
    if ints[arena.JUDGED] == 0:
        add_contact_forces(ints, floats, work, index, values, number, contacts, dt)
        for k in range(ints[arena.ARTICULATIONS]):
            a = ints[ints[arena.RECORDS] + k]
            if ints[a + arena.ACTS] == 1 and not notice_hands(ints, floats, work, a):
                compare_motors(ints, floats, work, a, dt)
                notice_misses(ints, floats, work, a)
                # Before the guard takes anything from the velocities: that is nobody's load.
                find_unknown_load(ints, floats, work, a)
    else:
        for k in range(ints[arena.ARTICULATIONS]):
            a = ints[ints[arena.RECORDS] + k]
            if ints[a + arena.ACTS] == 1:
                notice_hands(ints, floats, work, a)
    if stage == JUDGE:
        ints[arena.JUDGED] = 1
        for k in range(ints[arena.ARTICULATIONS]):
            a = ints[ints[arena.RECORDS] + k]
            slowed |= WAS_THROWN if ints[a + arena.THROWN] else 0
            note_places(ints, floats, a, True)
            slowed |= ints[a + arena.SLOWED]
            if is_hurried(ints, floats, work, a, ints[a + arena.VELOCITY], dt):
                slowed |= WAS_HURRIED
        return int(slowed)
    for k in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + k]
        if ints[a + arena.ACTS] != 0:
            if ints[a + arena.ACTS] == 1:
                hear_motors(ints, floats, work, a, dt)
                note_places(ints, floats, a, False)
                note_speed(ints, floats, work, a)
            prepare_articulation(ints, floats, work, a, dt, gx, gy, gz)
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
    """The part of a step in which articulations know nothing of each other.

    Args:
        scenes: Their arrays, a row each: see ``island_layout.row_of``.
        stage: PREPARE, JUDGE, CLOSE, DIVIDE, HEAR, EVALUATE or MOVES.
        number: By which the sides of contacts call this arena; of the articulation for EVALUATE
            and MOVES.
        contacts: How many were filled in.
        dt: [s]
        gx: Gravity that the engine applies [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        WAS_SLOWED where the engine must be given velocities that were taken back, WAS_MOVED where
        places as well, WAS_TORN where a loop stays open, WAS_HURRIED where a link went further in
        the step than it is thick, and WAS_THROWN where an articulation is where it was before it.
        For DIVIDE the largest number of engine steps that any articulation needs.
    """
    found = 0
    for row in range(len(scenes)):
        one = _prepare_one(
            ints_at(scenes, row, layout.INTS),
            floats_at(scenes, row, layout.FLOATS),
            floats_at(scenes, row, layout.WORK),
            ints_at(scenes, row, layout.INDEX),
            floats_at(scenes, row, layout.VALUES),
            stage, number, contacts, dt, gx, gy, gz,
        )  # fmt: skip
        found = max(found, one) if stage == DIVIDE else found | one
    return found
