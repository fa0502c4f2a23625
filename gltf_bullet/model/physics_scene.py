"""The waist of the hourglass: one file's physics, free of dialect and engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from gltf_bullet.model.colliders import Collider, CollisionFilter, PhysicsMaterial, Trigger
from gltf_bullet.model.gravity import GravityVolume, WorldGravity
from gltf_bullet.model.joints import Joint, JointDescription
from gltf_bullet.model.motion import Motion
from gltf_bullet.model.shapes import Shape
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import IntArray

V = TypeVar("V")


def _frozen(value: Mapping[int, V]) -> Mapping[int, V]:
    # Most tables of an edited scene are those of the scene before.
    return value if isinstance(value, MappingProxyType) else MappingProxyType(dict(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsScene:
    """Motions, colliders, triggers, joints and gravity by glTF node index.

    Only reachable with consistent references: every node index below exists in the tree.
    """

    motions: Mapping[int, Motion] = field(default_factory=dict)
    colliders: Mapping[int, Collider] = field(default_factory=dict)
    triggers: Mapping[int, Trigger] = field(default_factory=dict)
    joints: Mapping[int, Joint] = field(default_factory=dict)
    world_gravity: WorldGravity | None = None
    """``None``: the file states none."""
    gravity_volumes: Mapping[int, GravityVolume] = field(default_factory=dict)
    collision_filters: tuple[CollisionFilter, ...] = field(default=(), compare=False)
    """The file's table, for queries that name a filter by its index."""
    tables: tuple[PhysicsMaterial | Shape | JointDescription, ...] = field(
        default=(), compare=False
    )
    """All entries of the file's tables, for pointers to what nothing uses."""

    def __post_init__(self) -> None:
        for name in ("motions", "colliders", "triggers", "joints", "gravity_volumes"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))

    def __reduce__(self) -> tuple[object, ...]:
        # A mappingproxy cannot be pickled.
        return (_rebuild, tuple(dict(v) if isinstance(v, Mapping) else v for v in self._values()))

    def _values(self) -> tuple[object, ...]:
        return (
            self.motions, self.colliders, self.triggers,
            self.joints, self.world_gravity, self.gravity_volumes, self.collision_filters,
            self.tables,
        )  # fmt: skip

    def motion_node_of(self, tree: NodeTree) -> IntArray:
        """Per node the nearest node with motion at or above it, -1 without one.

        KHR_physics_rigid_bodies, "Motions": the nearest motion wins; a nested one is independent.
        """
        marked = np.zeros(len(tree), dtype=bool)
        marked[list(self.motions)] = True
        return tree.nearest_at_or_above(marked)


def _rebuild(
    motions: dict[int, Motion],
    colliders: dict[int, Collider],
    triggers: dict[int, Trigger],
    joints: dict[int, Joint],
    world_gravity: WorldGravity | None,
    gravity_volumes: dict[int, GravityVolume],
    collision_filters: tuple[CollisionFilter, ...],
    tables: tuple[PhysicsMaterial | Shape | JointDescription, ...],
) -> PhysicsScene:
    return PhysicsScene(
        motions=motions,
        colliders=colliders,
        triggers=triggers,
        joints=joints,
        world_gravity=world_gravity,
        gravity_volumes=gravity_volumes,
        collision_filters=collision_filters,
        tables=tables,
    )
