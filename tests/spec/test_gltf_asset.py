"""glTF 2.0, "Asset" and JSON types, and what the draft of 2.1 adds: versions, other files."""

from __future__ import annotations

import json

import pytest

import gltf_bullet as gb
from tests.spec.files import Json, codes, file, loaded, node

KHR = "KHR_physics_rigid_bodies"
IMPLICIT = "KHR_implicit_shapes"
SHAPES: Json = {IMPLICIT: {"shapes": [{"type": "box"}, {"type": "plane", "plane": {}}]}}
BOX: Json = {"geometry": {"shape": 0}}


def versioned(**asset: object) -> bytes:
    return json.dumps({"asset": asset}).encode()


# --- asset ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.9"])
def test_every_version_of_major_2_is_read(version: str) -> None:
    assert codes(versioned(version=version)) == set()


@pytest.mark.parametrize("version", ["2", "2.", "2.0.0", "2.x", " 2.0", "2.0-beta"])
def test_a_version_must_be_two_numbers_and_a_point(version: str) -> None:
    assert codes(versioned(version=version)) == {"ASSET_VERSION_FORM"}


@pytest.mark.parametrize("minimum", ["2.0", "2.1"])
def test_min_version_up_to_the_draft_is_read(minimum: str) -> None:
    assert codes(versioned(version="2.1", minVersion=minimum)) == set()


@pytest.mark.parametrize("minimum", ["2.2", "3.0"])
def test_min_version_beyond_it_is_refused(minimum: str) -> None:
    assert "ASSET_VERSION" in codes(versioned(version="3.0", minVersion=minimum))


def test_min_version_must_not_be_greater_than_version() -> None:
    assert codes(versioned(version="2.0", minVersion="2.1")) == {"ASSET_VERSION_ORDER"}


# --- booleans -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "falls"), [(1, False), (0, True), (1.0, False)])
def test_a_boolean_that_is_written_as_a_number_is_what_it_means(number: float, falls: bool) -> None:
    extension = {KHR: {"motion": {"isKinematic": number, "mass": 2}, "collider": BOX}}
    content = file([node(extension)], SHAPES)
    with loaded(content) as scene:
        scene.step(24)
        assert (scene.world_from_node(0)[1, 3] < -1e-3) == falls
    assert codes(content) == {"TYPE_MENDED"}


@pytest.mark.parametrize("wrong", [2, -1, 0.5, "true", [], {}])
def test_any_other_value_gives_the_default(wrong: object) -> None:
    extension = {KHR: {"motion": {"isKinematic": wrong, "mass": 2}, "collider": BOX}}
    content = file([node(extension)], SHAPES)
    with loaded(content) as scene:
        scene.step(24)
        assert scene.world_from_node(0)[1, 3] < -1e-3
    assert codes(content) == {"TYPE_MENDED"}


@pytest.mark.parametrize(
    ("extensions", "tables"),
    [
        ({"OMI_collider": {"collider": 0}}, {"OMI_collider": {"colliders": [
            {"type": "box", "size": [1, 1, 1], "isTrigger": 1}]}}),
        ({"OMI_physics_gravity": {"type": "directional", "gravity": 1, "directional": {},
                                  "replace": 1, "stop": 0},
          "OMI_physics_body": {"trigger": {"shape": 0}}},
         {"OMI_physics_shape": {"shapes": [{"type": "box", "box": {}}]}}),
        ({KHR: {"collider": {"geometry": {"shape": 1}}}},
         {IMPLICIT: {"shapes": [{"type": "box"}, {"type": "plane", "plane": {"doubleSided": 1}}]}}),
        ({"MSFT_RigidBodies": {"rigidBody": {"isKinematic": 1}}}, {}),
        ({"MSFT_rigid_bodies": {"motion": {"isKinematic": 1}}}, {}),
    ],
)  # fmt: skip
def test_all_dialects_read_numbers_as_booleans(extensions: Json, tables: Json) -> None:
    assert codes(file([node(extensions)], tables)) - {"PLANE_SIDES_APPROXIMATED"} == {"TYPE_MENDED"}


# --- glTF 2.1 draft -------------------------------------------------------------------------------


def test_an_external_asset_is_named_as_left_out() -> None:
    content = file(
        [node({KHR: {"motion": {"mass": 1}, "collider": BOX}}, externalAsset=0)],
        asset={"version": "2.1"},
        shapes=[{"type": "sphere"}],
        externalAssets=[{"uri": "other.glb"}],
    )
    found = gb.check(content).issues
    assert [(i.code, i.pointer) for i in found] == [
        ("EXTERNAL_ASSET_LEFT_OUT", "/nodes/0/externalAsset")
    ]
    assert "other.glb" in found[0].message


def test_an_external_asset_that_no_node_holds_is_nothing() -> None:
    assert codes(file([node()], externalAssets=[{"uri": "other.glb"}])) == set()


def test_an_external_asset_that_is_not_there_is_named_by_its_index() -> None:
    found = gb.check(file([node(externalAsset=7)])).issues
    assert [issue.code for issue in found] == ["EXTERNAL_ASSET_LEFT_OUT"]
    assert "7" in found[0].message
