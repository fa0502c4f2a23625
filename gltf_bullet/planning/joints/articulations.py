"""Articulations of multibodies from the model's joints and the planned bodies.

Pure. Meaning: DESIGN section 4 (joint coordinates, joint to nothing, jointed bodies) and
KHR_physics_rigid_bodies, "Joints". The file is long since it holds all decisions about one set of
jointed bodies: what is cut into several solves, which light links are reported, and how each joint
is held.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Final, TypeVar

import numpy as np
from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, JsonPointer, note, warning
from gltf_bullet.model import DofKind, Joint, MotionKind
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_builder import build_articulation
from gltf_bullet.planning.joints.articulation_plan import (
    NO_ARTICULATIONS,
    WORLD,
    ArticulationPlan,
    ArticulationPlans,
    CutConstraint,
    JointPlan,
    LinkFrame,
    LoopConstraint,
    LoopConstraintKind,
    MultibodyPlan,
)
from gltf_bullet.planning.joints.graph import (
    GraphEdge,
    connected_components,
    edges_by_group,
    span_components,
)
from gltf_bullet.planning.joints.layout import JointLayout, plan_joint_layout
from gltf_bullet.planning.joints.multibody_layout import BodyFacts, Side, SidedJoint
from gltf_bullet.planning.joints.multibody_spec import LinkJoint
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, IntArray, Pose

# --- Splits of an articulation at the constraints between its multibodies -------------------------
#
# The joint-space solve is dense: one over a rope of 200 balls cost 299 ms per step, eight over its
# multibodies a few. The only loss is that the solve of one multibody does not foresee the forces
# of the constraint to the next; the engine's solver still does.


def split_articulation(
    plan: ArticulationPlan, first_number: int
) -> tuple[list[ArticulationPlan], list[CutConstraint]]:
    """One articulation per multibody, numbered from ``first_number``, and the constraints between.

    An articulation whose rows act between two multibodies stays whole: its solve needs both.
    """
    if len(plan.multibodies) == 1 or not _is_separable(plan):
        return [plan], []
    members = _Members(plan)
    parts = [_part(plan, members, multibody) for multibody in range(len(plan.multibodies))]
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
    """The joint of a constraint between two parts, its frames in the order of the constraint's."""
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
    """The only multibody that a loop constraint touches, anchors apart; ``None`` if it has two."""
    multibodies = {
        frame.multibody
        for frame in (loop_constraint.first, loop_constraint.second)
        if frame.multibody >= 0
    }
    return multibodies.pop() if len(multibodies) == 1 else None


def _local(frame: LinkFrame) -> LinkFrame:
    return frame if frame.multibody < 0 else replace(frame, multibody=0)


T = TypeVar("T")


class _Members:
    """The members of each multibody of an articulation, found in one pass over each list."""

    def __init__(self, plan: ArticulationPlan) -> None:
        self.weld_of = {
            loop_constraint.joint: loop_constraint
            for loop_constraint in plan.loop_constraints
            if loop_constraint.kind is LoopConstraintKind.WELD
        }
        self.dofs = _grouped((dof.multibody, old) for old, dof in enumerate(plan.dofs))
        self.joints = _grouped(
            (multibody, old)
            for old, joint in enumerate(plan.joints)
            for multibody in self._candidates(old, joint)
        )
        """Joints of which an end may be on the multibody."""
        self.rows = _grouped((row.joint, row) for row in plan.rows)
        """Rows by joint."""
        self.loop_constraints = _grouped(
            (multibody, loop_constraint)
            for loop_constraint in plan.loop_constraints
            if (multibody := _multibody_of(loop_constraint)) is not None
        )

    def _candidates(self, old: int, joint: JointPlan) -> set[int]:
        weld = self.weld_of.get(old)
        frames = (joint.frame_a, joint.frame_b, *(() if weld is None else (weld.first,)))
        return {frame.multibody for frame in frames if frame.multibody >= 0}


def _grouped(items: Iterable[tuple[int, T]]) -> dict[int, list[T]]:
    groups: dict[int, list[T]] = {}
    for key, value in items:
        groups.setdefault(key, []).append(value)
    return groups


