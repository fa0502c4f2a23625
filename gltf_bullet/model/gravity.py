"""Gravity as a file may state it (OMI_physics_gravity): a world default and volumes.

The KHR dialects state none: gravity then is the caller's.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

from gltf_bullet.diagnostics import ROOT, JsonPointer
from gltf_bullet.transforms import Vec3

_DOWN: Final[Vec3] = (0.0, -1.0, 0.0)


class GravityFieldKind(enum.Enum):
    """The geometry that gives a gravity volume its direction and falloff."""

    DIRECTIONAL = "directional"
    POINT = "point"
    DISC = "disc"
    TORUS = "torus"
    LINE = "line"
    SHAPED = "shaped"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldGravity:
    """The default outside every volume, in the frame of the asset."""

    gravity: float
    """Strength [m/s^2]."""
    direction: Vec3 = _DOWN
    """Unit vector."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GravityField:
    """Direction and strength as a function of position in the frame of the volume's node."""

    kind: GravityFieldKind
    gravity: float
    """Strength [m/s^2] at the unit distance (everywhere without one); negative pushes away."""
    unit_distance: float = 0.0
    """Distance [m] at which the strength is ``gravity``; 0: no falloff."""
    direction: Vec3 = _DOWN
    """Unit vector of directional fields."""
    radius: float = 0.0
    """Radius [m] of disc and torus fields."""
    points: tuple[Vec3, ...] = ()
    """Points [m] of the polyline of line fields."""
    shape: object | None = None
    """The :data:`~gltf_bullet.model.shapes.Shape` of shaped fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GravityVolume:
    """A field that acts inside the trigger volume of its node."""

    node: int
    source: GravityField
    priority: int = 0
    """Volumes of higher priority are evaluated first."""
    replace: bool = False
    """True if the field replaces that of higher priorities, instead of adding to it."""
    stop: bool = False
    """True if lower priorities are not evaluated inside this volume, nor the world's gravity
    unless the priority is negative."""
    pointer: JsonPointer = field(default=ROOT, compare=False)
