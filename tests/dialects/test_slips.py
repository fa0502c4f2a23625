"""Slips in names: what stands there is ignored, and the message says what was probably meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gltf_bullet as gb

KHR = "KHR_physics_rigid_bodies"


def found(root: dict[str, Any]) -> list[tuple[str, str, str]]:
    report = gb.check(json.dumps({"asset": {"version": "2.0"}} | root).encode())
    return [(issue.code, issue.pointer, issue.message) for issue in report.issues]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("KHR_physics_rigid_body", "KHR_physics_rigid_bodies"),
        ("KHR_implicit_shape", "KHR_implicit_shapes"),
        ("OMI_colliders", "OMI_collider"),
        ("KRH_physics_rigid_bodies", "KHR_physics_rigid_bodies"),
        ("khr_physics_rigid_bodies", "KHR_physics_rigid_bodies"),
    ],
)
def test_a_misspelt_extension_gets_a_suggestion(wrong: str, right: str) -> None:
    ((code, pointer, message),) = found({"extensionsUsed": [wrong]})
    assert (code, pointer) == ("EXTENSION_MISSPELT", "/extensionsUsed/0")
    assert f"did you mean '{right}'" in message
    # Undeclared as well: on a node, and on the root.
    ((code, pointer, _),) = found({"nodes": [{}, {"extensions": {wrong: {}}}]})
    assert (code, pointer) == ("EXTENSION_MISSPELT", f"/nodes/1/extensions/{wrong}")
    ((code, pointer, _),) = found({"extensions": {wrong: {}}})
    assert (code, pointer) == ("EXTENSION_MISSPELT", f"/extensions/{wrong}")
    ((code, _, message),) = found({"extensionsUsed": [wrong], "extensionsRequired": [wrong]})
    assert code == "EXTENSION_UNSUPPORTED"
    assert f"did you mean '{right}'" in message


@pytest.mark.parametrize(
    "name", ["OMI_seat", "HF_rigid_bodies", "KHR_audio", "VENDOR_physics", "x" * 1000]
)
def test_an_extension_of_somebody_else_gets_none(name: str) -> None:
    ((code, _, message),) = found({"extensionsUsed": [name]})
    assert code == "EXTENSION_IGNORED"
    assert "did you mean" not in message


def test_a_misspelt_property_gets_a_suggestion() -> None:
    motion = {"Mass": 1, "linearVelocty": [0, 0, 0], "colour": 3}
    node = {"extensions": {KHR: {"motion": motion, "collider": {}}}}
    messages = {
        pointer.rpartition("/")[2]: message
        for code, pointer, message in found({"nodes": [node], "extensionsUsed": [KHR]})
        if code == "UNKNOWN_PROPERTY"
    }
    assert "did you mean 'mass' or" in messages["Mass"]
    assert "did you mean 'linearVelocity'?" in messages["linearVelocty"]
    assert "did you mean" not in messages["colour"]


def test_half_extents_are_led_to_the_size() -> None:
    shapes = {"shapes": [{"type": "box", "box": {"halfExtents": [1, 1, 1]}}]}
    root = {
        "extensionsUsed": ["KHR_implicit_shapes"],
        "extensions": {"KHR_implicit_shapes": shapes},
    }
    (message,) = [text for code, _, text in found(root) if code == "UNKNOWN_PROPERTY"]
    assert "did you mean 'size', the whole edges?" in message


@pytest.mark.parametrize(
    ("physics", "hint"),
    [
        ({"mass": 1, "motion": {}}, "it stands in 'motion'"),
        ({"motion": {"type": "static"}}, "without 'motion' it is static"),
        ({"motion": {"collider": {}}}, "it stands beside 'motion'"),
        ({"collider": {"isTrigger": True}}, "a trigger is 'trigger'"),
    ],
)
def test_words_in_a_wrong_place_are_led_to_theirs(physics: dict[str, object], hint: str) -> None:
    root = {"nodes": [{"extensions": {KHR: physics}}], "extensionsUsed": [KHR]}
    (message,) = [text for code, _, text in found(root) if code == "UNKNOWN_PROPERTY"]
    assert hint in message


def test_an_omi_motion_without_a_type_is_dynamic() -> None:
    """Published files have it."""
    body = {"motion": {"mass": 2}}
    root = {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["OMI_physics_body"],
        "nodes": [{"extensions": {"OMI_physics_body": body}}],
    }
    asset = gb.read_asset(json.dumps(root).encode())
    assert [issue.code for issue in asset.issues] == ["MOTION_TYPE_MISSING"]
    assert asset.physics.motions[0].kind.value == "dynamic"
