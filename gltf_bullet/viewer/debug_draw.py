"""Debug drawing in a PyBullet window: layers of lines and texts that follow a scene.

The design follows measurements (PyBullet 3.2.7, software OpenGL, 1000 x 700):

- One ``addUserDebugLine`` waits for the frame that is being drawn, 7 to 50 ms, new or replaced,
  parented or not. While rendering is paused (``COV_ENABLE_RENDERING``) it takes 0.01 ms, and
  pausing and resuming costs two frames, 30 to 60 ms, whether 1 or 2000 lines are replaced between.
  So all changes go into one pause, and parented items, which follow a body without a call, would
  save nothing.
- Between two pauses the window needs time for a frame, or it freezes: the next picture waits for
  twice the time that the last one took.
- ``addUserDebugPoints`` takes 3000 points in one call, but writes their colours over the index
  buffer of the window's own panel: all labels of sliders and buttons are gone until it closes. It
  is not used.
- While all cores are busy, 1 of 500 to 3000 calls returns -1 though its item was drawn, under the
  window's next id. It is sent again, and the item without an owner is removed.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pybullet

from gltf_bullet.bullet.session import is_headless
from gltf_bullet.viewer.keys import LAYERS
from gltf_bullet.viewer.layers import SceneLayers
from gltf_bullet.viewer.strokes import Labels, Strokes, shown_text

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import IntArray

LINE_WIDTH = 2.0
"""Width of lines [pixels]."""
TEXT_SIZE = 1.2
"""Size in the unit of ``addUserDebugText``, whose default is 1."""
STILL = 1e-3
"""Share of the scene's mark size by which a line must move to be sent again."""
TEXT_STILL = 1e-6
"""Distance [m] by which a text must move to be sent again; it may be close to the camera."""
BUDGET = 0.3
"""[s] Longest time for the lines of one picture; the rest follows in the next ones. It matters
while other programs keep all cores busy: a call may take 30 ms then."""
TRIES = 5
"""Most attempts to send an item whose id PyBullet loses."""
REST = 2.0
"""Time for frames after a picture, as multiple of the time that it took."""


