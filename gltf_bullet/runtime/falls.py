"""Bodies that fall for good: below everything that was there, and still on their way down."""

from __future__ import annotations

from typing import Final

import numpy as np

from gltf_bullet.diagnostics import Diagnostics, Issue, IssueKind, JsonPointer, Severity, with_names
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import FloatArray

__all__ = ["FallWatch"]

FELL_OUT = IssueKind(
    "FELL_OUT",
    Severity.INFO,
    "the body is {depth:.3g} m below everything that was there at the start, and falls on",
)
_SPARE: Final = 1.0
"""[m] Below the lowest point of the start, besides the height of all that was there."""


class FallWatch:
    """Knows how low a scene goes at its start, and who is far below that later."""

    def __init__(self, scene: Scene) -> None:
        """Look at the bodies as they stand now."""
        self._scene = scene
        heights = self._heights()
        self._low = float(heights.min(initial=np.inf))
        self._spare = _SPARE + (float(np.ptp(heights)) if len(heights) else 0.0)

    def _heights(self) -> FloatArray:
        moving, resting = self._scene.pictures.boxes()
        boxes = np.concatenate([moving, resting])
        boxes = boxes[np.isfinite(boxes).all(axis=(1, 2))]
        up = np.asarray(self._scene.core.placement.up, dtype=np.float64)
        heights: FloatArray = (boxes @ up).ravel()
        return heights

    def issues(self) -> tuple[Issue, ...]:
        """Who falls for good, with the depth [m]."""
        found = Diagnostics()
        up = np.asarray(self._scene.core.placement.up, dtype=np.float64)
        for node, body in self._scene.bodies.items():
            depth = self._low - float(self._scene.world_from_node(node)[:3, 3] @ up)
            if depth > self._spare and float(body.linear_velocity @ up) < 0.0:
                found.report(FELL_OUT, JsonPointer(f"/nodes/{node}"), depth=depth)
        return with_names(found, self._scene.asset.tree.names)
