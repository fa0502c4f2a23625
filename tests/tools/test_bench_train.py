"""The training benchmark compares like with like and prints what it measured."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

from gltf_bullet.envs import GltfEnv
from gltf_bullet.records import replace
from tests.envs.assets import pushes
from tools.bench.__main__ import app
from tools.bench.shared_tasks import shared_rows
from tools.bench.train import SOLE_FRICTION, TASKS, TRAIN_ROWS, BareVectorEnv, PlainEnv


def test_cart_poles_by_hand_move_as_the_file_does() -> None:
    task = TASKS["cart-pole"]
    ours = GltfEnv(task.read(), replace(task.config, on_reset=None))
    theirs, many = PlainEnv(task.plain), BareVectorEnv(3)
    try:
        ours.reset()
        theirs.reset(seed=0)
        many.reset()
        pole = theirs.step(np.zeros(1, np.float32))[0][3]
        for action in np.abs(pushes(12)):
            observed = ours.step(action)[0]
            rows = many.step(np.tile(action, (3, 1)))[0]
            assert (rows == rows[0]).all()
            assert observed == pytest.approx(rows[0], rel=0.02, abs=2e-3)
        assert pole != 0.0  # it starts with a push
    finally:
        for env in (ours, theirs, many):
            env.close()


def shapes(space: gymnasium.Space[Any]) -> object:
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: part.shape for name, part in space.spaces.items()}
    return space.shape


@pytest.mark.parametrize("name", TASKS)
def test_both_sides_see_and_do_as_many_numbers_for_as_long(name: str) -> None:
    task = TASKS[name]
    ours, theirs = GltfEnv(task.read(), task.config), PlainEnv(task.plain)
    try:
        assert shapes(ours.observation_space) == shapes(theirs.observation_space)
        assert ours.action_space.shape == theirs.action_space.shape
        for env in (ours, theirs):
            env.reset(seed=1)
            observed, _, _, truncated, _ = env.step(np.zeros(env.action_space.shape, np.float32))
            assert env.observation_space.contains(observed)
            assert not truncated
        assert task.config.max_episode_steps == task.plain.most_steps  # type: ignore[attr-defined]
    finally:
        ours.close()
        theirs.close()


def test_the_walkers_stand_alike() -> None:
    task = TASKS["walker"]
    ours, theirs = GltfEnv(task.read(), replace(task.config, on_reset=None)), PlainEnv(task.plain)
    try:
        for env in (ours, theirs):
            env.reset(seed=0)
        for _ in range(30):
            seen = [env.step(np.zeros(8, np.float32))[0] for env in (ours, theirs)]
        # The torso comes to stand as high; shins that carry it give way a little.
        assert seen[0][18] == pytest.approx(seen[1][18], abs=0.02)
        assert np.abs(np.array(seen)[:, :8]).max() < 0.1
    finally:
        ours.close()
        theirs.close()


def test_the_hoppers_fall_alike() -> None:
    task = TASKS["hopper"]
    ours = GltfEnv(task.read(), replace(task.config, randomization={}))
    theirs = PlainEnv(task.plain)
    try:
        ours.reset(seed=0)
        theirs.reset(seed=0)
        ours.scene.set(SOLE_FRICTION, 1.0)
        for _ in range(12):
            # Its joint nodes have glTF's Z, which is Bullet's -Y.
            seen, theirs_seen = (env.step(np.zeros(3, np.float32))[0] for env in (ours, theirs))
            assert seen[1] == pytest.approx(theirs_seen[1], abs=0.01)
        push = np.array([0.3, -0.3, 0.2], np.float32)
        seen, theirs_seen = ours.step(-push)[0], theirs.step(push)[0]
        assert -seen[3] == pytest.approx(theirs_seen[3], abs=0.05)
    finally:
        ours.close()
        theirs.close()


def test_the_grippers_see_and_close_alike() -> None:
    task = TASKS["gripper"]
    ours = GltfEnv(task.read(), replace(task.config, randomization={}))
    theirs = PlainEnv(task.plain)
    try:
        seen = ours.reset(seed=0)[0], theirs.reset(seed=0)[0]
        for picture in (found["camera"] for found in seen):
            # The cube is red, the fingers are blue.
            red, green, blue = np.moveaxis(picture.astype(int), 2, 0)
            assert 5 < (red > green + 40).sum() < 500
            assert 5 < (blue > red + 40).sum() < 500
        for fingers in (-1.0, 1.0):  # down first
            for _ in range(20):
                action = np.array([-1.0, fingers, -fingers], np.float32)
                seen = tuple(env.step(action)[0] for env in (ours, theirs))
        for found in seen:
            assert found["joint_positions"] == pytest.approx([-0.15, 0.04, -0.04], abs=0.015)
            assert found["bodies"][0, 2] == pytest.approx(0.02, abs=0.003)
    finally:
        ours.close()
        theirs.close()


@pytest.mark.slow
def test_every_way_to_run_environments_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [row.name for row in TRAIN_ROWS]
    assert names == [*TASKS, "async-2", "batch-16", "batch-64", "world-64"]
    monkeypatch.setattr("tools.bench.train.CHUNK", 3)
    quick = tuple(row for row in TRAIN_ROWS if row.name in ("cart-pole", "batch-16", "world-64"))
    monkeypatch.setattr("tools.bench.train.TRAIN_ROWS", quick)
    monkeypatch.setattr("tools.bench.shared_tasks.shared_rows", lambda: ())
    result = CliRunner().invoke(app, ["train", "--repeats", "1", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [row["row"] for row in found] == [row.name for row in quick]
    for row in found:
        assert row["ratio"] == pytest.approx(row["step_us"] / row["plain_step_us"])
    assert found[0]["reset_ratio"] == pytest.approx(
        found[0]["reset_us"] / found[0]["plain_reset_us"]
    )
    assert found[1]["reset_us"] == 0.0
    table = CliRunner().invoke(app, ["train", "--repeats", "1"])
    assert "world-64" in table.stdout


@pytest.mark.shared
def test_the_tasks_of_the_collection_are_measured_alone_and_as_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = tuple(shared_rows())
    if not rows:
        pytest.skip("the collection is not there")
    assert [row.name for row in rows] == [
        f"{task}{copies}" for task in ("thrower", "quad") for copies in ("", "-16", "-64")
    ]
    monkeypatch.setattr("tools.bench.train.CHUNK", 3)
    assert all(row.measure(1).ratio > 0.0 for row in rows[:2])
