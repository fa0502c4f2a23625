"""The interface of a graph to its world, which may be a file alone, without an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from msgspec import Struct

from gltf_bullet.behavior.values import Value

_OPEN = {"selectable": "KHR_node_selectability", "hoverable": "KHR_node_hoverability"}
"""Extensions of the properties ``selectable`` and ``hoverable``."""


class Property(Struct, frozen=True):
    """A property of the object model that a pointer names."""

    kind: str
    """Type signature of the property."""
    get: Callable[[], Value]
    """Returns the current value; ``None`` if there is none (for a reference: null)."""
    set: Callable[[Value], None] | None = None
    """Sets the value; ``None`` if the property is read-only."""
    glide: Callable[[Value], None] | None = None
    """Sets the value during an interpolation, if that differs from ``set``."""
    is_rotation: bool = False
    """True if the value is a quaternion, which is interpolated along the arc."""


class RayHit(NamedTuple):
    """The nearest collider on a ray."""

    node: int
    fraction: float
    normal: tuple[float, float, float]


class Host(Protocol):
    """The world of one graph. All lengths are in the asset's space: metres, +Y up."""

    def find(self, pointer: str) -> Property | None:
        """The property at a pointer; ``None`` if the object model has none there."""

    def animation_span(self, animation: int) -> tuple[float, float] | None:
        """First and last key [s] of an animation; ``None`` if it is invalid."""

    def animate(self, animation: int, time: float) -> None:
        """Apply the state of an animation at a time [s] in it."""

    def end_animation(self, animation: int) -> None:
        """Note the stop of an animation, whose properties keep their values."""

    def parent_of(self, node: int) -> int:
        """The parent of a node; -1 for a root."""

    def apply_impulse(
        self, node: int, linear: tuple[float, ...], angular: tuple[float, ...]
    ) -> None:
        """Change the velocity of a node's body by impulses [N s], [N m s]."""

    def apply_point_impulse(
        self, node: int, impulse: tuple[float, ...], position: tuple[float, ...]
    ) -> None:
        """Change the velocity of a node's body by an impulse [N s] at a point [m]."""

    def ray_cast(
        self, start: tuple[float, ...], end: tuple[float, ...], collision_filter: int
    ) -> RayHit | None:
        """The nearest collider on a segment."""


def is_open(host: Host, node: int, what: str) -> bool:
    """Return True if a node and all its ancestors are ``selectable`` or ``hoverable``."""
    while node >= 0:
        found = host.find(f"/nodes/{node}/extensions/{_OPEN[what]}/{what}")
        if found is not None and found.get() is False:
            return False
        node = host.parent_of(node)
    return True
