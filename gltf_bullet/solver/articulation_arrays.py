"""An articulation compiled into arrays: frames, dofs and rows for the joint-space solve.

Pure. Frames are the links that move mass, carry a dof or hold an attachment, of all multibodies of
an articulation, followed by one frame per anchor. Dofs come first, then the velocities of moving
anchors, which are prescribed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.model import DofKind, DriveMode
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import (
    WORLD,
    ArticulationPlan,
    LinkFrame,
    MultibodyPlan,
)
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.joints.rows import RowMetric
from gltf_bullet.solver.dynamics import TreeModel
from gltf_bullet.solver.metrics import LINEAR_METRICS, MetricRows
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose, matrices_from_quats

__all__ = ["ArticulationArrays", "FrameTable", "RowTable", "build_articulation_arrays"]

IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


@dataclass(slots=True, eq=False, kw_only=True)
class RowTable:
    """Rows of the solve as arrays; the runtime changes targets, limits and gains in place."""

    joints: IntArray
    """[r], index into the articulation's joints."""
    coordinate: IntArray
    """[r], velocity index of COORDINATE rows, -1 for measured ones."""
    lower: FloatArray
    upper: FloatArray
    stiffness: FloatArray
    """inf: hard."""
    damping: FloatArray
    position_target: FloatArray
    velocity_target: FloatArray
    max_force: FloatArray
    is_drive: BoolArray
    by_acceleration: BoolArray
    measured: IntArray
    """Rows whose metric is measured between two frames."""
    metric_rows: MetricRows
    is_linear: BoolArray
    """[len(measured)]"""
    frame_a: IntArray
    """[len(measured)], frame index."""
    frame_b: IntArray
    local_a: tuple[FloatArray, FloatArray]
    """Attachment frames in the frames: positions [m, 3] and rotations [m, 4]."""
    local_b: tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrameTable:
    """Which engine link each frame is."""

    multibody: IntArray
    """[f], -1 for anchors."""
    link: IntArray
    """[f]; -1 for a base, the anchor's node (or WORLD) for anchors."""
    index: Mapping[tuple[int, int], int]
    """(multibody, link) -> frame."""
    frame_from_inertial_xyzw: FloatArray
    """[f, 4]"""
    node: IntArray
    """[f], the motion node of the body, -1 for others."""
    gravity_factor: FloatArray
    """[f]"""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArticulationArrays:
    """Everything that the solve needs of an articulation, engine ids apart."""

    tree: TreeModel
    frames: FrameTable
    rows: RowTable
    free_count: int
    """Velocities that the solve may change; the rest belongs to moving anchors."""
    dof_index: tuple[int, ...]
    """Per planned dof its (first) velocity index."""
    base_index: Mapping[int, int]
    """First of six velocities of a floating multibody's base."""
    anchor_index: Mapping[int, int]
    """First of six prescribed velocities of a moving anchor, by node."""
    anchor_frames: Mapping[int, int]
    """Frame of each anchor, by node."""


def build_articulation_arrays(
    plan: ArticulationPlan, body_plans: Mapping[int, BodyPlan]
) -> ArticulationArrays:
    """Lay out frames, velocities and rows of an articulation."""
    frames = _frame_table(plan, body_plans)
    columns = _Columns(frames, plan)
    dof_index = tuple(
        columns.add_dof(f.multibody, f.link, f.dof.axis == BALL, f.dof.kind) for f in plan.dofs
    )
    base_index = {
        index: columns.add_base(frames.index[(index, -1)], index)
        for index, multibody in enumerate(plan.multibodies)
        if multibody.is_floating
    }
    free_count = len(columns.owner)
    anchor_frames = {
        int(frames.link[k]): k for k in range(len(frames.multibody)) if frames.multibody[k] == -1
    }
    anchor_index = {}
    for node, frame in anchor_frames.items():
        if node != WORLD:
            multibodies = [
                k for k, multibody in enumerate(plan.multibodies) if multibody.anchor == node
            ]
            anchor_index[node] = columns.add_base(frame, *multibodies)
    return ArticulationArrays(
        tree=columns.tree_model(),
        frames=frames,
        rows=_row_table(plan, frames, dof_index),
        free_count=free_count,
        dof_index=dof_index,
        base_index=base_index,
        anchor_index=anchor_index,
        anchor_frames=anchor_frames,
    )