def _part(plan: ArticulationPlan, members: _Members, multibody: int) -> ArticulationPlan:
    joints: list[JointPlan] = []
    joint_index: dict[int, int] = {}
    dof_index = {old: new for new, old in enumerate(members.dofs.get(multibody, ()))}
    for old in members.joints.get(multibody, ()):
        joint = plan.joints[old]
        frames = [joint.frame_a, joint.frame_b]
        weld = members.weld_of.get(old)
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
            replace(row, joint=new, dof=dof_index[row.dof] if row.dof >= 0 else -1)
            for old, new in joint_index.items()
            for row in members.rows.get(old, ())
        ),
        loop_constraints=tuple(
            replace(
                loop_constraint,
                joint=joint_index[loop_constraint.joint],
                first=_local(loop_constraint.first),
                second=_local(loop_constraint.second),
            )
            for loop_constraint in members.loop_constraints.get(multibody, ())
        ),
    )


# --- Links that are too light for the mass that hangs on them -------------------------------------
#
# The mass below a link pulls it straight like a spring: with a mass ``M`` below it, a length ``l``
# between its joints and an inertia ``I`` about the upper one, it swings at ``sqrt(M g l / I)``. An
# explicit step must be shorter than that, in Bullet as in other engines.

LOAD_ON_LIGHT_LINK = note(
    "LOAD_ON_LIGHT_LINK",
    "{ratio:.3g} times the body's own mass hangs on it; with time steps above {step:.2g} s it "
    "shakes, and is held by taking its energy away",
)

_GRAVITY: Final = 9.81
"""Gravity [m/s^2]; the world's is not known here."""
_PHASE: Final = 0.7
"""Largest phase [rad] of the oscillation per step. Measured on ropes of 20 with 1, 100 and 1000
times a segment's mass at their end: stable at 0.3, 0.3 and 0.6, shaken at 1.3, 2.2 and 2.3."""
_TURNING: Final = (LinkJoint.REVOLUTE, LinkJoint.SPHERICAL)
_USUAL_STEP: Final = 1.0 / 60.0
"""Time step [s] of the test: a link that is stable at this step is not reported."""


def report_light_links(articulations: Iterable[ArticulationPlan], diagnostics: Diagnostics) -> None:
    """Report the worst light link of each multibody that has an anchor."""
    for articulation in articulations:
        for multibody in articulation.multibodies:
            if multibody.is_floating:
                continue
            node, speed, ratio = _worst(multibody)
            if speed * _USUAL_STEP > _PHASE:
                diagnostics.report(
                    LOAD_ON_LIGHT_LINK,
                    JsonPointer(f"/nodes/{node}"),
                    ratio=ratio,
                    step=_PHASE / speed,
                )


class _Hanging(Struct):
    """A body of a multibody, by its link."""

    joint: FloatArray
    """Position of its joint to the body above, in the world [m], shape [3]."""
    turns: bool
    """True if that joint lets it rotate."""
    above: int
    """Link of the body above, -1 for the base."""
    carried: float = 0.0
    """Mass that hangs on it [kg]."""
    lever: float = 0.0
    """From its joint to the furthest one that hangs on it [m]."""


def _worst(multibody: MultibodyPlan) -> tuple[int, float, float]:
    """The body that oscillates fastest, its frequency [rad/s], and the mass on it over its own."""
    links, poses = multibody.spec.links, _poses(multibody)
    found: dict[int, _Hanging] = {}
    for index, link in enumerate(links):
        origin, turns = np.array(poses[index].translation), link.joint in _TURNING
        above = link.parent
        # Joints of several axes are chains of links without mass.
        if above >= 0 and links[above].mass == 0.0:
            passed = found[above]
            origin, turns, above = passed.joint, turns or passed.turns, passed.above
        found[index] = _Hanging(origin, turns, above)
    worst = (-1, 0.0, 0.0)
    nodes = {index: node for node, index in multibody.bodies}
    for index in range(len(links) - 1, -1, -1):  # children come after their parents
        one, link = found[index], links[index]
        if link.mass == 0.0:
            continue
        if one.above >= 0:
            upper = found[one.above]
            upper.carried += one.carried + link.mass
            upper.lever = max(upper.lever, float(np.linalg.norm(one.joint - upper.joint)))
        if not (one.turns and one.carried):
            continue
        center = (poses[index] @ link.link_from_inertial).translation
        arm = float(np.linalg.norm(np.array(center) - one.joint))
        inertia = link.mass * arm * arm + max(link.inertia_diagonal)
        speed = math.sqrt(one.carried * _GRAVITY * one.lever / inertia)
        if speed > worst[1]:
            worst = (nodes.get(index, -1), speed, one.carried / link.mass)
    return worst


