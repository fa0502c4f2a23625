"""Whatever stands in a physics extension, reading it yields issues and never a raw exception."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects import check_extensions, read_physics
from gltf_bullet.gltf import read_document

Json = dict[str, Any]

LIMIT = {"linearAxes": [0, 1], "min": 0, "max": 1, "stiffness": 2, "damping": 3}
OLD_LIMIT = {"angularAxes": [2], "min": 0, "max": 1, "springConstant": 2, "springDamping": 3}
DRIVE = {
    "type": "angular",
    "mode": "force",
    "axis": 1,
    "maxForce": 1,
    "positionTarget": 1,
    "velocityTarget": 1,
    "stiffness": 1,
    "damping": 1,
}
MATERIAL = {"staticFriction": 1, "restitution": 0.5, "frictionCombine": "minimum"}
FILTER = {"collisionSystems": ["a"], "collideWithSystems": ["b"]}
VELOCITIES = {"linearVelocity": [1, 2, 3], "angularVelocity": [4, 5, 6], "gravityFactor": 2}
TENSOR = [2, 1, 0, 1, 3, 0, 0, 0, 4]

KHR_NODE = {
    "motion": {"mass": 1, "inertiaDiagonal": [1, 2, 3], "inertiaOrientation": [0, 0, 0, 1]}
    | VELOCITIES,
    "collider": {"geometry": {"shape": 0}, "physicsMaterial": 0, "collisionFilter": 0},
    "joint": {"connectedNode": 1, "joint": 0, "enableCollision": True},
}
GEOMETRY = {"node": 6, "convexHull": True}
ROOT: Json = {
    "asset": {"version": "2.0"},
    "accessors": [{"componentType": 5126, "type": "VEC3", "count": 3}],
    "nodes": [
        {"children": [1], "extensions": {"KHR_physics_rigid_bodies": KHR_NODE}},
        {"extensions": {"KHR_physics_rigid_bodies": {"trigger": {"geometry": GEOMETRY}}}},
        {
            "children": [3],
            "extensions": {
                "KHR_physics_rigid_bodies": {"trigger": {"nodes": [3]}, "collider": {"shape": 1}}
            },
        },
        {"extensions": {"KHR_physics_rigid_bodies": {"trigger": {"shape": 0}}}},
        {
            "children": [5],
            "extensions": {
                "OMI_physics_body": {
                    "motion": {"type": "dynamic", "inertiaDiagonal": [1, 1, 1]} | VELOCITIES,
                    "collider": {"shape": 0, "physicsMaterial": 0, "collisionFilter": 0},
                    "trigger": {"nodes": [5]},
                },
                "OMI_physics_joint": {"connectedNode": 0, "joint": 0},
                "OMI_physics_gravity": {
                    "type": "line",
                    "gravity": 1,
                    "line": {"points": [0, 0, 0, 1, 1, 1]},
                },
            },
        },
        {
            "extensions": {
                "OMI_physics_body": {"trigger": {"shape": 1}},
                "OMI_physics_gravity": {
                    "type": "shaped",
                    "gravity": 1,
                    "priority": 2,
                    "shaped": {"shape": 0, "unitDistance": 1},
                },
            }
        },
        {"mesh": 0, "extensions": {"OMI_collider": {"collider": 0}}},
        {
            "extensions": {
                "MSFT_rigid_bodies": {
                    "motion": {"mass": 1} | VELOCITIES,
                    "collider": {"collider": 0, "physicsMaterial": 0, "collisionFilter": 0},
                    "trigger": {"collider": 1, "collisionFilter": 0},
                    "joint": {"connectedNode": 0, "jointLimits": 0},
                }
            }
        },
        {
            "extensions": {
                "MSFT_RigidBodies": {
                    "rigidBody": {"inertiaTensor": TENSOR} | VELOCITIES,
                    "physicsMaterial": 0,
                    "joint": {"jointLimits": 0},
                },
                "MSFT_CollisionPrimitives": {"collider": 0},
            }
        },
        {"extensions": {"MSFT_RigidBodies": {"collider": {"collider": 1}}}},
    ],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "targets": [{}]}]}],
    "extensions": {
        "KHR_implicit_shapes": {
            "shapes": [{"type": "plane", "plane": {"sizeX": 1, "doubleSided": True}}]
        },
        "KHR_collision_shapes": {
            "shapes": [
                {"type": "capsule", "capsule": {"height": 1, "radiusTop": 2}},
                {
                    "type": "mesh",
                    "mesh": {"mesh": 0, "weights": [1]},
                    "extensions": {"KHR_physics_rigid_bodies": {"convexHull": True}},
                },
            ]
        },
        "KHR_physics_rigid_bodies": {
            "physicsMaterials": [MATERIAL],
            "collisionFilters": [FILTER],
            "physicsJoints": [{"limits": [LIMIT], "drives": [DRIVE]}],
        },
        "OMI_physics_shape": {
            "shapes": [
                {"type": "capsule", "capsule": {"radius": 1, "height": 4}},
                {"type": "convex", "convex": {"mesh": 0}},
            ]
        },
        "OMI_physics_body": {"physicsMaterials": [MATERIAL], "collisionFilters": [FILTER]},
        "OMI_physics_joint": {"physicsJoints": [{"limits": [LIMIT], "drives": [DRIVE]}]},
        "OMI_physics_gravity": {"gravity": 1, "direction": [0, 1, 0]},
        "OMI_collider": {"colliders": [{"type": "capsule", "radius": 1, "height": 3}]},
        "MSFT_collision_primitives": {
            "colliders": [
                {"type": "box", "box": {"size": [1, 2, 3]}},
                {"type": "trimesh", "trimesh": {"mesh": 0}},
            ]
        },
        "MSFT_rigid_bodies": {
            "physicsMaterials": [MATERIAL],
            "collisionFilters": [FILTER],
            "physicsJointLimits": [{"limits": [OLD_LIMIT]}],
        },
        "MSFT_CollisionPrimitives": {
            "colliders": [
                {"cylinder": {"height": 1, "radius": 1}} | FILTER,
                {"convex": {"mesh": 0}, "collisionSystem": ["a"]},
            ]
        },
        "MSFT_RigidBodies": {
            "physicsMaterials": [MATERIAL],
            "physicsJointLimits": [{"constraints": [OLD_LIMIT]}],
        },
    },
}

Path = tuple[str | int, ...]


def paths_below(value: Any, prefix: Path = ()) -> list[Path]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [
        path for key, item in items for path in ((*prefix, key), *paths_below(item, (*prefix, key)))
    ]


PHYSICS_PATHS = [path for path in paths_below(ROOT) if "extensions" in path]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([-1, 0, 1, 2, 5, 99, 2**31, 10**400, 1e308, -1e308, 5e-324, -0.0])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "box", "mesh", "convex", "capsule", "dynamic", "linear", "a/~b"])
    | st.text(max_size=3)
)
junk = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=9)
        | st.dictionaries(
            st.sampled_from(["shape", "mesh", "nodes", "type", "x"]), inner, max_size=3
        )
    ),
    max_leaves=9,
)


def replaced(root: Json, path: Path, value: Any) -> None:
    owner: Any = root
    for key in path[:-1]:
        if not isinstance(owner, (dict, list)):
            return
        try:
            owner = owner[key]
        except (KeyError, IndexError, TypeError):
            return
    key = path[-1]
    in_list = isinstance(owner, list) and isinstance(key, int) and key < len(owner)
    if isinstance(owner, dict) or in_list:
        owner[key] = value


def test_the_file_itself_uses_every_dialect_without_errors() -> None:
    sink = Diagnostics()
    read_physics(read_document(json.dumps(ROOT).encode(), sink), sink)
    assert not [str(issue) for issue in sink if issue.is_error]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PHYSICS_PATHS), junk), min_size=1, max_size=4))
def test_junk_yields_issues_and_never_a_raw_exception(changes: list[tuple[Path, Any]]) -> None:
    root = copy.deepcopy(ROOT)
    for path, value in changes:
        replaced(root, path, value)
    sink = Diagnostics()
    document = read_document(json.dumps(root).encode(), sink)
    check_extensions(document, sink)
    read_physics(document, sink)
    for issue in sink:
        assert issue.message
