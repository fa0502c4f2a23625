"""A four-legged walker learns a gait by an evolution strategy, its episodes played by Ray.

pip install 'gltf_bullet[ray,train]'
python examples/train_ray.py                       # starts a Ray of its own on this machine
python examples/train_ray.py --address auto        # joins a running cluster

Prints how far it walks in four seconds, generation by generation, and writes the learning curve to
``out/walker.png`` and a trained episode to ``out/walker.glb`` and ``out/walker.gif``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.progress import Progress

from gltf_bullet.envs import EnvConfig, GltfEnv, RolloutPool, terms, write_curve, write_episode

ASSET = Path(__file__).parent / "assets" / "walker.gltf"
RATE = 30  # actions per second

CONFIG = EnvConfig(
    # All eight servos: -1 and 1 are the limits of the hips and knees.
    joints=(),
    bodies=("Torso",),
    rewards=(terms.Speed(body="Torso", weight=1.0 / RATE),),  # sums up to metres
    terminations=(terms.Below(node="Torso", height=0.26),),
    max_episode_steps=4 * RATE,
    frame_skip=240 // RATE,
)


class Gait:
    """Every joint swings as a sine of its own, twice per second."""

    def __init__(self, weights: npt.NDArray[np.float64]) -> None:
        """Take sine, cosine and middle of every joint, shape [3 * 8]."""
        self.swings = weights.reshape(3, 8)
        self.steps = 0

    def reset(self) -> None:
        """Start with the left foot, so to speak."""
        self.steps = 0

    def __call__(self, observed: Any) -> npt.NDArray[np.float32]:
        """What the servos shall aim at."""
        phase = 2.0 * np.pi * 2.0 * self.steps / RATE
        self.steps += 1
        targets = np.array([np.sin(phase), np.cos(phase), 1.0]) @ self.swings
        return np.clip(targets, -1.0, 1.0).astype(np.float32)


def train(
    pool: RolloutPool, *, generations: int, pairs: int = 8, spread: float = 0.2
) -> tuple[npt.NDArray[np.float64], list[float]]:
    """Go uphill along mirrored random directions, in ever smaller steps.

    Gives the best weights, and how far those of each generation went [m].
    """
    rng = np.random.default_rng(0)
    weights, curve = np.zeros(24), []
    best = weights
    with Progress(transient=True) as progress:
        bar = progress.add_task("", total=2 * pairs + 1)
        for generation in range(generations + 1):
            directions = rng.standard_normal((pairs, 24))
            trials = [weights + sign * spread * d for d in directions for sign in (1, -1)]
            rollouts = pool.run(
                [(Gait(trial), 0) for trial in [weights, *trials]],
                on_progress=lambda done, _: progress.update(bar, completed=done),
            )
            curve.append(rollouts[0].total)
            best = weights if curve[-1] == max(curve) else best
            progress.print(f"generation {generation:2}: {curve[-1]:5.2f} m")
            ways = np.array([rollout.total for rollout in rollouts[1:]]).reshape(pairs, 2)
            gain = (ways[:, 0] - ways[:, 1]) / max(float(ways.std()), 1e-6)
            rate = 0.15 * 0.9**generation
            weights = weights + rate * gain @ directions / np.sqrt(pairs)
    return best, curve


def main(
    folder: Path = Path("out"),
    *,
    generations: int = 12,
    workers: int = 2,
    address: str | None = None,
) -> list[float]:
    """Train; gives how far the walker walks after every generation [m]."""
    with RolloutPool(ASSET, CONFIG, workers=workers, address=address) as pool:
        weights, curve = train(pool, generations=generations)
    print(f"way in 4 s: before {curve[0]:.2f} m, after {max(curve):.2f} m")
    env = GltfEnv(ASSET, CONFIG)
    write_episode(env, Gait(weights), folder / "walker")
    env.close()
    write_curve(folder / "walker.png", range(len(curve)), curve, title="Walker: way in 4 s [m]")
    return curve


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--generations", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--address", help="of a running Ray cluster; 'auto' for the local one")
    chosen = parser.parse_args()
    main(generations=chosen.generations, workers=chosen.workers, address=chosen.address)
