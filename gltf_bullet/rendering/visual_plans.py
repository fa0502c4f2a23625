"""Render meshes of each body, as pure data: textured triangles in the frame of the body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.cached_properties import cached_property
from gltf_bullet.digests import digest_of
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose, Vec3

Color: TypeAlias = tuple[float, float, float, float]
"""RGBA in 0..1 in sRGB, as a screen shows it."""

WHITE: Color = (1.0, 1.0, 1.0, 1.0)


class Texture:
    """Immutable RGB pixels in sRGB, first row on top; compared by content."""

    __slots__ = ("digest", "pixels")

    def __init__(self, pixels: npt.NDArray[np.uint8], *, digest: bytes | None = None) -> None:
        """Take over ``pixels``, shape [height, width, 3]; ``digest`` if it is known."""
        self.pixels = np.ascontiguousarray(pixels)
        self.pixels.setflags(write=False)
        shape = repr(self.pixels.shape).encode()
        self.digest = digest or digest_of(shape, self.pixels.tobytes())

    @property
    def size(self) -> int:
        """The number of pixels."""
        return int(self.pixels.shape[0] * self.pixels.shape[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Texture) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


class VisualMesh:
    """Immutable triangles with one colour and at most one texture, compared by content."""

    __slots__ = (
        "__weakref__", "color", "digest", "normals", "part_of_triangle", "points", "texture",
        "triangles", "uvs",
    )  # fmt: skip

    def __init__(
        self,
        points: FloatArray,
        normals: FloatArray,
        triangles: npt.NDArray[np.int64],
        *,
        color: Color = WHITE,
        texture: Texture | None = None,
        uvs: FloatArray | None = None,
        part_of_triangle: npt.NDArray[np.int64] | None = None,
        digest: bytes | None = None,
    ) -> None:
        """Take over the arrays.

        Args:
            points: Positions in the frame of the body [m], shape [vertex_count, 3].
            normals: Unit normals, shape [vertex_count, 3].
            triangles: Shape [triangle_count, 3].
            color: Colour, multiplied with the texture.
            texture: Texture, which repeats beyond its edges.
            uvs: Coordinates of the texture, v growing downwards, shape [vertex_count, 2].
            part_of_triangle: Node of each triangle, shape [triangle_count].
            digest: Digest of all that, if it is known.
        """
        self.points, self.normals, self.triangles = points, normals, triangles
        self.color, self.texture = color, texture
        self.uvs = np.full((len(points), 2), 0.5) if uvs is None else uvs
        if part_of_triangle is None:
            part_of_triangle = np.zeros(len(triangles), dtype=np.int64)
        self.part_of_triangle = part_of_triangle
        for array in self._arrays:
            array.setflags(write=False)
        look = repr((self.color, self.texture and self.texture.digest)).encode()
        self.digest = digest or digest_of(look, *(array.tobytes() for array in self._arrays))

    @property
    def _arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.points, self.normals, self.triangles, self.uvs, self.part_of_triangle

    @property
    def is_transparent(self) -> bool:
        """True if objects behind it are visible through it."""
        return self.color[3] < 1.0

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest coordinates [m], shape [3] each."""
        if not len(self.points):
            return np.zeros(3), np.zeros(3)
        return self.points.min(axis=0), self.points.max(axis=0)

    def part(self, number: int) -> VisualMesh:
        """The triangles of one node, without colours."""
        used = self.triangles[self.part_of_triangle == number]
        kept, inverse = np.unique(used, return_inverse=True)
        return VisualMesh(
            self.points[kept], self.normals[kept], inverse.reshape(-1, 3).astype(np.int64)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VisualMesh) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


class NodeVisual(Struct, frozen=True, kw_only=True, eq=False):
    """The meshes of some nodes, merged."""

    mesh: VisualMesh
    nodes: tuple[int, ...]
    """glTF nodes, in the order of ``mesh.part_of_triangle``."""
    carrier: int | None = None
    """Animated node that scenery follows; ``None`` for others."""
    world_from_mesh: Pose = IDENTITY_POSE
    """Pose of scenery at load."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VisualPlans:
    """The render meshes of a scene."""

    bodies: Mapping[int, NodeVisual] = field(default_factory=dict)
    """Meshes in the body frame, by motion node; bodies without a mesh are not listed."""
    scenery: tuple[NodeVisual, ...] = ()
    """Meshes that belong to no body."""
    bare: frozenset[int] = frozenset()
    """Static colliders that ``"auto"`` shows, since the file has no other picture of them."""

    @cached_property
    def textured(self) -> tuple[int, ...]:
        """Motion nodes whose mesh has a texture."""
        return tuple(k for k, v in self.bodies.items() if v.mesh.texture is not None)

    def moved(self, offset: Vec3) -> VisualPlans:
        """A copy with the scenery moved in the world [m]."""
        scenery = (
            replace(visual, world_from_mesh=visual.world_from_mesh.moved(offset))
            for visual in self.scenery
        )
        return replace(self, scenery=tuple(scenery))


NO_VISUALS = VisualPlans()
"""The plans of a scene without render meshes."""


def flat_shaded(
    points: FloatArray, triangles: npt.NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
    """Mesh with three vertices per triangle and flat normals: points, normals, triangles."""
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = normals / np.where(lengths > 0.0, lengths, 1.0)
    count = 3 * len(triangles)
    return (
        corners.reshape(count, 3),
        np.repeat(normals, 3, axis=0),
        np.arange(count, dtype=np.int64).reshape(-1, 3),
    )
