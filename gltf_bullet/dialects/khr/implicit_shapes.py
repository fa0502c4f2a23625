"""KHR_implicit_shapes: plane, sphere, box, capsule and cylinder, each with the schema's defaults.

``height`` of a capsule is the distance between the cap centres.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Final

from gltf_bullet.coverage import covers, exact, ignored
from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.dialects.properties import known_keys, read_table, report_unknown
from gltf_bullet.dialects.shape_table import (
    SHAPE_TYPE_UNKNOWN,
    BlockParser,
    parse_typed_shape,
    read_box,
    read_capsule,
    read_cylinder,
    read_sphere,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject, read_bool, read_number
from gltf_bullet.model import Plane, Shape

__all__ = ["COVERAGE", "EXTENSION", "read_shapes"]

EXTENSION: Final = "KHR_implicit_shapes"

COVERAGE: Final = covers(
    "Objects and references",
    exact(
        "shapes", "type",
        shown_by="tests/dialects/test_khr_implicit_shapes.py::test_every_property_is_read",
    ),
    ignored("type", when="KHR, another word", by=SHAPE_TYPE_UNKNOWN),
)  # fmt: skip


def read_shapes(document: Document, diagnostics: Diagnostics) -> tuple[Shape | None, ...]:
    """The shape table; an entry that cannot be used is ``None`` and was reported."""
    at = ROOT / "extensions" / EXTENSION
    root = document.root_extension(EXTENSION)
    report_unknown(root, known_keys("shapes"), EXTENSION, at, diagnostics)
    return read_table(root, "shapes", at, diagnostics, _parse_shape, required=True)


def _parse_shape(entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> Shape | None:
    return parse_typed_shape(entry, at, diagnostics, _PARSERS, block_required=False)


def _parse_plane(block: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> Plane:
    report_unknown(block, known_keys("sizeX", "sizeZ", "doubleSided"), "a plane", at, diagnostics)
    return Plane(
        size_x=read_number(block, "sizeX", at, diagnostics, default=math.inf, above=0.0),
        size_z=read_number(block, "sizeZ", at, diagnostics, default=math.inf, above=0.0),
        double_sided=read_bool(block, "doubleSided", at, diagnostics, default=False),
        pointer=at,
    )


_PARSERS: Final[Mapping[str, BlockParser[Shape | None]]] = {
    "plane": _parse_plane,
    "sphere": partial(read_sphere, radius=0.5),
    "box": partial(read_box, size=(1.0, 1.0, 1.0)),
    "capsule": partial(read_capsule, mid_height=0.5, radius=0.25),
    "cylinder": partial(read_cylinder, height=0.5, radius=0.25),
}
