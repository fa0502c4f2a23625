"""OMI_physics_shape: sphere, box, capsule, cylinder, convex and trimesh with OMI's own defaults.

``height`` of a capsule is the "mid height" between the cap centres. Old files write one ``radius``;
there ``height`` is the total height, as in OMI_collider (and as in the OMI_physics_joint examples).
Older still are sizes beside ``type``, and ``hull`` for ``convex``: OMI_collider under the new name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, note
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.reading import known_keys, read_table, report_unknown
from gltf_bullet.dialects.shape_table import (
    SHAPE_IN_OTHER_FORM,
    BlockParser,
    parse_typed_shape,
    read_box,
    read_capsule,
    read_cylinder,
    read_sphere,
    read_straight_cylinder,
    read_total_height_capsule,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.model import Capsule, Cylinder, MeshShape, Shape
from gltf_bullet.model.properties import BOX, CAPSULE, Dialect

EXTENSION: Final = "OMI_physics_shape"

LEGACY_RADIUS = note(
    "LEGACY_RADIUS",
    "the {shape} has the older key radius; should have radiusBottom and radiusTop; "
    "it is read as in the older revision, where height is the total height",
)

_LEGACY: Final = known_keys(*CAPSULE.names(Dialect.OMI_COLLIDER))
_SIZES: Final = frozenset((*BOX.names(Dialect.OMI), *CAPSULE.names(Dialect.OMI), "radius", "mesh"))


def read_shapes(document: Document, diagnostics: Diagnostics) -> tuple[Shape | None, ...]:
    """The shape table; an entry that cannot be used is ``None`` and was reported."""
    at = ROOT / "extensions" / EXTENSION
    root = document.root_extension(EXTENSION)
    report_unknown(root, known_keys("shapes"), EXTENSION, at, diagnostics)
    parsers: Mapping[str, BlockParser[Shape | None]] = {
        "box": partial(read_box, dialect=Dialect.OMI),
        "sphere": partial(read_sphere, dialect=Dialect.OMI),
        "capsule": _parse_capsule,
        "cylinder": _parse_cylinder,
        "convex": partial(_parse_mesh, document=document, convex_hull=True),
        "trimesh": partial(_parse_mesh, document=document, convex_hull=False),
    }
    parse = partial(_parse_entry, parsers=parsers)
    return read_table(root, "shapes", at, diagnostics, parse, required=True)


def _parse_entry(
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    parsers: Mapping[str, BlockParser[Shape | None]],
) -> Shape | None:
    if entry.get("type") == "hull":
        diagnostics.report(
            SHAPE_IN_OTHER_FORM, at / "type", got='type "hull"', present='type "convex"'
        )
        entry = {"convex" if key == "hull" else key: value for key, value in entry.items()}
        entry["type"] = "convex"
    kind = entry.get("type")
    is_known = isinstance(kind, str) and kind in parsers
    if is_known and kind not in entry and not _SIZES.isdisjoint(entry):
        diagnostics.report(
            SHAPE_IN_OTHER_FORM, at, got="a size beside the type", present=f'within "{kind}"'
        )
        fields = {key: value for key, value in entry.items() if key != "type"}
        return parsers[str(kind)](fields, at, diagnostics)
    return parse_typed_shape(entry, at, diagnostics, parsers, block_required=True)


def _is_legacy(block: JsonObject) -> bool:
    return "radius" in block and "radiusBottom" not in block and "radiusTop" not in block


def _parse_capsule(block: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> Capsule | None:
    if not _is_legacy(block):
        return read_capsule(block, at, diagnostics, dialect=Dialect.OMI)
    report_unknown(block, _LEGACY, "a capsule", at, diagnostics)
    diagnostics.report(LEGACY_RADIUS, at / "radius", shape="capsule")
    return read_total_height_capsule(block, at, diagnostics)


def _parse_cylinder(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> Cylinder | None:
    if not _is_legacy(block):
        return read_cylinder(block, at, diagnostics, dialect=Dialect.OMI)
    report_unknown(block, _LEGACY, "a cylinder", at, diagnostics)
    diagnostics.report(LEGACY_RADIUS, at / "radius", shape="cylinder")
    return read_straight_cylinder(block, at, diagnostics)


def _parse_mesh(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    document: Document,
    convex_hull: bool,
) -> MeshShape | None:
    report_unknown(block, known_keys("mesh"), "a mesh shape", at, diagnostics)
    return read_mesh(block, at, diagnostics, document, convex_hull=convex_hull)
