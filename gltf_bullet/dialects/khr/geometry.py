"""The geometry of a KHR collider or trigger: ``geometry.shape``, ``.node``, ``.mesh`` or ``shape``.

KHR_physics_rigid_bodies, "Geometry" (001) and the older ``collider.shape`` (000).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.dialects.khr import collision_shapes as khr_collision_shapes
from gltf_bullet.dialects.khr import implicit_shapes as khr_implicit_shapes
from gltf_bullet.dialects.khr.core_shapes import read_core_shapes
from gltf_bullet.dialects.mesh_geometry import (
    ShapeEntry,
    mesh_of_node,
    read_mesh,
    shape_on_node,
)
from gltf_bullet.dialects.precedence import DIALECT_SHADOWED
from gltf_bullet.dialects.reading import known_keys, read_entry, report_unknown
from gltf_bullet.dialects.shape_table import SHAPE_LEFT_OUT
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import MeshShape, Shape
from gltf_bullet.records import replace

GEOMETRY_MISSING = warning(
    "GEOMETRY_MISSING",
    "the {owner} names no geometry; must have one of geometry.shape, geometry.node, "
    "geometry.mesh or (older) shape; it is left out",
)
GEOMETRY_AMBIGUOUS = warning(
    "GEOMETRY_AMBIGUOUS",
    "the geometry has {got}; must have exactly one of shape, node and mesh; {used} is used",
)

_SOURCES: Final = ("shape", "node", "mesh")
_KEYS: Final = known_keys(*_SOURCES, "convexHull")


class KhrShapes(Struct, frozen=True, kw_only=True):
    """The shape tables of both revisions."""

    document: Document
    implicit: tuple[Shape | None, ...]
    """KHR_implicit_shapes, or the core shapes of glTF 2.1, named by ``geometry.shape``."""
    collision: tuple[ShapeEntry | None, ...]
    """KHR_collision_shapes, named by ``shape``."""

    @staticmethod
    def of(document: Document, diagnostics: Diagnostics) -> KhrShapes:
        """Read both tables."""
        implicit = khr_implicit_shapes.read_shapes(document, diagnostics)
        return KhrShapes(
            document=document,
            implicit=implicit or read_core_shapes(document, diagnostics),
            collision=khr_collision_shapes.read_shapes(document, diagnostics),
        )


def has_geometry(owner: Reader) -> bool:
    """True if a collider or trigger names a geometry, in either revision."""
    return "geometry" in owner or "shape" in owner


def read_geometry(owner: Reader, what: str, node: int, shapes: KhrShapes) -> Shape | None:
    """The shape of the collider or trigger ``owner`` on ``node``; ``None`` was reported."""
    if "geometry" in owner:
        if "shape" in owner:
            owner.report(
                DIALECT_SHADOWED,
                "shape",
                shadowed=khr_collision_shapes.EXTENSION,
                winner=khr_implicit_shapes.EXTENSION,
            )
        geometry = owner.member("geometry", instead=SHAPE_LEFT_OUT)
        if geometry is None:
            return None
        return _read_newer(geometry, what, node, shapes)
    if "shape" in owner:
        if shapes.implicit and not shapes.collision:
            # So the text's own example has it (001, "Adding Rigid Body Properties to Nodes").
            return read_entry(owner, "shape", shapes.implicit, instead=SHAPE_LEFT_OUT)
        entry = read_entry(owner, "shape", shapes.collision, instead=SHAPE_LEFT_OUT)
        return shape_on_node(entry, node, shapes.document, owner.diagnostics)
    owner.report(GEOMETRY_MISSING, owner=what)
    return None


def _read_newer(geometry: Reader, what: str, node: int, shapes: KhrShapes) -> Shape | None:
    report_unknown(geometry, _KEYS, "a geometry")
    present = [key for key in _SOURCES if key in geometry]
    convex_hull = geometry.boolean("convexHull", default=False)
    if len(present) > 1:
        geometry.report(GEOMETRY_AMBIGUOUS, got=" and ".join(present), used=present[0])
    source = present[0] if present else None
    if source == "shape":
        if shapes.collision and not shapes.implicit:
            entry = read_entry(geometry, "shape", shapes.collision, instead=SHAPE_LEFT_OUT)
            found = shape_on_node(entry, node, shapes.document, geometry.diagnostics)
        else:
            found = read_entry(geometry, "shape", shapes.implicit, instead=SHAPE_LEFT_OUT)
        # Implicit shapes are convex already; glTF 2.1 has meshes among them (001, "Geometry").
        if convex_hull and isinstance(found, MeshShape):
            found = replace(found, convex_hull=True)
        return found
    if source == "mesh":
        return read_mesh(geometry, shapes.document, convex_hull=convex_hull)
    if source == "node":
        count = len(shapes.document.tree)
        found_at = geometry.index("node", count=count, instead=SHAPE_LEFT_OUT, refers=True)
        if found_at is None:
            return None
        return mesh_of_node(found_at, geometry, shapes.document, convex_hull=convex_hull)
    geometry.report(GEOMETRY_MISSING, owner=what)
    return None
