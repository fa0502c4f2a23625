"""A model whose bodies start with the velocities that others have now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gltf_bullet.model import MotionKind, PhysicsScene
from gltf_bullet.transforms import Vec3

__all__ = ["with_velocities"]


def with_velocities(
    physics: PhysicsScene,
    before: PhysicsScene,
    velocities_in_node: Callable[[int], tuple[Vec3, Vec3]],
) -> PhysicsScene:
    """``physics`` with the velocities that the bodies of ``before`` have now.

    Args:
        physics: An edited model; velocities that it states otherwise than ``before`` are kept.
        before: The model that runs.
        velocities_in_node: Velocity [m/s] and spin [rad/s] of a running body in its node's axes.
    """
    motions = dict(physics.motions)
    for node, motion in physics.motions.items():
        old = before.motions.get(node)
        if motion.kind is not MotionKind.DYNAMIC or old is None:
            continue
        linear, angular = velocities_in_node(node)
        if motion.linear_velocity == old.linear_velocity:
            motion = replace(motion, linear_velocity=linear)
        if motion.angular_velocity == old.angular_velocity:
            motion = replace(motion, angular_velocity=angular)
        motions[node] = motion
    return replace(physics, motions=motions)
