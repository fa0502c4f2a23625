"""A graph asks little of the world that it acts in: it runs without an engine, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gltf_bullet.behavior.values import Value

__all__ = ["Host", "Property", "RayHit", "is_open"]

_OPEN = {"selectable": "KHR_node_selectability", "hoverable": "KHR_node_hoverability"}
"""The extensions that say so."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the object model that a pointer names."""

    kind: str
    """Its type signature."""
    get: Callable[[], Value]
    """The value now; ``None`` where there is none now (of a reference: null)."""
    set: Callable[[Value], None] | None = None
    """``None``: it is read-only."""
    glide: Callable[[Value], None] | None = None
    """Sets it where it is on its way, if that is something else."""
    is_rotation: bool = False
    """The value is a quaternion: it is interpolated along the arc."""


class RayHit(NamedTuple):
    """The nearest collider on a ray."""

    node: int
    fraction: float
    normal: tuple[float, float, float]


class Host(Protocol):
    """The world of one graph. All lengths are in the asset's space: metres, +Y up."""

    def find(self, pointer: str) -> Property | None:
        """The property at a pointer, ``None`` where the object model has none there."""

    def animation_span(self, animation: int) -> tuple[float, float] | None:
        """First and last key [s] of an animation; ``None`` of one that is invalid."""

    def animate(self, animation: int, time: float) -> None:
        """Apply the state of an animation at a time [s] in it."""

    def end_animation(self, animation: int) -> None:
        """It has stopped; what it animates keeps its values."""

    def parent_of(self, node: int) -> int:
        """The node above; -1 of a root."""

    def apply_impulse(
        self, node: int, linear: tuple[float, ...], angular: tuple[float, ...]
    ) -> None:
        """Change the velocity of the body that carries a node [N s], [N m s]."""

    def apply_point_impulse(
        self, node: int, impulse: tuple[float, ...], position: tuple[float, ...]
    ) -> None:
        """The same by an impulse [N s] at a point [m]."""

    def ray_cast(
        self, start: tuple[float, ...], end: tuple[float, ...], collision_filter: int
    ) -> RayHit | None:
        """The nearest collider on a segment."""


def is_open(host: Host, node: int, what: str) -> bool:
    """Say whether a node and all above it are ``selectable`` or ``hoverable``."""
    while node >= 0:
        found = host.find(f"/nodes/{node}/extensions/{_OPEN[what]}/{what}")
        if found is not None and found.get() is False:
            return False
        node = host.parent_of(node)
    return True
