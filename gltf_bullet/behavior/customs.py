"""Custom variables and custom events of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gltf_bullet.behavior.values import Value

__all__ = ["CustomEvent", "Variable"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A custom variable."""

    name: str
    """The ``id`` or ``name`` that exporters write beside the text; may be empty."""
    kind: str
    value: Value


@dataclass(frozen=True, slots=True)
class CustomEvent:
    """A custom event, within the graph or to the outside."""

    id: str | None
    values: Mapping[str, tuple[str, Value]]
    """Type and initial value by socket id."""
