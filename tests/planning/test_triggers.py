"""Triggers as plans: volumes, compounds, what may be sensed; no engine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import (
    Box,
    Capsule,
    Collider,
    CollisionFilter,
    Cylinder,
    MeshShape,
    Motion,
    MotionKind,
    PhysicsScene,
    Plane,
    Shape,
    Sphere,
    Trigger,
)
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.bodies import plan_bodies
from gltf_bullet.planning.shapes.planner import ROUND_SHAPE_APPROXIMATED, ShapePlanner
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    CapsulePlan,
    ConvexPartsPlan,
    HullPlan,
    InfinitePlanePlan,
    SpherePlan,
    TriangleSet,
)
from gltf_bullet.planning.triggers import (
    SHEET_THICKNESS,
    TRIGGER_AS_HULL,
    TRIGGER_DECOMPOSED,
    TRIGGER_PLANE,
    TriggerPlans,
    plan_triggers,
)
from gltf_bullet.scene import NodeFrames, NodeTree

UNIT = Box(size=(1.0, 1.0, 1.0))
MESH = MeshShape(parts=(), convex_hull=False)

# An L: two unit boxes side by side with one on top, as one closed concave surface.
_OUTLINE = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float)
_CAP = np.array([[0, 1, 3], [1, 2, 3], [0, 3, 5], [3, 4, 5]])


def ell() -> TriangleSet:
    low = np.column_stack([_OUTLINE, np.zeros(6)])
    high = np.column_stack([_OUTLINE, np.ones(6)])
    sides = [
        triangle
        for k in range(6)
        for triangle in ([k, (k + 1) % 6, k + 6], [(k + 1) % 6, (k + 1) % 6 + 6, k + 6])
    ]
    return TriangleSet(
        np.concatenate([low, high]), np.concatenate([_CAP[:, ::-1], _CAP + 6, sides])
    )


def plan(
    diagnostics: Diagnostics,
    physics: PhysicsScene,
    parents: list[int],
    *,
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0),
    options: LoadOptions | None = None,
    moving: tuple[int, ...] = (),
) -> TriggerPlans:
    count = len(parents)
    tree = NodeTree.from_parents(
        names=[""] * count,
        parents=parents,
        translations=np.zeros((count, 3)),
        rotations_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
        scales=[scale, *[(1.0, 1.0, 1.0)] * (count - 1)],
    )
    frames = NodeFrames.at_load(tree, np.eye(4), np.array([0.0, 0.0, 0.0, 1.0]))
    options = options or LoadOptions()

    def mesh_of(_: MeshShape) -> TriangleSet:
        return ell()

    owners = physics.motion_node_of(tree)
    bodies = plan_bodies(
        physics,
        motion_node_of=owners,
        frames=frames,
        shapes=ShapePlanner(mesh_of, options, diagnostics),
        density=1000.0,
        diagnostics=diagnostics,
    )
    return plan_triggers(
        physics,
        bodies=bodies,
        motion_node_of=owners,
        frames=frames,
        mesh_of=mesh_of,
        options=options,
        moving_nodes=moving,
        diagnostics=diagnostics,
    )


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (UNIT, BoxPlan),
        (Sphere(radius=1.0), SpherePlan),
        (Capsule(mid_height=1.0, radius_bottom=0.5, radius_top=0.5), CapsulePlan),
        (MeshShape(parts=(), convex_hull=True), HullPlan),
    ],
)
def test_convex_shapes_sense_as_they_are(
    diagnostics: Diagnostics, shape: Shape, kind: type
) -> None:
    plans = plan(diagnostics, PhysicsScene(triggers={0: Trigger(node=0, shape=shape)}), [-1])
    (volume,) = plans.volumes
    assert isinstance(volume.shape.shape, kind)
    assert (volume.trigger, volume.node, volume.owner) == (0, 0, -1)
    assert plans.nodes == (0,)


def test_tapered_shapes_sense_as_a_hull_and_say_so(diagnostics: Diagnostics) -> None:
    cone = Cylinder(height=1.0, radius_bottom=0.5, radius_top=0.0)
    plans = plan(diagnostics, PhysicsScene(triggers={0: Trigger(node=0, shape=cone)}), [-1])
    assert isinstance(plans.volumes[0].shape.shape, HullPlan)
    diagnostics.take(ROUND_SHAPE_APPROXIMATED)


@pytest.mark.parametrize("concave", ["auto", "decompose", "bvh"])
def test_a_concave_mesh_senses_as_parts_of_its_volume(
    diagnostics: Diagnostics, concave: str, tmp_path: object
) -> None:
    options = LoadOptions(concave=concave, cache_folder=str(tmp_path))  # type: ignore[arg-type]
    scene = PhysicsScene(triggers={0: Trigger(node=0, shape=MESH)})
    plans = plan(diagnostics, scene, [-1], options=options)
    shape = plans.volumes[0].shape.shape
    assert isinstance(shape, ConvexPartsPlan)
    assert len(shape.parts) >= 2
    assert diagnostics.take(TRIGGER_DECOMPOSED).values["ratio"] == pytest.approx(1.0, abs=0.05)


def test_a_concave_mesh_senses_as_its_hull_where_asked(diagnostics: Diagnostics) -> None:
    scene = PhysicsScene(triggers={0: Trigger(node=0, shape=MESH)})
    plans = plan(diagnostics, scene, [-1], options=LoadOptions(concave="hull"))
    assert isinstance(plans.volumes[0].shape.shape, HullPlan)
    # The L has 3 of the 3.5 square metres of its hull.
    assert diagnostics.take(TRIGGER_AS_HULL).values["ratio"] == pytest.approx(3.5 / 3.0)


def test_an_infinite_plane_senses_the_half_space_below(diagnostics: Diagnostics) -> None:
    plane = Plane(size_x=math.inf, size_z=math.inf, double_sided=False)
    plans = plan(diagnostics, PhysicsScene(triggers={0: Trigger(node=0, shape=plane)}), [-1])
    assert isinstance(plans.volumes[0].shape.shape, InfinitePlanePlan)
    assert "below" in diagnostics.take(TRIGGER_PLANE).message


@pytest.mark.parametrize("scale", [(1.0, -1.0, 1.0), (-1.0, 1.0, 1.0), (-2.0, -1.0, -3.0)])
def test_no_negative_scale_turns_a_plane_over(
    diagnostics: Diagnostics, scale: tuple[float, float, float]
) -> None:
    plane = Plane(size_x=math.inf, size_z=math.inf, double_sided=False)
    scene = PhysicsScene(triggers={0: Trigger(node=0, shape=plane)})
    (volume,) = plan(diagnostics, scene, [-1], scale=scale).volumes
    assert volume.shape.body_from_shape.rotate((0.0, 1.0, 0.0)) == pytest.approx((0, 1, 0))
    diagnostics.take(TRIGGER_PLANE)


@pytest.mark.parametrize(
    ("plane", "half"),
    [
        (Plane(size_x=2.0, size_z=4.0, double_sided=False), (2.0, 6.0)),
        (Plane(size_x=math.inf, size_z=math.inf, double_sided=True), (2000.0, 3000.0)),
    ],
)
def test_a_plane_with_edges_or_two_sides_senses_in_a_sheet(
    diagnostics: Diagnostics, plane: Plane, half: tuple[float, float]
) -> None:
    scene = PhysicsScene(triggers={0: Trigger(node=0, shape=plane)})
    plans = plan(diagnostics, scene, [-1], scale=(2.0, 5.0, 3.0))
    shape = plans.volumes[0].shape.shape
    assert isinstance(shape, BoxPlan)
    assert sorted(shape.half_extents) == pytest.approx([0.5 * SHEET_THICKNESS, *half])
    assert "sheet" in diagnostics.take(TRIGGER_PLANE).message


@pytest.mark.parametrize("height", [0.0, -1.0, 7.0])
def test_the_scale_across_a_plane_changes_nothing(diagnostics: Diagnostics, height: float) -> None:
    plane = Plane(size_x=1.0, size_z=1.0, double_sided=False)
    scene = PhysicsScene(triggers={0: Trigger(node=0, shape=plane)})
    shape = plan(diagnostics, scene, [-1], scale=(1.0, height, 1.0)).volumes[0].shape.shape
    assert isinstance(shape, BoxPlan)
    assert sorted(shape.half_extents) == pytest.approx([0.5 * SHEET_THICKNESS, 0.5, 0.5])
    diagnostics.take(TRIGGER_PLANE)


def test_parts_report_as_their_compound_with_filters_of_their_own(
    diagnostics: Diagnostics,
) -> None:
    red = CollisionFilter(systems=frozenset({"red"}))
    scene = PhysicsScene(
        triggers={
            0: Trigger(node=0, part_nodes=(1, 2)),
            1: Trigger(node=1, shape=UNIT, filter=red),
            2: Trigger(node=2, part_nodes=(3,)),
            3: Trigger(node=3, shape=UNIT),
            4: Trigger(node=4, shape=UNIT),
        }
    )
    plans = plan(diagnostics, scene, [-1, 0, 0, 2, -1])
    assert plans.nodes == (0, 4)
    assert [(v.trigger, v.node, v.filter) for v in plans.volumes] == [
        (0, 1, red),
        (0, 3, None),
        (4, 4, None),
    ]
    assert [v.node for v in plans.volumes_by_node[2]] == [3]


def test_compounds_that_hold_each_other_end(diagnostics: Diagnostics) -> None:
    scene = PhysicsScene(
        triggers={0: Trigger(node=0, part_nodes=(1,)), 1: Trigger(node=1, part_nodes=(0,))}
    )
    assert plan(diagnostics, scene, [-1, 0]).volumes == ()


def test_sensed_are_colliders_that_can_move_and_that_some_filter_admits(
    diagnostics: Diagnostics,
) -> None:
    wants = CollisionFilter(collide_with=frozenset({"red"}))
    red = CollisionFilter(systems=frozenset({"red"}))
    blue = CollisionFilter(systems=frozenset({"blue"}))

    def collider(node: int, filter_: CollisionFilter | None = None) -> Collider:
        return Collider(node=node, shape=UNIT, filter=filter_)

    scene = PhysicsScene(
        motions={
            1: Motion(kind=MotionKind.DYNAMIC),
            2: Motion(kind=MotionKind.KINEMATIC),
            3: Motion(kind=MotionKind.STATIC),
            4: Motion(kind=MotionKind.DYNAMIC),
        },
        colliders={
            1: collider(1, red),
            2: collider(2),
            3: collider(3, red),
            4: collider(4, blue),
            5: collider(5, red),
            6: collider(6, red),
        },
        triggers={0: Trigger(node=0, shape=UNIT, filter=wants)},
    )
    plans = plan(diagnostics, scene, [-1] * 7, moving=(5,))
    assert [(c.node, c.owner) for c in plans.colliders] == [(1, 1), (2, 2), (5, -1)]


def test_the_bodies_of_a_part_and_of_its_compound_are_its_own(diagnostics: Diagnostics) -> None:
    scene = PhysicsScene(
        motions={
            0: Motion(kind=MotionKind.KINEMATIC),
            1: Motion(kind=MotionKind.KINEMATIC),
        },
        triggers={0: Trigger(node=0, part_nodes=(2,)), 2: Trigger(node=2, shape=UNIT)},
    )
    (volume,) = plan(diagnostics, scene, [-1, 0, 1]).volumes
    assert (volume.owner, volume.own_bodies) == (1, frozenset({0, 1}))
