"""Configurations that the environments' tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import gltf_bullet as gb
from gltf_bullet.envs import DriveAction, EnvConfig, GltfEnv, terms
from gltf_bullet.records import replace

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "assets"
CART_POLE = FOLDER / "cart_pole.gltf"
TASK = FOLDER / "cart_pole_task.gltf"
GOAL_LINE = FOLDER / "goal_line.gltf"
REACHER = FOLDER / "reacher.gltf"
WALKER = FOLDER / "walker.gltf"
POLE_MASS = "/nodes/5/extensions/KHR_physics_rigid_bodies/motion/mass"


def nudge(scene: gb.Scene, rng: np.random.Generator) -> None:
    scene.apply_impulse("Pole", angular=(0.0, rng.uniform(-0.02, 0.02), 0.0))


def shove(scene: gb.Scene, rng: np.random.Generator) -> None:
    scene.apply_impulse("Torso", linear=(*rng.uniform(-1.0, 1.0, 2), 0.0))


BALANCE = EnvConfig(
    actions=(DriveAction(joint="Slide", mode="force"),),
    rewards=(terms.Alive(), terms.ControlCost()),
    terminations=(terms.JointOutside(joint="Hinge", low=-0.2, high=0.2),),
    max_episode_steps=8,
    on_reset=nudge,
)
REACH = EnvConfig(
    actions=tuple(DriveAction(joint=name, low=-3, high=3) for name in ("Shoulder", "Elbow")),
    bodies=(),
    nodes=("Tip", "Goal"),
    rewards=(terms.Distance(node="Tip", target="Goal"),),
    terminations=(terms.TriggerEntered(trigger="Goal"),),
    randomization={"/nodes/12/translation": ((0.2, 0.325, -0.6), (0.7, 0.325, 0.6))},
    max_episode_steps=30,
)
WALK = EnvConfig(
    bodies=("Torso",),
    contacts=tuple(f"{leg}Shin" for leg in ("FrontLeft", "BackLeft", "BackRight", "FrontRight")),
    rewards=(terms.Speed(body="Torso"), terms.ControlCost()),
    terminations=(terms.Below(node="Torso", height=0.26),),
    max_episode_steps=30,
)
RANDOM_MASS = replace(BALANCE, randomization={POLE_MASS: (0.05, 0.5)})


def pushes(count: int, size: int = 1) -> npt.NDArray[np.float32]:
    """The same actions for everyone, shape [count, size]."""
    return np.random.default_rng(0).uniform(-1.0, 1.0, (count, size)).astype(np.float32)


def roll(
    env: GltfEnv, actions: npt.NDArray[np.float32], seed: int
) -> tuple[npt.NDArray[np.float32], list[float]]:
    """Observations and rewards; a step after an end is a reset, as in vector environments."""
    observed, _ = env.reset(seed=seed)
    observations, rewards, ended = [observed], [], False
    for action in actions:
        if ended:
            observed, _ = env.reset()
            reward, ended = 0.0, False
        else:
            observed, reward, terminated, truncated, _ = env.step(action)
            ended = terminated or truncated
        observations.append(observed)
        rewards.append(reward)
    return np.array(observations), rewards
