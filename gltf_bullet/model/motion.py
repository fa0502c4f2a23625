"""Motions: the properties that make a node a rigid body, in the node's own frame."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from gltf_bullet.diagnostics import ROOT, JsonPointer
from gltf_bullet.transforms import Quat, Vec3


class MotionKind(enum.Enum):
    """The cause of a body's motion."""

    DYNAMIC = "dynamic"
    """Forces, contacts and joints."""
    KINEMATIC = "kinematic"
    """Its constant velocity or an animation; it has infinite mass."""
    STATIC = "static"
    """None (OMI_physics_body ``type: static``); the body stands for the fixed world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """Mass properties, initial velocity and kind of one rigid body."""

    kind: MotionKind = MotionKind.DYNAMIC
    mass: float | None = None
    """Mass [kg]; ``None``: from shapes and density; ``math.inf``: infinite (authored as 0)."""
    center_of_mass: Vec3 | None = None
    """Centre of mass [m] in node space, before the global scale; ``None``: from the shapes."""
    inertia_diagonal: Vec3 | None = None
    """Principal moments [kg m^2]; ``None``: from the shapes. A moment authored as 0 where
    the dialect means infinite is ``math.inf``."""
    inertia_orientation_xyzw: Quat = (0.0, 0.0, 0.0, 1.0)
    """Rotation from principal axes to node axes."""
    linear_velocity: Vec3 = (0.0, 0.0, 0.0)
    """Velocity of the centre of mass [m/s], in node axes: rotated, never scaled."""
    angular_velocity: Vec3 = (0.0, 0.0, 0.0)
    """Angular velocity [rad/s], in node axes."""
    gravity_factor: float = 1.0
    """Factor on the acceleration of gravity; may be negative."""
    pointer: JsonPointer = field(default=ROOT, compare=False)
