"""Issue kinds of behavior graphs; a graph with an error of its own is not run."""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import IssueKind, Severity

BEHAVIOR_INVALID = IssueKind(
    "BEHAVIOR_INVALID",
    Severity.ERROR,
    "{what} is {got}; must be {allowed}; the behavior graph is not run",
    loads=True,
)
BEHAVIOR_TOO_LARGE = IssueKind(
    "BEHAVIOR_TOO_LARGE",
    Severity.ERROR,
    "{got} {what}; must be at most {allowed}; the behavior graph is not run",
    loads=True,
)
BEHAVIOR_REQUIRED = IssueKind(
    "BEHAVIOR_REQUIRED",
    Severity.ERROR,
    "the file requires KHR_interactivity, and its behavior graph cannot be run",
)
BEHAVIOR_UNSUPPORTED = IssueKind(
    "BEHAVIOR_UNSUPPORTED",
    Severity.WARNING,
    "the operation {got} with these sockets is unknown; its nodes do nothing{suggestion}",
)
BEHAVIOR_CONFIGURATION = IssueKind(
    "BEHAVIOR_CONFIGURATION",
    Severity.WARNING,
    "{what} is {got}; must be {allowed}; the default configuration is used",
)
BEHAVIOR_UNUSED = IssueKind(
    "BEHAVIOR_UNUSED", Severity.INFO, "{got} is nothing that {operation} has; it is ignored"
)
BEHAVIOR_EARLIER_SPELLING = IssueKind(
    "BEHAVIOR_EARLIER_SPELLING",
    Severity.INFO,
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