class DebugItems:
    """Lines and texts in one window; only those that changed are sent."""

    def __init__(self, client_id: int, *, pause_rendering: bool) -> None:
        self._client_id = client_id
        self._pauses = pause_rendering
        self._lines: list[int] = []
        self._drawn = Strokes.join([])
        self._texts: list[int] = []
        self._labels = Labels.none()
        self._rests_until = -np.inf
        self._cursor = 0
        self._newest = -1
        """Id of the newest item of this picture; -1 if there is none yet."""

    @property
    def line_count(self) -> int:
        """Number of lines in the window."""
        return len(self._lines)

    @property
    def is_resting(self) -> bool:
        """True if the window needs time for frames before the next picture."""
        return time.monotonic() < self._rests_until

    def show(self, strokes: Strokes, labels: Labels, tolerance: float) -> int:
        """Draw these and nothing else; returns the number of items sent to the window.

        If that takes too long, further calls continue it.

        Raises:
            pybullet.error: The window was closed.
        """
        shared = min(len(self._lines), len(strokes))
        moved = np.abs(strokes.segments[:shared] - self._drawn.segments[:shared])
        changed = (moved > tolerance).any(axis=(1, 2))
        changed |= (strokes.colors[:shared] != self._drawn.colors[:shared]).any(axis=1)
        rows = np.flatnonzero(changed)
        texts = self._changed_texts(labels)
        surplus = len(self._lines) > len(strokes) or len(self._texts) > len(labels)
        if not (len(rows) or shared < len(strokes) or texts or surplus):
            return 0
        begin = time.monotonic()
        self._newest = -1  # other programs may have drawn since the last picture
        with self._paused():
            self._send_texts(labels, texts)
            sent = self._send_lines(strokes, rows, begin + BUDGET)
        end = time.monotonic()
        self._rests_until = end + REST * (end - begin)
        return sent + len(texts)

    def _changed_texts(self, labels: Labels) -> list[int]:
        before = self._labels
        return [
            k
            for k in range(len(labels))
            if k >= len(before)
            or labels.texts[k] != before.texts[k]
            or (labels.colors[k] != before.colors[k]).any()
            or np.abs(labels.positions[k] - before.positions[k]).max() > TEXT_STILL
        ]

    def _send_lines(self, strokes: Strokes, changed: IntArray, deadline: float) -> int:
        """Replace changed lines, then add missing ones; the rest waits for the next picture."""
        # Each picture continues where the last one had to stop.
        place = int(np.searchsorted(changed, self._cursor))
        replaced = self._send_rows(strokes, np.roll(changed, -place), deadline)
        if len(replaced) < len(changed):
            self._cursor = replaced[-1] + 1
        missing = np.arange(len(self._lines), len(strokes))
        added = self._send_rows(strokes, missing, deadline)
        while len(self._lines) > len(strokes):
            self._remove(self._lines.pop())
        # Lines that were not sent keep their drawn position, or slow movement would never be seen.
        sent, count = [*replaced, *added], len(self._lines)
        segments, colors = strokes.segments[:count].copy(), strokes.colors[:count].copy()
        kept = np.setdiff1d(np.arange(min(count, len(self._drawn))), sent)
        segments[kept], colors[kept] = self._drawn.segments[kept], self._drawn.colors[kept]
        self._drawn = Strokes(segments, colors)
        return len(sent)

    def _send_rows(self, strokes: Strokes, rows: IntArray, deadline: float) -> list[int]:
        """Send these lines until the deadline, but at least one; returns those that were sent."""
        sent: list[int] = []
        for row in rows.tolist():
            self._draw(
                self._lines,
                row,
                pybullet.addUserDebugLine,
                *strokes.segments[row].tolist(),
                strokes.colors[row].tolist(),
                LINE_WIDTH,
            )
            sent.append(row)
            if time.monotonic() > deadline:
                break
        return sent

    def _send_texts(self, labels: Labels, rows: list[int]) -> None:
        positions, colors = labels.positions.tolist(), labels.colors.tolist()
        for row in rows:
            self._draw(
                self._texts,
                row,
                pybullet.addUserDebugText,
                shown_text(labels.texts[row]),
                positions[row],
                colors[row],
                TEXT_SIZE,
            )
        while len(self._texts) > len(labels):
            self._remove(self._texts.pop())
        kept = sorted(set(range(len(labels))) - set(rows))
        drawn = labels.positions.copy()
        drawn[kept] = self._labels.positions[kept]
        self._labels = Labels(drawn, labels.texts, labels.colors)

    def _draw(self, items: list[int], row: int, add: Callable[..., int], *values: object) -> None:
        """Replace the item of a row, or append one; items whose id PyBullet lost are removed."""
        known = items[row] if row < len(items) else -1
        item, tries = -1, 0
        while item < 0 and tries < TRIES:
            item = add(*values, replaceItemUniqueId=known, physicsClientId=self._client_id)
            tries += 1
        if known < 0:
            # Ids count up, and only this code draws within a picture; others may have drawn before.
            if tries > 1 and self._newest >= 0:
                for lost in range(self._newest + 1, item):
                    self._remove(lost)
            self._newest = item
        items[row : row + 1] = [item]

    def _remove(self, item: int) -> None:
        pybullet.removeUserDebugItem(item, physicsClientId=self._client_id)

    @contextlib.contextmanager
    def _paused(self) -> Iterator[None]:
        if self._pauses:
            self._render(False)
        try:
            yield
        finally:
            if self._pauses and pybullet.isConnected(self._client_id):
                self._render(True)

    def _render(self, on: bool) -> None:
        pybullet.configureDebugVisualizer(
            pybullet.COV_ENABLE_RENDERING, int(on), physicsClientId=self._client_id
        )

    def clear(self) -> None:
        """Remove all drawn items; does nothing if the window is closed."""
        with contextlib.suppress(pybullet.error):
            self.show(Strokes.join([]), Labels.none(), 0.0)


