"""Whole episodes under a policy, as values to learn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import FloatArray

__all__ = ["Policy", "Rollout", "roll_out"]

Policy: TypeAlias = "Callable[[Any], npt.NDArray[np.floating]]"
"""From an observation to an action. One with a memory has a method ``reset``, which is called as an
episode starts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rollout:
    """One episode."""

    seed: int
    """What the environment was reset with."""
    rewards: FloatArray
    """Shape [step_count]."""
    is_terminated: bool
    """Whether the episode came to an end of its own, not of too many steps."""
    observations: tuple[Any, ...] = ()
    """From the reset to the end, one more than there are steps; empty unless asked for."""
    actions: tuple[npt.NDArray[np.floating], ...] = ()
    """Likewise, one per step."""

    @property
    def total(self) -> float:
        """The return: the sum of all rewards."""
        return float(self.rewards.sum())

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.rewards)


def roll_out(
    env: gymnasium.Env[Any, Any], policy: Policy, seed: int, *, keep_course: bool = False
) -> Rollout:
    """Play one episode to its end.

    Args:
        env: Ends its episodes by itself; see ``EnvConfig.max_episode_steps``.
        policy: Asked in every step.
        seed: For the reset.
        keep_course: Also give observations and actions.
    """
    if hasattr(policy, "reset"):
        policy.reset()
    observed, _ = env.reset(seed=seed)
    observations, actions, rewards = [observed], [], []
    terminated = truncated = False
    while not (terminated or truncated):
        action = policy(observed)
        observed, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
        if keep_course:
            observations.append(observed)
            actions.append(action)
    return Rollout(
        seed=seed,
        rewards=np.array(rewards),
        is_terminated=terminated,
        observations=tuple(observations) if keep_course else (),
        actions=tuple(actions),
    )