def _poses(multibody: MultibodyPlan) -> list[Pose]:
    """world_from_link at load."""
    poses: list[Pose] = []
    for link in multibody.spec.links:
        above = multibody.spec.world_from_base if link.parent < 0 else poses[link.parent]
        poses.append(above @ link.parent_from_link)
    return poses


# --- Plans of all articulations of a scene --------------------------------------------------------

JOINT_WITHOUT_EFFECT = note(
    "JOINT_WITHOUT_EFFECT",
    "the joint has neither limits nor drives; it only keeps its two bodies from colliding",
)


JOINT_LIMIT_SAGS = warning(
    "JOINT_LIMIT_SAGS",
    "the soft limit of {stiffness:.3g} N/m lets a body of {mass:.3g} kg sag by {sag:.3g} m under "
    "its weight, more than its size of about {size:.3g} m; the text's N/m is taken literally",
)

STANDARD_GRAVITY = 9.80665
"""The conventional value of gravity [m/s^2] (CGPM 1901), which decides how far soft limits sag."""


def plan_articulations(
    joints: Mapping[int, Joint],
    *,
    body_plans: Mapping[int, BodyPlan],
    motion_node_of: IntArray,
    world_from_node: FloatArray,
    world_rotations_xyzw: FloatArray,
    linear_maps: FloatArray,
    diagnostics: Diagnostics,
    kept_apart: Iterable[Collection[int]] = (),
    moving_nodes: Collection[int] = (),
    outermost: Collection[int] = (),
) -> ArticulationPlans:
    """Group jointed bodies into multibodies and decide how every joint is held.

    Args:
        joints: By joint node.
        body_plans: By motion node.
        motion_node_of: Motion node of each node, -1 for none; shape [node_count].
        world_from_node: At load, [node_count, 4, 4]; only the translation is read.
        world_rotations_xyzw: Products of local rotations, [node_count, 4]: attachment frames
            have no scale.
        linear_maps: Scale and shear of all nodes; only their signs count, shape
            [node_count, 3, 3].
        diagnostics: Takes the findings.
        kept_apart: Sets of motion nodes of which no two collide.
        moving_nodes: Nodes that an animation moves, in the world or within the body that they
            belong to; as attachment nodes they become kinematic parents instead of the fixed world,
            or of their kinematic body.
        outermost: Motion nodes below no other motion: where a file nests the links of a robot in
            each other, its base.
    """
    if not joints:
        return NO_ARTICULATIONS
    fixed = _fixed_bases(joints, body_plans, motion_node_of)
    bodies = {
        node: BodyFacts(node=node, plan=plan)
        for node, plan in body_plans.items()
        if plan.kind is MotionKind.DYNAMIC or node in fixed
    }
    moving = frozenset(moving_nodes)
    sided: list[SidedJoint] = []
    pairs = {pair for nodes in kept_apart for pair in combinations(sorted(nodes), 2)}
    static_pairs: set[tuple[int, int]] = set()
    for node in sorted(joints):
        joint = joints[node]
        frame_a = _world_frame(node, world_from_node, world_rotations_xyzw)
        turn, is_mirrored = _mirroring(linear_maps[node])
        side_a = _side(node, frame_a, turn, body_plans, motion_node_of, moving, fixed)
        if joint.connected_node is None:
            side_b = Side(
                body=-1, anchor=WORLD, frame=side_a.frame, anchor_frame=frame_a, motion=-1
            )
        else:
            other = joint.connected_node
            frame_b = _world_frame(other, world_from_node, world_rotations_xyzw)
            side_b = _side(other, frame_b, turn, body_plans, motion_node_of, moving, fixed)
        if side_a.body == side_b.body or {side_a.body, side_b.body} <= fixed | {-1}:
            continue  # within one body, or between bodies that do not move: the reader reported it
        if not joint.enable_collision:
            _exclude(joint, side_a, side_b, pairs, static_pairs)
        if not joint.description.limits and not joint.description.drives:
            diagnostics.report(JOINT_WITHOUT_EFFECT, joint.pointer)
            continue
        _report_sag(joint, (side_a, side_b), bodies, diagnostics)
        layout = plan_joint_layout(
            joint, frame_a_from_b(side_a, side_b), diagnostics, is_mirrored=is_mirrored
        )
        sided.append(SidedJoint(joint=joint, layout=layout, a=side_a, b=side_b))
    edges = [_edge(index, joint) for index, joint in enumerate(sided)]
    # A fixed base is the root of its robot, whatever else is heavy; then the outermost node.
    weights = {
        node: (node in fixed, node in outermost, body.plan.mass) for node, body in bodies.items()
    }
    articulations: list[ArticulationPlan] = []
    cross: list[CutConstraint] = []
    groups = connected_components(bodies, edges)
    for group, own in zip(groups, edges_by_group(groups, edges), strict=True):
        loose = [edge.joint for edge in own if sided[edge.joint].layout.leaves_bodies_free]
        holding = [edge for edge in own if edge.joint not in loose]
        trees = span_components(group, holding, weights, WORLD)
        whole = build_articulation(trees, loose, sided, bodies, body_plans, diagnostics)
        parts, between = split_articulation(whole, len(articulations))
        articulations += parts
        cross += between
    jointed = frozenset(
        node
        for articulation in articulations
        for multibody in articulation.multibodies
        for node, _ in multibody.bodies
    )
    anchored = [
        side
        for joint in sided
        for side in (joint.a, joint.b)
        if side.body < 0 and side.anchor != WORLD
    ]
    report_light_links(articulations, diagnostics)
    return ArticulationPlans(
        articulations=tuple(articulations),
        cut_constraints=tuple(cross),
        jointed_bodies=jointed,
        excluded_pairs=frozenset(pairs),
        excluded_static_pairs=frozenset(static_pairs),
        moving_anchors=frozenset(side.anchor for side in anchored),
        anchor_poses={
            side.anchor: side.anchor_frame for side in anchored if side.anchor != side.motion
        },
    )


