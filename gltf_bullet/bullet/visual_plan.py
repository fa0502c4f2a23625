"""What cameras see of each body, as pure data: coloured triangles in the frame of the body."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import FloatArray

__all__ = ["NO_VISUALS", "Color", "VisualMesh", "VisualPlans", "flat_shaded"]

Color: TypeAlias = tuple[float, float, float, float]
"""RGBA in 0..1 as a screen shows it (sRGB, not linear)."""


class VisualMesh:
    """Immutable triangles with a normal and a colour per vertex, compared by content."""

    __slots__ = ("_digest", "color_of_vertex", "colors", "normals", "points", "triangles")

    def __init__(
        self,
        points: FloatArray,
        normals: FloatArray,
        triangles: npt.NDArray[np.int64],
        colors: Sequence[Color],
        color_of_vertex: npt.NDArray[np.int64],
    ) -> None:
        """Take over the arrays.

        Args:
            points: In the frame of the body [m], shape [vertex_count, 3].
            normals: Unit, shape [vertex_count, 3].
            triangles: Shape [triangle_count, 3].
            colors: The palette.
            color_of_vertex: Index into it, shape [vertex_count].
        """
        self.points, self.normals, self.triangles = points, normals, triangles
        self.colors, self.color_of_vertex = tuple(colors), color_of_vertex
        digest = hashlib.blake2b(repr(self.colors).encode(), digest_size=16)
        for array in (points, normals, triangles, color_of_vertex):
            array.setflags(write=False)
            digest.update(array.tobytes())
        self._digest = digest.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VisualMesh) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisualPlans:
    """The render meshes of a scene."""

    bodies: Mapping[int, VisualMesh] = field(default_factory=dict)
    """In the body frame, by motion node; bodies without a mesh are not listed."""
    scenery: tuple[VisualMesh, ...] = ()
    """What no body carries, in the world's frame: one mesh per root of the scene."""


NO_VISUALS = VisualPlans()
"""For files without render meshes."""


def flat_shaded(
    points: FloatArray, triangles: npt.NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
    """Every triangle with vertices and a normal of its own: points, normals, triangles."""
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
