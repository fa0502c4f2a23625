"""``gltf-bullet view --web``: a file in the browser, read again when it changes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gltf_bullet.bullet.owned_world import add_floor, close_world, open_world
from gltf_bullet.runtime.views.shown_meshes import Shown
from gltf_bullet.runtime.views.web_door import is_loopback
from gltf_bullet.viewer.playback import Playback
from gltf_bullet.viewer.session import Session, ViewOptions
from gltf_bullet.viewer.web.page import WebPage

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene

# --- ``gb.viewer.WebView``: a scene of a program in any browser -----------------------------------

FRAME_SECONDS = 1.0 / 60.0


class WebView:
    """Shows a scene in browsers, with its drives as sliders and its physics as layers.

    ::

        with gb.viewer.WebView(scene) as view:
            print(view.url)
            view.run()  # plays in real time; or in a loop of your own:
            # scene.step(); view.update()

    All users who know the whole address see and control the same scene. Needs the extra ``web``.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        show: Iterable[str] = ("joints", "triggers"),
        visuals: Shown = "auto",
        host: str = "127.0.0.1",
        port: int = 0,
        play: bool = True,
        speed: float = 1.0,
        rate: float = 30.0,
    ) -> None:
        """Open the address.

        Args:
            scene: A scene in any client; the client's own window does not matter.
            show: Layers of :data:`~gltf_bullet.viewer.LAYERS` to begin with.
            visuals: ``"mesh"``, ``"collider"``, or ``"auto"``: meshes where the file has any.
            host: ``"127.0.0.1"`` admits this machine alone; ``"0.0.0.0"`` each machine that can
                reach it and knows the whole :attr:`url`.
            port: 0 takes a free one.
            play: True to start the time with :meth:`run`.
            speed: Simulated seconds per second, in :meth:`run`.
            rate: Most pictures per second.

        Raises:
            ImportError: The extra is not installed.
            EngineError: The address cannot be used.
            ValueError: An unknown layer, or a rate that is not above 0.
        """
        if not rate > 0.0:
            raise ValueError(f"rate is {rate}; must be > 0")
        scene.core.require_alive()
        playback = Playback(scene, scene.client_id, play=play, speed=speed)
        self._page = WebPage(playback, show=show, visuals=visuals, host=host, port=port, rate=rate)
        scene.core.on_remove(self.close)

    @property
    def url(self) -> str:
        """Address of the page; it ends in a secret, without which nobody is admitted."""
        return self._page.url

    @property
    def playing(self) -> bool:
        """True while the user lets time run, for loops of your own."""
        return self._page.playback.playing

    def show(self, *layers: str) -> None:
        """Switch layers on.

        Raises:
            ValueError: There is no such layer.
        """
        self._page.switch(layers, on=True)

    def update(self, *, force: bool = False) -> None:
        """Carry out users' actions, and draw the scene unless the last picture is too recent.

        Args:
            force: Draw in any case.

        Raises:
            SceneRemovedError: The scene was removed.
        """
        scene = self._page.playback.scene
        if scene is not None:
            scene.core.require_alive()
        if self._page.is_open:
            self._page.turn(force=force)

    def run(self, seconds: float = float("inf")) -> None:
        """Play in real time until ``seconds`` of the clock have passed or :meth:`close` is called.

        Raises:
            SceneRemovedError: The scene was removed.
        """
        play(self._page, seconds)

    def close(self) -> None:
        """Close the address; a second call does nothing."""
        self._page.close()

    def __enter__(self) -> WebView:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def play(page: WebPage, seconds: float) -> None:
    """Let time run, and show the scene."""
    before = time.monotonic()
    end = before + seconds
    while page.is_open and before < end:
        now = time.monotonic()
        page.playback.advance(now - before)
        before = now
        page.turn()
        time.sleep(max(0.0, FRAME_SECONDS - (time.monotonic() - now)))


# --- ``gltf-bullet view --web`` -------------------------------------------------------------------

WATCH_SECONDS = 0.3
"""[s] Interval of checking the file for changes."""
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
        options: World, speed, layers and visuals of the viewer.
        host: Machines that can reach it: ``"127.0.0.1"`` this machine alone. Users who do not know
            the whole address are not admitted.
        port: 0 takes a free one.
        say: Prints lines on the terminal.

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
            # A termination signal on machines without a terminal acts like Ctrl-C.
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
                say(f"{session.path}: {issue}")
        session.advance(now - before)
        before = now
        page.turn()
        time.sleep(max(0.0, FRAME_SECONDS - (time.monotonic() - now)))
