"""One multibody of an articulation: what hangs on what, laid out as links in depth-first order.

Pure. Which bodies share a multibody is decided in ``component_builder``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, Severity
from gltf_bullet.model import Joint
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import WORLD, DofPlan, MultibodyPlan
from gltf_bullet.planning.joints.chain import ChainLinks, chain_links
from gltf_bullet.planning.joints.layout import JointLayout
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec, MultibodySpec
from gltf_bullet.transforms import IDENTITY_POSE, Pose

__all__ = [
    "MULTIBODY_GROUPS",
    "MULTIBODY_LINKS",
    "ArticulationParts",
    "BodyFacts",
    "Branch",
    "EmittedMultibody",
    "MultibodyDraft",
    "Side",
    "SidedJoint",
    "branch_chain",
    "emit_multibody",
]

MULTIBODY_LINKS = 126
"""Links of one multibody: the engine's silent 127, less the fixed one that some begin with."""
MULTIBODY_GROUPS = 50
"""Links that the collider groups of one body may take."""

TINY_MASS_RATIO = 1e-4
"""Mass of the link at the end of a welded chain, relative to the body it is welded to."""

BODY_HAS_TOO_MANY_GROUPS = IssueKind(
    "BODY_HAS_TOO_MANY_GROUPS",
    Severity.WARNING,
    "the body of node {node} needs {groups} links for its collider groups; only {kept} fit, "
    "the others do not collide",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFacts:
    """A dynamic body that joints may hold."""

    node: int
    plan: BodyPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One end of a joint."""

    body: int
    """Motion node of a dynamic body, or -1."""
    anchor: int
    """When ``body`` is -1: the moving anchor's node or :data:`WORLD`."""
    frame: Pose
    """Attachment frame in the world at load."""
    anchor_frame: Pose
    """The same without a turn that mirrored axes may ask for: where a moving anchor is."""
    motion: int
    """Motion node of any kind, -1 without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SidedJoint:
    """A joint with both ends resolved."""

    joint: Joint
    layout: JointLayout
    a: Side
    b: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticulationParts:
    """What an articulation is made of."""

    joints: Sequence[SidedJoint]
    bodies: Mapping[int, BodyFacts]
    """By motion node."""
    body_plans: Mapping[int, BodyPlan]
    """Of moving anchors, by motion node."""
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


@dataclass(slots=True)
class Branch:
    """A child of a body within its multibody: a tree joint, or a chain that a weld will close."""

    joint: int
    child: int
    """Motion node, or -1 for a closing chain."""
    is_reversed: bool


@dataclass(slots=True)
class MultibodyDraft:
    """A multibody in the making."""

    anchor: int
    root: int
    branches: dict[int, list[Branch]]
    """By parent motion node, -1 for the anchor."""
    link_count: int = 0
    coordinate_count: int = 0


@dataclass(slots=True)
class EmittedMultibody:
    """A multibody as values, with what other parts of the plan need to know about it."""

    plan: MultibodyPlan
    dofs: dict[int, list[DofPlan]]
    """By joint."""
    chain_ends: dict[int, int]
    """Last link of closing chains, by joint."""


def branch_chain(parts: ArticulationParts, branch: Branch, world_from_parent: Pose) -> ChainLinks:
    """The links of a joint and of the body, or of the closing chain's end, that it holds."""
    sided = parts.joints[branch.joint]
    near, far = (sided.b, sided.a) if branch.is_reversed else (sided.a, sided.b)
    if branch.child >= 0:
        plan = parts.bodies[branch.child].plan
        attachment_from_body = far.frame.inverse() @ plan.world_from_body
        mass, inertia, inertial = plan.mass, plan.inertia_diagonal, plan.body_from_inertial
    else:
        attachment_from_body = IDENTITY_POSE
        # What stands fixed weighs nothing here; of the two ends one does.
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

    def add_groups(node: int, parent: int) -> None:
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
                LinkSpec(parent=parent, joint=LinkJoint.FIXED, parent_from_link=IDENTITY_POSE)
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
        world_from_parent = (
            parts.bodies[parent_node].plan.world_from_body
            if parent_node >= 0
            else spec.world_from_base
        )
        chain = branch_chain(parts, branch, world_from_parent)
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
                link=first + carrier,
                is_reversed=branch.is_reversed,
                ball_xyzw=chain.ball_position(sided.layout),
            )
            for dof, carrier in zip(sided.layout.dofs, chain.carriers, strict=True)
        ]
        if branch.child < 0:
            ends[branch.joint] = last
            continue
        owners[last] = (branch.child, 0)
        bodies.append((branch.child, last))
        add_groups(branch.child, last)
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
    """Whether the engine takes colliders that move for static ones, which meet nothing static.

    On a base without mass it asks of a link and all before it whether they are fixed, but never of
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
