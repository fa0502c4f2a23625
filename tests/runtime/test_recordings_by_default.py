"""A recording keeps within a millimetre of every step, with nothing said about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.scene import AnimationSampler
from gltf_bullet.transforms import matrices_from_trs
from tests.physics.scenes import Scenery, world


def bouncing() -> bytes:
    """A ball of restitution 1 over a floor: it meets it at 4.4 m/s."""
    scenery = Scenery()
    bounces = scenery.material(restitution=1.0)
    ball = scenery.shape("sphere", radius=0.1)
    slab = scenery.shape("box", size=[20, 1, 20])
    scenery.node("Ball", at=(0, 1.1, 0), shape=ball, material=bounces, motion={"mass": 1})
    scenery.node("Ground", at=(0, -0.5, 0), shape=slab, material=bounces)
    return scenery.bytes()


def nested() -> bytes:
    """Bodies in bodies, a spinning one that carries a node 3 m away, all below a scale of 2."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.2, 0.3, 0.5])
    far = scenery.node("Far", at=(1.5, 0, 0))
    inner = scenery.node(
        "Inner", at=(1, 0.5, 0), shape=box, children=[far],
        motion={"mass": 1, "linearVelocity": [0.2, 3, 0.1], "angularVelocity": [1, 4, 2]},
    )  # fmt: skip
    outer = scenery.node(
        "Outer", at=(0, 2, 0), children=[inner], shape=box,
        motion={"mass": 1, "linearVelocity": [0, 4, 1], "angularVelocity": [2.5, 0, 3]},
    )  # fmt: skip
    scenery.node("Group", rotation=(0, 0.6, 0, 0.8), scale=(2, 2, 2), children=[outer])
    return scenery.bytes()


def played(path: Path, times: list[float], world_from_asset: np.ndarray) -> np.ndarray:
    """Where the nodes of a file are when its animation plays, shape [time, node, 4, 4]."""
    asset = gb.read_asset(str(path))
    sampler, tree, found = AnimationSampler(asset.animations[-1].tracks), asset.tree, []
    for time in times:
        parts = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
        sampler.sample_into(time, *parts)
        found.append(tree.compose(matrices_from_trs(*parts), world_from_asset))
    return np.array(found)


@pytest.mark.parametrize("tolerance", [None, 1e-4])
@pytest.mark.parametrize("content", [bouncing, nested])
def test_playback_is_within_the_tolerance_at_every_step(
    content: object, tolerance: float | None, tmp_path: Path
) -> None:
    path = tmp_path / "rollout.glb"
    with world(content()) as scene:  # type: ignore[operator]
        recording = gb.record(scene, tolerance=tolerance)
        times, seen = [0.0], [scene.node_matrices.copy()]
        for _ in range(480):
            scene.step()
            times.append(scene.time)
            seen.append(scene.node_matrices.copy())
        recording.export_glb(path)
        assert recording.frame_count == 481
        placed = scene.core.placement.matrix
    gaps = played(path, times, placed)[:, :, :3, 3] - np.array(seen)[:, :, :3, 3]
    assert np.linalg.norm(gaps, axis=2).max() < 1.01 * (tolerance or 1e-3)


def test_a_rate_misses_a_bounce(tmp_path: Path) -> None:
    path = tmp_path / "rollout.glb"
    with world(bouncing()) as scene:
        recording = gb.record(scene, fps=30)
        times, seen = [0.0], [scene.world_from_node(0)[:3, 3]]
        for _ in range(480):
            scene.step()
            times.append(scene.time)
            seen.append(scene.world_from_node(0)[:3, 3])
        recording.export_glb(path)
        assert recording.frame_count == 61
        placed = scene.core.placement.matrix
    gaps = played(path, times, placed)[:, 0, :3, 3] - np.array(seen)
    assert np.linalg.norm(gaps, axis=1).max() > 0.02


def test_the_size_is_said(tmp_path: Path) -> None:
    """128 bytes of memory for each step and node that moves; a few kB of the file a second."""
    path, still = tmp_path / "rollout.glb", tmp_path / "still.glb"
    with world(bouncing()) as scene:
        scene.export_glb(still)
        recording = gb.record(scene)
        scene.step(480)
        recording.export_glb(path)
        assert recording.size == 481 * 128
        assert "61.6 kB" in repr(recording)
    assert path.stat().st_size - still.stat().st_size < 2 * 4000


def test_a_set_between_steps_is_a_jump_in_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "rollout.glb"
    with world(bouncing()) as scene:
        recording = gb.record(scene)
        scene.step(60)
        scene.set("/nodes/0/translation", (3, 1, 0))
        scene.step(60)
        seen = scene.world_from_node(0)[:3, 3]
        recording.export_glb(path)
        placed = scene.core.placement.matrix
        times = [60 / 240 - 1e-3, 60 / 240 + 1e-6, scene.time]
    before, after, end = played(path, times, placed)[:, 0, :3, 3]
    assert before[0] == pytest.approx(0.0, abs=1e-3)
    assert after[0] == pytest.approx(3.0, abs=1e-3)
    assert end == pytest.approx(seen, abs=1e-3)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_wrong_tolerances_are_refused(value: float) -> None:
    with world(bouncing()) as scene, pytest.raises(ValueError, match="tolerance"):
        gb.record(scene, tolerance=value)


def test_worlds_are_recorded_at_every_step_by_default() -> None:
    with world(bouncing()) as scene:
        recording = gb.record_world(scene.client_id)
        recording.step(24)
        assert recording.frame_count == 25
