"""Collision bits and self-collision flags as collision filters of KHR_physics_rigid_bodies."""

from __future__ import annotations

from gltf_bullet.convert.description import LinkDescription, WorldDescription
from gltf_bullet.model import CollisionFilter

__all__ = ["collision_filters"]

_Class = tuple[int, int, int]
"""Group, mask, and the body whose links do not meet one another, or -1."""


def collision_filters(world: WorldDescription) -> dict[tuple[int, int], CollisionFilter]:
    """Filters by body and link, for links with colliders; without one where none is needed.

    Bullet's default: a pair meets when either side's group is in the other's mask. That is no
    property of one side, so where bits are not the default ones every class names what it meets.
    """
    classes: dict[tuple[int, int], _Class] = {}
    plain = True
    for number, body in enumerate(world.bodies):
        touching = [k for k, link in enumerate(body.links) if link.colliders]
        excludes_itself = not body.self_collision and len(touching) > 1
        for k in touching:
            link = body.links[k]
            moves = k > 0 or link.mass > 0.0
            plain = plain and _bits(link) == world.default_masks[moves]
            classes[number, k] = (*_bits(link), number if excludes_itself else -1)
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


def _self_exclusions(
    world: WorldDescription, classes: dict[tuple[int, int], _Class]
) -> dict[tuple[int, int], CollisionFilter]:
    """One system per body that does not meet itself; everybody else needs no filter."""
    used: set[str] = set()
    by_body: dict[int, CollisionFilter] = {}
    for number in dict.fromkeys(c[2] for c in classes.values() if c[2] >= 0):
        name = world.bodies[number].name or f"body {number}"
        if name in used:
            name = f"{name} {number}"
        used.add(name)
        system = frozenset({name})
        by_body[number] = CollisionFilter(systems=system, not_collide_with=system)
    return {where: by_body[c[2]] for where, c in classes.items() if c[2] >= 0}


def _bits(link: LinkDescription) -> tuple[int, int]:
    return link.group, link.mask


def _meets(a: _Class, b: _Class) -> bool:
    if a[2] >= 0 and a[2] == b[2]:
        return False
    return bool(a[0] & b[1]) or bool(b[0] & a[1])
