"""Many copies of one asset, each in a world of its own, stepped in one process."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gltf_bullet.envs.config import EnvConfig, ResetOptions, config_of
from gltf_bullet.envs.episode import (
    Episode,
    copy_rows,
    look_at,
    open_episode,
    outline_of,
    step_together,
)
from gltf_bullet.envs.observations import Observation
from gltf_bullet.records import replace
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.scene import Scene
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
                ``infos["final_obs"]``, its info in ``infos["final_info"]``. ``DISABLED``: by
                :meth:`reset` with the option ``reset_mask``.

        Raises:
            AssetError: The file cannot be used.
            KeyError: The asset lacks something that the config names.
            TypeError: The config is none, or ``count`` no whole number.
            ValueError: ``count`` < 1, the range of a drive is unknown, or another mode.
        """
        # First of all: gymnasium closes a vector environment even if this raises.
        self._episodes: list[Episode] = []
        if not isinstance(count, (int, np.integer)):
            raise TypeError(f"count is {count!r}; must be a whole number")
        if count < 1:
            raise ValueError(f"count is {count}; must be >= 1")
        self._rows = copy_rows(count)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is {render_mode!r}; must be rgb_array or None")
        if not isinstance(autoreset_mode, AutoresetMode):
            modes = ", ".join(mode.name for mode in AutoresetMode)
            raise ValueError(f"autoreset_mode is {autoreset_mode!r}; must be one of {modes}")
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": ["rgb_array"]}
        self._autoreset_mode = autoreset_mode
        self.path = os.fspath(path)
        self.render_mode = render_mode
        is_stated, config = config is not None, config_of(config)
        if render_mode is not None and config.options.visuals == "mesh":
            shown = read_asset(path).automatic_visuals
            config = replace(config, options=replace(config.options, visuals=shown))
        self._config = config
        self.num_envs = count
        self._outline = outline_of(self.path, self.config, needs_actions=not is_stated)
        self.single_observation_space = self._outline.observations.space
        self.single_action_space = spaces.Box(-1.0, 1.0, (len(self._outline.actions),), np.float32)
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self._rngs: list[np.random.Generator] = [np.random.default_rng() for _ in range(count)]
        self._ended = np.zeros(count, dtype=np.bool_)
        self._copies: list[CopyView] = []
        self.reset_options: list[Mapping[str, Any] | None] = [None] * count
        """Options of each copy for all coming resets that are given none."""

    @property
    def config(self) -> EnvConfig:
        """The settings. They stay; options of :meth:`reset` say what differs in an episode."""
        return self._config

    @property
    def action_names(self) -> tuple[str, ...]:
        """Name of each number of a row of actions, in order."""
        return self._outline.actions.names

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Name of each number of a row of a flat observation, in order."""
        return self._outline.observations.names

    @property
    def episodes(self) -> Sequence[Episode]:
        """The copies, in order; empty before the first reset."""
        return tuple(self._episodes)

    @property
    def generators(self) -> Sequence[np.random.Generator]:
        """The copies' random numbers, in order."""
        return tuple(self._rngs)

    def running(self) -> Sequence[Episode]:
        """Return the copies.

        Raises:
            gymnasium.error.ResetNeeded: Before the first :meth:`reset`.
        """
        if not self._episodes:
            raise ResetNeeded("call reset() before using the environment")
        return self._episodes

    # --- by name, as of gymnasium's own vector environments -------------------------------------

    @property
    def copies(self) -> Sequence[CopyView]:
        """Views of the copies, in order; they live as long as the environment."""
        if not self._copies:
            self._copies = [CopyView(self, k) for k in range(self.num_envs)]
        return tuple(self._copies)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each copy, or read an attribute, as ``scene`` or ``render``.

        Raises:
            AttributeError: Copies have no such attribute.
        """
        found = [getattr(copy, name) for copy in self.copies]
        return tuple([one(*args, **kwargs) if callable(one) else one for one in found])

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each copy.

        Raises:
            AttributeError: Copies have no such attribute.
        """
        return tuple([getattr(copy, name) for copy in self.copies])

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each copy, to one value or to a list or tuple of one for each.

        Raises:
            AttributeError: It is read-only.
            ValueError: Another number of values.
        """
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"{len(values)} values; must be {self.num_envs}")
        for copy, value in zip(self.copies, values, strict=True):
            setattr(copy, name, value)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every copy.

        Args:
            seed: One per copy, or one for all: copy k gets ``seed + k``, as in gymnasium.
            options: Those of :meth:`GltfEnv.reset <gltf_bullet.envs.gltf_env.GltfEnv.reset>`, for
                all copies, or a list with those of each; a state is of one copy alone. Also
                ``reset_mask``: shape [num_envs], true for the only copies that start anew.

        Raises:
            EngineError: No room for so many worlds: PyBullet has 1024 in a process.
            KeyError: An option's pointer is to nothing.
            TypeError: An option is of another type.
            ValueError: Wrong number of seeds or options, there is no such option, or a value is out
                of range.
        """
        all_options, mask = self._options(options)
        if not self._episodes:
            self._open()
            mask = np.ones(self.num_envs, dtype=np.bool_)  # there is nothing to go on with
        seeds = [seed] * self.num_envs if seed is None else seed
        if isinstance(seeds, int):
            seeds = [seeds + k for k in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds; must be {self.num_envs}")
        infos: dict[str, Any] = {}
        for k in np.flatnonzero(mask).tolist():
            one = seeds[k]
            if one is not None:
                self._rngs[k] = seeding.np_random(one)[0]
            infos = self._add_info(infos, self._begin(k, all_options[k]), k)
        self._ended = self._ended & ~mask
        return self._shown(self._look()), infos

    def _begin(self, k: int, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Start an episode of a copy; return the info of a reset."""
        return self._episodes[k].begin(self._rngs[k], options or self.reset_options[k])

    def _options(
        self, options: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
    ) -> tuple[Sequence[Mapping[str, Any] | None], BoolArray]:
        """Return the options of each copy, and which ones start anew."""
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        if options is None:
            return [None] * self.num_envs, everyone
        if not isinstance(options, Mapping):
            if len(options) != self.num_envs:
                raise ValueError(f"options of {len(options)} copies; must be {self.num_envs}")
            return options, everyone
        rest = {name: value for name, value in options.items() if name != "reset_mask"}
        mask = np.asarray(options.get("reset_mask", everyone))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(
                f"reset_mask must be {self.num_envs} booleans; got {mask.dtype} of {mask.shape}"
            )
        return [rest] * self.num_envs, mask

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
            gymnasium.error.ResetNeeded: Some episodes have ended, and nothing starts them anew.
        """
        if not self._episodes:
            raise RuntimeError("call reset() before step()")
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions; must be {self.num_envs}")
        if self._autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            ended = np.flatnonzero(self._ended).tolist()
            raise ResetNeeded(
                f"the episodes of copies {ended} have ended; call reset(options={{'reset_mask': "
                "terminated | truncated})"
            )
        taken = self._outline.actions.taken(actions, self.num_envs)
        for episode in self._episodes:
            episode.table.refresh()
        self._outline.actions.apply(self._rows, taken)
        infos: dict[str, Any] = {}
        was_over = self._ended
        for k in np.flatnonzero(was_over).tolist():
            infos = self._add_info(infos, self._begin(k), k)
        going = np.flatnonzero(~was_over).tolist()
        step_together([self._episodes[k] for k in going], list(taken[going]))
        seen = self._look()
        rewards, terminated, truncated, told = self._outcomes(seen, was_over)
        is_over = terminated | truncated
        for name in told[int(was_over.argmin())] or ():
            kind = np.bool_ if name == "is_success" else object
            values: npt.NDArray[Any] = np.full(self.num_envs, None).astype(kind)
            for k, info in enumerate(told):
                if info:
                    values[k] = info[name]
            infos[name], infos[f"_{name}"] = values, ~was_over
        if self._autoreset_mode is AutoresetMode.SAME_STEP and is_over.any():
            infos = self._start_over(np.flatnonzero(is_over).tolist(), seen, told, infos)
            is_over[:] = False
        self._ended = is_over
        return self._shown(seen), rewards, terminated, truncated, infos

    def _outcomes(
        self, seen: FloatArray, was_over: BoolArray
    ) -> tuple[FloatArray, BoolArray, BoolArray, Sequence[dict[str, Any]]]:
        """Rewards, whether episodes are terminated and truncated, [num_envs] each, and infos."""
        rewards = [0.0] * self.num_envs
        terminated, truncated = [False] * self.num_envs, [False] * self.num_envs
        told: list[dict[str, Any]] = [{}] * self.num_envs
        found = seen[:, -3:].tolist()
        for k, is_ended in enumerate(was_over.tolist()):
            if not is_ended:
                outcome = self._episodes[k].outcome(found[k])
                rewards[k], terminated[k], truncated[k], told[k] = outcome
        return np.array(rewards), np.array(terminated), np.array(truncated), told

    def _start_over(
        self,
        copies: Sequence[int],
        seen: FloatArray,
        told: Sequence[dict[str, Any]],
        infos: dict[str, Any],
    ) -> dict[str, Any]:
        """Start episodes of some copies, with what was seen last among the infos."""
        for k in copies:
            episode = self._episodes[k]
            last = self._outline.observations.shown(seen[k, :-3], [episode.scene])
            final = {"final_obs": last, "final_info": told[k]}
            infos = self._add_info(infos, {**final, **self._begin(k)}, k)
            seen[k] = look_at([episode], episode.table.row, len(self.observation_names))[0]
        return infos

    def _look(self) -> FloatArray:
        """Observations, success, reward and end of all copies by the kernels' terms."""
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
        self.running()
        width, height = self.config.picture_size
        columns = math.ceil(math.sqrt(self.num_envs))
        rows = math.ceil(self.num_envs / columns)
        picture = np.full((height, width, 3), 255, dtype=np.uint8)
        for k, episode in enumerate(self._episodes):
            row, column = divmod(k, columns)
            top, bottom = row * height // rows, (row + 1) * height // rows
            left, right = column * width // columns, (column + 1) * width // columns
            tile = episode.picture((right - left, bottom - top))
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
        return self._outline.observations.shown(seen[:, :-3], scenes)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_episodes": [], "_copies": []}


class CopyView:
    """Has what a :class:`~gltf_bullet.envs.gltf_env.GltfEnv` has, except ``reset`` and ``step``.

    Attributes that are set stay with the copy.
    """

    def __init__(self, envs: GltfVectorEnv, number: int) -> None:
        self._holder = weakref.ref(envs)  # which is to go when nobody holds it any more
        self._number = number
        self.path = envs.path
        self.observation_space = envs.single_observation_space
        self.action_space = envs.single_action_space
        self.action_names = envs.action_names
        self.observation_names = envs.observation_names
        self.metadata = envs.metadata
        self.spec = None

    @property
    def _envs(self) -> GltfVectorEnv:
        envs = self._holder()
        if envs is None:
            raise ReferenceError("the vector environment of this copy is gone")
        return envs

    @property
    def unwrapped(self) -> CopyView:
        """The copy itself."""
        return self

    @property
    def config(self) -> EnvConfig:
        """The settings."""
        return self._envs.config

    @property
    def reset_options(self) -> Mapping[str, Any] | None:
        """Options of all coming resets of the copy that are given none: what a curriculum sets.

        Raises:
            ValueError: There is no such option, or a range is empty or not finite.
        """
        return self._envs.reset_options[self._number]

    @reset_options.setter
    def reset_options(self, options: Mapping[str, Any] | None) -> None:
        ResetOptions.of(options)
        self._envs.reset_options[self._number] = options

    @property
    def render_mode(self) -> str | None:
        """``"rgb_array"`` or ``None``."""
        return self._envs.render_mode

    @property
    def np_random(self) -> np.random.Generator:
        """The copy's random numbers."""
        return self._envs.generators[self._number]

    @property
    def scene(self) -> Scene:
        """The scene that runs in the copy's world.

        Raises:
            gymnasium.error.ResetNeeded: Before the first reset.
        """
        return self._envs.running()[self._number].scene

    @property
    def client_id(self) -> int | None:
        """Client id of the copy's PyBullet world; ``None`` before the first reset."""
        episodes = self._envs.episodes
        return episodes[self._number].scene.client_id if episodes else None

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A picture, shape [height, width, 3], with ``render_mode="rgb_array"``; else ``None``.

        Raises:
            gymnasium.error.ResetNeeded: Before the first reset.
        """
        if self.render_mode is None:
            return None
        return self._envs.running()[self._number].picture(self.config.picture_size)

    def get_wrapper_attr(self, name: str) -> Any:
        """An attribute by name, as of gymnasium's environments."""
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: Any) -> bool:
        """Set an attribute by name, as of gymnasium's environments."""
        setattr(self, name, value)
        return True

    def has_wrapper_attr(self, name: str) -> bool:
        """Tell whether there is an attribute, as of gymnasium's environments."""
        return hasattr(self, name)


def make_vector_env(
    num_envs: int, path: str | os.PathLike[str] | bytes, **more: Any
) -> GltfVectorEnv:
    """Entry point of ``gymnasium.make_vec("gltf_bullet/Gltf-v0", num_envs=16, path=...)``."""
    return GltfVectorEnv(path, num_envs, **more)
