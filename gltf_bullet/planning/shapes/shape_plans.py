"""Engine shapes as hashable values, so that equal colliders share one engine shape.

All sizes are final: node scale is baked in. Round shapes are along +Y here as in glTF; only
``create_shape`` turns them to Bullet's +Z.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.digests import digest_of
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose, Vec3


class PointSet:
    """Immutable vertices [point_count, 3] in metres, hashed and compared by content."""

    __slots__ = ("_digest", "points")

    def __init__(self, points: npt.ArrayLike) -> None:
        self.points: FloatArray = np.array(points, dtype=np.float64).reshape(-1, 3)
        self.points.setflags(write=False)
        self._digest = digest_of(self.points.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointSet) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    @property
    def digest(self) -> str:
        """Hexadecimal content hash."""
        return self._digest.hex()


class TriangleSet:
    """Immutable vertices and triangles, hashed and compared by content."""

    __slots__ = ("_digest", "points", "triangles")

    def __init__(self, points: npt.ArrayLike, triangles: npt.ArrayLike) -> None:
        self.points: FloatArray = np.array(points, dtype=np.float64).reshape(-1, 3)
        self.triangles: npt.NDArray[np.int64] = np.array(triangles, dtype=np.int64).reshape(-1, 3)
        self.points.setflags(write=False)
        self.triangles.setflags(write=False)
        self._digest = digest_of(self.points.tobytes(), self.triangles.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TriangleSet) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    @property
    def digest(self) -> str:
        """Hexadecimal content hash."""
        return self._digest.hex()


class BoxPlan(Struct, frozen=True):
    """A box about the origin."""

    half_extents: Vec3
    """[m]"""


class SpherePlan(Struct, frozen=True):
    """A ball about the origin."""

    radius: float
    """[m]"""


class CapsulePlan(Struct, frozen=True):
    """A capsule along +Y about the origin, both radii equal."""

    radius: float
    """[m]"""
    mid_height: float
    """Distance between the cap centres [m]."""


class CylinderPlan(Struct, frozen=True):
    """A cylinder along +Y about the origin, both radii equal."""

    radius: float
    """[m]"""
    height: float
    """[m]"""


class InfinitePlanePlan(Struct, frozen=True):
    """Everything below the XZ plane of its frame is solid; static bodies only."""


class HullPlan(Struct, frozen=True):
    """The convex hull of some points."""

    vertices: PointSet


class BvhPlan(Struct, frozen=True):
    """Triangles as they are: a surface without inside."""

    mesh: TriangleSet


@dataclass(frozen=True, slots=True)
class ConvexPartsPlan:
    """A concave volume as convex hulls."""

    parts: tuple[PointSet, ...]
    source: TriangleSet = field(compare=False)
    """The mesh that was decomposed, for mass properties."""


ShapePlan: TypeAlias = (
    BoxPlan
    | SpherePlan
    | CapsulePlan
    | CylinderPlan
    | InfinitePlanePlan
    | HullPlan
    | BvhPlan
    | ConvexPartsPlan
)


class PlacedShape(Struct, frozen=True):
    """A shape and its pose in the frame of its body."""

    shape: ShapePlan
    body_from_shape: Pose = IDENTITY_POSE


def placed_at(pose: Pose, shapes: tuple[PlacedShape, ...]) -> tuple[PlacedShape, ...]:
    """The shapes in another frame, in which the frame of their body has a pose."""
    if pose == IDENTITY_POSE:
        return shapes
    return tuple([PlacedShape(placed.shape, pose @ placed.body_from_shape) for placed in shapes])


_Y_UP_FROM_Z_UP = Pose((-(0.5**0.5), 0.0, 0.0, 0.5**0.5), (0.0, 0.0, 0.0))
"""Round shapes stand along +Y in glTF and along +Z in Bullet (measured)."""


def engine_pose(placed: PlacedShape) -> Pose:
    """Pose of Bullet's shape in the frame of the body."""
    if isinstance(placed.shape, (CapsulePlan, CylinderPlan, InfinitePlanePlan)):
        return placed.body_from_shape @ _Y_UP_FROM_Z_UP
    return placed.body_from_shape
