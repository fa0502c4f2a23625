"""The panel of the browser: buttons, sliders, layers, the chosen node, issues.

Callbacks of viser run in threads of their own: all they do is to hand on what was done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gltf_bullet.diagnostics import Issue
from gltf_bullet.viewer.commands import Control
from gltf_bullet.viewer.keys import LAYERS
from gltf_bullet.viewer.web.plain_text import plain_markdown

if TYPE_CHECKING:
    import viser

__all__ = ["NOBODY", "Panel"]

NOBODY = "(click a body or choose)"
"""Entry of the list of nodes where none is chosen."""
SLIDER_STEPS = 2000
"""A slider of a full turn has steps of 3 mrad."""
MOST_OPEN = 8
"""Sliders that do not push everything else off the page."""
_KEY = re.compile(r" \((space|.)\)$")
"""Keys belong to the window: a browser has its own."""

Put = Callable[[str, Any], None]
"""Takes a command and its value, from any thread."""


class Panel:
    """Everything beside the picture, for one scene."""

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
    ) -> None:
        """Make it.

        Args:
            server: Where.
            put: Is told commands of ``controls``; ``("layer NAME", on)`` and ``("node", label)``.
            controls: As the window has them; layers and issues are shown in another way here.
            shown: Layers that are on.
            nodes: What can be chosen.
            issues: A line each.
            acts: Whether the file has a behavior graph, whose variables and log are shown.
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
        self._behavior: Any = None
        if acts:
            with self._folder("Behavior"):
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
        """Show these words; nothing is sent where they stand there already.

        Args:
            status: A line.
            problem: What is wrong with the file, a line each.
            properties: Of the chosen node, names and values.
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

    def remove(self) -> None:
        """Take everything away."""
        for handle in self._top:
            handle.remove()
