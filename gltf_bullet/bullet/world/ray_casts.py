"""Ray casts against one scene. KHR_physics_rigid_bodies, "Scene query nodes"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.shapes.collider_index import ColliderIndex
from gltf_bullet.transforms import FloatArray

__all__ = ["RayHit", "cast_rays"]

_MAX_PASSES = 64
"""Colliders that one ray may pass: not ours, filtered out, or planes from behind."""

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
            is_behind = index.is_behind(body_id, link_index, ends[ray] - starts[ray])
            if node is not None and not is_behind and admits(node):
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
