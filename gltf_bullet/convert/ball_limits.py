"""The limits that PyBullet puts on spherical joints of a URDF, as limits of glTF.

PyBullet swings the child's axes of inertia: it takes ``lower`` and ``upper`` of ``<limit>`` for the
largest swings about X and Y, to both sides, and ``twist`` for the largest turn about Z; all or none
of them act (measured with 3.2.7).
"""

from __future__ import annotations

import math

import numpy as np

from gltf_bullet.model import JointLimit
from gltf_bullet.model.joints import DofKind
from gltf_bullet.transforms import Vec3

__all__ = ["ball_limits", "swing_gap"]

_UNREACHABLE: Vec3 = (math.pi, 0.5 * math.pi, math.pi)
"""[rad] Angles that PyBullet never sees about X, Y and Z."""


def ball_limits(largest: Vec3) -> list[JointLimit]:
    """Limits of the turns about X, Y and Z [rad] to both sides.

    A turn about one of the axes alone is limited as PyBullet does; for others see
    :func:`swing_gap`.
    """
    return [
        JointLimit(kind=DofKind.ANGULAR, axes=(axis,), minimum=-angle, maximum=angle)
        for axis, (angle, unreachable) in enumerate(zip(largest, _UNREACHABLE, strict=True))
        if angle < unreachable
    ]


def swing_gap(largest: Vec3) -> float:
    """How far PyBullet's limit of a swing about a slanted axis is from glTF's at most [rad].

    glTF limits the twists about X and Y. PyBullet limits two of three Euler angles: of a swing by
    ``s`` about (c, d, 0) these are ``atan2(c sin s, cos s)`` and ``asin(d sin s)``.
    """
    slants = np.linspace(1e-6, 0.5 * math.pi - 1e-6, 1001)
    c, d = np.cos(slants), np.sin(slants)
    about_x, about_y, _ = (
        min(angle, unreachable) for angle, unreachable in zip(largest, _UNREACHABLE, strict=True)
    )
    ours = np.minimum(
        2.0 * np.arctan2(math.tan(0.5 * about_x), c), 2.0 * np.arctan2(math.tan(0.5 * about_y), d)
    )
    sine = math.sin(about_y) / d
    by_y = np.where(sine < 1.0, np.arcsin(np.minimum(sine, 1.0)), math.pi)
    theirs = np.minimum(np.arctan2(math.sin(about_x), c * math.cos(about_x)), by_y)
    return float(np.abs(ours - theirs).max())
