"""Episodes on Ray workers are those of one process, also when a worker is killed meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gltf_bullet.envs import EnvConfig, GltfEnv, RolloutPool, roll_out, terms
from gltf_bullet.envs.distributed import WorkerLostError
from gltf_bullet.records import replace
from tests.envs.assets import BALANCE, CART_POLE, RANDOM_MASS

pytestmark = pytest.mark.ray

CONFIG = replace(RANDOM_MASS, max_episode_steps=40)
SEEDS = range(8)


class Linear:
    """A policy that pickles."""

    def __init__(self, *weights: float) -> None:
        self.weights = np.array(weights)

    def __call__(self, observed: Any) -> npt.NDArray[np.float32]:
        return np.array([np.tanh(self.weights @ observed)], np.float32)


class Killer(Linear):
    """Kills its process in the middle of an episode, as often as there are files to remove."""

    def __init__(self, folder: Path) -> None:
        super().__init__(0.1, -5.0, 0.3, -1.0)
        self.folder = folder
        self.asked = 0

    def __call__(self, observed: Any) -> npt.NDArray[np.float32]:
        self.asked += 1
        if self.asked == 10:
            for file in self.folder.iterdir():
                # Two workers may see the same file: who removes it dies.
                with suppress(FileNotFoundError):
                    file.unlink()
                    os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(observed)


@pytest.fixture(scope="module")
def pool() -> Iterator[RolloutPool]:
    pytest.importorskip("ray")
    with RolloutPool(CART_POLE, CONFIG, workers=2) as made:
        yield made


def here(policy: Linear) -> list[npt.NDArray[np.float64]]:
    """Rewards of every episode, played in this process."""
    env = GltfEnv(CART_POLE, CONFIG)
    found = [roll_out(env, policy, seed).rewards for seed in SEEDS]
    env.close()
    return found


def test_episodes_are_those_of_a_single_process(pool: RolloutPool) -> None:
    good, bad = Linear(0.1, -5.0, 0.3, -1.0), Linear(0.0, 5.0, 0.0, 0.0)
    done: list[tuple[int, int]] = []
    jobs = [(policy, seed) for policy in (good, bad) for seed in SEEDS]
    found = pool.run(jobs, keep_course=True, on_progress=lambda k, n: done.append((k, n)))
    assert [rollout.seed for rollout in found] == [*SEEDS, *SEEDS]
    for rollout, expected in zip(found, [*here(good), *here(bad)], strict=True):
        assert (rollout.rewards == expected).all()
        assert len(rollout.observations) == len(rollout) + 1 == len(rollout.actions) + 1
    assert done == [(k, 16) for k in range(1, 17)]
    # Balancing pays, so the two policies are told apart.
    assert sum(r.total for r in found[:8]) > sum(r.total for r in found[8:])


def test_a_killed_worker_loses_nothing(pool: RolloutPool, tmp_path: Path) -> None:
    (tmp_path / "one").touch()
    before = pool.losses
    found = pool.evaluate(Killer(tmp_path), SEEDS)
    assert not list(tmp_path.iterdir()), "nobody was killed"
    assert pool.losses == before + 1
    for rollout, expected in zip(found, here(Linear(0.1, -5.0, 0.3, -1.0)), strict=True):
        assert (rollout.rewards == expected).all()


def test_an_episode_that_always_kills_is_given_up(pool: RolloutPool, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / str(number)).touch()
    with pytest.raises(WorkerLostError, match="seed 5 has ended its process 3 times"):
        pool.run([(Killer(tmp_path), 5)])
    assert len(pool.evaluate(Linear(0.0, 0.0, 0.0, 0.0), [0])[0]) > 0  # and the pool goes on


def test_what_a_policy_raises_comes_out(pool: RolloutPool) -> None:
    with pytest.raises(ValueError, match="matmul"):
        pool.evaluate(Linear(1.0), [0])


def test_what_the_asset_lacks_is_said_before_any_worker_starts() -> None:
    pytest.importorskip("ray")
    config = EnvConfig(actions=BALANCE.actions, terminations=(terms.Below(node="X", height=0.0),))
    with pytest.raises(KeyError):
        RolloutPool(CART_POLE, replace(config, joints=("Nobody",)))
    with pytest.raises(ValueError, match="workers is 0"):
        RolloutPool(CART_POLE, BALANCE, workers=0)
