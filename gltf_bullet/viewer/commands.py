"""What the user of ``gltf-bullet view`` can do: keys, buttons and sliders, without a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from gltf_bullet.viewer.layers import LAYERS
from gltf_bullet.viewer.session import Session

__all__ = ["KEYS", "Commands", "Control", "key_lines"]

KEYS: Final[dict[str, tuple[str, str]]] = {
    " ": ("play", "play or pause"),
    ".": ("step", "pause and take one step"),
    "r": ("reset", "back to the start"),
    "l": ("reload", "read the file again"),
    "f": ("frame", "aim the camera at everything"),
    "x": ("x-ray", "make bodies translucent"),
    "h": ("help", "show or hide these keys"),
    "c": ("colliders", "collider wireframes"),
    "t": ("triggers", "triggers, yellow where somebody is inside"),
    "j": ("joints", "joint frames, limits, drive targets"),
    "m": ("inertia", "centres of mass, axes of inertia"),
    "v": ("velocities", "velocities and spins"),
    "k": ("contacts", "contacts with normals and forces"),
    "n": ("names", "names of nodes"),
}
"""Key, command and meaning. Bullet's own keys are switched off in our window, but for Escape."""

MOUSE_LINES: Final = (
    ("Esc", "close the window"),
    ("drag", "pull a body"),
    ("Ctrl or Alt + drag", "turn the view; wheel: zoom; with the middle button: move"),
)


def key_lines() -> tuple[str, ...]:
    """All keys and mouse actions, one line each."""
    shown = [("Space" if key == " " else key, text) for key, (_, text) in KEYS.items()]
    return tuple(f"{key:>5}  {text}" for key, text in (*shown, *MOUSE_LINES))


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

    def __init__(self, session: Session, view: dict[str, Callable[[], object]]) -> None:
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
