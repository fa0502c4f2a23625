"""Articulation plans compiled into the arrays of a scene, for the joint-space solve.

Frames are the links that carry mass or a joint, and the anchors; what is fixed to them without mass
is left out. See :mod:`gltf_bullet.solver.articulation_arrays` for the tables. From top to bottom:
the scene, one articulation, its frames and velocities, its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.joints.scene_arrays import (
    ArraysStart,
    ArticulationLayout,
    CommandRoom,
    FrameTable,
    RowTable,
    SceneArrays,
)
from gltf_bullet.model import DriveMode
from gltf_bullet.numba_aot import size_of
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.body_sizes import body_sizes
from gltf_bullet.planning.joints.articulation_plan import (
    WORLD,
    ArticulationPlan,
    CutConstraint,
    LinkFrame,
    LoopConstraint,
    LoopConstraintKind,
    MultibodyPlan,
)
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec, MultibodySpec
from gltf_bullet.planning.joints.rows import RowMetric, limit_range
from gltf_bullet.records import replace
from gltf_bullet.solver.articulation_arrays import (
    ANCHOR,
    ANGLE,
    CONE,
    COORDINATE,
    FIXED,
    FLOATING,
    LINE,
    OFFSET,
    POINT,
    PRISMATIC,
    REVOLUTE,
    ROTATION,
    SPHERICAL,
    STATE_SIZES,
    SWING,
    TWIST_ANGLE,
    Articulation,
    SceneHeader,
    scratch_size,
)  # fmt: skip
from gltf_bullet.solver.tables import FLOATS, INTS, WORK, Column, Packed, pack
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose

IntArray = npt.NDArray[np.int64]

_AT_ORIGIN = (*IDENTITY_POSE.translation, *IDENTITY_POSE.rotation_xyzw)

# --- the scene ------------------------------------------------------------------------------------


def build_arrays(
    plans: Sequence[ArticulationPlan],
    cuts: Sequence[CutConstraint],
    body_plans: Mapping[int, BodyPlan],
    anchors: Iterable[int] = (),
) -> SceneArrays:
    """Lay out all articulations of a scene, its anchors at the origin of the world.

    Args:
        plans: The articulations.
        cuts: Constraints between two of them.
        body_plans: By motion node.
        anchors: Nodes of moving anchors.
    """
    all_frames = [ArticulationFrames(plan, body_plans) for plan in plans]
    floats, work = Column(np.float64), Column(np.float64)
    # The state that is read from the engine comes first, of all articulations together.
    states = []
    for frames in all_frames:
        start = floats.size
        frames.place_states(floats)
        states.append((start, floats.size - start))
    state_end = floats.size
    anchor_states = {node: floats.add([*_AT_ORIGIN, *[0.0] * 12]) for node in (WORLD, *anchors)}
    ints = Column(np.int64)
    first = ints.reserve(size_of(SceneHeader))
    columns = {INTS: ints, FLOATS: floats, WORK: work}
    # Forces, then targets, bounds and forces of motors, each of all articulations in turn.
    all_dofs = sum(frames.dof_count for frames in all_frames)
    commands = CommandRoom(work.room(4 * all_dofs), ints.room(all_dofs), all_dofs)
    packed: list[Packed] = []
    done = 0
    for frames, (start, size) in zip(all_frames, states, strict=True):
        given = {"state": start, **commands.command_offsets(done)}
        packed.append(_pack_articulation(frames, anchor_states, columns, size, given))
        done += frames.dof_count
    offsets = [record.offset for record in packed]
    tables = {
        "articulations": offsets,
        "cut": _cut_table(cuts, offsets, all_frames),
        "cut_local": [constraint_ends(cut.loop_constraint) for cut in cuts],
    }
    header = pack(SceneHeader, columns, {"a": len(plans), "k": len(cuts)}, tables, first)
    all_ints, all_floats = ints.made(), floats.made()
    return SceneArrays(
        ArraysStart(all_ints, all_floats, work.size),
        tuple(
            _layout(frames, record, all_ints, all_floats)
            for frames, record in zip(all_frames, packed, strict=True)
        ),
        anchor_states,
        state_end,
        commands,
        header.places["cut_impulse"].where,
    )


def _cut_table(
    cuts: Sequence[CutConstraint], offsets: Sequence[int], frames: Sequence[ArticulationFrames]
) -> list[tuple[int, ...]]:
    return [
        (
            offsets[cut.first_articulation],
            frames[cut.first_articulation].index_of(cut.loop_constraint.first),
            offsets[cut.second_articulation],
            frames[cut.second_articulation].index_of(cut.loop_constraint.second),
            constraint_row_count(cut.loop_constraint),
        )
        for cut in cuts
    ]


# --- one articulation -----------------------------------------------------------------------------


def _pack_articulation(
    frames: ArticulationFrames,
    anchor_states: Mapping[int, int],
    columns: Mapping[str, Column],
    state_size: int,
    given: Mapping[str, int],
) -> Packed:
    """Put one articulation into the arrays; ``given`` says where some tables stand already."""
    for frame, (multibody, link) in enumerate(frames.keys):
        if multibody < 0:
            frames.state_offsets[frame] = anchor_states[link]
    tree, rows = _tree_tables(frames), _row_tables(frames)
    r, n, closure_rows = len(rows["row_dof"]), frames.dof_count, sum(rows["closure_size"])
    counts = {
        "f": len(frames.keys), "n": n, "r": r, "c": len(rows["closure_size"]), "q": closure_rows,
        "m": r + closure_rows, "b": sum(tree["is_base_dof"]), "s": state_size,
        "scratch": scratch_size(n),
    }  # fmt: skip
    values = {**given, **tree, **rows, "participation": 1, "block": -1}
    values["first_state"] = given["state"]
    return pack(Articulation, columns, counts, values)


def _tree_tables(frames: ArticulationFrames) -> dict[str, Any]:
    """Tables of the structure and the links of one articulation, by name."""
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
            dof_frame[k], is_base[k] = f, int(joint == FLOATING)
    links = []
    for f, pose in enumerate(frames.poses):
        source, inertial = frames.source(f), frames.inertial(f)
        mass, inertia = (0.0, (0.0,) * 3)
        axis = (0.0, 0.0, 1.0)
        if source is not None:
            mass, inertia = source.mass, source.inertia_diagonal
            axis = source.axis if isinstance(source, LinkSpec) else axis
        links.append(
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
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    if frames.joints[0] == ANCHOR and 0 in frames.parents:
        offset = frames.poses[frames.parents.index(0)].translation
    return {
        "frame_parent": frames.parents,
        "frame_joint": frames.joints,
        "frame_state": frames.state_offsets,
        "frame_first_dof": frames.first_dof,
        "frame_last_dof": last_dof,
        "frame_root": roots,
        "dof_parent": dof_parent,
        "dof_frame": dof_frame,
        "is_base_dof": is_base,
        "command_dof": frames.command_dofs(),
        "link": links,
        "reference_frame": 0,
        "reference_offset": offset,
    }


def _layout(
    frames: ArticulationFrames, packed: Packed, ints: IntArray, floats: FloatArray
) -> ArticulationLayout:
    rows = RowTable.of(packed.places, ints, floats)
    return ArticulationLayout(
        offset=packed.offset,
        places=packed.places,
        memory=packed.memory,
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
                for at, (multibody, _) in zip(frames.state_offsets, frames.keys, strict=True)
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


# --- frames and velocities ------------------------------------------------------------------------

_JOINT = {
    LinkJoint.FIXED: FIXED,
    LinkJoint.REVOLUTE: REVOLUTE,
    LinkJoint.PRISMATIC: PRISMATIC,
    LinkJoint.SPHERICAL: SPHERICAL,
}

DOFS = {REVOLUTE: 1, PRISMATIC: 1, SPHERICAL: 3, FLOATING: 6}
"""Velocities by joint type."""

FLOATING_STATE = 13
"""Numbers that the engine tells about a floating base: pose and both velocities."""
ANCHOR_STATE = 19
"""... and about a fixed one, its acceleration being 0."""


class ArticulationFrames:
    """The frames of one articulation, parents first, and its velocities, leaves first."""

    def __init__(self, plan: ArticulationPlan, body_plans: Mapping[int, BodyPlan]) -> None:
        self.plan = plan
        self.keys = self._find_keys()
        self.index = {key: f for f, key in enumerate(self.keys)}
        node_of = {
            (k, link): node
            for k, multibody in enumerate(plan.multibodies)
            for node, link in multibody.bodies
        }
        self.nodes = [node_of.get(key, -1) if key[0] >= 0 else -1 for key in self.keys]
        self.gravity_factors = [
            body_plans[node].gravity_factor if node >= 0 else 1.0 for node in self.nodes
        ]
        self.half_sizes = [_half_sizes(body_plans.get(node)) for node in self.nodes]
        self.joints = [self._joint(key) for key in self.keys]
        self.parents: list[int] = []
        self.poses: list[Pose] = []
        for key in self.keys:
            parent, pose = self._parent(key)
            self.parents.append(parent)
            self.poses.append(pose)
        self.first_dof = [-1] * len(self.keys)
        self.dof_count = 0
        for f in reversed(range(len(self.keys))):
            if self.joints[f] in DOFS:
                self.first_dof[f] = self.dof_count
                self.dof_count += DOFS[self.joints[f]]
        self.state_offsets = [-1] * len(self.keys)
        self.states: list[tuple[int, tuple[tuple[int, bool], ...]]] = []

    def _find_keys(self) -> list[tuple[int, int]]:
        plan = self.plan
        anchors = {m.anchor for m in plan.multibodies if m.root_node < 0}
        used = [f for j in plan.joints for f in (j.frame_a, j.frame_b)]
        used += [f for c in plan.loop_constraints for f in (c.first, c.second)]
        anchors |= {frame.link for frame in used if frame.multibody < 0}
        keys = [(-1, anchor) for anchor in sorted(anchors)]
        for k, multibody in enumerate(plan.multibodies):
            carriers = {f.link for f in plan.dofs if f.multibody == k}
            if multibody.root_node >= 0:
                keys.append((k, -1))
            keys += [
                (k, link)
                for link, spec in enumerate(multibody.spec.links)
                if spec.mass > 0.0 or link in carriers
            ]
        return keys

    def _joint(self, key: tuple[int, int]) -> int:
        multibody, link = key
        if multibody < 0:
            return ANCHOR
        if link < 0:
            # A fixed base is an anchor of its own, whose pose is read like a floating one's.
            is_floating = self.plan.multibodies[multibody].is_floating
            return FLOATING if is_floating else ANCHOR
        return _JOINT[self.plan.multibodies[multibody].spec.links[link].joint]

    def _parent(self, key: tuple[int, int]) -> tuple[int, Pose]:
        """The next frame towards the base, and where the frame is in it at coordinate 0."""
        k, link = key
        if k < 0 or link < 0:
            return -1, IDENTITY_POSE
        multibody = self.plan.multibodies[k]
        spec = multibody.spec.links[link]
        pose, parent = spec.parent_from_link, spec.parent
        while parent >= 0 and (k, parent) not in self.index:
            pose = multibody.spec.links[parent].parent_from_link @ pose
            parent = multibody.spec.links[parent].parent
        if parent >= 0 or multibody.root_node >= 0:
            return self.index[k, parent], pose
        return self.index[-1, multibody.anchor], pose

    def index_of(self, frame: LinkFrame) -> int:
        """The frame that an attachment moves with."""
        return self.index[frame.multibody, frame.link]

    def source(self, f: int) -> MultibodySpec | LinkSpec | None:
        """Mass properties of a frame; anchors have none."""
        multibody, link = self.keys[f]
        if multibody < 0:
            return None
        spec = self.plan.multibodies[multibody].spec
        return spec if link < 0 else spec.links[link]

    def inertial(self, f: int) -> Pose:
        """Centre of mass and principal axes in the frame."""
        source = self.source(f)
        if source is None:
            return IDENTITY_POSE
        if isinstance(source, MultibodySpec):
            return source.base_from_inertial
        return source.link_from_inertial

    def place_states(self, floats: Column) -> None:
        """Room for what the engine tells, in the order in which it is asked."""
        for k, multibody in enumerate(self.plan.multibodies):
            if multibody.root_node >= 0:
                size = FLOATING_STATE if multibody.is_floating else ANCHOR_STATE
                self.state_offsets[self.index[k, -1]] = floats.room(size)
            links = []
            for link in range(len(multibody.spec.links)):
                f = self.index.get((k, link), -1)
                if f >= 0 and self.joints[f] != FIXED:
                    self.state_offsets[f] = floats.room(STATE_SIZES[self.joints[f]])
                    links.append((link, self.joints[f] == SPHERICAL))
            base = ANCHOR_STATE if multibody.root_node >= 0 else 0
            self.states.append((FLOATING_STATE if multibody.is_floating else base, tuple(links)))

    def command_dofs(self) -> list[int]:
        """Velocities in the order of commands: per multibody single axes, balls, the base."""
        result: list[int] = []
        for k, (floats, links) in enumerate(self.states):
            dofs = [(self.first_dof[self.index[k, link]], ball) for link, ball in links]
            result += [dof for dof, ball in dofs if not ball]
            result += [dof + n for dof, ball in dofs if ball for n in range(3)]
            if floats == FLOATING_STATE:
                base = self.first_dof[self.index[k, -1]]
                result += range(base, base + 6)
        return result


def _half_sizes(plan: BodyPlan | None) -> tuple[float, float]:
    """Half of the thickness and of the length of a body's colliders [m]."""
    size = None if plan is None else body_sizes([plan])[0]
    return (math.inf, 0.0) if size is None else (size.half_thickness, size.half_length)


