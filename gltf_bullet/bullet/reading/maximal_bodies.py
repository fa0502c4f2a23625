"""Bodies of ``useMaximalCoordinates``: read from Bullet's own file where PyBullet fails.

``getCollisionShapeData`` fails for them, and ``getDynamicsInfo`` returns uninitialised memory for
their restitution, contact spring and inertial frame (measured).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pybullet
from msgspec.structs import astuple

from gltf_bullet.bullet.reading.bullet_file import Record
from gltf_bullet.bullet.reading.issues import MAXIMAL_BODY_UNREADABLE
from gltf_bullet.bullet.reading.link_shapes import LinkShapes, primitive_of
from gltf_bullet.convert.description import ColliderDescription, LinkDescription, MeshShape
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3

# --- Contact properties in a collision object of a saved world ------------------------------------

_HAS_CONTACT_SPRING: Final = 128
"""``CF_HAS_CONTACT_STIFFNESS_DAMPING`` of Bullet."""
_HAS_FRICTION_ANCHOR: Final = 512
"""``CF_HAS_FRICTION_ANCHOR`` of Bullet."""
_RIGID: Final = 1e9
"""Damping [N s/m] from which on contacts are rigid, with a tuned error correction, as in our
scenes.
"""


def contact_spring(stiffness: float, damping: float) -> tuple[float, float] | None:
    """Return the spring of soft contacts; ``None`` if they are rigid."""
    return None if damping >= _RIGID else (stiffness, damping)


def saved_contact_spring(solid: Record) -> tuple[float, float] | None:
    """Return :func:`contact_spring` of a collision object."""
    if not solid["m_collisionFlags"] & _HAS_CONTACT_SPRING:
        return None
    return contact_spring(solid["m_contactStiffness"], solid["m_contactDamping"])


def has_friction_anchor(solid: Record) -> bool:
    """Return True if contacts stick to the point where they began."""
    return bool(solid["m_collisionFlags"] & _HAS_FRICTION_ANCHOR)


def anisotropic_friction(solid: Record) -> Vec3 | None:
    """Return factors of friction along the axes of the inertial frame; ``None``: isotropic."""
    if not solid["m_hasAnisotropicFriction"]:
        return None
    x, y, z = solid.vector("m_anisotropicFriction").tolist()
    return (x, y, z)


class MaximalBodies:
    """Reads bodies in maximal coordinates, one by one."""

    def __init__(self, client_id: int, shapes: LinkShapes, diagnostics: Diagnostics) -> None:
        self._client = client_id
        self._shapes = shapes
        self._diagnostics = diagnostics

    def read(self, body: int, rigid: Record, name: str, shown: str) -> LinkDescription:
        """Return the only link of a body.

        Args:
            body: Its id.
            rigid: Its record in the saved world.
            name: Name of the link.
            shown: Name of the link for messages.
        """
        solid: Record = rigid["m_collisionObjectData"]
        info = pybullet.getDynamicsInfo(body, -1, physicsClientId=self._client)
        position, rotation = pybullet.getBasePositionAndOrientation(body, self._client)
        linear, angular = pybullet.getBaseVelocity(body, self._client)
        # The engine moves shapes into the inertial frame when it creates the body.
        shapes = self._shapes.saved_colliders(solid["m_collisionShape"], IDENTITY_POSE, shown)
        flags = pybullet.VISUAL_SHAPE_DATA_TEXTURE_UNIQUE_IDS
        looks = pybullet.getVisualShapeData(body, flags, physicsClientId=self._client)
        drawn = [entry for entry in looks if entry[7][3] > 0.0]
        link_from_inertial = _link_from_inertial(drawn, shapes)
        colliders = tuple(
            ColliderDescription(c.shape, (link_from_inertial or IDENTITY_POSE) @ c.link_from_shape)
            for c in shapes
        )
        visuals = self._shapes.visuals(drawn, colliders, shown)
        if link_from_inertial is None:
            link_from_inertial = IDENTITY_POSE
            if any(not self._shapes.is_ours(entry) for entry in drawn):
                self._diagnostics.report(MAXIMAL_BODY_UNREADABLE, ROOT, link=shown)
        return LinkDescription(
            name=name,
            world_from_link=Pose(rotation, position) @ link_from_inertial.inverse(),
            mass=info[0],
            inertia_diagonal=info[2],
            link_from_inertial=link_from_inertial,
            linear_velocity=linear,
            angular_velocity=angular,
            friction=solid["m_friction"],
            restitution=solid["m_restitution"],
            rolling_friction=solid["m_rollingFriction"],
            spinning_friction=info[7],
            contact_spring=saved_contact_spring(solid),
            anisotropic_friction=anisotropic_friction(solid),
            friction_anchor=has_friction_anchor(solid),
            damping=(rigid["m_linearDamping"], rigid["m_angularDamping"]),
            group=solid["m_collisionFilterGroup"],
            mask=solid["m_collisionFilterMask"],
            colliders=colliders,
            visuals=visuals,
        )


def _link_from_inertial(drawn: Sequence[Any], shapes: Sequence[ColliderDescription]) -> Pose | None:
    """Return the inertial frame, found by comparing visuals with colliders; ``None``: unknown."""
    if not drawn:
        return IDENTITY_POSE
    frames = []
    for entry, solid in zip(drawn, shapes, strict=False):
        shape = primitive_of(entry[2], entry[3])
        if type(shape) is not type(solid.shape) or shape is None or isinstance(shape, MeshShape):
            return None
        if not np.allclose(np.hstack(astuple(shape)), np.hstack(astuple(solid.shape)), atol=1e-6):
            return None
        frames.append(Pose(entry[6], entry[5]) @ solid.link_from_shape.inverse())
    if len(drawn) != len(shapes):
        return None
    first = frames[0].matrix()
    return frames[0] if all(np.allclose(f.matrix(), first, atol=1e-6) for f in frames) else None
