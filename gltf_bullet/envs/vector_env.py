"""Many copies of one asset in one world, stepped together: the fast way within a process."""

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

from gltf_bullet.bullet.owned_world import close_world, extent, forbid_contacts, open_world
from gltf_bullet.envs.config import EnvConfig
from gltf_bullet.envs.episode import Episode, instantiate, outline_of
from gltf_bullet.envs.observations import Observation
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.transforms import BoolArray, FloatArray, Vec3

_GAP = 1.0
"""[m] Gap between the boxes around two copies."""


class GltfVectorEnv(VectorEnv[Any, npt.NDArray[np.float32], npt.NDArray[Any]]):
    """``count`` copies that cannot collide with each other, with one ``stepSimulation`` for all.

    A copy whose episode has ended restarts by itself, as in gymnasium's vector environments.
    Its contacts have no warm start then; all else is as in
    :class:`~gltf_bullet.envs.gltf_env.GltfEnv`.
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
        spacing: float | None = None,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        """Read the file and make the spaces; the world is opened at the first reset.

        Args:
            path: A ``.gltf`` or ``.glb`` file, or the bytes of a self-contained one.
            count: Number of copies.
            config: The config of a single environment; a camera sees all copies.
            spacing: Distance between copies along the world's X axis [m]. ``None``: on a level
                grid, as far apart as the asset is wide: copies inside each other multiply the time
                of a step by ten. Observations are relative to the position of the copy.
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
        self._client_id: int | None = None
        self._episodes: list[Episode] = []
        self._body_ids: list[tuple[int, ...]] = []
        if count < 1:
            raise ValueError(f"count is {count}; must be >= 1")
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
        self._spacing = spacing
        self._size: FloatArray = np.zeros(3)
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

    @property
    def client_id(self) -> int | None:
        """Client id of the PyBullet world of the environments; ``None`` before the first reset."""
        return self._client_id

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
            EngineError: No room for another world.
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
            infos = self._add_info(infos, self._begin(k), k)
        self._ended[:] = False
        return self._shown([episode.numbers() for episode in self._episodes]), infos

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
        if not self._episodes or self._client_id is None:
            raise RuntimeError("call reset() before step()")
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions; must be {self.num_envs}")
        clipped, values = self._outline.actions.decode(actions, self.num_envs)
        ended = self._ended.tolist()
        for k, numbers in enumerate(values):
            if not ended[k]:
                self._episodes[k].act(clipped[k], numbers)
        self._episodes[0].scene.step(self.config.frame_skip)
        for episode in self._episodes:
            episode.collect_events()
        return self._outcomes(ended)

    def _outcomes(
        self, ended: Sequence[bool]
    ) -> tuple[
        Any,
        npt.NDArray[np.float64],
        BoolArray,
        BoolArray,
        dict[str, Any],
    ]:
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        events = np.full(self.num_envs, None, dtype=object)
        infos: dict[str, Any] = {}
        rows: list[list[float]] = []
        for k, episode in enumerate(self._episodes):
            if ended[k]:
                # Idle in this step; the world cannot step the others without it.
                infos = self._add_info(infos, self._begin(k), k)
            else:
                rewards[k], terminated[k], truncated[k] = episode.outcome()
                events[k] = tuple(episode.events)
                if self._starts_at_once and (terminated[k] or truncated[k]):
                    seen = self._outline.observations.shown(episode.numbers(), episode.scene)
                    final = {"final_obs": seen, "final_info": {"events": events[k]}}
                    infos = self._add_info(infos, {**final, **self._begin(k)}, k)
            rows.append(episode.numbers())
        is_over = terminated | truncated
        self._ended[:] = False if self._starts_at_once else is_over
        if not all(ended):
            infos["events"], infos["_events"] = events, ~np.array(ended, dtype=np.bool_)
        return self._shown(rows), rewards, terminated, truncated, infos

    def render(self) -> npt.NDArray[np.uint8] | None:  # type: ignore[override]
        """One picture of all copies, shape [height, width, 3], with ``render_mode="rgb_array"``.

        ``None`` without. Gymnasium's own vector environments return a picture per copy.

        Raises:
            gymnasium.error.ResetNeeded: Before the first :meth:`reset`.
        """
        if self.render_mode is None:
            return None
        if not self._episodes:
            raise ResetNeeded("call reset() before using the environment")
        pictures = [episode.scene.pictures for episode in self._episodes]
        boxes = np.array([view.framed_box() for view in pictures])
        whole = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        return pictures[0].rgb(size=self.config.picture_size, box=whole)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the world."""
        if self._client_id is not None:
            close_world(self._client_id)
        self._client_id = None
        self._episodes = []
        self._body_ids = []

    def _open(self) -> None:
        config, self.closed = self.config, False  # gymnasium's close() returns at once if True
        self._client_id = open_world(gravity=config.gravity, time_step=config.time_step)
        try:
            asset = read_asset(self.path)
            for k in range(self.num_envs):
                place = self._place(k)
                scene = instantiate(asset, config, self._client_id, place)
                self._part(scene.core.world.body_ids)
                self._body_ids.append(scene.core.world.body_ids)
                start = scene.save_state(own_bodies_only=True)
                self._episodes.append(Episode(scene, config, self._outline, start, place))
        except BaseException:
            self.close_extras()
            raise

    def _place(self, k: int) -> Vec3:
        """Position of a copy; the first one is measured before the others are placed."""
        if self._spacing is not None:
            return (k * self._spacing, 0.0, 0.0)
        if k == 0 or self._client_id is None:
            return (0.0, 0.0, 0.0)
        if k == 1:
            self._size = extent(self._client_id, self._body_ids[0]) + _GAP
        place = [0.0, 0.0, 0.0]
        up = int(np.argmax(np.abs(self.config.gravity)))
        level = [axis for axis in range(3) if axis != up]
        row, column = divmod(k, math.ceil(math.sqrt(self.num_envs)))
        for axis, steps in zip(level, (column, row), strict=True):
            place[axis] = steps * float(self._size[axis])
        return (place[0], place[1], place[2])

    def _begin(self, k: int) -> dict[str, Any]:
        info = self._episodes[k].begin(self._rngs[k])
        bodies = self._episodes[k].scene.core.world.body_ids
        if bodies != self._body_ids[k]:
            # A randomised value has made the bodies anew.
            self._body_ids[k] = ()
            self._part(bodies)
            self._body_ids[k] = bodies
        return info

    def _part(self, bodies: tuple[int, ...]) -> None:
        """Keep a copy's bodies from colliding with those of the others."""
        others = tuple(body for ids in self._body_ids for body in ids)
        if self._client_id is not None:
            forbid_contacts(self._client_id, bodies, others)

    def _shown(self, rows: list[list[float]]) -> Observation:
        """The observations of all copies."""
        scenes = [episode.scene for episode in self._episodes]
        return self._outline.observations.stacked(rows, scenes)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client_id": None, "_episodes": [], "_body_ids": []}


def make_vector_env(
    num_envs: int, path: str | os.PathLike[str] | bytes, **more: Any
) -> GltfVectorEnv:
    """Entry point of ``gymnasium.make_vec("gltf_bullet/Gltf-v0", num_envs=16, path=...)``."""
    return GltfVectorEnv(path, num_envs, **more)
