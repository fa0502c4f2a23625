"""A component of several multibodies as components of one, with constraints between them.

Pure. The joint-space solve is dense: one over a rope of 200 balls cost 299 ms per step, eight over
its pieces a few. What is lost is only that the solve of one piece does not foresee the forces of
the constraint to the next; the engine's solver still does.
"""

from __future__ import annotations

from dataclasses import replace

from gltf_bullet.planning.joints.articulation_plan import (
    Closure,
    ClosureKind,
    ComponentPlan,
    CrossClosure,
    JointPlan,
    LinkFrame,
)

__all__ = ["split_component"]


def split_component(
    plan: ComponentPlan, first_number: int
) -> tuple[list[ComponentPlan], list[CrossClosure]]:
    """One component per piece, numbered from ``first_number``, and what connects them.

    A component whose rows act between two pieces stays whole: its solve needs both.
    """
    if len(plan.pieces) == 1 or not _is_separable(plan):
        return [plan], []
    parts = [_part(plan, piece) for piece in range(len(plan.pieces))]
    kept = {joint.joint.node for part in parts for joint in part.joints}
    cross = [
        CrossClosure(
            closure=replace(
                closure, first=_local(closure.first), second=_local(closure.second), joint=-1
            ),
            first_component=first_number + max(0, closure.first.piece),
            second_component=first_number + max(0, closure.second.piece),
            planned=_between(plan.joints[closure.joint], closure, kept),
        )
        for closure in plan.closures
        if _piece_of(closure) is None
    ]
    return parts, cross


def _between(joint: JointPlan, closure: Closure, kept: set[int]) -> JointPlan | None:
    """A joint that is in neither part, with its frames in the order of the closure's."""
    if joint.joint.node in kept:
        return None
    frames = sorted(
        (joint.frame_a, joint.frame_b), key=lambda frame: frame.piece != closure.first.piece
    )
    return replace(joint, frame_a=_local(frames[0]), frame_b=_local(frames[1]), freedoms=())


def _is_separable(plan: ComponentPlan) -> bool:
    return all(
        closure.kind is not ClosureKind.ELEMENT or _piece_of(closure) is not None
        for closure in plan.closures
    )


def _piece_of(closure: Closure) -> int | None:
    """The one piece that a closure touches, anchors apart; ``None`` when there are two."""
    pieces = {frame.piece for frame in (closure.first, closure.second) if frame.piece >= 0}
    return pieces.pop() if len(pieces) == 1 else None


def _local(frame: LinkFrame) -> LinkFrame:
    return frame if frame.piece < 0 else replace(frame, piece=0)


def _part(plan: ComponentPlan, piece: int) -> ComponentPlan:
    weld_of = {
        closure.joint: closure for closure in plan.closures if closure.kind is ClosureKind.WELD
    }
    joints: list[JointPlan] = []
    joint_index: dict[int, int] = {}
    freedom_index = {
        old: new
        for new, old in enumerate(k for k, f in enumerate(plan.freedoms) if f.piece == piece)
    }
    for old, joint in enumerate(plan.joints):
        frames = [joint.frame_a, joint.frame_b]
        weld = weld_of.get(old)
        if weld is not None and weld.first.piece == piece:
            # The tiny link at the chain's end stands for the frame that it is welded to.
            frames = [weld.first if f.piece not in (piece, -1) else f for f in frames]
        inside = all(frame.piece in (piece, -1) for frame in frames)
        if not inside or all(frame.piece < 0 for frame in frames):
            continue
        joint_index[old] = len(joints)
        joints.append(
            replace(
                joint,
                frame_a=_local(frames[0]),
                frame_b=_local(frames[1]),
                freedoms=tuple(freedom_index[k] for k in joint.freedoms),
            )
        )
    return ComponentPlan(
        pieces=(plan.pieces[piece],),
        freedoms=tuple(replace(plan.freedoms[old], piece=0) for old in freedom_index),
        joints=tuple(joints),
        rows=tuple(
            replace(
                row,
                joint=joint_index[row.joint],
                freedom=freedom_index[row.freedom] if row.freedom >= 0 else -1,
            )
            for row in plan.rows
            if row.joint in joint_index
        ),
        closures=tuple(
            replace(
                closure,
                joint=joint_index[closure.joint],
                first=_local(closure.first),
                second=_local(closure.second),
            )
            for closure in plan.closures
            if _piece_of(closure) == piece
        ),
    )