def frame_a_from_b(side_a: Side, side_b: Side) -> Pose:
    """The joint's relative pose at load."""
    return side_a.frame.inverse() @ side_b.frame


def _world_frame(node: int, world_from_node: FloatArray, rotations_xyzw: FloatArray) -> Pose:
    x, y, z = world_from_node[node, :3, 3].tolist()
    qx, qy, qz, qw = rotations_xyzw[node].tolist()
    return Pose((qx, qy, qz, qw), (x, y, z))


def _mirroring(linear_map: FloatArray) -> tuple[Pose, bool]:
    """Rotation and mirroring of a joint's axes below negative scales ("columns of the basis").

    Returns a rotation, and True if slides run against the axes that it gives. The signs of the
    scales times the sign of their product are a half turn or none. They are the signs of turns as
    well, since a mirror reverses rotations.
    """
    signs = np.where(np.diag(linear_map) < 0.0, -1.0, 1.0)
    x, y, z = signs.tolist()
    is_mirrored = x * y * z < 0.0
    turned = -signs if is_mirrored else signs
    if (turned > 0.0).all():
        return IDENTITY_POSE, is_mirrored
    qx, qy, qz = (turned > 0.0).astype(float).tolist()
    return Pose((qx, qy, qz, 0.0), (0.0, 0.0, 0.0)), is_mirrored


def _side(
    node: int,
    node_frame: Pose,
    turn: Pose,
    body_plans: Mapping[int, BodyPlan],
    motion_node_of: IntArray,
    moving: frozenset[int],
    fixed: Collection[int],
) -> Side:
    motion, frame = int(motion_node_of[node]), node_frame @ turn
    plan = body_plans.get(motion)
    if plan is None:
        anchor = node if node in moving else WORLD
        return Side(body=-1, anchor=anchor, frame=frame, anchor_frame=node_frame, motion=-1)
    if plan.kind is MotionKind.DYNAMIC or motion in fixed:
        return Side(body=motion, anchor=WORLD, frame=frame, anchor_frame=node_frame, motion=motion)
    anchor = motion if plan.kind is MotionKind.KINEMATIC else WORLD
    anchor = node if node in moving else anchor
    return Side(body=-1, anchor=anchor, frame=frame, anchor_frame=node_frame, motion=motion)


