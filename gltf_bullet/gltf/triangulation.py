"""Vertex order -> triangles for the primitive modes (glTF 2.0, "Topology Types"); pure numpy."""

from __future__ import annotations

from typing import Final

import numpy as np

from gltf_bullet.transforms import IntArray

__all__ = ["TRIANGLES", "TRIANGLE_FAN", "TRIANGLE_STRIP", "is_surface", "triangles_of_order"]

TRIANGLES: Final = 4
"""``mode`` of a primitive (glTF 2.0, "Geometry")."""
TRIANGLE_STRIP: Final = 5
TRIANGLE_FAN: Final = 6


def is_surface(mode: int) -> bool:
    """Whether the mode makes triangles; 0 to 3 are points and lines."""
    return mode in (TRIANGLES, TRIANGLE_STRIP, TRIANGLE_FAN)


def triangles_of_order(order: IntArray, mode: int) -> IntArray:
    """Triangles [count, 3] of the vertices ``order``, counter-clockwise as the file means it.

    Vertices that complete no triangle are left out. Strips and fans drop triangles with a repeated
    vertex, which join their parts; lists keep them, as authored.
    """
    if mode == TRIANGLES:
        return order[: len(order) // 3 * 3].reshape(-1, 3)
    count = max(len(order) - 2, 0)
    step = np.arange(count)
    if mode == TRIANGLE_STRIP:
        # Every second triangle is turned to keep the winding: (i, i + 1 + i % 2, i + 2 - i % 2).
        odd = step % 2
        corners = np.stack([step, step + 1 + odd, step + 2 - odd], axis=1)
    else:
        corners = np.stack([step + 1, step + 2, np.zeros_like(step)], axis=1)
    triangles = order[corners]
    a, b, c = triangles.T
    kept: IntArray = triangles[(a != b) & (b != c) & (c != a)]
    return kept
