"""KHR_implicit_shapes: plane, sphere, box, capsule and cylinder, each with the schema's defaults.

``height`` of a capsule is the distance between the cap centres.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from gltf_bullet.coverage import covers, exact, ignored
from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.dialects.reading import known_keys, read_table, report_unknown
from gltf_bullet.dialects.shape_table import (
    SHAPE_TYPE_UNKNOWN,
    BlockParser,
    parse_typed_shape,
    read_box,
    read_capsule,
    read_cylinder,
    read_plane,
    read_sphere,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.model import Shape
from gltf_bullet.model.properties import Dialect

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


_PARSERS: Final[Mapping[str, BlockParser[Shape | None]]] = {
    "plane": partial(read_plane, dialect=Dialect.KHR),
    "sphere": partial(read_sphere, dialect=Dialect.KHR),
    "box": partial(read_box, dialect=Dialect.KHR),
    "capsule": partial(read_capsule, dialect=Dialect.KHR),
    "cylinder": partial(read_cylinder, dialect=Dialect.KHR),
}