# --- rows -----------------------------------------------------------------------------------------

_METRIC = {
    RowMetric.COORDINATE: COORDINATE,
    RowMetric.TWIST: TWIST_ANGLE,
    RowMetric.ROTATION: ROTATION,
    RowMetric.SWING: SWING,
    RowMetric.OFFSET: OFFSET,
    RowMetric.LINE: LINE,
    RowMetric.POINT: POINT,
    RowMetric.CONE: CONE,
    RowMetric.ANGLE: ANGLE,
}


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
    """Tell whether the engine holds a constraint; elements act by rows alone."""
    return constraint.kind is not LoopConstraintKind.ELEMENT


def _row_tables(frames: ArticulationFrames) -> dict[str, Any]:
    """Tables of the rows of one articulation, by name."""
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
    closures = [c for c in plan.loop_constraints if is_engine_constraint(c)]
    return {
        "row_metric": [_METRIC[k.row.metric] for k in plan.rows],
        "row_axis": [k.row.axis for k in plan.rows],
        "row_tilt_axis": [k.row.about for k in plan.rows],
        "row_frame_a": frame_a,
        "row_frame_b": frame_b,
        "row_dof": dof,
        "row_is_drive": is_drive,
        "row_by_acceleration": by_acceleration,
        "row_lower": lower,
        "row_upper": upper,
        "row_stiffness": stiffness,
        "row_damping": damping,
        "row_position_target": targets[0],
        "row_velocity_target": targets[1],
        "row_max_force": max_force,
        "row_local_a": local_a,
        "row_local_b": local_b,
        "closure_first": [frames.index_of(c.first) for c in closures],
        "closure_second": [frames.index_of(c.second) for c in closures],
        "closure_size": [constraint_row_count(c) for c in closures],
        "closure_local": [constraint_ends(c) for c in closures],
    }


def local_frame(frame: LinkFrame) -> tuple[float, ...]:
    """link_from_frame as seven numbers: translation [m], then rotation xyzw."""
    return (*frame.link_from_frame.translation, *frame.link_from_frame.rotation_xyzw)
