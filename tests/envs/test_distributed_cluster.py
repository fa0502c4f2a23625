"""A pool joins a cluster by its address and outlives the loss of a machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gltf_bullet.envs import GltfEnv, RolloutPool, roll_out
from gltf_bullet.records import replace
from tests.envs.assets import CART_POLE, RANDOM_MASS

pytestmark = pytest.mark.ray

CONFIG = replace(RANDOM_MASS, terminations=(), max_episode_steps=100)


class Still:
    def __call__(self, observed: Any) -> npt.NDArray[np.float32]:
        return np.zeros_like(observed[:1])


def test_a_machine_is_lost_and_its_work_is_done_by_the_other() -> None:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    # The head has no room for workers: each of the two machines beside it has room for one.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    machines = [cluster.add_node(num_cpus=1) for _ in range(2)]
    lost = []

    def lose_a_machine(done: int, count: int) -> None:
        if done == 4:
            lost.append(machines[1])
            cluster.remove_node(machines[1], allow_graceful=False)

    try:
        with RolloutPool(CART_POLE, CONFIG, workers=2, address=cluster.address) as pool:
            while pool.ready < 2:  # one may compile the solve while the other plays
                pool.evaluate(Still(), range(2))
            found = pool.evaluate(Still(), range(16), on_progress=lose_a_machine)
            assert pool.losses == 1
    finally:
        cluster.shutdown()
    assert len(lost) == 1
    env = GltfEnv(CART_POLE, CONFIG)
    for rollout in found:
        assert (rollout.rewards == roll_out(env, Still(), rollout.seed).rewards).all()
    env.close()
