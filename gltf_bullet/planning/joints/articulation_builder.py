"""Multibodies of an articulation from its spanning trees: links, rows and loop constraints.

Pure. Links are in depth-first order. An articulation of more than :data:`MULTIBODY_LINKS` links
is cut at joints into several multibodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gltf_bullet.diagnostics import Diagnostics, IssueKind, note
from gltf_bullet.model import DofKind
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints import articulation_plan, multibody_layout, multibody_spec
from gltf_bullet.planning.joints.graph import SpanningTree
from gltf_bullet.planning.joints.layout import JointLayout
from gltf_bullet.planning.joints.rows import JointRow, RowMetric
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE

MULTIBODY_COORDINATES = 128
"""Most coordinates of one multibody that the engine reports: 7 for any base, 4 per ball
(measured: beyond them a ball's state comes back empty)."""
_BASE_COORDINATES = 7
_MOST_KEPT_FREE = 50
"""Links and coordinates of a multibody that stay free for chains that close loops."""

FLOATING = -2
"""Root of a multibody without anchor."""

JOINT_LOOP_CLOSED = note(
    "JOINT_LOOP_CLOSED",
    "the joint closes a loop; it is held by {how} outside of the tree (loop constraint error about "
    "{error} m where ends of the loop pass at 1 m/s in steps of 1/240 s; it grows with the square "
    "of both)",
)
JOINT_TREE_SPLIT = note(
    "JOINT_TREE_SPLIT",
    "the jointed bodies need more than {links} links and are cut into several multibodies at "
    "this joint; it is held by {how} (gap about 0.001 m at rest, 0.02 m in fast motion)",
)


def build_articulation(
    trees: Sequence[SpanningTree],
    loose: Sequence[int],
    joints: Sequence[multibody_layout.SidedJoint],
    bodies: Mapping[int, multibody_layout.BodyFacts],
    body_plans: Mapping[int, BodyPlan],
    diagnostics: Diagnostics,
) -> articulation_plan.ArticulationPlan:
    """Lay out the links of one articulation and collect its joints, rows and loop constraints.

    Args:
        trees: Bodies that joints hold together.
        loose: Joints that leave their bodies free, within and between the trees.
        joints: All joints of the scene, with their ends resolved.
        bodies: Dynamic bodies by motion node.
        body_plans: Plans of kinematic parents, by motion node.
        diagnostics: Takes the findings.
    """
    builder = _Builder(
        multibody_layout.ArticulationParts(
            joints=joints, bodies=bodies, body_plans=body_plans, diagnostics=diagnostics
        )
    )
    for tree in trees:
        builder.grow(tree)
    builder.connect(loose)
    return builder.finish()


class _Builder:
    def __init__(self, parts: multibody_layout.ArticulationParts) -> None:
        self.parts = parts
        self.joints = parts.joints
        self.bodies = parts.bodies
        self.diagnostics = parts.diagnostics
        self.multibodies: list[multibody_layout.MultibodyDraft] = []
        self.multibody_of: dict[int, int] = {}
        self.closing: list[tuple[int, articulation_plan.LoopConstraintKind, bool]] = []
        self.joint_index: dict[int, int] = {}

    def grow(self, tree: SpanningTree) -> None:
        """Assign bodies to multibodies; joints that do not fit any more become loop constraints."""
        first = len(self.multibodies)
        self._open(tree.anchor if tree.anchor is not None else FLOATING, tree.root_body)
        room = self._kept_free(tree)
        for parent, joint, child in tree.steps:
            multibody_index = self.multibody_of[parent] if parent >= 0 else first
            multibody = self.multibodies[multibody_index]
            branch = multibody_layout.Branch(joint, child, self._is_reversed(joint, child))
            links, coordinates = self._cost(branch)
            fits = (
                multibody.link_count + links + room[0] <= multibody_layout.MULTIBODY_LINKS
                and multibody.coordinate_count + coordinates + room[1] <= MULTIBODY_COORDINATES
            )
            if fits:
                multibody.link_count += links
                multibody.coordinate_count += coordinates
                self.multibody_of[child] = multibody_index
                multibody.branches.setdefault(parent, []).append(branch)
                continue
            self._open(FLOATING, child)
            self._close(joint, JOINT_TREE_SPLIT, child)
        for joint in tree.closing:
            self._close(joint, JOINT_LOOP_CLOSED, -1)

    def connect(self, loose: Sequence[int]) -> None:
        """Add joints that act by forces alone, when all trees have grown."""
        for joint in loose:
            self.closing.append((joint, articulation_plan.LoopConstraintKind.ELEMENT, False))

    def _open(self, anchor: int, root: int) -> None:
        multibody = multibody_layout.MultibodyDraft(
            anchor, root, {}, coordinate_count=_BASE_COORDINATES
        )
        if root >= 0:
            multibody.link_count = self.parts.group_links(root)
            self.multibody_of[root] = len(self.multibodies)
        self.multibodies.append(multibody)

    def _cost(self, branch: multibody_layout.Branch) -> tuple[int, int]:
        """Number of links and coordinates of a branch; they do not depend on the parent's pose."""
        links = len(multibody_layout.branch_chain(self.parts, branch, IDENTITY_POSE).links)
        layout = self.joints[branch.joint].layout
        return links + self.parts.group_links(branch.child), layout.coordinate_count

    def _kept_free(self, tree: SpanningTree) -> tuple[int, int]:
        """Links and coordinates that the chains of a tree's loops may need."""
        layouts = [self.joints[joint].layout for joint in tree.closing]
        welded = [a for a in layouts if not (a.locks_nothing or a.is_undriven_ball)]
        links = sum(len(layout.dofs) + 1 for layout in welded)
        coordinates = sum(layout.coordinate_count for layout in welded)
        return min(links, _MOST_KEPT_FREE), min(coordinates, _MOST_KEPT_FREE)

    def _is_reversed(self, joint: int, child: int) -> bool:
        return self.joints[joint].a.body == child

    def _close(self, joint: int, kind: IssueKind, child: int) -> None:
        """Hold a joint outside of the trees; ``child`` is the root of a multibody cut off there."""
        sided = self.joints[joint]
        layout = sided.layout
        if layout.locks_nothing:
            how, loop_constraint = "forces", articulation_plan.LoopConstraintKind.ELEMENT
        elif layout.is_undriven_ball:
            how, loop_constraint = "a point constraint", articulation_plan.LoopConstraintKind.POINT
        else:
            how, loop_constraint = "a welded chain", articulation_plan.LoopConstraintKind.WELD
        if kind is JOINT_TREE_SPLIT:
            self.diagnostics.report(
                kind, sided.joint.pointer, how=how, links=multibody_layout.MULTIBODY_LINKS
            )
        elif (
            loop_constraint is not articulation_plan.LoopConstraintKind.ELEMENT
        ):  # Those are rows of the solve, as in the tree.
            self.diagnostics.report(kind, sided.joint.pointer, how=how, error=0.0001)
        is_reversed = False
        if loop_constraint is articulation_plan.LoopConstraintKind.WELD:
            # The chain grows on the side with more room; a cut-off multibody is empty.
            host = child if child >= 0 else self._roomier(sided)
            is_reversed = sided.b.body == host
            multibody = self.multibodies[self.multibody_of[host]]
            multibody.link_count += len(layout.dofs) + 1
            multibody.coordinate_count += layout.coordinate_count
            multibody.branches.setdefault(host, []).append(
                multibody_layout.Branch(joint, -1, is_reversed)
            )
        self.closing.append((joint, loop_constraint, is_reversed))

    def _roomier(self, sided: multibody_layout.SidedJoint) -> int:
        options = [
            side.body
            for side in (sided.a, sided.b)
            if side.body >= 0 and self.bodies[side.body].plan.mass > 0.0
        ]
        return min(options, key=lambda n: self.multibodies[self.multibody_of[n]].link_count)

    def finish(self) -> articulation_plan.ArticulationPlan:
        """Emit links, dofs, joints, rows and loop constraints."""
        emitted = [
            multibody_layout.emit_multibody(self.parts, index, multibody)
            for index, multibody in enumerate(self.multibodies)
        ]
        dofs: list[articulation_plan.DofPlan] = []
        joint_dofs: dict[int, tuple[int, ...]] = {}
        ends: dict[int, articulation_plan.LinkFrame] = {}
        link_of: dict[int, articulation_plan.LinkFrame] = {}
        for index, result in enumerate(emitted):
            for node, link in result.plan.bodies:
                link_of[node] = _frame_of_body(index, result.plan.spec, link)
            for joint, planned in result.dofs.items():
                joint_dofs[joint] = tuple(range(len(dofs), len(dofs) + len(planned)))
                dofs.extend(planned)
            for joint, link in result.chain_ends.items():
                ends[joint] = _frame_of_body(index, result.plan.spec, link)
        joints: list[articulation_plan.JointPlan] = []
        rows: list[articulation_plan.RowPlan] = []
        used = sorted({*joint_dofs, *self._tree_joints(), *(c[0] for c in self.closing)})
        position = {joint: k for k, joint in enumerate(used)}
        for joint in used:
            sided = self.joints[joint]
            joints.append(
                articulation_plan.JointPlan(
                    joint=sided.joint,
                    layout=sided.layout,
                    frame_a=self._frame(sided.a, link_of),
                    frame_b=self._frame(sided.b, link_of),
                    dofs=joint_dofs.get(joint, ()),
                )
            )
            rows += _rows(position[joint], sided.layout, joint_dofs.get(joint, ()))
        load = sum(self.bodies[node].plan.mass for node in self.multibody_of)
        loop_constraints = [
            self._loop_constraint(position[joint], joint, kind, is_reversed, ends, link_of, load)
            for joint, kind, is_reversed in self.closing
        ]
        return articulation_plan.ArticulationPlan(
            multibodies=tuple(result.plan for result in emitted),
            dofs=tuple(dofs),
            joints=tuple(joints),
            rows=tuple(rows),
            loop_constraints=tuple(loop_constraints),
        )

    def _tree_joints(self) -> set[int]:
        return {
            branch.joint
            for multibody in self.multibodies
            for branches in multibody.branches.values()
            for branch in branches
        }

    def _frame(
        self, side: multibody_layout.Side, link_of: Mapping[int, articulation_plan.LinkFrame]
    ) -> articulation_plan.LinkFrame:
        if side.body >= 0:
            body_from_world = self.bodies[side.body].plan.world_from_body.inverse()
            link = link_of[side.body]
            in_link = link.link_from_frame @ body_from_world @ side.frame
            return replace(link, link_from_frame=in_link)
        return articulation_plan.LinkFrame(
            multibody=-1,
            link=side.anchor,
            link_from_frame=self.parts.anchor_pose(side).inverse() @ side.frame,
        )

    def _loop_constraint(
        self,
        position: int,
        joint: int,
        kind: articulation_plan.LoopConstraintKind,
        is_reversed: bool,
        ends: Mapping[int, articulation_plan.LinkFrame],
        link_of: Mapping[int, articulation_plan.LinkFrame],
        load: float,
    ) -> articulation_plan.LoopConstraint:
        sided = self.joints[joint]
        first = self._frame(sided.a, link_of)
        second = self._frame(sided.b, link_of)
        if kind is articulation_plan.LoopConstraintKind.WELD:
            first = ends[joint]
            second = self._frame(sided.a if is_reversed else sided.b, link_of)
        return articulation_plan.LoopConstraint(
            kind=kind, joint=position, first=first, second=second, load=load
        )


def _frame_of_body(
    multibody: int, spec: multibody_spec.MultibodySpec, link: int
) -> articulation_plan.LinkFrame:
    """The frame of the body that a link carries."""
    pose = IDENTITY_POSE if link < 0 else spec.links[link].link_from_body
    return articulation_plan.LinkFrame(multibody=multibody, link=link, link_from_frame=pose)


def _rows(
    joint: int, layout: JointLayout, dofs: tuple[int, ...]
) -> list[articulation_plan.RowPlan]:
    rows = []
    for row in layout.rows:
        if row.metric is not RowMetric.COORDINATE:
            rows.append(articulation_plan.RowPlan(joint=joint, row=row))
        elif dofs:
            rows.append(articulation_plan.RowPlan(joint=joint, row=row, dof=dofs[row.dof]))
        else:
            rows.append(articulation_plan.RowPlan(joint=joint, row=_as_element(row, layout)))
    return rows


def _as_element(row: JointRow, layout: JointLayout) -> JointRow:
    """The row of a coordinate as one of the relative pose, for joints that are no links."""
    if row.kind is not DofKind.LINEAR:
        return replace(row, metric=RowMetric.TWIST, dof=-1)
    return replace(row, metric=RowMetric.OFFSET, dof=-1, is_mirrored=layout.is_mirrored)
