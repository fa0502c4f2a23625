"""PyBullet's window: camera, panel, keyboard, and the overlay of text on the picture."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pybullet
from msgspec import Struct

from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import FloatArray
from gltf_bullet.viewer.commands import Control
from gltf_bullet.viewer.strokes import Labels, shown_text

_MOUSE_BUTTON = 2
"""Kind of PyBullet's mouse events that are button presses."""
_CAMERA_KEYS = (pybullet.B3G_ALT, pybullet.B3G_CONTROL)

WITHOUT_DISPLAY = (
    "`gltf-bullet view FILE --web` shows it in the browser; or run it under "
    "`xvfb-run -s '-screen 0 1280x900x24'`, or make a picture without a window: "
    "`gltf-bullet simulate FILE --png out.png`"
)

YAW_DEG, PITCH_DEG = 40.0, -25.0
SLOPE = 0.577
"""Half the height of PyBullet's picture per distance: its field of view is 60 degrees."""
MARGIN = 1.15
"""Room around the framed objects."""

PANEL_PIXELS = 250
"""Width of the panels on both sides of the picture [pixels]."""
LINE_PIXELS = 20
"""[pixels] Distance between two lines of text."""
OVERLAY_DEPTH = 0.98
"""Depth about a metre from the camera: closer, single precision makes texts tremble."""
SLIDER_STEP = 1e-9
"""Smallest change of a slider that counts as movement: its value comes back in single precision."""
PANEL_SECONDS = 0.1
"""[s] Interval of polling the panel: each value is a call of its own."""


@contextmanager
def display_held() -> Iterator[None]:
    """Hold a connection to the display, or raise: without one PyBullet ends the whole process.

    Held until PyBullet has its own connection, since an X server may start over when its last
    client leaves (Xvfb does), and refuses newcomers meanwhile.

    Raises:
        EngineError: No display; the message says what works without one.
    """
    library = _xlib() if sys.platform.startswith("linux") else None
    if library is None:
        yield
        return
    name = os.environ.get("DISPLAY", "")
    if not name:
        raise EngineError(f"there is no display (DISPLAY is not set); {WITHOUT_DISPLAY}")
    display = library.XOpenDisplay(name.encode())
    if not display:
        raise EngineError(f"the display {name!r} cannot be opened; {WITHOUT_DISPLAY}")
    try:
        yield
    finally:
        library.XCloseDisplay(display)


def _xlib() -> ctypes.CDLL | None:
    """The X library that PyBullet loads as well; ``None`` if it is not found."""
    try:
        library = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
    except OSError:
        return None
    library.XOpenDisplay.restype = ctypes.c_void_p
    library.XOpenDisplay.argtypes = [ctypes.c_char_p]
    library.XCloseDisplay.argtypes = [ctypes.c_void_p]
    return library


class PanelEvents(Struct, frozen=True, kw_only=True):
    """Actions of the user since the last call."""

    keys: tuple[str, ...] = ()
    """Characters of keys that were pressed."""
    buttons: tuple[str, ...] = ()
    """Commands of buttons that were clicked."""
    sliders: tuple[tuple[str, float], ...] = ()
    """Commands and values of sliders that were moved."""
    presses: tuple[tuple[float, float], ...] = ()
    """Pixels where the left mouse button went down, without a key that turns the camera."""
    pointer: tuple[float, float] | None = None
    """Pixel of the mouse; ``None`` if it has not moved."""
    is_released: bool = False
    """True if the last event of the left mouse button was its release."""


