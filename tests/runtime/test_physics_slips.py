"""``check`` notes numbers that are allowed and that hardly anybody means."""

from __future__ import annotations

import base64
import json
import math
import struct
from typing import Any

import pytest

import gltf_bullet as gb

PHYSICS, SHAPES = "KHR_physics_rigid_bodies", "KHR_implicit_shapes"
SLIPS = {
    "ANGLE_IN_DEGREES", "RESTITUTION_ABOVE_ONE", "COLLIDER_NOT_MESH_SIZE", "BODY_IN_NO_SCENE",
    "PHYSICS_IN_EXTRAS", "SYSTEM_OF_NOBODY", "DRIVE_WITHOUT_FORCE", "BODY_BELOW_ANIMATION",
}  # fmt: skip


def asset() -> dict[str, Any]:
    """A body on a hinge, with a box as large as its mesh of 1 m x 2 m x 3 m."""
    corners = {"min": [-0.5, -1.0, -1.5], "max": [0.5, 1.0, 1.5]}
    body = {
        "motion": {"mass": 1.0},
        "collider": {"geometry": {"shape": 0}, "physicsMaterial": 0},
        "joint": {"connectedNode": 1, "joint": 0},
    }
    return {
        "asset": {"version": "2.0"},
        "extensionsUsed": [PHYSICS, SHAPES],
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0, "extensions": {PHYSICS: body}}, {}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"componentType": 5126, "count": 8, "type": "VEC3", **corners}],
        "extensions": {
            SHAPES: {"shapes": [{"type": "box", "box": {"size": [1.0, 2.0, 3.0]}}]},
            PHYSICS: {
                "physicsMaterials": [{"restitution": 1.0}],
                "physicsJoints": [
                    {
                        "limits": [
                            {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
                            {"angularAxes": [0, 1], "min": 0.0, "max": 0.0},
                            {"angularAxes": [2], "min": -1.0, "max": 1.0},
                        ],
                        "drives": [
                            {
                                "type": "angular", "mode": "force", "axis": 2,
                                "positionTarget": 0.0, "stiffness": 1.0,
                            }
                        ],
                    }
                ],
            },
        },
    }  # fmt: skip


