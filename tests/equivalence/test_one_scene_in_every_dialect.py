"""One scene written in every dialect gives the same model, as far as each can express it.

A body with two colliders, material and filter, a trigger, a mesh collider and a hinge. Values that
the dialects default differently are stated; where a dialect cannot say something, the comparison
leaves it out and says so.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects import read_physics
from gltf_bullet.dialects.msft.camel_rigid_bodies import CAPSULE_HEIGHT_LOOSE
from gltf_bullet.gltf import read_document
from gltf_bullet.model import (
    Box,
    Capsule,
    Collider,
    CollisionFilter,
    CombineMode,
    DofKind,
    Joint,
    JointDescription,
    JointLimit,
    MeshPart,
    MeshShape,
    Motion,
    PhysicsMaterial,
    PhysicsScene,
    Sphere,
    Trigger,
)

Json = dict[str, Any]

BODY, BOX_NODE, CAPSULE_NODE, TRIGGER, GROUND, HINGE, ANCHOR = range(7)

MATERIAL = {"staticFriction": 0.9, "dynamicFriction": 0.8, "restitution": 0.25}
COMBINE = {"frictionCombine": "minimum", "restitutionCombine": "average"}
CAPITALS = {key: mode.upper() for key, mode in COMBINE.items()}
FILTER = {"collisionSystems": ["crates"], "collideWithSystems": ["ground", "crates"]}
VELOCITIES = {"linearVelocity": [1, 0, 0], "angularVelocity": [0, 2, 0], "gravityFactor": 0.5}
MOTION = {
    "mass": 2,
    "centerOfMass": [0, 0.5, 0],
    "inertiaDiagonal": [1, 2, 2.5],
    "inertiaOrientation": [0, 0, 0, 1],
} | VELOCITIES
TENSOR = [1, 0, 0, 0, 2, 0, 0, 0, 2.5]
TAPERED = {"height": 1, "radiusBottom": 0.5, "radiusTop": 0.5}
LIMITS = [
    {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
    {"angularAxes": [1, 2], "min": 0, "max": 0},
    {"angularAxes": [0], "min": -1, "max": 1, "stiffness": 100, "damping": 5},
]
SPRINGS = [
    {
        {"stiffness": "springConstant", "damping": "springDamping"}.get(key, key): value
        for key, value in limit.items()
    }
    for limit in LIMITS
]
SHAPES = [
    {"type": "box", "box": {"size": [1, 2, 3]}},
    {"type": "capsule", "capsule": TAPERED},
    {"type": "sphere", "sphere": {"radius": 2}},
]

EXPECTED = PhysicsScene(
    motions={
        BODY: Motion(
            mass=2.0,
            center_of_mass=(0.0, 0.5, 0.0),
            inertia_diagonal=(1.0, 2.0, 2.5),
            linear_velocity=(1.0, 0.0, 0.0),
            angular_velocity=(0.0, 2.0, 0.0),
            gravity_factor=0.5,
        )
    },
    colliders={
        node: Collider(
            node=node,
            shape=shape,
            material=PhysicsMaterial(
                static_friction=0.9,
                dynamic_friction=0.8,
                restitution=0.25,
                friction_combine=CombineMode.MINIMUM,
                restitution_combine=CombineMode.AVERAGE,
            ),
            filter=CollisionFilter(
                systems=frozenset(("crates",)), collide_with=frozenset(("ground", "crates"))
            ),
        )
        for node, shape in (
            (BOX_NODE, Box(size=(1.0, 2.0, 3.0))),
            (CAPSULE_NODE, Capsule(mid_height=1.0, radius_bottom=0.5, radius_top=0.5)),
            (GROUND, MeshShape(parts=(MeshPart(mesh=0),), convex_hull=True)),
        )
    },
    triggers={TRIGGER: Trigger(node=TRIGGER, shape=Sphere(radius=2.0))},
    joints={
        HINGE: Joint(
            node=HINGE,
            connected_node=ANCHOR,
            enable_collision=True,
            description=JointDescription(
                limits=(
                    JointLimit(kind=DofKind.LINEAR, axes=(0, 1, 2), minimum=0.0, maximum=0.0),
                    JointLimit(kind=DofKind.ANGULAR, axes=(1, 2), minimum=0.0, maximum=0.0),
                    JointLimit(
                        kind=DofKind.ANGULAR,
                        axes=(0,),
                        minimum=-1.0,
                        maximum=1.0,
                        stiffness=100.0,
                        damping=5.0,
                    ),
                )
            ),
        )
    },
)


def read(extension_by_node: dict[int, Json], roots: Json, sink: Diagnostics) -> PhysicsScene:
    nodes: list[Json] = [{} for _ in range(7)]
    nodes[BODY]["children"] = [BOX_NODE, CAPSULE_NODE, HINGE]
    for node, extensions in extension_by_node.items():
        nodes[node]["extensions"] = extensions
    nodes[GROUND]["mesh"] = 0
    root = {
        "asset": {"version": "2.0"},
        "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": {}}]}],
        "extensions": roots,
    }
    return read_physics(read_document(json.dumps(root).encode(), sink), sink)


JOINT = {"connectedNode": ANCHOR, "joint": 0, "enableCollision": True}
MSFT_JOINT = {"connectedNode": ANCHOR, "jointLimits": 0, "enableCollision": True}
SOLID = {"physicsMaterial": 0, "collisionFilter": 0}


def khr(ground: Json, geometries: list[Json]) -> dict[int, Json]:
    box, capsule, sphere = geometries
    properties: dict[int, Json] = {
        BODY: {"motion": MOTION},
        BOX_NODE: {"collider": box | SOLID},
        CAPSULE_NODE: {"collider": capsule | SOLID},
        TRIGGER: {"trigger": sphere},
        GROUND: {"collider": ground | SOLID},
        HINGE: {"joint": JOINT},
    }
    return {node: {"KHR_physics_rigid_bodies": value} for node, value in properties.items()}


KHR_ROOT = {
    "physicsMaterials": [MATERIAL | COMBINE],
    "collisionFilters": [FILTER],
    "physicsJoints": [{"limits": LIMITS}],
}
NEW_GEOMETRIES: list[Json] = [{"geometry": {"shape": i}} for i in range(3)]
OLD_GEOMETRIES: list[Json] = [{"shape": i} for i in range(3)]
HULL_FLAG = {"extensions": {"KHR_physics_rigid_bodies": {"convexHull": True}}}
HULL_SHAPE = {"type": "convex", "convex": {"mesh": 0}}

WRITTEN: dict[str, tuple[dict[int, Json], Json]] = {
    "KHR_implicit_shapes, geometry.node": (
        khr({"geometry": {"node": GROUND, "convexHull": True}}, NEW_GEOMETRIES),
        {"KHR_physics_rigid_bodies": KHR_ROOT, "KHR_implicit_shapes": {"shapes": SHAPES}},
    ),
    "KHR_implicit_shapes, geometry.mesh": (
        khr({"geometry": {"mesh": 0, "convexHull": True}}, NEW_GEOMETRIES),
        {"KHR_physics_rigid_bodies": KHR_ROOT, "KHR_implicit_shapes": {"shapes": SHAPES}},
    ),
    "KHR_collision_shapes, July 2024": (
        khr({"shape": 3}, OLD_GEOMETRIES),
        {
            "KHR_physics_rigid_bodies": KHR_ROOT,
            "KHR_collision_shapes": {
                "shapes": [*SHAPES, {"type": "mesh", "mesh": {"mesh": 0}} | HULL_FLAG]
            },
        },
    ),
    "KHR_collision_shapes, February 2024": (
        khr({"shape": 3}, OLD_GEOMETRIES),
        {
            "KHR_physics_rigid_bodies": KHR_ROOT,
            "KHR_collision_shapes": {"shapes": [*SHAPES, HULL_SHAPE]},
        },
    ),
    "OMI": (
        {
            BODY: {"OMI_physics_body": {"motion": {"type": "dynamic"} | MOTION}},
            BOX_NODE: {"OMI_physics_body": {"collider": {"shape": 0} | SOLID}},
            CAPSULE_NODE: {"OMI_physics_body": {"collider": {"shape": 1} | SOLID}},
            TRIGGER: {"OMI_physics_body": {"trigger": {"shape": 2}}},
            GROUND: {"OMI_physics_body": {"collider": {"shape": 3} | SOLID}},
            HINGE: {"OMI_physics_joint": JOINT},
        },
        {
            "OMI_physics_shape": {"shapes": [*SHAPES, HULL_SHAPE]},
            "OMI_physics_body": {
                "physicsMaterials": [MATERIAL | COMBINE],
                "collisionFilters": [FILTER],
            },
            "OMI_physics_joint": {"physicsJoints": [{"limits": LIMITS}]},
        },
    ),
    "MSFT_rigid_bodies": (
        {
            node: {"MSFT_rigid_bodies": value}
            for node, value in {
                BODY: {"motion": MOTION},
                BOX_NODE: {"collider": {"collider": 0} | SOLID},
                CAPSULE_NODE: {"collider": {"collider": 1} | SOLID},
                TRIGGER: {"trigger": {"collider": 2}},
                GROUND: {"collider": {"collider": 3} | SOLID},
                HINGE: {"joint": MSFT_JOINT},
            }.items()
        },
        {
            "MSFT_collision_primitives": {"colliders": [*SHAPES, HULL_SHAPE]},
            "MSFT_rigid_bodies": {
                "physicsMaterials": [MATERIAL | CAPITALS],
                "collisionFilters": [FILTER],
                "physicsJointLimits": [{"limits": SPRINGS}],
            },
        },
    ),
    "MSFT_RigidBodies": (
        {
            BODY: {
                "MSFT_RigidBodies": {
                    "rigidBody": {
                        "mass": 2,
                        "centerOfMass": [0, 0.5, 0],
                        "inertiaTensor": TENSOR,
                    }
                    | VELOCITIES
                }
            },
            BOX_NODE: {"MSFT_RigidBodies": {"collider": 0, "physicsMaterial": 0}},
            CAPSULE_NODE: {
                "MSFT_RigidBodies": {"physicsMaterial": 0},
                "MSFT_CollisionPrimitives": {"collider": 1},
            },
            TRIGGER: {"MSFT_RigidBodies": {"collider": 2}},
            GROUND: {"MSFT_RigidBodies": {"collider": 3, "physicsMaterial": 0}},
            HINGE: {"MSFT_RigidBodies": {"joint": MSFT_JOINT}},
        },
        {
            "MSFT_CollisionPrimitives": {
                "colliders": [
                    {"box": {"size": [1, 2, 3]}} | FILTER,
                    {"capsule": {"height": 1, "radius": 0.5}} | FILTER,
                    {"sphere": {"radius": 2}},
                    {"convex": {"mesh": 0}} | FILTER,
                ]
            },
            "MSFT_RigidBodies": {
                "physicsMaterials": [MATERIAL | CAPITALS],
                "physicsJointLimits": [{"constraints": SPRINGS}],
            },
        },
    ),
}


@pytest.mark.parametrize("dialect", WRITTEN)
def test_the_scene_reads_the_same_in_every_dialect_with_bodies(
    dialect: str, diagnostics: Diagnostics
) -> None:
    extensions, roots = WRITTEN[dialect]
    assert read(extensions, roots, diagnostics) == EXPECTED
    if dialect == "MSFT_RigidBodies":
        assert diagnostics.take(CAPSULE_HEIGHT_LOOSE)


def test_omi_collider_reads_the_same_shapes_without_bodies_materials_and_joints(
    diagnostics: Diagnostics,
) -> None:
    entries: dict[int, Json] = {
        BOX_NODE: {"type": "box", "size": [1, 2, 3]},
        # Total height: the distance of the cap centres and one radius at each end.
        CAPSULE_NODE: {"type": "capsule", "radius": 0.5, "height": 1 + 2 * 0.5},
        TRIGGER: {"type": "sphere", "radius": 2, "isTrigger": True},
        GROUND: {"type": "hull", "mesh": 0},
    }
    extensions = {node: {"OMI_collider": {"collider": index}} for index, node in enumerate(entries)}
    scene = read(extensions, {"OMI_collider": {"colliders": list(entries.values())}}, diagnostics)
    assert {node: collider.shape for node, collider in scene.colliders.items()} == {
        node: collider.shape for node, collider in EXPECTED.colliders.items()
    }
    assert scene.triggers == EXPECTED.triggers
    assert not scene.motions
    assert not scene.joints


def test_drives_read_the_same_in_the_dialects_that_have_them(diagnostics: Diagnostics) -> None:
    drive = {
        "type": "angular",
        "mode": "acceleration",
        "axis": 0,
        "maxForce": 10,
        "positionTarget": 0.5,
        "velocityTarget": 0.25,
        "stiffness": 3,
        "damping": 2,
    }
    description = {"limits": LIMITS, "drives": [drive]}
    in_khr = read(
        {
            BODY: {"KHR_physics_rigid_bodies": {"motion": MOTION}},
            HINGE: {"KHR_physics_rigid_bodies": {"joint": JOINT}},
        },
        {"KHR_physics_rigid_bodies": {"physicsJoints": [description]}},
        diagnostics,
    )
    in_omi = read(
        {
            BODY: {"OMI_physics_body": {"motion": {"type": "dynamic"} | MOTION}},
            HINGE: {"OMI_physics_joint": JOINT},
        },
        {"OMI_physics_joint": {"physicsJoints": [description]}},
        diagnostics,
    )
    assert in_khr == in_omi
    assert len(in_khr.joints[HINGE].description.drives) == 1


@pytest.mark.parametrize("dialect", ["KHR_implicit_shapes, geometry.node", "OMI"])
def test_a_compound_trigger_reads_the_same(dialect: str, diagnostics: Diagnostics) -> None:
    extensions, roots = (dict(part) for part in WRITTEN[dialect])
    name = "OMI_physics_body" if dialect == "OMI" else "KHR_physics_rigid_bodies"
    extensions[BOX_NODE] = extensions[TRIGGER]
    extensions[BODY] = {name: extensions[BODY][name] | {"trigger": {"nodes": [BOX_NODE]}}}
    scene = read(extensions, roots, diagnostics)
    assert scene.triggers[BODY] == Trigger(node=BODY, part_nodes=(BOX_NODE,))
