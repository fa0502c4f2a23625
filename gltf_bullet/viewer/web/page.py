"""The page of a scene in a browser: picture, panel, and the actions of its users.

The file is long since lines, texts, panel and mouse of one page share its server and its scene.
"""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gltf_bullet.diagnostics import Issue
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.printable import printable
from gltf_bullet.runtime.views.shown_meshes import Shown
from gltf_bullet.runtime.views.web_export import WebStage, aim_at_scene, open_server, stop_server
from gltf_bullet.transforms import decompose_trs
from gltf_bullet.viewer.commands import Commands, Control
from gltf_bullet.viewer.keys import LAYERS
from gltf_bullet.viewer.layers import SceneLayers
from gltf_bullet.viewer.playback import Playback
from gltf_bullet.viewer.strokes import Labels, Strokes
from gltf_bullet.viewer.tuning import Field, Tuning

if TYPE_CHECKING:
    import viser
    from viser import ViserServer

    from gltf_bullet.runtime.acting.behavior_view import BehaviorView
    from gltf_bullet.runtime.scene import Scene

# --- Current properties of a node, for viewers that show text -------------------------------------


def node_properties(scene: Scene, node: int) -> tuple[tuple[str, str], ...]:
    """Names and values with units of the properties that a node has.

    Args:
        scene: The scene of the node.
        node: Index of the glTF node.

    Raises:
        SceneRemovedError: The scene was removed.
    """
    tree = scene.asset.tree
    position, rotation, scale = decompose_trs(scene.world_from_node(node))
    rows = [("node", f"{node} {tree.names[node]}".strip())]
    parent = int(tree.parents[node])
    if parent >= 0:
        rows.append(("parent", f"{parent} {tree.names[parent]}".strip()))
    rows += [("position", f"{_vector(position)} m"), ("rotation xyzw", _vector(rotation))]
    if not np.allclose(scale, 1.0):
        rows.append(("scale", _vector(scale)))
    rows += _body_rows(scene, node)
    if node in scene.joints:
        rows += _joint_rows(scene, node)
    if node in scene.triggers:
        inside = scene.triggers[node].overlapping
        names = ", ".join(tree.names[k] or str(k) for k in inside)
        rows.append(("trigger: inside now", names or "nobody"))
    own = f"/nodes/{node}"
    for issue in scene.issues:
        if f"{issue.pointer}/".startswith(f"{own}/"):
            rows.append((f"issue {issue.code}", issue.message))
    return tuple(rows)


def _body_rows(scene: Scene, node: int) -> list[tuple[str, str]]:
    body = scene.body_of(node)
    if body is None:
        return [("body", "none: static")]
    rows = [("body", f"{body.node} {body.name}, {body.kind.value}")]
    plan = scene.core.world.plan.bodies.bodies[body.node]
    rows.append(("mass", f"{body.mass:.6g} kg"))
    rows.append(("principal moments", f"{_vector(plan.inertia_diagonal)} kg m2"))
    rows.append(("centre of mass", f"{_vector(body.center_of_mass)} m"))
    rows.append(("velocity", f"{_vector(body.linear_velocity)} m/s"))
    rows.append(("spin", f"{_vector(body.angular_velocity)} rad/s"))
    return rows


def _joint_rows(scene: Scene, node: int) -> list[tuple[str, str]]:
    joint = scene.joints[node]
    rows = []
    for dof in joint.degrees_of_freedom:
        unit = "m" if dof.kind.value == "linear" else "rad"
        axis = "ball" if dof.axis == 3 else f"{dof.kind.value} {'xyz'[dof.axis]}"
        values = np.atleast_1d(np.asarray(dof.position))
        rows.append((f"joint {axis}", f"{_vector(values)} {unit}"))
    for limit in joint.limits:
        axes = "".join("xyz"[axis] for axis in limit.axes)
        text = f"{limit.minimum:.4g} .. {limit.maximum:.4g}"
        rows.append((f"limit {limit.kind.value} {axes}", text))
    for drive in joint.drives:
        text = f"stiffness {drive.stiffness:.4g}, damping {drive.damping:.4g}"
        rows.append((f"drive {drive.kind.value} {'xyz'[drive.axis]}", text))
    return rows


def _vector(values: Iterable[float]) -> str:
    return " ".join(f"{round(float(value), 4) + 0.0:.4g}" for value in values)


# --- Layers of lines and texts in a browser, from the arrays that the window draws ----------------

