"""Which distinct surfaces a scene has, and which of them may meet."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from gltf_bullet.model import (
    DEFAULT_MATERIAL,
    CollisionFilter,
    MotionKind,
    PhysicsMaterial,
    combine,
    may_collide,
)
from gltf_bullet.model.materials import CombineMode
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.body_plans import SurfaceKey
from gltf_bullet.planning.contacts.flat_landings import Shown
from gltf_bullet.planning.shapes.shape_plans import BvhPlan

__all__ = [
    "SurfaceUse",
    "alone_friction",
    "alone_restitution",
    "colliders_by_use",
    "meetings",
    "surface_key",
    "surface_uses",
    "uses_on_triangles",
]


@dataclass(frozen=True, slots=True)
class SurfaceUse:
    """A distinct combination of surface and filter, and the bodies that have it."""

    key: SurfaceKey
    filter: CollisionFilter | None


def surface_key(material: PhysicsMaterial, kind: MotionKind | None) -> SurfaceKey:
    """The key of a material on a body of a kind; ``None``: of a collider without motion."""
    return SurfaceKey(material=material, is_dynamic=kind is MotionKind.DYNAMIC)


def alone_friction(key: SurfaceKey) -> float:
    """What decides how a surface rubs on bodies of other scenes, and of the user.

    A pushed one keeps its own number, as Bullet's users expect beside their bodies; ground gives
    such a body of the default material what the spec combines: 1 if it has that as well, and its
    own number if it multiplies.
    """
    material = key.material
    if key.is_dynamic:
        return material.dynamic_friction
    partner = DEFAULT_MATERIAL.dynamic_friction
    modes = material.friction_combine, DEFAULT_MATERIAL.friction_combine
    return combine(material.dynamic_friction, partner, *modes) / partner


def alone_restitution(key: SurfaceKey) -> float:
    """Likewise; of ground that does not multiply the partner alone decides."""
    multiplies = key.material.restitution_combine is CombineMode.MULTIPLY
    return key.material.restitution if key.is_dynamic or multiplies else 1.0


def surface_uses(bodies: BodyPlans) -> dict[SurfaceUse, set[int]]:
    """All uses, with two at most of the bodies that have them; -1 stands for fixed colliders."""
    uses: dict[SurfaceUse, set[int]] = {}
    for plan in bodies.bodies.values():
        for group in plan.groups:
            use = SurfaceUse(surface_key(group.material, plan.kind), group.filter)
            owners = uses.setdefault(use, set())
            if len(owners) < 2:
                owners.add(plan.node)
    for static in bodies.statics:
        uses.setdefault(SurfaceUse(surface_key(static.material, None), static.filter), set()).add(
            -1
        )
    return uses


def colliders_by_use(bodies: BodyPlans) -> dict[Hashable, list[Shown]]:
    """The colliders of each use."""
    shown: dict[Hashable, list[Shown]] = {}
    for plan in bodies.bodies.values():
        for group in plan.groups:
            use = SurfaceUse(surface_key(group.material, plan.kind), group.filter)
            shapes = [placed.shape for placed in group.shapes]
            shown.setdefault(use, []).append((group.collider_nodes[0], shapes))
    for static in bodies.statics:
        use = SurfaceUse(surface_key(static.material, None), static.filter)
        shown.setdefault(use, []).append((static.node, [static.shape.shape]))
    return shown


def meetings(uses: Mapping[SurfaceUse, set[int]]) -> Iterator[tuple[SurfaceUse, SurfaceUse]]:
    """The pairs of uses that may meet, each once."""
    listed = list(uses.items())
    for at, (use, owners) in enumerate(listed):
        for other, other_owners in listed[at:]:
            if not (use.key.is_dynamic or other.key.is_dynamic):
                continue
            if len(owners | other_owners) >= 2 and may_collide(use.filter, other.filter):
                yield use, other


def uses_on_triangles(
    bodies: BodyPlans, uses: Mapping[SurfaceUse, set[int]]
) -> frozenset[SurfaceUse]:
    """The uses that may meet some triangle mesh."""
    meshes = {
        SurfaceUse(surface_key(static.material, None), static.filter)
        for static in bodies.statics
        if isinstance(static.shape.shape, BvhPlan)
    }
    for plan in bodies.bodies.values():
        meshes |= {
            SurfaceUse(surface_key(group.material, plan.kind), group.filter)
            for group in plan.groups
            if isinstance(group.shapes[0].shape, BvhPlan)
        }
    if not meshes:
        return frozenset()
    return frozenset(
        use
        for one, other in meetings(uses)
        for use, partner in ((one, other), (other, one))
        if partner in meshes
    )
