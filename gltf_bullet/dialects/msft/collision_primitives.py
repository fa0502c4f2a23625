"""MSFT_collision_primitives: the collider table of MSFT_rigid_bodies (later spelling).

Sizes may be 0. ``height`` of a capsule is the distance between the cap centres.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.properties import known_keys, read_table, report_unknown
from gltf_bullet.dialects.shape_table import (
    BlockParser,
    parse_typed_shape,
    read_box,
    read_capsule,
    read_cylinder,
    read_sphere,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.model import MeshShape, Shape

__all__ = ["EXTENSION", "read_shapes"]

EXTENSION: Final = "MSFT_collision_primitives"


def read_shapes(document: Document, diagnostics: Diagnostics) -> tuple[Shape | None, ...]:
    """The collider table; an entry that cannot be used is ``None`` and was reported."""
    at = ROOT / "extensions" / EXTENSION
    root = document.root_extension(EXTENSION)
    report_unknown(root, known_keys("colliders"), EXTENSION, at, diagnostics)
    parsers: Mapping[str, BlockParser[Shape | None]] = {
        "sphere": partial(read_sphere, radius=0.5),
        "box": partial(read_box, size=(1.0, 1.0, 1.0), may_be_flat=True),
        "capsule": partial(read_capsule, mid_height=0.5, radius=0.25, may_be_flat=True),
        "cylinder": partial(read_cylinder, height=0.5, radius=0.25, may_be_flat=True),
        "convex": partial(_parse_mesh, document=document, convex_hull=True),
        "trimesh": partial(_parse_mesh, document=document, convex_hull=False),
    }
    parse = partial(parse_typed_shape, parsers=parsers, block_required=True)
    return read_table(root, "colliders", at, diagnostics, parse, required=True)


def _parse_mesh(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    document: Document,
    convex_hull: bool,
) -> MeshShape | None:
    report_unknown(block, known_keys("mesh"), "a mesh collider", at, diagnostics)
    return read_mesh(block, at, diagnostics, document, convex_hull=convex_hull)
