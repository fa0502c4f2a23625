"""Rollouts of plain PyBullet worlds as animations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.runtime.recording.link_tracks import _most_on_a_path
from gltf_bullet.scene import AnimationSampler
from gltf_bullet.transforms import FloatArray, matrices_from_quats, matrices_from_trs
from tests.convert.robots import DATA
from tests.figures import Figure


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


def test_a_rollout_plays_back_within_its_tolerance(tmp_path: Path, figure: Figure) -> None:
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
    # All seven joints of the arm share what its tip may be off.
    for name, found, wanted in (("arm", found_tips, tips), ("ball", found_balls, balls)):
        apart = np.linalg.norm(found - np.array(wanted), axis=1)
        figure(name, apart.max(), most=1e-3, unit="m")


def chain(client: int, count: int) -> int:
    """Links on hinges, half a metre each, that hang on the world and lie level."""
    ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.05, physicsClientId=client)
    none, straight = [[0, 0, 0]] * count, [[0, 0, 0, 1]] * count
    body = pybullet.createMultiBody(
        0, ball, basePosition=[0, 0, 6], linkMasses=[1] * count,
        linkCollisionShapeIndices=[ball] * count, linkVisualShapeIndices=[-1] * count,
        linkPositions=[[0.5, 0, 0]] * count, linkOrientations=straight,
        linkInertialFramePositions=none, linkInertialFrameOrientations=straight,
        linkParentIndices=list(range(count)), linkJointAxis=[[0, 1, 0]] * count,
        linkJointTypes=[pybullet.JOINT_REVOLUTE] * count, physicsClientId=client,
    )  # fmt: skip
    for joint in range(count):
        pybullet.setJointMotorControl2(
            body, joint, pybullet.VELOCITY_CONTROL, force=0, physicsClientId=client
        )
    return int(body)


def test_the_end_of_a_chain_is_within_the_tolerance(tmp_path: Path) -> None:
    """Errors add up over the links: with 1 mm for each, the eighth was 4 mm off."""
    path, links = tmp_path / "rollout.glb", range(8)
    with headless_world() as client:
        body = chain(client, len(links))
        recording = gb.record_world(client, tolerance=1e-3)
        expected = []
        for _ in range(240):
            recording.step()
            states = pybullet.getLinkStates(
                body, links, computeForwardKinematics=1, physicsClientId=client
            )
            expected.append([state[4] for state in states])
        recording.export_glb(path)
    nodes = [gb.read_asset(path).tree.names.index(f"link{k + 1}") - 1 for k in links]
    for step in range(4, 240, 5):
        found = played(path, (step + 1) / 240)[nodes]
        assert np.linalg.norm(found - expected[step], axis=1).max() < 1e-3


def test_links_share_a_tolerance_with_those_on_their_way() -> None:
    """A trunk with a twig of one moving link, and a branch of two."""
    parents = [-1, 0, 0, 2]
    assert _most_on_a_path(parents, [1, 1, 1, 1]).tolist() == [3, 2, 3, 3]
    assert _most_on_a_path(parents, [0, 1, 1, 1]).tolist() == [2, 1, 2, 2]
    assert _most_on_a_path(parents, [0, 0, 0, 0]).tolist() == [1, 1, 1, 1]


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


def thrown(client: int, bodies: list[int], chance: np.random.Generator) -> None:
    """Up, so that they tumble and bounce for some seconds more."""
    for body in bodies:
        upward = [*chance.uniform(-1, 1, 2), 5.0]
        pybullet.resetBaseVelocity(
            body, upward, chance.uniform(-5, 5, 3).tolist(), physicsClientId=client
        )


@pytest.mark.slow
@pytest.mark.parametrize(("fps", "pause"), [(30, 60), (240, 3)], ids=["falling", "thrown"])
def test_a_minute_of_20_bodies_is_a_fifth_of_a_key_per_frame(
    tmp_path: Path, figure: Figure, fps: int, pause: int
) -> None:
    """Falling bodies come to rest, and are compared with 30 frames per second.

    Bodies that are thrown every 3 s never rest: they are compared with all frames there are.
    """
    chance = np.random.default_rng(3)
    with headless_world() as client:
        bodies = bouncing(client, 20)
        gb.export_world(tmp_path / "still.glb", client)
        sparse = gb.record_world(client, tolerance=1e-3)
        every = gb.record_world(client, fps=fps)
        places = []
        for step in range(1, 240 * 60 + 1):
            pybullet.stepSimulation(client)
            sparse.after_step()
            every.after_step()
            places.append([pybullet.getBasePositionAndOrientation(b, client)[0] for b in bodies])
            if step % (pause * 240) == 0:
                thrown(client, bodies, chance)
        sparse.export_glb(tmp_path / "sparse.glb")
        every.export_glb(tmp_path / "every.glb", tolerance=1e-12)
    still, small, large = (
        (tmp_path / f"{name}.glb").stat().st_size for name in ("still", "sparse", "every")
    )
    figure("size without meshes, of a key per frame", (small - still) / (large - still), most=0.2)
    if fps == 240:
        figure("size of a key per frame", small / large, most=0.2)
    tracks = gb.read_asset(tmp_path / "sparse.glb").animations[0].tracks
    nodes = sorted({track.node for track in tracks})
    assert len(nodes) == len(bodies)
    t, r, s = (np.zeros((max(nodes) + 1, width)) for width in (3, 4, 3))
    sampler = AnimationSampler(tracks)
    apart = []
    for step, wanted in enumerate(places, start=1):
        sampler.sample_into(step / 240, t, r, s)
        apart.append(np.linalg.norm(t[nodes] - wanted, axis=1).max())
    figure("farthest in the replay", np.max(apart), most=1e-3, unit="m")


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


def flying(client: int, at: float, speed: float) -> int:
    """A ball that flies along Y, from ``x = at``."""
    sphere = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client)
    ball = pybullet.createMultiBody(1, sphere, basePosition=[at, 0, 0], physicsClientId=client)
    pybullet.changeDynamics(ball, -1, linearDamping=0.0, physicsClientId=client)
    pybullet.resetBaseVelocity(ball, [0, speed, 0], physicsClientId=client)
    return int(ball)


def played(path: Path, time: float) -> FloatArray:
    """Where the nodes below the world's are in PyBullet's axes, shape [k, 3]."""
    asset = gb.read_asset(path)
    tree = asset.tree
    t, r, s = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
    AnimationSampler(asset.animations[0].tracks).sample_into(time, t, r, s)
    x, y, z = tree.compose(matrices_from_trs(t, r, s), np.eye(4))[1:, :3, 3].T
    return np.stack([x, -z, y], axis=1)


@pytest.mark.parametrize("id_is_taken", [False, True])
def test_a_removed_body_ends_its_motion(tmp_path: Path, id_is_taken: bool) -> None:
    """At 30 Hz its last frame is of 24 steps; whoever gets its id is another body."""
    path = tmp_path / "rollout.glb"
    with headless_world(gravity=(0, 0, 0)) as client:
        stays, goes = flying(client, 0.0, 1.0), flying(client, 1.0, 2.0)
        recording = gb.record_world(client, fps=30)
        recording.step(30)
        pybullet.removeBody(goes, physicsClientId=client)
        if id_is_taken:
            assert flying(client, 50.0, 7.0) == goes
        recording.step(2)  # to the next frame
        assert [issue.code for issue in recording.issues] == ["RECORDED_BODY_GONE"]
        recording.step(28)
        pybullet.removeBody(stays, physicsClientId=client)
    recording.export_glb(path)  # the world is gone, too
    assert recording.issues[0].values["body"] == goes
    assert np.allclose(played(path, 0.05), [(0, 0.05, 0), (1, 0.1, 0)], atol=1e-4)
    assert np.allclose(played(path, 0.2), [(0, 0.2, 0), (1, 2 * 24 / 240, 0)], atol=1e-4)


def test_two_recordings_of_a_body_notice_its_removal() -> None:
    with headless_world() as client:
        ball = flying(client, 0.0, 1.0)
        first, second = gb.record_world(client), gb.record_world(client)
        pybullet.resetSimulation(physicsClientId=client)
        assert flying(client, 3.0, 1.0) == ball
        third = gb.record_world(client)
        for recording in (first, second, third):
            recording.step(8)
        assert [len(recording.issues) for recording in (first, second, third)] == [1, 1, 0]


def test_a_disconnected_world_is_said_to_be() -> None:
    with headless_world() as client:
        flying(client, 0.0, 1.0)
        recording = gb.record_world(client)
    for step in (recording.after_step, recording.step):
        with pytest.raises(gb.EngineError, match="physics client"):
            step()


def test_bodies_that_are_made_meanwhile_are_named(tmp_path: Path) -> None:
    """Where all were meant; one that comes for another with its id is named with that."""
    with headless_world() as client:
        first, second = flying(client, 0.0, 1.0), flying(client, 1.0, 1.0)
        everything, one = gb.record_world(client), gb.record_world(client, bodies=[first])
        third = flying(client, 2.0, 1.0)
        for recording in (everything, one):
            recording.step(8)
        pybullet.removeBody(second, physicsClientId=client)
        assert flying(client, 3.0, 1.0) == second
        fourth = flying(client, 4.0, 1.0)
        for recording in (everything, one):
            recording.step(60)
            recording.export_glb(tmp_path / "film.glb")
    assert one.issues == ()
    assert [(issue.code, issue.values["body"]) for issue in everything.issues] == [
        ("RECORDED_WITHOUT_BODY", third),
        ("RECORDED_BODY_GONE", second),
        ("RECORDED_WITHOUT_BODY", fourth),
    ]


def test_a_body_that_is_made_meanwhile_is_the_only_finding() -> None:
    with headless_world() as client:
        recording = gb.record_world(client)
        ball = flying(client, 0.0, 1.0)
        recording.step(16)
    assert [issue.values["body"] for issue in recording.issues] == [ball]


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_the_tolerance_of_an_export_must_be_above_zero(tmp_path: Path, value: float) -> None:
    with headless_world() as client:
        recording = gb.record_world(client)
        with pytest.raises(ValueError, match=r"tolerance is .* must be a finite number > 0"):
            recording.export_glb(tmp_path / "film.glb", tolerance=value)
    assert not (tmp_path / "film.glb").exists()


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_fps_and_tolerance_must_be_numbers_above_zero(value: float) -> None:
    with headless_world() as client:
        with pytest.raises(ValueError, match="fps"):
            gb.record_world(client, fps=value)
        with pytest.raises(ValueError, match="tolerance"):
            gb.record_world(client, tolerance=value)
