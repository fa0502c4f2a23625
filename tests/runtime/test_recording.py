"""Written files: the present pose, velocities, and rollouts as animations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pybullet
import pygltflib
import pytest
import trimesh

import gltf_bullet as gb
from gltf_bullet.runtime.recording.keyframes import (
    reduce_rotations,
    reduce_steps,
    reduce_vectors,
)
from gltf_bullet.scene import AnimationSampler
from gltf_bullet.transforms import (
    FloatArray,
    matrices_from_quats,
    matrices_from_trs,
    quat_from_rotation_vector,
)
from tests.physics.scenes import Scenery, world


def nested_scene() -> bytes:
    """A box with a child body, below a turned and scaled group, over a ground."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.5, 0.5, 0.5])
    slab = scenery.shape("box", size=[20, 1, 20])
    inner = scenery.node(
        "Inner", at=(1, 0.5, 0), shape=box,
        motion={"mass": 1, "linearVelocity": [0.2, 0, 0.1], "angularVelocity": [0, 1, 0]},
    )  # fmt: skip
    outer = scenery.node(
        "Outer", at=(0, 2, 0), children=[inner], shape=box,
        motion={"mass": 1, "angularVelocity": [0.5, 0, 0.3]},
    )  # fmt: skip
    scenery.node(
        "Group", at=(0.5, 0, 0), rotation=(0, 0.6, 0, 0.8), scale=(2, 2, 2), children=[outer]
    )
    scenery.node("Ground", at=(0, -0.5, 0), shape=slab)
    return scenery.bytes()


