"""The examples that learn do learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gltf_bullet as gb
from gltf_bullet.envs import GltfEnv
from tests.examples.test_examples import FOLDER, load


@pytest.mark.slow
def test_the_cart_learns_to_balance_its_pole(tmp_path: Path) -> None:
    module = load(FOLDER / "train_cart_pole.py")
    before, after = module.main(tmp_path)
    assert before < 0.5 * module.STEPS
    assert after > 0.9 * module.STEPS
    assert Image.open(tmp_path / "cart_pole.png").size == (960, 540)
    with Image.open(tmp_path / "cart_pole.gif") as film:
        # 200 steps of a 60th of a second are 3 1/3 s: at 20 frames per second 67, the first one
        # included.
        assert film.n_frames == 67
    animations = gb.read_asset(tmp_path / "cart_pole.glb").animations
    # Cart and pole both slide; the pole also turns.
    assert {track.target_path for track in animations[-1].tracks} == {"translation", "rotation"}


@pytest.mark.slow
def test_a_task_that_lives_in_its_file_is_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    module = load(FOLDER / "train_task.py")
    before, after = module.main(tmp_path)
    assert before < 0.5 * module.STEPS
    assert after > 0.9 * module.STEPS


@pytest.mark.slow
def test_the_rod_learns_to_swing_up(tmp_path: Path) -> None:
    module = load(FOLDER / "train_swing_up.py")
    before, after = module.main(tmp_path)
    assert before == pytest.approx(-module.STEPS, abs=5)
    # Standing most of the time: swinging alone gives about 0.
    assert after > 0.5 * module.STEPS
    with Image.open(tmp_path / "swing_up.gif") as film:
        assert film.n_frames > 50
    (animation,) = gb.read_asset(tmp_path / "swing_up.glb").animations
    assert animation.duration == pytest.approx(8.0, abs=0.1)


@pytest.mark.slow
def test_many_copies_learn_by_stable_baselines3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("stable_baselines3")
    monkeypatch.syspath_prepend(str(FOLDER))
    module = load(FOLDER / "train_ppo.py")
    before, after = module.main("cart_pole", tmp_path, steps=20_000)
    assert before < 100.0
    assert after > 150.0
    for task in module.TASKS.values():
        assert task.config.max_episode_steps
    assert Image.open(tmp_path / "cart_pole_ppo.png").size == (960, 540)
    assert (tmp_path / "cart_pole_ppo.glb").is_file()


def test_the_authoring_page_names_the_file_that_learns() -> None:
    page = (FOLDER.parent / "gltf_bullet" / "reference" / "authoring.md").read_text()
    assert "examples/assets/swing_up.gltf" in page
    assert "train_swing_up.py" in page


def test_an_episode_does_not_know_the_one_before() -> None:
    """PyBullet tells what motors exerted before a state was taken back."""
    module = load(FOLDER / "train_ray.py")
    directions = np.random.default_rng(0).standard_normal((8, 24))
    trials = [sign * 0.2 * d for d in directions[:3] for sign in (1, -1)]

    def totals(env: GltfEnv, order: list[int]) -> dict[int, float]:
        return {k: play(env, module.Gait(trials[k])) for k in order}

    def play(env: GltfEnv, gait: Any) -> float:
        observed, _ = env.reset(seed=0)
        total, is_over = 0.0, False
        while not is_over:
            observed, reward, terminated, truncated, _ = env.step(gait(observed))
            total, is_over = total + reward, terminated or truncated
        return total

    env, other = (GltfEnv(module.ASSET, module.CONFIG) for _ in range(2))
    forward, backward = list(range(len(trials))), list(reversed(range(len(trials))))
    assert totals(env, forward) == totals(other, backward)
    env.close()
    other.close()


@pytest.mark.ray
def test_the_walker_learns_its_first_steps_over_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    module = load(FOLDER / "train_ray.py")
    curve = module.main(tmp_path, generations=1)
    # Standing still goes nowhere; a generation later it is on its way.
    assert abs(curve[0]) < 0.01
    assert max(curve) > 0.2
    assert {path.name for path in tmp_path.iterdir()} == {"walker.png", "walker.glb", "walker.gif"}
