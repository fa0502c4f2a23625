"""Fixed tendons: weighted sums of joint positions, which couple joints and carry actuators."""

from __future__ import annotations

import numpy as np

from gltf_bullet.convert.mjcf.model import JointType, MjcfModel

_OF_JOINT = 1
"""``mjWRAP_JOINT``."""
_OF_ITS_OWN = (
    "limited", "frictionloss", "armature", "actfrclimited", "stiffnesspoly", "dampingpoly",
)  # fmt: skip
"""Properties of a tendon that no joint can state."""


def joints_of_tendon(model: MjcfModel, tendon: int) -> dict[int, float] | None:
    """Coefficients of a fixed tendon by joint; ``None`` for a spatial one, and over balls."""
    first, count = int(model["tendon_adr"][tendon]), int(model["tendon_num"][tendon])
    found: dict[int, float] = {}
    for wrap in range(first, first + count):
        joint = int(model["wrap_objid"][wrap])
        if model["wrap_type"][wrap] != _OF_JOINT or (
            model["jnt_type"][joint] not in (JointType.SLIDE, JointType.HINGE)
        ):
            return None
        found[joint] = found.get(joint, 0.0) + float(model["wrap_prm"][wrap])
    return {joint: value for joint, value in found.items() if value}


def does_more(model: MjcfModel, tendon: int) -> bool:
    """Tell whether a tendon has limits or the like of its own, springs left out."""
    keys = [f"tendon_{name}" for name in _OF_ITS_OWN if f"tendon_{name}" in model.arrays]
    return any(np.any(model[key][tendon]) for key in keys)


def has_spring(model: MjcfModel, tendon: int) -> bool:
    """Tell whether a tendon has a spring or a damper."""
    return bool(model["tendon_stiffness"][tendon] > 0.0 or model["tendon_damping"][tendon] > 0.0)
