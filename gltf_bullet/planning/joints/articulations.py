"""From the model's joints and the planned bodies to articulations of multibodies.

Pure. Meaning: DESIGN section 4 (joint coordinates, joint to nothing, jointed bodies) and
KHR_physics_rigid_bodies, "Joints".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations

import numpy as np

from gltf_bullet.diagnostics import Diagnostics, IssueKind, Severity
from gltf_bullet.model import DofKind, Joint, MotionKind
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_builder import build_articulation
from gltf_bullet.planning.joints.articulation_plan import (
    NO_ARTICULATIONS,
    WORLD,
    ArticulationPlan,
    ArticulationPlans,
    CutConstraint,
)
from gltf_bullet.planning.joints.articulation_split import split_articulation
from gltf_bullet.planning.joints.graph import (
    GraphEdge,
    connected_components,
    edges_of,
    span_components,
)
from gltf_bullet.planning.joints.layout import JointLayout, plan_joint_layout
from gltf_bullet.planning.joints.light_links import report_light_links
from gltf_bullet.planning.joints.multibody_layout import BodyFacts, Side, SidedJoint
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, IntArray, Pose

__all__ = ["plan_articulations"]


JOINT_WITHOUT_EFFECT = IssueKind(
    "JOINT_WITHOUT_EFFECT",
    Severity.INFO,
    "the joint has neither limits nor drives; it only keeps its two bodies from colliding",
)


JOINT_LIMIT_SAGS = IssueKind(
    "JOINT_LIMIT_SAGS",
    Severity.WARNING,
    "the soft limit of {stiffness:.3g} N/m lets a body of {mass:.3g} kg sag by {sag:.3g} m under "
    "its weight, more than its size of about {size:.3g} m; the text's N/m is taken literally",
)

STANDARD_GRAVITY = 9.80665
"""[m/s^2] The conventional value (CGPM 1901), for judging how far a soft limit sags."""


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
        linear_maps: Scale and shear of all nodes; of these only the signs count, shape
            [node_count, 3, 3].
        diagnostics: Takes the findings.
        kept_apart: Sets of motion nodes of which no two meet.
        moving_nodes: Nodes that an animation moves, in the world or within the body that they
            belong to; as attachment nodes they become moving anchors instead of the fixed world,
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
            continue  # within one body, or between none that move: the reader has said so
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
    for group in connected_components(bodies, edges):
        own = edges_of(group, edges)
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
    """What negative scales make of the axes of a joint's frame, "the columns of the basis".

    A rotation, and whether slides run against the axes that it gives. The scales' signs, times
    those of their product, are a half turn or none, and are the signs of turns: a mirror turns what
    spins the other way round.
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
    """Static bodies that are the only thing their jointed bodies hang on."""
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
    for group in connected_components(dynamic, edges):
        inside = set(group)
        anchors = {
            edge.second if edge.first_is_body else edge.first
            for edge in edges
            if not (edge.first_is_body and edge.second_is_body)
            and (edge.first in inside or edge.second in inside)
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
    """Files that mean a softness of 0.3 and say 0.3 N/m fall apart (OMI samples do)."""
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
    """Joints that a constraint or plain forces stand for well leave the tree first."""
    if layout.locks_nothing:
        return 0.0
    if layout.is_undriven_ball:
        return 1.0
    driven = any(row.drive >= 0 for row in layout.rows)
    return 2.0 + (6 - layout.dof_count) / 10.0 + (1.0 if driven else 0.0)
