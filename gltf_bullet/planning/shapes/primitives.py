"""Which of Bullet's primitives a scaled solid is, exactly or all but that."""

from __future__ import annotations

import numpy as np

from gltf_bullet.model import Box, Capsule, Cylinder, Sphere
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    CapsulePlan,
    CylinderPlan,
    ShapePlan,
    SpherePlan,
)
from gltf_bullet.transforms import FloatArray

__all__ = ["near_primitive"]

_EXACT = 1e-6
"""Share of its size by which a solid may be another one unsaid: files hold single floats."""
_NEARLY = 5e-3
"""... and may be another one at all: a hull of many points is further off (1 to 3 %)."""


def near_primitive(
    shape: Box | Sphere | Capsule | Cylinder, size: FloatArray, shear: float
) -> tuple[ShapePlan, float] | None:
    """The primitive that a solid scaled by ``size`` is, and how far it is off [m], 0.0 if exact.

    ``None`` where a hull is closer. ``shear``: how far the axes of the scale are from square.
    """
    sx, sy, sz = size.tolist()
    is_round, is_uniform = abs(sx - sz) <= _EXACT * sx, float(np.ptp(size)) <= _EXACT * sx
    across, mean = sx if is_round else 0.5 * (sx + sz), sx if is_uniform else float(size.mean())
    plan: ShapePlan
    match shape:
        case Box(size=(x, y, z)):
            # A sheared box is one of eight points: a hull of them is exact.
            plan, share, reach = BoxPlan((0.5 * x * sx, 0.5 * y * sy, 0.5 * z * sz)), 0.0, 0.0
            if shear > _EXACT:
                return None
        case Sphere(radius=radius):
            share, reach = float(np.ptp(size)) / mean, radius * mean
            plan = SpherePlan(reach)
        case Capsule(radius_bottom=a, radius_top=b) if a == b:
            share, reach = float(np.ptp(size)) / mean, a * mean
            plan = CapsulePlan(reach, shape.mid_height * sy)
        case Cylinder(radius_bottom=a, radius_top=b) if a == b:
            share, reach = abs(sx - sz) / across, a * across
            plan = CylinderPlan(reach, shape.height * sy)
        case _:
            return None
    if share <= _EXACT and shear <= _EXACT:
        return plan, 0.0
    length = reach + 0.5 * _height(shape) * sy
    off = share * reach + shear * length
    return (plan, off) if off <= _NEARLY * reach else None


def _height(shape: Box | Sphere | Capsule | Cylinder) -> float:
    match shape:
        case Capsule(mid_height=height) | Cylinder(height=height):
            return height
        case _:
            return 0.0
