"""``python -m tools.bench train``: environment steps per second against a loop written by hand.

Both sides do the same: cart-poles, four engine steps per action, gymnasium's interface around.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AsyncVectorEnv

from gltf_bullet.bullet.owned_world import close_world, open_world
from gltf_bullet.envs import DriveAction, EnvConfig, GltfEnv, GltfVectorEnv, terms
from tools.bench.assets import cart_pole_gltf
from tools.bench.baselines.cart_pole import BareCartPoles
from tools.bench.baselines.plain_cart_pole import PlainCartPole

__all__ = ["TRAIN_ROWS", "BareVectorEnv", "PlainEnv", "Throughput"]

CONFIG = EnvConfig(
    actions=(DriveAction(joint="Slide", mode="force"),), bodies=(), rewards=(terms.Alive(),)
)
CHUNK = 0.25
"""[s] that one side runs before the other one has its turn."""

Env: TypeAlias = Any
"""With gymnasium's ``reset``, ``step`` and ``close``, single or vector."""


class PlainEnv(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """One cart-pole as somebody writes it who needs no other: what one of ours is held against."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self._client_id = open_world(gravity=CONFIG.gravity, time_step=CONFIG.time_step)
        self._cart = PlainCartPole(self._client_id)

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002  # gymnasium's signature
    ) -> Any:
        """The upright pole."""
        super().reset(seed=seed)
        return self._cart.reset(), {}

    def step(self, action: npt.NDArray[np.float32]) -> Any:
        """Push for four engine steps."""
        return self._cart.step(action, CONFIG.frame_skip), 1.0, False, False, {}

    def close(self) -> None:
        """Close the world."""
        close_world(self._client_id)


class BareVectorEnv:
    """Many by hand in one world."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._client_id = open_world(gravity=CONFIG.gravity, time_step=CONFIG.time_step)
        self._carts = BareCartPoles(self._client_id, count)

    def reset(self) -> Any:
        """All poles upright."""
        return self._carts.reset().astype(np.float32), {}

    def step(self, actions: npt.NDArray[np.float32]) -> Any:
        """Push all for four engine steps."""
        observed = self._carts.step(actions[:, 0].astype(np.float64), CONFIG.frame_skip)
        nothing = np.zeros(self._count, dtype=np.bool_)
        return observed.astype(np.float32), np.ones(self._count), nothing, nothing, {}

    def close(self) -> None:
        """Close the world."""
        close_world(self._client_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Medians of both sides."""

    ours: float
    """Environment steps per second, of all copies together."""
    theirs: float
    our_reset: float
    """[ms] for one environment."""
    their_reset: float

    @property
    def ratio(self) -> float:
        """How many times slower we are."""
        return self.theirs / self.ours


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainRow:
    """A way to run environments."""

    name: str
    what: str
    count: int
    """Environments that one step advances."""
    ours: Callable[[], Env]
    theirs: Callable[[], Env]

    def measure(self, repeats: int) -> Throughput:
        """Both sides by turns."""
        with ExitStack() as stack:
            pair = []
            for make in (self.ours, self.theirs):
                env = make()
                stack.callback(env.close)
                env.reset()
                pair.append(env)
            # An action that is a little off keeps the carts from standing still.
            shape = (1,) if self.name == "single" else (self.count, 1)
            action = np.full(shape, 0.01, np.float32)
            speeds, resets = zip(*(self._turns(pair, action) for _ in range(repeats)), strict=True)
        rates = [statistics.median(side) for side in zip(*speeds, strict=True)]
        costs = [statistics.median(side) for side in zip(*resets, strict=True)]
        return Throughput(ours=rates[0], theirs=rates[1], our_reset=costs[0], their_reset=costs[1])

    def _turns(
        self, pair: list[Env], action: npt.NDArray[np.float32]
    ) -> tuple[list[float], list[float]]:
        rates, resets = [], []
        for env in pair:
            rates.append(self.count / _per_call(partial(env.step, action)))
            resets.append(1e3 * _per_call(env.reset) / self.count)
        return rates, resets


def _per_call(work: Callable[[], object]) -> float:
    """Mean duration [s] of a call."""
    start, calls = time.perf_counter(), 0
    while (passed := time.perf_counter() - start) < CHUNK:
        work()
        calls += 1
    return passed / calls


def _rows() -> Iterator[TrainRow]:
    data = cart_pole_gltf()
    single = partial(GltfEnv, data, CONFIG)
    yield TrainRow(
        name="single", what="GltfEnv / a plain environment", count=1, ours=single, theirs=PlainEnv
    )
    # PyBullet does not survive a fork with open worlds.
    apart = partial(AsyncVectorEnv, context="spawn")
    yield TrainRow(
        name="async-2",
        what="AsyncVectorEnv of 2 processes / the same by hand",
        count=2,
        ours=partial(apart, [single] * 2),
        theirs=partial(apart, [PlainEnv] * 2),
    )
    for count in (1, 16, 64):
        yield TrainRow(
            name=f"batch-{count}",
            what=f"GltfVectorEnv of {count} in one world / by hand",
            count=count,
            ours=partial(GltfVectorEnv, data, count, CONFIG),
            theirs=partial(BareVectorEnv, count),
        )


TRAIN_ROWS = tuple(_rows())
"""In the order of the table."""