LINE_PIXELS = 2.0
"""Width of lines [pixels]."""
STILL = 1e-5
"""[m] Distance by which a text must move to be sent again."""


class WebLines:
    """The lines of one layer, sent when they change."""

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
            # The number of points and colours cannot be changed one after the other.
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


# --- Texts of a file as plain text in a page ------------------------------------------------------
#
# viser shows Markdown with raw HTML in it, scripts included (``Markdown.tsx`` of its client). So
# each text of a file enters a page by :func:`plain_markdown`; buttons, sliders, lists and labels
# take text alone.

_OTHERS = re.compile(r"[^\w ]|_")
"""Characters other than letters and digits, which may mean something to Markdown or HTML."""


def plain_markdown(text: str) -> str:
    """Markdown that shows ``text`` in one line: all but letters and digits escaped."""
    return _OTHERS.sub(lambda found: f"&#{ord(found[0])};", printable(text))


# --- The panel of the browser: buttons, sliders, layers, the chosen node, issues ------------------
#
# viser runs callbacks in threads of their own: they only pass on the command.

NOBODY = "(click a body or choose)"
"""Entry of the list of nodes that stands for none."""
SLIDER_STEPS = 2000
"""Number of steps of a slider; a full turn has steps of 3 mrad."""
MOST_OPEN = 8
"""Most open sliders, which leave room for the rest of the page."""
_KEY = re.compile(r" \((space|.)\)$")
"""Keys in labels of the window; a browser has its own."""

TUNED = "tuned.glb"
"""Name that is offered for what is saved."""

Put = Callable[[str, Any], None]
"""Takes a command and its value, from any thread."""


class Panel:
    """The panel beside the picture, for one scene."""

    def __init__(
        self,
        server: viser.ViserServer,
        put: Put,
        controls: Iterable[Control],
        shown: Iterable[str],
        nodes: Iterable[str],
        issues: Iterable[Issue],
        *,
        acts: bool = False,
        events: Iterable[str] = (),
    ) -> None:
        """Create the panel.

        Args:
            server: The server of the page.
            put: Receives commands of ``controls``, ``("layer NAME", on)`` and ``("node", label)``.
            controls: The controls of the window; layers and issues are shown in another way here.
            shown: Layers that are on.
            nodes: Labels of the nodes that can be chosen.
            issues: Findings, a line each.
            acts: True if the file has a behavior graph, whose variables and log are shown.
            events: Ids of the graph's custom events, a button each.
        """
        self._gui, self._put = server.gui, put
        controls = list(controls)
        self._status = self._gui.add_markdown("")
        self._top: list[Any] = [self._status]
        self.controls: dict[str, Any] = {}
        """Handles by command."""
        plain = [c for c in controls if c.command in ("play", "step", "reset", "reload", "speed")]
        for control in plain:
            self._top.append(self._add(control))
        on = set(shown)
        with self._folder("Layers"):
            for layer in LAYERS:
                box = self._gui.add_checkbox(layer, layer in on)
                self._watch(box, f"layer {layer}")
        drives = [c for c in controls if c.command.startswith("drive ")]
        animations = [c for c in controls if c.command.startswith("animation ")]
        for title, group in (("Drives", drives), ("Animations", animations)):
            if group:
                with self._folder(title, opened=len(group) <= MOST_OPEN):
                    for control in group:
                        self._add(control)
        with self._folder("Node"):
            self.node: Any = self._gui.add_dropdown("show", (NOBODY, *nodes))
            self.node.on_update(lambda event: put("node", event.target.value))
            self._properties = self._gui.add_markdown("")
        self._values = self._folder("Values", opened=True)
        self._fields: list[Any] = []
        with self._folder("Keep", opened=False):
            self._add(Control(label="undo", command="undo"))
            name: Any = self._gui.add_text("file", TUNED)
            save = self._gui.add_button("save as")
            save.on_click(lambda _: put("save", name.value))
            self._kept = self._gui.add_markdown("")
        self._behavior: Any = None
        if acts:
            with self._folder("Behavior"):
                for event in events:
                    self._add(Control(label=f"send {printable(event)}", command=f"event {event}"))
                self._behavior = self._gui.add_markdown("")
        lines = [
            f"**{issue.code}** " + plain_markdown(f"{issue.where}: {issue.message}")
            for issue in issues
        ]
        if lines:
            with self._folder(f"Issues ({len(lines)})", opened=False):
                self._gui.add_markdown("\n\n".join(lines))
        self._words = ("", "", "")

    def _folder(self, title: str, *, opened: bool = True) -> Any:
        folder = self._gui.add_folder(title, expand_by_default=opened)
        self._top.append(folder)
        return folder

    def _add(self, control: Control) -> Any:
        label = _KEY.sub("", control.label)
        if control.is_button:
            button = self._gui.add_button(label)
            button.on_click(lambda _: self._put(control.command, None))
            self.controls[control.command] = button
            return button
        step = (control.high - control.low) / SLIDER_STEPS
        slider = self._gui.add_slider(
            label, min=control.low, max=control.high, step=step, initial_value=control.start
        )
        self._watch(slider, control.command)
        return slider

    def _watch(self, handle: Any, command: str) -> None:
        self.controls[command] = handle
        handle.on_update(lambda event: self._put(command, event.target.value))

    def say(
        self,
        status: str,
        problem: Sequence[str],
        properties: Iterable[tuple[str, str]],
        behavior: Iterable[str] = (),
    ) -> None:
        """Show these texts; unchanged texts are not sent.

        Args:
            status: A line.
            problem: Reasons why the file does not work, a line each.
            properties: Names and values of the chosen node.
            behavior: Variables and log of the file's graph, a line each.
        """
        lines = [plain_markdown(status)]
        if problem:
            lines.append("**The file as it is now does not work:**")
            lines += map(plain_markdown, problem)
        rows = [f"| {plain_markdown(a)} | {plain_markdown(b)} |" for a, b in properties]
        words = (
            "\n\n".join(lines),
            "\n".join(["| | |", "|-|-|", *rows]) if rows else "",
            "\n\n".join(map(plain_markdown, behavior)),
        )
        if words[0] != self._words[0]:
            self._status.content = words[0]
        if words[1] != self._words[1]:
            self._properties.content = words[1]
        if words[2] != self._words[2] and self._behavior is not None:
            self._behavior.content = words[2]
        self._words = words

    def tune(self, fields: Sequence[Field]) -> None:
        """Show fields for these values, which put ``("field N", value)``."""
        for handle in self._fields:
            handle.remove()
        self._fields = []
        with self._values:
            for k, field in enumerate(fields):
                label = printable(field.label)
                if isinstance(field.value, bool):
                    made: Any = self._gui.add_checkbox(label, field.value)
                else:
                    made = self._gui.add_number(label, float(field.value))
                self._watch(made, f"field {k}")
                self._fields.append(made)

    def tell(self, text: str) -> None:
        """Show what became of a change."""
        self._kept.content = plain_markdown(text)

    def remove(self) -> None:
        """Remove the panel."""
        for handle in self._top:
            handle.remove()


