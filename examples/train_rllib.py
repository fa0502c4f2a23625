"""The cart-pole under RLlib's PPO: an environment is registered with Ray in one line.

pip install 'gltf_bullet[ray,train]' 'ray[rllib]' torch
python examples/train_rllib.py

Prints the mean return round by round; writes the learning curve to ``out/rllib.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env
from train_cart_pole import ASSET, CONFIG

from gltf_bullet.envs import GltfEnv, write_curve


def main(folder: Path = Path("out"), rounds: int = 12, runners: int = 1) -> list[float]:
    """Train; gives the mean return of every round."""
    # RLlib makes the environment in each of its own processes.
    path = ASSET.resolve()
    register_env("cart_pole", lambda _: GltfEnv(path, CONFIG))
    config = (
        PPOConfig()
        .environment("cart_pole")
        .env_runners(num_env_runners=runners)
        .training(train_batch_size_per_learner=1000, minibatch_size=100, lr=1e-3, num_epochs=10)
        .debugging(seed=0, log_level="ERROR")
    )
    algorithm = config.build_algo()
    curve = []
    for number in range(1, rounds + 1):
        curve.append(float(algorithm.train()["env_runners"]["episode_return_mean"]))
        print(f"round {number:2}: mean return {curve[-1]:6.1f}", flush=True)
    algorithm.stop()
    folder.mkdir(parents=True, exist_ok=True)
    write_curve(folder / "rllib.png", range(1, rounds + 1), curve, steps_are="round of 1000 steps")
    return curve


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=12)
    main(rounds=parser.parse_args().rounds)
