"""Object models: the pointers that 000, 001, 002 and the extensions of shapes list.

A property has its default where the file does not write it, and is there where nothing uses it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.spec.files import Json, codes, file, loaded, node
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"
OMI_JOINT = "OMI_physics_joint"
INF = math.inf
BODY: Json = {"motion": {}, "collider": {"geometry": {"shape": 0}, "physicsMaterial": 0}}
JOINT: Json = {
    "limits": [{"linearAxes": [0], "max": 0.1}, {"linearAxes": [0], "min": -0.1}],
    "drives": [{"type": "linear", "mode": "force", "axis": 0}],
}

MATERIALS = [
    ("physicsMaterials/0/staticFriction", 0.6, 0.9),
    ("physicsMaterials/0/dynamicFriction", 0.6, 0.3),
    ("physicsMaterials/0/restitution", 0.0, 0.5),
]
JOINTS = [
    ("physicsJoints/0/limits/0/min", -INF, -0.2),
    ("physicsJoints/0/limits/1/max", INF, 0.3),
    ("physicsJoints/0/limits/0/stiffness", INF, 100.0),
    ("physicsJoints/0/limits/0/damping", 0.0, 2.0),
    ("physicsJoints/0/drives/0/maxForce", INF, 5.0),
    ("physicsJoints/0/drives/0/positionTarget", 0.0, 0.05),
    ("physicsJoints/0/drives/0/velocityTarget", 0.0, 0.5),
    ("physicsJoints/0/drives/0/stiffness", 0.0, 10.0),
    ("physicsJoints/0/drives/0/damping", 0.0, 3.0),
]
MOTIONS = [
    ("isKinematic", False, True),
    ("mass", 1000.0, 2.0),
    ("centerOfMass", (0, 0, 0), (0, 0.1, 0)),
    ("inertiaDiagonal", (1000 / 6,) * 3, (1.0, 2.0, 2.5)),
    ("inertiaOrientation", (0, 0, 0, 1), (0, 0, 0.6, 0.8)),
    ("linearVelocity", (0, 0, 0), (1.0, 0, 0)),
    ("angularVelocity", (0, 0, 0), (0, 1.0, 0)),
    ("gravityFactor", 1.0, -0.5),
]
SHAPES = {
    "box": [("size", (1, 1, 1), (2.0, 1.0, 1.0))],
    "sphere": [("radius", 0.5, 0.7)],
    "capsule": [("height", 0.5, 0.8), ("radiusBottom", 0.25, 0.3), ("radiusTop", 0.25, 0.3)],
    "cylinder": [("height", 0.5, 0.8), ("radiusBottom", 0.25, 0.3), ("radiusTop", 0.25, 0.3)],
    "plane": [("sizeX", INF, 3.0), ("sizeZ", INF, 3.0), ("doubleSided", False, True)],
}
SHAPE_CASES = [
    (extension, kind, *case)
    for extension in ("KHR_implicit_shapes", "KHR_collision_shapes")
    for kind, cases in SHAPES.items()
    if (extension, kind) != ("KHR_collision_shapes", "plane")
    for case in cases
]


def khr(*, used: bool) -> bytes:
    tables = {
        KHR: {"physicsMaterials": [{}], "physicsJoints": [JOINT]},
        "KHR_implicit_shapes": {"shapes": [{"type": "box"}]},
    }
    joint = {"connectedNode": 1, "joint": 0}
    nodes = [node({KHR: {"joint": joint, "collider": BODY["collider"]}}), node({KHR: BODY})]
    return file(nodes if used else [node()], tables)


def check(scene: Any, pointer: str, default: object, value: object) -> None:
    assert scene.get(pointer) == pytest.approx(default)
    scene.set(pointer, value)
    scene.step()
    # What moves is read as it is now.
    moves = pointer.endswith("Velocity")
    assert scene.get(pointer) == pytest.approx(value, abs=0.2 if moves else 1e-9)


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize(("pointer", "default", "value"), MATERIALS + JOINTS)
def test_materials_and_joints_are_mutable(
    pointer: str, default: object, value: object, used: bool
) -> None:
    with loaded(khr(used=used), gravity=0.0) as scene:
        check(scene, f"/extensions/{KHR}/{pointer}", default, value)


@pytest.mark.parametrize(("pointer", "default", "value"), MOTIONS)
def test_motions_are_mutable(pointer: str, default: object, value: object) -> None:
    tables = {"KHR_implicit_shapes": {"shapes": [{"type": "box"}]}}
    body = {"motion": {}, "collider": {"geometry": {"shape": 0}}}
    with loaded(file([node({KHR: body})], tables), gravity=0.0) as scene:
        check(scene, f"/nodes/0/extensions/{KHR}/motion/{pointer}", default, value)


def test_enable_collision_is_mutable() -> None:
    with loaded(khr(used=True)) as scene:
        check(scene, f"/nodes/0/extensions/{KHR}/joint/enableCollision", False, True)


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize(("pointer", "default", "value"), JOINTS)
def test_omi_joints_are_mutable(pointer: str, default: object, value: object, used: bool) -> None:
    tables = {OMI_JOINT: {"physicsJoints": [JOINT]}}
    dynamic = {"OMI_physics_body": {"motion": {"type": "dynamic"}}}
    nodes = [
        node({**dynamic, **({OMI_JOINT: {"joint": 0, "connectedNode": 1}} if used else {})}),
        node({"OMI_physics_body": {"motion": {"type": "static"}}}),
    ]
    with loaded(file(nodes, tables), gravity=0.0) as scene:
        check(scene, f"/extensions/{OMI_JOINT}/{pointer}", default, value)


@pytest.mark.parametrize("level", ["", "/joint"])
def test_omi_enable_collision_is_mutable_as_the_text_and_as_the_schema_say(level: str) -> None:
    tables = {OMI_JOINT: {"physicsJoints": [JOINT]}}
    dynamic = {"OMI_physics_body": {"motion": {"type": "dynamic"}}}
    nodes = [node({**dynamic, OMI_JOINT: {"joint": 0, "connectedNode": 1}}), node(dynamic)]
    with loaded(file(nodes, tables), gravity=0.0) as scene:
        check(scene, f"/nodes/0/extensions/{OMI_JOINT}{level}/enableCollision", False, True)


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize(("extension", "kind", "key", "default", "value"), SHAPE_CASES)
def test_shapes_are_mutable(
    extension: str, kind: str, key: str, default: object, value: object, used: bool
) -> None:
    is_newer = extension == "KHR_implicit_shapes"
    collider = {"geometry": {"shape": 0}} if is_newer else {"shape": 0}
    tables = {extension: {"shapes": [{"type": kind, kind: {}}]}}
    nodes = [node({KHR: {"collider": collider}} if used else None)]
    with loaded(file(nodes, tables)) as scene:
        check(scene, f"/extensions/{extension}/shapes/0/{kind}/{key}", default, value)


@pytest.mark.parametrize("list_", ["physicsMaterials", "physicsJoints", "collisionFilters"])
def test_lengths_of_lists_are_read_only(list_: str) -> None:
    with loaded(khr(used=True)) as scene:
        pointer = f"/extensions/{KHR}/{list_}.length"
        assert scene.get(pointer) == (0 if list_ == "collisionFilters" else 1)
        with pytest.raises(KeyError):
            scene.set(pointer, 2)


def test_what_nothing_uses_is_remembered_without_new_bodies() -> None:
    tables = {
        KHR: {"physicsMaterials": [{}]},
        "KHR_implicit_shapes": {"shapes": [{"type": "box"}, {"type": "sphere"}]},
    }
    with loaded(
        file([node({KHR: {"motion": {}, "collider": {"geometry": {"shape": 0}}}})], tables)
    ) as scene:
        ids, state = scene.bodies[0].body_id, scene.save_state()
        scene.set("/extensions/KHR_implicit_shapes/shapes/1/sphere/radius", 2.0)
        scene.set(f"/extensions/{KHR}/physicsMaterials/0/restitution", 0.25)
        assert scene.bodies[0].body_id == ids
        scene.restore_state(state)
        assert scene.get("/extensions/KHR_implicit_shapes/shapes/1/sphere/radius") == 0.5
        assert scene.get(f"/extensions/{KHR}/physicsMaterials/0/restitution") == 0.0
        assert scene.bodies[0].body_id == ids


def test_values_of_what_nothing_uses_are_judged_like_others() -> None:
    tables = {"KHR_implicit_shapes": {"shapes": [{"type": "sphere"}]}}
    with loaded(file([node()], tables)) as scene, pytest.raises(ValueError, match="must be > 0"):
        scene.set("/extensions/KHR_implicit_shapes/shapes/0/sphere/radius", -1.0)


def test_an_omi_limit_of_linear_and_angular_axes_keeps_both_when_it_is_edited() -> None:
    limit = {"linearAxes": [0, 1, 2], "angularAxes": [0, 1, 2], "min": 0, "max": 0}
    tables = {OMI_JOINT: {"physicsJoints": [{"limits": [limit]}]}}
    motion = {"type": "dynamic", "mass": 1, "inertiaDiagonal": [1, 1, 1]}
    nodes = [
        node({"OMI_physics_body": {"motion": motion}, OMI_JOINT: {"joint": 0, "connectedNode": 1}}),
        node({"OMI_physics_body": {"motion": {"type": "static"}}}),
    ]
    with loaded(file(nodes, tables), gravity=0.0) as scene:
        scene.step()
        scene.set(f"/extensions/{OMI_JOINT}/physicsJoints/0/limits/0/max", 0.1)
        for _ in range(60):
            scene.bodies[0].apply_force((20, 0, 0))
            scene.bodies[0].apply_torque((0, 20, 0))
            scene.step()
        pose = scene.world_from_node(0)
        assert np.linalg.norm(pose[:3, 3]) == pytest.approx(0.1, abs=1e-3)
        angle = math.acos(min(1.0, (np.trace(pose[:3, :3]) - 1) / 2))
        assert angle == pytest.approx(0.1, abs=5e-3)


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("stated", [{}, {"weights": [0.0]}])
def test_weights_of_collision_shapes_are_mutable(used: bool, stated: Json) -> None:
    """The only morph target lifts the square by 1 m."""
    builder = GltfBuilder()
    points = [(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)]
    mesh = builder.mesh(points, [(0, 2, 1), (0, 3, 2)], targets=[[(0, 1, 0)] * 4])
    builder.root_extension(
        "KHR_collision_shapes", {"shapes": [{"type": "mesh", "mesh": {"mesh": mesh, **stated}}]}
    )
    builder.node("Square", extensions={KHR: {"collider": {"shape": 0}}} if used else None)
    pointer = "/extensions/KHR_collision_shapes/shapes/0/mesh/weights"
    with loaded(builder.glb()) as scene:
        check(scene, pointer, [0.0], [0.75])
        hit = scene.ray_cast((0.1, 5, 0.2), (0.1, -5, 0.2))
        if used:
            assert hit is not None
            assert hit.position[1] == pytest.approx(0.75, abs=1e-4)
        with pytest.raises(ValueError, match="must have 1 numbers"):
            scene.set(pointer, [0.1, 0.2])


def test_an_animation_of_what_nothing_uses_has_no_effect_and_that_is_said() -> None:
    builder = GltfBuilder()
    builder.root_extension("KHR_implicit_shapes", {"shapes": [{"type": "sphere"}]})
    builder.node("Empty")
    pointer = "/extensions/KHR_implicit_shapes/shapes/0/sphere/radius"
    builder.animation("Grow", [(pointer, "pointer", [0.0, 1.0], [1.0, 2.0], "LINEAR")])
    assert codes(builder.glb()) == {"ANIMATION_WITHOUT_EFFECT"}


def test_what_is_in_another_scene_is_read_as_the_file_has_it_and_not_set() -> None:
    body = {KHR: {"motion": {"gravityFactor": 0.5}, "collider": {"geometry": {"shape": 0}}}}
    tables = {"KHR_implicit_shapes": {"shapes": [{"type": "box"}]}}
    scenes = [{"nodes": [0]}, {"nodes": [1]}]
    with loaded(file([node(), node(body)], tables, scenes=scenes)) as scene:
        at = f"/nodes/1/extensions/{KHR}/motion"
        assert scene.get(f"{at}/gravityFactor") == 0.5
        assert scene.get(f"{at}/linearVelocity") == pytest.approx((0, 0, 0))
        with pytest.raises(KeyError, match="not in the scene"):
            scene.set(f"{at}/gravityFactor", 1.0)
