"""Limits and damping of joints as they act now: ``getJointInfo`` answers those of creation."""

from __future__ import annotations

import math
from typing import Any, Final

from gltf_bullet.bullet.joints.articulation import SLACK
from gltf_bullet.bullet.reading.bullet_file import Record
from gltf_bullet.transforms import Vec3

__all__ = ["damping_of", "limits_of", "unit_axis"]

_BEYOND: Final = 1e9
"""[rad, m] What scenes of ours set where the engine is to hold no limit is larger."""


def limits_of(info: Any, saved: Record | None, *, is_ours: bool) -> tuple[float, float]:
    """Lower and upper limit [rad, m] of a joint; infinite without.

    Args:
        info: What ``getJointInfo`` answers.
        saved: The link in the saved world, if it is known.
        is_ours: Whether a scene of ours solves the joint: the engine's limits then only back the
            solve up, a little wider or not at all, and those of the file are in ``info`` if
            anywhere.
    """
    stated = (info[8], info[9])
    if saved is not None and not (is_ours and stated[0] <= stated[1]):
        slack = SLACK if is_ours else 0.0
        stated = saved["m_jointLowerLimit"] + slack, saved["m_jointUpperLimit"] - slack
    lower, upper = stated
    if lower > upper:
        return -math.inf, math.inf
    if is_ours:
        return lower if lower > -_BEYOND else -math.inf, upper if upper < _BEYOND else math.inf
    return lower, upper


def damping_of(info: Any, saved: Record | None, *, is_ours: bool) -> tuple[float, float]:
    """Damping [N m s/rad, N s/m] of a joint, and what of it was added to a scene's file's."""
    stated = float(info[6])
    if saved is None:
        return stated, 0.0
    now = float(saved["m_jointDamping"])
    # In scenes of ours the solve does the file's.
    return (stated + now, now) if is_ours else (now, 0.0)


def unit_axis(vector: Vec3) -> Vec3:
    """The axis of a joint; X where PyBullet tells none, as for fixed ones."""
    length = math.hypot(*vector)
    if length == 0.0:
        return (1.0, 0.0, 0.0)
    x, y, z = vector
    return (x / length, y / length, z / length)