def test_an_exported_pose_loads_where_the_simulation_stood(tmp_path: Path) -> None:
    path = tmp_path / "pose.glb"
    with world(nested_scene()) as scene:
        scene.step(100)
        scene.export_glb(path)
        expected = scene.node_matrices.copy()
        velocities = {
            name: (scene.bodies[name].linear_velocity, scene.bodies[name].angular_velocity)
            for name in ("Inner", "Outer")
        }
    with world(str(path)) as again:
        assert np.allclose(again.node_matrices, expected, atol=1e-6)
        for name, (linear, angular) in velocities.items():
            assert np.allclose(again.bodies[name].linear_velocity, linear, atol=1e-6)
            assert np.allclose(again.bodies[name].angular_velocity, angular, atol=1e-6)


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_a_recorded_rollout_reproduces_the_simulated_poses(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rollout{suffix}"
    with world(nested_scene()) as scene:
        recording = gb.record(scene, fps=60)
        poses = {0.0: scene.node_matrices.copy()}
        for _ in range(120):
            scene.step(4)
            poses[scene.time] = scene.node_matrices.copy()
        recording.export_glb(path)
    asset = gb.read_asset(str(path))
    assert not asset.issues
    (animation,) = asset.animations
    sampler = AnimationSampler(animation.tracks)
    tree = asset.tree
    for time, expected in poses.items():
        t, r, s = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
        sampler.sample_into(time, t, r, s)
        local = np.zeros((len(tree), 4, 4))
        local[:, :3, :3] = matrices_from_quats(r) * s[:, None, :]
        local[:, :3, 3], local[:, 3, 3] = t, 1.0
        found = tree.compose(local, np.eye(4))
        assert np.abs(found[:, :3, 3] - expected[:, :3, 3]).max() < 1e-3
        turn = found[:, :3, :3] @ np.linalg.inv(expected[:, :3, :3])
        cosine = np.clip((np.trace(turn, axis1=1, axis2=2) - 1) / 2, -1, 1)
        assert np.degrees(np.arccos(cosine)).max() < 0.1
    pygltflib.GLTF2().load(str(path))
    if suffix == ".glb":
        trimesh.load(path)


def test_frames_at_every_step_are_reproduced_within_the_tolerance(tmp_path: Path) -> None:
    path = tmp_path / "rollout.glb"
    with world(nested_scene()) as scene:
        recording = gb.record(scene, fps=240)
        expected = []
        for _ in range(240):
            scene.step()
            expected.append(
                (scene.time, scene.core.nodes.local_matrices(scene.core.nodes.moving_nodes))
            )
        recording.export_glb(path, tolerance=1e-3, angle_tolerance=np.radians(0.1))
        nodes = scene.core.nodes.moving_nodes
    asset = gb.read_asset(str(path))
    sampler = AnimationSampler(asset.animations[0].tracks)
    tree = asset.tree
    for time, local in expected:
        t, r, s = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
        sampler.sample_into(time, t, r, s)
        assert np.abs(t[nodes] - local[:, :3, 3]).max() < 1.01e-3
        turn = matrices_from_quats(r[nodes]) @ np.swapaxes(local[:, :3, :3], 1, 2)
        cosine = np.clip((np.trace(turn, axis1=1, axis2=2) - 1) / 2, -1, 1)
        assert np.degrees(np.arccos(cosine)).max() < 0.11


def groups_scene() -> bytes:
    """A flying box in a group, and a static slab."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.5, 0.5, 0.5])
    flying = scenery.node(
        "Flying", at=(0, 5, 0), shape=box, motion={"mass": 1, "linearVelocity": [1, 0, 0]}
    )
    scenery.node("Group", at=(0.5, 0, 0), children=[flying])
    scenery.node("Slab", at=(0, -3, 0), shape=scenery.shape("box", size=[9, 0.2, 9]))
    return scenery.bytes()


def played(path: Path, time: float) -> FloatArray:
    """world_from_node of all nodes at a moment of a file's last animation."""
    asset = gb.read_asset(path)
    tree = asset.tree
    t, r, s = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
    AnimationSampler(asset.animations[-1].tracks).sample_into(time, t, r, s)
    return tree.compose(matrices_from_trs(t, r, s), np.eye(4))


def test_nodes_that_were_set_elsewhere_are_exported_there(tmp_path: Path) -> None:
    path = tmp_path / "pose.glb"
    with world(groups_scene()) as scene:
        scene.step(10)
        scene.set("/nodes/2/translation", [0, -1, 0])
        scene.set("/nodes/1/translation", [7, 0, 0])
        expected = scene.node_matrices.copy()
        assert scene.world_from_node("Group")[0, 3] == 7.0
        scene.export_glb(path)
    with world(str(path)) as again:
        assert again.world_from_node("Slab")[1, 3] == pytest.approx(-1.0)
        assert np.allclose(again.node_matrices, expected, atol=1e-6)


def test_nodes_that_are_set_while_recording_jump_and_bodies_fly_on(tmp_path: Path) -> None:
    path = tmp_path / "rollout.glb"
    with world(groups_scene(), gravity=0.0) as scene:
        recording = gb.record(scene, fps=10)
        scene.step(100)
        moment = scene.time  # between two frames
        scene.set("/nodes/2/translation", [0, -1, 0])
        scene.set("/nodes/1/translation", [7, 0, 0])
        scene.step(100)
        assert recording.duration == pytest.approx(192 / 240)  # the last frame of 10 Hz
        recording.export_glb(path)
    for time in (0.0, 0.2, moment - 1e-4, moment + 1e-4, 0.5, 200 / 240):
        is_set = time > moment
        flying, group, slab = played(path, time)[:, :3, 3]
        assert np.allclose(flying, (0.5 + time, 5.0, 0.0), atol=1e-3)
        assert np.allclose(group, (7.0 if is_set else 0.5, 0.0, 0.0), atol=1e-5)
        assert np.allclose(slab, (0.0, -1.0 if is_set else -3.0, 0.0), atol=1e-5)
    with world(str(path)) as again:
        assert again.animations["Simulation"].duration == pytest.approx(200 / 240)


def test_a_stopped_recording_ends_there(tmp_path: Path) -> None:
    path = tmp_path / "rollout.glb"
    with world(groups_scene(), gravity=0.0) as scene:
        recording = gb.record(scene, fps=10)
        scene.step(100)
        recording.stop()
        scene.set("/nodes/1/translation", [7, 0, 0])
        scene.step(100)
        recording.stop()
        recording.export_glb(path)
        assert recording.duration == pytest.approx(100 / 240)
    assert gb.read_asset(path).animations[-1].duration == pytest.approx(100 / 240)
    assert np.allclose(played(path, 1.0)[0, :3, 3], (0.5 + 100 / 240, 5.0, 0.0), atol=1e-3)


@pytest.mark.parametrize("way", ["reset", "restore_state", "restart"])
def test_a_recording_begins_anew_where_the_scene_goes_back(tmp_path: Path, way: str) -> None:
    """The second run takes other values than the first, of which no frame is left."""
    path = tmp_path / "rollout.glb"
    with world(groups_scene(), gravity=0.0) as scene:
        start = scene.save_state()
        recording = gb.record(scene, fps=30)
        scene.step(200)
        begin = 0.0
        if way == "reset":
            scene.reset()
        elif way == "restart":
            scene.restart(start, {"/nodes/0/translation": [2, 5, 0]})
            begin = 2.0
        else:
            scene.restore_state(start)
        assert recording.frame_count == 1
        scene.apply_impulse("Flying", (1, 0, 0))  # of 1 kg: 2 m/s from now on
        scene.step(120)
        recording.export_glb(path)
        assert recording.duration == pytest.approx(0.5)
        assert recording.frame_count == 16
    for time in (0.0, 0.25, 0.5):
        assert played(path, time)[0, 0, 3] == pytest.approx(0.5 + begin + 2 * time, abs=1e-3)


def test_a_take_may_begin_in_the_middle_of_a_run() -> None:
    with world(groups_scene(), gravity=0.0) as scene:
        scene.step(24)
        middle = scene.save_state()
        scene.step(24)
        recording = gb.record(scene, fps=60)
        scene.step(24)
        scene.restore_state(middle)
        scene.step(48)
        assert recording.duration == pytest.approx(0.2)
        assert recording.frame_count == 13


def test_there_are_no_more_frames_than_asked_for_after_long_steps() -> None:
    """Ten steps of 0.1 s, each a frame, then 1/12 s in short ones: of 30 Hz that holds two."""
    with world(groups_scene(), rate=10.0) as scene:
        recording = gb.record(scene, fps=30)
        scene.step(10)
        assert recording.frame_count == 11
        pybullet.setTimeStep(1 / 240, physicsClientId=scene.client_id)
        scene.step(20)
        assert recording.frame_count == 13


def test_everything_else_of_the_file_stays_as_it_was(tmp_path: Path) -> None:
    root = json.loads(nested_scene())
    root["extras"] = {"author": "somebody"}
    root["extensions"]["VENDOR_thing"] = {"keep": [1, 2]}
    root["nodes"][0]["extras"] = {"unknown": True}
    root["strangeKey"] = "kept"
    path = tmp_path / "pose.gltf"
    with world(json.dumps(root).encode()) as scene:
        scene.step(3)
        scene.export_glb(path)
    written = json.loads(path.read_text())
    for key in ("extras", "strangeKey", "scenes", "extensionsUsed"):
        assert written[key] == root[key]
    assert written["extensions"] == root["extensions"]
    assert written["nodes"][0]["extras"] == {"unknown": True}
    assert written["nodes"][2] == root["nodes"][2]


def test_keys_on_a_line_and_on_an_arc_are_dropped() -> None:
    times = np.linspace(0.0, 1.0, 101)
    line = np.stack([3 * times, -times, 0 * times], axis=1)
    assert reduce_vectors(times, line, 1e-6).tolist() == [0, 100]
    bent = line.copy()
    bent[50:, 1] += times[50:] - 0.5
    assert reduce_vectors(times, bent, 1e-6).tolist() == [0, 50, 100]
    arc = quat_from_rotation_vector(np.stack([0 * times, 2 * times, 0 * times], axis=1))
    assert reduce_rotations(times, arc, 1e-6).tolist() == [0, 100]
    assert reduce_vectors(times, np.zeros((101, 3)), 1e-6).tolist() == [0]


def test_keys_leave_room_for_the_floats_of_a_file() -> None:
    """After 15 minutes times are 3e-5 s off, and what falls at 10 m/s by 0.3 mm."""
    times = 901.3 + np.arange(241) / 240.0
    since = times - times[0]
    fall = np.stack([since, 0.0 * since, -4.905 * since**2], axis=1)
    tolerance = 4.8e-3  # what 1/16 s of a fall are off a line, and a hair
    keys = reduce_vectors(times, fall, tolerance)
    assert len(keys) < 40
    written = times[keys].astype(np.float32).astype(np.float64)
    played = np.stack([np.interp(times, written, fall[keys, k]) for k in range(3)], axis=1)
    assert np.linalg.norm(played - fall, axis=1).max() <= tolerance


@pytest.mark.parametrize("share", [0.57, 0.6, 0.99])
def test_the_tolerance_is_a_distance_also_where_all_axes_move(share: float) -> None:
    """A motion of ``share`` along each of three axes is sqrt(3) times as long."""
    times, tolerance = np.linspace(0.0, 1.0, 50), 1e-4
    line = times[:, None] * np.full(3, share * tolerance)
    for reduce in (
        lambda: reduce_vectors(times, line, tolerance),
        lambda: reduce_steps(line, tolerance),
    ):
        kept = reduce().tolist()
        assert len(kept) > 1 if share * np.sqrt(3.0) > 1.0 else kept == [0]


@pytest.mark.parametrize("name", ["tolerance", "angle_tolerance"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_tolerance_must_be_a_number_of_zero_or_more(
    tmp_path: Path, name: str, value: float
) -> None:
    with world(nested_scene()) as scene:
        recording = gb.record(scene)
        with pytest.raises(ValueError, match=f"{name} is .* must be a finite number >= 0"):
            recording.export_glb(tmp_path / "film.glb", **{name: value})
    assert not (tmp_path / "film.glb").exists()


def test_what_is_no_scene_is_refused_with_the_call_for_worlds() -> None:
    with pytest.raises(TypeError, match=r"scene is 0; must be a Scene; record_world"):
        gb.record(0)  # type: ignore[arg-type]
