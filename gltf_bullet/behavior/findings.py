"""Issue kinds of behavior graphs; a graph with an error of its own is not run."""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import error, note, warning

BEHAVIOR_INVALID = error(
    "BEHAVIOR_INVALID",
    "{what} is {got}; must be {allowed}; the behavior graph is not run",
    loads=True,
)
BEHAVIOR_TOO_LARGE = error(
    "BEHAVIOR_TOO_LARGE",
    "{got} {what}; must be at most {allowed}; the behavior graph is not run",
    loads=True,
)
BEHAVIOR_REQUIRED = error(
    "BEHAVIOR_REQUIRED", "the file requires KHR_interactivity, and its behavior graph cannot be run"
)
BEHAVIOR_UNSUPPORTED = warning(
    "BEHAVIOR_UNSUPPORTED",
    "the operation {got} with these sockets is unknown; its nodes do nothing{suggestion}",
)
BEHAVIOR_CONFIGURATION = warning(
    "BEHAVIOR_CONFIGURATION",
    "{what} is {got}; must be {allowed}; the default configuration is used",
)
BEHAVIOR_UNUSED = note("BEHAVIOR_UNUSED", "{got} is nothing that {operation} has; it is ignored")
BEHAVIOR_EARLIER_SPELLING = note(
    "BEHAVIOR_EARLIER_SPELLING",
    "{got} is no longer in the text; it is read as {meaning} ({count} in this graph)",
)

MOST: Final = {
    "types": 1024,
    "variables": 65536,
    "events": 16384,
    "declarations": 4096,
    "nodes": 65536,
    "sockets": 1024,
    "graphs": 256,
}
"""Limits of this implementation ("Static Limits")."""


def show(value: object) -> str:
    """A value of the JSON, for a message."""
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
