"""Room 3: the canonical physics model: frozen values, SI units, no unset defaults."""

from gltf_bullet.model.colliders import (
    DEFAULT_MATERIAL,
    Collider,
    CollisionFilter,
    CombineMode,
    PhysicsMaterial,
    Trigger,
    combine,
    may_collide,
)
from gltf_bullet.model.gravity import GravityField, GravityFieldKind, GravityVolume, WorldGravity
from gltf_bullet.model.joints import (
    DofKind,
    DriveMode,
    Joint,
    JointCoupling,
    JointDescription,
    JointDrive,
    JointLimit,
)
from gltf_bullet.model.motion import Motion, MotionKind
from gltf_bullet.model.physics_scene import PhysicsScene
from gltf_bullet.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    MeshPart,
    MeshShape,
    Plane,
    Shape,
    Sphere,
)

__all__ = [
    "DEFAULT_MATERIAL",
    "Box",
    "Capsule",
    "Collider",
    "CollisionFilter",
    "CombineMode",
    "Cylinder",
    "DofKind",
    "DriveMode",
    "GravityField",
    "GravityFieldKind",
    "GravityVolume",
    "Joint",
    "JointCoupling",
    "JointDescription",
    "JointDrive",
    "JointLimit",
    "MeshPart",
    "MeshShape",
    "Motion",
    "MotionKind",
    "PhysicsMaterial",
    "PhysicsScene",
    "Plane",
    "Shape",
    "Sphere",
    "Trigger",
    "WorldGravity",
    "combine",
    "may_collide",
]
