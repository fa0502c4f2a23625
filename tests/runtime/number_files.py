"""A small scene in every dialect that states every number which its schema knows."""

from __future__ import annotations

import base64
import struct
from typing import Any

Json = dict[str, Any]

MATERIAL = {"staticFriction": 0.7, "dynamicFriction": 0.5, "restitution": 0.5}
VELOCITIES = {
    "linearVelocity": [1.0, 0.5, 0.25],
    "angularVelocity": [0.1, 0.2, 0.3],
    "gravityFactor": 1.0,
}
MOTION = {
    "mass": 2.0,
    "centerOfMass": [0.1, 0.2, 0.3],
    "inertiaDiagonal": [1.0, 2.0, 2.5],
    "inertiaOrientation": [0.0, 0.0, 0.0, 1.0],
    **VELOCITIES,
}
LIMITS = [
    {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
    {"angularAxes": [0, 1], "min": 0.0, "max": 0.0},
    {"angularAxes": [2], "min": -0.5, "max": 0.5, "stiffness": 20.0, "damping": 1.0},
]
OLD_LIMITS = [
    {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
    {"angularAxes": [0, 1], "min": 0.0, "max": 0.0},
    {"angularAxes": [2], "min": -0.5, "max": 0.5, "springConstant": 20.0, "springDamping": 1.0},
]
DRIVE = {
    "type": "angular", "mode": "force", "axis": 2, "maxForce": 50.0, "positionTarget": 0.1,
    "velocityTarget": 0.2, "stiffness": 10.0, "damping": 2.0,
}  # fmt: skip
JOINTS = {"physicsJoints": [{"limits": LIMITS, "drives": [DRIVE]}]}
TETRAHEDRON = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


def data_uri(data: bytes) -> str:
    return "data:;base64," + base64.b64encode(data).decode()


def asset(nodes: list[Json], roots: Json, **members: Any) -> Json:
    """Nodes, of which none is another's child, with a mesh and an animation to refer to."""
    points = b"".join(struct.pack("<3f", *point) for point in TETRAHEDRON)
    indices = bytes(FACES)
    keys = struct.pack("<2f", 0.0, 1.0) + struct.pack("<6f", 0, 0, 0, 1, 0, 0)
    data = points + indices + keys
    used = {name for node in nodes for name in node.get("extensions", ())} | set(roots)
    return {
        "asset": {"version": "2.0"},
        "extensionsUsed": sorted(used),
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": 4}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 4},
            {"bufferView": 1, "componentType": 5121, "type": "SCALAR", "count": 12},
            {"bufferView": 2, "componentType": 5126, "type": "SCALAR", "count": 2},
            {"bufferView": 3, "componentType": 5126, "type": "VEC3", "count": 2},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 12},
            {"buffer": 0, "byteOffset": 60, "byteLength": 8},
            {"buffer": 0, "byteOffset": 68, "byteLength": 24},
        ],
        "buffers": [{"byteLength": len(data), "uri": data_uri(data)}],
        "extensions": roots,
        **members,
    }


def shape(kind: str, **block: Any) -> Json:
    return {"type": kind, kind: block}


CAPSULE = shape("capsule", height=0.4, radiusBottom=0.2, radiusTop=0.1)
CYLINDER = shape("cylinder", height=0.4, radiusBottom=0.2, radiusTop=0.1)
PLAIN_SHAPES = [
    shape("box", size=[0.5, 0.6, 0.7]), shape("sphere", radius=0.3), CAPSULE, CYLINDER,
]  # fmt: skip