def _frame_table(plan: ArticulationPlan, body_plans: Mapping[int, BodyPlan]) -> FrameTable:
    keys: list[tuple[int, int]] = []
    anchors: set[int] = set()
    for index, multibody in enumerate(plan.multibodies):
        carriers = {f.link for f in plan.dofs if f.multibody == index}
        if multibody.is_floating:
            keys.append((index, -1))
        else:
            anchors.add(multibody.anchor)
        keys += [
            (index, link)
            for link, spec in enumerate(multibody.spec.links)
            if spec.mass > 0.0 or link in carriers
        ]
    used: list[LinkFrame] = [f for j in plan.joints for f in (j.frame_a, j.frame_b)]
    used += [f for c in plan.loop_constraints for f in (c.first, c.second)]
    anchors |= {frame.link for frame in used if frame.multibody < 0}
    keys += [(-1, anchor) for anchor in sorted(anchors)]
    node_of = {
        (index, link): node
        for index, multibody in enumerate(plan.multibodies)
        for node, link in multibody.bodies
    }
    nodes = [node_of.get(key, -1) if key[0] >= 0 else -1 for key in keys]
    return FrameTable(
        multibody=np.array([key[0] for key in keys], dtype=np.intp),
        link=np.array([key[1] for key in keys], dtype=np.intp),
        index={key: k for k, key in enumerate(keys)},
        frame_from_inertial_xyzw=np.array(
            [_inertial(plan, key).rotation_xyzw for key in keys]
        ).reshape(-1, 4),
        node=np.array(nodes, dtype=np.intp),
        gravity_factor=np.array(
            [body_plans[node].gravity_factor if node >= 0 else 1.0 for node in nodes]
        ),
    )


def _inertial(plan: ArticulationPlan, key: tuple[int, int]) -> Pose:
    multibody, link = key
    if multibody < 0:
        return IDENTITY_POSE
    spec = plan.multibodies[multibody].spec
    return spec.base_from_inertial if link < 0 else spec.links[link].link_from_inertial


class _Columns:
    """Collects velocities: owners, axes and which frames they move."""

    def __init__(self, frames: FrameTable, plan: ArticulationPlan) -> None:
        self.frames = frames
        self.plan = plan
        self.owner: list[int] = []
        self.axis: list[tuple[float, float, float]] = []
        self.linear: list[bool] = []
        self.base: list[bool] = []
        self.moves: list[FloatArray] = []
        self.ancestors = [_ancestors(multibody) for multibody in plan.multibodies]

    def add_dof(self, multibody: int, link: int, is_ball: bool, kind: DofKind) -> int:
        first = len(self.owner)
        frame = self.frames.index[(multibody, link)]
        moved = np.array(
            [
                1.0 if p == multibody and k >= 0 and link in self.ancestors[multibody][k] else 0.0
                for p, k in zip(
                    self.frames.multibody.tolist(), self.frames.link.tolist(), strict=True
                )
            ]
        )
        spec = self.plan.multibodies[multibody].spec.links[link]
        axes = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)] if is_ball else [spec.axis]
        for axis in axes:
            self._add(frame, axis, kind is DofKind.LINEAR, False, moved)
        return first

    def add_base(self, frame: int, *multibodies: int) -> int:
        first = len(self.owner)
        moved = np.isin(self.frames.multibody, multibodies).astype(np.float64)
        moved[frame] = 1.0
        for k in range(6):
            axis = [0.0, 0.0, 0.0]
            axis[k % 3] = 1.0
            self._add(frame, (axis[0], axis[1], axis[2]), k < 3, True, moved)
        return first

    def _add(
        self,
        frame: int,
        axis: tuple[float, float, float],
        linear: bool,
        base: bool,
        moved: FloatArray,
    ) -> None:
        self.owner.append(frame)
        self.axis.append(axis)
        self.linear.append(linear)
        self.base.append(base)
        self.moves.append(moved)

    def tree_model(self) -> TreeModel:
        keys = list(self.frames.index)
        inertial = [_inertial(self.plan, key) for key in keys]
        count = len(keys)
        masses, inertias = np.zeros(count), np.zeros((count, 3))
        for k, (multibody, link) in enumerate(keys):
            if multibody >= 0:
                spec = self.plan.multibodies[multibody].spec
                source = spec if link < 0 else spec.links[link]
                masses[k], inertias[k] = source.mass, source.inertia_diagonal
        return TreeModel(
            masses=masses,
            inertias=inertias,
            frame_from_inertial_rotation=matrices_from_quats(
                np.array([pose.rotation_xyzw for pose in inertial]).reshape(-1, 4)
            ),
            com_in_frame=np.array([pose.translation for pose in inertial]).reshape(-1, 3),
            dof_frame=np.array(self.owner, dtype=np.intp),
            dof_axis=np.array(self.axis).reshape(-1, 3),
            is_linear=np.array(self.linear, dtype=bool),
            is_base=np.array(self.base, dtype=bool),
            moves=np.stack(self.moves, axis=1) if self.moves else np.zeros((count, 0)),
        )


