"""Whole episodes under a policy, as values for learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import FloatArray

Policy: TypeAlias = "Callable[[Any], npt.NDArray[np.floating]]"
"""A function from an observation to an action. A policy with a memory has a method ``reset``, which
is called at the start of an episode."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rollout:
    """One episode."""

    seed: int
    """Seed of the reset."""
    rewards: FloatArray
    """Shape [step_count]."""
    is_terminated: bool
    """True if the episode ended by a termination, not by the number of steps."""
    observations: tuple[Any, ...] = ()
    """Observations from the reset to the end, one more than steps; empty unless requested."""
    actions: tuple[npt.NDArray[np.floating], ...] = ()
    """Actions, one per step; empty unless requested."""

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
        env: An environment that ends its episodes; see ``EnvConfig.max_episode_steps``.
        policy: Called in every step.
        seed: Seed of the reset.
        keep_course: True to return observations and actions as well.
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
