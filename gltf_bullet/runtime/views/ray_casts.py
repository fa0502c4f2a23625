"""Ray casts with the file's collision filters (rigid_body/rayCast)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gltf_bullet.bullet.world.ray_casts import RayHit, cast_rays
from gltf_bullet.model import may_collide
from gltf_bullet.records import replace
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.transforms import float_array


def cast_filtered_rays(
    core: SceneCore,
    starts: Sequence[Sequence[float]],
    ends: Sequence[Sequence[float]],
    collision_filter: int = -1,
    but: Callable[[int], bool] = lambda _: False,
) -> list[RayHit | None]:
    """Return the nearest admitted collider of the scene on each segment.

    Args:
        core: The scene.
        starts: Start points in the world [m], shape [ray_count, 3].
        ends: End points in the world [m], shape [ray_count, 3].
        collision_filter: Index into the file's ``collisionFilters``; -1: none.
        but: Returns True for collider nodes that do not count.

    Raises:
        IndexError: The file has no such filter.
        ValueError: There are not as many ends as starts.
    """
    core.require_alive()
    begin = float_array("starts", starts).reshape(-1, 3)
    end = float_array("ends", ends).reshape(-1, 3)
    if len(begin) != len(end):
        raise ValueError(f"ends has {len(end)} points; must be as many as starts, {len(begin)}")
    filters, colliders = core.model.now.collision_filters, core.model.now.colliders
    if collision_filter >= len(filters):
        raise IndexError(f"filter {collision_filter}; the file has {len(filters)}")
    ray_filter = filters[collision_filter] if collision_filter >= 0 else None
    hits = cast_rays(
        core.client_id,
        core.world.colliders,
        begin,
        end,
        lambda node: may_collide(ray_filter, colliders[node].filter) and not but(node),
    )
    names = core.asset.tree.names
    return [None if hit is None else replace(hit, name=names[hit.node]) for hit in hits]
