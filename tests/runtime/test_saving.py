"""Scenes saved with the values that were set: those, and nothing else, are in the file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.model.pointers import pointers_of

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
SHARED = Path(__file__).parents[3] / "shared" / "assets"
KHR = "/extensions/KHR_physics_rigid_bodies"


def differing(before: Any, after: Any, at: str = "") -> dict[str, tuple[Any, Any]]:
    """Pointers of values that two JSON documents do not share, buffers left out."""
    if type(before) is type(after) and isinstance(before, (dict, list)):
        keys = before.keys() | after.keys() if isinstance(before, dict) else range(
            max(len(before), len(after))
        )  # fmt: skip
        found = {}
        for key in keys:
            if (at, key) == ("", "buffers"):
                continue
            one, other = (
                side[key] if (key in side if isinstance(side, dict) else key < len(side)) else None
                for side in (before, after)
            )
            found |= differing(one, other, f"{at}/{key}")
        return found
    is_same = before == after and isinstance(before, int) == isinstance(after, int)
    return {} if is_same else {at: (before, after)}


def saved(scene: gb.Scene, path: Path, **options: bool) -> dict[str, tuple[Any, Any]]:
    """What ``save`` changed, by pointer."""
    scene.save(path, **options)
    return differing(scene.asset.document.json, json.loads(path.read_text()))


def test_what_was_set_is_saved_and_nothing_else_is_touched(client: int, tmp_path: Path) -> None:
    scene = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)
    joint = f"{KHR}/physicsJoints/1"
    hand = scene.node("Hand").index
    motion = f"/nodes/{hand}{KHR}/motion"
    scene.set(f"{motion}/mass", 2.5)
    scene.set(f"{joint}/limits/1/max", 1.25)
    scene.joints["ElbowAxis"].set_gains(321.0, 12.0)
    scene.set_drive_targets({"WristAxis": 0.5})
    scene.step(30)
    found = saved(scene, tmp_path / "tuned.gltf")
    elbow, wrist = f"{KHR}/physicsJoints/2/drives/0", f"{KHR}/physicsJoints/4/drives/0"
    assert {pointer: after for pointer, (_, after) in found.items()} == {
        f"{motion}/mass": 2.5,
        f"{joint}/limits/1/max": 1.25,
        f"{elbow}/stiffness": 321,
        f"{elbow}/damping": 12,
        f"{wrist}/positionTarget": 0.5,
    }


def test_a_tuned_file_loads_as_it_was_tuned(client: int, tmp_path: Path) -> None:
    path = tmp_path / "tuned.glb"
    scene = gb.load_gltf(ASSETS / "vehicle.gltf", client)
    told: dict[str, Any] = {}
    for pointer in pointers_of(scene.core.model.at_load):
        value = scene.get(pointer)
        if isinstance(value, float) and 0.0 < value < np.inf:
            scene.set(pointer, 0.9 * value)
            told[pointer] = 0.9 * value
    assert len(told) > 20
    scene.save(path)
    with headless_world() as other:
        again = gb.load_gltf(path, other)
        assert not again.issues
        for pointer, value in told.items():
            assert again.get(pointer) == pytest.approx(value, rel=1e-9), pointer


def test_joints_that_share_a_description_part_where_one_is_set(client: int, tmp_path: Path) -> None:
    root = json.loads((ASSETS / "six_axis_arm.gltf").read_text())
    for node in root["nodes"]:
        joint = node.get("extensions", {}).get("KHR_physics_rigid_bodies", {}).get("joint")
        if joint:
            joint["joint"] = 1
    scene = gb.load_gltf(json.dumps(root).encode(), physics_client=client)
    for name in ("ElbowAxis", "HandAxis"):
        scene.joints[name].set_gains(123.5, 4.5)
    scene.save(tmp_path / "parted.gltf")
    written = json.loads((tmp_path / "parted.gltf").read_text())
    assert len(written["extensions"]["KHR_physics_rigid_bodies"]["physicsJoints"]) == 7
    with headless_world() as other:
        again = gb.load_gltf(tmp_path / "parted.gltf", other)
        stiffness = {joint.name: joint.drives[0].stiffness for joint in again.joints.values()}
    assert {name for name, value in stiffness.items() if value == 123.5} == {
        "ElbowAxis", "HandAxis",
    }  # fmt: skip
    assert set(stiffness.values()) == {123.5, root_stiffness(root)}


def root_stiffness(root: dict[str, Any]) -> float:
    joints = root["extensions"]["KHR_physics_rigid_bodies"]["physicsJoints"]
    return float(joints[1]["drives"][0]["stiffness"])


def test_velocities_are_saved_only_if_asked(client: int, tmp_path: Path) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    motion = f"/nodes/{scene.node('Crate').index}{KHR}/motion"
    scene.set(f"{motion}/linearVelocity", (1.0, 2.0, 0.0))
    scene.step(50)
    assert saved(scene, tmp_path / "still.gltf") == {}
    found = saved(scene, tmp_path / "moving.gltf", velocities=True)
    assert [after for _, after in found.values()] in ([[1.0, 2.0, 0.0]], [1.0, 2.0])


def test_a_node_that_was_set_is_saved_and_one_that_fell_is_not(client: int, tmp_path: Path) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    floor = scene.node("Floor").index
    scene.set(f"/nodes/{floor}/translation", (0.0, -2.5, 0.0))
    scene.step(50)
    written = saved(scene, tmp_path / "set.gltf")
    assert all(pointer.startswith(f"/nodes/{floor}/translation") for pointer in written)
    root = json.loads((tmp_path / "set.gltf").read_text())
    assert root["nodes"][floor]["translation"] == [0, -2.5, 0]


def test_the_file_itself_is_not_written_over_by_chance(tmp_path: Path, client: int) -> None:
    own = tmp_path / "own.gltf"
    own.write_text((ASSETS / "falling_box.gltf").read_text())
    scene = gb.load_gltf(own, client)
    with pytest.raises(FileExistsError):
        scene.save(own)
    scene.save(own, force=True)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the asset collection is not there")
@pytest.mark.parametrize(
    "name",
    ["khr_tests/RigidBodies_Joint/RigidBodies_Joint_10.gltf", "omi", "msft", "omi_collider"],
)
def test_every_dialect_holds_what_was_set(name: str, tmp_path: Path) -> None:
    place = SHARED / name
    files = sorted(place.rglob("*.gltf")) if place.is_dir() else [place]
    assert files
    for file in files:
        with headless_world() as client, headless_world() as other:
            scene = gb.load_gltf(file, client)
            told = {}
            for pointer in pointers_of(scene.core.model.at_load):
                value = scene.get(pointer)
                if not isinstance(value, float) or not 0.0 < value < np.inf:
                    continue
                with contextlib.suppress(KeyError, TypeError):  # of a node in no scene; read-only
                    scene.set(pointer, 0.9 * value)
                    told[pointer] = 0.9 * value
            told = {pointer: scene.get(pointer) for pointer in told}  # some share a place
            scene.save(tmp_path / "tuned.glb")
            again = gb.load_gltf(tmp_path / "tuned.glb", other)
            for pointer, value in told.items():
                assert again.get(pointer) == pytest.approx(value, rel=1e-9), (file, pointer)


def test_a_pose_is_written_without_noise_and_leaves_what_stands(
    client: int, tmp_path: Path
) -> None:
    """Nodes that have not moved keep the file's numbers: no -9.9e-33, and whole ones stay whole."""
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    before = scene.asset.document.json["nodes"]
    scene.export_glb(tmp_path / "start.gltf")
    nodes = json.loads((tmp_path / "start.gltf").read_text())["nodes"]
    for one, other in zip(before, nodes, strict=True):
        for key in ("translation", "rotation", "scale", "matrix"):
            assert json.dumps(one.get(key)) == json.dumps(other.get(key))
    scene.step(30)
    scene.export_glb(tmp_path / "fallen.gltf")
    crate = scene.node("Crate").index
    nodes = json.loads((tmp_path / "fallen.gltf").read_text())["nodes"]
    x, y, z = nodes[crate]["translation"]
    assert y < before[crate]["translation"][1]
    assert (x, z) == (before[crate]["translation"][0], before[crate]["translation"][2])
