"""Rollouts of plain PyBullet worlds as animations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.scene import AnimationSampler
from gltf_bullet.transforms import matrices_from_quats
from tests.convert.robots import DATA


def bouncing(client: int, count: int) -> list[int]:
    pybullet.loadURDF(str(DATA / "plane.urdf"), physicsClientId=client)
    chance = np.random.default_rng(7)
    bodies = []
    for k in range(count):
        file = "soccerball.urdf" if k % 2 else "cube_small.urdf"
        place = [*chance.uniform(-1, 1, 2), 0.5 + 0.3 * k]
        body = pybullet.loadURDF(str(DATA / file), place, physicsClientId=client)
        pybullet.changeDynamics(body, -1, restitution=0.8, physicsClientId=client)
        bodies.append(body)
    return bodies


def test_a_rollout_plays_back_within_its_tolerance(tmp_path: Path) -> None:
    """A bouncing ball and a driven arm, looked at in every step: also between frames of 1/30 s."""
    path = tmp_path / "rollout.glb"
    with headless_world() as client:
        (ball,) = bouncing(client, 1)
        arm = pybullet.loadURDF(
            str(DATA / "kuka_iiwa/model.urdf"), [2, 0, 0], useFixedBase=True, physicsClientId=client
        )
        recording = gb.record_world(client, tolerance=1e-3)
        balls, tips = [], []
        for k in range(480):
            pybullet.setJointMotorControl2(
                arm, 1, pybullet.POSITION_CONTROL, 0.5 * np.sin(0.05 * k), physicsClientId=client
            )
            pybullet.stepSimulation(client)
            recording.after_step()
            balls.append(pybullet.getBasePositionAndOrientation(ball, client)[0])
            tips.append(
                pybullet.getLinkState(arm, 6, computeForwardKinematics=1, physicsClientId=client)[4]
            )
        assert recording.duration == pytest.approx(2.0)
        recording.export_glb(path)
    asset = gb.read_asset(path)
    assert not asset.issues
    (animation,) = asset.animations
    tree, sampler = asset.tree, AnimationSampler(animation.tracks)
    names = list(tree.names)
    nodes = [names.index("baseLink"), names.index("lbr_iiwa_link_7")]
    found = []
    for k in range(1, 481):
        t, r, s = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
        sampler.sample_into(k / 240.0, t, r, s)
        local = np.zeros((len(tree), 4, 4))
        local[:, :3, :3] = matrices_from_quats(r) * s[:, None, :]
        local[:, :3, 3], local[:, 3, 3] = t, 1.0
        x, y, z = tree.compose(local, np.eye(4))[nodes, :3, 3].T
        found.append(np.stack([x, -z, y], axis=1))  # +Y up to +Z up
    found_balls, found_tips = np.array(found).transpose(1, 0, 2)
    # The arm's errors add up over its joints: 1 mm of turn at 1 m for each of seven.
    assert np.abs(np.array(found_tips) - np.array(tips)).max() < 7e-3
    assert np.linalg.norm(np.array(found_balls) - np.array(balls), axis=1).max() < 1.1e-3


def test_keys_are_kept_where_they_are_needed(tmp_path: Path) -> None:
    with headless_world() as client:
        bouncing(client, 6)
        sparse = gb.record_world(client, tolerance=1e-3)
        every = gb.record_world(client, fps=60.0)
        for _ in range(240 * 12):
            pybullet.stepSimulation(client)
            sparse.after_step()
            every.after_step()
        assert (sparse.frame_count, every.frame_count) == (240 * 12 + 1, 60 * 12 + 1)
        gb.export_world(tmp_path / "still.glb", client)
        sparse.export_glb(tmp_path / "sparse.glb")
        every.export_glb(tmp_path / "every.glb", tolerance=1e-12)
    sizes = {
        name: (tmp_path / f"{name}.glb").stat().st_size for name in ("still", "sparse", "every")
    }
    assert sizes["sparse"] - sizes["still"] < 0.4 * (sizes["every"] - sizes["still"])


@pytest.mark.slow
def test_a_minute_of_20_bodies_is_a_fifth_of_a_key_per_frame(tmp_path: Path) -> None:
    with headless_world() as client:
        bouncing(client, 20)
        sparse = gb.record_world(client, tolerance=1e-3)
        every = gb.record_world(client, fps=30.0)
        for _ in range(240 * 60):
            pybullet.stepSimulation(client)
            sparse.after_step()
            every.after_step()
        gb.export_world(tmp_path / "still.glb", client)
        sparse.export_glb(tmp_path / "sparse.glb")
        every.export_glb(tmp_path / "every.glb", tolerance=1e-12)
    sizes = {
        name: (tmp_path / f"{name}.glb").stat().st_size for name in ("still", "sparse", "every")
    }
    assert sizes["sparse"] - sizes["still"] <= 0.2 * (sizes["every"] - sizes["still"])


def test_there_are_no_more_frames_than_asked_for_after_long_steps() -> None:
    """Ten steps of 0.1 s, each a frame, then 1/12 s in short ones: of 30 Hz that holds two."""
    with headless_world(time_step=0.1) as client:
        bouncing(client, 1)
        recording = gb.record_world(client, fps=30)
        recording.step(10)
        assert recording.frame_count == 11
        pybullet.setTimeStep(1 / 240, physicsClientId=client)
        recording.step(20)
        assert recording.frame_count == 13


def test_a_removed_body_ends_the_recording_with_an_error() -> None:
    with headless_world() as client:
        (ball,) = bouncing(client, 1)
        recording = gb.record_world(client)
        pybullet.removeBody(ball, physicsClientId=client)
        with pytest.raises(gb.EngineError, match="gone"):
            recording.step(60)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_fps_and_tolerance_must_be_numbers_above_zero(value: float) -> None:
    with headless_world() as client:
        with pytest.raises(ValueError, match="fps"):
            gb.record_world(client, fps=value)
        with pytest.raises(ValueError, match="tolerance"):
            gb.record_world(client, tolerance=value)
