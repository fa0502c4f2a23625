"""A world of multibodies as values: what an engine can tell, before glTF has a say.

Frames are right-handed with whatever axis up; shapes are Bullet's: round ones stand on +Z.
"""

from __future__ import annotations

import enum
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from gltf_bullet.model import CollisionFilter, Joint, JointDescription, PhysicsMaterial
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, IntArray, Pose, Vec3

__all__ = [
    "BallShape",
    "BodyDescription",
    "BoxShape",
    "ColliderDescription",
    "ConstraintDescription",
    "ConstraintKind",
    "FrameDescription",
    "JointKind",
    "LinkDescription",
    "LinkJointDescription",
    "MeshGeometry",
    "MeshShape",
    "MimicRule",
    "PlaneShape",
    "RoundShape",
    "ShapeGeometry",
    "StatedJoint",
    "StatedSurface",
    "Surface",
    "VisualDescription",
    "WorldDescription",
]


@dataclass(frozen=True, eq=False)
class MeshGeometry:
    """Triangles; equal by content, so that users of the same mesh share it."""

    points: FloatArray
    """[m], shape [point_count, 3]."""
    triangles: IntArray
    """Shape [triangle_count, 3]."""
    normals: FloatArray | None = None
    """Unit length, shape [point_count, 3]; ``None``: flat."""
    uvs: FloatArray | None = None
    """v grows downwards as in glTF, shape [point_count, 2]."""
    name: str = ""

    @cached_property
    def content(self) -> bytes:
        """A digest of everything but the name."""
        digest = hashlib.sha256()
        for array in (self.points, self.triangles, self.normals, self.uvs):
            digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
        return digest.digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshGeometry) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)


@dataclass(frozen=True, slots=True)
class BoxShape:
    """A box around the origin."""

    size: Vec3
    """Full extents [m]."""


@dataclass(frozen=True, slots=True)
class BallShape:
    """A ball around the origin."""

    radius: float


@dataclass(frozen=True, slots=True)
class RoundShape:
    """A cylinder or capsule along Z around the origin."""

    radius: float
    height: float
    """[m] from end to end; of a capsule between the centres of its caps."""
    is_capsule: bool


@dataclass(frozen=True, slots=True)
class PlaneShape:
    """The half-space below a plane through the origin."""

    normal: Vec3


@dataclass(frozen=True, slots=True)
class MeshShape:
    """Triangles, or the convex hull of their corners."""

    geometry: MeshGeometry
    is_convex: bool = False


ShapeGeometry: TypeAlias = BoxShape | BallShape | RoundShape | PlaneShape | MeshShape


@dataclass(frozen=True, slots=True)
class Surface:
    """What a visual looks like."""

    color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    """sRGB and alpha, as PyBullet takes them; times the texture."""
    texture: bytes | None = None
    """An image file, PNG or JPEG."""
    double_sided: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSurface:
    """What the file of a scene says of a collider; engines have an approximation of it."""

    scene: int
    """Whose file says whom it meets; -1: the bits of the link do."""
    material: PhysicsMaterial | None
    """``None``: somebody has given the link other numbers since, which count."""
    filter: CollisionFilter | None = None
    outward: CollisionFilter | None = None
    """What the filter means to colliders of other scenes."""


@dataclass(frozen=True, slots=True)
class ColliderDescription:
    """A solid shape on a link."""

    shape: ShapeGeometry
    link_from_shape: Pose
    stated: StatedSurface | None = None
    """``None``: the numbers and bits of the link are all that is known."""
    scale: Vec3 = (1.0, 1.0, 1.0)
    """Of the shape, before it is placed."""


@dataclass(frozen=True, slots=True)
class VisualDescription:
    """A shape that is drawn."""

    shape: ShapeGeometry
    link_from_shape: Pose
    scale: Vec3 = (1.0, 1.0, 1.0)
    surface: Surface = Surface()


class JointKind(enum.Enum):
    """How a link moves relative to its parent."""

    FIXED = "fixed"
    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    SPHERICAL = "spherical"
    PLANAR = "planar"


@dataclass(frozen=True, slots=True)
class MimicRule:
    """``position = multiplier * position of the other joint + offset``."""

    joint: str
    """Name of the other joint of the body."""
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkJointDescription:
    """The joint between a link and its parent; its frame is the link's at position 0."""

    kind: JointKind
    name: str
    axis: Vec3 = (0.0, 0.0, 1.0)
    """In link axes, unit length; of a planar joint the normal."""
    lower: float = -math.inf
    """[rad] or [m]"""
    upper: float = math.inf
    swings: Vec3 | None = None
    """[rad] Of a spherical joint the largest turns about X, Y and Z of the child's axes of inertia,
    to both sides; ``None``: it is free."""
    max_force: float = 0.0
    """Effort [N m] or [N]; 0: not stated."""
    max_velocity: float = 0.0
    """[rad/s] or [m/s]; 0: not stated. glTF cannot say it."""
    damping: float = 0.0
    """[N m s/rad] or [N s/m]"""
    added_damping: float = 0.0
    """Of :attr:`damping`, what was added to that of a scene's file."""
    friction: float = 0.0
    """Not simulated by Bullet; glTF cannot say it."""
    mimic: MimicRule | None = None
    anchor: Vec3 = (0.0, 0.0, 0.0)
    """[m] A point of its axis, in the link frame."""
    stated: JointDescription | None = None
    """All of its limits and drives, about the axes of the joint's frame; ``None``: the numbers
    here say them."""
    enable_collision: bool = False
    """Whether the link and its parent may touch each other."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What glTF cannot say, as it goes into ``extras``."""


