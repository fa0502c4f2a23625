"""Prisms that PyBullet makes of cylinders: robots read from URDF are full of them."""

from __future__ import annotations

import numpy as np

from gltf_bullet.transforms import FloatArray

__all__ = ["prism_points", "prism_size"]

_SIDES = 32
_STEPS = 10216
"""Of a hull's extent: what Bullet rounds the corners of hulls to (``btConvexHullComputer``)."""


def prism_points(radius: float, height: float) -> FloatArray:
    """The corners of what ``loadURDF`` makes of a cylinder by itself, shape [64, 3]."""
    angles = 2.0 * np.pi / _SIDES * np.arange(_SIDES)
    ring = radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    half = np.full((_SIDES, 1), 0.5 * height)
    return np.concatenate([np.hstack([ring, half]), np.hstack([ring, -half])])


def prism_size(points: FloatArray) -> tuple[float, float] | None:
    """Radius and height [m] of the cylinder whose prism has these corners, in any order.

    As far as Bullet can tell: it rounds the corners of both. It reads a mesh and makes a hull of it
    in twice as long, again for every copy (measured: 55 us).
    """
    if len(points) != 2 * _SIDES:
        return None
    _, y, z = np.abs(points).max(axis=0)
    # As they were written, before they were rounded to single precision.
    radius, height = float(str(np.float32(y))), 2.0 * float(str(np.float32(z)))
    sides = np.round(np.arctan2(points[:, 0], points[:, 1]) * _SIDES / (2.0 * np.pi)).astype(int)
    rows = sides % _SIDES + np.where(points[:, 2] > 0.0, 0, _SIDES)
    expected = prism_points(radius, height)
    if len(set(rows.tolist())) != len(points):
        return None
    is_same = bool((np.abs(expected[rows] - points) <= np.ptp(points, axis=0) / _STEPS).all())
    return (radius, height) if is_same else None
