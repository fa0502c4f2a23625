"""An arm learns to bring its tip to goals anywhere around it, by PPO of stable-baselines3.

pip install 'gltf_bullet[sb3,train]'
python examples/train_reacher.py

Prints the share of goals reached, before and after, and writes the learning curve to
``out/reacher.png`` and a trained episode to ``out/reacher.glb`` and ``out/reacher.gif``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor

import gltf_bullet as gb
from gltf_bullet.envs import (
    DriveAction,
    EnvConfig,
    GltfEnv,
    Policy,
    roll_out,
    terms,
    write_curve,
    write_episode,
)

ASSET = Path(__file__).parent / "assets" / "reacher.gltf"
GOAL = gb.read_asset(ASSET).tree.names.index("Goal")

CONFIG = EnvConfig(
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


class Curve(BaseCallback):
    """Notes the mean return after every round of experience."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []
        self.returns: list[float] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.steps.append(self.num_timesteps)
        self.returns.append(
            float(np.mean([e["r"] for e in self.model.ep_info_buffer or [{"r": 0}]]))
        )
        print(f"{self.steps[-1]:6} steps: mean return {self.returns[-1]:6.2f}", flush=True)


def make_env() -> GltfEnv:
    """An environment in a process of its own."""
    return GltfEnv(ASSET, CONFIG)


def reached(model: PPO, episodes: int = 40) -> float:
    """Share of goals reached that training has not seen."""
    env = make_env()
    found = [roll_out(env, policy_of(model), 10_000 + k) for k in range(episodes)]
    env.close()
    return float(np.mean([rollout.is_terminated for rollout in found]))


def policy_of(model: PPO) -> Policy:
    """The mean action of the model, without exploration."""
    return lambda observed: model.predict(observed, deterministic=True)[0]


def main(folder: Path = Path("out"), steps: int = 40_000, workers: int = 2) -> tuple[float, float]:
    """Train; gives the share of goals reached before and after."""
    envs = VecMonitor(SubprocVecEnv([make_env] * workers, start_method="spawn"))
    model = PPO("MlpPolicy", envs, n_steps=1024 // workers, batch_size=128, n_epochs=10,
                learning_rate=1e-3, gamma=0.97, ent_coef=0.0, seed=0, device="cpu",
                policy_kwargs={"net_arch": [64, 64], "log_std_init": -0.5})  # fmt: skip
    curve = Curve()
    before = reached(model)
    model.learn(steps, callback=curve)
    envs.close()
    after = reached(model)
    print(f"goals reached before {before:.0%}, after {after:.0%}")
    folder.mkdir(parents=True, exist_ok=True)
    write_curve(folder / "reacher.png", curve.steps, curve.returns, steps_are="steps")
    env = make_env()
    write_episode(env, policy_of(model), folder / "reacher", seed=3)
    env.close()
    return before, after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40_000)
    main(steps=parser.parse_args().steps)
