"""Closed chains of bars above the ground."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from tests.physics.scenes import Jointed

__all__ = ["even_ring", "uneven_ring"]

_COUNT, _RADIUS = 12, 0.6


def even_ring() -> tuple[bytes, list[tuple[int, int]]]:
    """A closed chain of equal bars on edge, 1 m above the ground; the two ends of each joint."""
    return _ring(1.0, 1.0, Rotation.identity(), [0.3] * _COUNT)


def uneven_ring(seed: int) -> tuple[bytes, list[tuple[int, int]]]:
    """A tilted one of bars of any mass, 1 to 3 m above it; those of odd seeds are ellipses."""
    rng = np.random.default_rng(seed)
    tilt = Rotation.from_rotvec(0.5 * rng.normal(size=3))
    masses = 0.3 * np.exp(rng.normal(size=_COUNT))
    return _ring(0.3 if seed % 2 else 1.0, 1.0 + seed % 3, tilt, masses.tolist())


def _ring(
    flat: float, height: float, tilt: Rotation, masses: Sequence[float]
) -> tuple[bytes, list[tuple[int, int]]]:
    scenery = Jointed()
    scenery.node("Ground", at=(0, -0.5, 0), shape=scenery.shape("box", size=[10, 1, 10]))
    turns = np.linspace(0.0, 2.0 * math.pi, _COUNT + 1)
    corners = _RADIUS * np.stack([np.cos(turns), flat * np.sin(turns), 0.0 * turns], axis=1)
    middle = np.array([0.0, _RADIUS + height, 0.0])
    starts, ends = [], []
    for (first, second), mass in zip(itertools.pairwise(corners), masses, strict=True):
        x, y, _ = second - first
        length = math.hypot(x, y)
        body = scenery.node(
            f"Bar{len(ends)}",
            at=(middle + tilt.apply(0.5 * (first + second))).tolist(),
            rotation=(tilt * Rotation.from_rotvec((0.0, 0.0, math.atan2(y, x)))).as_quat().tolist(),
            shape=scenery.shape("box", size=[0.8 * length, 0.04, 0.04]),
            motion={"mass": mass},
        )
        starts.append(scenery.attachment(body, (-0.5 * length, 0.0, 0.0)))
        ends.append(scenery.attachment(body, (0.5 * length, 0.0, 0.0)))
    pairs = list(zip(ends, [*starts[1:], starts[0]], strict=True))
    for end, start in pairs:
        scenery.join(end, start, limits=[{"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0}])
    return scenery.bytes(), pairs