def khr() -> Json:
    name = "KHR_physics_rigid_bodies"

    def node(x: float, **members: Any) -> Json:
        return {"translation": [x, 0.0, 0.0], "extensions": {name: members}}

    def collider(index: int) -> Json:
        return {"geometry": {"shape": index}, "physicsMaterial": 0, "collisionFilter": 0}

    nodes = [
        node(0.0, motion=MOTION, collider=collider(0)),
        node(2.0, motion=MOTION, collider=collider(2), joint={"connectedNode": 0, "joint": 0}),
        node(4.0, motion={"isKinematic": True, **VELOCITIES}, collider=collider(1)),
        node(6.0, motion={"mass": 1.0}, collider=collider(3)),
        node(8.0, collider=collider(4)),
        node(10.0, trigger={"geometry": {"shape": 1}}),
        node(12.0, motion={}, collider={"geometry": {"mesh": 0, "convexHull": True}}),
        {"rotation": [0.0, 0.0, 0.0, 1.0], "scale": [1.0, 2.0, 3.0], "mesh": 0}
        | {"extensions": {name: {"collider": {"geometry": {"mesh": 0}}}}},
    ]
    nodes[4]["matrix"] = [1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0, 0, 8.0, 0, 0, 1.0]
    del nodes[4]["translation"]
    roots = {
        "KHR_implicit_shapes": {"shapes": [*PLAIN_SHAPES, shape("plane", sizeX=10.0, sizeZ=10.0)]},
        name: {
            "physicsMaterials": [MATERIAL],
            "collisionFilters": [{"collisionSystems": ["a"]}],
            **JOINTS,
        },
    }
    channel = {"sampler": 0, "target": {"node": 2, "path": "translation"}}
    return asset(
        nodes,
        roots,
        animations=[{"channels": [channel], "samplers": [{"input": 2, "output": 3}]}],
        materials=[{"pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 1]}, "alphaCutoff": 0.5}],
        cameras=[{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1, "zfar": 9.0}}],
    )


def khr_collision_shapes() -> Json:
    name = "KHR_physics_rigid_bodies"
    nodes = [
        {"extensions": {name: {"motion": MOTION, "collider": {"shape": 0}}}},
        {"translation": [3, 0, 0], "extensions": {name: {"motion": {}, "collider": {"shape": 2}}}},
    ]
    return asset(nodes, {"KHR_collision_shapes": {"shapes": PLAIN_SHAPES}})


def omi() -> Json:
    body = {
        "motion": {"type": "dynamic", **MOTION},
        "collider": {"shape": 0, "physicsMaterial": 0},
    }
    gravity = "OMI_physics_gravity"

    def field(x: float, kind: str, **block: Any) -> Json:
        volume = {"type": kind, "gravity": 5.0, "priority": 1, kind: block}
        trigger = {"trigger": {"shape": 1}}
        return {
            "translation": [x, 0, 0], "extensions": {gravity: volume, "OMI_physics_body": trigger},
        }  # fmt: skip

    joint = {"connectedNode": 0, "joint": 0}
    nodes = [
        {"extensions": {"OMI_physics_body": body}},
        {
            "translation": [2, 0, 0],
            "extensions": {"OMI_physics_body": body, "OMI_physics_joint": joint},
        },
        field(0.0, "directional", direction=[0.0, -1.0, 0.0]),
        field(0.0, "point", unitDistance=2.0),
        field(0.0, "disc", radius=1.0, unitDistance=2.0),
        field(0.0, "torus", radius=1.0, unitDistance=2.0),
        field(0.0, "line", points=[0.0, 0.0, 0.0, 1.0, 1.0, 1.0], unitDistance=2.0),
        field(0.0, "shaped", shape=0, unitDistance=2.0),
    ]
    shapes = [
        shape("box", size=[0.5, 0.6, 0.7]), shape("sphere", radius=3.0),
        shape("capsule", radius=0.2, height=1.0), shape("cylinder", radius=0.2, height=1.0),
    ]  # fmt: skip
    return asset(
        nodes,
        {
            "OMI_physics_shape": {"shapes": shapes},
            "OMI_physics_body": {"physicsMaterials": [MATERIAL]},
            "OMI_physics_joint": JOINTS,
            gravity: {"gravity": 9.0, "direction": [0.0, -1.0, 0.0]},
        },
    )


def omi_collider() -> Json:
    colliders = [
        {"type": "box", "size": [1.0, 2.0, 3.0]}, {"type": "sphere", "radius": 1.0},
        {"type": "capsule", "radius": 0.5, "height": 3.0},
        {"type": "cylinder", "radius": 0.5, "height": 3.0},
    ]  # fmt: skip
    nodes = [{"extensions": {"OMI_collider": {"collider": k}}} for k in range(4)]
    return asset(nodes, {"OMI_collider": {"colliders": colliders}})


def msft_rigid_bodies() -> Json:
    name = "MSFT_rigid_bodies"
    body = {"motion": MOTION, "collider": {"collider": 0, "physicsMaterial": 0}}
    nodes = [
        {"extensions": {name: body}},
        {
            "translation": [2, 0, 0],
            "extensions": {name: body | {"joint": {"connectedNode": 0, "jointLimits": 0}}},
        },
    ]
    roots = {
        "MSFT_collision_primitives": {"colliders": PLAIN_SHAPES},
        name: {"physicsMaterials": [MATERIAL], "physicsJointLimits": [{"limits": OLD_LIMITS}]},
    }
    return asset(nodes, roots)


def msft_camel() -> Json:
    tensor = [2.0, 0.1, 0.0, 0.1, 3.0, 0.0, 0.0, 0.0, 4.0]
    body = {"mass": 2.0, "inertiaTensor": tensor, "centerOfMass": [0.1, 0, 0], **VELOCITIES}

    def node(x: float, collider: int, **members: Any) -> Json:
        return {
            "translation": [x, 0, 0],
            "extensions": {
                "MSFT_RigidBodies": {"rigidBody": body, "physicsMaterial": 0, **members},
                "MSFT_CollisionPrimitives": {"collider": collider},
            },
        }

    nodes = [
        node(0.0, 0), node(2.0, 1, joint={"connectedNode": 0, "jointLimits": 0}), node(4.0, 2),
        node(6.0, 3),
    ]  # fmt: skip
    colliders = [
        {"box": {"size": [1.0, 1.0, 1.0]}}, {"sphere": {"radius": 0.5}},
        {"capsule": {"height": 1.0, "radius": 0.2}}, {"cylinder": {"height": 1.0, "radius": 0.2}},
    ]  # fmt: skip
    roots = {
        "MSFT_CollisionPrimitives": {"colliders": colliders},
        "MSFT_RigidBodies": {
            "physicsMaterials": [MATERIAL],
            "physicsJointLimits": [{"constraints": OLD_LIMITS}],
        },
    }
    return asset(nodes, roots)


FILES: dict[str, Json] = {
    "khr": khr(),
    "khr_collision_shapes": khr_collision_shapes(),
    "omi": omi(),
    "omi_collider": omi_collider(),
    "msft_rigid_bodies": msft_rigid_bodies(),
    "msft_camel": msft_camel(),
}
