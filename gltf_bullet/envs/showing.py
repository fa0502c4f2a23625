"""Results of training to look at: a learning curve, and an episode as a GLB and a GIF."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from PIL import Image

from gltf_bullet.envs.gltf_env import GltfEnv
from gltf_bullet.envs.rollouts import Policy, Rollout, roll_out
from gltf_bullet.output_files import written_aside
from gltf_bullet.runtime.recording.scene_recording import record
from gltf_bullet.runtime.scene import Scene

_Seen = TypeVar("_Seen")

_TICK = 0.01
"""[s] Unit of time in GIFs."""


def write_curve(
    path: str | os.PathLike[str],
    steps: Sequence[float],
    returns: Sequence[float],
    *,
    steps_are: str = "generation",
    title: str = "",
) -> None:
    """Draw mean returns over the course of training; needs the extra ``train``.

    Args:
        path: A picture file that matplotlib can write: ``.png``, ``.svg`` or ``.pdf``.
        steps: Positions along the course of training.
        returns: Mean return at each of them.
        steps_are: Unit of ``steps``.
        title: Title above the picture.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("curves need matplotlib: pip install 'gltf_bullet[train]'") from error
    # A figure of its own is drawn into files without a display, and leaves pyplot's figures alone.
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.add_subplot(xlabel=steps_are, ylabel="mean return", title=title)
    axes.plot(list(steps), list(returns), marker=".")
    axes.grid(alpha=0.3)
    with written_aside(path) as aside:
        figure.savefig(aside, dpi=150)


def write_episode(
    env: gymnasium.Env[Any, Any],
    policy: Policy,
    stem: str | os.PathLike[str],
    *,
    seed: int = 0,
    fps: float = 20.0,
    size: tuple[int, int] = (400, 300),
    html: bool = False,
) -> Rollout:
    """Play an episode and write it as ``stem.glb``, an animation of the file, and ``stem.gif``.

    Args:
        env: A :class:`GltfEnv`, wrapped or not; its world need not be open yet.
        policy: Called in every step.
        stem: Path without suffix; its folder is created.
        seed: Seed of the reset.
        fps: Most frames per second.
        size: Width and height of the GIF [pixels].
        html: Also write ``stem.html``, a page that plays it; needs the extra ``web``.

    Raises:
        TypeError: The innermost environment is not a ``GltfEnv``.
        ImportError: ``html`` without the extra.
        OSError: A file cannot be written.
    """
    inner = env.unwrapped
    if not isinstance(inner, GltfEnv):
        raise TypeError(f"env is {type(inner).__name__} inside; must be a GltfEnv")
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    interval = max(round(1.0 / (fps * _TICK)), 2) * _TICK
    rollout, boxes = _watched(
        env, policy, seed, interval, lambda scene: scene.pictures.framed_box()
    )
    # The camera is placed to see the whole course, so the episode is played again for it.
    corners = np.array(boxes)
    whole = corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)
    env.reset(seed=seed)
    recording = record(inner.scene, fps=fps)
    try:
        _, frames = _watched(
            env,
            policy,
            seed,
            interval,
            lambda scene: Image.fromarray(scene.pictures.rgb(size=size, box=whole, shadows=True)),
        )
        recording.export_glb(stem.with_suffix(".glb"), name="Episode")
        if html:
            recording.export_html(stem.with_suffix(".html"))
    finally:
        recording.stop()
    with written_aside(stem.with_suffix(".gif")) as aside:
        frames[0].save(
            aside,
            save_all=True,
            append_images=frames[1:],
            duration=round(interval * 1000),
            loop=0,
            optimize=True,
        )
    return rollout


def _watched(
    env: gymnasium.Env[Any, Any],
    policy: Policy,
    seed: int,
    interval: float,
    look: Callable[[Scene], _Seen],
) -> tuple[Rollout, list[_Seen]]:
    """Play an episode and call ``look`` at the start and every ``interval`` seconds."""
    found: list[_Seen] = []
    inner = cast("GltfEnv", env.unwrapped)

    def watch() -> None:
        # A reset has set the clock to zero.
        if inner.scene.time >= len(found) * interval - 1e-9:
            found.append(look(inner.scene))

    def watched(observed: Any) -> npt.NDArray[np.floating]:
        watch()
        return policy(observed)

    if hasattr(policy, "reset"):
        policy.reset()
    rollout = roll_out(env, watched, seed)
    watch()
    return rollout, found
