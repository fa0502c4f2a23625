"""What the dialects contribute before references between nodes are resolved."""

from __future__ import annotations

from dataclasses import dataclass, field

from gltf_bullet.diagnostics import JsonPointer
from gltf_bullet.model import (
    Collider,
    CollisionFilter,
    GravityVolume,
    Joint,
    Motion,
    Trigger,
    WorldGravity,
)

__all__ = ["PhysicsParts", "node_extension_pointer"]


@dataclass(slots=True, kw_only=True)
class PhysicsParts:
    """The values of all dialects by node index; filled in by one dialect after the other.

    Indices into tables are resolved, node indices exist; whether the named nodes are what they must
    be (a trigger, a body) is only known when all dialects have been read.
    """

    motions: dict[int, Motion] = field(default_factory=dict)
    colliders: dict[int, Collider] = field(default_factory=dict)
    triggers: dict[int, Trigger] = field(default_factory=dict)
    joints: dict[int, Joint] = field(default_factory=dict)
    empty_triggers: dict[int, JsonPointer] = field(default_factory=dict)
    """Triggers that name neither a shape nor parts (OMI_physics_body allows it)."""
    world_gravity: WorldGravity | None = None
    gravity_volumes: dict[int, GravityVolume] = field(default_factory=dict)
    collision_filters: tuple[CollisionFilter, ...] = ()
    """The table of the newest dialect that has one, for queries by index."""


def node_extension_pointer(node: int, extension: str) -> JsonPointer:
    """The place of an extension object on a node."""
    return JsonPointer(f"/nodes/{node}/extensions/{extension}")
