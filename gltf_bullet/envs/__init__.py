"""Assets as Gymnasium environments; needs the extra ``gym``.

>>> env = gymnasium.make("gltf_bullet/Gltf-v0", path="cart_pole.gltf", config=EnvConfig(...))
"""

import gymnasium

from gltf_bullet.envs import terms
from gltf_bullet.envs.config import Camera, DriveAction, EnvConfig, StepContext, Term
from gltf_bullet.envs.gltf_env import GltfEnv
from gltf_bullet.envs.vector_env import GltfVectorEnv

__all__ = [
    "Camera",
    "DriveAction",
    "EnvConfig",
    "GltfEnv",
    "GltfVectorEnv",
    "StepContext",
    "Term",
    "register",
    "terms",
]


def register() -> None:
    """Make ``gltf_bullet/Gltf-v0`` known; gymnasium calls it by the entry point."""
    if "gltf_bullet/Gltf-v0" not in gymnasium.registry:
        gymnasium.register(
            id="gltf_bullet/Gltf-v0", entry_point="gltf_bullet.envs.gltf_env:GltfEnv"
        )


register()
