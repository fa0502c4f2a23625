"""Choice of the file's scene, and the pose of its root in the Bullet world."""

from __future__ import annotations

import math
import reprlib
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

UpAxis = Literal["y", "z"]

_STAND_UP = np.array([math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])
"""Rotation by 90 degrees about X: glTF's +Y becomes the world's +Z."""


def _numbers(values: Sequence[float]) -> tuple[float, ...]:
    """Return finite floats, else (); arrays would take a tenth of a small copy's time."""
    try:
        numbers = tuple(map(float, values))
    except (TypeError, ValueError, OverflowError):
        return ()
    return numbers if all(map(math.isfinite, numbers)) else ()


def _plain(number: float) -> float:
    """Return a number of numpy, or of any other type, as Python's float."""
    try:
        math.isfinite(number)  # raises for what is no number, also for text that float() would read
    except OverflowError:
        return math.inf
    return float(number)


class _Turn(NamedTuple):
    """Rotation of a placement, shared by placements at other positions."""

    xyzw: FloatArray
    key: tuple[bytes, float]


@lru_cache(64)
def _turn(orientation: tuple[float, ...], scale: float, up_axis: UpAxis) -> _Turn:
    """Check rotation and scale of an asset; the returned array is read-only."""
    if len(orientation) != 4 or math.hypot(*orientation) < 1e-6:
        raise ValueError(
            f"orientation is {reprlib.repr(orientation)}; must be a quaternion (x, y, z, w)"
        )
    if not (math.isfinite(scale) and scale > 0.0):
        raise ValueError(f"scale is {scale!r}; must be a finite number > 0")
    turn = quat_normalize(np.array(orientation))
    if up_axis == "z":
        turn = quat_multiply(turn, _STAND_UP)
    turn.setflags(write=False)
    return _Turn(turn, (turn.tobytes(), scale))


class Placement(NamedTuple):
    """The transform world_from_asset, applied once, to the roots, like a common parent node."""

    offset: Vec3
    """Position of the asset's origin in the world [m]."""
    rotation_xyzw: FloatArray
    """Rotation, shape [4], the one from Y up to Z up included."""
    key_at_origin: tuple[bytes, float, int | None]
    """Hashable key; equal for placements that differ in :attr:`offset` at most."""

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
            raise ValueError(f"position is {reprlib.repr(position)}; must be three finite numbers")
        if not turn:
            raise ValueError(
                f"orientation is {reprlib.repr(orientation)}; must be a quaternion (x, y, z, w)"
            )
        if up_axis not in ("y", "z"):
            raise ValueError(f"up_axis is {up_axis!r}; must be 'y' or 'z'")
        size = scale if scale.__class__ is float else _plain(scale)
        xyzw, key = _turn(turn, size, up_axis)
        return Placement(place, xyzw, (*key, scene_index))

    @property
    def scale(self) -> float:
        """Uniform scale of the whole asset."""
        return self.key_at_origin[1]

    @property
    def scene_index(self) -> int | None:
        """Index into the file's ``scenes``; ``None``: its default."""
        return self.key_at_origin[2]

    def at_origin(self) -> Placement:
        """Return the placement with the asset's origin at the world's."""
        return self._replace(offset=(0.0, 0.0, 0.0))

    @property
    def up(self) -> FloatArray:
        """Direction of glTF's +Y in the world, up in pictures; shape [3]."""
        return quat_rotate(self.rotation_xyzw, np.array([0.0, 1.0, 0.0]))

    @property
    def matrix(self) -> FloatArray:
        """world_from_asset, scale included, shape [4, 4]."""
        return matrices_from_trs(np.array(self.offset), self.rotation_xyzw, np.full(3, self.scale))
