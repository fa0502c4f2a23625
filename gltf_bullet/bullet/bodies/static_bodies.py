"""Fixed colliders in the engine: one body each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import pybullet

from gltf_bullet.bullet.rendering.visuals import BodyVisuals
from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.planning.body_plans import StaticPlan

__all__ = ["create_statics"]

_MANY_STATICS = 64
"""From here on static colliders are cheaper in maximal coordinates."""


def create_statics(
    client_id: int,
    plans: Sequence[StaticPlan],
    shapes: EngineShapes,
    visuals: BodyVisuals,
    created: list[int],
    movable: Collection[int] = (),
    kept: Mapping[int, int] = MappingProxyType({}),
) -> dict[int, int]:
    """Create one fixed body per static collider; ids by collider node.

    Those of ``movable`` nodes may be carried by an animation and are multibodies.
    ``kept``: those that are there already. Every id is appended to ``created`` at once, so that a
    failure half-way can be undone.
    """
    body_by_node: dict[int, int] = {}
    maximal = len(plans) > _MANY_STATICS
    for plan in plans:
        if plan.node in kept:
            body_by_node[plan.node] = kept[plan.node]
            created.append(kept[plan.node])
            continue
        # The pose goes into the body, not the shape: equal colliders then share one shape.
        world_from_shape = plan.world_from_collider @ plan.shape.body_from_shape
        parts = (type(plan.shape)(plan.shape.shape),)
        shape_id = shapes.shape_id(parts)
        body_id = pybullet.createMultiBody(
            baseMass=0.0,
            baseCollisionShapeIndex=shape_id,
            baseVisualShapeIndex=visuals.of_static(plan),
            basePosition=world_from_shape.translation,
            baseOrientation=world_from_shape.rotation_xyzw,
            useMaximalCoordinates=maximal and plan.node not in movable,
            physicsClientId=client_id,
        )
        created.append(body_id)
        shapes.settle_margin(shape_id, parts, body_id, -1)
        visuals.finish_static(plan, body_id)
        body_by_node[plan.node] = body_id
    return body_by_node
