"""Four tasks learned by PPO of Stable-Baselines3, 16 copies in one process.

pip install 'gltf_bullet[sb3,train]'
python examples/train_ppo.py cart_pole             # or swing_up, reacher, walker

Prints the mean return as it grows, before and after, and how long that took; writes the learning
curve to ``out/<task>_ppo.png`` and a trained episode to ``out/<task>_ppo.glb`` and ``.gif``.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import train_cart_pole
import train_swing_up
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor

import gltf_bullet as gb
from gltf_bullet.envs import (
    DriveAction,
    EnvConfig,
    GltfEnv,
    GltfSb3VecEnv,
    Policy,
    StepContext,
    roll_out,
    terms,
    write_curve,
    write_episode,
)

ASSETS = Path(__file__).parent / "assets"
COPIES = 16
GOAL = gb.read_asset(ASSETS / "reacher.gltf").tree.names.index("Goal")

REACH = EnvConfig(
    actions=(
        DriveAction(joint="Shoulder", low=-3.0, high=3.0),  # rad/s
        DriveAction(joint="Elbow", low=-3.0, high=3.0),
    ),
    bodies=(),
    nodes=("Tip", "Goal"),
    rewards=(
        terms.Distance(node="Tip", target="Goal", weight=-0.1),
        terms.TriggerEntered(trigger="Goal"),
    ),
    terminations=(terms.TriggerEntered(trigger="Goal"),),
    # The goal moves in the plane of the arm, glTF's X and Z.
    randomization={f"/nodes/{GOAL}/translation": ((0.2, 0.325, -0.6), (0.7, 0.325, 0.6))},
    max_episode_steps=90,  # 3 s
    frame_skip=8,
)
WALK = EnvConfig(
    # All eight servos: -1 and 1 are the limits of the hips and knees.
    bodies=("Torso",),
    rewards=(terms.Speed(body="Torso", weight=1.0 / 30.0),),  # sums up to metres
    terminations=(terms.Below(node="Torso", height=0.26),),
    max_episode_steps=120,  # 4 s
    frame_skip=8,
)


def haste(_: gb.Scene, context: StepContext) -> float:
    """What speed costs, so that a rod that turns round and round is none that stands."""
    return -0.02 * math.hypot(*context.sight.velocity("Rod")) ** 2


SWING_UP = replace(
    train_swing_up.CONFIG,
    # An angle counts full turns; where the rod is, and its rotation, do not.
    joints=(),
    bodies=("Rod",),
    rewards=(train_swing_up.uprightness, haste),
)


class Task(NamedTuple):
    """What is learned, and how."""

    config: EnvConfig
    steps: int
    """Of all copies together."""
    gamma: float = 0.98
    """How much of a reward counts a step before it."""


SETTINGS: dict[str, Any] = {
    "n_steps": 64, "batch_size": 128, "n_epochs": 10,
    "learning_rate": lambda left: 1e-3 * left,  # to 0 as the share of steps that are left
    "policy_kwargs": {"net_arch": [64, 64], "log_std_init": -0.5},
}  # fmt: skip
TASKS = {
    "cart_pole": Task(config=train_cart_pole.CONFIG, steps=40_000),
    "swing_up": Task(config=SWING_UP, steps=200_000, gamma=0.95),
    "reacher": Task(config=REACH, steps=120_000),
    "walker": Task(config=WALK, steps=100_000),
}


class Curve(BaseCallback):
    """Notes the mean return after every round of experience."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []
        self.returns: list[float] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        episodes = self.model.ep_info_buffer
        if not episodes:
            return
        self.steps.append(self.num_timesteps)
        self.returns.append(float(np.mean([episode["r"] for episode in episodes])))
        if len(self.steps) % 10 == 0:
            print(f"{self.steps[-1]:7} steps: mean return {self.returns[-1]:7.2f}", flush=True)


def policy_of(model: PPO) -> Policy:
    """The mean action of the model, without exploration."""
    return lambda observed: model.predict(observed, deterministic=True)[0]


def evaluate(env: GltfEnv, model: PPO, episodes: int = 20) -> float:
    """Mean return of episodes that training has not seen."""
    found = [roll_out(env, policy_of(model), 10_000 + k).total for k in range(episodes)]
    return float(np.mean(found))


def main(name: str, folder: Path = Path("out"), steps: int | None = None) -> tuple[float, float]:
    """Train; gives the mean return before and after."""
    task, asset = TASKS[name], ASSETS / f"{name}.gltf"
    envs = VecMonitor(GltfSb3VecEnv(asset, COPIES, task.config))
    model = PPO("MlpPolicy", envs, gamma=task.gamma, seed=0, device="cpu", **SETTINGS)
    env, curve = GltfEnv(asset, task.config), Curve()
    before = evaluate(env, model)
    torch.set_num_threads(1)  # quicker for nets as small as these
    clocks = time.perf_counter, time.process_time
    start = [clock() for clock in clocks]
    model.learn(steps or task.steps, callback=curve)
    passed, busy = (clock() - begun for clock, begun in zip(clocks, start, strict=True))
    envs.close()
    after = evaluate(env, model)
    print(f"{name}: return before {before:.2f}, after {after:.2f}; {passed:.0f} s, "
          f"{busy:.0f} s of the processor")  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{name}_ppo"
    title = f"{name}: PPO, {COPIES} copies"
    write_curve(stem.with_suffix(".png"), curve.steps, curve.returns, steps_are="steps",
                title=title)  # fmt: skip
    write_episode(env, policy_of(model), stem, seed=3)
    env.close()
    return before, after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--steps", type=int, help="of all copies together")
    chosen = parser.parse_args()
    main(chosen.task, steps=chosen.steps)
