"""OMI_physics_body, OMI_physics_shape and OMI_physics_joint."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.dialects.joints import DRIVE_GAIN_UNUSED, LIMIT_WITHOUT_AXES
from gltf_bullet.dialects.motions import INERTIA_NEGATIVE, MASS_NEGATIVE
from gltf_bullet.dialects.omi.physics_body import (
    BODY_IN_OLDER_FORM,
    COLLIDER_WITHOUT_SHAPE,
    INERTIA_PARTLY_ZERO,
    MOTION_TYPE_MISSING,
    MOTION_TYPE_UNKNOWN,
)
from gltf_bullet.dialects.omi.physics_joint import LEGACY_JOINT_PLACE
from gltf_bullet.dialects.omi.physics_shape import LEGACY_RADIUS
from gltf_bullet.dialects.reading import UNKNOWN_PROPERTY
from gltf_bullet.dialects.references import (
    TRIGGER_ADOPTS_DESCENDANTS,
    TRIGGER_EMPTY,
)
from gltf_bullet.dialects.shape_table import SHAPE_BLOCK_MISSING, SHAPE_IN_OTHER_FORM
from gltf_bullet.dialects.triggers import TRIGGER_SHAPE_AND_NODES
from gltf_bullet.gltf.fields import (
    TYPE_MENDED,
)
from gltf_bullet.model import (
    Box,
    Capsule,
    CollisionFilter,
    CombineMode,
    Cylinder,
    DofKind,
    JointLimit,
    MeshPart,
    MeshShape,
    Motion,
    MotionKind,
    PhysicsMaterial,
    PhysicsScene,
    Shape,
    Sphere,
)

Read = Callable[..., PhysicsScene]
Json = dict[str, Any]

BOX = {"OMI_physics_shape": {"shapes": [{"type": "box", "box": {}}]}}
NODE = "/nodes/0/extensions/OMI_physics_body"


def body(*, children: list[int] | None = None, **properties: Any) -> Json:
    node: Json = {"extensions": {"OMI_physics_body": properties}}
    return node | ({"children": children} if children else {})


# --- shapes -------------------------------------------------------------------------------------


def read_shape(read: Read, shape: Json) -> Shape:
    return (
        read([body(collider={"shape": 0})], {"OMI_physics_shape": {"shapes": [shape]}})
        .colliders[0]
        .shape
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("box", Box(size=(1.0, 1.0, 1.0))),
        ("sphere", Sphere(radius=0.5)),
        ("capsule", Capsule(mid_height=1.0, radius_bottom=0.5, radius_top=0.5)),
        ("cylinder", Cylinder(height=2.0, radius_bottom=0.5, radius_top=0.5)),
    ],
)
def test_omi_has_defaults_of_its_own(read: Read, kind: str, expected: Shape) -> None:
    assert read_shape(read, {"type": kind, kind: {}}) == expected


def test_capsule_height_is_the_mid_height(read: Read) -> None:
    capsule = {"height": 3, "radiusBottom": 1, "radiusTop": 2}
    assert read_shape(read, {"type": "capsule", "capsule": capsule}) == Capsule(
        mid_height=3.0, radius_bottom=1.0, radius_top=2.0
    )


def test_with_the_older_key_radius_the_height_is_the_total_height(
    read: Read, diagnostics: Diagnostics
) -> None:
    shape = read_shape(read, {"type": "capsule", "capsule": {"height": 3, "radius": 1}})
    assert shape == Capsule(mid_height=3.0 - 2 * 1.0, radius_bottom=1.0, radius_top=1.0)
    assert diagnostics.take(LEGACY_RADIUS)


def test_the_older_key_radius_on_a_cylinder(read: Read, diagnostics: Diagnostics) -> None:
    shape = read_shape(read, {"type": "cylinder", "cylinder": {"radius": 1}})
    assert shape == Cylinder(height=2.0, radius_bottom=1.0, radius_top=1.0)
    assert diagnostics.take(LEGACY_RADIUS)


@pytest.mark.parametrize(("kind", "hull"), [("convex", True), ("trimesh", False)])
def test_meshes_by_type(read: Read, kind: str, hull: bool) -> None:
    expected = MeshShape(parts=(MeshPart(mesh=1),), convex_hull=hull)
    assert read_shape(read, {"type": kind, kind: {"mesh": 1}}) == expected


def test_a_shape_without_its_block_has_the_defaults(read: Read, diagnostics: Diagnostics) -> None:
    assert read_shape(read, {"type": "sphere"}) == Sphere(radius=0.5)
    assert diagnostics.take(SHAPE_BLOCK_MISSING)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "box", "size": [1, 2, 3]},
        {"type": "sphere", "radius": 2},
        {"type": "capsule", "height": 3, "radius": 1},
        {"type": "cylinder", "height": 3, "radius": 1},
        {"type": "hull", "mesh": 1},
        {"type": "trimesh", "mesh": 1},
    ],
)
def test_sizes_beside_the_type_are_those_of_omi_collider(
    read: Read, diagnostics: Diagnostics, fields: Json
) -> None:
    expected = (
        read(
            [{"extensions": {"OMI_collider": {"collider": 0}}}],
            {"OMI_collider": {"colliders": [fields]}},
        )
        .colliders[0]
        .shape
    )
    assert read_shape(read, fields) == expected
    if fields["type"] in ("capsule", "cylinder"):
        diagnostics.take(LEGACY_RADIUS)
    diagnostics.take(SHAPE_IN_OTHER_FORM)
    if fields["type"] == "hull":
        diagnostics.take(SHAPE_IN_OTHER_FORM)


def test_a_hull_is_a_convex(read: Read, diagnostics: Diagnostics) -> None:
    expected = MeshShape(parts=(MeshPart(mesh=1),), convex_hull=True)
    assert read_shape(read, {"type": "hull", "hull": {"mesh": 1}}) == expected
    diagnostics.take(SHAPE_IN_OTHER_FORM)


# --- bodies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(MotionKind))
def test_a_motion_has_a_type_one_kilogram_and_its_centre_at_the_node(
    read: Read, kind: MotionKind
) -> None:
    scene = read([body(motion={"type": kind.value})])
    assert scene.motions[0] == Motion(
        kind=kind, mass=1.0, center_of_mass=(0.0, 0.0, 0.0), inertia_diagonal=None
    )


def test_every_property_of_a_motion_is_read(read: Read) -> None:
    motion = {
        "type": "dynamic",
        "mass": 2,
        "centerOfMass": [1, 2, 3],
        "inertiaDiagonal": [4, 5, 6],
        "inertiaOrientation": [1, 0, 0, 0],
        "linearVelocity": [7, 8, 9],
        "angularVelocity": [10, 11, 12],
        "gravityFactor": 0.5,
    }
    assert read([body(motion=motion)]).motions[0] == Motion(
        mass=2.0,
        center_of_mass=(1.0, 2.0, 3.0),
        inertia_diagonal=(4.0, 5.0, 6.0),
        inertia_orientation_xyzw=(1.0, 0.0, 0.0, 0.0),
        linear_velocity=(7.0, 8.0, 9.0),
        angular_velocity=(10.0, 11.0, 12.0),
        gravity_factor=0.5,
    )


def test_a_zero_inertia_means_compute(read: Read) -> None:
    motion = {"type": "dynamic", "inertiaDiagonal": [0, 0, 0]}
    assert read([body(motion=motion)]).motions[0].inertia_diagonal is None


@pytest.mark.parametrize(
    ("motion", "kind", "place"),
    [
        ({}, MOTION_TYPE_MISSING, ""),
        ({"type": "character"}, MOTION_TYPE_UNKNOWN, "/type"),
        ({"type": "dynamic", "mass": -1}, MASS_NEGATIVE, "/mass"),
        ({"type": "dynamic", "inertiaDiagonal": [0, 1, 0]}, INERTIA_PARTLY_ZERO, None),
        ({"type": "dynamic", "inertiaDiagonal": [-1, 1, 1]}, INERTIA_NEGATIVE, None),
        ({"type": "dynamic", "inertiaDiagonal": [1, 1]}, TYPE_MENDED, None),
    ],
)
def test_a_wrong_motion_is_reported(
    read: Read, diagnostics: Diagnostics, motion: Json, kind: IssueKind, place: str | None
) -> None:
    read([body(motion=motion)])
    expected = "/inertiaDiagonal" if place is None else place
    assert diagnostics.take(kind).pointer == f"{NODE}/motion{expected}"


def test_an_unstated_combine_mode_is_average(read: Read) -> None:
    tables = {**BOX, "OMI_physics_body": {"physicsMaterials": [{}]}}
    scene = read([body(collider={"shape": 0, "physicsMaterial": 0})], tables)
    assert scene.colliders[0].material == PhysicsMaterial(
        friction_combine=CombineMode.AVERAGE, restitution_combine=CombineMode.AVERAGE
    )


def test_colliders_have_filters_and_minus_one_means_none(read: Read) -> None:
    tables = {
        **BOX,
        "OMI_physics_body": {"collisionFilters": [{"notCollideWithSystems": ["x"]}]},
    }
    nodes = [
        body(collider={"shape": 0, "collisionFilter": 0, "physicsMaterial": -1}),
        body(trigger={"shape": 0, "collisionFilter": -1}),
    ]
    scene = read(nodes, tables)
    assert scene.colliders[0].filter == CollisionFilter(not_collide_with=frozenset("x"))
    assert scene.colliders[0].material == PhysicsMaterial(
        friction_combine=CombineMode.AVERAGE, restitution_combine=CombineMode.AVERAGE
    )
    assert scene.triggers[1].filter is None


@pytest.mark.parametrize("collider", [{}, {"shape": -1}])
def test_a_collider_without_a_shape_is_left_out(
    read: Read, diagnostics: Diagnostics, collider: Json
) -> None:
    assert not read([body(collider=collider)], BOX).colliders
    assert diagnostics.take(COLLIDER_WITHOUT_SHAPE)


def test_a_trigger_without_a_shape_takes_the_triggers_below_it(
    read: Read, diagnostics: Diagnostics
) -> None:
    nodes = [body(children=[1], trigger={}), body(trigger={"shape": 0})]
    assert read(nodes, BOX).triggers[0].part_nodes == (1,)
    assert diagnostics.take(TRIGGER_ADOPTS_DESCENDANTS).pointer == f"{NODE}/trigger"


def test_a_trigger_with_nothing_below_it_is_left_out(read: Read, diagnostics: Diagnostics) -> None:
    assert not read([body(trigger={})], BOX).triggers
    assert diagnostics.take(TRIGGER_EMPTY).pointer == f"{NODE}/trigger"


def test_a_compound_trigger_names_its_nodes(read: Read, diagnostics: Diagnostics) -> None:
    nodes = [body(children=[1], trigger={"nodes": [1]}), body(trigger={"shape": 0})]
    assert read(nodes, BOX).triggers[0].part_nodes == (1,)
    nodes[0] = body(children=[1], trigger={"nodes": [1], "shape": 0})
    read(nodes, BOX)
    assert diagnostics.take(TRIGGER_SHAPE_AND_NODES)


# --- joints -------------------------------------------------------------------------------------


def read_joint(read: Read, description: Json) -> Any:
    joint = {"connectedNode": 1, "joint": 0, "enableCollision": True}
    nodes = [
        {
            "extensions": {
                "OMI_physics_body": {"motion": {"type": "dynamic"}},
                "OMI_physics_joint": joint,
            }
        },
        {},
    ]
    return read(nodes, {"OMI_physics_joint": {"physicsJoints": [description]}}).joints[0]


def test_a_limit_with_both_kinds_of_axes_means_two_limits(read: Read) -> None:
    limit = {"linearAxes": [0, 1, 2], "angularAxes": [1], "min": 0, "max": 0, "damping": 1}
    joint = read_joint(read, {"limits": [limit]})
    assert (joint.connected_node, joint.enable_collision) == (1, True)
    assert joint.pointer == "/nodes/0/extensions/OMI_physics_joint"
    assert joint.description.limits == tuple(
        JointLimit(kind=kind, axes=axes, minimum=0.0, maximum=0.0, damping=1.0)
        for kind, axes in ((DofKind.LINEAR, (0, 1, 2)), (DofKind.ANGULAR, (1,)))
    )


def test_an_empty_list_of_axes_limits_nothing(read: Read) -> None:
    limit = {"linearAxes": [], "angularAxes": [1], "min": 0}
    limits = read_joint(read, {"limits": [limit]}).description.limits
    assert [(entry.kind, entry.axes) for entry in limits] == [(DofKind.ANGULAR, (1,))]


@pytest.mark.parametrize("limit", [{"min": 0}, {"linearAxes": [], "angularAxes": [], "min": 0}])
def test_a_limit_needs_some_axis(read: Read, diagnostics: Diagnostics, limit: Json) -> None:
    assert not read_joint(read, {"limits": [limit]}).description.limits
    assert diagnostics.take(LIMIT_WITHOUT_AXES)


def test_a_negative_stiffness_is_rigid_and_a_negative_force_unlimited(read: Read) -> None:
    limit = {"linearAxes": [0], "min": 0, "stiffness": -1}
    drive = {"type": "linear", "mode": "force", "axis": 0, "maxForce": -1}
    joint = read_joint(read, {"limits": [limit], "drives": [drive]})
    assert joint.description.limits[0].stiffness == math.inf
    assert joint.description.drives[0].max_force == math.inf


DRIVE = {"type": "angular", "mode": "force", "axis": 0}


def test_a_spring_needs_no_velocity_target(read: Read) -> None:
    drive = DRIVE | {"positionTarget": 1, "stiffness": 2, "damping": 3}
    found = read_joint(read, {"drives": [drive]}).description.drives[0]
    assert (found.position_target, found.stiffness, found.damping) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("gain", ["stiffness", "damping"])
def test_a_gain_without_its_target_does_nothing(
    read: Read, diagnostics: Diagnostics, gain: str
) -> None:
    found = read_joint(read, {"drives": [DRIVE | {gain: 2}]}).description.drives[0]
    assert (found.stiffness, found.damping) == (0.0, 0.0)
    assert diagnostics.take(DRIVE_GAIN_UNUSED)


BODY_MOTION = {"motion": {"type": "dynamic"}}
TO_NODE_1 = {"connectedNode": 1, "joint": 0}


@pytest.mark.parametrize(
    "extensions",
    [
        {"OMI_physics_body": {**BODY_MOTION, "joint": TO_NODE_1}},
        {"OMI_physics_body": BODY_MOTION, "OMI_physics_joint": {"joint": TO_NODE_1}},
    ],
)
def test_older_files_nest_the_joint(read: Read, diagnostics: Diagnostics, extensions: Json) -> None:
    scene = read([{"extensions": extensions}, {}], {"OMI_physics_joint": {"physicsJoints": [{}]}})
    assert scene.joints[0].connected_node == 1
    assert diagnostics.take(LEGACY_JOINT_PLACE).pointer == scene.joints[0].pointer


def test_older_files_keep_the_joint_table_in_the_body_extension(
    read: Read, diagnostics: Diagnostics
) -> None:
    extensions = {"OMI_physics_body": BODY_MOTION, "OMI_physics_joint": TO_NODE_1}
    tables = {"OMI_physics_body": {"physicsJoints": [{}]}}
    assert read([{"extensions": extensions}, {}], tables).joints
    assert diagnostics.take(LEGACY_JOINT_PLACE)


# --- older forms ---------------------------------------------------------------------------------


def test_a_body_of_the_days_of_omi_collider_says_its_motion_itself(
    read: Read, diagnostics: Diagnostics
) -> None:
    tensor = [1, 0, 0, 0, 2, 0, 0, 0, 3]
    older = read([body(type="dynamic", mass=5, inertiaTensor=tensor)]).motions[0]
    diagnostics.take(BODY_IN_OLDER_FORM)
    motion = {"type": "dynamic", "mass": 5, "inertiaDiagonal": [1, 2, 3]}
    assert older == read([body(motion=motion)]).motions[0]


def test_a_body_of_the_older_form_may_hold_its_collider(
    read: Read, diagnostics: Diagnostics
) -> None:
    older = read([body(type="dynamic", mass=5, collider={"shape": 0})], BOX)
    diagnostics.take(BODY_IN_OLDER_FORM)
    newer = read([body(motion={"type": "dynamic", "mass": 5}, collider={"shape": 0})], BOX)
    assert older.motions == newer.motions
    assert older.colliders == newer.colliders


def test_an_older_tensor_of_zeros_means_compute(read: Read) -> None:
    motion = {"type": "dynamic", "inertiaTensor": [0.0] * 9}
    assert read([body(motion=motion)]).motions[0].inertia_diagonal is None


def test_an_older_tensor_beside_the_diagonal_is_said_to_be_ignored(
    read: Read, diagnostics: Diagnostics
) -> None:
    stated = {"inertiaDiagonal": [1, 2, 3], "inertiaTensor": [4, 0, 0, 0, 4, 0, 0, 0, 4]}
    motion = read([body(motion={"type": "dynamic", **stated})]).motions[0]
    assert motion.inertia_diagonal == (1, 2, 3)
    assert diagnostics.take(UNKNOWN_PROPERTY).pointer == f"{NODE}/motion/inertiaTensor"


def test_an_older_body_that_is_a_trigger_moves_nothing(
    read: Read, diagnostics: Diagnostics
) -> None:
    assert not read([body(type="trigger")]).motions
    diagnostics.take(BODY_IN_OLDER_FORM)


def test_axes_of_an_inertia_that_is_computed_are_not_asked_for(read: Read) -> None:
    motion = {"type": "dynamic", "inertiaOrientation": [0, 0, 0, 0]}
    assert read([body(motion=motion)]).motions[0].inertia_orientation_xyzw == (0, 0, 0, 1)