def _fixed_bases(
    joints: Mapping[int, Joint], body_plans: Mapping[int, BodyPlan], motion_node_of: IntArray
) -> frozenset[int]:
    """Static bodies that are the only anchor of the bodies jointed to them."""
    dynamic = [n for n, plan in body_plans.items() if plan.kind is MotionKind.DYNAMIC]
    edges: list[GraphEdge] = []
    for node, joint in joints.items():
        if not joint.description.limits and not joint.description.drives:
            continue
        ends = [
            int(motion_node_of[n]) if n is not None else -1 for n in (node, joint.connected_node)
        ]
        held = [end in body_plans and body_plans[end].kind is MotionKind.DYNAMIC for end in ends]
        if any(held) and ends[0] != ends[1]:
            edges.append(
                GraphEdge(
                    joint=node, first=ends[0], second=ends[1],
                    first_is_body=held[0], second_is_body=held[1], priority=0.0,
                )
            )  # fmt: skip
    found: set[int] = set()
    refused: set[int] = set()
    for own in edges_by_group(connected_components(dynamic, edges), edges):
        anchors = {
            edge.second if edge.first_is_body else edge.first
            for edge in own
            if not (edge.first_is_body and edge.second_is_body)
        }
        (found if len(anchors) == 1 else refused).update(anchors)
    statics = {n for n, plan in body_plans.items() if plan.kind is MotionKind.STATIC}
    return frozenset((found - refused) & statics)


def _report_sag(
    joint: Joint,
    sides: tuple[Side, Side],
    bodies: Mapping[int, BodyFacts],
    diagnostics: Diagnostics,
) -> None:
    """Report soft limits that hardly hold: OMI samples mean a softness of 0.3 and say 0.3 N/m."""
    plans = [bodies[side.body].plan for side in sides if side.body >= 0]
    plan = min((p for p in plans if p.mass > 0.0), key=lambda p: p.mass)
    # A solid of radius of gyration k is about 2.5 k across.
    size = 2.5 * math.sqrt(max(plan.inertia_diagonal) / plan.mass)
    for limit in joint.description.limits:
        if limit.kind is not DofKind.LINEAR or not 0.0 < limit.stiffness < math.inf:
            continue
        sag = plan.mass * STANDARD_GRAVITY / limit.stiffness
        if sag > size and plan.gravity_factor != 0.0:
            diagnostics.report(
                JOINT_LIMIT_SAGS,
                limit.pointer or joint.pointer,
                stiffness=limit.stiffness,
                mass=plan.mass,
                sag=sag,
                size=size,
            )


def _exclude(
    joint: Joint,
    a: Side,
    b: Side,
    pairs: set[tuple[int, int]],
    static_pairs: set[tuple[int, int]],
) -> None:
    if a.motion >= 0 and b.motion >= 0:
        pairs.add((min(a.motion, b.motion), max(a.motion, b.motion)))
    elif a.body >= 0 and joint.connected_node is not None:
        static_pairs.add((a.body, joint.connected_node))
    elif b.body >= 0:
        static_pairs.add((b.body, joint.node))


def _edge(index: int, joint: SidedJoint) -> GraphEdge:
    return GraphEdge(
        joint=index,
        first=joint.a.body if joint.a.body >= 0 else joint.a.anchor,
        second=joint.b.body if joint.b.body >= 0 else joint.b.anchor,
        first_is_body=joint.a.body >= 0,
        second_is_body=joint.b.body >= 0,
        priority=_priority(joint.layout),
    )


def _priority(layout: JointLayout) -> float:
    """Lower for joints that a constraint or forces replace well: they leave the tree first."""
    if layout.locks_nothing:
        return 0.0
    if layout.is_undriven_ball:
        return 1.0
    driven = any(row.drive >= 0 for row in layout.rows)
    return 2.0 + (6 - layout.dof_count) / 10.0 + (1.0 if driven else 0.0)
