"""MSFT_RigidBodies and MSFT_CollisionPrimitives, in both spellings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.dialects.joints import (
    LIMIT_BOTH_AXES,
    LIMIT_ONE_SIDED,
    LIMIT_WITHOUT_RANGE_LOCKED,
)
from gltf_bullet.dialects.motions import INERTIA_NEGATIVE, TENSOR_NOT_SYMMETRIC
from gltf_bullet.dialects.msft.camel_rigid_bodies import (
    CAPSULE_HEIGHT_LOOSE,
    COLLIDER_TWICE,
    COLLIDER_TYPE_UNCLEAR,
    MATERIAL_WITHOUT_COLLIDER,
    SIZE_MISSING,
)
from gltf_bullet.dialects.reading import LIST_EMPTY
from gltf_bullet.gltf.fields import (
    ABSENCE_MENDED,
    INDEX_MEANS_NONE,
    REFERENCE_MISSING,
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
    PhysicsScene,
    Shape,
    Sphere,
)
from gltf_bullet.records import replace
from gltf_bullet.transforms import matrices_from_quats

Read = Callable[..., PhysicsScene]
Json = dict[str, Any]

UNIT_BOX = {"box": {"size": [1, 1, 1]}}


def camel(read: Read, nodes: list[Json], *colliders: Json, **tables: Any) -> PhysicsScene:
    roots = {"MSFT_RigidBodies": tables, "MSFT_CollisionPrimitives": {"colliders": [*colliders]}}
    return read(nodes, roots)


def on_node(**properties: Any) -> Json:
    return {"extensions": {"MSFT_RigidBodies": properties}}


# --- the spelling of the text -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("collider", "expected"),
    [
        (UNIT_BOX, Box(size=(1.0, 1.0, 1.0))),
        ({"sphere": {"radius": 2}}, Sphere(radius=2.0)),
        (
            {"cylinder": {"height": 3, "radius": 2}},
            Cylinder(height=3.0, radius_bottom=2.0, radius_top=2.0),
        ),
        ({"convex": {"mesh": 1}}, MeshShape(parts=(MeshPart(mesh=1),), convex_hull=True)),
        ({"trimesh": {"mesh": 1}}, MeshShape(parts=(MeshPart(mesh=1),), convex_hull=False)),
    ],
)
def test_the_key_of_a_collider_is_its_type(read: Read, collider: Json, expected: Shape) -> None:
    scene = camel(read, [on_node(collider=0)], collider)
    assert scene.triggers[0].shape == expected


def test_a_capsule_is_read_between_its_cap_centres_with_a_warning(
    read: Read, diagnostics: Diagnostics
) -> None:
    scene = camel(read, [on_node(collider=0)], {"capsule": {"height": 2, "radius": 1}})
    assert scene.triggers[0].shape == Capsule(mid_height=2.0, radius_bottom=1.0, radius_top=1.0)
    assert diagnostics.take(CAPSULE_HEIGHT_LOOSE)


def test_sizes_that_are_left_out_have_defaults_and_a_warning(
    read: Read, diagnostics: Diagnostics
) -> None:
    scene = camel(read, [on_node(collider=0)], {"cylinder": {}})
    assert scene.triggers[0].shape == Cylinder(height=0.5, radius_bottom=0.25, radius_top=0.25)
    missing = [diagnostics.take(SIZE_MISSING).values["key"] for _ in range(2)]
    assert missing == ["height", "radius"]


@pytest.mark.parametrize("collider", [{}, {**UNIT_BOX, "sphere": {"radius": 1}}])
def test_a_collider_has_exactly_one_type(
    read: Read, diagnostics: Diagnostics, collider: Json
) -> None:
    assert not camel(read, [on_node(collider=0)], collider).triggers
    assert diagnostics.take(COLLIDER_TYPE_UNCLEAR)


PLACES: list[Json] = [
    {"extensions": {"MSFT_CollisionPrimitives": {"collider": 0}}},
    on_node(collider=0),
    on_node(collider={"collider": 0}),
]


@pytest.mark.parametrize("node", PLACES)
def test_without_a_material_a_collider_is_a_trigger(read: Read, node: Json) -> None:
    scene = camel(read, [node], UNIT_BOX)
    assert scene.triggers[0].shape == Box(size=(1.0, 1.0, 1.0))
    assert not scene.colliders


SOLID_PLACES: list[Json] = [
    {
        "extensions": {
            "MSFT_CollisionPrimitives": {"collider": 0},
            "MSFT_RigidBodies": {"physicsMaterial": 0},
        }
    },
    on_node(collider=0, physicsMaterial=0),
    on_node(collider={"collider": 0, "physicsMaterial": 0}),
    on_node(collider={"collider": 0}, physicsMaterial=0),
]


@pytest.mark.parametrize("node", SOLID_PLACES)
def test_with_a_material_a_collider_is_solid(read: Read, node: Json) -> None:
    material = {"frictionCombine": "MINIMUM"}
    scene = camel(read, [node], UNIT_BOX, physicsMaterials=[material])
    assert not scene.triggers
    found = scene.colliders[0].material
    assert found is not None
    assert found.friction_combine is CombineMode.MINIMUM
    assert found.restitution_combine is None


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        (SOLID_PLACES[0]["extensions"], None),
        (on_node(physicsMaterial=0), MATERIAL_WITHOUT_COLLIDER),
        (on_node(collider=1), REFERENCE_MISSING),
        (on_node(collider={}), ABSENCE_MENDED),
        (on_node(collider="x"), TYPE_MENDED),
        ({"extensions": {"MSFT_CollisionPrimitives": {}}}, ABSENCE_MENDED),
        (
            {
                "extensions": {
                    "MSFT_CollisionPrimitives": {"collider": 0},
                    "MSFT_RigidBodies": {"collider": 0},
                }
            },
            COLLIDER_TWICE,
        ),
    ],
)
def test_a_doubtful_use_of_a_collider_is_reported(
    read: Read, diagnostics: Diagnostics, node: Json, kind: IssueKind | None
) -> None:
    camel(read, [node if kind else {}], UNIT_BOX, physicsMaterials=[{}])
    assert kind is None or diagnostics.take(kind)


@pytest.mark.parametrize("key", ["collisionSystem", "collisionSystems"])
def test_the_filter_stands_on_the_collider(read: Read, key: str) -> None:
    collider = {**UNIT_BOX, key: ["a"], "notCollideWithSystems": ["b"]}
    scene = camel(read, [on_node(collider=0)], collider)
    assert scene.triggers[0].filter == CollisionFilter(
        systems=frozenset("a"), not_collide_with=frozenset("b")
    )


def test_a_body_has_one_kilogram_at_the_node(read: Read) -> None:
    assert read_body(read, {}) == Motion(mass=1.0, center_of_mass=(0.0, 0.0, 0.0))


def read_body(read: Read, body: Json) -> Motion:
    return read([on_node(rigidBody=body)]).motions[0]


def test_every_property_of_a_body_is_read(read: Read) -> None:
    body = {
        "isKinematic": True,
        "mass": 2,
        "centerOfMass": [1, 2, 3],
        "inertiaTensor": [4, 0, 0, 0, 5, 0, 0, 0, 6],
        "linearVelocity": [7, 8, 9],
        "angularVelocity": [10, 11, 12],
        "gravityFactor": 0.5,
    }
    assert read_body(read, body) == Motion(
        kind=MotionKind.KINEMATIC,
        mass=2.0,
        center_of_mass=(1.0, 2.0, 3.0),
        inertia_diagonal=(4.0, 5.0, 6.0),
        linear_velocity=(7.0, 8.0, 9.0),
        angular_velocity=(10.0, 11.0, 12.0),
        gravity_factor=0.5,
    )


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_a_tensor_is_the_product_of_its_axes_and_moments(read: Read, scale: float) -> None:
    tensor = scale * np.array([[3.0, 1.0, 0.5], [1.0, 4.0, -0.25], [0.5, -0.25, 5.0]])
    motion = read_body(read, {"inertiaTensor": tensor.ravel().tolist()})
    assert motion.inertia_diagonal is not None
    rotation = matrices_from_quats(np.array(motion.inertia_orientation_xyzw))
    rebuilt = rotation @ np.diag(motion.inertia_diagonal) @ rotation.T
    assert rebuilt == pytest.approx(tensor, rel=1e-9, abs=1e-12 * scale)


def test_a_zero_moment_is_infinite(read: Read) -> None:
    motion = read_body(read, {"inertiaTensor": [1, 0, 0, 0, 0, 0, 0, 0, 2], "mass": 0})
    assert motion.inertia_diagonal == (1.0, math.inf, 2.0)
    assert motion.mass == math.inf


@pytest.mark.parametrize(
    ("tensor", "kind"),
    [
        ([1, 0, 0, 0, 1, 0, 0, 0], TYPE_MENDED),
        ([1, 0.5, 0, 0, 1, 0, 0, 0, 1], TENSOR_NOT_SYMMETRIC),
        ([1, 2, 0, 2, 1, 0, 0, 0, 1], INERTIA_NEGATIVE),
    ],
)
def test_a_wrong_tensor_is_reported(
    read: Read, diagnostics: Diagnostics, tensor: list[float], kind: IssueKind
) -> None:
    read_body(read, {"inertiaTensor": tensor})
    assert diagnostics.take(kind).pointer.endswith("/rigidBody/inertiaTensor")


# --- joints of both spellings -------------------------------------------------------------------

LIMIT = {"linearAxes": [0], "min": -1, "max": 1, "springConstant": 2, "springDamping": 3}
EXPECTED = JointLimit(
    kind=DofKind.LINEAR, axes=(0,), minimum=-1.0, maximum=1.0, stiffness=2.0, damping=3.0
)


def read_limits(read: Read, entry: Any, *, later: bool = False) -> tuple[JointLimit, ...]:
    name = "MSFT_rigid_bodies" if later else "MSFT_RigidBodies"
    body = "motion" if later else "rigidBody"
    node = {"extensions": {name: {body: {}, "joint": {"jointLimits": 0}}}}
    scene = read([node], {name: {"physicsJointLimits": [entry]}})
    assert scene.joints[0].connected_node is None
    return scene.joints[0].description.limits


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("entry", [LIMIT, {"limits": [LIMIT]}, {"constraints": [LIMIT]}, [LIMIT]])
def test_a_joint_keeps_its_limits_in_one_of_four_places(
    read: Read, entry: Any, later: bool
) -> None:
    assert read_limits(read, entry, later=later) == (EXPECTED,)


def test_without_a_range_an_axis_is_locked_at_zero(read: Read, diagnostics: Diagnostics) -> None:
    (limit,) = read_limits(read, {"angularAxes": [1]})
    assert (limit.minimum, limit.maximum, limit.stiffness) == (0.0, 0.0, math.inf)
    assert diagnostics.take(LIMIT_WITHOUT_RANGE_LOCKED)


def test_with_one_side_of_a_range_the_other_is_open(read: Read, diagnostics: Diagnostics) -> None:
    (limit,) = read_limits(read, {"angularAxes": [1], "max": 1})
    assert (limit.minimum, limit.maximum) == (-math.inf, 1.0)
    assert diagnostics.take(LIMIT_ONE_SIDED)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"limits": []}, LIST_EMPTY),
        ([1], TYPE_MENDED),
        (1, TYPE_MENDED),
    ],
)
def test_a_wrong_entry_is_reported(
    read: Read, diagnostics: Diagnostics, entry: Any, kind: IssueKind
) -> None:
    assert not read_limits(read, entry)
    assert diagnostics.take(kind)


def test_both_lists_of_a_limit_count(read: Read, diagnostics: Diagnostics) -> None:
    linear, angular = read_limits(read, LIMIT | {"angularAxes": [0]})
    assert linear == EXPECTED
    assert angular == replace(EXPECTED, kind=DofKind.ANGULAR)
    assert diagnostics.take(LIMIT_BOTH_AXES)


@pytest.mark.parametrize(
    ("node", "kind", "joints"),
    [(-1, INDEX_MEANS_NONE, {0: None}), (7, REFERENCE_MISSING, {})],
)
def test_minus_one_connects_with_the_world(
    read: Read, diagnostics: Diagnostics, node: int, kind: IssueKind, joints: Json
) -> None:
    """Without a connected node the joint holds on to "a fixed point in space" (004)."""
    nodes = [on_node(rigidBody={}, joint={"connectedNode": node, "jointLimits": 0})]
    scene = read(nodes, {"MSFT_RigidBodies": {"physicsJointLimits": [LIMIT]}})
    assert {index: joint.connected_node for index, joint in scene.joints.items()} == joints
    assert diagnostics.take(kind)


@pytest.mark.parametrize(
    ("material", "kind", "is_solid"),
    [(-1, INDEX_MEANS_NONE, False), (7, REFERENCE_MISSING, True)],
)
def test_a_material_that_is_not_there_is_one_and_minus_one_is_none(
    read: Read, diagnostics: Diagnostics, material: int, kind: IssueKind, is_solid: bool
) -> None:
    roots = {"MSFT_CollisionPrimitives": {"colliders": [{"box": {"size": [1, 1, 1]}}]}}
    scene = read([on_node(collider=0, physicsMaterial=material)], roots)
    assert (0 in scene.colliders, 0 in scene.triggers) == (is_solid, not is_solid)
    assert diagnostics.take(kind)


def test_a_joint_has_a_connected_node_and_a_switch(read: Read) -> None:
    joint = {"connectedNode": 1, "jointLimits": 0, "enableCollision": True}
    nodes = [on_node(rigidBody={}, joint=joint), {}]
    scene = read(nodes, {"MSFT_RigidBodies": {"physicsJointLimits": [LIMIT]}})
    assert scene.joints[0].connected_node == 1
    assert scene.joints[0].enable_collision


# --- the later spelling -------------------------------------------------------------------------


def test_the_later_spelling_has_types_filters_and_triggers(read: Read) -> None:
    roots = {
        "MSFT_collision_primitives": {
            "colliders": [
                {"type": "box", "box": {"size": [1, 2, 0]}},
                {"type": "capsule", "capsule": {"height": 0, "radiusTop": 2}},
            ]
        },
        "MSFT_rigid_bodies": {
            "physicsMaterials": [{"restitutionCombine": "MULTIPLY"}],
            "collisionFilters": [{"collisionSystems": ["a"]}],
        },
    }
    solid = {"collider": 0, "physicsMaterial": 0, "collisionFilter": 0}
    trigger = {"collider": 1, "collisionFilter": 0}
    node = {"extensions": {"MSFT_rigid_bodies": {"collider": solid, "trigger": trigger}}}
    scene = read([node], roots)
    collider = scene.colliders[0]
    assert collider.shape == Box(size=(1.0, 2.0, 0.0))
    assert collider.material is not None
    assert collider.material.restitution_combine is CombineMode.MULTIPLY
    assert collider.filter == CollisionFilter(systems=frozenset("a"))
    assert scene.triggers[0].filter == collider.filter
    assert scene.triggers[0].shape == Capsule(mid_height=0.0, radius_bottom=0.25, radius_top=2.0)


def test_the_later_motion_derives_its_mass_and_sits_at_the_node(read: Read) -> None:
    node = {"extensions": {"MSFT_rigid_bodies": {"motion": {"inertiaDiagonal": [0, 1, 1]}}}}
    assert read([node]).motions[0] == Motion(
        mass=None, center_of_mass=(0.0, 0.0, 0.0), inertia_diagonal=(math.inf, 1.0, 1.0)
    )
