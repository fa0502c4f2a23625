"""OMI_physics_shape: sphere, box, capsule, cylinder, convex and trimesh with OMI's own defaults.

``height`` of a capsule is the "mid height" between the cap centres. Old files write one ``radius``;
there ``height`` is the total height, as in OMI_collider (and as in the OMI_physics_joint examples).
Older still are sizes beside ``type``, and ``hull`` for ``convex``: OMI_collider under the new name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import Diagnostics, note
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.reading import known_keys, read_only_table, report_unknown
from gltf_bullet.dialects.shape_table import (
    SHAPE_IN_OTHER_FORM,
    BlockParser,
    parse_typed_shape,
    primitive_parsers,
    read_capsule,
    read_cylinder,
    read_straight_cylinder,
    read_total_height_capsule,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import Capsule, Cylinder, Shape
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
    mesh = partial(read_mesh, document=document, what="a mesh shape")
    parsers: dict[str, BlockParser[Shape | None]] = {
        **primitive_parsers(Dialect.OMI),
        "capsule": _parse_capsule,
        "cylinder": _parse_cylinder,
        "convex": partial(mesh, convex_hull=True),
        "trimesh": partial(mesh, convex_hull=False),
    }
    parse = partial(_parse_entry, parsers=parsers)
    return read_only_table(document, EXTENSION, "shapes", parse, diagnostics)


def _parse_entry(
    entry: Reader, *, parsers: Mapping[str, BlockParser[Shape | None]]
) -> Shape | None:
    if entry.get("type") == "hull":
        entry.report(SHAPE_IN_OTHER_FORM, "type", got='type "hull"', present='type "convex"')
        named = {"convex" if key == "hull" else key: value for key, value in entry.json.items()}
        entry = Reader({**named, "type": "convex"}, entry.at, entry.diagnostics)
    kind = entry.get("type")
    is_known = isinstance(kind, str) and kind in parsers
    if is_known and kind not in entry and not _SIZES.isdisjoint(entry.json):
        entry.report(SHAPE_IN_OTHER_FORM, got="a size beside the type", present=f'within "{kind}"')
        fields = {key: value for key, value in entry.json.items() if key != "type"}
        return parsers[kind](Reader(fields, entry.at, entry.diagnostics))
    return parse_typed_shape(entry, parsers, block_required=True)


def _is_legacy(block: Reader) -> bool:
    return "radius" in block and "radiusBottom" not in block and "radiusTop" not in block


def _parse_capsule(block: Reader) -> Capsule | None:
    if not _is_legacy(block):
        return read_capsule(block, dialect=Dialect.OMI)
    report_unknown(block, _LEGACY, "a capsule")
    block.report(LEGACY_RADIUS, "radius", shape="capsule")
    return read_total_height_capsule(block)


def _parse_cylinder(block: Reader) -> Cylinder | None:
    if not _is_legacy(block):
        return read_cylinder(block, dialect=Dialect.OMI)
    report_unknown(block, _LEGACY, "a cylinder")
    block.report(LEGACY_RADIUS, "radius", shape="cylinder")
    return read_straight_cylinder(block)
