"""Colliders and triggers, with the materials and filters that say how they meet others."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from gltf_bullet.diagnostics import ROOT, JsonPointer
from gltf_bullet.model.shapes import Shape


class CombineMode(enum.Enum):
    """A rule that makes one value of two, strongest first ("Physics Materials")."""

    AVERAGE = "average"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    MULTIPLY = "multiply"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsMaterial:
    """Surface properties of a collider. Coefficients are dimensionless."""

    static_friction: float = 0.6
    dynamic_friction: float = 0.6
    restitution: float = 0.0
    friction_combine: CombineMode | None = None
    """``None``: the file states no mode, which has no opinion on the pair."""
    restitution_combine: CombineMode | None = None
    """``None``: the file states no mode, which has no opinion on the pair."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


DEFAULT_MATERIAL = PhysicsMaterial()
"""The material of colliders without one: the schema's defaults."""

_PRECEDENCE = tuple(CombineMode)


def combine(a: float, b: float, mode_a: CombineMode | None, mode_b: CombineMode | None) -> float:
    """Combine two coefficients by the strongest *stated* mode; none stated: average."""
    mode = next((m for m in _PRECEDENCE if m in (mode_a, mode_b)), CombineMode.AVERAGE)
    if mode is CombineMode.AVERAGE:
        return 0.5 * (a + b)
    if mode is CombineMode.MINIMUM:
        return min(a, b)
    if mode is CombineMode.MAXIMUM:
        return max(a, b)
    return a * b


@dataclass(frozen=True, slots=True, kw_only=True)
class CollisionFilter:
    """The systems that a collider is in and meets, by arbitrary names."""

    systems: frozenset[str] = frozenset()
    collide_with: frozenset[str] | None = None
    """The only systems that it meets; ``None``: not stated."""
    not_collide_with: frozenset[str] | None = None
    """Systems that it does not meet; ``None``: not stated. With both, both must admit the other."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


def _admits(one: CollisionFilter | None, other: CollisionFilter | None) -> bool:
    """True if ``one`` is willing to meet ``other``.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Collider:
    """A solid shape in the frame of its node."""

    node: int
    shape: Shape
    material: PhysicsMaterial | None = None
    """``None``: the file assigns none; :data:`DEFAULT_MATERIAL`."""
    filter: CollisionFilter | None = None
    """``None``: the collider meets everything."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A volume that reports overlaps without a physical response.

    Either a shape of its own, or a compound of descendant trigger nodes that reports as one.
    """

    node: int
    shape: Shape | None = None
    """``None`` for a compound."""
    part_nodes: tuple[int, ...] = ()
    """Trigger nodes that make up the compound; empty for a single shape."""
    filter: CollisionFilter | None = None
    """``None``: the trigger senses everything."""
    pointer: JsonPointer = field(default=ROOT, compare=False)
