"""MSFT_CollisionPrimitives (004): colliders whose only shape key is the type, with their filter.

The schemas require every size; the text only says "the height of the capsule, centred along Y",
which is read as the distance between the cap centres, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from gltf_bullet.coverage import approximated, covers, exact
from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.filters import FILTER_KEYS, read_filter
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.properties import known_keys, read_block, read_table, report_unknown
from gltf_bullet.dialects.shape_table import read_box, read_extent, read_sphere, with_extent
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.model import (
    Box,
    Capsule,
    CollisionFilter,
    Cylinder,
    MeshShape,
    Shape,
    Sphere,
)

__all__ = [
    "CAPSULE_HEIGHT_LOOSE",
    "COLLIDER_TYPE_UNCLEAR",
    "COVERAGE",
    "EXTENSION",
    "SIZE_MISSING",
    "ColliderEntry",
    "read_colliders",
]

EXTENSION: Final = "MSFT_CollisionPrimitives"

COLLIDER_TYPE_UNCLEAR = IssueKind(
    "COLLIDER_TYPE_UNCLEAR",
    Severity.WARNING,
    "the collider has {got}; must have exactly one of {allowed}; whatever has it is left out",
)
SIZE_MISSING = IssueKind(
    "SIZE_MISSING", Severity.WARNING, "{key} is missing; must be given; {default} is used"
)
CAPSULE_HEIGHT_LOOSE = IssueKind(
    "CAPSULE_HEIGHT_LOOSE",
    Severity.WARNING,
    "the text does not say between which points a capsule's height is measured; "
    "it is read as the distance between the cap centres",
)

COVERAGE: Final = covers(
    "Objects and references",
    exact(
        "colliders", "box", "sphere", "capsule", "cylinder",
        shown_by="tests/dialects/test_msft.py::test_the_key_of_a_collider_is_its_type",
    ),
    approximated("height", when="capsules of MSFT", by=CAPSULE_HEIGHT_LOOSE),
    exact(
        "collisionSystem",
        when="the older spelling of collisionSystems",
        shown_by="tests/dialects/test_msft.py::test_the_filter_stands_on_the_collider",
    ),
)  # fmt: skip

_ROUND: Final = known_keys("height", "radius")
_OLDER_SYSTEMS: Final = "collisionSystem"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColliderEntry:
    """A shape and the filter that stands on it."""

    shape: Shape
    filter: CollisionFilter | None


def read_colliders(
    document: Document, diagnostics: Diagnostics
) -> tuple[ColliderEntry | None, ...]:
    """The collider table; an entry that cannot be used is ``None`` and was reported."""
    at = ROOT / "extensions" / EXTENSION
    root = document.root_extension(EXTENSION)
    report_unknown(root, known_keys("colliders"), EXTENSION, at, diagnostics)
    parse = partial(_parse_entry, document=document)
    return read_table(root, "colliders", at, diagnostics, parse, required=True)


def _parse_entry(
    entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics, *, document: Document
) -> ColliderEntry | None:
    known = known_keys(*_PARSERS, *FILTER_KEYS, _OLDER_SYSTEMS, "type")
    report_unknown(entry, known, "a collider", at, diagnostics)
    collision_filter: CollisionFilter | None = None
    if _OLDER_SYSTEMS in entry or any(key in entry for key in FILTER_KEYS):
        # The schema says collisionSystem, files and the later dialect say collisionSystems.
        newer = "collisionSystems" in entry or _OLDER_SYSTEMS not in entry
        collision_filter = read_filter(
            entry, at, diagnostics, systems_key="collisionSystems" if newer else _OLDER_SYSTEMS
        )
    present = [key for key in _PARSERS if key in entry]
    if len(present) != 1:
        diagnostics.report(
            COLLIDER_TYPE_UNCLEAR,
            at,
            got=" and ".join(present) or "no shape",
            allowed=", ".join(_PARSERS),
        )
        return None
    kind = present[0]
    block = read_block(entry, kind, at, diagnostics) or {}
    shape = _PARSERS[kind](block, at / kind, diagnostics, document)
    return None if shape is None else ColliderEntry(shape=shape, filter=collision_filter)


def _warn_missing(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, **defaults: object
) -> None:
    for key, default in defaults.items():
        if key not in block:
            diagnostics.report(SIZE_MISSING, at, key=key, default=default)


def _parse_box(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, _document: Document
) -> Box | None:
    _warn_missing(block, at, diagnostics, size=(1.0, 1.0, 1.0))
    return read_box(block, at, diagnostics, size=(1.0, 1.0, 1.0), may_be_flat=True)


def _parse_sphere(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, _document: Document
) -> Sphere | None:
    _warn_missing(block, at, diagnostics, radius=0.5)
    return read_sphere(block, at, diagnostics, radius=0.5)


def _read_round(
    block: JsonObject, what: str, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[float, float] | None:
    """Height and radius, if they make a shape."""
    report_unknown(block, _ROUND, f"a {what}", at, diagnostics)
    _warn_missing(block, at, diagnostics, height=0.5, radius=0.25)
    height = read_extent(block, "height", at, diagnostics, default=0.5)
    radius = read_extent(block, "radius", at, diagnostics, default=0.25)
    if height is None or radius is None:
        return None
    return with_extent((height, radius), what, (height, radius), at, diagnostics)


def _parse_capsule(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, _document: Document
) -> Capsule | None:
    sizes = _read_round(block, "capsule", at, diagnostics)
    if sizes is None:
        return None
    height, radius = sizes
    diagnostics.report(CAPSULE_HEIGHT_LOOSE, at / "height")
    return Capsule(mid_height=height, radius_bottom=radius, radius_top=radius, pointer=at)


def _parse_cylinder(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, _document: Document
) -> Cylinder | None:
    sizes = _read_round(block, "cylinder", at, diagnostics)
    if sizes is None:
        return None
    height, radius = sizes
    return Cylinder(height=height, radius_bottom=radius, radius_top=radius, pointer=at)


def _parse_convex(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, document: Document
) -> MeshShape | None:
    report_unknown(block, known_keys("mesh"), "a convex collider", at, diagnostics)
    return read_mesh(block, at, diagnostics, document, convex_hull=True)


def _parse_trimesh(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, document: Document
) -> MeshShape | None:
    report_unknown(block, known_keys("mesh"), "a trimesh collider", at, diagnostics)
    return read_mesh(block, at, diagnostics, document, convex_hull=False)


_PARSERS: Final[
    Mapping[str, Callable[[JsonObject, JsonPointer, Diagnostics, Document], Shape | None]]
] = {
    "sphere": _parse_sphere,
    "box": _parse_box,
    "capsule": _parse_capsule,
    "cylinder": _parse_cylinder,
    "convex": _parse_convex,
    "trimesh": _parse_trimesh,
}
