"""A task that lives in its file: the push at the start, the reward and the end are a graph in it.

pip install 'gltf_bullet[gym,train]'
python examples/train_task.py

The cart-pole of ``train_cart_pole.py``, learned in the same way; but nothing here says what it is
about: ``cart_pole_task.gltf`` does, in a behavior graph (``KHR_interactivity``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

# The example beside this one.
from train_cart_pole import ASSET, STEPS, evaluate, linear, train

from gltf_bullet.envs import DriveAction, EnvConfig, GltfEnv, terms, write_episode

TASK = ASSET.with_name("cart_pole_task.gltf")

CONFIG = EnvConfig(
    actions=(DriveAction(joint="Slide", mode="force"),),
    rewards=(terms.Variable(variable="score", growth=True),),
    terminations=(terms.EventSent(event="fallen"),),
    max_episode_steps=STEPS,
)


def main(folder: Path = Path("out")) -> tuple[float, float]:
    """Train; gives the mean return before and after."""
    env = GltfEnv(TASK, CONFIG)
    try:
        before = evaluate(env, np.zeros(4))
        weights, _ = train(env)
        after = evaluate(env, weights)
        print(f"return before {before:.1f}, after {after:.1f} of {STEPS}")
        write_episode(env, linear(weights), folder / "task")
    finally:
        env.close()
    return before, after


if __name__ == "__main__":
    main()
