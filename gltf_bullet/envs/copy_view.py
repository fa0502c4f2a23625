"""One copy of a vector environment, as an environment whose attributes are asked for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gltf_bullet.envs.config import EnvConfig
    from gltf_bullet.envs.vector_env import GltfVectorEnv
    from gltf_bullet.runtime.scene import Scene


class CopyView:
    """Has what a :class:`~gltf_bullet.envs.gltf_env.GltfEnv` has, except ``reset`` and ``step``.

    Attributes that are set stay with the copy.
    """

    def __init__(self, envs: GltfVectorEnv, number: int) -> None:
        self._envs = proxy(envs)  # which is to go when nobody holds it any more
        self._number = number
        self.path = envs.path
        self.observation_space = envs.single_observation_space
        self.action_space = envs.single_action_space
        self.observation_names = envs.observation_names
        self.metadata = envs.metadata
        self.spec = None

    @property
    def unwrapped(self) -> CopyView:
        """The copy itself."""
        return self

    @property
    def config(self) -> EnvConfig:
        """The settings."""
        config: EnvConfig = self._envs.config
        return config

    @property
    def render_mode(self) -> str | None:
        """``"rgb_array"`` or ``None``."""
        mode: str | None = self._envs.render_mode
        return mode

    @property
    def np_random(self) -> np.random.Generator:
        """The copy's random numbers."""
        generator: np.random.Generator = self._envs.generators[self._number]
        return generator

    @property
    def scene(self) -> Scene:
        """The scene that runs in the copy's world.

        Raises:
            gymnasium.error.ResetNeeded: Before the first reset.
        """
        scene: Scene = self._envs.running()[self._number].scene
        return scene

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
        return self.scene.pictures.rgb(size=self.config.picture_size)

    def get_wrapper_attr(self, name: str) -> Any:
        """An attribute by name, as of gymnasium's environments."""
        return getattr(self, name)
