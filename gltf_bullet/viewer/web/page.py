"""What a browser shows of a scene that is played, and what its user does with it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gltf_bullet.runtime.views.shown_meshes import Shown
from gltf_bullet.runtime.views.web_stage import WebStage, aim_at_scene, open_server, stop_server
from gltf_bullet.viewer.commands import Commands
from gltf_bullet.viewer.keys import LAYERS
from gltf_bullet.viewer.layers import SceneLayers
from gltf_bullet.viewer.playback import Playback
from gltf_bullet.viewer.properties import node_properties
from gltf_bullet.viewer.strokes import Labels, Strokes
from gltf_bullet.viewer.web.drawing import WebLines, WebTexts
from gltf_bullet.viewer.web.panel import NOBODY, Panel

if TYPE_CHECKING:
    from viser import ViserServer

    from gltf_bullet.runtime.acting.behavior_view import BehaviorView

__all__ = ["WebPage"]

WORDS_SECONDS = 0.2
"""[s] Between two looks at the texts of the panel."""
GRIP_COLOR = (1.0, 0.3, 0.0)
SIGHT = 1e4
"""[m] How far clicks reach."""
MOST_LOGGED = 8
"""Lines of a graph's log that are shown."""
MOST_TEXTS = 500
"""Names that are shown at once; each is a node of the page."""


