"""The loop of ``gltf-bullet view``: input, time, reloading, drawing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pybullet

from gltf_bullet.bullet.owned_world import add_floor
from gltf_bullet.errors import EngineError
from gltf_bullet.viewer.commands import Commands
from gltf_bullet.viewer.debug_draw import STILL, DebugDraw, DebugItems
from gltf_bullet.viewer.keys import LAYERS, key_lines
from gltf_bullet.viewer.session import Session, ViewOptions
from gltf_bullet.viewer.strokes import Labels, Strokes
from gltf_bullet.viewer.window import PanelEvents, Window

# --- Translucent bodies, which show what is inside of them ----------------------------------------

ALPHA = 0.35
"""Opacity of translucent bodies."""


class XRay:
    """Switches all bodies of one world between their own colours and translucent ones."""

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        self._colors: list[tuple[int, int, tuple[float, ...]]] = []

    @property
    def is_on(self) -> bool:
        """True if bodies are translucent."""
        return bool(self._colors)

    def toggle(self) -> bool:
        """Switch on or off; returns True if bodies are translucent now."""
        if self.is_on:
            for body, link, color in self._colors:
                self._paint(body, link, color)
            self._colors = []
            return False
        client = self._client_id
        for index in range(pybullet.getNumBodies(physicsClientId=client)):
            body = pybullet.getBodyUniqueId(index, physicsClientId=client)
            for shape in pybullet.getVisualShapeData(body, physicsClientId=client) or ():
                self._colors.append((body, shape[1], shape[7]))
        for body, link, (red, green, blue, alpha) in self._colors:
            self._paint(body, link, (red, green, blue, alpha * ALPHA))
        return self.is_on

    def forget(self) -> None:
        """Forget the colours of bodies that were replaced."""
        self._colors = []

    def _paint(self, body: int, link: int, color: tuple[float, ...]) -> None:
        # A body may have been removed since.
        with contextlib.suppress(pybullet.error):
            pybullet.changeVisualShape(body, link, rgbaColor=color, physicsClientId=self._client_id)


# --- The loop of the window -----------------------------------------------------------------------

FRAME_SECONDS = 1.0 / 60.0
"""[s] Interval of polling keys, mouse and sliders."""
WATCH_SECONDS = 0.25
"""[s] Interval of checking the file for changes."""
DRAW_SECONDS = 0.05
"""[s] Interval of drawing the layers."""
ISSUE_LINES = 4
"""Most findings that are shown in the window; the terminal has all."""
GRIP_COLOR = (0.9, 0.0, 0.9)
"""Red, green, blue of the line from the mouse to the grabbed body."""
TURNS_BEHIND = 60
"""Turns in a row that the window must be behind before the browser is recommended: loading and the
first drawing take some, too."""
LINE_CHARACTERS = 84
"""Longest line of text in the window [characters]."""

Say = Callable[[str], None]


class Viewer:
    """A session in a window."""

    def __init__(
        self, session: Session, window: Window, *, show: Sequence[str], say: Say = print
    ) -> None:
        """Connect session and window, and show the first scene.

        Args:
            session: The file.
            window: The window that shows it.
            show: Layers that are on at first.
            say: Prints lines on the terminal.
        """
        self.session = session
        self.window = window
        self.draw: DebugDraw | None = None
        self._say = say
        self._shown = tuple(show)
        self._helps = False
        self._turns_behind = 0
        self._xray = XRay(window.client_id)
        self._items = DebugItems(window.client_id, pause_rendering=True)
        self._drawn_at = self._watched_at = -np.inf
        self._loads = -1
        self._problem: tuple[str, ...] = ()
        self.commands = Commands(
            session,
            {
                "frame": self.frame,
                "x-ray": self._xray.toggle,
                "help": self._toggle_help,
                "issue": self._say_issues,
                **{layer: self._toggler(layer) for layer in LAYERS},
            },
        )
        self._follow_session()

    @property
    def lines_drawn(self) -> int:
        """Number of line segments in the window."""
        return self._items.line_count

    # --- one turn of the loop -----------------------------------------------------------------

    def turn(self, elapsed: float) -> None:
        """Handle input, advance by ``elapsed`` seconds of the clock, draw.

        Raises:
            EngineError: The engine failed, or the window was closed in between.
            pybullet.error: Likewise.
        """
        events = self.window.events()
        self.commands.press_keys(events.keys)
        for command in events.buttons:
            self.commands.do(command)
        for command, value in events.sliders:
            self.commands.slide(command, value)
        now = time.monotonic()
        self._drag(events)
        if now - self._watched_at > WATCH_SECONDS:
            self._watched_at = now
            self.session.reload_if_changed()
        self._follow_session()
        self.session.advance(elapsed)
        self._say_behind()
        if now - self._drawn_at > DRAW_SECONDS and not self._items.is_resting:
            self._draw()
            self._drawn_at = time.monotonic()

    def _say_behind(self) -> None:
        """Recommend once the viewer that leaves the drawing to the browser."""
        self._turns_behind = self._turns_behind + 1 if self.session.is_behind else 0
        if self._turns_behind == TURNS_BEHIND:
            self._say(f"too slow for the window? gltf-bullet view {self.session.path} --web")

    def _drag(self, events: PanelEvents) -> None:
        """Grab, pull and release bodies with the mouse."""
        dragging = self.session.dragging
        if dragging is None:
            return
        for pixel in events.presses:
            dragging.take(*self.window.ray(pixel))
        if dragging.is_active and events.pointer is not None:
            dragging.move(*self.window.ray(events.pointer))
        if events.is_released:
            dragging.release()

    def _draw(self) -> None:
        """Draw the layers and the overlay in one go, since each pause costs two frames."""
        strokes, labels = Strokes.join([]), Labels.none()
        if self.draw is not None:
            strokes, labels = self.draw.picture()
        if self.session.dragging is not None:
            grip = Strokes.of(self.session.dragging.line(), GRIP_COLOR)
            strokes = Strokes.join([strokes, grip])
        words = self.window.overlay(self.overlay_lines(), (0.0, 0.0, 0.0))
        tolerance = STILL * self.draw.layers.size if self.draw is not None else 0.0
        self._items.show(strokes, Labels.join([labels, words]), tolerance)

    def _follow_session(self) -> None:
        """Show a newly loaded scene, and print the problem of one that was not loaded."""
        session = self.session
        if session.problem != self._problem:
            self._problem = session.problem
            for line in session.problem:
                self._say(f"{session.path}: {line}")
        if session.loads == self._loads:
            return
        first = session.loads <= 1
        self._loads = session.loads
        if self.draw is not None:
            self._shown = self.draw.shown
            self.draw.close()
            self.draw = None
        self._xray.forget()
        if session.scene is not None:
            self.draw = DebugDraw(session.scene, show=self._shown)
            self._say(f"{session.path}: {session.scene}")
            self._say_issues()
            if first:
                self.frame()
        self.window.set_panel(self.commands.controls())

    # --- actions of keys and buttons ----------------------------------------------------------

    def frame(self) -> None:
        """Aim the camera at the moving objects, and at resting ones near them."""
        if self.session.scene is not None:
            self.window.frame(*self.session.scene.pictures.framed_box())

    def _toggler(self, layer: str) -> Callable[[], object]:
        def toggle() -> None:
            if self.draw is not None:
                self.draw.toggle(layer)

        return toggle

    def _toggle_help(self) -> None:
        self._helps = not self._helps

    def _say_issues(self) -> None:
        for issue in self.session.issues:
            self._say(f"{self.session.path}: {issue}")

    # --- texts --------------------------------------------------------------------------------

    def overlay_lines(self) -> list[str]:
        """Lines of text on top of the picture."""
        session = self.session
        lines = [session.status()]
        if session.problem:
            lines.append("the file as it is now does not work:")
            lines += _shortened(session.problem)
        lines += _shortened([f"{issue.code} {issue.pointer}" for issue in session.issues])
        if self.draw is not None:
            lines += [f"not all is drawn: {notice}" for notice in self.draw.notices]
        lines += key_lines() if self._helps else ["h: keys"]
        return lines


def _shortened(lines: Sequence[str]) -> list[str]:
    room = LINE_CHARACTERS
    shown = [line if len(line) <= room else f"{line[: room - 3]}..." for line in lines]
    shown = shown[:ISSUE_LINES]
    more = len(lines) - len(shown)
    return [*shown, f"and {more} more in the terminal"] if more else shown


def view(
    path: Path,
    options: ViewOptions,
    *,
    size: tuple[int, int] = (1280, 800),
    say: Say = print,
    each_turn: Callable[[Viewer], object] | None = None,
) -> None:
    """Show a file in a window until it is closed.

    Args:
        path: The glTF file; problems with it are shown, and it is read again when it changes.
        options: World, speed, layers and visuals of the viewer.
        size: Width and height of the window [pixels].
        say: Prints lines on the terminal.
        each_turn: Called after each turn of the loop, about 60 times per second.

    Raises:
        EngineError: There is no display.
    """
    is_y_up = options.up_axis == "y"
    window = Window(width=size[0], height=size[1], y_up=is_y_up)
    try:
        pybullet.setGravity(*options.gravity, physicsClientId=window.client_id)
        pybullet.setTimeStep(options.time_step, physicsClientId=window.client_id)
        if options.floor:
            add_floor(window.client_id, y_up=is_y_up)
        session = Session(path, window.client_id, options, loading=window.paused)
        viewer = Viewer(session, window, show=options.show, say=say)
        _loop(viewer, time.monotonic() + options.seconds, each_turn)
    except (EngineError, pybullet.error):
        # Closing the window removes the world in the middle of any call.
        if window.is_open:
            raise
    finally:
        window.close()


def _loop(viewer: Viewer, end: float, each_turn: Callable[[Viewer], object] | None) -> None:
    before = time.monotonic()
    while viewer.window.is_open and before < end:
        now = time.monotonic()
        viewer.turn(now - before)
        before = now
        if each_turn is not None:
            each_turn(viewer)
        time.sleep(max(0.0, FRAME_SECONDS - (time.monotonic() - now)))
