"""Colliders of one body as groups: what may share an engine link, and as one compound shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gltf_bullet.model import (
    DEFAULT_MATERIAL,
    Collider,
)
from gltf_bullet.model.mass_properties import Moments
from gltf_bullet.planning.body_plans import ColliderGroup
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    CapsulePlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    PlacedShape,
    SpherePlan,
)

__all__ = ["COMPOUND_LIMIT", "PlacedCollider", "group_colliders"]

COMPOUND_LIMIT = 16
"""Children of one compound shape; Bullet drops more without a word. All hulls together count as
one: they come from one file, which has no such limit."""

_HULLS = (HullPlan, ConvexPartsPlan)
_PRIMITIVES = (BoxPlan, SpherePlan, CapsulePlan, CylinderPlan)


@dataclass(frozen=True, slots=True, eq=False)
class PlacedCollider:
    """A collider in the frame of the body that carries it."""

    collider: Collider
    shape: PlacedShape
    """In the body's frame."""
    moments: Moments
    """In the body's frame, density 1."""


def group_colliders(colliders: Iterable[PlacedCollider]) -> tuple[ColliderGroup, ...]:
    """Colliders that may share a link: same material, same filter, kinds that make a compound."""
    open_groups: dict[object, list[PlacedCollider]] = {}
    closed: list[list[PlacedCollider]] = []
    for placed in colliders:
        if not isinstance(placed.shape.shape, (*_PRIMITIVES, *_HULLS)):
            closed.append([placed])  # triangles and planes stand alone
            continue
        key = (placed.collider.material or DEFAULT_MATERIAL, placed.collider.filter)
        members = open_groups.setdefault(key, [])
        if _is_full(members, placed):
            closed.append(open_groups.pop(key))
            members = open_groups.setdefault(key, [])
        members.append(placed)
    groups = [*open_groups.values(), *closed]
    return tuple(
        ColliderGroup(
            shapes=tuple(member.shape for member in members),
            collider_nodes=tuple(member.collider.node for member in members),
            material=members[0].collider.material or DEFAULT_MATERIAL,
            filter=members[0].collider.filter,
        )
        for members in groups
    )


def _is_full(members: list[PlacedCollider], added: PlacedCollider) -> bool:
    hulls = sum(isinstance(member.shape.shape, _HULLS) for member in (*members, added))
    return len(members) + 1 - hulls + min(hulls, 1) > COMPOUND_LIMIT
