"""One joint as links: from a parent body's frame through its dofs to a child body's frame.

Pure. A chain alternates constant poses with dofs; met from the connected side it is the same
chain inverted, each axis negated and each coordinate kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gltf_bullet.model import DofKind
from gltf_bullet.planning.joints.axes import BALL, Dof
from gltf_bullet.planning.joints.layout import JointLayout
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec
from gltf_bullet.planning.joints.rotations import axis_turn
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Quat, Vec3

__all__ = ["ChainLinks", "chain_links"]

_NOWHERE: Vec3 = (0.0, 0.0, 0.0)
_COINCIDENT = 1e-9
"""[m] Two origins closer than this may share a link frame."""

_ALIGNED = 1e-9
"""Half of the angle [rad] by which frames that are one may differ in a file of decimals."""


@dataclass(frozen=True, slots=True)
class _Moving:
    dof: int
    """Index into the layout's dofs."""
    kind: DofKind
    axis: Vec3
    """In the frame reached so far; unused for a ball."""
    is_ball: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLinks:
    """Links from a parent link to a body, parents counted from 0 within the chain."""

    links: tuple[LinkSpec, ...]
    """The last one is the body itself; the first hangs on the parent link (parent -1)."""
    carriers: tuple[int, ...]
    """Which link carries each dof of the layout, in layout order."""
    is_reversed: bool

    def ball_position(self, layout: JointLayout) -> Quat:
        """Engine position of the chain's ball at load."""
        x, y, z, w = layout.rotation.ball_xyzw
        return (-x, -y, -z, w) if self.is_reversed else (x, y, z, w)


def chain_links(
    layout: JointLayout,
    *,
    is_reversed: bool,
    parent_from_attachment: Pose,
    attachment_from_body: Pose,
    near_from_far: Pose,
    body: LinkSpec,
) -> ChainLinks:
    """The links of a joint and of the body at its end.

    Args:
        layout: Chain from frame a to frame b.
        is_reversed: The parent holds frame b, the body frame a.
        parent_from_attachment: The parent's attachment frame in its link frame.
        attachment_from_body: The body frame in the body's attachment frame.
        near_from_far: The body's attachment frame in the parent's, at load.
        body: Mass properties of the body; joint, frames and axis are filled in here.
    """
    elements: list[Pose | _Moving] = [parent_from_attachment]
    if is_reversed and layout.slides_alike:
        elements += _slides_first(layout, near_from_far)
    else:
        elements += _reversed(_elements(layout)) if is_reversed else _elements(layout)
    elements.append(attachment_from_body)
    links: list[LinkSpec] = []
    carriers = [-1] * len(layout.dofs)
    pending = IDENTITY_POSE
    last = max((k for k, e in enumerate(elements) if isinstance(e, _Moving)), default=-1)
    for k, element in enumerate(elements):
        if isinstance(element, Pose):
            pending = pending @ element
            continue
        carriers[element.dof] = len(links)
        if k == last:
            end = IDENTITY_POSE
            for pose in elements[k + 1 :]:
                if isinstance(pose, Pose):
                    end = end @ pose
            merged = _body_on_dof(element, pending, end, body, len(links) - 1)
            if merged is not None:
                links.append(merged)
                return ChainLinks(
                    links=tuple(links), carriers=tuple(carriers), is_reversed=is_reversed
                )
        links.append(
            LinkSpec(
                parent=len(links) - 1,
                joint=_link_joint(element),
                axis=element.axis,
                parent_from_link=pending,
            )
        )
        pending = IDENTITY_POSE
    links.append(
        replace(body, parent=len(links) - 1, joint=LinkJoint.FIXED, parent_from_link=pending)
    )
    return ChainLinks(links=tuple(links), carriers=tuple(carriers), is_reversed=is_reversed)


