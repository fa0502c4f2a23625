"""Joints as the specs write them: limits and drives between two attachment frames.

Coordinates are those of the *connected* node relative to the *joint* node, in the joint node's
attachment frame (KHR_physics_rigid_bodies, "Joints" and the appendix "Joint Limit Metrics").
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from gltf_bullet.diagnostics import ROOT, JsonPointer


class DofKind(enum.Enum):
    """Translation or rotation."""

    LINEAR = "linear"
    ANGULAR = "angular"


class DriveMode(enum.Enum):
    """The quantity that the drive's spring equation yields."""

    FORCE = "force"
    """A force [N] or torque [N m]."""
    ACCELERATION = "acceleration"
    """An acceleration [m/s^2] or [rad/s^2], scaled by the effective mass of the driven axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLimit:
    """A limit keeps one metric of the relative pose inside a range.

    One axis: signed coordinate. Two: distance from the line (or cone angle) of the third axis.
    Three: distance (or total angle).
    """

    kind: DofKind
    axes: tuple[int, ...]
    """Ascending axis indices, one to three of 0, 1, 2."""
    minimum: float = -math.inf
    """Lower bound [m] or [rad]; ``-math.inf``: none."""
    maximum: float = math.inf
    """Upper bound [m] or [rad]; ``math.inf``: none."""
    stiffness: float = math.inf
    """Stiffness [N/m] or [N m/rad] beyond the range; ``math.inf``: a hard limit."""
    damping: float = 0.0
    """Damping [N s/m] or [N m s/rad] beyond the range."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDrive:
    """A forced, damped spring on one axis.

    ``stiffness * (position_target - position) + damping * (velocity_target - velocity)``
    """

    kind: DofKind
    axis: int
    mode: DriveMode
    max_force: float = math.inf
    """Largest force [N] or torque [N m]; ``math.inf``: unlimited."""
    position_target: float = 0.0
    """Target position [m] or [rad]."""
    velocity_target: float = 0.0
    """Target velocity [m/s] or [rad/s]."""
    stiffness: float = 0.0
    damping: float = 0.0
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDescription:
    """A shareable set of limits and drives."""

    limits: tuple[JointLimit, ...] = ()
    drives: tuple[JointDrive, ...] = ()
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCoupling:
    """A joint that follows another: ``position = multiplier * other position + offset``."""

    leader: int
    """The joint node of the other joint."""
    multiplier: float = 1.0
    offset: float = 0.0
    """Offset [m] or [rad]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """A joint on a node, towards another node's frame."""

    node: int
    """The joint node: its frame is attachment frame a and gives the axes."""
    connected_node: int | None
    """The node whose frame is attachment frame b; ``None``: the fixed world, at frame a."""
    description: JointDescription
    enable_collision: bool = False
    """True if the two connected bodies may collide with each other."""
    coupling: JointCoupling | None = None
    """Mimic rule of a robot; no dialect has such, ``extras`` do."""
    max_velocity: float = 0.0
    """Velocity limit [m/s] or [rad/s] as robots state it, for information; 0: not stated."""
    max_force: float = 0.0
    """Force [N] or torque [N m] as robots state it of a fixed joint, for information; 0: none."""
    friction: float = 0.0
    """Friction as robots state it, for information: Bullet does not simulate it."""
    on_fixed_base: bool = False
    """True if the joint hangs on a node without motion that is the fixed base of a robot."""
    pointer: JsonPointer = field(default=ROOT, compare=False)
