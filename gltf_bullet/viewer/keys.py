"""Names of layers and keys, for ``--help`` and the window. Imports nothing heavy."""

from __future__ import annotations

from typing import Final

LAYERS: Final = (
    "colliders",
    "triggers",
    "joints",
    "inertia",
    "velocities",
    "contacts",
    "names",
)
"""Names of all layers that can be switched on and off."""

KEYS: Final[dict[str, tuple[str, str]]] = {
    " ": ("play", "play or pause"),
    ".": ("step", "pause and take one step"),
    "r": ("reset", "back to the start"),
    "l": ("reload", "read the file again"),
    "f": ("frame", "aim the camera at what moves"),
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
"""Command and meaning by key. Bullet's own keys are switched off in our window, except Escape."""

MOUSE_LINES: Final = (
    ("Esc", "close the window"),
    ("drag", "pull a body"),
    ("Ctrl or Alt + drag", "turn the view; wheel: zoom; with the middle button: move"),
)


def key_lines() -> tuple[str, ...]:
    """All keys and mouse actions, one line each."""
    shown = [("Space" if key == " " else key, text) for key, (_, text) in KEYS.items()]
    return tuple(f"{key:>5}  {text}" for key, text in (*shown, *MOUSE_LINES))
