"""Collision shapes as the specs mean them, with every default resolved by the dialect.

Each shape is one of several things, never a bag of fields. Sizes are in the collider node's own
frame, before any node scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from gltf_bullet.diagnostics import ROOT, JsonPointer
from gltf_bullet.transforms import Vec3


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box centred on the origin."""

    size: Vec3
    """Full extents [m]."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere:
    """A ball centred on the origin."""

    radius: float
    """Radius [m]."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule:
    """The convex hull of two spheres on the Y axis, centred between their centres."""

    mid_height: float
    """Distance between the two sphere centres [m]."""
    radius_bottom: float
    """Radius of the sphere at -Y [m]."""
    radius_top: float
    """Radius of the sphere at +Y [m]."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cylinder:
    """The convex hull of two discs across the Y axis, centred on the origin."""

    height: float
    """Distance between the discs [m]."""
    radius_bottom: float
    """Radius of the disc at -Y [m]; 0 makes a cone."""
    radius_top: float
    """Radius of the disc at +Y [m]; 0 makes a cone."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """A plane through the origin with its normal along +Y."""

    size_x: float
    """Extent along X [m]; ``math.inf`` where the file gives none."""
    size_z: float
    """Extent along Z [m]; ``math.inf`` where the file gives none."""
    double_sided: bool
    """True if bodies below the plane are pushed down, out of its back face."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshPart:
    """One glTF mesh inside a collision geometry, and what may deform it."""

    mesh: int
    """glTF mesh index."""
    shape_from_part: tuple[float, ...] | None = None
    """Row-major 4x4 matrix from mesh space to shape space as authored; ``None`` is the identity."""
    node: int | None = None
    """Node below :attr:`frame_node` that carries the mesh, where the two may move apart."""
    frame_node: int | None = None
    """The node whose frame is shape space for such a part."""
    is_animated: bool = False
    """True if an animation moves the two apart."""
    skin: int | None = None
    """glTF skin index whose joints place the vertices; ``None``: not skinned."""
    skin_frame_node: int | None = None
    """The node whose frame is shape space for a skinned part: skinned vertices are in the scene's
    frame and are brought back into this node's."""
    weights: tuple[float, ...] | None = None
    """Morph weights stated for this use; ``None``: the mesh's own defaults."""
    weights_node: int | None = None
    """Node whose ``weights`` (authored, then animated) apply; ``None``: ``weights`` is fixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshShape:
    """The triangles of one or more glTF meshes, or their convex hull."""

    parts: tuple[MeshPart, ...]
    convex_hull: bool
    pointer: JsonPointer = field(default=ROOT, compare=False)

    @property
    def is_deformable(self) -> bool:
        """True if skins, animated weights or animated nodes may change the vertices after load."""
        return any(
            p.skin is not None or p.weights_node is not None or p.is_animated for p in self.parts
        )


Shape: TypeAlias = Box | Sphere | Capsule | Cylinder | Plane | MeshShape
