"""Layers of lines and texts in a browser, from the same arrays that the window draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gltf_bullet.viewer.strokes import Labels, Strokes

if TYPE_CHECKING:
    import viser

__all__ = ["WebLines", "WebTexts"]

LINE_PIXELS = 2.0
"""Width of lines."""
STILL = 1e-5
"""[m] Texts that moved by less stay where they are."""


class WebLines:
    """The lines of one layer; sent when they change."""

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._handle: Any = None
        self._sent = Strokes.join([])

    def show(self, strokes: Strokes) -> None:
        """Draw these and nothing else."""
        same = len(strokes) == len(self._sent)
        if same and np.array_equal(strokes.segments, self._sent.segments):
            same = np.array_equal(strokes.colors, self._sent.colors)
        else:
            same = False
        if same:
            return
        if len(strokes) != len(self._sent) or self._handle is None:
            # Points and colours of another number cannot be exchanged one after the other.
            self.clear()
        if len(strokes):
            points = strokes.segments.astype(np.float32)
            colors = np.repeat(
                np.round(255.0 * strokes.colors).astype(np.uint8)[:, None], 2, axis=1
            )
            if self._handle is None:
                self._handle = self._scene.add_line_segments(
                    self._name, points, colors, thickness=LINE_PIXELS, thickness_units="screen"
                )
            else:
                self._handle.points = points
                if not np.array_equal(strokes.colors, self._sent.colors):
                    self._handle.colors = colors
        self._sent = strokes

    def clear(self) -> None:
        """Draw nothing."""
        if self._handle is not None:
            self._handle.remove()
        self._handle, self._sent = None, Strokes.join([])


class WebTexts:
    """The texts of all layers."""

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._handles: list[Any] = []
        self._sent = Labels.none()

    def show(self, labels: Labels) -> None:
        """Show these and nothing else."""
        if labels.texts != self._sent.texts:
            self.clear()
            self._handles = [
                self._scene.add_label(f"{self._name}/{k}", text, position=position)
                for k, (text, position) in enumerate(
                    zip(labels.texts, labels.positions, strict=True)
                )
            ]
        else:
            moved = (np.abs(labels.positions - self._sent.positions) > STILL).any(axis=1)
            for k in np.flatnonzero(moved).tolist():
                self._handles[k].position = labels.positions[k]
        self._sent = labels

    def clear(self) -> None:
        """Show nothing."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._sent = [], Labels.none()
