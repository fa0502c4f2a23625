"""Assets as Gymnasium environments; needs the extra ``gym``.

Importing this room registers ``gltf_bullet/Gltf-v0``; without such an import,
``gymnasium.make("gltf_bullet.envs:gltf_bullet/Gltf-v0", path=...)`` does. Since 1.0, Gymnasium has
no other way: it does not look for entry points of installed packages.
"""

from typing import TYPE_CHECKING, Any

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "environments need Gymnasium: pip install 'gltf_bullet[gym]'", name=error.name
    ) from error

from gltf_bullet.envs import terms
from gltf_bullet.envs.config import (
    CameraObservation,
    DriveAction,
    EnvConfig,
    EventAction,
    SentEvent,
    StepContext,
    Term,
    VariableAction,
)
from gltf_bullet.envs.distributed import RolloutPool
from gltf_bullet.envs.gltf_env import GltfEnv
from gltf_bullet.envs.rollouts import Policy, Rollout, roll_out
from gltf_bullet.envs.showing import write_curve, write_episode
from gltf_bullet.envs.vector_env import GltfVectorEnv

if TYPE_CHECKING:
    from gltf_bullet.envs.sb3 import GltfSb3VecEnv as GltfSb3VecEnv

__all__ = [
    "CameraObservation",
    "DriveAction",
    "EnvConfig",
    "EventAction",
    "GltfEnv",
    "GltfVectorEnv",
    "Policy",
    "Rollout",
    "RolloutPool",
    "SentEvent",
    "StepContext",
    "Term",
    "VariableAction",
    "roll_out",
    "terms",
    "write_curve",
    "write_episode",
]

if "gltf_bullet/Gltf-v0" not in gymnasium.registry:
    gymnasium.register(
        id="gltf_bullet/Gltf-v0",
        entry_point="gltf_bullet.envs.gltf_env:GltfEnv",
        vector_entry_point="gltf_bullet.envs.vector_env:make_vector_env",
    )


def __getattr__(name: str) -> Any:
    """Import ``GltfSb3VecEnv`` on first access: its base class imports torch, for seconds.

    It is not in ``__all__``, so that ``import *`` works without the extra ``sb3``.
    """
    if name != "GltfSb3VecEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from gltf_bullet.envs.sb3 import GltfSb3VecEnv
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'gltf_bullet[sb3]'", name=error.name) from error
    return GltfSb3VecEnv
