"""Which scene of the file, and where its root stands in the Bullet world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from gltf_bullet.transforms import (
    FloatArray,
    Vec3,
    matrices_from_trs,
    quat_multiply,
    quat_normalize,
    quat_rotate,
)

__all__ = ["Placement", "UpAxis"]

UpAxis = Literal["y", "z"]

_STAND_UP = np.array([math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])
"""A quarter turn about X: glTF's +Y becomes the world's +Z."""


def _numbers(values: Sequence[float]) -> tuple[float, ...]:
    """Some finite numbers, or none: six arrays would be a tenth of a copy of one body."""
    try:
        numbers = tuple(map(float, values))
    except (TypeError, ValueError, OverflowError):
        return ()
    return numbers if all(map(math.isfinite, numbers)) else ()


def _plain(number: float) -> float:
    """A number of numpy, or of any other kind, as Python's own."""
    math.isfinite(number)  # refuses what is no number, text that float() would read as well
    return float(number)


class _Turn(NamedTuple):
    """How copies stand that differ in where they stand alone."""

    xyzw: FloatArray
    key: tuple[bytes, float]


@lru_cache(64)
def _turn(orientation: tuple[float, ...], scale: float, up_axis: UpAxis) -> _Turn:
    """Check how an asset stands; its numbers are read-only."""
    if len(orientation) != 4 or math.hypot(*orientation) < 1e-6:
        raise ValueError(f"orientation is {orientation!r}; must be a quaternion (x, y, z, w)")
    if not (math.isfinite(scale) and scale > 0.0):
        raise ValueError(f"scale is {scale!r}; must be a finite number > 0")
    turn = quat_normalize(np.array(orientation))
    if up_axis == "z":
        turn = quat_multiply(turn, _STAND_UP)
    turn.setflags(write=False)
    return _Turn(turn, (turn.tobytes(), scale))


class Placement(NamedTuple):
    """world_from_asset: applied once, to the roots; acts like a parent node of the whole scene."""

    offset: Vec3
    """Where the origin of the asset is [m]."""
    rotation_xyzw: FloatArray
    """Shape [4], the turn from Y up to Z up included."""
    key_at_origin: tuple[bytes, float, int | None]
    """Hashable; equal for placements that differ in :attr:`offset` at most."""

    @staticmethod
    def of(
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        scale: float = 1.0,
        up_axis: UpAxis = "z",
        scene_index: int | None = None,
    ) -> Placement:
        """Check the caller's numbers; see :func:`gltf_bullet.load_gltf` for their meaning.

        Raises:
            ValueError: Not finite, not a rotation, scale not positive, or an unknown up axis.
        """
        place, turn = _numbers(position), _numbers(orientation)
        if len(place) != 3:
            raise ValueError(f"position is {position!r}; must be three finite numbers")
        if not turn:
            raise ValueError(f"orientation is {orientation!r}; must be a quaternion (x, y, z, w)")
        if up_axis not in ("y", "z"):
            raise ValueError(f"up_axis is {up_axis!r}; must be 'y' or 'z'")
        size = scale if scale.__class__ is float else _plain(scale)
        xyzw, key = _turn(turn, size, up_axis)
        return Placement(place, xyzw, (*key, scene_index))

    @property
    def scale(self) -> float:
        """Of the whole asset."""
        return self.key_at_origin[1]

    @property
    def scene_index(self) -> int | None:
        """Index into the file's ``scenes``; ``None``: its default."""
        return self.key_at_origin[2]

    def at_origin(self) -> Placement:
        """The same with the asset's origin in that of the world."""
        return self._replace(offset=(0.0, 0.0, 0.0))

    @property
    def up(self) -> FloatArray:
        """GlTF's +Y in the world: where the picture's upper edge is; shape [3]."""
        return quat_rotate(self.rotation_xyzw, np.array([0.0, 1.0, 0.0]))

    @property
    def matrix(self) -> FloatArray:
        """world_from_asset, scale included, shape [4, 4]."""
        return matrices_from_trs(np.array(self.offset), self.rotation_xyzw, np.full(3, self.scale))