# --- The page: one server with one scene ----------------------------------------------------------

WORDS_SECONDS = 0.2
"""[s] Interval of updating the texts of the panel."""
GRIP_COLOR = (1.0, 0.3, 0.0)
SIGHT = 1e4
"""[m] Range of clicks."""
MOST_LOGGED = 8
"""Most lines of a graph's log that are shown."""
MOST_TEXTS = 500
"""Most names that are shown at once; each is a node of the page."""


class WebPage:
    """One server with one scene, which all connected browsers see and control together."""

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
        self._tuning: Tuning | None = None
        self._fields: tuple[Field, ...] = ()
        self.folder = Path.cwd()
        """Folder that files are saved in."""
        self._world: object = None
        self._drawn = self._said = -np.inf
        self._turning = threading.RLock()
        self.is_open = True
        self.follow()

    # --- one turn -----------------------------------------------------------------------------

    def turn(self, *, force: bool = False) -> None:
        """Carry out the users' actions since the last call, and draw if it is time to."""
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
        """Show the playback's scene if it has changed."""
        playback = self.playback
        scene = playback.scene
        rebuilt = scene is not None and scene.core.world is not self._world
        if playback.loads == self._loads and not rebuilt:
            return
        is_first, is_new = self._loads <= 0 < playback.loads, playback.loads != self._loads
        self._loads = playback.loads
        self._clear()
        self._labels = {}
        if is_new:
            self._chosen, self._tuning = None, None if scene is None else Tuning(scene)
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
            events=() if scene is None or scene.behavior is None else scene.behavior.events,
        )
        if self._chosen is not None:
            self._panel.node.value = self._label_of(self._chosen)
            self._tune()
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

    # --- actions of users ---------------------------------------------------------------------

    def _put(self, command: str, value: Any) -> None:
        """Queue a command, from any thread, for the next :meth:`turn`."""
        self._events.put(lambda: self._do(command, value))

    def _do(self, command: str, value: Any) -> None:
        kind, _, rest = command.partition(" ")
        if kind == "layer":
            self._shown[rest] = bool(value)
        elif kind == "node":
            self._chosen = self._labels.get(value)
            self._hover(self._chosen)
            self._tune()
            self._said = -np.inf
        elif kind in ("field", "undo", "save"):
            self._change(kind, rest, value)
        elif kind == "event":
            self._send(rest)
        elif kind in ("speed", "drive"):
            self._commands.slide(command, float(value))
        else:
            self._commands.do(command)

    def _tune(self) -> None:
        """Show fields for the values of the chosen node."""
        chosen, tuning = self._chosen, self._tuning
        self._fields = () if chosen is None or tuning is None else tuning.fields(chosen)
        if self._panel is not None:
            self._panel.tune(self._fields)

    def _change(self, kind: str, rest: str, value: Any) -> None:
        """Set a value, take the last one back, or save all."""
        if self._tuning is None or self._panel is None:
            return
        if kind == "save":
            self._panel.tell(self._tuning.save(str(value), self.folder))
            return
        if kind == "undo":
            told = self._tuning.undo()
        else:
            number = int(rest)
            # Setting a field's handle from here reports the value that the scene has already.
            if number >= len(self._fields) or self._fields[number].value == value:
                return
            told = self._tuning.set(self._fields[number], value)
        self._panel.tell(told or f"{self._tuning.count} changes")
        self._tune()

    def _send(self, event: str) -> None:
        """Send an event to the file's behavior graph, its values as they are by default."""
        scene = self.playback.scene
        if scene is None or scene.behavior is None or self._panel is None:
            return
        try:
            scene.behavior.send(event)
        except (GltfBulletError, KeyError, TypeError, ValueError) as error:
            self._panel.tell(f"{event}: {error}")

    def _label_of(self, node: int) -> str:
        return next((name for name, k in self._labels.items() if k == node), NOBODY)

    def switch(self, layers: Iterable[str], *, on: bool) -> None:
        """Switch layers on or off.

        Raises:
            ValueError: There is no such layer.
        """
        for layer in layers:
            if layer not in self._shown:
                raise ValueError(f"{layer!r} is no layer; there are {', '.join(LAYERS)}")
            self._shown[layer] = on

    def _make_pickable(self, stage: WebStage) -> None:
        """Let clicks choose a node, and drags pull its body."""
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
            label = self._label_of(node)
            origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
            self._events.put(lambda: self._choose(label))
            self._events.put(lambda: self._select(node, origin, direction))

        return pick

    def _hover(self, node: int | None) -> None:
        """Tell the file's behavior graph which node is below the pointer; ``None`` for no node.

        viser reports clicks only, no pointer positions: a node that was clicked or chosen counts as
        below the pointer until another is.
        """
        scene = self.playback.scene
        if scene is not None and scene.behavior is not None:
            scene.behavior.hover(node)

    def _select(self, node: int, origin: Any, direction: Any) -> None:
        """Tell the file's behavior graph of a click."""
        scene = self.playback.scene
        if scene is None or scene.behavior is None:
            return
        # A ray has no hit point on objects that are only visible.
        hit = scene.ray_cast(origin, origin + SIGHT * direction)
        scene.behavior.select(node, None if hit is None else hit.position.tolist(), origin.tolist())

    def _choose(self, label: str) -> None:
        if self._panel is not None:
            self._panel.node.value = label
        self._do("node", label)

    def _puller(self, node: int) -> Callable[[Any], Any]:
        # A coroutine, since viser calls these in the order of the drag.
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

    # --- drawing ------------------------------------------------------------------------------

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
        behavior = (
            [] if scene is None or scene.behavior is None else _behavior_lines(scene.behavior)
        )
        self._panel.say(self.playback.status(), self.playback.problem, properties, behavior)

    def close(self) -> None:
        """Stop the server, between two turns if another thread plays; a second call is harmless."""
        with self._turning:
            if self.is_open:
                self.is_open = False
                stop_server(self.server)


def _behavior_lines(behavior: BehaviorView) -> list[str]:
    """The variables of a graph and the end of its log, a line each."""
    from gltf_bullet.behavior.values import shown

    state = ["stopped"] if behavior.is_paused else []
    rows = [f"{name} = {shown(value)}" for name, value in behavior.variables.items()]
    lines = [f"{entry.time:.3f} s {entry.message}" for entry in behavior.log[-MOST_LOGGED:]]
    return [*state, *rows, *lines]
