"""Assets as Gymnasium environments; needs the extra ``gym``.

Importing this room registers ``gltf_bullet/Gltf-v0``; where nothing imports it,
``gymnasium.make("gltf_bullet.envs:gltf_bullet/Gltf-v0", path=...)`` does.
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
    "terms",
]

if "gltf_bullet/Gltf-v0" not in gymnasium.registry:
    gymnasium.register(id="gltf_bullet/Gltf-v0", entry_point="gltf_bullet.envs.gltf_env:GltfEnv")
