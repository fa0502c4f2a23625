"""Description of a world of multibodies as values, independent of the engine and of glTF.

Frames are right-handed with either axis up; shapes are Bullet's: round ones are along +Z.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.cached_properties import cached_property
from gltf_bullet.digests import digest_of
from gltf_bullet.model import CollisionFilter, Joint, JointDescription, PhysicsMaterial
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, IntArray, Pose, Vec3


@dataclass(frozen=True, eq=False)
class MeshGeometry:
    """Triangles; equal by content, so that users of the same mesh share it."""

    points: FloatArray
    """Positions [m], shape [point_count, 3]."""
    triangles: IntArray
    """Shape [triangle_count, 3]."""
    normals: FloatArray | None = None
    """Unit length, shape [point_count, 3]; ``None``: flat shading."""
    uvs: FloatArray | None = None
    """Texture coordinates, v growing downwards as in glTF, shape [point_count, 2]."""
    name: str = ""

    @cached_property
    def content(self) -> bytes:
        """A digest of everything but the name."""
        arrays = (self.points, self.triangles, self.normals, self.uvs)
        return digest_of(*(b"-" if array is None else array.tobytes() for array in arrays))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshGeometry) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)


class BoxShape(Struct, frozen=True):
    """A box around the origin."""

    size: Vec3
    """Full extents [m]."""


class BallShape(Struct, frozen=True):
    """A ball around the origin."""

    radius: float


class RoundShape(Struct, frozen=True):
    """A cylinder or capsule along Z around the origin."""

    radius: float
    height: float
    """[m] From end to end; of a capsule between the centres of its caps."""
    is_capsule: bool


class TaperedShape(Struct, frozen=True):
    """A cylinder, cone or capsule along Z around the origin with two radii [m]."""

    radius: float
    """At the end towards -Z."""
    radius_top: float
    """At the end towards +Z; 0 makes a cone."""
    height: float
    """[m] As that of :class:`RoundShape`."""
    is_capsule: bool


class PlaneShape(Struct, frozen=True):
    """The half-space below a plane through the origin."""

    normal: Vec3


class MeshShape(Struct, frozen=True):
    """Triangles, or the convex hull of their corners."""

    geometry: MeshGeometry
    is_convex: bool = False


ShapeGeometry: TypeAlias = BoxShape | BallShape | RoundShape | TaperedShape | PlaneShape | MeshShape


class Surface(Struct, frozen=True):
    """Appearance of a visual: colour, texture and sides."""

    color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    """sRGB and alpha, as PyBullet takes them; times the texture."""
    texture: bytes | None = None
    """An image file, PNG or JPEG."""
    double_sided: bool = False


class StatedSurface(Struct, frozen=True, kw_only=True):
    """Material and filters of a collider from a scene's file; engines have an approximation."""

    scene: int
    """Scene whose file decides the collisions; -1: the bits of the link decide."""
    material: PhysicsMaterial | None
    """``None`` if the link was given other coefficients since, which count."""
    filter: CollisionFilter | None = None
    outward: CollisionFilter | None = None
    """The filter as colliders of other scenes see it."""


class ColliderDescription(Struct, frozen=True):
    """A solid shape on a link."""

    shape: ShapeGeometry
    link_from_shape: Pose
    stated: StatedSurface | None = None
    """``None`` if only the coefficients and bits of the link are known."""
    scale: Vec3 = (1.0, 1.0, 1.0)
    """Scale of the shape, applied before its pose."""
    is_trigger: bool = False
    """True if it only reports overlaps."""


class VisualDescription(Struct, frozen=True):
    """A shape that is drawn, with its pose and appearance."""

    shape: ShapeGeometry
    link_from_shape: Pose
    scale: Vec3 = (1.0, 1.0, 1.0)
    surface: Surface = Surface()


class JointKind(enum.Enum):
    """Kind of motion of a link relative to its parent."""

    FIXED = "fixed"
    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    SPHERICAL = "spherical"
    PLANAR = "planar"


class MimicRule(Struct, frozen=True):
    """``position = multiplier * position of the other joint + offset``."""

    joint: str
    """Name of the other joint of the body."""
    multiplier: float = 1.0
    offset: float = 0.0


class LinkJointDescription(Struct, frozen=True, kw_only=True):
    """The joint between a link and its parent; its frame is the link's at position 0."""

    kind: JointKind
    name: str
    axis: Vec3 = (0.0, 0.0, 1.0)
    """Axis in the link frame, unit length; of a planar joint the normal."""
    lower: float = -math.inf
    """Lower limit [rad] or [m]."""
    upper: float = math.inf
    swings: Vec3 | None = None
    """[rad] Largest rotations of a spherical joint about X, Y and Z of the child's axes of inertia,
    in both directions; ``None`` if it is free."""
    max_force: float = 0.0
    """Effort [N m] or [N]; 0: not stated."""
    max_velocity: float = 0.0
    """[rad/s] or [m/s]; 0: not stated. glTF has no property for it."""
    damping: float = 0.0
    """Damping of the joint [N m s/rad] or [N s/m]."""
    added_damping: float = 0.0
    """Part of :attr:`damping` that was added to the damping of a scene's file."""
    friction: float = 0.0
    """Not simulated by Bullet; glTF has no property for it."""
    mimic: MimicRule | None = None
    anchor: Vec3 = (0.0, 0.0, 0.0)
    """[m] A point of the axis, in the link frame."""
    stated: JointDescription | None = None
    """All of its limits and drives, about the axes of the joint's frame; ``None`` if the fields of
    this class state them."""
    enable_collision: bool = False
    """True if the link and its parent may collide."""
    notes: Mapping[str, Any] = msgspec_field(default_factory=dict)
    """Properties without a counterpart in glTF, as written to ``extras``."""


