"""Articulation plans compiled into the arena of a scene, for the joint-space solve.

Frames are the links that carry mass or a joint, and the anchors; what is fixed to them without mass
is left out. See :mod:`gltf_bullet.solver.arena` for where everything stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.joints.arena_frames import DOFS, ArticulationFrames
from gltf_bullet.bullet.joints.arena_rows import (
    ArenaTables,
    constraint_ends,
    constraint_row_count,
    is_engine_constraint,
    write_rows,
)
from gltf_bullet.bullet.joints.scene_arena import (
    Arena,
    ArenaStart,
    CommandRoom,
    FrameTable,
    Record,
    RowTable,
)
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import (
    WORLD,
    ArticulationPlan,
    CutConstraint,
    MultibodyPlan,
)
from gltf_bullet.planning.joints.multibody_spec import LinkSpec
from gltf_bullet.solver import arena
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray

__all__ = ["build_arena"]

IntArray = npt.NDArray[np.int64]

_AT_ORIGIN = (*IDENTITY_POSE.translation, *IDENTITY_POSE.rotation_xyzw)


def build_arena(
    plans: Sequence[ArticulationPlan],
    cuts: Sequence[CutConstraint],
    body_plans: Mapping[int, BodyPlan],
    anchors: Iterable[int] = (),
) -> Arena:
    """Lay out all articulations of a scene, its anchors at the origin of the world.

    Args:
        plans: The articulations.
        cuts: Constraints between two of them.
        body_plans: By motion node.
        anchors: Nodes of moving anchors.
    """
    layouts = [ArticulationFrames(plan, body_plans) for plan in plans]
    ints, floats, work = ArenaTables(np.int64), ArenaTables(np.float64), ArenaTables(np.float64)
    ints.room(arena.ARENA_HEADER)
    states = []
    for layout in layouts:
        start = floats.size
        layout.place_states(floats)
        states.append((start, floats.size - start))
    state_end = floats.size
    anchor_states = {}
    for node in (WORLD, *anchors):
        anchor_states[node] = floats.add([*_AT_ORIGIN, *[0.0] * 12])
    # Forces, then targets, bounds and forces of motors, each of all articulations in turn.
    all_dofs = sum(layout.dof_count for layout in layouts)
    commands = CommandRoom(work.room(4 * all_dofs), ints.room(all_dofs), all_dofs)
    offsets, done = [], 0
    for layout, (start, size) in zip(layouts, states, strict=True):
        header = [0] * arena.HEADER_SIZE
        header[arena.STATE], header[arena.STATE_SIZE] = start, size
        commands.write(header, done)
        offsets.append(_write_record(layout, anchor_states, header, ints, floats, work))
        done += layout.dof_count
    header = [0] * arena.ARENA_HEADER
    header[arena.ARTICULATIONS] = len(offsets)
    header[arena.RECORDS] = ints.add(offsets)
    header[arena.CUTS] = len(cuts)
    header[arena.CUT_SIDES] = ints.add(
        [
            number
            for cut in cuts
            for number in (
                offsets[cut.first_articulation],
                layouts[cut.first_articulation].index_of(cut.loop_constraint.first),
                offsets[cut.second_articulation],
                layouts[cut.second_articulation].index_of(cut.loop_constraint.second),
                constraint_row_count(cut.loop_constraint),
            )
        ]
    )
    header[arena.CUT_LOCAL] = floats.add([constraint_ends(cut.loop_constraint) for cut in cuts])
    header[arena.CUT_IMPULSE] = floats.room(6 * len(cuts))
    ints.parts[0] = np.array(header, dtype=np.int64)
    all_ints = np.concatenate(ints.parts).astype(np.int64)
    all_floats = np.concatenate(floats.parts).astype(np.float64)
    records = tuple(
        _record(layout, offset, all_ints, all_floats)
        for layout, offset in zip(layouts, offsets, strict=True)
    )
    beginning = ArenaStart(all_ints, all_floats, work.size)
    return Arena(beginning, records, anchor_states, state_end, commands)


def _write_record(
    frames: ArticulationFrames,
    anchor_states: Mapping[int, int],
    header: list[int],
    ints: ArenaTables,
    floats: ArenaTables,
    work: ArenaTables,
) -> int:
    """One articulation; where its header begins, which tells of states and commands already."""
    plan, f, n = frames.plan, len(frames.keys), frames.dof_count
    r, c = len(plan.rows), sum(is_engine_constraint(k) for k in plan.loop_constraints)
    offset = ints.room(arena.HEADER_SIZE)
    place = len(ints.parts) - 1
    header[arena.FRAME_COUNT], header[arena.DOF_COUNT] = f, n
    header[arena.ROW_COUNT], header[arena.CLOSURE_COUNT] = r, c
    header[arena.ACTS], header[arena.BLOCK] = 1, -1
    for frame, (multibody, link) in enumerate(frames.keys):
        if multibody < 0:
            frames.state_offsets[frame] = anchor_states[link]
    _write_tree(frames, header, ints, floats)
    header[arena.COMMAND_DOF] = ints.add(frames.command_dofs())
    write_rows(frames, header, ints, floats)
    m = header[arena.TOTAL_ROWS]
    q = m - r
    header[arena.PULL] = floats.room(3 * f)
    header[arena.EXTERNAL] = floats.room(6 * f)
    header[arena.IS_HEARD] = floats.room(n)
    header[arena.MEMORY] = floats.size
    for slot, size in (
        (arena.LAST_IMPULSE, m),
        (arena.LASTING, n),
        (arena.LAST_DT, 1),
        (arena.EXPECTED, n),
        (arena.UNKNOWN, n),
        (arena.LATELY, n),
        (arena.TOUCHED, n),
        (arena.LAST_VELOCITY, n),
        (arena.LAST_MASS, n * n),
        (arena.NEEDED, 1),
        (arena.COMING, 1),
        (arena.PULSE, n),
        (arena.GIVING, n),
        (arena.LAST_STATE, header[arena.STATE_SIZE]),
        (arena.PLACED, 1),
        (arena.TAKEN, n),
        (arena.QUIET, n),
        (arena.MOTOR_LOAD, n),
        (arena.MOTOR_IMPULSE, n),
        (arena.FELT, n),
        (arena.MOTOR_CHANGE, n),
    ):
        header[slot] = floats.room(size)
    header[arena.MEMORY_END] = floats.size
    b = header[arena.BASE_DOF_COUNT]
    for slot, size in (
        (arena.REFERENCE, 3),
        (arena.POSE, arena.POSE_SIZE * f),
        (arena.COMPOSITE, 10 * f),
        (arena.AXIS, 6 * n),
        (arena.SCRATCH, max(arena.SCRATCH_SIZE, 4 * n + 32)),
        (arena.ROW_JACOBIAN, m * n),
        (arena.CLOSURE_GAP, 3 * c),
        (arena.CLOSURE_HALF, q * n),
        (arena.CLOSURE_RESPONSE, q * q),
        (arena.CLOSURE_FACTOR, q * q),
        (arena.CLOSURE_PULL, q),
        (arena.CLOSURE_WAY, n if q else 0),
        (arena.OPEN_STATE, header[arena.STATE_SIZE] if q or b else 0),
        (arena.WHIP, 1),
        (arena.MAY_PAY, 1),
        (arena.BASE_MASS, 2 * b * b),
        *((slot, n * n) for slot in (arena.MASS, arena.FACTOR)),
        *(
            (slot, 6 * f)
            for slot in (arena.TWIST, arena.TWIST_MEAN, arena.ACCELERATION, arena.WRENCH)
        ),
        *(
            (slot, n)
            for slot in (
                arena.VELOCITY,
                arena.VELOCITY_FREE,
                arena.BIAS,
                arena.CENTRED,
                arena.APPLIED,
                arena.HANDED,
                arena.TAU,
                arena.ROW_FORCE,
                arena.CONTACT_FORCE,
                arena.ROW_SUM,
                arena.AHEAD,
            )
        ),
        *(
            (slot, m)
            for slot in (
                arena.ROW_VALUE,
                arena.ROW_RATE,
                arena.ROW_DRIFT,
                arena.ROW_TARGET,
                arena.ROW_SOFTNESS,
                arena.ROW_LOW,
                arena.ROW_HIGH,
                arena.ROW_COMPLIANCE,
                arena.ROW_BEND,
                arena.ROW_RELIEF,
            )
        ),
    ):
        header[slot] = work.room(size)
    ints.parts[place] = np.array(header, dtype=np.int64)
    return offset


def _write_tree(
    frames: ArticulationFrames, header: list[int], ints: ArenaTables, floats: ArenaTables
) -> None:
    n = frames.dof_count
    last_dof, roots = [-1] * len(frames.keys), [0] * len(frames.keys)
    dof_parent, dof_frame, is_base = [-1] * n, [0] * n, [0] * n
    for f, (joint, parent) in enumerate(zip(frames.joints, frames.parents, strict=True)):
        above = last_dof[parent] if parent >= 0 else -1
        roots[f] = roots[parent] if parent >= 0 else f
        first, count = frames.first_dof[f], DOFS.get(joint, 0)
        last_dof[f] = first if count else above
        for k in range(first, first + count) if count else ():
            dof_parent[k] = k + 1 if k + 1 < first + count else above
            dof_frame[k], is_base[k] = f, int(joint == arena.FLOATING)
    header[arena.BASE_DOF_COUNT] = sum(is_base)
    header[arena.FRAME_PARENT] = ints.add(frames.parents)
    header[arena.FRAME_JOINT] = ints.add(frames.joints)
    header[arena.FRAME_STATE] = ints.add(frames.state_offsets)
    header[arena.FRAME_FIRST_DOF] = ints.add(frames.first_dof)
    header[arena.FRAME_LAST_DOF] = ints.add(last_dof)
    header[arena.FRAME_ROOT] = ints.add(roots)
    header[arena.DOF_PARENT] = ints.add(dof_parent)
    header[arena.DOF_FRAME] = ints.add(dof_frame)
    header[arena.IS_BASE_DOF] = ints.add(is_base)
    header[arena.LINK] = floats.size
    for f, pose in enumerate(frames.poses):
        source, inertial = frames.source(f), frames.inertial(f)
        mass, inertia = (0.0, (0.0,) * 3)
        axis = (0.0, 0.0, 1.0)
        if source is not None:
            mass, inertia = source.mass, source.inertia_diagonal
            axis = source.axis if isinstance(source, LinkSpec) else axis
        floats.add(
            [
                *pose.matrix()[:3, :3].reshape(-1),
                *pose.translation,
                *(np.array(axis) / (np.linalg.norm(axis) or 1.0)),
                *inertial.translation,
                *inertial.matrix()[:3, :3].reshape(-1),
                mass,
                *inertia,
                frames.gravity_factors[f],
                *frames.half_sizes[f],
            ]
        )
    # The reference point: where the first link hangs on an anchor, or a base itself.
    header[arena.REFERENCE_FRAME] = 0
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    if frames.joints[0] == arena.ANCHOR and 0 in frames.parents:
        offset = frames.poses[frames.parents.index(0)].translation
    header[arena.REFERENCE_OFFSET] = floats.add(offset)


def _record(frames: ArticulationFrames, offset: int, ints: IntArray, floats: FloatArray) -> Record:
    rows = RowTable.at(offset, ints, floats)
    first = int(ints[offset + arena.FRAME_STATE])
    starts = ints[first : first + len(frames.keys)].tolist()
    return Record(
        offset=offset,
        frames=FrameTable(
            index=frames.index,
            multibody=tuple(key[0] for key in frames.keys),
            link=tuple(key[1] for key in frames.keys),
            node=tuple(frames.nodes),
            of_links=tuple(
                _frame_of_links(frames.index, k, multibody)
                for k, multibody in enumerate(frames.plan.multibodies)
            ),
        ),
        row_count=len(rows.coordinate),
        dof_count=frames.dof_count,
        dof_index=tuple(
            frames.first_dof[frames.index[d.multibody, d.link]] for d in frames.plan.dofs
        ),
        base_index={
            k: frames.first_dof[frames.index[k, -1]]
            for k, multibody in enumerate(frames.plan.multibodies)
            if multibody.is_floating
        },
        states=tuple(frames.states),
        state_start=min(
            (
                at
                for at, (multibody, _) in zip(starts, frames.keys, strict=True)
                if multibody >= 0 and at >= 0
            ),
            default=0,
        ),
        hard_rows=tuple(np.flatnonzero((rows.coordinate >= 0) & rows.is_hard_limit).tolist()),
    )


def _frame_of_links(
    index: Mapping[tuple[int, int], int], number: int, multibody: MultibodyPlan
) -> dict[int, int]:
    found = {link: frame for (k, link), frame in index.items() if k == number}
    link_of_node = dict(multibody.bodies)
    for link, (node, _) in enumerate(multibody.owners):
        if link not in found and link_of_node.get(node) in found:
            found[link] = found[link_of_node[node]]
    return found
