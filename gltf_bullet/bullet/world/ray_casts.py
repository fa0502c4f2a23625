"""Ray casts against one scene. KHR_physics_rigid_bodies, "Scene query nodes"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pybullet

from gltf_bullet.bullet.shapes.collider_index import ColliderIndex
from gltf_bullet.transforms import FloatArray

_MOST_SURFACES = 4096
"""Largest number of hits of one ray that are read; each costs a query that finds them all."""


@dataclass(frozen=True, slots=True)
class RayHit:
    """The nearest collider on a ray segment."""

    node: int
    """glTF index of the collider's node."""
    fraction: float
    """Distance from the start as a fraction of the segment, 0 to 1."""
    normal: FloatArray
    """Unit normal of the surface, world axes, shape [3]."""
    position: FloatArray
    """Position of the hit in the world [m], shape [3]."""
    name: str = ""
    """Name of ``node``; empty if it has none."""


def cast_rays(
    client_id: int,
    index: ColliderIndex,
    starts: FloatArray,
    ends: FloatArray,
    admits: Callable[[int], bool],
) -> list[RayHit | None]:
    """Find the nearest admitted collider of the scene on each segment; triggers are never hit.

    Args:
        client_id: The world; its collision boxes are those of the last step or reset.
        index: The colliders of the scene; other bodies are ignored.
        starts: Start points in the world [m], shape [ray_count, 3].
        ends: End points in the world [m], shape [ray_count, 3].
        admits: Returns True if a collider node may be hit.
    """
    hits: list[RayHit | None] = [None] * len(starts)

    def take(rays: list[int], results: Sequence[tuple[Any, ...]]) -> list[int]:
        """Store admitted hits that are nearer than before; return rays that hit something else."""
        refused = []
        for ray, (body_id, link_index, fraction, position, normal, *_) in zip(
            rays, results, strict=True
        ):
            if body_id < 0:
                continue
            known = hits[ray]
            if known is not None and known.fraction <= fraction:
                continue
            node = index.node_at(body_id, link_index, position)
            is_behind = index.is_behind(body_id, link_index, ends[ray] - starts[ray])
            if node is None or is_behind or not admits(node):
                refused.append(ray)
            else:
                hits[ray] = RayHit(node, float(fraction), np.array(normal), np.array(position))
        return refused

    rays = take(list(range(len(starts))), _cast(client_id, starts, ends))
    # Rays end at the first hit: one that starts in a ball or a capsule hits it (measured), and
    # colliders in there would be missed. So all hits of these rays are read.
    for number in range(_MOST_SURFACES):
        if not rays:
            break
        results = _cast(client_id, starts[rays], ends[rays], number)
        take(rays, results)
        rays = [ray for ray, result in zip(rays, results, strict=True) if result[0] >= 0]
    return hits


def _cast(
    client_id: int, starts: FloatArray, ends: FloatArray, number: int = -1
) -> Sequence[tuple[Any, ...]]:
    """Return the nearest hit of each segment; or one of all its hits, by number, unordered."""
    if not len(starts):
        return ()
    found: Sequence[tuple[Any, ...]] = pybullet.rayTestBatch(
        starts.tolist(), ends.tolist(), reportHitNumber=number, fractionEpsilon=0.0,
        physicsClientId=client_id,
    )  # fmt: skip
    return found
