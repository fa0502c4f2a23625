"""A cart learns to balance its pole by an evolution strategy in plain NumPy, in about a minute.

python examples/train_cart_pole.py

Prints the mean return of every generation and writes the learning curve to ``out/cart_pole.png``
and the trained episode as an animated ``out/cart_pole.glb``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

import gltf_bullet as gb
from gltf_bullet.envs import DriveAction, EnvConfig, GltfEnv, terms

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


def episode(env: GltfEnv, weights: Weights, seed: int) -> float:
    """The return of the linear policy with these weights, shape [4]."""
    observed, _ = env.reset(seed=seed)
    total, ended = 0.0, False
    while not ended:
        action = np.array([np.tanh(weights @ observed)], np.float32)
        observed, reward, fallen, timeout, _ = env.step(action)
        total, ended = total + reward, fallen or timeout
    return total


def evaluate(env: GltfEnv, weights: Weights, first_seed: int = 10_000) -> float:
    """Mean return over ten episodes; training has not seen those of the default seeds."""
    return float(np.mean([episode(env, weights, first_seed + k) for k in range(10)]))


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
                [episode(env, weights + sign * spread * d, seed) for sign in (1, -1)]
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


def draw_curve(curve: list[float], path: Path, width: int = 480, height: int = 240) -> None:
    """A line of mean returns over generations; the upper border is the largest return."""
    picture = Image.new("RGB", (width, height), "white")
    x = np.linspace(20, width - 20, len(curve))
    y = height - 20 - (height - 40) * np.array(curve) / STEPS
    pen = ImageDraw.Draw(picture)
    pen.rectangle((20, 20, width - 20, height - 20), outline="grey")
    pen.line(list(zip(x.tolist(), y.tolist(), strict=True)), fill="blue", width=2)
    picture.save(path)


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
        folder.mkdir(parents=True, exist_ok=True)
        draw_curve(curve, folder / "cart_pole.png")
        env.reset(seed=0)
        recording = gb.record(env.scene)
        episode(env, weights, seed=0)
        recording.export_glb(folder / "cart_pole.glb")
    finally:
        env.close()
    return before, after


if __name__ == "__main__":
    main()
