"""Writing a :class:`SurfacePlan` into one link of one body."""

from __future__ import annotations

import pybullet

from gltf_bullet.bullet.plan import SurfacePlan

__all__ = ["apply_surface"]


def apply_surface(client_id: int, body_id: int, link_index: int, surface: SurfacePlan) -> None:
    """Set friction, restitution and collision bits of a link (-1: the base).

    Call it after the mass is set: a mass that crosses zero resets group and mask (measured).
    """
    pybullet.changeDynamics(
        body_id,
        link_index,
        lateralFriction=surface.friction,
        restitution=surface.restitution,
        physicsClientId=client_id,
    )
    pybullet.setCollisionFilterGroupMask(
        body_id, link_index, surface.group, surface.mask, physicsClientId=client_id
    )
