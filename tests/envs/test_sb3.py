"""Copies for Stable-Baselines3: its interface, with it and without it (and torch)."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gltf_bullet.envs
from gltf_bullet.envs import EnvConfig, GltfEnv, terms
from gltf_bullet.records import replace
from tests.envs.assets import BALANCE, CART_POLE, GOAL_LINE, POLE_MASS, RANDOM_MASS, pushes

HAS_SB3 = importlib.util.find_spec("stable_baselines3") is not None
ROOM = "gltf_bullet.envs.sb3"
BASE = "stable_baselines3.common.vec_env"


class VecEnvAlone:
    """What of the library's base class ours leans on: seeds and options of the next reset."""

    def __init__(self, num_envs: int, observation_space: Any, action_space: Any) -> None:
        self.num_envs = num_envs
        self.observation_space, self.action_space = observation_space, action_space
        self._reset_seeds()
        self._reset_options()
        self.reset_infos: list[dict[str, Any]] = []
        (self.render_mode,) = set(self.get_attr("render_mode"))  # type: ignore[attr-defined]

    def _reset_seeds(self) -> None:
        self._seeds: list[int | None] = [None] * self.num_envs

    def _reset_options(self) -> None:
        self._options: list[dict[str, Any]] = [{}] * self.num_envs

    def seed(self, seed: int) -> list[int | None]:
        self._seeds = [seed + k for k in range(self.num_envs)]
        return self._seeds

    def step(self, actions: Any) -> Any:
        self.step_async(actions)  # type: ignore[attr-defined]
        return self.step_wait()  # type: ignore[attr-defined]


@pytest.fixture(params=["alone", pytest.param("installed", marks=pytest.mark.skipif(
    not HAS_SB3, reason="Stable-Baselines3 is not installed"))])  # fmt: skip