def _elements(layout: JointLayout) -> list[Pose | _Moving]:
    elements: list[Pose | _Moving] = [Pose.from_translation(layout.offset)]
    turning: dict[int, int] = {}
    for index, dof in enumerate(layout.dofs):
        if dof.kind is DofKind.LINEAR:
            moving = _moving(index, dof)
            elements.append(_against(moving) if layout.is_mirrored else moving)
        else:
            turning[dof.axis] = index
    if layout.rotation.is_ball:
        elements.append(_moving(turning[BALL], layout.dofs[turning[BALL]]))
    for turn in layout.rotation.turns:
        if turn.is_free:
            index = turning[turn.axis]
            elements.append(_moving(index, layout.dofs[index]))
        else:
            elements.append(axis_turn(turn.axis, turn.angle))
    elements.append(Pose(layout.rotation.tail_xyzw, (0.0, 0.0, 0.0)))
    return elements


def _moving(index: int, dof: Dof) -> _Moving:
    if dof.axis == BALL:
        return _Moving(index, dof.kind, (0.0, 0.0, 1.0), is_ball=True)
    x, y, z = (1.0 if k == dof.axis else 0.0 for k in range(3))
    return _Moving(index, dof.kind, (x, y, z), is_ball=False)


def _reversed(elements: list[Pose | _Moving]) -> list[Pose | _Moving]:
    result: list[Pose | _Moving] = []
    for element in reversed(elements):
        if isinstance(element, Pose):
            result.append(element.inverse())
        else:
            result.append(_against(element))
    return result


def _against(element: _Moving) -> _Moving:
    """The same along the negated axis."""
    x, y, z = element.axis
    return replace(element, axis=(-x, -y, -z))


def _slides_first(layout: JointLayout, near_from_far: Pose) -> list[Pose | _Moving]:
    """The reversed chain of a joint that slides alike in all directions, slides before turns.

    The file has them along the axes of frame a, which turn with the body: the slides would carry a
    body that spins in circles (measured: at 15 rad/s free flight gained 30 J in a second, a rope
    blew up). Where all directions are alike, axes that stand where those of frame a stand at load
    mean the same.
    """
    offset, *others = _elements(layout)
    slides: list[Pose | _Moving] = []
    turns: list[Pose | _Moving] = []
    for element in others:
        if isinstance(element, _Moving) and element.kind is DofKind.LINEAR:
            x, y, z = near_from_far.rotate(element.axis)
            slides.append(replace(element, axis=(-x, -y, -z)))
        else:
            turns.append(element)
    x, y, z = near_from_far.rotate(offset.translation if isinstance(offset, Pose) else _NOWHERE)
    return [Pose.from_translation((-x, -y, -z)), *slides, *_reversed(turns)]


def _link_joint(element: _Moving) -> LinkJoint:
    if element.is_ball:
        return LinkJoint.SPHERICAL
    if element.kind is DofKind.LINEAR:
        return LinkJoint.PRISMATIC
    return LinkJoint.REVOLUTE


def _body_on_dof(
    element: _Moving, pending: Pose, end: Pose, body: LinkSpec, parent: int
) -> LinkSpec | None:
    """The last dof and the body as one link, where their frames allow it.

    A slide may be measured at any point; a turn needs the body's origin on its pivot. A ball's
    position is in the inertial frame, which must not be turned against the joint's: converted
    robots have their joints' frames there.
    """
    turns = element.kind is DofKind.ANGULAR
    if turns and max(map(abs, end.translation)) > _COINCIDENT:
        return None
    turn_only = Pose(end.rotation_xyzw, (0.0, 0.0, 0.0))
    if element.is_ball:
        inertial = body.link_from_inertial
        x, y, z, _ = (end @ inertial).rotation_xyzw
        if max(map(abs, (x, y, z))) > _ALIGNED:
            return None
        return replace(
            body,
            parent=parent,
            joint=LinkJoint.SPHERICAL,
            parent_from_link=pending @ turn_only,
            # Without the rest, the joint's frame is where the file has it.
            link_from_inertial=Pose(turn_only.inverse().rotation_xyzw, inertial.translation),
        )
    return replace(
        body,
        parent=parent,
        joint=_link_joint(element),
        axis=turn_only.inverse().rotate(element.axis),
        parent_from_link=pending @ end,
    )
