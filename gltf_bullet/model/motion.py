"""What makes a node a rigid body, in the node's own frame."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from gltf_bullet.diagnostics import ROOT, JsonPointer
from gltf_bullet.transforms import Quat, Vec3

__all__ = ["Motion", "MotionKind"]


class MotionKind(enum.Enum):
    """Who moves the body."""

    DYNAMIC = "dynamic"
    """Forces, contacts and joints do."""
    KINEMATIC = "kinematic"
    """Its constant velocity or an animation does; it has infinite mass."""
    STATIC = "static"
    """Nothing does (OMI_physics_body ``type: static``); it stands for the fixed world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """Mass properties, initial velocity and kind of one rigid body."""

    kind: MotionKind = MotionKind.DYNAMIC
    mass: float | None = None
    """[kg]; ``None``: derive from shapes and density; ``math.inf``: infinite (authored as 0)."""
    center_of_mass: Vec3 | None = None
    """[m] in node space, scaled by the node's global scale; ``None``: derive from the shapes."""
    inertia_diagonal: Vec3 | None = None
    """Principal moments [kg m^2]; ``None``: derive from the shapes. A moment authored as 0 where
    the dialect means infinite is ``math.inf``."""
    inertia_orientation_xyzw: Quat = (0.0, 0.0, 0.0, 1.0)
    """Rotates principal axes into node axes."""
    linear_velocity: Vec3 = (0.0, 0.0, 0.0)
    """Of the centre of mass [m/s], in node axes: rotated, never scaled."""
    angular_velocity: Vec3 = (0.0, 0.0, 0.0)
    """[rad/s], in node axes."""
    gravity_factor: float = 1.0
    """Multiplies the acceleration of gravity; may be negative."""
    pointer: JsonPointer = field(default=ROOT, compare=False)
