"""An articulation of several multibodies as articulations of one, with constraints between them.

Pure. The joint-space solve is dense: one over a rope of 200 balls cost 299 ms per step, eight over
its multibodies a few. What is lost is only that the solve of one multibody does not foresee the
forces of the constraint to the next; the engine's solver still does.
"""

from __future__ import annotations

from dataclasses import replace

from gltf_bullet.planning.joints.articulation_plan import (
    ArticulationPlan,
    CutConstraint,
    JointPlan,
    LinkFrame,
    LoopConstraint,
    LoopConstraintKind,
)

__all__ = ["split_articulation"]


def split_articulation(
    plan: ArticulationPlan, first_number: int
) -> tuple[list[ArticulationPlan], list[CutConstraint]]:
    """One articulation per multibody, numbered from ``first_number``, and what connects them.

    An articulation whose rows act between two multibodies stays whole: its solve needs both.
    """
    if len(plan.multibodies) == 1 or not _is_separable(plan):
        return [plan], []
    parts = [_part(plan, multibody) for multibody in range(len(plan.multibodies))]
    kept = {joint.joint.node for part in parts for joint in part.joints}
    cross = [
        CutConstraint(
            loop_constraint=replace(
                loop_constraint,
                first=_local(loop_constraint.first),
                second=_local(loop_constraint.second),
                joint=-1,
            ),
            first_articulation=first_number + max(0, loop_constraint.first.multibody),
            second_articulation=first_number + max(0, loop_constraint.second.multibody),
            planned=_between(plan.joints[loop_constraint.joint], loop_constraint, kept),
        )
        for loop_constraint in plan.loop_constraints
        if _multibody_of(loop_constraint) is None
    ]
    return parts, cross


def _between(joint: JointPlan, loop_constraint: LoopConstraint, kept: set[int]) -> JointPlan | None:
    """A joint that is in neither part, with its frames in the order of the loop constraint's."""
    if joint.joint.node in kept:
        return None
    frames = sorted(
        (joint.frame_a, joint.frame_b),
        key=lambda frame: frame.multibody != loop_constraint.first.multibody,
    )
    return replace(joint, frame_a=_local(frames[0]), frame_b=_local(frames[1]), dofs=())


def _is_separable(plan: ArticulationPlan) -> bool:
    return all(
        loop_constraint.kind is not LoopConstraintKind.ELEMENT
        or _multibody_of(loop_constraint) is not None
        for loop_constraint in plan.loop_constraints
    )


def _multibody_of(loop_constraint: LoopConstraint) -> int | None:
    """The one multibody that a loop constraint touches, anchors apart; ``None`` if two."""
    multibodies = {
        frame.multibody
        for frame in (loop_constraint.first, loop_constraint.second)
        if frame.multibody >= 0
    }
    return multibodies.pop() if len(multibodies) == 1 else None


def _local(frame: LinkFrame) -> LinkFrame:
    return frame if frame.multibody < 0 else replace(frame, multibody=0)


def _part(plan: ArticulationPlan, multibody: int) -> ArticulationPlan:
    weld_of = {
        loop_constraint.joint: loop_constraint
        for loop_constraint in plan.loop_constraints
        if loop_constraint.kind is LoopConstraintKind.WELD
    }
    joints: list[JointPlan] = []
    joint_index: dict[int, int] = {}
    dof_index = {
        old: new
        for new, old in enumerate(k for k, f in enumerate(plan.dofs) if f.multibody == multibody)
    }
    for old, joint in enumerate(plan.joints):
        frames = [joint.frame_a, joint.frame_b]
        weld = weld_of.get(old)
        if weld is not None and weld.first.multibody == multibody:
            # The tiny link at the chain's end stands for the frame that it is welded to.
            frames = [weld.first if f.multibody not in (multibody, -1) else f for f in frames]
        inside = all(frame.multibody in (multibody, -1) for frame in frames)
        if not inside or all(frame.multibody < 0 for frame in frames):
            continue
        joint_index[old] = len(joints)
        joints.append(
            replace(
                joint,
                frame_a=_local(frames[0]),
                frame_b=_local(frames[1]),
                dofs=tuple(dof_index[k] for k in joint.dofs),
            )
        )
    return ArticulationPlan(
        multibodies=(plan.multibodies[multibody],),
        dofs=tuple(replace(plan.dofs[old], multibody=0) for old in dof_index),
        joints=tuple(joints),
        rows=tuple(
            replace(
                row,
                joint=joint_index[row.joint],
                dof=dof_index[row.dof] if row.dof >= 0 else -1,
            )
            for row in plan.rows
            if row.joint in joint_index
        ),
        loop_constraints=tuple(
            replace(
                loop_constraint,
                joint=joint_index[loop_constraint.joint],
                first=_local(loop_constraint.first),
                second=_local(loop_constraint.second),
            )
            for loop_constraint in plan.loop_constraints
            if _multibody_of(loop_constraint) == multibody
        ),
    )
