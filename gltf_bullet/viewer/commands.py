"""Commands of the user of ``gltf-bullet view``: keys, buttons and sliders, without a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from gltf_bullet.viewer.keys import KEYS, LAYERS
from gltf_bullet.viewer.playback import Playback


class Control(Struct, frozen=True, kw_only=True):
    """A button or a slider of the panel."""

    label: str
    command: str
    """The command of a button; for sliders ``"speed"`` or ``"drive N"``."""
    low: float = 0.0
    high: float = 0.0
    start: float = 0.0

    @property
    def is_button(self) -> bool:
        """True for a button: sliders have a range."""
        return self.low == self.high


class Commands:
    """Carries out key presses, buttons and sliders by the session and the view."""

    FASTEST: Final = 4.0
    """Largest value of the speed slider."""
    ISSUES_SHOWN: Final = 8
    LABEL_CHARACTERS: Final = 34
    """Longest label of a button; a longer one loses both its ends."""

    def __init__(self, session: Playback, view: dict[str, Callable[[], object]]) -> None:
        """Connect the session with the view.

        Args:
            session: The file.
            view: Actions of the window by command: ``"frame"``, ``"x-ray"``, ``"help"`` and the
                layers.
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
        """The panel for the current scene: buttons, speed, animations, drives, layers, issues."""
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
        """Carry out the commands of these keys; unknown keys have none."""
        for key in keys:
            if key in KEYS:
                self.do(KEYS[key][0])

    def do(self, command: str) -> None:
        """Carry out the command of a key or a button."""
        kind, _, number = command.partition(" ")
        if kind == "animation":
            self._session.choose_animation(int(number))
        elif kind == "issue":
            self._actions["issue"]()
        else:
            self._actions[command]()

    def slide(self, command: str, value: float) -> None:
        """Carry out the command of a slider that was moved."""
        kind, _, number = command.partition(" ")
        if kind == "speed":
            self._session.speed = value
        else:
            self._session.set_drive(int(number), value)

    def _play(self) -> None:
        self._session.playing = not self._session.playing
