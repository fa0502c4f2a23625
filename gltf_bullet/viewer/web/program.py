"""``gltf-bullet view --web``: a file in the browser, read again when it changes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gltf_bullet.bullet.owned_world import add_floor, close_world, open_world
from gltf_bullet.runtime.views.web_door import is_loopback
from gltf_bullet.viewer.session import Session
from gltf_bullet.viewer.view_options import ViewOptions
from gltf_bullet.viewer.web.page import WebPage
from gltf_bullet.viewer.web.web_view import FRAME_SECONDS

__all__ = ["view_web"]

WATCH_SECONDS = 0.3
"""[s] Between two looks at the file."""
RATE = 30.0
"""Pictures per second."""


def view_web(
    path: Path,
    options: ViewOptions,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    say: Callable[[str], object] = print,
) -> None:
    """Show a file in browsers until it is interrupted.

    Args:
        path: The glTF file; problems with it are shown, and it is read again when it changes.
        options: How.
        host: Who can reach it: ``"127.0.0.1"`` this machine alone. Who does not know the whole
            address is not let in.
        port: 0 takes one that is free.
        say: Takes lines for the terminal.

    Raises:
        ImportError: The extra ``web`` is not installed.
        EngineError: The address cannot be used.
    """
    is_y_up = options.up_axis == "y"
    client_id = open_world(gravity=options.gravity, time_step=options.time_step)
    try:
        if options.floor:
            add_floor(client_id, y_up=is_y_up)
        session = Session(path, client_id, options)
        if threading.current_thread() is threading.main_thread():
            # What ends programs on machines without a terminal ends this one as Ctrl-C does.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        page = WebPage(
            session, show=options.show, visuals=options.visuals, host=host, port=port, rate=RATE
        )
        try:
            say(f"{path}: {page.url} (Ctrl-C ends it)")
            if not is_loopback(host):
                say(
                    f"--host {host} opens this machine's port {page.server.get_port()}: whoever "
                    "reaches it and knows the whole address above sees and moves the scene; "
                    "nothing is encrypted"
                )
            _loop(session, page, time.monotonic() + options.seconds, say)
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
