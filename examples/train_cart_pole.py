"""A cart learns to balance its pole by an evolution strategy in plain NumPy, in about a minute.

pip install 'gltf_bullet[gym,train]'
python examples/train_cart_pole.py

Prints the mean return of every generation and writes the learning curve to ``out/cart_pole.png``
and a trained episode to ``out/cart_pole.glb`` and ``out/cart_pole.gif``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

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

ASSET = Path(__file__).parent / "assets" / "cart_pole.gltf"
STEPS = 200
Weights = npt.NDArray[np.float64]


def nudge(scene: gb.Scene, rng: np.random.Generator) -> None:
    """Start with a push at the pole."""
    scene.apply_impulse("Pole", angular=(0.0, rng.uniform(-0.02, 0.02), 0.0))


CONFIG = EnvConfig(
    actions=(DriveAction(joint="Slide", mode="force"),),
    rewards=(terms.Alive(),),
    terminations=(
        terms.JointOutside(joint="Hinge", low=-0.2, high=0.2),
        terms.JointOutside(joint="Slide", low=-2.4, high=2.4),
    ),
    max_episode_steps=STEPS,
    on_reset=nudge,
)


def linear(weights: Weights) -> Policy:
    """The policy with these weights, shape [4]."""
    return lambda observed: np.array([np.tanh(weights @ observed)], np.float32)


def evaluate(env: GltfEnv, weights: Weights, first_seed: int = 10_000) -> float:
    """Mean return over ten episodes; training has not seen those of the default seeds."""
    return float(np.mean([roll_out(env, linear(weights), first_seed + k).total for k in range(10)]))


def train(
    env: GltfEnv, *, generations: int = 15, pairs: int = 8, spread: float = 1.0, rate: float = 2.0
) -> tuple[Weights, list[float]]:
    """Go uphill along mirrored random directions; gives the weights and their mean returns.

    Stops as soon as every episode of an evaluation goes to the end.
    """
    rng = np.random.default_rng(0)
    weights = np.zeros(4)
    curve = [evaluate(env, weights, first_seed=20_000)]
    for generation in range(1, generations + 1):
        directions = rng.standard_normal((pairs, 4))
        returns = np.array(
            [
                [roll_out(env, linear(weights + sign * spread * d), seed).total for sign in (1, -1)]
                for seed, d in enumerate(directions, start=pairs * generation)
            ]
        )
        gain = (returns[:, 0] - returns[:, 1]) / max(float(returns.std()), 1e-6)
        weights = weights + rate * gain @ directions / pairs
        curve.append(evaluate(env, weights, first_seed=20_000))
        print(f"generation {generation:2}: mean return {curve[-1]:6.1f}")
        if curve[-1] >= STEPS:
            break
    return weights, curve


def main(folder: Path = Path("out")) -> tuple[float, float]:
    """Train; gives the mean return before and after."""
    env = GltfEnv(ASSET, CONFIG)
    try:
        before = evaluate(env, np.zeros(4))
        weights, curve = train(env)
        after = evaluate(env, weights)
        print(
            f"return before {before:.1f}, after {after:.1f} of {STEPS}; weights {weights.round(2)}"
        )
        write_episode(env, linear(weights), folder / "cart_pole")
        write_curve(folder / "cart_pole.png", range(len(curve)), curve, title="Cart-pole")
    finally:
        env.close()
    return before, after


if __name__ == "__main__":
    main()
