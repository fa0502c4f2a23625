"""Lookup of the glTF collider at a point of an engine link.

PyBullet returns the link that a ray or a contact hit but not the child of its compound: links of
several children are searched by closest-point queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pybullet
from msgspec import Struct

from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.planning.shapes.shape_plans import InfinitePlanePlan, PlacedShape, SpherePlan
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose

_PROBE_RADIUS = 1e-6
"""Radius [m] of the ball that represents a point in a closest-point query."""


class LinkColliders(Struct, frozen=True):
    """The colliders in one engine link."""

    nodes: tuple[int, ...]
    shapes: tuple[PlacedShape, ...]
    """Shapes in the frame of their body, in the order of ``nodes``."""
    body_from_inertial: Pose = IDENTITY_POSE
    """Pose of the link's inertial frame, which PyBullet reports."""


class ColliderIndex:
    """The glTF colliders of the engine links of one scene."""

    def __init__(
        self,
        client_id: int,
        shapes: EngineShapes,
        links: Mapping[tuple[int, int], LinkColliders],
    ) -> None:
        self._client_id = client_id
        self._shapes = shapes
        self._links = dict(links)

    def colliders(self, body_id: int, link_index: int) -> LinkColliders | None:
        """Return the colliders of a link; ``None`` for bodies that are not of this scene."""
        return self._links.get((body_id, link_index))

    def node_at(self, body_id: int, link_index: int, point: Sequence[float]) -> int | None:
        """Return the collider node whose surface is nearest to a point of the world on a link."""
        link = self._links.get((body_id, link_index))
        if link is None:
            return None
        if len(link.nodes) == 1:
            return link.nodes[0]
        frame = _world_from_body(self._client_id, body_id, link_index, link)
        probe = self._shapes.shape_id((PlacedShape(SpherePlan(_PROBE_RADIUS)),))
        best, best_gap = link.nodes[0], np.inf
        for node, shape in zip(link.nodes, link.shapes, strict=True):
            points = pybullet.getClosestPoints(
                bodyA=-1, bodyB=-1, distance=1.0,
                collisionShapeA=self._shapes.shape_id((shape,)), collisionShapeB=probe,
                collisionShapePositionA=frame.translation,
                collisionShapeOrientationA=frame.rotation_xyzw,
                collisionShapePositionB=list(point),
                physicsClientId=self._client_id,
            )  # fmt: skip
            gap = min((abs(contact[8]) for contact in points), default=np.inf)
            if gap < best_gap:
                best, best_gap = node, gap
        return best

    def is_behind(self, body_id: int, link_index: int, direction: FloatArray) -> bool:
        """Return True if a ray in a direction, shape [3], hits an infinite plane from behind.

        Such planes are half-spaces: a ray from behind starts in the solid, but Bullet reports a
        hit.
        """
        link = self._links.get((body_id, link_index))
        if link is None or not isinstance(link.shapes[0].shape, InfinitePlanePlan):
            return False
        frame = _world_from_body(self._client_id, body_id, link_index, link)
        frame = frame @ link.shapes[0].body_from_shape
        return float(np.dot(frame.rotate((0.0, 1.0, 0.0)), direction)) > 0.0


def _world_from_body(client_id: int, body_id: int, link_index: int, link: LinkColliders) -> Pose:
    if link_index < 0:
        position, rotation = pybullet.getBasePositionAndOrientation(body_id, client_id)
    else:
        position, rotation = pybullet.getLinkState(
            body_id, link_index, computeForwardKinematics=1, physicsClientId=client_id
        )[:2]
    return Pose(rotation, position) @ link.body_from_inertial.inverse()
