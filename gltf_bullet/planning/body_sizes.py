"""Sizes of bodies about their centre of mass: they decide which speed is too fast for a body."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.shapes import shape_plans
from gltf_bullet.planning.shapes.extents import extent_of, support
from gltf_bullet.planning.shapes.hulls import hull_faces
from gltf_bullet.transforms import FloatArray, Pose

_SLENDER = 3.0
"""Ratio of length to thickness from which on the paths of a body's ends are checked as well."""


class BodySize(Struct, frozen=True, eq=False, kw_only=True):
    """The size of a body's colliders, in its inertial frame."""

    half_thickness: float
    """Half of the smallest extent of its thinnest collider [m]."""
    core: float
    """Radius of a ball about the centre of mass that is surely inside of the body [m]."""
    half_length: float
    """Half of the largest extent of the whole [m]."""
    probes: FloatArray
    """Points whose paths are checked [m], shape [k, 3]: the middle, and the ends of long bodies."""
    reaches: FloatArray
    """Distance that the body may reach beyond each probe along its path [m], shape [k]."""
    reach: float
    """Radius of a ball about the centre of mass that holds the whole body and all probes [m]."""
    is_central: bool
    """True if the only probe is the centre of mass."""
    is_ball: bool
    group_count: int
    """Number of its collider groups, each with a filter of its own."""
    _solids: tuple[tuple[int, shape_plans.ShapePlan, FloatArray, FloatArray], ...]

    def support(self, direction: FloatArray, groups: Collection[int]) -> float:
        """Support of some collider groups along a unit vector, from the centre of mass [m]."""
        return max(
            float(offset @ direction) + support(shape, turn.T @ direction)
            for group, shape, turn, offset in self._solids
            if group in groups
        )


def body_sizes(plans: Sequence[BodyPlan]) -> list[BodySize | None]:
    """Sizes of bodies, ``None`` for those without colliders; equal bodies are measured once."""
    return [
        _body_size(plan.body_from_inertial, tuple([group.shapes for group in plan.groups]))
        for plan in plans
    ]


@lru_cache(maxsize=256)
def _body_size(
    body_from_inertial: Pose, groups: tuple[tuple[shape_plans.PlacedShape, ...], ...]
) -> BodySize | None:
    """Measure a body with the shapes of some groups; ``None`` without colliders.

    Cached, since episodes that begin with other masses ask for the same bodies again.
    """
    inertial_from_body = body_from_inertial.inverse()
    grouped = [
        (number, type(shape)(shape.shape, inertial_from_body @ shape.body_from_shape))
        for number, shapes in enumerate(groups)
        for shape in shapes
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
        is_ball=len(placed) == 1 and isinstance(placed[0].shape, shape_plans.SpherePlan),
        group_count=len(groups),
        _solids=tuple(
            (number, shape.shape, extent.axes, np.array(shape.body_from_shape.translation))
            for (number, shape), extent in zip(grouped, extents, strict=True)
        ),
    )


def _core(placed: shape_plans.PlacedShape) -> float:
    """Radius of the largest ball about the origin that a shape holds [m], negative outside."""
    if not isinstance(placed.shape, (shape_plans.HullPlan, shape_plans.ConvexPartsPlan)):
        extent = extent_of(placed)
        return extent.inner - float(np.linalg.norm(extent.center))
    center = np.array(placed.body_from_shape.inverse().translation)
    shape = placed.shape
    parts = (shape.vertices,) if isinstance(shape, shape_plans.HullPlan) else shape.parts
    return max(_depth(part, center) for part in parts)


_faces_of = lru_cache(maxsize=256)(lambda hull: hull_faces(hull.points))
"""Faces of a hull, cached: a change of another shape of the scene asks for the same hulls again."""


def _depth(hull: shape_plans.PointSet, place: FloatArray) -> float:
    """Distance of a point inside of a hull to its nearest face [m], negative outside; 0 if flat."""
    try:
        normals, offsets = _faces_of(hull)
    except ValueError:  # flat
        return 0.0
    return float((offsets - normals @ place).min())
