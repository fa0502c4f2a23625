"""Many copies of one asset for Stable-Baselines3; needs the extra ``sb3``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from gltf_bullet.envs.config import EnvConfig
from gltf_bullet.envs.vector_env import CopyView, GltfVectorEnv

Indices: TypeAlias = "int | Iterable[int] | None"
"""Indices of copies; ``None`` for all."""

_Step: TypeAlias = tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]


class GltfSb3VecEnv(VecEnv):  # type: ignore[misc]  # the library may be missing
    """A :class:`~gltf_bullet.envs.vector_env.GltfVectorEnv` in the form of Stable-Baselines3.

    A copy whose episode has ended starts anew in the same step. Its ``info`` has
    ``terminal_observation``, ``TimeLimit.truncated``, and ``randomization`` of the new episode;
    every ``info`` has ``events`` of the step, and ``is_success`` if the config says what that is.
    Attributes and methods by name are those of copies: see
    :class:`~gltf_bullet.envs.vector_env.CopyView`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | bytes,
        count: int,
        config: EnvConfig | None = None,
        *,
        render_mode: str | None = None,
    ) -> None:
        """Read the file and make the spaces; the worlds are opened at the first reset.

        Args:
            path: A ``.gltf`` or ``.glb`` file, or the bytes of a self-contained one.
            count: Number of copies.
            config: The config of a single environment.
            render_mode: ``"rgb_array"`` or ``None``, for :meth:`get_images` and ``render``.

        Raises:
            AssetError: The file cannot be used.
            KeyError: The asset lacks something that the config names.
            ValueError: ``count`` < 1, the range of a drive is unknown, or another render mode.
        """
        mode = AutoresetMode.SAME_STEP
        self.envs = GltfVectorEnv(path, count, config, render_mode=render_mode, autoreset_mode=mode)
        """The vector environment of the copies."""
        self._actions: npt.NDArray[np.float32] | None = None
        super().__init__(count, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> Any:
        """Start an episode in every copy, with what :meth:`seed` and ``set_options`` have given.

        Returns:
            Observations, shape [count, n], or a dictionary of such.
        """
        observed, infos = self.envs.reset(seed=list(self._seeds), options=list(self._options))
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = _unzipped(infos, self.num_envs)
        return observed

    def step_async(self, actions: npt.NDArray[np.float32]) -> None:
        """Take the actions of the coming :meth:`step_wait`, shape [count, action_count]."""
        self._actions = actions

    def step_wait(self) -> _Step:
        """Carry out the step.

        Returns:
            Observations, rewards [count], whether each episode is over [count], and infos.
        """
        if self._actions is None:
            raise RuntimeError("call step_async() before step_wait()")
        actions, self._actions = self._actions, None
        observed, rewards, terminated, truncated, infos = self.envs.step(actions)
        found = _unzipped(infos, self.num_envs)
        for k in np.flatnonzero(terminated | truncated).tolist():
            found[k]["terminal_observation"] = found[k].pop("final_obs")
            found[k]["TimeLimit.truncated"] = bool(truncated[k] and not terminated[k])
            del found[k]["final_info"]
        return observed, rewards.astype(np.float32), terminated | truncated, found

    def close(self) -> None:
        """Close the worlds."""
        self.envs.close()

    def get_images(self) -> list[npt.NDArray[np.uint8] | None]:
        """A picture of each copy with ``render_mode="rgb_array"``, shape [height, width, 3]."""
        return [copy.render() for copy in self.envs.copies]

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of each requested copy, as ``scene`` or ``config``."""
        return [getattr(copy, attr_name) for copy in self._copies(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of each requested copy."""
        for copy in self._copies(indices):
            setattr(copy, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of each requested copy."""
        return [
            getattr(copy, method_name)(*method_args, **method_kwargs)
            for copy in self._copies(indices)
        ]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        """False for each copy, since no wrapper is around a copy."""
        return [False] * len(self._copies(indices))

    def _copies(self, indices: Indices) -> Sequence[CopyView]:
        copies = self.envs.copies
        if indices is None:
            return copies
        return [copies[k] for k in ([indices] if isinstance(indices, int) else indices)]


def _unzipped(infos: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Gymnasium's arrays of values and masks as one dictionary per copy."""
    found: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, values in infos.items():
        if f"_{key}" not in infos:
            continue
        parts = _unzipped(values, count) if isinstance(values, dict) else values
        for k in np.flatnonzero(infos[f"_{key}"]).tolist():
            found[k][key] = parts[k]
    return found
