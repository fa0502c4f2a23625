"""A hanging rod learns to swing up and stand, though its motor is too weak to lift it.

The file is written by hand; ``gltf-bullet explain authoring`` says how. Every episode draws
another mass and another friction of the hinge, so that what is learnt does not hang on them.

pip install 'gltf_bullet[gym,train]'
python examples/train_swing_up.py

Prints the mean return of every generation and writes the learning curve to ``out/swing_up.png``
and a trained episode to ``out/swing_up.glb`` and ``out/swing_up.gif``.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

import gltf_bullet as gb
from gltf_bullet.envs import (
    DriveAction,
    EnvConfig,
    GltfEnv,
    Policy,
    StepContext,
    roll_out,
    write_curve,
    write_episode,
)

ASSET = Path(__file__).parent / "assets" / "swing_up.gltf"
STEPS = 240
"""Of a 30th of a second: eight seconds."""
MOTION = "/nodes/2/extensions/KHR_physics_rigid_bodies/motion"
DRIVE = "/extensions/KHR_physics_rigid_bodies/physicsJoints/0/drives/0"
Weights = npt.NDArray[np.float64]


def uprightness(_: gb.Scene, context: StepContext) -> float:
    """1 per step while the rod stands, -1 while it hangs."""
    return -math.cos(context.sight.joint("HingeOnRod"))


def push(scene: gb.Scene, rng: np.random.Generator) -> None:
    """Begin with a little swing."""
    scene.apply_impulse("Rod", angular=(0.0, rng.uniform(-0.05, 0.05), 0.0))


CONFIG = EnvConfig(
    actions=(DriveAction(joint="HingeOnRod", mode="force"),),
    joints=("HingeOnRod",),
    bodies=(),
    rewards=(uprightness,),
    on_reset=push,
    randomization={f"{MOTION}/mass": (0.8, 1.2), f"{DRIVE}/damping": (0.0, 0.04)},
    max_episode_steps=STEPS,
    frame_skip=8,
    options=gb.LoadOptions(visuals="collider"),  # the file has no meshes
)


def policy_of(weights: Weights) -> Policy:
    """Swings with the motion, and holds against lean and speed near the top.

    Args:
        weights: How much of each of the three, shape [3].
    """

    def act(observed: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        angle, speed = float(observed[0]), float(observed[1])
        height, lean = -np.cos(angle), np.sin(angle)  # 1 and 0 at the top
        near = max(height, 0.0) ** 4
        # A free rod of a metre just reaches the top where its speed squared is 3 g (1 - height).
        missing = 3.0 * 9.81 * (1.0 - height) - speed**2
        features = np.array([missing * speed * (1.0 - near), near * lean, near * speed])
        return np.array([np.tanh(weights @ features)], np.float32)

    return act


def evaluate(env: GltfEnv, weights: Weights, first_seed: int, episodes: int = 4) -> float:
    """Mean return of some episodes."""
    seeds = range(first_seed, first_seed + episodes)
    return float(np.mean([roll_out(env, policy_of(weights), seed).total for seed in seeds]))


def train(env: GltfEnv, *, generations: int = 8, size: int = 12) -> tuple[Weights, list[float]]:
    """Keep the best quarter and look around it (cross-entropy method)."""
    rng = np.random.default_rng(0)
    mean, spread = np.zeros(3), np.array([0.05, 4.0, 1.5])
    curve = [evaluate(env, mean, 20_000)]
    for generation in range(1, generations + 1):
        tried = mean + spread * rng.standard_normal((size, 3))
        returns = [evaluate(env, weights, 100 * generation) for weights in tried]
        best = tried[np.argsort(returns)[-size // 4 :]]
        # Not narrower than a fifth per generation, or it would stop to look.
        mean, spread = best.mean(axis=0), np.maximum(best.std(axis=0), 0.8 * spread)
        curve.append(evaluate(env, mean, 20_000))
        print(f"generation {generation:2}: mean return {curve[-1]:6.1f}")
        if curve[-1] > 0.62 * STEPS:
            break
    return mean, curve


def main(folder: Path = Path("out")) -> tuple[float, float]:
    """Train; gives the mean return before and after, on episodes that training has not seen."""
    env = GltfEnv(ASSET, CONFIG)
    try:
        before = evaluate(env, np.zeros(3), 10_000, episodes=10)
        weights, curve = train(env)
        after = evaluate(env, weights, 10_000, episodes=10)
        print(
            f"return before {before:.1f}, after {after:.1f} of {STEPS}; weights {weights.round(2)}"
        )
        write_episode(env, policy_of(weights), folder / "swing_up")
        write_curve(folder / "swing_up.png", range(len(curve)), curve, title="Swing-up")
    finally:
        env.close()
    return before, after


if __name__ == "__main__":
    main()
