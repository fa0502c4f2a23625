"""Solid and sensing volumes on nodes."""

from __future__ import annotations

from dataclasses import dataclass, field

from gltf_bullet.diagnostics import ROOT, JsonPointer
from gltf_bullet.model.filters import CollisionFilter
from gltf_bullet.model.materials import PhysicsMaterial
from gltf_bullet.model.shapes import Shape

__all__ = ["Collider", "Trigger"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collider:
    """A solid shape in the frame of its node."""

    node: int
    shape: Shape
    material: PhysicsMaterial | None = None
    """``None``: the file assigns none; :data:`~gltf_bullet.model.materials.DEFAULT_MATERIAL`."""
    filter: CollisionFilter | None = None
    """``None``: meets everything."""
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
    """``None``: senses everything."""
    pointer: JsonPointer = field(default=ROOT, compare=False)