class Window:
    """The one window that a process can have."""

    def __init__(self, *, width: int = 1280, height: int = 800, y_up: bool = False) -> None:
        """Open the window.

        Args:
            width: Width of the window [pixels].
            height: Height of the window [pixels].
            y_up: True if the world's up axis is y; else it is z.

        Raises:
            EngineError: There is no display, or the process has a window already.
        """
        with display_held():
            try:
                self.client_id: int = pybullet.connect(
                    pybullet.GUI, options=f"--width={width} --height={height}"
                )
            except pybullet.error as error:
                raise EngineError(f"PyBullet opened no window: {error}") from error
        if self.client_id < 0:
            raise EngineError("PyBullet opened no window")
        self._controls: tuple[tuple[Control, int], ...] = ()
        self._read: dict[str, float] = {}
        self._read_at = -np.inf
        self._set(pybullet.COV_ENABLE_Y_AXIS_UP, y_up)
        # Three views that PyBullet would draw over ours at the cost of three more frames.
        self._set(pybullet.COV_ENABLE_RGB_BUFFER_PREVIEW, False)
        self._set(pybullet.COV_ENABLE_DEPTH_BUFFER_PREVIEW, False)
        self._set(pybullet.COV_ENABLE_SEGMENTATION_MARK_PREVIEW, False)
        # Bullet's own keys have other meanings; one of them writes a file of timings. Escape stays.
        self._set(pybullet.COV_ENABLE_KEYBOARD_SHORTCUTS, False)
        # Bullet's own picking has no effect on most jointed bodies, see ``Dragging``.
        self._set(pybullet.COV_ENABLE_MOUSE_PICKING, False)
        self._set(pybullet.COV_ENABLE_GUI, True)

    def _set(self, flag: int, on: bool) -> None:
        pybullet.configureDebugVisualizer(flag, int(on), physicsClientId=self.client_id)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the rendering: else each new body and slider would wait for a frame."""
        self._set(pybullet.COV_ENABLE_RENDERING, False)
        try:
            yield
        finally:
            if self.is_open:
                self._set(pybullet.COV_ENABLE_RENDERING, True)

    @property
    def is_open(self) -> bool:
        """True until the user closes the window."""
        return bool(pybullet.isConnected(self.client_id))

    def close(self) -> None:
        """Close the window, unless the user has done so."""
        if self.is_open:
            pybullet.disconnect(self.client_id)

    # --- camera -------------------------------------------------------------------------------

    def frame(self, low: FloatArray, high: FloatArray) -> None:
        """Aim the camera at a box of the world so that all of it is visible."""
        center = 0.5 * (low + high)
        self._aim(1.0, center)
        forward, up = self._camera()[5], self._camera()[4]
        width, height = self._camera()[:2]
        free = max(width - 2 * PANEL_PIXELS, width // 4) / height
        self._aim(framing_distance(0.5 * (high - low), forward, up, free), center)

    def _aim(self, distance: float, center: FloatArray) -> None:
        pybullet.resetDebugVisualizerCamera(
            distance, YAW_DEG, PITCH_DEG, center.tolist(), physicsClientId=self.client_id
        )

    def _camera(self) -> tuple[Any, ...]:
        values: tuple[Any, ...] = pybullet.getDebugVisualizerCamera(physicsClientId=self.client_id)
        return values

    def ray(self, pixel: tuple[float, float]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Ray from the eye through a pixel, start and end [m], and the direction of view."""
        width, height, view, projection, _, forward = self._camera()[:6]
        ends = unproject(np.array([pixel] * 2), (width, height), view, projection, (-1.0, 0.9999))
        return ends[0], ends[1], np.array(forward)

    def overlay(self, lines: Sequence[str], color: tuple[float, float, float]) -> Labels:
        """Lines of text in the upper left of the picture, for the current camera."""
        width, height, view, projection = self._camera()[:4]
        pixels = [(PANEL_PIXELS + 15, 60 + LINE_PIXELS * k) for k in range(min(len(lines), 40))]
        positions = unproject(np.array(pixels), (width, height), view, projection)
        colors = np.tile(np.array(color), (len(positions), 1))
        return Labels(positions, tuple(lines[: len(positions)]), colors)

    # --- panel and keys -----------------------------------------------------------------------

    def set_panel(self, controls: Sequence[Control]) -> None:
        """Replace all buttons and sliders."""
        with self.paused():
            self._controls = self._made(controls)
        self._read = {control.command: self._value(item) for control, item in self._controls}

    def _made(self, controls: Sequence[Control]) -> tuple[tuple[Control, int], ...]:
        pybullet.removeAllUserParameters(physicsClientId=self.client_id)
        made = []
        for control in controls:
            # PyBullet makes a button of an empty range; it counts its clicks.
            low, high = (1.0, 0.0) if control.is_button else (control.low, control.high)
            start = 0.0 if control.is_button else control.start
            item = pybullet.addUserDebugParameter(
                shown_text(control.label), low, high, start, physicsClientId=self.client_id
            )
            made.append((control, item))
        return tuple(made)

    def _value(self, item: int) -> float:
        return float(pybullet.readUserDebugParameter(item, physicsClientId=self.client_id))

    def events(self) -> PanelEvents:
        """Actions of the user since the last call; none if the window was closed.

        Raises:
            pybullet.error: The engine failed for another reason.
        """
        try:
            return self._events()
        except pybullet.error:
            if self.is_open:
                raise
            return PanelEvents()

    def _events(self) -> PanelEvents:
        pressed = pybullet.getKeyboardEvents(physicsClientId=self.client_id)
        keys = [
            chr(code)
            for code, state in pressed.items()
            if state & pybullet.KEY_WAS_TRIGGERED and 0 <= code < 128
        ]
        turns_camera = any(pressed.get(key, 0) & pybullet.KEY_IS_DOWN for key in _CAMERA_KEYS)
        presses: list[tuple[float, float]] = []
        pointer, is_released = None, False
        for kind, x, y, button, state in pybullet.getMouseEvents(physicsClientId=self.client_id):
            pointer = (x, y)
            if kind == _MOUSE_BUTTON and button == 0:
                is_released = bool(state & pybullet.KEY_WAS_RELEASED)
                if not is_released and not turns_camera:
                    presses.append((x, y))
        buttons, sliders = self._panel_events()
        return PanelEvents(
            keys=tuple(keys),
            buttons=tuple(buttons),
            sliders=tuple(sliders),
            presses=tuple(presses),
            pointer=pointer,
            is_released=is_released,
        )

    def _panel_events(self) -> tuple[list[str], list[tuple[str, float]]]:
        buttons: list[str] = []
        sliders: list[tuple[str, float]] = []
        now = time.monotonic()
        if now - self._read_at < PANEL_SECONDS:
            return buttons, sliders
        self._read_at = now
        for control, item in self._controls:
            value, before = self._value(item), self._read[control.command]
            if abs(value - before) <= SLIDER_STEP:
                continue
            self._read[control.command] = value
            if control.is_button:
                buttons.append(control.command)
            else:
                sliders.append((control.command, value))
        return buttons, sliders