def slips(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    report = gb.check(json.dumps(document).encode())
    return [(i.code, str(i.pointer), i.message) for i in report.issues if i.code in SLIPS]


def joint_of(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["extensions"][PHYSICS]["physicsJoints"][0]
    return found


def test_a_file_without_slips_has_no_notes() -> None:
    document = asset()
    joint_of(document)["limits"][2].update(min=-2.0 * math.pi, max=6.2831855)  # as 32 bits
    assert slips(document) == []


def test_angles_above_a_turn_are_asked_about() -> None:
    document = asset()
    joint_of(document)["limits"][2].update(min=-90.0, max=90.0)
    joint_of(document)["drives"][0]["positionTarget"] = 45.0
    found = slips(document)
    assert [code for code, *_ in found] == ["ANGLE_IN_DEGREES"] * 3
    at = f"/extensions/{PHYSICS}/physicsJoints/0"
    assert [place for _, place, _ in found] == [f"{at}/limits/2"] * 2 + [f"{at}/drives/0"]
    assert "max is 90 rad" in found[1][2]
    assert f"90 degrees are {math.pi / 2.0:.6g} rad" in found[1][2]


def test_linear_limits_may_be_long() -> None:
    document = asset()
    joint_of(document)["limits"].append({"linearAxes": [0], "min": -90.0, "max": 90.0})
    assert slips(document) == []


def test_a_restitution_above_one_is_named() -> None:
    document = asset()
    document["extensions"][PHYSICS]["physicsMaterials"][0]["restitution"] = 1.2
    ((code, place, message),) = slips(document)
    assert code == "RESTITUTION_ABOVE_ONE"
    assert place == f"/extensions/{PHYSICS}/physicsMaterials/0"
    assert "1.2" in message


@pytest.mark.parametrize(("factor", "word"), [(0.5, "half extents"), (2.0, "doubled")])
def test_a_box_of_half_or_twice_its_mesh_is_asked_about(factor: float, word: str) -> None:
    document = asset()
    shape = document["extensions"][SHAPES]["shapes"][0]["box"]
    shape["size"] = [factor * size for size in shape["size"]]
    ((code, place, message),) = slips(document)
    assert (code, place) == ("COLLIDER_NOT_MESH_SIZE", f"/nodes/0/extensions/{PHYSICS}/collider")
    assert word in message
    shape["size"][0] *= 1.5
    assert slips(document) == []


def test_a_body_in_no_scene_is_named() -> None:
    document = asset()
    document["scenes"][0]["nodes"] = [1]
    ((code, place, _),) = slips(document)
    assert (code, place) == ("BODY_IN_NO_SCENE", "/nodes/0")
    del document["scenes"], document["scene"]
    assert slips(document) == []


def test_what_is_lost_with_a_node_in_no_scene_is_counted() -> None:
    document = asset()
    document["nodes"].append({"extensions": {PHYSICS: {"joint": {"connectedNode": 0, "joint": 0}}}})
    ((code, place, message),) = slips(document)
    assert (code, place) == ("BODY_IN_NO_SCENE", "/nodes/2")
    assert "the 1 joint (nodes 2)" in message
    document["nodes"][1]["children"] = [2]
    assert slips(document) == []


def test_a_system_that_nobody_is_in_is_named_with_a_similar_one() -> None:
    document = asset()
    filters: list[dict[str, Any]] = [
        {"collisionSystems": ["balls"], "collideWithSystems": ["crate"]},
        {"collisionSystems": ["crates"]},
    ]
    document["extensions"][PHYSICS]["collisionFilters"] = filters
    for number, node in enumerate(document["nodes"]):
        body = node.setdefault("extensions", {}).setdefault(PHYSICS, {})
        body.setdefault("collider", {"geometry": {"shape": 0}})["collisionFilter"] = number
    ((code, place, message),) = slips(document)
    assert (code, place) == (
        "SYSTEM_OF_NOBODY", f"/extensions/{PHYSICS}/collisionFilters/0"
    )  # fmt: skip
    assert "did you mean 'crates'?" in message
    filters[0]["collideWithSystems"].append("crates")  # one of them has somebody
    assert slips(document) == []


def test_a_drive_without_force_is_named() -> None:
    document = asset()
    joint_of(document)["drives"][0]["maxForce"] = 0
    ((code, place, _),) = slips(document)
    assert (code, place) == (
        "DRIVE_WITHOUT_FORCE", f"/extensions/{PHYSICS}/physicsJoints/0/drives/0"
    )  # fmt: skip


def test_a_dynamic_body_below_an_animated_node_is_named() -> None:
    document = asset()
    document["scenes"][0]["nodes"] = [1]
    document["nodes"][1]["children"] = [0]
    document["animations"] = [
        {
            "samplers": [{"input": 1, "output": 2}],
            "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}}],
        }
    ]
    keys = {"componentType": 5126, "count": 2}
    document["accessors"] += [
        {**keys, "type": "SCALAR", "min": [0.0], "max": [1.0], "bufferView": 0},
        {**keys, "type": "VEC3", "bufferView": 1},
    ]
    data = base64.b64encode(struct.pack("<8f", 0, 1, 0, 0, 0, 0, 1, 0)).decode()
    uri = f"data:application/octet-stream;base64,{data}"
    document["buffers"] = [{"byteLength": 32, "uri": uri}]
    document["bufferViews"] = [
        {"buffer": 0, "byteLength": 8}, {"buffer": 0, "byteOffset": 8, "byteLength": 24}
    ]  # fmt: skip
    ((code, place, message),) = slips(document)
    assert (code, place) == ("BODY_BELOW_ANIMATION", "/nodes/0")
    assert "the animation of node 1 does not carry" in message
    document["nodes"][0]["extensions"][PHYSICS]["motion"]["isKinematic"] = True
    assert slips(document) == []


def test_physics_in_extras_is_named_once() -> None:
    document = asset()
    for node in document["nodes"]:
        node["extras"] = {"Mass": 3.0, "color": "red"}
    ((code, place, message),) = slips(document)
    assert (code, place) == ("PHYSICS_IN_EXTRAS", "/nodes/0/extras")
    assert "'Mass'" in message
    assert "color" not in message


def test_an_extension_that_stands_in_extras_is_named() -> None:
    document = asset()
    document["nodes"][1]["extras"] = {"KHR_physics_rigid_bodies": {"motion": {}}}
    ((code, place, _),) = slips(document)
    assert (code, place) == ("PHYSICS_IN_EXTRAS", "/nodes/1/extras")
