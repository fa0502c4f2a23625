"""KHR_implicit_shapes: plane, sphere, box, capsule and cylinder, each with the schema's defaults.

``height`` of a capsule is the distance between the cap centres.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.reading import read_only_table
from gltf_bullet.dialects.shape_table import (
    BlockParser,
    parse_typed_shape,
    primitive_parsers,
    read_plane,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.model import Shape
from gltf_bullet.model.properties import Dialect

EXTENSION: Final = "KHR_implicit_shapes"


_PARSERS: Final[dict[str, BlockParser[Shape | None]]] = {
    "plane": partial(read_plane, dialect=Dialect.KHR),
    **primitive_parsers(Dialect.KHR),
}


def read_shapes(document: Document, diagnostics: Diagnostics) -> tuple[Shape | None, ...]:
    """The shape table; an entry that cannot be used is ``None`` and was reported."""
    parse = partial(parse_typed_shape, parsers=_PARSERS, block_required=False)
    return read_only_table(document, EXTENSION, "shapes", parse, diagnostics)