class DebugDraw:
    """Draws the physics of a scene into the window of its PyBullet client.

    ::

        with gb.viewer.DebugDraw(scene, show=("colliders", "contacts")) as draw:
            while pybullet.isConnected(client):
                scene.step()
                draw.update()

    Other bodies in the world and other debug items are left alone. Everything that was drawn is
    removed by :meth:`close` and with the scene.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        show: Iterable[str] = ("colliders",),
        rate: float = 20.0,
        max_lines: int = 6000,
        max_texts: int = 300,
        pause_rendering: bool = True,
    ) -> None:
        """Prepare the layers; the first :meth:`update` draws.

        Args:
            scene: The scene to draw. If its client has no window (DIRECT), :meth:`update` draws
                nothing and :meth:`strokes` works all the same.
            show: Layers of :data:`~gltf_bullet.viewer.LAYERS` to begin with.
            rate: Most pictures per second of wall time; each costs about two frames.
            max_lines: Most lines; a ``RuntimeWarning`` names once the layers that are cut.
            max_texts: Most texts, likewise.
            pause_rendering: Pause the window while lines change. ``False`` is for a script that has
                switched ``COV_ENABLE_RENDERING`` off itself, which cannot be read from PyBullet.

        Raises:
            ValueError: An unknown layer, or a rate that is not above 0.
        """
        if not rate > 0.0:
            raise ValueError(f"rate is {rate}; must be > 0")
        self.scene = scene
        self.layers = SceneLayers(scene)
        self.max_lines = max_lines
        self.max_texts = max_texts
        self.notices: tuple[str, ...] = ()
        """Layers that the last picture had to shorten, in words; empty if it had none."""
        self._period = 1.0 / rate
        self._last = -np.inf
        self._warned = False
        self._closed = False
        self._shown: dict[str, bool] = dict.fromkeys(LAYERS, False)
        self._items = DebugItems(scene.client_id, pause_rendering=pause_rendering)
        self.show(*show)
        scene.core.on_remove(self.close)

    # --- toggles ------------------------------------------------------------------------------

    @property
    def shown(self) -> tuple[str, ...]:
        """The layers that are on."""
        return tuple(layer for layer, on in self._shown.items() if on)

    def show(self, *layers: str) -> None:
        """Switch layers on.

        Raises:
            ValueError: There is no such layer.
        """
        self._switch(layers, on=True)

    def toggle(self, layer: str) -> bool:
        """Switch a layer on or off; returns True if it is on now.

        Raises:
            ValueError: There is no such layer.
        """
        self._switch((layer,), on=not self._shown.get(layer, False))
        return self._shown[layer]

    def _switch(self, layers: Iterable[str], *, on: bool) -> None:
        for layer in layers:
            if layer not in self._shown:
                raise ValueError(f"{layer!r} is no layer; there are {', '.join(LAYERS)}")
            self._shown[layer] = on
        self._last = -np.inf

    # --- drawing ------------------------------------------------------------------------------

    def strokes(self, layer: str) -> Strokes:
        """The current line segments of one layer, for renderers of your own.

        Raises:
            KeyError: There is no such layer.
        """
        return self.layers.strokes(layer)

    def labels(self, layer: str) -> Labels:
        """The current texts of one layer."""
        return self.layers.labels(layer)

    def update(self, *, force: bool = False) -> int:
        """Draw the current state of the scene, unless the last picture is too recent.

        Args:
            force: Draw in any case.

        Returns:
            Number of items that were sent to the window: 0 if nothing changed, if the picture is
            too recent, or if there is no window any more.

        Raises:
            SceneRemovedError: The scene was removed.
        """
        if not self.scene.is_removed and not has_window(self.scene.client_id):
            return 0
        self.scene.core.require_alive()
        young = self._items.is_resting or time.monotonic() - self._last < self._period
        if self._closed or (young and not force):
            return 0
        strokes, labels = self.picture()
        try:
            sent = self._items.show(strokes, labels, STILL * self.layers.size)
        except pybullet.error:
            if pybullet.isConnected(self.scene.client_id):
                raise
            return 0
        self._last = time.monotonic()
        return sent

    def picture(self) -> tuple[Strokes, Labels]:
        """The current lines of the shown layers, up to ``max_lines`` and ``max_texts``; and texts.

        Raises:
            SceneRemovedError: The scene was removed.
        """
        order = ("contacts", "velocities", "joints", "inertia", "triggers", "colliders", "names")
        shown = [layer for layer in order if self._shown[layer]]
        parts, notices, room = [], [], self.max_lines
        for layer in shown:
            lines = self.layers.strokes(layer)
            if len(lines) > room:
                notices.append(f"{layer}: {room} of {len(lines)} lines (max_lines)")
                lines = Strokes(lines.segments[:room], lines.colors[:room])
            room -= len(lines)
            parts.append(lines)
        labels = Labels.join([self.layers.labels(layer) for layer in shown])
        if len(labels) > self.max_texts:
            notices.append(f"names: {self.max_texts} of {len(labels)} texts (max_texts)")
            few = slice(self.max_texts)
            labels = Labels(labels.positions[few], labels.texts[few], labels.colors[few])
        self._warn(tuple(notices))
        # Layers with a constant number of lines come first, so that the others move no rows.
        steady = [p for layer, p in zip(shown, parts, strict=True) if layer not in _RESTLESS]
        restless = [p for layer, p in zip(shown, parts, strict=True) if layer in _RESTLESS]
        return Strokes.join([*steady, *restless]), labels

    def _warn(self, notices: tuple[str, ...]) -> None:
        self.notices = notices
        if notices and not self._warned:
            self._warned = True
            warnings.warn(
                f"debug drawing leaves out {'; '.join(notices)}", RuntimeWarning, stacklevel=4
            )

    def close(self) -> None:
        """Remove everything that was drawn; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if pybullet.isConnected(self.scene.client_id):
            self._items.clear()

    def __enter__(self) -> DebugDraw:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


_RESTLESS = frozenset({"contacts", "velocities"})
"""Layers whose number of lines changes from step to step."""


def has_window(client_id: int) -> bool:
    """Return True if a client is connected to a world with a window."""
    return bool(pybullet.isConnected(client_id)) and not is_headless(client_id)
