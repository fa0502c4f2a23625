"""Ray casts, and which glTF collider a point on a link belongs to.

KHR_physics_rigid_bodies, "Scene query nodes". PyBullet says which link a ray hit but not which
child of a compound: the children are asked one by one, only where there are several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.planning.shapes.shape_plans import PlacedShape, SpherePlan
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose

__all__ = ["ColliderIndex", "LinkColliders", "RayHit", "cast_rays"]

_PROBE_RADIUS = 1e-6
"""[m] of the ball that stands for a point in a closest-point query."""

_MAX_PASSES = 64
"""Colliders that one ray may pass because they are not ours or are filtered out."""

_STEP_PAST = 1e-5
"""[m] behind a passed surface where the ray goes on; rays that start inside a solid miss it."""


@dataclass(frozen=True, slots=True)
class RayHit:
    """The nearest collider on a ray segment."""

    node: int
    """glTF index of the collider's node."""
    fraction: float
    """Of the way from start to end, 0 to 1."""
    normal: FloatArray
    """Of the surface, world axes, unit length, shape [3]."""
    position: FloatArray
    """Of the hit in the world [m], shape [3]."""


@dataclass(frozen=True, slots=True)
class LinkColliders:
    """The colliders in one engine link."""

    nodes: tuple[int, ...]
    shapes: tuple[PlacedShape, ...]
    """In the frame of the link, in the order of ``nodes``."""
    link_from_inertial: Pose = IDENTITY_POSE
    """What PyBullet reports is the inertial frame."""


class ColliderIndex:
    """Engine links to glTF collider nodes, for one scene."""

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
        """The colliders of a link; ``None`` for bodies that are not of this scene."""
        return self._links.get((body_id, link_index))

    def node_at(self, body_id: int, link_index: int, point: Sequence[float]) -> int | None:
        """The collider node whose surface is nearest to a point of the world on a link."""
        link = self._links.get((body_id, link_index))
        if link is None:
            return None
        if len(link.nodes) == 1:
            return link.nodes[0]
        frame = self._world_from_link(body_id, link_index, link)
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

    def _world_from_link(self, body_id: int, link_index: int, link: LinkColliders) -> Pose:
        if link_index < 0:
            pose = pybullet.getBasePositionAndOrientation(body_id, self._client_id)
            return Pose(pose[1], pose[0]) @ link.link_from_inertial.inverse()
        state = pybullet.getLinkState(
            body_id, link_index, computeForwardKinematics=1, physicsClientId=self._client_id
        )
        return Pose(state[5], state[4])


def cast_rays(
    client_id: int,
    index: ColliderIndex,
    starts: FloatArray,
    ends: FloatArray,
    admits: Callable[[int], bool],
) -> list[RayHit | None]:
    """The nearest admitted collider of the scene on each segment; triggers are never hit.

    Args:
        client_id: The world; its collision boxes are as fresh as the last step or reset.
        index: The colliders of the scene; other bodies are looked through.
        starts: World [m], shape [ray_count, 3].
        ends: World [m], shape [ray_count, 3].
        admits: Whether a collider node may be hit.
    """
    hits: list[RayHit | None] = [None] * len(starts)
    open_rays = list(range(len(starts)))
    passed = np.zeros(len(starts))
    lengths = np.linalg.norm(ends - starts, axis=1)
    # A ray that starts in the margin of a hull hits it at once (measured: the 1 mm of every hull of
    # a URDF file); steps grow until it is through.
    steps = np.full(len(starts), _STEP_PAST)
    last: list[tuple[int, int] | None] = [None] * len(starts)
    for _ in range(_MAX_PASSES):
        if not open_rays:
            break
        span = ends[open_rays] - starts[open_rays]
        origins = starts[open_rays] + span * passed[open_rays, None]
        results = pybullet.rayTestBatch(
            origins.tolist(), ends[open_rays].tolist(), physicsClientId=client_id
        )
        still_open = []
        for ray, result in zip(open_rays, results, strict=True):
            body_id, link_index, fraction, position, normal = result[:5]
            if body_id < 0:
                continue
            whole = passed[ray] + (1.0 - passed[ray]) * fraction
            node = index.node_at(body_id, link_index, position)
            if node is not None and admits(node):
                hits[ray] = RayHit(node, float(whole), np.array(normal), np.array(position))
                continue
            is_stuck = last[ray] == (body_id, link_index) and whole <= passed[ray]
            steps[ray] = 2.0 * steps[ray] if is_stuck else _STEP_PAST
            last[ray] = (body_id, link_index)
            passed[ray] = whole + steps[ray] / max(lengths[ray], 1e-12)
            if passed[ray] < 1.0:
                still_open.append(ray)
        open_rays = still_open
    return hits
