"""Who meets whom, as collision filters of KHR_physics_rigid_bodies."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from gltf_bullet.convert.description import LinkDescription, StatedSurface, WorldDescription
from gltf_bullet.model import CollisionFilter, may_collide

__all__ = ["collision_filters"]

_Where: TypeAlias = tuple[int, int, int]
"""Numbers of a body, of one of its links and of a collider of that."""


class _Class(NamedTuple):
    """Colliders that meet the same others."""

    group: int
    mask: int
    apart: int
    """The body whose links do not meet one another, or -1."""
    scene: int
    """Whose file says what meets, or -1."""
    filter: CollisionFilter | None
    outward: CollisionFilter | None


def collision_filters(world: WorldDescription) -> dict[_Where, CollisionFilter]:
    """Filters by collider; without one where none is needed.

    Bullet's default: a pair meets when either side's group is in the other's mask. That is no
    property of one side, so where bits are not the default ones every class names what it meets.
    Where all colliders are of one scene, they have the filters of its file.
    """
    colliders = [
        ((number, k, c), link, collider)
        for number, body in enumerate(world.bodies)
        for k, link in enumerate(body.links)
        for c, collider in enumerate(link.colliders)
    ]
    scenes = {-1 if c.stated is None else c.stated.scene for _, _, c in colliders}
    if len(scenes) == 1 and -1 not in scenes:
        return {
            where: collider.stated.filter
            for where, _, collider in colliders
            if collider.stated is not None and collider.stated.filter is not None
        }
    classes: dict[_Where, _Class] = {}
    plain = True
    for where, link, collider in colliders:
        number, k, _ = where
        body = world.bodies[number]
        touching = sum(bool(other.colliders) for other in body.links)
        excludes_itself = not body.self_collision and touching > 1
        found = _class(link, collider.stated, number if excludes_itself else -1)
        if found.scene >= 0:
            # Bits also keep surfaces apart of which each pair has links of its own.
            plain = plain and found.filter is None
        else:
            moves = k > 0 or link.mass > 0.0
            plain = plain and (link.group, link.mask) == world.default_masks[moves]
        classes[where] = found
    if plain:
        return _self_exclusions(world, classes)
    names = {c: f"class {k}" for k, c in enumerate(dict.fromkeys(classes.values()))}
    filters = {
        own: CollisionFilter(
            systems=frozenset({name}),
            collide_with=frozenset(names[other] for other in names if _meets(own, other))
            or frozenset({"nothing"}),
        )
        for own, name in names.items()
    }
    return {where: filters[c] for where, c in classes.items()}


def _class(link: LinkDescription, stated: StatedSurface | None, apart: int) -> _Class:
    if stated is None or stated.scene < 0:
        return _Class(link.group, link.mask, apart, -1, None, None)
    return _Class(link.group, link.mask, apart, stated.scene, stated.filter, stated.outward)


def _self_exclusions(
    world: WorldDescription, classes: dict[_Where, _Class]
) -> dict[_Where, CollisionFilter]:
    """One system per body that does not meet itself; everybody else needs no filter."""
    used: set[str] = set()
    by_body: dict[int, CollisionFilter] = {}
    for number in dict.fromkeys(c.apart for c in classes.values() if c.apart >= 0):
        name = world.bodies[number].name or f"body {number}"
        if name in used:
            name = f"{name} {number}"
        used.add(name)
        system = frozenset({name})
        by_body[number] = CollisionFilter(systems=system, not_collide_with=system)
    return {where: by_body[c.apart] for where, c in classes.items() if c.apart >= 0}


def _meets(a: _Class, b: _Class) -> bool:
    if a.apart >= 0 and a.apart == b.apart:
        return False
    if a.scene >= 0 and b.scene >= 0:
        if a.scene == b.scene:
            return may_collide(a.filter, b.filter)
        return may_collide(a.outward, b.outward)
    return bool(a.group & b.mask) or bool(b.group & a.mask)
