"""Overlaps of two placed shapes, now or during a step, by the engine's closest-point queries.

The shapes have no bodies: ``getClosestPoints`` accepts shape ids with poses. So triggers add
nothing to the world that a ray, a contact or a body of the user's could touch, and one child of a
compound can be queried by itself.
"""

from __future__ import annotations

import math

import numpy as np
import pybullet

from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.planning.shapes.extents import extent_of, support
from gltf_bullet.planning.shapes.shape_plans import (
    ConvexPartsPlan,
    HullPlan,
    InfinitePlanePlan,
    PlacedShape,
)
from gltf_bullet.transforms import (
    Pose,
    quat_conjugate,
    quat_from_rotation_vector,
    quat_multiply,
    rotation_vector_from_quat,
)

_TOLERANCE = 1e-3
"""Distance at which two moving shapes count as touching, relative to the thinner one."""
_MAX_ADVANCES = 64
"""Largest number of conservative advances of one passage; beyond it counts as not touched."""


class Solid:
    """A placed shape for distance queries."""

    __slots__ = ("placed", "reach", "shape_id")

    def __init__(self, shapes: EngineShapes, placed: PlacedShape) -> None:
        """Create the engine shape, or share that of equal colliders."""
        self.placed = placed
        self.shape_id = shapes.shape_id((placed,))
        if isinstance(placed.shape, (HullPlan, ConvexPartsPlan)):
            shapes.settle_margin_alone(self.shape_id, (placed,))
        extent = extent_of(placed)
        self.reach = float(np.linalg.norm(extent.center)) + extent.outer
        """Distance [m] from the frame's origin to the furthest point."""


class Probe:
    """Queries distances between solids in one world."""

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id

    def gap(
        self, volume: Solid, volume_pose: Pose, solid: Solid, solid_pose: Pose, within: float = 0.0
    ) -> float:
        """Return the distance of two solids [m], negative inside; infinite beyond ``within``."""
        if isinstance(volume.placed.shape, InfinitePlanePlan):
            # Bullet finds nothing between a plane and a triangle mesh (measured).
            return _height(volume, volume_pose, solid, solid_pose)
        contacts = pybullet.getClosestPoints(
            -1, -1, within, -1, -1,
            volume.shape_id, solid.shape_id,
            volume_pose.translation, solid_pose.translation,
            volume_pose.rotation_xyzw, solid_pose.rotation_xyzw,
            self._client_id,
        )  # fmt: skip
        if not contacts:
            return math.inf
        return float(min(contact[8] for contact in contacts))


def _height(plane: Solid, plane_pose: Pose, solid: Solid, solid_pose: Pose) -> float:
    """Return the height of the lowest point of a solid above a plane [m]."""
    world_from_plane = plane_pose @ plane.placed.body_from_shape
    world_from_shape = solid_pose @ solid.placed.body_from_shape
    normal = world_from_plane.rotate((0.0, 1.0, 0.0))
    down = world_from_shape.inverse().rotate((-normal[0], -normal[1], -normal[2]))
    offset = np.array(world_from_shape.translation) - np.array(world_from_plane.translation)
    return float(np.dot(normal, offset)) - support(solid.placed.shape, np.array(down))


class ScrewMotion:
    """Motion of a frame through one step: linear, with a constant rate of rotation."""

    __slots__ = ("_axis", "_begin", "angle", "shift")

    def __init__(self, begin: Pose, end: Pose) -> None:
        self._begin = begin
        self.shift = np.array(end.translation) - np.array(begin.translation)
        """Displacement of the frame's origin [m], shape [3]."""
        turn = rotation_vector_from_quat(
            quat_multiply(
                np.array(end.rotation_xyzw), quat_conjugate(np.array(begin.rotation_xyzw))
            )
        )
        self.angle = float(np.linalg.norm(turn))
        """Angle of rotation in the step [rad]."""
        self._axis = turn

    def at(self, fraction: float) -> Pose:
        """Return the pose of the frame after a fraction of the step."""
        x, y, z = (np.array(self._begin.translation) + fraction * self.shift).tolist()
        rotation = self._begin.rotation_xyzw
        if self.angle > 0.0:
            turned = quat_multiply(
                quat_from_rotation_vector(fraction * self._axis), np.array(rotation)
            )
            qx, qy, qz, qw = turned.tolist()
            rotation = (qx, qy, qz, qw)
        return Pose(rotation, (x, y, z))


def passage(
    probe: Probe,
    volume: Solid,
    volume_motion: ScrewMotion,
    solid: Solid,
    solid_motion: ScrewMotion,
    thickness: float,
) -> tuple[float, float] | None:
    """Return when a solid first and last touches a volume during a step.

    Conservative advancement: with a gap of d between two convex shapes nothing can happen before
    the two have moved by d, so no thin volume is missed.

    Args:
        probe: The world.
        volume: The trigger volume.
        volume_motion: Motion of the volume's frame.
        solid: The collider.
        solid_motion: Motion of the frame that the collider is placed in.
        thickness: Thickness [m] of the thinner one, which sets the tolerance.

    Returns:
        Fractions of the step, 0 to 1; ``None`` if they never touch.
    """
    moved = (
        float(np.linalg.norm(solid_motion.shift - volume_motion.shift))
        + volume_motion.angle * volume.reach
        + solid_motion.angle * solid.reach
    )
    near = max(_TOLERANCE * thickness, 1e-6)

    def first(backwards: bool) -> float | None:
        done = 0.0
        for _ in range(_MAX_ADVANCES):
            at = 1.0 - done if backwards else done
            gap = probe.gap(
                volume, volume_motion.at(at), solid, solid_motion.at(at),
                within=moved * (1.0 - done) + near,
            )  # fmt: skip
            if gap <= near:
                return at
            done += gap / moved
            if done >= 1.0:
                break
        return None

    entered = first(backwards=False)
    if entered is None:
        return None
    left = first(backwards=True)
    return entered, max(entered, left if left is not None else entered)
