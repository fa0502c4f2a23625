"""Simple shapes in the engine's own file."""

from __future__ import annotations

from typing import Final

import numpy as np

from gltf_bullet.bullet.reading.bullet_file import BulletFile
from gltf_bullet.convert.description import (
    BallShape,
    BoxShape,
    PlaneShape,
    RoundShape,
    ShapeGeometry,
)

__all__ = ["saved_primitive"]

_BOX: Final = 0
_BALL: Final = 8
_CAPSULE: Final = 10
_CYLINDER: Final = 13
_PLANE: Final = 28
"""``BroadphaseNativeTypes`` of Bullet."""
_Z: Final = 2
"""The axis along which PyBullet's round shapes stand."""


def saved_primitive(saved: BulletFile, address: int) -> ShapeGeometry | None:
    """The shape at an address; ``None`` for meshes and what else a description has no word for."""
    kind, record = saved.shape(address) or (-1, None)
    if record is None or kind not in (_BOX, _BALL, _CAPSULE, _CYLINDER, _PLANE):
        return None
    if kind == _PLANE:
        x, y, z = map(_as_written, record.vector("m_planeNormal"))
        return PlaneShape((x, y, z)) if record["m_planeConstant"] == 0.0 else None
    if kind in (_CAPSULE, _CYLINDER):
        if record["m_upAxis"] != _Z:
            return None
        record = record["m_convexInternalShapeData"]
    x, y, z = map(_as_written, record.vector("m_implicitShapeDimensions"))
    if kind == _BALL:
        return BallShape(x)
    if kind == _CAPSULE:
        return RoundShape(x, 2.0 * z, is_capsule=True)
    # Bullet keeps boxes and cylinders less their margin.
    margin = _as_written(record["m_collisionMargin"])
    if kind == _CYLINDER:
        return RoundShape(x + margin, 2.0 * (z + margin), is_capsule=False)
    return BoxShape((2.0 * (x + margin), 2.0 * (y + margin), 2.0 * (z + margin)))


def _as_written(value: float) -> float:
    """The shortest number that is the same in the single precision of the file."""
    return float(str(np.float32(value)))