def _ancestors(multibody: MultibodyPlan) -> list[frozenset[int]]:
    """Per link the links at or above it."""
    result: list[frozenset[int]] = []
    for link, spec in enumerate(multibody.spec.links):
        above = result[spec.parent] if spec.parent >= 0 else frozenset()
        result.append(above | {link})
    return result


def _row_table(plan: ArticulationPlan, frames: FrameTable, dof_index: tuple[int, ...]) -> RowTable:
    count = len(plan.rows)
    coordinate = np.full(count, -1, dtype=np.intp)
    lower, upper = np.full(count, -math.inf), np.full(count, math.inf)
    stiffness, damping = np.zeros(count), np.zeros(count)
    position_target, velocity_target = np.zeros(count), np.zeros(count)
    max_force = np.full(count, math.inf)
    is_drive, by_acceleration = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    measured: list[int] = []
    for r, planned in enumerate(plan.rows):
        joint = plan.joints[planned.joint]
        row = planned.row
        if row.metric is RowMetric.COORDINATE:
            coordinate[r] = dof_index[planned.dof]
        else:
            measured.append(r)
        if row.drive >= 0:
            drive = joint.joint.description.drives[row.drive]
            is_drive[r] = True
            by_acceleration[r] = drive.mode is DriveMode.ACCELERATION
            stiffness[r], damping[r] = drive.stiffness, drive.damping
            position_target[r], velocity_target[r] = drive.position_target, drive.velocity_target
            max_force[r] = drive.max_force
            continue
        limits = [joint.joint.description.limits[k] for k in row.limits]
        if row.metric is RowMetric.COORDINATE and all(k.stiffness == math.inf for k in limits):
            dof = plan.dofs[planned.dof].dof
            lower[r], upper[r] = dof.lower, dof.upper
            stiffness[r] = math.inf
        else:
            limit = limits[0]
            zero = len(limit.axes) > 1 and limit.maximum <= 1e-6
            lower[r] = 0.0 if zero else limit.minimum
            upper[r] = 0.0 if zero else limit.maximum
            stiffness[r], damping[r] = limit.stiffness, limit.damping
    joints = [plan.joints[plan.rows[r].joint] for r in measured]
    rows = [plan.rows[r].row for r in measured]
    return RowTable(
        joints=np.array([row.joint for row in plan.rows], dtype=np.intp),
        coordinate=coordinate,
        lower=lower,
        upper=upper,
        stiffness=stiffness,
        damping=damping,
        position_target=position_target,
        velocity_target=velocity_target,
        max_force=max_force,
        is_drive=is_drive,
        by_acceleration=by_acceleration,
        measured=np.array(measured, dtype=np.intp),
        metric_rows=MetricRows(
            metrics=tuple(row.metric for row in rows),
            axes=np.array([row.axis for row in rows], dtype=np.intp),
            about=np.array([row.about for row in rows], dtype=np.intp),
        ),
        is_linear=np.array([row.metric in LINEAR_METRICS for row in rows], dtype=bool),
        frame_a=np.array(
            [frames.index[(j.frame_a.multibody, j.frame_a.link)] for j in joints], dtype=np.intp
        ),
        frame_b=np.array(
            [frames.index[(j.frame_b.multibody, j.frame_b.link)] for j in joints], dtype=np.intp
        ),
        local_a=_stacked([j.frame_a.link_from_frame for j in joints]),
        local_b=_stacked([j.frame_b.link_from_frame for j in joints]),
    )


def _stacked(poses: list[Pose]) -> tuple[FloatArray, FloatArray]:
    return (
        np.array([pose.translation for pose in poses]).reshape(-1, 3),
        np.array([pose.rotation_xyzw for pose in poses]).reshape(-1, 4),
    )
