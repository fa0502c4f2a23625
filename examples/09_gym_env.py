"""A glTF file as a Gymnasium environment: a cart balances its pole under a hand-made rule.

python examples/09_gym_env.py
"""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np

import gltf_bullet as gb
from gltf_bullet.envs import DriveAction, EnvConfig, terms

ASSET = Path(__file__).parent / "assets" / "cart_pole.gltf"


def nudge(scene: gb.Scene, rng: np.random.Generator) -> None:
    """Every episode starts with another push at the pole."""
    scene.apply_impulse("Pole", angular=(0.0, rng.uniform(-0.01, 0.01), 0.0))


CONFIG = EnvConfig(
    actions=(DriveAction(joint="Slide", mode="force"),),  # the drive's maxForce: 10 N
    rewards=(terms.Alive(), terms.ControlCost()),
    terminations=(
        terms.JointOutside(joint="Hinge", low=-0.2, high=0.2),
        terms.JointOutside(joint="Slide", low=-2.4, high=2.4),
    ),
    max_episode_steps=150,
    on_reset=nudge,
    randomization={"/nodes/5/extensions/KHR_physics_rigid_bodies/motion/mass": (0.05, 0.2)},
)


def main(headless: bool = False, episodes: int = 2) -> gb.Scene:
    """Balance a few episodes; the world stays open for whoever looks at the scene afterwards."""
    mode = None if headless else "human"
    env = gymnasium.make("gltf_bullet/Gltf-v0", path=ASSET, config=CONFIG, render_mode=mode)
    for episode in range(episodes):
        observed, info = env.reset(seed=episode)
        total, ended = 0.0, False
        while not ended:
            # Joint positions (way, angle), then their velocities.
            push = np.clip(observed @ (0.1, -5.0, 0.3, -1.0), -1.0, 1.0)
            observed, reward, fallen, timeout, _ = env.step(np.array([push], np.float32))
            total, ended = total + float(reward), fallen or timeout
        print(f"episode {episode}: return {total:.1f} with {info['randomization']}")
    return env.unwrapped.scene


def check(scene: gb.Scene) -> None:
    """The pole still stands after 150 steps of a 60th of a second."""
    assert abs(scene.time - 2.5) < 1e-6
    assert abs(scene.joints["Hinge"].degrees_of_freedom[0].position) < 0.2


if __name__ == "__main__":
    # Without a screen the same runs without a window.
    check(main(headless=not gb.has_display()))
