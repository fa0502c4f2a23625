"""How large and how thin the model's shapes may be for the engine. Pure numbers."""

from __future__ import annotations

import math
from dataclasses import replace

from gltf_bullet.model import Box, Capsule, Cylinder, MeshShape, Plane, Shape, Sphere
from gltf_bullet.transforms import FloatArray

__all__ = ["LEAST_THICKNESS", "reach_of", "with_thickness"]

LEAST_THICKNESS = 1e-6
"""[m]: the engine refuses balls and capsules of radius 0, and what is thinner than a thousandth of
its own contact margin meets nothing reliably."""


def reach_of(shape: Shape) -> float:
    """How large a shape is at most along an axis of its own [m]; 0 where no number says it."""
    match shape:
        case Box(size=size):
            return max(size)
        case Sphere(radius=radius):
            return radius
        case Capsule(radius_bottom=bottom, radius_top=top, mid_height=height):
            return max(bottom, top) + height
        case Cylinder(radius_bottom=bottom, radius_top=top, height=height):
            return max(bottom, top, height)
        case Plane(size_x=x, size_z=z):
            return max((size for size in (x, z) if math.isfinite(size)), default=0.0)
        case MeshShape():
            return 0.0


def with_thickness(
    shape: Box | Sphere | Capsule | Cylinder, scale: FloatArray
) -> Box | Sphere | Capsule | Cylinder:
    """``shape`` with what is thinner than :data:`LEAST_THICKNESS` made as thick; else itself.

    Args:
        shape: The model's shape.
        scale: Size of the node along each axis, none of them 0, shape [3].
    """
    least_x, least_y, least_z = (LEAST_THICKNESS / scale).tolist()
    least_r = max(least_x, least_z)
    match shape:
        case Box(size=(x, y, z)):
            size = (max(x, least_x), max(y, least_y), max(z, least_z))
            return shape if size == shape.size else replace(shape, size=size)
        case Sphere(radius=radius):
            least = max(least_x, least_y, least_z)
            return shape if radius >= least else replace(shape, radius=least)
        case Capsule() | Cylinder():
            if isinstance(shape, Cylinder) and shape.height < least_y:
                shape = replace(shape, height=least_y)
            if max(shape.radius_bottom, shape.radius_top) >= least_r:
                return shape
            return replace(shape, radius_bottom=least_r, radius_top=least_r)