class WebPage:
    """One server with one scene; every browser that comes sees and moves the same."""

    def __init__(
        self,
        playback: Playback,
        *,
        show: Iterable[str],
        visuals: Shown,
        host: str,
        port: int,
        rate: float,
    ) -> None:
        """Open the server; see ``WebView`` for arguments and errors."""
        self._shown = dict.fromkeys(LAYERS, False)
        self.switch(show, on=True)
        self.playback = playback
        self.server: ViserServer
        self.server, self.url = open_server(host, port)
        self._visuals, self._period = visuals, 1.0 / rate
        self._events: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._commands = Commands(playback, {})
        self._loads = -1
        self._stage: WebStage | None = None
        self._layers: SceneLayers | None = None
        self._panel: Panel | None = None
        self._lines = {layer: WebLines(self.server.scene, f"/layers/{layer}") for layer in LAYERS}
        self._grip = WebLines(self.server.scene, "/layers/grip")
        self._texts = WebTexts(self.server.scene, "/layers/texts")
        self._labels: dict[str, int] = {}
        self._chosen: int | None = None
        self._world: object = None
        self._drawn = self._said = -np.inf
        self._turning = threading.RLock()
        self.is_open = True
        self.follow()

    # --- one turn -----------------------------------------------------------------------------

    def turn(self, *, force: bool = False) -> None:
        """Do what the users did since the last call, and draw when it is time to."""
        with self._turning:
            if self.is_open:
                self._turn(force=force)

    def _turn(self, *, force: bool) -> None:
        while not self._events.empty():
            self._events.get()()
        self.follow()
        now = time.monotonic()
        if force or now - self._drawn >= self._period:
            self._drawn = now
            self._draw()
        if force or now - self._said >= WORDS_SECONDS:
            self._said = now
            self._say()

    def follow(self) -> None:
        """Show the scene that is played, where it is another one than before."""
        playback = self.playback
        scene = playback.scene
        rebuilt = scene is not None and scene.core.world is not self._world
        if playback.loads == self._loads and not rebuilt:
            return
        is_first, self._loads = self._loads <= 0 < playback.loads, playback.loads
        self._clear()
        self._labels, self._chosen = {}, None
        if scene is not None:
            self._world = scene.core.world
            self._stage = WebStage(self.server, scene.core, self._visuals)
            self._layers = SceneLayers(scene)
            self._make_pickable(self._stage)
            names = scene.asset.tree.names
            self._labels = {f"{node} {name}".strip(): node for node, name in enumerate(names)}
            if is_first:
                aim_at_scene(self.server, scene.core)
        self._panel = Panel(
            self.server,
            self._put,
            self._commands.controls(),
            [layer for layer, on in self._shown.items() if on],
            self._labels,
            playback.issues,
            acts=scene is not None and scene.behavior is not None,
        )
        self._drawn = self._said = -np.inf

    def _clear(self) -> None:
        if self._panel is not None:
            self._panel.remove()
        if self._stage is not None:
            self._stage.remove()
        for lines in (*self._lines.values(), self._grip):
            lines.clear()
        self._texts.clear()
        self._stage, self._layers, self._panel = None, None, None

    # --- what users do ------------------------------------------------------------------------

    def _put(self, command: str, value: Any) -> None:
        """From any thread: done by the next :meth:`turn`."""
        self._events.put(lambda: self._do(command, value))

    def _do(self, command: str, value: Any) -> None:
        kind, _, rest = command.partition(" ")
        if kind == "layer":
            self._shown[rest] = bool(value)
        elif kind == "node":
            self._chosen = self._labels.get(value)
            self._hover(self._chosen)
            self._said = -np.inf
        elif kind in ("speed", "drive"):
            self._commands.slide(command, float(value))
        else:
            self._commands.do(command)

    def switch(self, layers: Iterable[str], *, on: bool) -> None:
        """Switch layers.

        Raises:
            ValueError: There is no such layer.
        """
        for layer in layers:
            if layer not in self._shown:
                raise ValueError(f"{layer!r} is no layer; there are {', '.join(LAYERS)}")
            self._shown[layer] = on

    def _make_pickable(self, stage: WebStage) -> None:
        """Clicks choose a node, drags pull its body."""
        scene = self.playback.scene
        for mesh, handle in zip(stage.meshes, stage.handles, strict=True):
            if mesh.is_endless:
                continue
            handle.on_click(self._picker(mesh.node))
            body = None if scene is None else scene.body_of(mesh.node)
            if body is not None and body.kind.value == "dynamic":
                handle.on_drag(self._puller(body.node))

    def _picker(self, node: int) -> Callable[[Any], Any]:
        async def pick(event: Any) -> None:
            label = next((name for name, k in self._labels.items() if k == node), NOBODY)
            origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
            self._events.put(lambda: self._choose(label))
            self._events.put(lambda: self._select(node, origin, direction))

        return pick

    def _hover(self, node: int | None) -> None:
        """Tell the file's behavior graph what is pointed at; ``None``: nothing.

        Browsers say where their pointer is, viser hands on clicks only: who is clicked or chosen
        is pointed at until something else is.
        """
        scene = self.playback.scene
        if scene is not None and scene.behavior is not None:
            scene.behavior.hover(node)

    def _select(self, node: int, origin: Any, direction: Any) -> None:
        """Tell the file's behavior graph of a click."""
        scene = self.playback.scene
        if scene is None or scene.behavior is None:
            return
        # Of what is only seen, no ray tells where it was met.
        hit = scene.ray_cast(origin, origin + SIGHT * direction)
        scene.behavior.select(node, None if hit is None else hit.position.tolist(), origin.tolist())

    def _choose(self, label: str) -> None:
        if self._panel is not None:
            self._panel.node.value = label
        self._do("node", label)

    def _puller(self, node: int) -> Callable[[Any], Any]:
        # As a coroutine: viser calls those in the order of the drag.
        async def pull(event: Any) -> None:
            point, target = np.array(event.start_position), np.array(event.end_position)
            self._events.put(lambda: self._pull(node, event.phase, point, target))

        return pull

    def _pull(self, node: int, phase: str, point: Any, target: Any) -> None:
        dragging = self.playback.dragging
        if dragging is None:
            return
        if phase == "start":
            dragging.hold(node, point)
        if phase == "end":
            dragging.release()
        else:
            dragging.aim(target)

    # --- what they see ------------------------------------------------------------------------

    def _draw(self) -> None:
        if self._stage is None or self._layers is None:
            return
        with self.server.atomic():
            self._stage.place()
            texts = [Labels.none()]
            for layer, on in self._shown.items():
                self._lines[layer].show(self._layers.strokes(layer) if on else Strokes.join([]))
                if on:
                    texts.append(self._layers.labels(layer))
            labels = Labels.join(texts)
            few = slice(MOST_TEXTS)
            self._texts.show(Labels(labels.positions[few], labels.texts[few], labels.colors[few]))
            dragging = self.playback.dragging
            grip = np.zeros((0, 2, 3)) if dragging is None else dragging.line()
            self._grip.show(Strokes.of(grip, GRIP_COLOR))

    def _say(self) -> None:
        if self._panel is None:
            return
        scene = self.playback.scene
        properties: tuple[tuple[str, str], ...] = ()
        if scene is not None and self._chosen is not None:
            properties = node_properties(scene, self._chosen)
        behavior = [] if scene is None or scene.behavior is None else _told(scene.behavior)
        self._panel.say(self.playback.status(), self.playback.problem, properties, behavior)

    def close(self) -> None:
        """Stop the server, between two turns where another thread plays; twice is harmless."""
        with self._turning:
            if self.is_open:
                self.is_open = False
                stop_server(self.server)


def _told(behavior: BehaviorView) -> list[str]:
    """The variables of a graph and the end of its log, a line each."""
    from gltf_bullet.behavior.values import shown

    state = ["stopped"] if behavior.is_paused else []
    rows = [f"{name} = {shown(value)}" for name, value in behavior.variables.items()]
    lines = [f"{entry.time:.3f} s {entry.message}" for entry in behavior.log[-MOST_LOGGED:]]
    return [*state, *rows, *lines]
