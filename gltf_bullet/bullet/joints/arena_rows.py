"""Rows of an articulation written into the arena: drives, limits, engine constraints."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.joints.arena_frames import ArticulationFrames
from gltf_bullet.model import DriveMode
from gltf_bullet.planning.joints.articulation_plan import (
    LinkFrame,
    LoopConstraint,
    LoopConstraintKind,
)
from gltf_bullet.planning.joints.rows import RowMetric, limit_range
from gltf_bullet.solver import arena
from gltf_bullet.transforms import Pose

__all__ = [
    "ArenaTables",
    "constraint_ends",
    "constraint_row_count",
    "is_engine_constraint",
    "local_frame",
    "write_rows",
]

IntArray = npt.NDArray[np.int64]

_METRIC = {
    RowMetric.COORDINATE: arena.COORDINATE,
    RowMetric.TWIST: arena.TWIST_ANGLE,
    RowMetric.ROTATION: arena.ROTATION,
    RowMetric.SWING: arena.SWING,
    RowMetric.OFFSET: arena.OFFSET,
    RowMetric.LINE: arena.LINE,
    RowMetric.POINT: arena.POINT,
    RowMetric.CONE: arena.CONE,
    RowMetric.ANGLE: arena.ANGLE,
}


class ArenaTables:
    """Arrays put one after the other."""

    def __init__(self, dtype: type) -> None:
        self.dtype = dtype
        self.parts: list[npt.NDArray[Any]] = []
        self.size = 0

    def add(self, values: object) -> int:
        """Append values; where they begin."""
        array: npt.NDArray[Any] = np.asarray(values, dtype=self.dtype).reshape(-1)
        start = self.size
        self.parts.append(array)
        self.size += len(array)
        return start

    def room(self, count: int) -> int:
        """Append zeros; where they begin."""
        return self.add(np.zeros(count))


def constraint_row_count(constraint: LoopConstraint) -> int:
    """Velocity rows that the constraint takes."""
    return 6 if constraint.kind is LoopConstraintKind.WELD else 3


def constraint_ends(constraint: LoopConstraint) -> tuple[float, ...]:
    """Both ends of a constraint in their frames."""
    return (
        *constraint.first.link_from_frame.translation,
        *constraint.second.link_from_frame.translation,
    )


def is_engine_constraint(constraint: LoopConstraint) -> bool:
    """Whether the engine holds it; elements act by rows alone."""
    return constraint.kind is not LoopConstraintKind.ELEMENT


def write_rows(
    frames: ArticulationFrames, header: list[int], ints: ArenaTables, floats: ArenaTables
) -> None:
    """Write what the rows of one articulation watch and ask for; fills slots of ``header``."""
    plan = frames.plan
    count = len(plan.rows)
    dof = [-1] * count
    lower, upper = np.full(count, -math.inf), np.full(count, math.inf)
    stiffness, damping = np.zeros(count), np.zeros(count)
    targets = np.zeros((2, count))
    max_force = np.full(count, math.inf)
    is_drive, by_acceleration = [0] * count, [0] * count
    frame_a, frame_b = [0] * count, [0] * count
    local_a, local_b = np.zeros((count, 7)), np.zeros((count, 7))
    for r, planned in enumerate(plan.rows):
        joint, row = plan.joints[planned.joint], planned.row
        if row.metric is RowMetric.COORDINATE:
            carrier = plan.dofs[planned.dof]
            dof[r] = frames.first_dof[frames.index[carrier.multibody, carrier.link]]
        frame_a[r], frame_b[r] = frames.index_of(joint.frame_a), frames.index_of(joint.frame_b)
        local_a[r], local_b[r] = local_frame(joint.frame_a), local_frame(joint.frame_b)
        if row.is_mirrored:  # half a turn about another axis negates the one that is watched
            x, y, z = (1.0 if k == (row.axis + 1) % 3 else 0.0 for k in range(3))
            turned = joint.frame_a.link_from_frame @ Pose((x, y, z, 0.0), (0.0, 0.0, 0.0))
            local_a[r] = local_frame(replace(joint.frame_a, link_from_frame=turned))
        description = joint.joint.description
        if row.drive >= 0:
            drive = description.drives[row.drive]
            is_drive[r] = 1
            by_acceleration[r] = int(drive.mode is DriveMode.ACCELERATION)
            stiffness[r], damping[r] = drive.stiffness, drive.damping
            targets[:, r] = drive.position_target, drive.velocity_target
            max_force[r] = drive.max_force
            continue
        limits = [description.limits[k] for k in row.limits]
        if row.metric is RowMetric.COORDINATE and all(k.stiffness == math.inf for k in limits):
            freedom = plan.dofs[planned.dof].dof
            lower[r], upper[r] = freedom.lower, freedom.upper
            stiffness[r] = math.inf
        else:
            span = limit_range(row, description.limits)
            lower[r], upper[r] = span.lower, span.upper
            stiffness[r], damping[r] = limits[0].stiffness, limits[0].damping
    for slot, values in (
        (arena.ROW_METRIC, [_METRIC[k.row.metric] for k in plan.rows]),
        (arena.ROW_AXIS, [k.row.axis for k in plan.rows]),
        (arena.ROW_ABOUT, [k.row.about for k in plan.rows]),
        (arena.ROW_FRAME_A, frame_a),
        (arena.ROW_FRAME_B, frame_b),
        (arena.ROW_DOF, dof),
        (arena.ROW_IS_DRIVE, is_drive),
        (arena.ROW_BY_ACCELERATION, by_acceleration),
        (arena.ROW_RECOVERING, [0] * count),
    ):
        header[slot] = ints.add(values)
    for slot, numbers in (
        (arena.ROW_LOWER, lower),
        (arena.ROW_UPPER, upper),
        (arena.ROW_STIFFNESS, stiffness),
        (arena.ROW_DAMPING, damping),
        (arena.ROW_POSITION_TARGET, targets[0]),
        (arena.ROW_VELOCITY_TARGET, targets[1]),
        (arena.ROW_MAX_FORCE, max_force),
        (arena.ROW_LOCAL_A, local_a),
        (arena.ROW_LOCAL_B, local_b),
    ):
        header[slot] = floats.add(numbers)
    closures = [c for c in plan.loop_constraints if is_engine_constraint(c)]
    header[arena.CLOSURE_FIRST] = ints.add([frames.index_of(c.first) for c in closures])
    header[arena.CLOSURE_SECOND] = ints.add([frames.index_of(c.second) for c in closures])
    header[arena.CLOSURE_SIZE] = ints.add([constraint_row_count(c) for c in closures])
    header[arena.CLOSURE_LOCAL] = floats.add([constraint_ends(c) for c in closures])
    header[arena.TOTAL_ROWS] = count + sum(map(constraint_row_count, closures))


def local_frame(frame: LinkFrame) -> tuple[float, ...]:
    """link_from_frame as seven numbers: translation [m], then rotation xyzw."""
    return (*frame.link_from_frame.translation, *frame.link_from_frame.rotation_xyzw)
