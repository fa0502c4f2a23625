"""How far a body reaches about its centre of mass: what decides how fast is too fast for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.shapes.extents import extent_of, support
from gltf_bullet.planning.shapes.hulls import hull_faces
from gltf_bullet.planning.shapes.shape_plans import (
    ConvexPartsPlan,
    HullPlan,
    PlacedShape,
    PointSet,
    ShapePlan,
    SpherePlan,
)
from gltf_bullet.transforms import FloatArray

__all__ = ["BodySize", "body_sizes"]

_SLENDER = 3.0
"""A body so many times longer than thick is watched at its ends as well."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BodySize:
    """The size of a body's colliders, in its inertial frame."""

    half_thickness: float
    """Half of the smallest extent of its thinnest collider [m]."""
    core: float
    """Radius of a ball about the centre of mass that is within the body for certain [m]."""
    half_length: float
    """Half of the largest extent of the whole [m]."""
    probes: FloatArray
    """Points whose paths are watched [m], shape [k, 3]: the middle, and the ends of long bodies."""
    reaches: FloatArray
    """How far beyond each probe the body may reach along its path [m], shape [k]."""
    reach: float
    """Of the whole, any way up, from its centre of mass [m]: no probe's path leaves that."""
    is_central: bool
    """Whether the only probe is the centre of mass."""
    is_ball: bool
    group_count: int
    """Of its colliders, each with a filter of its own."""
    _solids: tuple[tuple[int, ShapePlan, FloatArray, FloatArray], ...]

    def support(self, direction: FloatArray, groups: Collection[int]) -> float:
        """How far some groups reach from the centre of mass along a unit vector [m]."""
        return max(
            float(offset @ direction) + support(shape, turn.T @ direction)
            for group, shape, turn, offset in self._solids
            if group in groups
        )


def body_sizes(plans: Sequence[BodyPlan]) -> list[BodySize | None]:
    """Equal bodies, which come by the thousand, are measured once."""
    known: dict[tuple[int, ...], BodySize | None] = {}
    sizes = []
    for plan in plans:
        key = (
            id(plan.body_from_inertial),
            *(len(group.shapes) for group in plan.groups),
            *(id(shape) for group in plan.groups for shape in group.shapes),
        )
        if key not in known:
            known[key] = _body_size(plan)
        sizes.append(known[key])
    return sizes


def _body_size(plan: BodyPlan) -> BodySize | None:
    """Measure a body; ``None`` without colliders."""
    inertial_from_body = plan.body_from_inertial.inverse()
    grouped = [
        (number, type(shape)(shape.shape, inertial_from_body @ shape.body_from_shape))
        for number, group in enumerate(plan.groups)
        for shape in group.shapes
    ]
    placed = [shape for _, shape in grouped]
    if not placed:
        return None
    extents = [extent_of(shape) for shape in placed]
    boxes = [(e.center, np.abs(e.axes) @ e.half) for e in extents]
    low = np.min([center - half for center, half in boxes], axis=0)
    high = np.max([center + half for center, half in boxes], axis=0)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    thickness = min(float(e.half.min()) for e in extents)
    length = float(half.max())
    probes, reaches = [middle], [length]
    if length > _SLENDER * float(np.sort(half)[1]):
        axis = np.zeros(3)
        axis[int(half.argmax())] = length - thickness
        probes += [middle + axis, middle - axis]
        reaches += [thickness, thickness]
    return BodySize(
        half_thickness=thickness,
        core=max(0.0, *map(_core, placed)),
        half_length=length,
        probes=np.array(probes),
        reaches=np.array(reaches),
        reach=max(
            float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high)))),
            *(float(np.linalg.norm(p)) + reach for p, reach in zip(probes, reaches, strict=True)),
        ),
        is_central=len(probes) == 1 and not middle.any(),
        is_ball=len(placed) == 1 and isinstance(placed[0].shape, SpherePlan),
        group_count=len(plan.groups),
        _solids=tuple(
            (number, shape.shape, extent.axes, np.array(shape.body_from_shape.translation))
            for (number, shape), extent in zip(grouped, extents, strict=True)
        ),
    )


def _core(placed: PlacedShape) -> float:
    """Radius of the largest ball about the origin that a shape holds [m], negative outside."""
    if not isinstance(placed.shape, (HullPlan, ConvexPartsPlan)):
        extent = extent_of(placed)
        return extent.inner - float(np.linalg.norm(extent.center))
    center = np.array(placed.body_from_shape.inverse().translation)
    shape = placed.shape
    parts = (shape.vertices,) if isinstance(shape, HullPlan) else shape.parts
    return max(_depth(part, center) for part in parts)


_faces_of = lru_cache(maxsize=256)(lambda hull: hull_faces(hull.points))
"""A change of another shape of the scene asks again."""


def _depth(hull: PointSet, place: FloatArray) -> float:
    """How deep a place is inside of a hull [m]."""
    try:
        normals, offsets = _faces_of(hull)
    except ValueError:  # flat
        return 0.0
    return float((offsets - normals @ place).min())