class FrameDescription(Struct, frozen=True):
    """A named frame of a link: a site, or a camera that looks along its -Z with +Y up."""

    name: str
    link_from_frame: Pose
    field_of_view: float = 0.0
    """Vertical field of view of a camera [rad]; 0 for a frame that is no camera."""


class LinkDescription(Struct, frozen=True, kw_only=True):
    """One rigid part of a multibody; the first of a body is its base."""

    name: str
    parent: int = -1
    """Index among the links of the body; -1 for the base."""
    joint: LinkJointDescription | None = None
    """``None`` for the base, and for links fixed to a parent without motion."""
    parent_from_link: Pose = IDENTITY_POSE
    """Pose at joint position 0; not used for the base."""
    world_from_link: Pose = IDENTITY_POSE
    """Current pose."""
    mass: float = 0.0
    """[kg]; 0 fixes a base; another link with 0 has no mass."""
    inertia_diagonal: Vec3 = (0.0, 0.0, 0.0)
    """Principal moments [kg m^2]."""
    link_from_inertial: Pose = IDENTITY_POSE
    """Centre of mass and principal axes."""
    linear_velocity: Vec3 = (0.0, 0.0, 0.0)
    """Velocity of the centre of mass in world axes [m/s]."""
    angular_velocity: Vec3 = (0.0, 0.0, 0.0)
    """Angular velocity in world axes [rad/s]."""
    friction: float = 0.5
    restitution: float = 0.0
    rolling_friction: float = 0.0
    spinning_friction: float = 0.0
    contact_spring: tuple[float, float] | None = None
    """Stiffness [N/m] and damping [N s/m] of its contacts; ``None`` if they are rigid."""
    anisotropic_friction: Vec3 | None = None
    """Factors along the axes of the inertial frame; ``None`` if friction is isotropic."""
    friction_anchor: bool = False
    """True if contacts have a friction anchor: they pull back to the point where they began."""
    damping: tuple[float, float] = (0.0, 0.0)
    """Share of the linear and of the angular velocity that is lost per second, if known."""
    gravity_factor: float = 1.0
    """Factor of gravity; engines have no number for it."""
    is_free: bool = False
    """True if a base without mass falls, with the links attached to it."""
    is_kinematic: bool = False
    """True if a base without mass is moved, even if it does not move at the moment."""
    group: int = 1
    """Collision group bits."""
    mask: int = -1
    """Collision mask bits."""
    colliders: tuple[ColliderDescription, ...] = ()
    visuals: tuple[VisualDescription, ...] = ()
    frames: tuple[FrameDescription, ...] = ()


class BodyDescription(Struct, frozen=True, kw_only=True):
    """A multibody: links in depth-first order, the base first."""

    name: str
    links: tuple[LinkDescription, ...]
    self_collision: bool = False
    """True if its links may collide with each other."""
    holder: tuple[int, str] | None = None
    """Number and name of the robot that the body is a part of, equal for all of its parts."""


class ConstraintKind(enum.Enum):
    """Relative motion that a constraint leaves: rotation about a point, none, or a slide."""

    POINT = "point"
    FIXED = "fixed"
    PRISMATIC = "prismatic"


class ConstraintDescription(Struct, frozen=True, kw_only=True):
    """A joint between links of any two bodies, or a link and the world (body and link -1)."""

    kind: ConstraintKind
    parent: tuple[int, int]
    """Indices of a body and of one of its links, the base being 0."""
    child: tuple[int, int]
    """Indices of body and link of the child; (-1, -1) for the world."""
    parent_from_frame: Pose
    """Pose of the constraint in the link frame."""
    child_from_frame: Pose
    axis: Vec3 = (1.0, 0.0, 0.0)
    max_force: float = math.inf


class StatedJoint(Struct, frozen=True, kw_only=True):
    """A joint of a scene's file, with its limits and drives; engines have only a part of them."""

    name: str
    joint: Joint
    """The joint of the model; its nodes are those of the scene's file."""
    parent: tuple[int, int]
    """Indices of a body and of one of its links; (-1, -1) for the world."""
    child: tuple[int, int]
    parent_from_frame: Pose
    """Pose of the attachment in the link frame, as the bodies are now."""
    child_from_frame: Pose
    leader: str = ""
    """Name of the joint that it follows; empty without one."""
    notes: Mapping[str, Any] = msgspec_field(default_factory=dict)
    """Properties without a counterpart in glTF, as written to ``extras``."""


class WorldDescription(Struct, frozen=True, kw_only=True):
    """The content of one file."""

    bodies: tuple[BodyDescription, ...]
    constraints: tuple[ConstraintDescription, ...] = ()
    joints: tuple[StatedJoint, ...] = ()
    gravity: Vec3 | None = None
    """Gravity [m/s^2]; ``None`` if the file is to state none."""
    up_axis: str = "z"
    notes: Mapping[str, Any] = msgspec_field(default_factory=dict)
    """Properties of the world without a counterpart in glTF, as written to ``extras``."""
    default_masks: Mapping[bool, tuple[int, int]] = msgspec_field(
        default_factory=lambda: {True: (1, -1), False: (2, -3)}
    )
    """Group and mask that the engine gives moving bodies (True) and others (False)."""