def framing_distance(
    half: FloatArray, forward: Sequence[float], up: Sequence[float], aspect: float
) -> float:
    """Distance from the middle of a box at which a camera sees all of it [m].

    Args:
        half: Half extents of the box along the world's axes [m], shape [3].
        forward: Direction of view, unit length.
        up: Upward direction of the picture, unit length.
        aspect: Width of the free part of the picture per height.
    """
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = signs * np.maximum(half, 1e-2)
    nearer = -(corners @ np.asarray(forward))
    upwards = np.abs(corners @ np.asarray(up))
    across = np.abs(corners @ np.cross(forward, up)) / aspect
    return float((np.maximum(upwards, across) * MARGIN / SLOPE + nearer).max())


def unproject(
    pixels: FloatArray,
    size: tuple[int, int],
    view: Sequence[float],
    projection: Sequence[float],
    depths: float | tuple[float, ...] = OVERLAY_DEPTH,
) -> FloatArray:
    """World points behind these pixels of the picture, shape [k, 3].

    Args:
        pixels: From the upper left, shape [k, 2].
        size: Width and height of the picture [pixels].
        view: View matrix as PyBullet gives it, column by column.
        projection: Projection matrix in the same order.
        depths: In normalized device coordinates, -1 (nearest) to 1, one or one per pixel.
    """
    world_from_clip = np.linalg.inv(
        np.reshape(projection, (4, 4), order="F") @ np.reshape(view, (4, 4), order="F")
    )
    clip = np.zeros((len(pixels), 4))
    clip[:, 0] = 2.0 * pixels[:, 0] / size[0] - 1.0
    clip[:, 1] = 1.0 - 2.0 * pixels[:, 1] / size[1]
    clip[:, 2] = depths
    clip[:, 3] = 1.0
    points = clip @ world_from_clip.T
    world: FloatArray = points[:, :3] / points[:, 3:]
    return world
