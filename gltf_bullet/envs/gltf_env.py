"""A glTF file as a Gymnasium environment; one PyBullet world per environment."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gltf_bullet.bullet.owned_world import NO_DISPLAY, has_display
from gltf_bullet.envs.config import EnvConfig, ResetOptions, config_of
from gltf_bullet.envs.episode import Episode, look_at, open_episode, outline_of
from gltf_bullet.envs.observations import Observation
from gltf_bullet.errors import EngineError
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import FloatArray


class GltfEnv(gymnasium.Env[Observation, npt.NDArray[np.float32]]):
    """One asset, stepped alone. Also ``gymnasium.make("gltf_bullet/Gltf-v0", path=...)``.

    The world is opened at the first reset, in the process that runs it, and closed by
    :meth:`close`, or when nobody holds it or its scene any more. Pickles and copies start
    without one; they keep the random numbers' state. ``info`` has ``randomization`` (pointer to
    drawn value) at resets, and at steps ``events`` (of triggers, over all engine steps) and, with
    ``EnvConfig.success``, ``is_success``.
    """

    # gymnasium declares this as an ordinary attribute.
    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 60}  # noqa: RUF012

    def __init__(
        self,
        path: str | os.PathLike[str] | bytes,
        config: EnvConfig | None = None,
        *,
        render_mode: str | None = None,
    ) -> None:
        """Read the file and make the spaces.

        Args:
            path: A ``.gltf`` or ``.glb`` file, or the bytes of a self-contained one.
            config: Actions, observations and rewards; ``None``: everything, and no reward.
            render_mode: ``"rgb_array"``, ``"human"`` (PyBullet's window, opened at the first
                reset), or ``None``.

        Raises:
            AssetError: The file cannot be used.
            KeyError: The asset lacks something that the config names.
            TypeError: The config is none.
            ValueError: The range of a drive is unknown, a file without drives has no actions, or
                the render mode is unknown.
            EngineError: ``"human"`` without a display.
        """
        if render_mode not in (None, *type(self).metadata["render_modes"]):
            raise ValueError(f"render_mode is {render_mode!r}; must be rgb_array, human or None")
        if render_mode == "human" and not has_display():
            raise EngineError(NO_DISPLAY)
        self.path = os.fspath(path)
        is_stated = config is not None
        if config is None:
            shown = read_asset(path).automatic_visuals
            config = EnvConfig(options=LoadOptions(visuals=shown))
        self._config = config_of(config)
        self.render_mode = render_mode
        self.metadata = {
            # Only modes that work on this machine.
            "render_modes": ["rgb_array", "human"] if has_display() else ["rgb_array"],
            "render_fps": round(1.0 / (self.config.frame_skip * self.config.time_step)),
        }
        self._outline = outline_of(self.path, self.config, needs_actions=not is_stated)
        self._due = 0.0
        self.observation_space = self._outline.observations.space
        self.action_space = spaces.Box(-1.0, 1.0, (len(self._outline.actions),), np.float32)
        self._episode: Episode | None = None
        self._reset_options: Mapping[str, Any] | None = None

    @property
    def reset_options(self) -> Mapping[str, Any] | None:
        """Options of all coming resets that are given none: what a curriculum sets.

        Raises:
            ValueError: There is no such option, or a range is empty or not finite.
        """
        return self._reset_options

    @reset_options.setter
    def reset_options(self, options: Mapping[str, Any] | None) -> None:
        ResetOptions.of(options)
        self._reset_options = options

    @property
    def config(self) -> EnvConfig:
        """The settings. They stay; options of :meth:`reset` say what differs in an episode."""
        return self._config

    @property
    def action_names(self) -> tuple[str, ...]:
        """Name of each number of an action, such as ``"HingeOnDoor position"``."""
        return self._outline.actions.names

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Name of each number of a flat observation, such as ``"HingeOnDoor position"``."""
        return self._outline.observations.names

    @property
    def scene(self) -> Scene:
        """The scene that runs in the world.

        Raises:
            gymnasium.error.ResetNeeded: Before the first :meth:`reset`.
        """
        return self._running().scene

    @property
    def client_id(self) -> int | None:
        """Client id of the PyBullet world of the environment; ``None`` before the first reset."""
        return None if self._episode is None else self._episode.scene.client_id

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: back to the start, randomised anew.

        Args:
            seed: Seed of the environment's random numbers; ``None`` continues them.
            options: Those of :class:`~gltf_bullet.envs.config.ResetOptions`, for this episode:
                ``state``, ``randomization``, ``values``. Without any, :attr:`reset_options`.

        Raises:
            KeyError: An option's pointer is to nothing.
            TypeError: An option is of another type.
            ValueError: There is no such option, or a value is out of range.
            EngineError: No room for another world, or no display for ``"human"``.
        """
        super().reset(seed=seed)
        if self._episode is None:
            self._open()
        episode = self._running()
        info = episode.begin(self.np_random, options or self.reset_options)
        return self._shown(self._look(episode), episode), info

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Hold an action for ``frame_skip`` engine steps.

        Args:
            action: Within [-1, 1], shape [action_count].

        Raises:
            ValueError: The action has another shape or is not finite.
        """
        episode, outline = self._running(), self._outline
        taken = outline.actions.taken(action)
        episode.table.refresh()
        outline.actions.apply(episode.table.row, taken)
        episode.step(taken)
        if self.render_mode == "human":
            self._keep_pace()
        seen = self._look(episode)
        reward, terminated, truncated, info = episode.outcome(seen[-3:].tolist())
        return self._shown(seen, episode), reward, terminated, truncated, info

    def _look(self, episode: Episode) -> FloatArray:
        """Observations, success, reward and end by the kernels' terms."""
        seen: FloatArray = look_at([episode], episode.table.row, len(self.observation_names))[0]
        return seen

    def _shown(self, seen: FloatArray, episode: Episode) -> Observation:
        return self._outline.observations.shown(seen[:-3], [episode.scene])

    def _keep_pace(self) -> None:
        """Wait until the step's simulated time has passed on the clock, for human viewers."""
        now = time.monotonic()
        self._due = max(self._due + self.config.frame_skip * self.config.time_step, now)
        time.sleep(self._due - now)

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A picture, shape [height, width, 3], with ``render_mode="rgb_array"``; else ``None``."""
        if self.render_mode != "rgb_array":
            return None
        return self._running().picture(self.config.picture_size)

    def close(self) -> None:
        """Close the world; a later reset opens another one. A second call does nothing."""
        if self._episode is not None:
            self._episode.close()
        self._episode = None

    def _open(self) -> None:
        asset, is_shown = read_asset(self.path), self.render_mode == "human"
        self._episode = open_episode(asset, self.config, self._outline, window=is_shown)

    def _running(self) -> Episode:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before using the environment")
        return self._episode

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_episode": None}
