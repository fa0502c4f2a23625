"""What the user of ``gltf-bullet view`` can do: keys, buttons and sliders, without a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from gltf_bullet.viewer.keys import KEYS, LAYERS
from gltf_bullet.viewer.playback import Playback

__all__ = ["Commands", "Control"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A button or a slider of the panel."""

    label: str
    command: str
    """What a button does; of sliders ``"speed"`` or ``"drive N"``."""
    low: float = 0.0
    high: float = 0.0
    start: float = 0.0

    @property
    def is_button(self) -> bool:
        """Sliders have a range."""
        return self.low == self.high


class Commands:
    """Turns key presses, buttons and sliders into what the session and the view do."""

    FASTEST: Final = 4.0
    """End of the speed slider."""
    ISSUES_SHOWN: Final = 8
    LABEL_CHARACTERS: Final = 34
    """More do not fit on a button; what is too long loses both its ends."""

    def __init__(self, session: Playback, view: dict[str, Callable[[], object]]) -> None:
        """Bring both together.

        Args:
            session: The file.
            view: What the window itself does, by command: ``"frame"``, ``"x-ray"``, ``"help"`` and
                the layers.
        """
        self._session = session
        self._actions: dict[str, Callable[[], object]] = {
            "play": self._play,
            "step": session.step_once,
            "reset": session.reset,
            "reload": session.reload,
            **view,
        }

    def controls(self) -> tuple[Control, ...]:
        """The panel for the scene as it is: buttons, speed, animations, drives, layers, issues."""
        session = self._session
        buttons = [
            Control(label="play / pause (space)", command="play"),
            Control(label="step (.)", command="step"),
            Control(label="reset (r)", command="reset"),
            Control(
                label="speed",
                command="speed",
                high=max(self.FASTEST, session.speed),
                start=session.speed,
            ),
        ]
        drives = [
            Control(
                label=slider.label, command=f"drive {k}",
                low=slider.low, high=slider.high, start=slider.start,
            )
            for k, slider in enumerate(session.drive_sliders())
        ]  # fmt: skip
        animations = [
            Control(
                label=f"animation {player.name or player.index}",
                command=f"animation {player.index}",
            )
            for player in (session.scene.animations if session.scene is not None else ())
        ]
        key_of = {command: key for key, (command, _) in KEYS.items()}
        layers = [Control(label=f"{name} ({key_of[name]})", command=name) for name in LAYERS]
        issues = [
            Control(label=f"! {issue.code.lower()}"[: self.LABEL_CHARACTERS], command=f"issue {k}")
            for k, issue in enumerate(session.issues[: self.ISSUES_SHOWN])
        ]
        return (*buttons, *drives, *animations, *layers, *issues)

    def press_keys(self, keys: Sequence[str]) -> None:
        """Do what these keys stand for; unknown ones do nothing."""
        for key in keys:
            if key in KEYS:
                self.do(KEYS[key][0])

    def do(self, command: str) -> None:
        """Do what a key or a button stands for."""
        kind, _, number = command.partition(" ")
        if kind == "animation":
            self._session.choose_animation(int(number))
        elif kind == "issue":
            self._actions["issue"]()
        else:
            self._actions[command]()

    def slide(self, command: str, value: float) -> None:
        """A slider was moved."""
        kind, _, number = command.partition(" ")
        if kind == "speed":
            self._session.speed = value
        else:
            self._session.set_drive(int(number), value)

    def _play(self) -> None:
        self._session.playing = not self._session.playing
