"""What a snapshot keeps of the jointed bodies of a scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.model import JointDrive
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["NO_MOMENT", "NO_STATE", "ArticulationMoment", "ArticulationState"]


@dataclass(frozen=True, slots=True, eq=False)
class ArticulationState:
    """What ``pybullet.saveState`` leaves out; treat as opaque."""

    memory: tuple[FloatArray, npt.NDArray[np.int64]]
    drives: tuple[JointDrive, ...]
    """Targets and gains as they acted."""
    anchors: dict[int, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True, eq=False)
class ArticulationMoment:
    """Everything about the joints of one scene as they stood after an :class:`ArticulationState`.

    Episodes begin with the same state again and again: copying this back costs a tenth.
    """

    ints: IntArray
    floats: FloatArray
    taken: tuple[FloatArray, ...]
    """Views of what says which axes the motors of others have now."""
    limit_edits: int


NO_STATE = ArticulationState((np.zeros(0), np.zeros(0, dtype=np.int64)), (), {})
"""Of a scene without joints, and ..."""

NO_MOMENT = ArticulationMoment(np.zeros(0, dtype=np.int64), np.zeros(0), (), 0)
"""... likewise."""
