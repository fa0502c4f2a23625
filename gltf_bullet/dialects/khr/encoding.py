"""Model values -> objects of KHR_physics_rigid_bodies and KHR_implicit_shapes.

The inverse of the readers: what equals a schema default is left out, infinity is written as 0 or by
absence. Shapes that the schemas forbid (a zero size) give ``None``.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from gltf_bullet.model import (
    Box,
    Capsule,
    CollisionFilter,
    Cylinder,
    DriveMode,
    JointDescription,
    JointDrive,
    JointLimit,
    Motion,
    MotionKind,
    PhysicsMaterial,
    Plane,
    Sphere,
)
from gltf_bullet.model.joints import DofKind

__all__ = [
    "ImplicitShape",
    "JsonOut",
    "encode_description",
    "encode_filter",
    "encode_material",
    "encode_motion",
    "encode_shape",
    "plain_shape",
]

JsonOut: TypeAlias = dict[str, Any]
ImplicitShape: TypeAlias = Box | Sphere | Capsule | Cylinder | Plane

_ZERO = (0.0, 0.0, 0.0)


def encode_motion(motion: Motion) -> JsonOut:
    """A ``motion`` object; a static body counts as a kinematic one that stands still."""
    result: JsonOut = {}
    is_static = motion.kind is MotionKind.STATIC
    if motion.kind is not MotionKind.DYNAMIC:
        result["isKinematic"] = True
    if motion.mass is not None:
        result["mass"] = _zero_if_infinite(motion.mass)
    if motion.center_of_mass is not None:
        result["centerOfMass"] = list(motion.center_of_mass)
    if motion.inertia_diagonal is not None:
        result["inertiaDiagonal"] = [_zero_if_infinite(m) for m in motion.inertia_diagonal]
    if motion.inertia_orientation_xyzw != (0.0, 0.0, 0.0, 1.0):
        result["inertiaOrientation"] = list(motion.inertia_orientation_xyzw)
    if motion.linear_velocity != _ZERO and not is_static:
        result["linearVelocity"] = list(motion.linear_velocity)
    if motion.angular_velocity != _ZERO and not is_static:
        result["angularVelocity"] = list(motion.angular_velocity)
    if motion.gravity_factor != 1.0:
        result["gravityFactor"] = motion.gravity_factor
    return result


def _zero_if_infinite(value: float) -> float:
    """JSON has no infinity: "a value of zero … should be understood to represent infinity"."""
    return 0.0 if math.isinf(value) else value


def encode_material(material: PhysicsMaterial) -> JsonOut:
    """An entry of ``physicsMaterials``; a combine mode that is not stated stays unstated."""
    result: JsonOut = {
        "staticFriction": material.static_friction,
        "dynamicFriction": material.dynamic_friction,
        "restitution": material.restitution,
    }
    if material.friction_combine is not None:
        result["frictionCombine"] = material.friction_combine.value
    if material.restitution_combine is not None:
        result["restitutionCombine"] = material.restitution_combine.value
    return result


def encode_filter(collision_filter: CollisionFilter) -> JsonOut:
    """An entry of ``collisionFilters``; the names in alphabetical order."""
    result: JsonOut = {}
    if collision_filter.systems:
        result["collisionSystems"] = sorted(collision_filter.systems)
    if collision_filter.collide_with is not None:
        result["collideWithSystems"] = sorted(collision_filter.collide_with)
    if collision_filter.not_collide_with is not None:
        result["notCollideWithSystems"] = sorted(collision_filter.not_collide_with)
    return result


def encode_description(description: JointDescription) -> JsonOut:
    """An entry of ``physicsJoints``."""
    result: JsonOut = {}
    if description.limits:
        result["limits"] = [_encode_limit(limit) for limit in description.limits]
    if description.drives:
        result["drives"] = [_encode_drive(drive) for drive in description.drives]
    return result


def _encode_limit(limit: JointLimit) -> JsonOut:
    key = "linearAxes" if limit.kind is DofKind.LINEAR else "angularAxes"
    result: JsonOut = {key: list(limit.axes)}
    if limit.minimum != -math.inf:
        result["min"] = limit.minimum
    if limit.maximum != math.inf:
        result["max"] = limit.maximum
    if limit.stiffness != math.inf:
        result["stiffness"] = limit.stiffness
    if limit.damping != 0.0:
        result["damping"] = limit.damping
    return result


def _encode_drive(drive: JointDrive) -> JsonOut:
    result: JsonOut = {
        "type": drive.kind.value,
        "mode": "force" if drive.mode is DriveMode.FORCE else "acceleration",
        "axis": drive.axis,
    }
    if drive.max_force != math.inf:
        result["maxForce"] = drive.max_force
    # The schema asks for targets and gains in pairs.
    if drive.stiffness or drive.position_target:
        result["stiffness"] = drive.stiffness
        result["positionTarget"] = drive.position_target
    if drive.damping or drive.velocity_target:
        result["damping"] = drive.damping
        result["velocityTarget"] = drive.velocity_target
    return result


def plain_shape(shape: ImplicitShape) -> ImplicitShape | None:
    """The shape as KHR_implicit_shapes allows it, ``None`` where it "prohibits degenerate shapes".

    A capsule without a height is the larger of its spheres (OMI_collider: height = 2 radius).
    """
    if isinstance(shape, Capsule) and shape.mid_height == 0.0:
        shape = Sphere(radius=max(shape.radius_bottom, shape.radius_top), pointer=shape.pointer)
    if isinstance(shape, Box):
        return shape if min(shape.size) > 0.0 else None
    if isinstance(shape, Sphere):
        return shape if shape.radius > 0.0 else None
    if isinstance(shape, Cylinder):
        return shape if shape.height > 0.0 else None
    return shape


def encode_shape(shape: ImplicitShape) -> JsonOut:
    """An entry of ``shapes``, in full."""
    if isinstance(shape, Box):
        return {"type": "box", "box": {"size": list(shape.size)}}
    if isinstance(shape, Sphere):
        return {"type": "sphere", "sphere": {"radius": shape.radius}}
    if isinstance(shape, Plane):
        plane: JsonOut = {}
        if shape.size_x != math.inf:
            plane["sizeX"] = shape.size_x
        if shape.size_z != math.inf:
            plane["sizeZ"] = shape.size_z
        if shape.double_sided:
            plane["doubleSided"] = True
        return {"type": "plane", "plane": plane}
    kind, height = (
        ("capsule", shape.mid_height) if isinstance(shape, Capsule) else ("cylinder", shape.height)
    )
    return {
        "type": kind,
        kind: {
            "height": height,
            "radiusBottom": shape.radius_bottom,
            "radiusTop": shape.radius_top,
        },
    }