def vec_env(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The class, over the library's base class or over a stand-in."""
    monkeypatch.delitem(sys.modules, ROOM, raising=False)
    if request.param == "alone":
        for name in ("stable_baselines3", "stable_baselines3.common", BASE):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setattr(sys.modules[BASE], "VecEnv", VecEnvAlone, raising=False)
    yield gltf_bullet.envs.GltfSb3VecEnv
    sys.modules.pop(ROOM, None)


def test_copies_move_as_single_environments_do_and_start_over_at_once(vec_env: Any) -> None:
    count, actions = 3, pushes(20)
    envs = vec_env(CART_POLE, count, RANDOM_MASS)
    envs.seed(7)
    seen = [envs.reset()]
    assert [set(info) for info in envs.reset_infos] == [{"randomization"}] * count
    steps = [envs.step(np.tile(action, (count, 1))) for action in actions]
    envs.close()
    for k in range(count):
        env = GltfEnv(CART_POLE, RANDOM_MASS)
        observed, info = env.reset(seed=7 + k)
        assert seen[0][k] == pytest.approx(observed, abs=1e-5)
        assert envs.reset_infos[k] == info
        for action, (many, rewards, over, infos) in zip(actions, steps, strict=True):
            observed, reward, terminated, truncated, _ = env.step(action)
            assert rewards[k] == pytest.approx(reward)
            assert over[k] == (terminated or truncated)
            if over[k]:
                assert infos[k]["terminal_observation"] == pytest.approx(observed, abs=1e-5)
                assert infos[k]["TimeLimit.truncated"] is (truncated and not terminated)
                observed, info = env.reset()
                assert infos[k]["randomization"] == info["randomization"]
            else:
                assert set(infos[k]) == {"events"}
            assert many[k] == pytest.approx(observed, abs=1e-5)
        env.close()
    assert any(over.any() for _, _, over, _ in steps)
    many, rewards, over, _ = steps[0]
    assert (many.dtype, rewards.dtype, over.dtype) == (np.float32, np.float32, np.bool_)


def test_events_of_a_step_are_told_also_where_it_ends_the_episode(vec_env: Any) -> None:
    config = EnvConfig(
        frame_skip=60, bodies=(), terminations=(terms.TriggerEntered(trigger="Goal"),)
    )
    envs = vec_env(GOAL_LINE, 2, config)
    envs.reset()
    over = np.zeros(2, dtype=bool)
    while not over.any():
        _, _, over, infos = envs.step(np.zeros((2, 0), np.float32))
    for info in infos:
        assert {event.kind for event in info["events"]} >= {"entered"}
        assert info["TimeLimit.truncated"] is False
        assert info["terminal_observation"].tolist() == [1.0]
    envs.close()


def test_dictionaries_are_stacked_part_by_part(vec_env: Any) -> None:
    config = replace(BALANCE, flat=False, max_episode_steps=2, on_reset=None)
    envs = vec_env(CART_POLE, 2, config)
    observed = envs.reset()
    assert {key: part.shape for key, part in observed.items()} == {
        "joint_positions": (2, 2), "joint_velocities": (2, 2),
    }  # fmt: skip
    for _ in range(2):
        observed, _, _, infos = envs.step(np.ones((2, 1), np.float32))
    last = infos[1]["terminal_observation"]
    assert last["joint_positions"].shape == (2,)
    assert last["joint_velocities"][0] > 0.0
    assert not observed["joint_velocities"][:, 0].any()
    envs.close()


def test_attributes_and_methods_are_those_of_copies(vec_env: Any) -> None:
    envs = vec_env(CART_POLE, 3, BALANCE)
    assert envs.get_attr("observation_names") == [envs.envs.observation_names] * 3
    assert envs.get_attr("render_mode", indices=1) == [None]
    assert envs.env_is_wrapped(object, indices=[0, 2]) == [False, False]
    envs.set_attr("mark", 5, indices=[0, 2])
    assert envs.get_attr("mark", indices=[0, 2]) == [5, 5]
    envs.reset()
    assert envs.get_attr("scene", 2) == [envs.envs.episodes[2].scene]
    assert envs.env_method("get_wrapper_attr", "client_id", indices=[1]) == [
        envs.envs.episodes[1].scene.client_id
    ]
    with pytest.raises(AttributeError):
        envs.get_attr("no_such_thing")
    with pytest.raises(AttributeError):
        envs.get_attr("mark")  # the second copy has none
    with pytest.raises(RuntimeError, match="step_async"):
        envs.step_wait()
    envs.close()


def test_pictures_are_those_of_copies(vec_env: Any) -> None:
    envs = vec_env(CART_POLE, 2, BALANCE, render_mode="rgb_array")
    envs.reset()
    for _ in range(5):
        envs.step(np.array([[1.0], [-1.0]], np.float32))
    assert envs.render_mode == "rgb_array"
    width, height = envs.envs.config.picture_size
    first, second = envs.get_images()
    assert first.shape == second.shape == (height, width, 3)
    assert (first != second).any()
    plain = vec_env(CART_POLE, 2, BALANCE)
    plain.reset()
    assert plain.get_images() == [None, None]
    plain.close()
    envs.close()


def test_options_are_those_of_each_copy(vec_env: Any) -> None:
    envs = vec_env(CART_POLE, 2, BALANCE)
    envs._options = [{"values": {POLE_MASS: 0.4}}, {}]
    envs.reset()
    first, second = envs.get_attr("scene")
    assert (first.get(POLE_MASS), second.get(POLE_MASS)) == (0.4, pytest.approx(0.1))
    # A curriculum: by the same line as with SB3's own vector environments.
    envs.env_method("set_wrapper_attr", "reset_options", {"values": {POLE_MASS: 0.3}})
    assert envs.env_method("has_wrapper_attr", "reset_options") == [True, True]
    over = np.zeros(2, dtype=bool)
    while not over.all():
        over |= envs.step(np.zeros((2, 1), np.float32))[2]
    assert [scene.get(POLE_MASS) for scene in envs.get_attr("scene")] == [0.3, 0.3]
    envs.close()


@pytest.mark.skipif(HAS_SB3, reason="Stable-Baselines3 is installed")
def test_who_lacks_the_extra_is_told_its_name() -> None:
    with pytest.raises(ImportError, match=r"pip install 'gltf_bullet\[sb3\]'"):
        importlib.import_module("gltf_bullet.envs").GltfSb3VecEnv  # noqa: B018


def test_the_library_learns_with_it() -> None:
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    envs = gltf_bullet.envs.GltfSb3VecEnv(CART_POLE, 4, BALANCE)
    model = stable_baselines3.PPO("MlpPolicy", envs, n_steps=16, batch_size=32, device="cpu")
    model.learn(128)
    assert model.num_timesteps == 128
    assert len(model.ep_info_buffer) == 0  # VecMonitor is what fills it
    envs.close()
