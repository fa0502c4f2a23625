"""The one function that makes a body with its links, from the values of ``multibody_spec``.

Every trap of ``createMultiBody`` with links is handled here and nowhere else: link frames against
inertial frames, Bullet's depth-first renumbering, default motors and damping, the velocity clamp,
self-collision flags, silent caps and unknown shape ids.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pybullet

from gltf_bullet.errors import EngineError
from gltf_bullet.planning.body_plans import VELOCITY_CLAMP
from gltf_bullet.planning.joints.multibody_spec import (
    MAX_LINKS,
    LinkJoint,
    LinkSpec,
    MultibodySpec,
    depth_first_order,
)
from gltf_bullet.transforms import IDENTITY_POSE, Vec3

__all__ = [
    "MAX_LINKS",
    "LinkJoint",
    "LinkSpec",
    "MultibodySpec",
    "create_multibody",
    "depth_first_order",
    "mass_at_first",
    "settle_multibody",
    "switch_ball_off",
    "weigh_link",
]


_ENGINE_JOINT = {
    LinkJoint.FIXED: pybullet.JOINT_FIXED,
    LinkJoint.REVOLUTE: pybullet.JOINT_REVOLUTE,
    LinkJoint.PRISMATIC: pybullet.JOINT_PRISMATIC,
    LinkJoint.SPHERICAL: pybullet.JOINT_SPHERICAL,
}

_STATIC_GROUP = 2
"""Collision group of fixed bodies (``btBroadphaseProxy::StaticFilter``)."""


def create_multibody(client_id: int, spec: MultibodySpec) -> int:
    """Create the body and return its id: exact inertia, no damping, motors off, no clamps.

    The base pose that PyBullet reports afterwards is ``world_from_base @ base_from_inertial``.

    Raises:
        EngineError: Too many links, an unknown shape id, or the engine refused.
        ValueError: Links are not in depth-first order.
    """
    links = spec.links
    if len(links) > MAX_LINKS:
        raise EngineError(f"a multibody of {len(links)} links; the engine keeps {MAX_LINKS}")
    parents = [link.parent for link in links]
    if depth_first_order(parents) != list(range(len(links))):
        # The engine would renumber them and every index that we hand out would be wrong.
        raise ValueError(f"links must be in depth-first order; parents are {parents}")
    _refuse_bad_numbers(spec)
    has_link_shapes = spec.self_collision and any(link.shape_id >= 0 for link in links)
    flags = self_collision_flags(spec) if has_link_shapes else 0
    try:
        body_id = pybullet.createMultiBody(
            baseMass=mass_at_first(spec),
            baseCollisionShapeIndex=spec.shape_id,
            baseVisualShapeIndex=spec.visual_id,
            basePosition=spec.world_from_base.translation,
            baseOrientation=spec.world_from_base.rotation_xyzw,
            baseInertialFramePosition=spec.base_from_inertial.translation,
            baseInertialFrameOrientation=spec.base_from_inertial.rotation_xyzw,
            flags=flags,
            physicsClientId=client_id,
            **(_link_arguments(links) if links else {}),
        )
    except pybullet.error as error:
        raise EngineError(f"createMultiBody: {error}") from error
    if body_id < 0:
        raise EngineError("createMultiBody returned no body")
    body = int(body_id)
    try:
        _refuse_unknown_shapes(client_id, body, spec)
        settle_multibody(client_id, body, spec, spec.inertias)
        _refresh_base_box(client_id, body, spec)
    except (pybullet.error, EngineError) as error:
        pybullet.removeBody(body, physicsClientId=client_id)
        raise EngineError(f"createMultiBody: {error}") from error
    return body


def mass_at_first(spec: MultibodySpec) -> float:
    """Return the mass of the base while its links are created [kg]."""
    return 1.0 if spec.is_fixed_late else spec.mass


def self_collision_flags(spec: MultibodySpec) -> int:
    """Return the URDF flags for the self-collision of a body with colliders on its links."""
    if not spec.self_collision:
        return 0
    # Without this flag, pair filters between links of one multibody have no effect at all.
    flags: int = pybullet.URDF_USE_SELF_COLLISION
    if spec.parents_meet:
        flags |= pybullet.URDF_USE_SELF_COLLISION_INCLUDE_PARENT
    return flags


def _link_arguments(links: Sequence[LinkSpec]) -> dict[str, Any]:
    return {
        "linkMasses": [link.mass for link in links],
        "linkCollisionShapeIndices": [link.shape_id for link in links],
        "linkVisualShapeIndices": [link.visual_id for link in links],
        "linkPositions": [link.parent_from_link.translation for link in links],
        "linkOrientations": [link.parent_from_link.rotation_xyzw for link in links],
        "linkInertialFramePositions": [link.link_from_inertial.translation for link in links],
        "linkInertialFrameOrientations": [link.link_from_inertial.rotation_xyzw for link in links],
        "linkParentIndices": [link.parent + 1 for link in links],
        "linkJointTypes": [_ENGINE_JOINT[link.joint] for link in links],
        "linkJointAxis": [link.axis for link in links],
    }


def _refresh_base_box(client_id: int, body_id: int, spec: MultibodySpec) -> None:
    """Make the broadphase box of a new base right: the engine uses the wrong frame (measured).

    Where the centre of mass is off the origin, rays would miss the base until the first step.
    """
    if spec.base_from_inertial != IDENTITY_POSE:
        world_from_inertial = spec.world_from_base @ spec.base_from_inertial
        pybullet.resetBasePositionAndOrientation(
            body_id,
            world_from_inertial.translation,
            world_from_inertial.rotation_xyzw,
            physicsClientId=client_id,
        )


def _refuse_bad_numbers(spec: MultibodySpec) -> None:
    """Raise an error for NaN and infinities; PyBullet accepts them and freezes later."""
    numbers = [spec.mass, *spec.inertia_diagonal]
    for pose in (spec.world_from_base, spec.base_from_inertial):
        numbers += [*pose.translation, *pose.rotation_xyzw]
    for link in spec.links:
        numbers += [link.mass, *link.inertia_diagonal, *link.axis]
        for pose in (link.parent_from_link, link.link_from_inertial):
            numbers += [*pose.translation, *pose.rotation_xyzw]
    if not all(map(math.isfinite, numbers)):
        raise EngineError("a multibody holds a number that is not finite")


def _refuse_unknown_shapes(client_id: int, body_id: int, spec: MultibodySpec) -> None:
    """Raise an error for unknown shape ids, with which PyBullet makes bodies that never collide."""
    checked: set[int] = set()
    for index, shape_id in enumerate([spec.shape_id, *(link.shape_id for link in spec.links)]):
        if shape_id < 0 or shape_id in checked:
            continue
        checked.add(shape_id)
        if not pybullet.getCollisionShapeData(body_id, index - 1, physicsClientId=client_id):
            raise EngineError(f"collision shape {shape_id} does not exist")


def weigh_link(client_id: int, body_id: int, link: int, mass: float, inertia: Vec3) -> None:
    """Give a link, -1 for the base, a mass [kg] and principal moments [kg m^2].

    The engine then moves it as one that was created with them, to the bit (measured), but never
    updates what it keeps for ``calculateInverseDynamics`` and the like.
    """
    pybullet.changeDynamics(
        body_id, link, mass=mass, localInertiaDiagonal=inertia, physicsClientId=client_id
    )


def switch_ball_off(client_id: int, body_id: int, link: int) -> None:
    """Set the motor of a spherical joint to zero force, in the one way that PyBullet has for it."""
    pybullet.setJointMotorControlMultiDof(
        body_id,
        link,
        pybullet.POSITION_CONTROL,
        targetPosition=[0.0, 0.0, 0.0, 1.0],
        targetVelocity=[0.0, 0.0, 0.0],
        positionGain=0.0,
        velocityGain=0.0,
        force=[0.0, 0.0, 0.0],
        physicsClientId=client_id,
    )


def _fix_base(client_id: int, body_id: int, spec: MultibodySpec) -> None:
    pybullet.changeDynamics(body_id, -1, mass=0.0, physicsClientId=client_id)
    for link in spec.fixed_links:
        # What the engine would have given them, had the base been fixed from the start.
        pybullet.setCollisionFilterGroupMask(
            body_id, link, _STATIC_GROUP, ~_STATIC_GROUP, physicsClientId=client_id
        )


def settle_multibody(
    client_id: int, body_id: int, spec: MultibodySpec, inertias: Iterable[tuple[int, Vec3]]
) -> None:
    """Set exact inertia, no damping, no clamps and motors off, however the body was created.

    ``inertias``: principal moments by link, -1 for the base, where they differ from the engine's.
    """
    if spec.is_fixed_late:
        _fix_base(client_id, body_id, spec)
    # Calls with damping or maxJointVelocity address the base whatever the link index says, and
    # drop everything else in the same call: they stay calls of their own (measured).
    pybullet.changeDynamics(
        body_id, -1, linearDamping=0.0, angularDamping=0.0, physicsClientId=client_id
    )
    pybullet.changeDynamics(body_id, -1, maxJointVelocity=VELOCITY_CLAMP, physicsClientId=client_id)
    for link, inertia in inertias:
        pybullet.changeDynamics(
            body_id, link, localInertiaDiagonal=inertia, physicsClientId=client_id
        )
    for link in spec.balls:
        switch_ball_off(client_id, body_id, link)
    if spec.single_axes:
        pybullet.setJointMotorControlArray(
            body_id,
            spec.single_axes,
            pybullet.VELOCITY_CONTROL,
            forces=[0.0] * len(spec.single_axes),
            physicsClientId=client_id,
        )
