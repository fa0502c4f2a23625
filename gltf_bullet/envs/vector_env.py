"""Many copies of one asset, each in a world of its own, stepped in one process."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gltf_bullet.envs.config import EnvConfig
from gltf_bullet.envs.episode import Episode, copy_rows, look_at, open_episode, outline_of
from gltf_bullet.envs.observations import Observation
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.transforms import BoolArray, FloatArray


class GltfVectorEnv(VectorEnv[Any, npt.NDArray[np.float32], npt.NDArray[Any]]):
    """``count`` copies that move as :class:`~gltf_bullet.envs.gltf_env.GltfEnv` does, to the bit.

    Each has a PyBullet world of its own, so no copy depends on another one. A copy whose episode
    has ended restarts by itself, as in gymnasium's vector environments.
    """

    metadata = {  # noqa: RUF012
        "autoreset_mode": AutoresetMode.NEXT_STEP,
        "render_modes": ["rgb_array"],
    }

    def __init__(
        self,
        path: str | os.PathLike[str] | bytes,
        count: int,
        config: EnvConfig | None = None,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        """Read the file and make the spaces; the worlds are opened at the first reset.

        Args:
            path: A ``.gltf`` or ``.glb`` file, or the bytes of a self-contained one.
            count: Number of copies.
            config: The config of a single environment.
            render_mode: ``"rgb_array"`` or ``None``; see :meth:`render`.
            autoreset_mode: Restart of a copy whose episode has ended. ``NEXT_STEP``: in the next
                step, whose action is ignored. ``SAME_STEP``: at once; the last observation is in
                ``infos["final_obs"]``, its info in ``infos["final_info"]``.

        Raises:
            AssetError: The file cannot be used.
            KeyError: The asset lacks something that the config names.
            ValueError: ``count`` < 1, the range of a drive is unknown, or another mode.
        """
        # First of all: gymnasium closes a vector environment even if this raises.
        self._episodes: list[Episode] = []
        if count < 1:
            raise ValueError(f"count is {count}; must be >= 1")
        self._rows = copy_rows(count)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is {render_mode!r}; must be rgb_array or None")
        if autoreset_mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            raise ValueError(f"autoreset_mode is {autoreset_mode}; must be NEXT_STEP or SAME_STEP")
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": ["rgb_array"]}
        self._starts_at_once = autoreset_mode is AutoresetMode.SAME_STEP
        self.path = os.fspath(path)
        self.render_mode = render_mode
        is_stated, config = config is not None, config or EnvConfig()
        if render_mode is not None and config.options.visuals == "mesh":
            shown = read_asset(path).automatic_visuals
            config = replace(config, options=replace(config.options, visuals=shown))
        self.config = config
        self.num_envs = count
        self._outline = outline_of(self.path, self.config, needs_actions=not is_stated)
        self.single_observation_space = self._outline.observations.space
        self.single_action_space = spaces.Box(-1.0, 1.0, (len(self._outline.actions),), np.float32)
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self._rngs: list[np.random.Generator] = [np.random.default_rng() for _ in range(count)]
        self._ended = np.zeros(count, dtype=np.bool_)

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Name of each number of a row of a flat observation, in order."""
        return self._outline.observations.names

    @property
    def episodes(self) -> Sequence[Episode]:
        """The copies, in order; empty before the first reset."""
        return tuple(self._episodes)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every copy.

        Args:
            seed: One per copy, or one for all: copy k gets ``seed + k``, as in gymnasium.
            options: No options are known.

        Raises:
            EngineError: No room for so many worlds: PyBullet has 1024 in a process.
            ValueError: Wrong number of seeds.
        """
        if not self._episodes:
            self._open()
        seeds = [seed] * self.num_envs if seed is None else seed
        if isinstance(seeds, int):
            seeds = [seeds + k for k in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds; must be {self.num_envs}")
        infos: dict[str, Any] = {}
        for k, one in enumerate(seeds):
            if one is not None:
                self._rngs[k] = seeding.np_random(one)[0]
            infos = self._add_info(infos, self._episodes[k].begin(self._rngs[k]), k)
        self._ended[:] = False
        return self._shown(self._look()), infos

    def step(
        self, actions: npt.NDArray[np.float32]
    ) -> tuple[
        Any,
        npt.NDArray[np.float64],
        BoolArray,
        BoolArray,
        dict[str, Any],
    ]:
        """Hold one action per copy for ``frame_skip`` engine steps.

        Args:
            actions: Within [-1, 1], shape [num_envs, action_count].

        Raises:
            ValueError: The actions have another shape, or one is not finite.
            RuntimeError: Before the first reset.
        """
        if not self._episodes:
            raise RuntimeError("call reset() before step()")
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions; must be {self.num_envs}")
        taken = self._outline.actions.taken(actions, self.num_envs)
        for episode in self._episodes:
            episode.table.refresh()
        self._outline.actions.apply(self._rows, taken)
        infos: dict[str, Any] = {}
        was_over = self._ended
        for k, is_ended in enumerate(was_over.tolist()):
            if is_ended:
                infos = self._add_info(infos, self._episodes[k].begin(self._rngs[k]), k)
            else:
                self._episodes[k].step(taken[k])
        seen = self._look()
        rewards, terminated, truncated = self._outcomes(taken, seen, was_over)
        is_over = terminated | truncated
        if not was_over.all():
            infos["events"] = self._events(was_over)
            infos["_events"] = ~was_over
        if self._starts_at_once and is_over.any():
            infos = self._start_over(np.flatnonzero(is_over).tolist(), seen, infos)
            is_over[:] = False
        self._ended = is_over
        return self._shown(seen), rewards, terminated, truncated, infos

    def _outcomes(
        self, actions: FloatArray, seen: FloatArray, was_over: BoolArray
    ) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Rewards, and whether episodes are terminated and truncated, shape [num_envs] each."""
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        found = seen[:, -2:].tolist()
        for k, is_ended in enumerate(was_over.tolist()):
            if not is_ended:
                reward, end = found[k]
                rewards[k], terminated[k], truncated[k] = self._episodes[k].outcome(
                    actions[k], reward, bool(end)
                )
        return rewards, terminated, truncated

    def _events(self, was_over: BoolArray) -> npt.NDArray[np.object_]:
        events = np.full(self.num_envs, None, dtype=object)
        for k in np.flatnonzero(~was_over).tolist():
            events[k] = self._episodes[k].events
        return events

    def _start_over(
        self, copies: Sequence[int], seen: FloatArray, infos: dict[str, Any]
    ) -> dict[str, Any]:
        """Start episodes of some copies, with what was seen last among the infos."""
        for k in copies:
            episode = self._episodes[k]
            last = self._outline.observations.shown(seen[k, :-2], [episode.scene])
            final = {"final_obs": last, "final_info": {"events": episode.events}}
            infos = self._add_info(infos, {**final, **episode.begin(self._rngs[k])}, k)
            seen[k] = look_at([episode], episode.table.row, len(self.observation_names))[0]
        return infos

    def _look(self) -> FloatArray:
        """Observations, reward and end of the kernels' terms of all copies."""
        return look_at(self._episodes, self._rows, len(self.observation_names))

    def render(self) -> npt.NDArray[np.uint8] | None:  # type: ignore[override]
        """One picture with a tile for each copy, with ``render_mode="rgb_array"``; else ``None``.

        Its shape is [height, width, 3]; the first copy is on the upper left. Gymnasium's own vector
        environments return a picture per copy.

        Raises:
            gymnasium.error.ResetNeeded: Before the first :meth:`reset`.
        """
        if self.render_mode is None:
            return None
        if not self._episodes:
            raise ResetNeeded("call reset() before using the environment")
        width, height = self.config.picture_size
        columns = math.ceil(math.sqrt(self.num_envs))
        rows = math.ceil(self.num_envs / columns)
        picture = np.full((height, width, 3), 255, dtype=np.uint8)
        for k, episode in enumerate(self._episodes):
            row, column = divmod(k, columns)
            top, bottom = row * height // rows, (row + 1) * height // rows
            left, right = column * width // columns, (column + 1) * width // columns
            tile = episode.scene.pictures.rgb(size=(right - left, bottom - top))
            picture[top:bottom, left:right] = tile
        return picture

    def close_extras(self, **kwargs: Any) -> None:
        """Close the worlds."""
        for episode in self._episodes:
            episode.close()
        self._episodes = []

    def _open(self) -> None:
        self.closed = False  # gymnasium's close() returns at once if True
        asset = read_asset(self.path)
        try:
            for k in range(self.num_envs):
                row = self._rows[k : k + 1]
                self._episodes.append(open_episode(asset, self.config, self._outline, row))
        except BaseException:
            self.close_extras()
            raise

    def _shown(self, seen: FloatArray) -> Observation:
        """The observations of all copies."""
        scenes = [episode.scene for episode in self._episodes]
        return self._outline.observations.shown(seen[:, :-2], scenes)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_episodes": []}


def make_vector_env(
    num_envs: int, path: str | os.PathLike[str] | bytes, **more: Any
) -> GltfVectorEnv:
    """Entry point of ``gymnasium.make_vec("gltf_bullet/Gltf-v0", num_envs=16, path=...)``."""
    return GltfVectorEnv(path, num_envs, **more)
