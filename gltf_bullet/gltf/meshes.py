"""Primitives and default morph weights of meshes (glTF 2.0, "Meshes"); read once per document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE
from gltf_bullet.gltf.primitives import Primitive, read_primitive
from gltf_bullet.transforms import FloatArray

__all__ = ["Mesh", "Primitive", "morphed_positions", "read_mesh"]


class Mesh(Struct, frozen=True, eq=False, kw_only=True):
    """A glTF mesh; primitives without positions are left out."""

    primitives: tuple[Primitive, ...]
    weights: tuple[float, ...]
    """Default weight per morph target; a node's own weights replace them."""
    name: str


def read_mesh(document: Document, mesh_index: int, diagnostics: Diagnostics) -> Mesh | None:
    """Mesh ``mesh_index`` with all its arrays; ``None`` if there is no such mesh.

    Computed once per document.
    """
    count = document.count("meshes")
    if not 0 <= mesh_index < count:
        at = ROOT / "meshes" / mesh_index
        diagnostics.report(INDEX_OUT_OF_RANGE, at, key="mesh", got=mesh_index, count=count)
        return None
    return document.derive(
        ("mesh", mesh_index), lambda sink: _read_mesh(document, mesh_index, sink), diagnostics
    )


def morphed_positions(primitive: Primitive, weights: Sequence[float] | FloatArray) -> FloatArray:
    """Positions [m] with the morph targets applied, shape [vertex_count, 3].

    Missing weights count as 0; surplus ones are ignored.
    """
    targets = primitive.morph_positions
    if targets is None:
        return primitive.positions
    used = np.asarray(weights, dtype=np.float64)[: len(targets)]
    return primitive.positions + np.tensordot(used, targets[: len(used)], axes=1)


def _read_mesh(document: Document, mesh_index: int, diagnostics: Diagnostics) -> Mesh:
    owner = document.reader("meshes", mesh_index, diagnostics)
    owner.has("primitives", "a list of objects")
    primitives = [
        primitive
        for entry in owner.entries("primitives")
        if (primitive := read_primitive(document, entry)) is not None
    ]
    targets = max(
        (len(p.morph_positions) for p in primitives if p.morph_positions is not None), default=0
    )
    weights = owner.numbers("weights", instead="zeros are used") or ()
    return Mesh(
        primitives=tuple(primitives),
        weights=(*weights[:targets], *(0.0,) * (targets - len(weights))),
        name=owner.string("name", instead="it has no name") or "",
    )
