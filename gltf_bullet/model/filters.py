"""Collision filters and the pure predicate that says which pairs may meet."""

from __future__ import annotations

from dataclasses import dataclass, field

from gltf_bullet.diagnostics import ROOT, JsonPointer

__all__ = ["CollisionFilter", "may_collide"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollisionFilter:
    """Which systems a collider is in, and which it meets. Strings are arbitrary names."""

    systems: frozenset[str] = frozenset()
    collide_with: frozenset[str] | None = None
    """Meets these systems only; ``None``: not stated."""
    not_collide_with: frozenset[str] | None = None
    """Does not meet these systems; ``None``: not stated. With both, both must admit the other."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


def _admits(one: CollisionFilter | None, other: CollisionFilter | None) -> bool:
    """Whether ``one`` is willing to meet ``other``.

    The text says "subset"; the published samples (a ground in systems 0 and 1 under bodies that
    list only 0 or only 1) and every peer need "any system in common". With the negative list the
    answer is the exact complement: some system of ``other`` is not in it.
    """
    if one is None or other is None or not other.systems:
        return True
    if one.collide_with is not None and other.systems.isdisjoint(one.collide_with):
        return False
    return one.not_collide_with is None or not other.systems <= one.not_collide_with


def may_collide(a: CollisionFilter | None, b: CollisionFilter | None) -> bool:
    """KHR_physics_rigid_bodies, "Collision Filtering": both sides must admit the other."""
    return _admits(a, b) and _admits(b, a)
