"""Many environments at once run as single ones do: gymnasium's vectors and ours."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pybullet
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from scipy import ndimage

import gltf_bullet as gb
from gltf_bullet.envs import EnvConfig, GltfEnv, GltfVectorEnv, StepContext, terms
from gltf_bullet.records import replace
from tests.envs.assets import (
    BALANCE,
    CART_POLE,
    GOAL_LINE,
    POLE_MASS,
    RANDOM_MASS,
    TASK,
    WALK,
    WALKER,
    pushes,
    roll,
)

QUAD = Path(__file__).resolve().parents[3] / "shared" / "faults" / "training" / "quad.gltf"
SHOT = EnvConfig(
    frame_skip=60,
    max_episode_steps=6,
    rewards=(terms.TriggerEntered(trigger="Goal"),),
)


def course(
    env: VectorEnv, actions: npt.NDArray[np.float32], seed: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """Observations [steps + 1, envs, n] and rewards [steps, envs] under equal actions."""
    try:
        observed, _ = env.reset(seed=seed)
        observations, rewards = [observed], []
        for action in actions:
            observed, reward, *_ = env.step(np.tile(action, (env.num_envs, 1)))
            observations.append(observed.copy())
            rewards.append(reward)
    finally:
        env.close()
    return np.array(observations), np.array(rewards)


def test_processes_and_turns_give_equal_trajectories() -> None:
    makers: list[Callable[[], GltfEnv]] = [partial(GltfEnv, CART_POLE, RANDOM_MASS)] * 2
    actions = pushes(12)
    in_turn, rewards = course(SyncVectorEnv(makers), actions, seed=5)
    # A fresh process, as on other machines: PyBullet does not survive a fork with open worlds.
    apart, rewards_apart = course(AsyncVectorEnv(makers, context="spawn"), actions, seed=5)
    assert (in_turn == apart).all()
    assert (rewards == rewards_apart).all()


def open_worlds() -> int:
    return sum(pybullet.getConnectionInfo(k)["isConnected"] for k in range(64))


def test_an_environment_that_goes_on_after_close_closes_again() -> None:
    before = open_worlds()
    env = GltfVectorEnv(CART_POLE, 2, BALANCE)
    for _ in range(2):
        env.reset(seed=0)
        assert open_worlds() == before + 2
        env.close()
        assert open_worlds() == before


@pytest.mark.parametrize("make", [partial(GltfVectorEnv, count=2), GltfEnv], ids=["many", "one"])
@pytest.mark.parametrize("path", [CART_POLE, TASK], ids=["plain", "graph"])
def test_an_environment_that_nobody_holds_gives_its_worlds_back(
    make: Callable[..., GltfEnv | GltfVectorEnv], path: Path
) -> None:
    before = open_worlds()
    env = make(path, config=EnvConfig(actions=()))
    env.reset(seed=0)
    assert open_worlds() > before
    del env
    assert open_worlds() == before


def test_a_scene_that_somebody_holds_keeps_its_world() -> None:
    before = open_worlds()
    env = GltfEnv(CART_POLE, BALANCE)
    env.reset(seed=0)
    scene = env.scene
    del env
    assert open_worlds() == before + 1
    scene.step(3)
    del scene
    assert open_worlds() == before


def test_a_world_that_took_the_place_of_an_abandoned_one_stays_open() -> None:
    env = GltfEnv(CART_POLE, BALANCE)
    env.reset(seed=0)
    assert env.client_id is not None
    pybullet.disconnect(env.client_id)
    client = pybullet.connect(pybullet.DIRECT)
    assert client == env.client_id  # PyBullet gives the lowest free one
    del env
    assert pybullet.isConnected(client)
    pybullet.disconnect(client)


@pytest.mark.parametrize(
    ("path", "config"),
    [(CART_POLE, BALANCE), (CART_POLE, RANDOM_MASS), (WALKER, WALK), (GOAL_LINE, SHOT)],
    ids=["plain", "randomised", "contacts", "triggers"],
)
@pytest.mark.parametrize("count", [1, 3])
def test_copies_move_as_single_environments_do_to_the_bit(
    path: Path, config: EnvConfig, count: int
) -> None:
    vector = GltfVectorEnv(path, count, config)
    drawn = np.random.default_rng(3).uniform(-1.0, 1.0, (12, *vector.single_action_space.shape))
    actions = drawn.astype(np.float32)
    many, rewards = course(vector, actions, 7)
    for k in range(count):
        env = GltfEnv(path, config)
        alone, rewards_alone = roll(env, actions, seed=7 + k)
        env.close()
        assert (many[:, k] == alone).all()
        assert (rewards[:, k] == rewards_alone).all()


@pytest.mark.shared
@pytest.mark.skipif(not QUAD.is_file(), reason="the collection is not there")
@pytest.mark.parametrize("count", [1, 2])
def test_a_walker_on_triangles_moves_as_alone_to_the_bit(count: int) -> None:
    """Half of such sequences parted after some steps of contacts with a mesh."""
    config = EnvConfig(bodies=("Torso",), max_episode_steps=250)
    chance = np.random.default_rng(7)
    actions = chance.uniform(-1.0, 1.0, (40, count, 8)).astype(np.float32)
    vector, env = GltfVectorEnv(QUAD, count, config), GltfEnv(QUAD, config)
    many = [vector.reset(seed=3)[0], *(vector.step(action)[0] for action in actions)]
    alone = [env.reset(seed=3)[0], *(env.step(action[0])[0] for action in actions)]
    vector.close()
    env.close()
    assert (np.array(many)[:, 0] == np.array(alone)).all()


def test_copies_with_contacts_and_triggers_start_over_on_their_own() -> None:
    actions = np.zeros((13, 0), np.float32)
    many, rewards = course(GltfVectorEnv(GOAL_LINE, 2, SHOT), actions, 0)
    env = GltfEnv(GOAL_LINE, SHOT)
    alone, rewards_alone = roll(env, actions, seed=0)
    env.close()
    assert sum(rewards_alone) == 2.0  # once in each of two episodes
    assert (many == alone[:, None]).all()
    assert (rewards_alone == rewards.T).all()


def test_a_copy_that_ends_starts_over_while_the_others_go_on() -> None:
    env = GltfVectorEnv(CART_POLE, 2, EnvConfig(
        actions=BALANCE.actions,
        terminations=(terms.JointOutside(joint="Slide", low=-0.05, high=0.05),),
    ))  # fmt: skip
    start, _ = env.reset(seed=0)
    actions = np.array([[1.0], [0.0]], np.float32)
    for _ in range(30):
        observed, _, terminated, _, _ = env.step(actions)
        if terminated.any():
            break
    assert terminated.tolist() == [True, False]
    assert observed[0, 0] > 0.05
    observed, rewards, terminated, _, infos = env.step(actions)
    assert (observed[0] == start[0]).all()
    assert not terminated.any()
    assert infos["_randomization"].tolist() == [True, False]
    assert rewards.tolist() == [0.0, 0.0]
    env.close()


def test_a_copy_may_start_over_in_the_step_that_ends_its_episode() -> None:
    config = EnvConfig(
        actions=BALANCE.actions,
        terminations=(terms.JointOutside(joint="Slide", low=-0.05, high=0.05),),
    )
    mode = AutoresetMode.SAME_STEP
    env = GltfVectorEnv(CART_POLE, 2, config, autoreset_mode=mode)
    assert env.metadata["autoreset_mode"] is mode
    start, _ = env.reset(seed=0)
    ends = []
    for _ in range(30):
        observed, _, terminated, _, infos = env.step(np.array([[1.0], [0.0]], np.float32))
        ends.append(bool(terminated[0]))
        assert not terminated[1]
        if ends[-1]:
            assert infos["_final_obs"].tolist() == [True, False]
            assert infos["final_obs"][0][0] > 0.05
            assert (observed[0] == start[0]).all()
    env.close()
    # Equal episodes: nothing is randomised.
    first = ends.index(True) + 1
    assert ends == [(k + 1) % first == 0 for k in range(30)]
    with pytest.raises(ValueError, match="NEXT_STEP, SAME_STEP, DISABLED"):
        GltfVectorEnv(CART_POLE, 2, BALANCE, autoreset_mode="next")  # type: ignore[arg-type]


def test_without_autoreset_a_mask_says_who_starts_anew() -> None:
    ours, theirs = (
        GltfVectorEnv(CART_POLE, 3, RANDOM_MASS, autoreset_mode=AutoresetMode.DISABLED),
        SyncVectorEnv(
            [partial(GltfEnv, CART_POLE, RANDOM_MASS)] * 3, autoreset_mode=AutoresetMode.DISABLED
        ),
    )
    seen, told = zip(*(env.reset(seed=5) for env in (ours, theirs)), strict=True)
    assert (seen[0] == seen[1]).all()
    restarts = 0
    for action in pushes(24, 3)[:, :, None]:
        steps = [env.step(action) for env in (ours, theirs)]
        for one, other in zip(steps[0][:4], steps[1][:4], strict=True):
            assert (one == other).all()
        over = steps[0][2] | steps[0][3]
        if over.any():
            restarts += 1
            with pytest.raises(ResetNeeded, match="reset_mask"):
                ours.step(action)
            seen, told = zip(
                *(env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs)),
                strict=True,
            )
            assert (seen[0] == seen[1]).all()
            assert told[0]["_randomization"].tolist() == over.tolist()
            mass = [info["randomization"][POLE_MASS] for info in told]
            assert (mass[0] == mass[1]).all()
    assert restarts > 1
    with pytest.raises(ValueError, match="reset_mask must be 3 booleans"):
        ours.reset(options={"reset_mask": np.ones(3)})
    ours.close()
    theirs.close()


def test_each_copy_may_have_options_of_its_own() -> None:
    env = GltfVectorEnv(CART_POLE, 2, RANDOM_MASS)
    _, told = env.reset(seed=1, options=[{"values": {POLE_MASS: 0.4}}, {}])
    masses = [copy.scene.get(POLE_MASS) for copy in env.copies]
    assert masses == [0.4, pytest.approx(told["randomization"][POLE_MASS][1])]
    env.reset(options={"values": {POLE_MASS: 0.3}})
    assert env.call("scene")[1].get(POLE_MASS) == 0.3
    with pytest.raises(ValueError, match="options of 1 copies"):
        env.reset(options=[{}])
    env.close()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_standing_options_hold_when_a_copy_starts_over(mode: AutoresetMode) -> None:
    env = GltfVectorEnv(CART_POLE, 2, RANDOM_MASS, autoreset_mode=mode)
    env.reset(seed=1)
    env.set_attr("reset_options", [{"values": {POLE_MASS: 0.4}}, None])
    over = np.zeros(2, dtype=np.bool_)
    for _ in range(20):  # RANDOM_MASS truncates after 8 steps
        *_, terminated, truncated, _ = env.step(np.zeros((2, 1), np.float32))
        over |= terminated | truncated
    assert over.all()
    first, second = (scene.get(POLE_MASS) for scene in env.get_attr("scene"))
    assert first == 0.4
    assert second != 0.4
    with pytest.raises(ValueError, match="no option"):
        env.set_attr("reset_options", {"goal": 1})
    env.close()


def test_copies_are_asked_by_name() -> None:
    env = GltfVectorEnv(CART_POLE, 2, BALANCE, render_mode="rgb_array")
    with pytest.raises(ResetNeeded):
        env.get_attr("scene")
    assert env.get_attr("client_id") == (None, None)
    env.reset(seed=1)
    for _ in range(5):
        env.step(np.array([[1.0], [-1.0]], np.float32))
    assert env.get_attr("client_id") == tuple(e.scene.client_id for e in env.episodes)
    first, second = env.call("render")
    assert first.shape == second.shape == (*reversed(env.config.picture_size), 3)
    assert (first != second).any()
    env.set_attr("level", [1, 2])
    assert env.get_attr("level") == (1, 2)
    with pytest.raises(ValueError, match="3 values"):
        env.set_attr("level", [1, 2, 3])
    for name in ("config", "client_id"):
        with pytest.raises(AttributeError):
            env.set_attr(name, None)
    with pytest.raises(AttributeError):
        env.config = BALANCE  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(env))  # noqa: S301
    again.reset(seed=1)
    assert again.get_attr("observation_names") == env.get_attr("observation_names")
    again.close()
    env.close()


def stands(scene: gb.Scene, _: StepContext) -> bool:
    return abs(scene.joints["Hinge"].position) < 0.01


def test_success_is_told_of_each_copy() -> None:
    config = replace(BALANCE, success=stands)
    env = GltfVectorEnv(CART_POLE, 2, config, autoreset_mode=AutoresetMode.SAME_STEP)
    env.reset(seed=1)
    for action in pushes(10, 2)[:, :, None]:
        seen, _, terminated, truncated, infos = env.step(action)
        over = terminated | truncated
        for k in range(2):
            hinge = (infos["final_obs"][k] if over[k] else seen[k])[
                env.observation_names.index("Hinge position")
            ]
            assert infos["is_success"][k] == (abs(hinge) < 0.01)
            if over[k]:
                assert infos["final_info"]["is_success"][k] == infos["is_success"][k]
    env.close()


def test_numbers_of_copies_seeds_and_actions_are_checked() -> None:
    with pytest.raises(ValueError, match="count is 0"):
        GltfVectorEnv(CART_POLE, 0, BALANCE)
    env = GltfVectorEnv(CART_POLE, 2, BALANCE)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(np.zeros((2, 1), np.float32))
    with pytest.raises(ValueError, match="seeds"):
        env.reset(seed=[1, 2, 3])
    env.reset(seed=[1, None])
    with pytest.raises(ValueError, match="actions"):
        env.step(np.zeros((3, 1), np.float32))
    env.close()


def test_one_picture_has_a_tile_for_each_copy() -> None:
    with pytest.raises(ValueError, match="render_mode"):
        GltfVectorEnv(CART_POLE, 2, BALANCE, render_mode="human")
    env = GltfVectorEnv(CART_POLE, 4, BALANCE, render_mode="rgb_array")
    try:
        with pytest.raises(ResetNeeded):
            env.render()
        env.reset(seed=0)
        picture = env.render()
        width, height = env.config.picture_size
        assert picture is not None
        assert picture.shape == (height, width, 3)
        # The carts' bodies are blue: four of them, with something else between.
        colors = picture.astype(int)
        blue = colors[..., 2] > colors[..., 0] + 40
        labels, count = ndimage.label(blue)
        sizes = ndimage.sum_labels(blue, labels, range(1, count + 1))
        assert (sizes > 10).sum() == 4
    finally:
        env.close()
    plain = GltfVectorEnv(CART_POLE, 2, BALANCE)
    assert plain.render() is None
    plain.close()


def test_an_error_in_one_world_leaves_no_other_behind() -> None:
    with closing(GltfVectorEnv(CART_POLE, 4, BALANCE)) as envs:
        envs.reset(seed=3)
        lost = envs.episodes[1].scene
        pybullet.removeBody(lost.bodies["Pole"].body_id, lost.client_id)
        with pytest.raises(gb.WorldChangedError):
            envs.step(np.zeros((4, *envs.single_action_space.shape), dtype=np.float32))
        times = [episode.scene.time for episode in envs.episodes]
    step = BALANCE.frame_skip * BALANCE.time_step
    assert times == pytest.approx([step, 0.0, step, step])
