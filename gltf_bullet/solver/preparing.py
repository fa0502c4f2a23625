"""The kernel that reads what became of the last step and states the rows of the coming one."""

from __future__ import annotations

from gltf_bullet.numba_aot import IntTable, entry, floats_at, ints_at, kernel
from gltf_bullet.solver.articulation_arrays import articulation_at, scene_at
from gltf_bullet.solver.articulation_step import prepare_articulation
from gltf_bullet.solver.island_layout import CLOSE, DIVIDE, EVALUATE, HEAR, SCENE
from gltf_bullet.solver.last_step.closing import close_loops
from gltf_bullet.solver.last_step.foreign_hands import note_places, notice_hands
from gltf_bullet.solver.last_step.foreign_motors import (
    compare_motors,
    hear_before_saving,
    hear_motors,
)
from gltf_bullet.solver.last_step.mispredictions import notice_misses
from gltf_bullet.solver.last_step.unknown_loads import add_contact_forces, find_unknown_load
from gltf_bullet.solver.row_metrics import measure_rows
from gltf_bullet.solver.step_division import note_division, steps_needed
from gltf_bullet.solver.tree_dynamics import evaluate_tree
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
    scene = scene_at(ints, 0)
    if stage == EVALUATE:
        articulation = articulation_at(ints, ints[scene.articulations + number])
        evaluate_tree(ints, floats, work, articulation)
        measure_rows(ints, floats, work, articulation)
        return 0
    if stage == HEAR:
        for k in range(scene.articulation_count):
            hear_before_saving(
                ints, floats, work, articulation_at(ints, ints[scene.articulations + k]), dt
            )
        return 0
    if stage == DIVIDE:
        return int(steps_needed(ints, floats, work, dt, number == 1))
    if stage == CLOSE:
        found = 0
        for k in range(scene.articulation_count):
            articulation = articulation_at(ints, ints[scene.articulations + k])
            if articulation.closure_count:
                found |= close_loops(ints, floats, work, articulation, dt)
        return int(found)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        evaluate_tree(ints, floats, work, articulation)
        if scene.part == 0:
            note_division(floats, work, articulation)
            for i in range(articulation.dof_count):
                floats[articulation.external_pulse + i] = 0.0
    add_contact_forces(ints, floats, work, index, values, number, contacts, dt)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        if articulation.participation == 1 and not notice_hands(ints, floats, articulation):
            compare_motors(ints, floats, work, articulation, dt)
            notice_misses(floats, work, articulation)
            find_unknown_load(ints, floats, work, articulation)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        if articulation.participation != 0:
            if articulation.participation == 1:
                hear_motors(ints, floats, work, articulation, dt)
                note_places(floats, articulation, False)
            prepare_articulation(ints, floats, work, articulation, dt, gx, gy, gz)
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
        stage: PREPARE, CLOSE, DIVIDE, HEAR or EVALUATE.
        number: By which the sides of contacts call this arena; of the articulation for EVALUATE;
            1 for DIVIDE where nothing is in their way.
        contacts: How many were filled in.
        dt: [s]
        gx: Gravity that the engine applies [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        WAS_MOVED where the engine must be given places and velocities, WAS_TORN where a loop stays
        open.
        For DIVIDE the largest number of engine steps that any articulation needs.
    """
    found = 0
    for row in range(len(scenes)):
        one = _prepare_one(
            ints_at(scenes, row, SCENE.ints),
            floats_at(scenes, row, SCENE.floats),
            floats_at(scenes, row, SCENE.work),
            ints_at(scenes, row, SCENE.island_ints),
            floats_at(scenes, row, SCENE.island_floats),
            stage, number, contacts, dt, gx, gy, gz,
        )  # fmt: skip
        found = max(found, one) if stage == DIVIDE else found | one
    return found
