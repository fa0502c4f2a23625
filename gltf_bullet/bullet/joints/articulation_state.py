"""What a snapshot keeps of the jointed bodies of a scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.model import JointDrive
from gltf_bullet.transforms import FloatArray

__all__ = ["NO_STATE", "ArticulationState"]


@dataclass(frozen=True, slots=True, eq=False)
class ArticulationState:
    """What ``pybullet.saveState`` leaves out; treat as opaque."""

    memory: tuple[FloatArray, npt.NDArray[np.int64]]
    drives: tuple[JointDrive, ...]
    """Targets and gains as they acted."""
    anchors: dict[int, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]


NO_STATE = ArticulationState((np.zeros(0), np.zeros(0, dtype=np.int64)), (), {})
"""Of a scene without joints."""
