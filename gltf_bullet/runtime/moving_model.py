"""Models whose initial velocities are replaced by those of a running scene."""

from __future__ import annotations

from collections.abc import Callable

from gltf_bullet.model import MotionKind, PhysicsScene
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import Vec3


def with_velocities(
    physics: PhysicsScene,
    before: PhysicsScene,
    velocities_in_node: Callable[[int], tuple[Vec3, Vec3]],
    is_animated: Callable[[int], bool],
) -> PhysicsScene:
    """Return ``physics`` with the velocities that the bodies of ``before`` have now.

    Args:
        physics: An edited model; velocities that it states otherwise than ``before`` are kept.
        before: The model that runs.
        velocities_in_node: Returns velocity [m/s] and spin [rad/s] of a body in its node's axes.
        is_animated: Returns True if an animation moves a body; a kinematic one has the file's
            velocity afterwards.
    """
    motions = dict(physics.motions)
    for node, motion in physics.motions.items():
        old = before.motions.get(node)
        if motion.kind is MotionKind.STATIC or old is None:
            continue
        if motion.kind is old.kind is MotionKind.KINEMATIC and is_animated(node):
            continue
        linear, angular = velocities_in_node(node)
        if motion.linear_velocity == old.linear_velocity:
            motion = replace(motion, linear_velocity=linear)
        if motion.angular_velocity == old.angular_velocity:
            motion = replace(motion, angular_velocity=angular)
        motions[node] = motion
    return replace(physics, motions=motions)


def moved_as(physics: PhysicsScene, moving: PhysicsScene) -> PhysicsScene:
    """Return ``physics`` with the velocities of another model of the same bodies."""
    return with_velocities(
        physics,
        physics,
        lambda node: (
            (moving.motions[node].linear_velocity, moving.motions[node].angular_velocity)
            if node in moving.motions
            else (physics.motions[node].linear_velocity, physics.motions[node].angular_velocity)
        ),
        lambda _: False,
    )


def with_cruises(physics: PhysicsScene, moving: PhysicsScene) -> PhysicsScene:
    """Return ``physics`` with the velocities that kinematic bodies have in ``moving``.

    These are constant in the world (KHR_physics_rigid_bodies, "Motions"), not in the node, while a
    model states them in the frame of the node at the creation of the bodies.
    """
    motions = {
        node: moving.motions[node] if motion.kind is MotionKind.KINEMATIC else motion
        for node, motion in physics.motions.items()
    }
    return physics if motions == physics.motions else replace(physics, motions=motions)


def begins_to_move(node: int, physics: PhysicsScene, frames: NodeFrames) -> bool:
    """Return True if triggers take a static body for resting, which is now put elsewhere."""
    motion = physics.motions.get(node)
    is_static = motion is not None and motion.kind is MotionKind.STATIC
    return is_static and bool(physics.triggers) and node not in frames.placed
