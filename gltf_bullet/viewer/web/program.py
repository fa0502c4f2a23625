"""``gltf-bullet view --web``: a file in the browser, read again when it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gltf_bullet.bullet.owned_world import add_floor, close_world, open_world
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.placement import UpAxis
from gltf_bullet.runtime.views.shown_meshes import Shown
from gltf_bullet.runtime.views.web_stage import add_ground
from gltf_bullet.transforms import Vec3
from gltf_bullet.viewer.session import Session
from gltf_bullet.viewer.web.page import WebPage
from gltf_bullet.viewer.web.web_view import FRAME_SECONDS

__all__ = ["view_web"]

WATCH_SECONDS = 0.3
"""[s] Between two looks at the file."""
RATE = 30.0
"""Pictures per second."""


def view_web(
    path: Path,
    *,
    up_axis: UpAxis = "z",
    gravity: Vec3 = (0.0, 0.0, -9.81),
    time_step: float = 1.0 / 240.0,
    speed: float = 1.0,
    play: bool = True,
    visuals: Shown = "auto",
    options: LoadOptions | None = None,
    show: Sequence[str] = ("joints",),
    floor: bool = False,
    host: str = "127.0.0.1",
    port: int = 8080,
    seconds: float = float("inf"),
    say: Callable[[str], object] = print,
) -> None:
    """Show a file in browsers until it is interrupted.

    Args:
        path: The glTF file; problems with it are shown, and it is read again when it changes.
        up_axis: ``"z"`` turns the asset up into a Z-up world, ``"y"`` keeps glTF's axes.
        gravity: [m/s^2], world axes.
        time_step: [s]
        speed: Simulated seconds per second.
        play: Whether time runs from the start.
        visuals: ``"mesh"``, ``"collider"``, or ``"auto"``: meshes where the file has any.
        options: How to load; ``visuals`` decides about theirs.
        show: Layers that are on at first.
        floor: Put a floor through the world's origin.
        host: Who is let in: ``"127.0.0.1"`` this machine alone.
        port: 0 takes one that is free.
        seconds: Stop after this time of the clock [s].
        say: Takes lines for the terminal.

    Raises:
        ImportError: The extra ``web`` is not installed.
        EngineError: The address cannot be used.
    """
    client_id = open_world(gravity=gravity, time_step=time_step)
    try:
        if floor:
            add_floor(client_id, y_up=up_axis == "y")
        session = Session(
            path, client_id, up_axis=up_axis, visuals=visuals, options=options, play=play,
            speed=speed,
        )  # fmt: skip
        page = WebPage(session, show=show, visuals=visuals, host=host, port=port, rate=RATE)
        try:
            if floor:
                # x and z of a plane's own frame span it.
                up = np.eye(4) if up_axis == "y" else np.eye(4)[[0, 2, 1, 3]] * [1, 1, -1, 1]
                add_ground(page.server.scene, "floor", up)
            say(f"{path}: {page.url} (Ctrl-C ends it)")
            _loop(session, page, time.monotonic() + seconds, say)
        except KeyboardInterrupt:
            say("")
        finally:
            page.close()
    finally:
        close_world(client_id)


def _loop(session: Session, page: WebPage, end: float, say: Callable[[str], object]) -> None:
    before = watched = time.monotonic()
    problem: tuple[str, ...] = ()
    loads = -1
    while before < end:
        now = time.monotonic()
        if now - watched > WATCH_SECONDS:
            watched = now
            session.reload_if_changed()
        if session.problem != problem:
            problem = session.problem
            for line in problem:
                say(f"{session.path}: {line}")
        if session.loads != loads:
            loads = session.loads
            for issue in session.issues:
                say(f"{session.path}#{issue}")
        session.advance(now - before)
        before = now
        page.turn()
        time.sleep(max(0.0, FRAME_SECONDS - (time.monotonic() - now)))
