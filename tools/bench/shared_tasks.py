"""Two tasks of the collection beside the checkout, each also written by hand in plain PyBullet.

An arm that throws a ball into a bin and a quadruped on triangles: ``../shared/faults/training``.
Nothing here was tuned to them.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from functools import partial
from typing import Any

from gltf_bullet.envs import GltfEnv, GltfVectorEnv
from tools.bench.step_tax import SHARED
from tools.bench.train import TrainRow

_FOLDER = SHARED.parent / "faults" / "training"
_TASKS = {"thrower": "Thrower", "quad": "Quad"}
"""Names of the configurations, and of the classes by hand."""


class _HandLoop:
    """Worlds by hand, one after the other in a Python loop, with episodes that start over."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self.num_envs = loop.n
        self.single_action_space = loop.e[0].action_space

    def reset(self, *, seed: int = 0) -> Any:
        """Start all episodes; they are opened by the first call."""
        return self._loop.reset(seed)

    def step(self, actions: Any) -> Any:
        """Make a step of each world."""
        return self._loop.step(actions)

    def close(self) -> None:
        """Close the worlds."""
        self._loop.close()


def shared_rows() -> Iterator[TrainRow]:
    """Yield the rows of these tasks, none where they are not there."""
    if not (_FOLDER / "tasks.py").is_file():
        return
    tasks = runpy.run_path(str(_FOLDER / "tasks.py"))
    by_hand = runpy.run_path(str(_FOLDER / "by_hand.py"))
    for name, hand in _TASKS.items():
        path, config = tasks[name.upper()], tasks[name]
        yield TrainRow(
            name=name,
            what="GltfEnv / a plain environment",
            ours=partial(GltfEnv, path, config),
            theirs=by_hand[hand],
        )
        for count in (16, 64):
            yield TrainRow(
                name=f"{name}-{count}",
                what=f"GltfVectorEnv of {count} / a Python loop over {count} plain worlds",
                ours=partial(GltfVectorEnv, path, count, config),
                theirs=partial(_loop, by_hand["Loop"], by_hand[hand], count),
            )


def _loop(loop: Any, hand: Any, count: int) -> _HandLoop:
    return _HandLoop(loop(hand, count))