@dataclass(frozen=True, slots=True)
class FrameDescription:
    """A named frame of a link: a site, or a camera that looks along its -Z with +Y up."""

    name: str
    link_from_frame: Pose
    field_of_view: float = 0.0
    """[rad] Of a camera, vertically; 0: it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDescription:
    """One rigid part of a multibody; the first of a body is its base."""

    name: str
    parent: int = -1
    """Index among the links of the body; -1 for the base."""
    joint: LinkJointDescription | None = None
    """``None`` for the base, and for what stands still with a parent without motion."""
    parent_from_link: Pose = IDENTITY_POSE
    """At joint position 0; not used for the base."""
    world_from_link: Pose = IDENTITY_POSE
    """Now."""
    mass: float = 0.0
    """[kg]; 0 on a base fixes it, on another link it has none."""
    inertia_diagonal: Vec3 = (0.0, 0.0, 0.0)
    """Principal moments [kg m^2]."""
    link_from_inertial: Pose = IDENTITY_POSE
    """Centre of mass and principal axes."""
    linear_velocity: Vec3 = (0.0, 0.0, 0.0)
    """Of the centre of mass [m/s], world axes."""
    angular_velocity: Vec3 = (0.0, 0.0, 0.0)
    """[rad/s], world axes."""
    friction: float = 0.5
    restitution: float = 0.0
    rolling_friction: float = 0.0
    spinning_friction: float = 0.0
    contact_spring: tuple[float, float] | None = None
    """Stiffness [N/m] and damping [N s/m] of its contacts; ``None``: they are rigid."""
    anisotropic_friction: Vec3 | None = None
    """Factors along the axes of the inertial frame; ``None``: friction is the same along all."""
    friction_anchor: bool = False
    """Whether contacts hold on to the point where they began."""
    damping: tuple[float, float] = (0.0, 0.0)
    """Share of the linear and of the angular velocity that goes in a second, where it is known."""
    gravity_factor: float = 1.0
    """Which engines have no number for."""
    is_free: bool = False
    """Whether a base without mass falls, with what hangs on it."""
    is_kinematic: bool = False
    """Whether a base without mass is moved, though it may stand still at the moment."""
    group: int = 1
    """Collision bits."""
    mask: int = -1
    """Collision bits."""
    colliders: tuple[ColliderDescription, ...] = ()
    visuals: tuple[VisualDescription, ...] = ()
    frames: tuple[FrameDescription, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyDescription:
    """A multibody: links in depth-first order, the base first."""

    name: str
    links: tuple[LinkDescription, ...]
    self_collision: bool = False
    """Whether its links may touch each other."""
    holder: tuple[int, str] | None = None
    """Number and name of what it is a part of, with other bodies of the same number: a robot."""


class ConstraintKind(enum.Enum):
    """What a constraint holds."""

    POINT = "point"
    FIXED = "fixed"
    PRISMATIC = "prismatic"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintDescription:
    """A joint between links of any two bodies, or a link and the world (body and link -1)."""

    kind: ConstraintKind
    parent: tuple[int, int]
    """Indices of a body and of one of its links, the base being 0."""
    child: tuple[int, int]
    """Likewise; (-1, -1): the world."""
    parent_from_frame: Pose
    """In the link frame."""
    child_from_frame: Pose
    axis: Vec3 = (1.0, 0.0, 0.0)
    max_force: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedJoint:
    """A joint of a scene's file, with its limits and drives; engines know a part of them."""

    name: str
    joint: Joint
    """Its nodes are those of the scene's file."""
    parent: tuple[int, int]
    """Indices of a body and of one of its links; (-1, -1): the world."""
    child: tuple[int, int]
    parent_from_frame: Pose
    """In the link frame, as the bodies stand now."""
    child_from_frame: Pose
    leader: str = ""
    """The name of the joint that it follows, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldDescription:
    """Everything that goes into one file."""

    bodies: tuple[BodyDescription, ...]
    constraints: tuple[ConstraintDescription, ...] = ()
    joints: tuple[StatedJoint, ...] = ()
    gravity: Vec3 | None = None
    """[m/s^2]; ``None``: the file is to state none."""
    up_axis: str = "z"
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What glTF cannot say of the world, as it goes into ``extras``."""
    default_masks: Mapping[bool, tuple[int, int]] = field(
        default_factory=lambda: {True: (1, -1), False: (2, -3)}
    )
    """Group and mask that the engine gives bodies that move (True) and that do not."""
