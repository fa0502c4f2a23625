"""Results of training to look at: a learning curve, and an episode as a GLB and a GIF."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium

from gltf_bullet.envs.gltf_env import GltfEnv
from gltf_bullet.envs.rollouts import Policy, Rollout, roll_out
from gltf_bullet.output_files import written_aside
from gltf_bullet.runtime.recording.scene_recording import record


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

    It is played once: files and result show the same episode, whatever the policy remembers.

    Args:
        env: A :class:`GltfEnv`, wrapped or not; its world need not be open yet.
        policy: Called in every step.
        stem: Path without suffix; its folder is created.
        seed: Seed of the reset.
        fps: Frames per second.
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
    env.reset(seed=seed)  # opens its world
    recording = record(inner.scene, fps=fps)
    try:
        if hasattr(policy, "reset"):
            policy.reset()
        rollout = roll_out(env, policy, seed)
        recording.export_glb(stem.with_suffix(".glb"), name="Episode")
        recording.export_film(stem.with_suffix(".gif"), size=size, fps=fps)
        if html:
            recording.export_html(stem.with_suffix(".html"))
    finally:
        recording.stop()
    return rollout
