"""One multibody of an articulation: its bodies and joints as links in depth-first order.

Pure. ``articulation_builder`` decides which bodies share a multibody. The file is long since a
link's frame, its joint and its place in the order depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.model import DofKind, Joint
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import WORLD, DofPlan, MultibodyPlan
from gltf_bullet.planning.joints.axes import BALL, Dof
from gltf_bullet.planning.joints.layout import JointLayout
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec, MultibodySpec
from gltf_bullet.planning.joints.rotations import axis_turn
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Quat, Vec3

# --- One joint as links: from a parent body's frame through its dofs to a child body's frame ------
#
# A chain alternates constant poses with dofs. From the side of the connected node it is the same
# chain inverted: each axis is negated and each coordinate keeps its value.

_NOWHERE: Vec3 = (0.0, 0.0, 0.0)
_COINCIDENT = 1e-9
"""[m] Two origins closer than this may share a link frame."""

_ALIGNED = 1e-9
"""Half of the angle [rad] by which equal frames may differ in a file of decimals."""


class _Moving(Struct, frozen=True):
    dof: int
    """Index into the layout's dofs."""
    kind: DofKind
    axis: Vec3
    """Axis in the frame that the chain has reached; unused for a ball."""
    is_ball: bool


class ChainLinks(Struct, frozen=True, kw_only=True):
    """Links from a parent link to a body; parents are counted from 0 within the chain."""

    links: tuple[LinkSpec, ...]
    """The last one is the body itself; the first hangs on the parent link (parent -1)."""
    link_of_dof: tuple[int, ...]
    """Link of each dof of the layout, in layout order."""
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
    is_end: bool,
) -> ChainLinks:
    """The links of a joint and of the body at its end.

    Args:
        layout: Chain from frame a to frame b.
        is_reversed: The parent holds frame b, the body frame a.
        parent_from_attachment: The parent's attachment frame in its link frame.
        attachment_from_body: The body frame in the body's attachment frame.
        near_from_far: The body's attachment frame in the parent's, at load.
        body: Mass properties of the body; joint, frames and axis are filled in here.
        is_end: Nothing hangs on the body: its frame has to be a link's frame, for which PyBullet's
            inverse kinematics is asked.
    """
    elements: list[Pose | _Moving] = [parent_from_attachment]
    if is_reversed and layout.slides_alike:
        elements += _slides_first(layout, near_from_far)
    else:
        elements += _reversed(_elements(layout)) if is_reversed else _elements(layout)
    elements.append(attachment_from_body)
    links: list[LinkSpec] = []
    link_of_dof = [-1] * len(layout.dofs)
    pending = IDENTITY_POSE
    last = max((k for k, e in enumerate(elements) if isinstance(e, _Moving)), default=-1)
    for k, element in enumerate(elements):
        if isinstance(element, Pose):
            pending = pending @ element
            continue
        link_of_dof[element.dof] = len(links)
        if k == last:
            end = IDENTITY_POSE
            for pose in elements[k + 1 :]:
                if isinstance(pose, Pose):
                    end = end @ pose
            merged = _body_on_dof(element, pending, end, body, len(links) - 1)
            if merged is not None and (merged.link_from_body == IDENTITY_POSE or not is_end):
                links.append(merged)
                return ChainLinks(
                    links=tuple(links), link_of_dof=tuple(link_of_dof), is_reversed=is_reversed
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
    return ChainLinks(links=tuple(links), link_of_dof=tuple(link_of_dof), is_reversed=is_reversed)


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
    """The dof with the axis negated."""
    x, y, z = element.axis
    return replace(element, axis=(-x, -y, -z))


def _slides_first(layout: JointLayout, near_from_far: Pose) -> list[Pose | _Moving]:
    """The reversed chain of a joint that slides alike in all directions: slides before turns.

    In the file, slides are along the axes of frame a, which turn with the body: the slides would
    lead a spinning body in circles (measured: at 15 rad/s free flight gained 30 J in a second, a
    rope blew up). Where all directions are alike, fixed axes, equal to those of frame a at load,
    have the same meaning.
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
    """The last dof and the body as one link; ``None`` if their frames do not allow it.

    A slide may be measured at any point, a turn only on its pivot: the link has its origin there,
    and the axes of the body. The position of a ball is in the inertial frame, which must not be
    turned against the joint's: converted robots have their joint frames there.
    """
    turn_only = Pose(end.rotation_xyzw, _NOWHERE)
    back = turn_only.inverse()
    if element.kind is DofKind.LINEAR or max(map(abs, end.translation)) <= _COINCIDENT:
        link_from_body, dof_from_link = IDENTITY_POSE, end
    else:
        link_from_body = Pose.from_translation(back.rotate(end.translation))
        dof_from_link = turn_only
    inertial, axis = body.link_from_inertial, element.axis
    if link_from_body != IDENTITY_POSE:
        inertial = link_from_body @ inertial
    if not element.is_ball:
        axis = back.rotate(axis)
    else:
        x, y, z, _ = (end @ body.link_from_inertial).rotation_xyzw
        if max(map(abs, (x, y, z))) > _ALIGNED:
            return None
        # Without the rest, the joint's frame is where the file has it.
        dof_from_link = turn_only
        inertial = Pose(back.rotation_xyzw, inertial.translation)
    return replace(
        body,
        parent=parent,
        joint=_link_joint(element),
        axis=axis,
        parent_from_link=pending @ dof_from_link,
        link_from_inertial=inertial,
        link_from_body=link_from_body,
    )


# --- The links of a multibody in depth-first order ------------------------------------------------

MULTIBODY_LINKS = 126
"""Links of one multibody: the engine's silent limit of 127, less one fixed link that some need."""
MULTIBODY_GROUPS = 50
"""Most links for the collider groups of one body."""

TINY_MASS_RATIO = 1e-4
"""Mass of the link at the end of a welded chain, relative to the body that it is welded to."""

BODY_HAS_TOO_MANY_GROUPS = warning(
    "BODY_HAS_TOO_MANY_GROUPS",
    "the body of node {node} needs {groups} links for its collider groups; only {kept} fit, "
    "the others do not collide",
)


class BodyFacts(Struct, frozen=True, kw_only=True):
    """A dynamic body that joints may hold, by its motion node."""

    node: int
    plan: BodyPlan


class Side(Struct, frozen=True, kw_only=True):
    """One end of a joint."""

    body: int
    """Motion node of a dynamic body, or -1."""
    anchor: int
    """Node of the kinematic parent or :data:`WORLD`; only if ``body`` is -1."""
    frame: Pose
    """Attachment frame in the world at load."""
    anchor_frame: Pose
    """Attachment frame without the turn that mirrored axes may need: that of a kinematic parent."""
    motion: int
    """Motion node of any kind, -1 without one."""


class SidedJoint(Struct, frozen=True, kw_only=True):
    """A joint with both ends resolved."""

    joint: Joint
    layout: JointLayout
    a: Side
    b: Side


class ArticulationParts(Struct, frozen=True, kw_only=True):
    """Inputs that all multibodies of an articulation are laid out from."""

    joints: Sequence[SidedJoint]
    bodies: Mapping[int, BodyFacts]
    """By motion node."""
    body_plans: Mapping[int, BodyPlan]
    """Plans of kinematic parents, by motion node."""
    diagnostics: Diagnostics

    def group_links(self, node: int) -> int:
        """Fixed links that a body needs for its further collider groups."""
        return min(max(0, len(self.bodies[node].plan.groups) - 1), MULTIBODY_GROUPS)

    def anchor_pose(self, side: Side) -> Pose:
        """The frame of an anchor at load, without scale."""
        if side.anchor == WORLD:
            return IDENTITY_POSE
        plan = self.body_plans.get(side.anchor)
        return plan.world_from_body if plan is not None else side.anchor_frame


class Branch(Struct):
    """A child of a body within its multibody: a tree joint, or a chain that a weld will close."""

    joint: int
    child: int
    """Motion node, or -1 for a closing chain."""
    is_reversed: bool


class MultibodyDraft(Struct):
    """A multibody in the making."""

    anchor: int
    root: int
    branches: dict[int, list[Branch]]
    """Branches by parent motion node, -1 for the anchor."""
    link_count: int = 0
    coordinate_count: int = 0


class EmittedMultibody(Struct):
    """A multibody as values, with the facts that other parts of the plan need."""

    plan: MultibodyPlan
    dofs: dict[int, list[DofPlan]]
    """Degrees of freedom by joint."""
    chain_ends: dict[int, int]
    """Last link of each closing chain, by joint."""


def branch_chain(
    parts: ArticulationParts, branch: Branch, world_from_parent: Pose, *, is_end: bool = True
) -> ChainLinks:
    """The links of a joint and of the body, or of the closing chain's end, that it holds.

    ``is_end``: nothing hangs on that body; such bodies may need a link more.
    """
    sided = parts.joints[branch.joint]
    near, far = (sided.b, sided.a) if branch.is_reversed else (sided.a, sided.b)
    if branch.child >= 0:
        plan = parts.bodies[branch.child].plan
        attachment_from_body = far.frame.inverse() @ plan.world_from_body
        mass, inertia, inertial = plan.mass, plan.inertia_diagonal, plan.body_from_inertial
    else:
        attachment_from_body = IDENTITY_POSE
        # A fixed base has mass 0 here; of the two welded ends one has mass.
        masses = [parts.bodies[k].plan.mass for k in (far.body, near.body) if k >= 0]
        mass = TINY_MASS_RATIO * next(filter(None, masses), 0.0)
        # A ball of 0.1 m: small against any real body, large enough for the solver.
        inertia, inertial = (mass * 0.004,) * 3, IDENTITY_POSE
    return chain_links(
        sided.layout,
        is_reversed=branch.is_reversed,
        parent_from_attachment=world_from_parent.inverse() @ near.frame,
        attachment_from_body=attachment_from_body,
        near_from_far=near.frame.inverse() @ far.frame,
        body=LinkSpec(
            parent=-1,
            joint=LinkJoint.FIXED,
            parent_from_link=IDENTITY_POSE,
            mass=mass,
            inertia_diagonal=inertia,
            link_from_inertial=inertial,
        ),
        is_end=is_end and branch.child >= 0,
    )


def emit_multibody(
    parts: ArticulationParts, index: int, multibody: MultibodyDraft
) -> EmittedMultibody:
    """Lay out the links of the ``index``-th multibody, chains and closing chains included."""
    links: list[LinkSpec] = []
    owners: list[tuple[int, int]] = []
    bodies: list[tuple[int, int]] = []
    dofs: dict[int, list[DofPlan]] = {}
    ends: dict[int, int] = {}

    def add_groups(node: int, parent: int, parent_from_body: Pose = IDENTITY_POSE) -> None:
        count = len(parts.bodies[node].plan.groups)
        kept = parts.group_links(node)
        if count - 1 > kept:
            parts.diagnostics.report(
                BODY_HAS_TOO_MANY_GROUPS,
                ROOT / "nodes" / node,
                node=node,
                groups=count - 1,
                kept=kept,
            )
        for group in range(1, kept + 1):
            links.append(
                LinkSpec(parent=parent, joint=LinkJoint.FIXED, parent_from_link=parent_from_body)
            )
            owners.append((node, group))

    if multibody.root >= 0:
        plan = parts.bodies[multibody.root].plan
        spec = MultibodySpec(
            world_from_base=plan.world_from_body,
            mass=plan.mass,
            inertia_diagonal=plan.inertia_diagonal,
            base_from_inertial=plan.body_from_inertial,
        )
        bodies.append((multibody.root, -1))
        add_groups(multibody.root, -1)
    else:
        spec = MultibodySpec(world_from_base=_base_pose(parts, multibody))
    stack = [
        (branch, multibody.root, -1)
        for branch in reversed(multibody.branches.get(multibody.root, []))
    ]
    while stack:
        branch, parent_node, parent_link = stack.pop()
        sided = parts.joints[branch.joint]
        world_from_parent = spec.world_from_base
        if parent_node >= 0:
            world_from_parent = parts.bodies[parent_node].plan.world_from_body
        if parent_link >= 0:
            world_from_parent = world_from_parent @ links[parent_link].link_from_body.inverse()
        is_end = not multibody.branches.get(branch.child)
        chain = branch_chain(parts, branch, world_from_parent, is_end=is_end)
        first = len(links)
        for link in chain.links:
            parent = parent_link if link.parent < 0 else first + link.parent
            links.append(replace(link, parent=parent))
            owners.append((-1, -1))
        last = len(links) - 1
        dofs[branch.joint] = [
            DofPlan(
                joint_node=sided.joint.node,
                dof=dof,
                multibody=index,
                link=first + link,
                is_reversed=branch.is_reversed,
                ball_xyzw=chain.ball_position(sided.layout),
            )
            for dof, link in zip(sided.layout.dofs, chain.link_of_dof, strict=True)
        ]
        if branch.child < 0:
            ends[branch.joint] = last
            continue
        owners[last] = (branch.child, 0)
        bodies.append((branch.child, last))
        add_groups(branch.child, last, links[last].link_from_body)
        stack += [
            (child, branch.child, last)
            for child in reversed(multibody.branches.get(branch.child, []))
        ]
    is_fixed_late = spec.mass == 0.0 and _are_taken_for_static(parts, links, owners)
    return EmittedMultibody(
        MultibodyPlan(
            anchor=multibody.anchor,
            root_node=multibody.root,
            spec=replace(spec, links=tuple(links), is_fixed_late=is_fixed_late),
            owners=tuple(owners),
            bodies=tuple(bodies),
        ),
        dofs,
        ends,
    )


def _are_taken_for_static(
    parts: ArticulationParts, links: Sequence[LinkSpec], owners: Sequence[tuple[int, int]]
) -> bool:
    """Return True if the engine takes moving colliders for static ones, which collide with none.

    On a base without mass it tests of a link and all before it whether they are fixed, but never of
    link 0 (measured: a box on the arm of a hinge swings through a floor).
    """
    if not links or links[0].joint is LinkJoint.FIXED:
        return False
    on_first = {0}
    for k, (link, (node, _)) in enumerate(zip(links, owners, strict=True)):
        if link.joint is LinkJoint.FIXED and link.parent in on_first:
            on_first.add(k)
            if node >= 0 and parts.bodies[node].plan.groups:
                return True
    return False


def _base_pose(parts: ArticulationParts, multibody: MultibodyDraft) -> Pose:
    for branch in multibody.branches.get(-1, []):
        sided = parts.joints[branch.joint]
        return parts.anchor_pose(sided.b if branch.is_reversed else sided.a)
    return IDENTITY_POSE
