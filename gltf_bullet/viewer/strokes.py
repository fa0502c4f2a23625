"""Line segments and texts as stacked arrays, and figures made of them. Pure numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from gltf_bullet.transforms import FloatArray, Vec3

Color: TypeAlias = Vec3
"""Red, green, blue in 0..1."""


class Strokes(Struct, frozen=True, eq=False):
    """Coloured line segments in the world."""

    segments: FloatArray
    """Both ends [m], shape [k, 2, 3]."""
    colors: FloatArray
    """Red, green, blue in 0..1, shape [k, 3]."""

    @staticmethod
    def of(segments: FloatArray, color: Color) -> Strokes:
        """Segments of one colour."""
        return Strokes(segments, np.tile(np.array(color, dtype=np.float64), (len(segments), 1)))

    @staticmethod
    def join(parts: Sequence[Strokes]) -> Strokes:
        """The segments of all parts, in order."""
        if not parts:
            return Strokes(np.zeros((0, 2, 3)), np.zeros((0, 3)))
        return Strokes(
            np.concatenate([part.segments for part in parts]),
            np.concatenate([part.colors for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.segments)


class Labels(Struct, frozen=True, eq=False):
    """Texts in the world, drawn facing the camera."""

    positions: FloatArray
    """World positions [m], shape [k, 3]."""
    texts: tuple[str, ...]
    colors: FloatArray
    """Red, green, blue in 0..1, shape [k, 3]."""

    @staticmethod
    def none() -> Labels:
        """No text."""
        return Labels(np.zeros((0, 3)), (), np.zeros((0, 3)))

    @staticmethod
    def join(parts: Sequence[Labels]) -> Labels:
        """The labels of all parts, in order."""
        parts = [Labels.none(), *parts]
        return Labels(
            np.concatenate([part.positions for part in parts]),
            tuple(text for part in parts for text in part.texts),
            np.concatenate([part.colors for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.texts)


def placed(segments: FloatArray, world_from_frame: FloatArray) -> FloatArray:
    """Segments of a frame, moved into the world, shape [k, 2, 3].

    Args:
        segments: In the frame, shape [k, 2, 3].
        world_from_frame: One matrix, shape [4, 4], or one per segment, shape [k, 4, 4].
    """
    turns = np.swapaxes(world_from_frame[..., :3, :3], -1, -2)
    moved: FloatArray = segments @ turns + world_from_frame[..., None, :3, 3]
    return moved


def polyline(points: FloatArray) -> FloatArray:
    """Segments between consecutive points [n, 3], shape [n - 1, 2, 3]."""
    return np.stack([points[:-1], points[1:]], axis=1)


def arc(
    u: FloatArray, v: FloatArray, radius: float, start: float, stop: float, pieces: int
) -> FloatArray:
    """An arc about the origin from ``u`` towards ``v``; angles [rad], shape [pieces, 2, 3]."""
    angles = np.linspace(start, stop, pieces + 1)[:, None]
    return polyline(radius * (np.cos(angles) * u + np.sin(angles) * v))


def circle(u: FloatArray, v: FloatArray, radius: float, pieces: int = 16) -> FloatArray:
    """A circle about the origin in the plane of two unit vectors, shape [pieces, 2, 3]."""
    return arc(u, v, radius, 0.0, 2.0 * np.pi, pieces)


def axes_cross(lengths: Sequence[float] | FloatArray) -> FloatArray:
    """Three segments through the origin with these half lengths along x, y, z, shape [3, 2, 3]."""
    ends = np.diag(np.asarray(lengths, dtype=np.float64))
    return np.stack([-ends, ends], axis=1)


def arrows(starts: FloatArray, vectors: FloatArray, head: float = 0.2) -> FloatArray:
    """Arrows with heads of two strokes each, shape [3 n, 2, 3]; shafts first.

    Args:
        starts: Their origins [m], shape [n, 3].
        vectors: Vectors from there to their tips [m], shape [n, 3].
        head: Length of the head as share of the arrow's length.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    along = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0.0)
    # A perpendicular direction, from the axis that is farthest from the arrow's.
    helper = np.eye(3)[np.argmin(np.abs(along), axis=1)]
    across = np.cross(along, helper)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)
    tips = starts + vectors
    back = tips - head * vectors
    shafts = np.stack([starts, tips], axis=1)
    sides = [np.stack([tips, back + s * 0.5 * head * lengths * across], axis=1) for s in (1, -1)]
    return np.concatenate([shafts, *sides])


LONGEST_TEXT = 200
"""[characters] More than a line of the window holds."""


def shown_text(text: str) -> str:
    """A text in a form that PyBullet's window can show: one line of ASCII of bounded length.

    PyBullet looks glyphs up by signed bytes: others would be read from before the table. Labels
    of the panel with them stay empty (measured).
    """
    line = " ".join(text.split("\n")).encode("ascii", "replace").decode("ascii")
    return "".join(c if c.isprintable() else "?" for c in line)[:LONGEST_TEXT]
