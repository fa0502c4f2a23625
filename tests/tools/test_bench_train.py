"""The training benchmark compares like with like and prints what it measured."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gltf_bullet.envs import GltfEnv
from tests.envs.assets import pushes
from tools.bench.__main__ import app
from tools.bench.assets import cart_pole_gltf
from tools.bench.train import CONFIG, TRAIN_ROWS, BareVectorEnv, PlainEnv, TrainRow


def test_the_loop_by_hand_moves_the_cart_as_the_file_does() -> None:
    ours, theirs = GltfEnv(cart_pole_gltf(), CONFIG), PlainEnv()
    many = BareVectorEnv(3)
    try:
        for env in (ours, theirs, many):
            env.reset()
        for action in np.abs(pushes(20)):
            observed = ours.step(action)[0]
            assert observed == pytest.approx(theirs.step(action)[0], rel=0.02, abs=2e-3)
            rows = many.step(np.tile(action, (3, 1)))[0]
            assert (rows == rows[0]).all()
        assert np.abs(observed).min() > 0.1
        assert many.reset()[0].any() == np.False_
    finally:
        for env in (ours, theirs, many):
            env.close()


def test_every_way_to_run_environments_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [row.name for row in TRAIN_ROWS]
    assert names == ["single", "async-2", "batch-1", "batch-16", "batch-64"]
    monkeypatch.setattr("tools.bench.train.CHUNK", 0.01)
    quick: tuple[TrainRow, ...] = tuple(row for row in TRAIN_ROWS if row.name != "async-2")
    monkeypatch.setattr("tools.bench.train.TRAIN_ROWS", quick)
    result = CliRunner().invoke(app, ["train", "--repeats", "1", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [row["row"] for row in found] == [row.name for row in quick]
    for row in found:
        speeds = row["pybullet_steps_per_second"] / row["steps_per_second"]
        assert row["ratio"] == pytest.approx(speeds)
        assert row["reset_ms"] > 0.0
        assert row["pybullet_reset_ms"] > 0.0
    table = CliRunner().invoke(app, ["train", "--repeats", "1"])
    assert "batch-64" in table.stdout
