"""Bodies and joints to multibodies: layouts, trees, loops, splits, findings; no engine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.model import (
    DofKind,
    DriveMode,
    Joint,
    JointDescription,
    JointDrive,
    JointLimit,
    MotionKind,
)
from gltf_bullet.planning.body_plans import BodyPlan, ColliderGroup
from gltf_bullet.planning.joints.articulation_builder import JOINT_LOOP_CLOSED, JOINT_TREE_SPLIT
from gltf_bullet.planning.joints.articulation_plan import (
    WORLD,
    ArticulationPlans,
    LoopConstraintKind,
)
from gltf_bullet.planning.joints.articulations import (
    JOINT_LIMIT_SAGS,
    JOINT_WITHOUT_EFFECT,
    plan_articulations,
)
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.joints.layout import (
    JOINT_LIMITS_CONTRADICT,
    JOINT_STARTS_VIOLATED,
)
from gltf_bullet.planning.joints.multibody_layout import BODY_HAS_TOO_MANY_GROUPS, MULTIBODY_GROUPS
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, depth_first_order
from gltf_bullet.planning.joints.rows import JOINT_DRIVE_ON_LOCKED_AXIS, RowMetric
from gltf_bullet.transforms import IDENTITY_POSE, Pose, quat_from_rotation_vector

LINEAR, ANGULAR = DofKind.LINEAR, DofKind.ANGULAR


def limit(kind: DofKind, *axes: int, low: float = 0.0, high: float = 0.0, **more: float):
    return JointLimit(kind=kind, axes=axes, minimum=low, maximum=high, **more)


POINT = limit(LINEAR, 0, 1, 2)
HINGE_Y = (POINT, limit(ANGULAR, 0, 2))
WELD = (POINT, limit(ANGULAR, 0, 1, 2))


class JointedBodies:
    """Nodes: bodies first; joints get two attachment nodes each."""

    def __init__(
        self, *bodies: tuple[float, float, float], kinds: dict[int, MotionKind] | None = None
    ):
        self.poses = [Pose((0.0, 0.0, 0.0, 1.0), body) for body in bodies]
        self.owners = list(range(len(bodies)))
        self.kinds = kinds or {}
        self.joints: dict[int, Joint] = {}
        self.groups: dict[int, tuple[ColliderGroup, ...]] = {}

    def node(self, owner: int, position, turn=(0.0, 0.0, 0.0)) -> int:
        rotation = quat_from_rotation_vector(np.array(turn, dtype=float))
        self.poses.append(Pose(tuple(rotation), tuple(map(float, position))))
        self.owners.append(owner)
        return len(self.poses) - 1

    def join(self, a: int, b: int, at, limits=(), drives=(), at_b=None, turn_b=(0, 0, 0), **more):
        node = self.node(a, at)
        connected = self.node(b, at if at_b is None else at_b, turn_b)
        self.joints[node] = Joint(
            node=node,
            connected_node=connected,
            description=JointDescription(limits=tuple(limits), drives=tuple(drives)),
            pointer=ROOT / "nodes" / node,
            **more,
        )
        return node

    def plan(self, diagnostics: Diagnostics, moving=()) -> ArticulationPlans:
        bodies = {
            k: BodyPlan(
                node=k,
                kind=self.kinds.get(k, MotionKind.DYNAMIC),
                world_from_body=self.poses[k],
                mass=1.0,
                inertia_diagonal=(1.0, 1.0, 1.0),
                groups=self.groups.get(k, ()),
            )
            for k, owner in enumerate(self.owners)
            if owner == k
        }
        return plan_articulations(
            self.joints,
            body_plans=bodies,
            motion_node_of=np.array(self.owners),
            world_from_node=np.array([pose.matrix() for pose in self.poses]),
            world_rotations_xyzw=np.array([pose.rotation_xyzw for pose in self.poses]),
            linear_maps=np.tile(np.eye(3), (len(self.poses), 1, 1)),
            diagnostics=diagnostics,
            moving_nodes=moving,
        )


def layout_of(limits, diagnostics, drives=(), at_b=(0, 0, 0), turn_b=(0, 0, 0)):
    world = JointedBodies((0.0, 0.0, 0.0))
    world.join(-1, 0, (0, 0, 0), limits, drives, at_b=at_b, turn_b=turn_b)
    return world.plan(diagnostics).articulations[0].joints[0].layout


def axes_of(layout) -> list[tuple[DofKind, int]]:
    return [(dof.kind, dof.axis) for dof in layout.dofs]


def test_a_hinge_of_two_one_axis_locks_is_one_revolute(diagnostics: Diagnostics) -> None:
    """Blender writes hinges like this; the metric of each alone is singular at 180 degrees."""
    limits = (POINT, limit(ANGULAR, 0), limit(ANGULAR, 2))
    for angle in (0.0, 2.0, math.pi - 1e-3):
        layout = layout_of(limits, diagnostics, turn_b=(0.0, angle, 0.0))
        assert axes_of(layout) == [(ANGULAR, 1)]
        assert layout.dofs[0].position == pytest.approx(angle)


def test_free_rotation_is_one_ball_and_free_translation_three_slides(
    diagnostics: Diagnostics,
) -> None:
    assert axes_of(layout_of((POINT,), diagnostics)) == [(ANGULAR, BALL)]
    soft = limit(LINEAR, 0, 1, 2, high=1.0)
    expected = [(LINEAR, 0), (LINEAR, 1), (LINEAR, 2), (ANGULAR, BALL)]
    assert axes_of(layout_of((soft,), diagnostics)) == expected


def test_limits_of_one_axis_intersect(diagnostics: Diagnostics) -> None:
    limits = (*HINGE_Y, limit(ANGULAR, 1, low=-1.0, high=0.5), limit(ANGULAR, 1, low=-0.2, high=2))
    layout = layout_of(limits, diagnostics)
    assert (layout.dofs[0].lower, layout.dofs[0].upper) == (-0.2, 0.5)
    assert layout.rows[0].limits == (2, 3)


def test_a_full_turn_is_no_limit(diagnostics: Diagnostics) -> None:
    layout = layout_of((*HINGE_Y, limit(ANGULAR, 1, low=-math.pi, high=math.pi)), diagnostics)
    assert layout.dofs[0].upper == math.inf
    assert not layout.rows


def test_contradicting_limits_lock_in_the_middle_and_are_reported(
    diagnostics: Diagnostics,
) -> None:
    limits = (*HINGE_Y, limit(ANGULAR, 1, low=0.5, high=1.0), limit(ANGULAR, 1, low=-1, high=0.1))
    layout = layout_of(limits, diagnostics, turn_b=(0.0, 0.3, 0.0))
    assert not layout.dofs
    assert diagnostics.take(JOINT_LIMITS_CONTRADICT).values["axis"] == 1


def test_a_locked_axis_that_starts_displaced_stays_free_to_come_back(
    diagnostics: Diagnostics,
) -> None:
    layout = layout_of(WELD, diagnostics, at_b=(0.0, 0.2, 0.0))
    dof = layout.dofs[0]
    assert (dof.axis, dof.position, dof.lower, dof.upper) == (1, 0.2, 0.0, 0.0)
    issue = diagnostics.take(JOINT_STARTS_VIOLATED)
    assert issue.values["excess"] == pytest.approx(0.2)
    assert issue.message.endswith("are 0.2 m and 0 rad apart)")


def test_a_turned_start_says_the_angle_between_the_frames(diagnostics: Diagnostics) -> None:
    layout_of(WELD, diagnostics, turn_b=(0.0, 0.3, 0.0))
    assert "are 0 m and 0.3 rad apart" in diagnostics.take(JOINT_STARTS_VIOLATED).message


def test_radial_limits_become_rows_of_their_metric(diagnostics: Diagnostics) -> None:
    cone = layout_of((POINT, limit(ANGULAR, 0, 1, high=0.7)), diagnostics)
    assert [(row.metric, row.axis) for row in cone.rows] == [(RowMetric.CONE, 2)]
    assert cone.dofs[-1].axis == 2, "the pole of a narrow cone turns last, free of its angle"
    wide = layout_of((POINT, limit(ANGULAR, 0, 1, high=2.0)), diagnostics)
    assert axes_of(wide) == [(ANGULAR, BALL)]
    rope = layout_of((limit(LINEAR, 0, 1, 2, high=2.0),), diagnostics)
    assert [row.metric for row in rope.rows] == [RowMetric.POINT]
    tube = layout_of((limit(LINEAR, 0, 2, high=2.0),), diagnostics)
    assert [(row.metric, row.axis) for row in tube.rows] == [(RowMetric.LINE, 1)]


def test_soft_zero_limits_become_one_spring_per_axis(diagnostics: Diagnostics) -> None:
    layout = layout_of((limit(LINEAR, 0, 1, 2, stiffness=1e3), *WELD[1:]), diagnostics)
    assert [(row.metric, row.axis) for row in layout.rows] == [
        (RowMetric.COORDINATE, axis) for axis in range(3)
    ]


def test_a_soft_limit_that_cannot_carry_its_body_is_reported(diagnostics: Diagnostics) -> None:
    """1 kg on 0.3 N/m: 32.7 m."""
    layout_of((limit(LINEAR, 0, 1, 2, stiffness=0.3),), diagnostics)
    sag = diagnostics.take(JOINT_LIMIT_SAGS).values["sag"]
    assert sag == pytest.approx(9.80665 / 0.3)


def test_a_drive_on_a_locked_axis_is_reported(diagnostics: Diagnostics) -> None:
    motor = JointDrive(kind=LINEAR, axis=0, mode=DriveMode.FORCE, damping=1.0)
    assert not layout_of(HINGE_Y, diagnostics, drives=(motor,)).rows
    diagnostics.take(JOINT_DRIVE_ON_LOCKED_AXIS)


def test_chain_met_from_the_child_is_reversed_with_negated_axes(diagnostics: Diagnostics) -> None:
    world = JointedBodies((1.0, 0.0, 0.0))
    world.join(0, -1, (0, 0, 0), HINGE_Y)
    articulation = world.plan(diagnostics).articulations[0]
    assert articulation.dofs[0].is_reversed
    assert articulation.multibodies[0].spec.links[0].axis == (0.0, -1.0, 0.0)


def test_a_body_with_its_origin_on_the_pivot_needs_one_link(diagnostics: Diagnostics) -> None:
    world = JointedBodies((0.0, 0.0, 0.0))
    world.join(-1, 0, (0, 0, 0), HINGE_Y)
    links = world.plan(diagnostics).articulations[0].multibodies[0].spec.links
    assert [link.joint for link in links] == [LinkJoint.REVOLUTE]
    assert links[0].mass == 1.0


def test_a_hinge_off_the_origin_is_one_link_unless_the_body_is_an_end(
    diagnostics: Diagnostics,
) -> None:
    """A link turns about its own origin: on the pivot; what hangs on it stands where it stood."""
    world = JointedBodies((2.0, 0.0, 0.0), (4.0, 0.0, 0.0))
    world.join(-1, 0, (1, 0, 0), HINGE_Y)
    joint = world.join(0, 1, (3, 0, 0), HINGE_Y)
    articulation = world.plan(diagnostics).articulations[0]
    multibody = articulation.multibodies[0]
    upper, hinge, end = multibody.spec.links
    assert multibody.bodies == ((0, 0), (1, 2))
    assert (upper.joint, hinge.joint, end.joint) == (
        LinkJoint.REVOLUTE, LinkJoint.REVOLUTE, LinkJoint.FIXED,
    )  # fmt: skip
    at = multibody.spec.world_from_base @ upper.parent_from_link
    assert at.translation == (1.0, 0.0, 0.0)
    assert (at @ upper.link_from_body).translation == (2.0, 0.0, 0.0)
    assert (at @ upper.link_from_inertial).translation == (2.0, 0.0, 0.0)
    at @= hinge.parent_from_link
    assert at.translation == (3.0, 0.0, 0.0)
    at @= end.parent_from_link
    assert at.translation == (4.0, 0.0, 0.0)
    assert end.link_from_body == IDENTITY_POSE
    (held,) = [plan for plan in articulation.joints if plan.joint.node == joint]
    assert held.frame_a.link_from_frame.translation == (2.0, 0.0, 0.0)
    assert held.frame_b.link_from_frame.translation == (-1.0, 0.0, 0.0)


def test_links_come_depth_first_whatever_the_order_of_joints(diagnostics: Diagnostics) -> None:
    world = JointedBodies(*((float(k), 0.0, 0.0) for k in range(6)))
    for a, b in ((3, 4), (0, 1), (1, 5), (0, 3), (1, 2)):
        world.join(a, b, (0.5 * (a + b), 0, 0), HINGE_Y)
    multibody = world.plan(diagnostics).articulations[0].multibodies[0]
    parents = [link.parent for link in multibody.spec.links]
    assert depth_first_order(parents) == list(range(len(parents)))
    assert sorted(node for node, _ in multibody.bodies) == list(range(6))


def test_two_chains_on_the_world_are_two_articulations(diagnostics: Diagnostics) -> None:
    world = JointedBodies((0.0, 0.0, 0.0), (5.0, 0.0, 0.0))
    world.join(-1, 0, (0, 0, 0), HINGE_Y)
    world.join(-1, 1, (5, 0, 0), HINGE_Y)
    plans = world.plan(diagnostics)
    assert [articulation.multibodies[0].anchor for articulation in plans.articulations] == [
        WORLD,
        WORLD,
    ]


def test_static_bodies_are_fixed_bases_and_kinematic_ones_moving_anchors(
    diagnostics: Diagnostics,
) -> None:
    world = JointedBodies(
        *((float(k), 0.0, 0.0) for k in range(4)),
        kinds={0: MotionKind.STATIC, 2: MotionKind.KINEMATIC},
    )
    world.join(0, 1, (0.5, 0, 0), HINGE_Y)
    world.join(2, 3, (2.5, 0, 0), HINGE_Y)
    plans = world.plan(diagnostics)
    roots = [articulation.multibodies[0] for articulation in plans.articulations]
    assert [(root.anchor, root.root_node) for root in roots] == [(-2, 0), (2, -1)]
    assert plans.moving_anchors == {2}
    assert plans.excluded_pairs == {(0, 1), (2, 3)}


def test_an_animated_attachment_node_is_an_anchor_of_its_own(diagnostics: Diagnostics) -> None:
    world = JointedBodies((1.0, 0.0, 0.0))
    node = world.join(-1, 0, (0, 0, 0), HINGE_Y)
    plans = world.plan(diagnostics, moving=[node])
    assert plans.moving_anchors == {node}
    assert plans.articulations[0].multibodies[0].anchor == node
    assert plans.excluded_static_pairs == {(0, node)}


def test_a_loop_is_cut_at_the_undriven_ball(diagnostics: Diagnostics) -> None:
    world = JointedBodies((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0))
    ball = world.join(0, 1, (0.5, 0, 0), (POINT,))
    for a, b in ((1, 2), (2, 0)):
        world.join(a, b, (0.5 * (a + b), 0, 0), HINGE_Y)
    articulation = world.plan(diagnostics).articulations[0]
    assert [loop_constraint.kind for loop_constraint in articulation.loop_constraints] == [
        LoopConstraintKind.POINT
    ]
    assert articulation.joints[articulation.loop_constraints[0].joint].joint.node == ball
    diagnostics.take(JOINT_LOOP_CLOSED)


def test_a_loop_of_hinges_is_welded_and_a_rope_between_two_trees_is_a_force(
    diagnostics: Diagnostics,
) -> None:
    world = JointedBodies((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    world.join(-1, 0, (0, 0, 0), HINGE_Y)
    world.join(0, 1, (0.5, 0, 0), HINGE_Y)
    world.join(1, -1, (1, 0, 0), HINGE_Y)
    world.join(0, -1, (0, 0, 0), (limit(LINEAR, 0, 1, 2, high=3.0),), at_b=(0, 0, 2))
    articulation = world.plan(diagnostics).articulations[0]
    kinds = sorted(loop_constraint.kind.value for loop_constraint in articulation.loop_constraints)
    assert kinds == ["element", "weld"]
    diagnostics.take(JOINT_LOOP_CLOSED)


def test_bodies_that_only_ropes_connect_are_no_links_of_each_other(
    diagnostics: Diagnostics,
) -> None:
    """A chain would measure the one in axes that turn with the other."""
    rope = (limit(LINEAR, 0, 1, 2, high=3.0), limit(ANGULAR, 0, low=-1.0, high=1.0))
    world = JointedBodies(*((float(k), 0.0, 0.0) for k in range(4)), kinds={0: MotionKind.STATIC})
    world.join(0, 1, (0.5, 0, 0), rope)
    world.join(2, 1, (1.5, 0, 0), rope)
    world.join(3, 2, (2.5, 0, 0), HINGE_Y)
    articulation = world.plan(diagnostics).articulations[0]
    assert [dict(multibody.bodies).keys() for multibody in articulation.multibodies] == [
        {0},
        {1},
        {2, 3},
    ]
    assert [dof.dof.kind for dof in articulation.dofs] == [ANGULAR]
    kinds = [constraint.kind for constraint in articulation.loop_constraints]
    assert kinds == [LoopConstraintKind.ELEMENT] * 2


def test_a_driven_free_joint_keeps_the_axes_that_are_commanded(diagnostics: Diagnostics) -> None:
    world = JointedBodies((0.0, 0.0, 0.0))
    motor = JointDrive(kind=LINEAR, axis=0, mode=DriveMode.FORCE, damping=1.0)
    world.join(-1, 0, (0, 0, 0), (limit(LINEAR, 0, 1, 2, high=3.0),), (motor,))
    articulation = world.plan(diagnostics).articulations[0]
    assert [dof.dof.axis for dof in articulation.dofs] == [0, 1, 2, BALL]


def test_a_long_rope_is_cut_into_multibodies_within_the_engine_limits(
    diagnostics: Diagnostics,
) -> None:
    count = 200
    world = JointedBodies(*((0.1 * k, 0.0, 0.0) for k in range(count)))
    for k in range(count):
        world.join(k - 1, k, (0.1 * k - 0.05, 0, 0), (POINT,))
    plans = world.plan(diagnostics)
    for articulation in plans.articulations:
        spec = articulation.multibodies[0].spec
        balls = sum(link.joint is LinkJoint.SPHERICAL for link in spec.links)
        assert len(spec.links) <= 127
        assert 7 + 4 * balls <= 128
    assert len(plans.cut_constraints) == len(plans.articulations) - 1
    assert len(plans.jointed_bodies) == count
    for _ in plans.cut_constraints:
        diagnostics.take(JOINT_TREE_SPLIT)


def test_joints_without_meaning_are_ignored(diagnostics: Diagnostics) -> None:
    """The reader has reported the first two: JOINT_WITHIN_BODY, JOINT_MOVES_NOTHING."""
    world = JointedBodies((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    world.join(0, 0, (0, 0, 0), WELD)
    world.join(-1, -1, (0, 0, 0), WELD)
    world.join(0, 1, (0, 0, 0))
    plans = world.plan(diagnostics)
    assert not plans.articulations
    diagnostics.take(JOINT_WITHOUT_EFFECT)


def test_a_jointed_body_says_which_collider_groups_found_no_link(diagnostics: Diagnostics) -> None:
    """The first group is on the body's own link; of the others half a multibody's links."""
    world = JointedBodies((0.0, 0.0, 0.0))
    world.groups[0] = (ColliderGroup(shapes=(), collider_nodes=()),) * 80
    world.join(-1, 0, (0, 0, 0), HINGE_Y)
    world.plan(diagnostics)
    issue = diagnostics.take(BODY_HAS_TOO_MANY_GROUPS)
    assert str(issue.pointer) == "/nodes/0"
    assert (issue.values["groups"], issue.values["kept"]) == (79, MULTIBODY_GROUPS)


def test_enable_collision_keeps_the_pair(diagnostics: Diagnostics) -> None:
    world = JointedBodies((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    world.join(0, 1, (0.5, 0, 0), HINGE_Y, enable_collision=True)
    assert not world.plan(diagnostics).excluded_pairs
