"""KHR_collision_shapes: the shape table of KHR_physics_rigid_bodies before KHR_implicit_shapes.

Sphere, box, capsule and cylinder as there, and ``mesh`` with ``skin``, ``weights`` and
``useNodeWeights``. A convex hull is asked for by the extension object
``KHR_physics_rigid_bodies`` on the shape; files of early 2024 say type ``convex`` or ``trimesh``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, warning
from gltf_bullet.dialects.mesh_geometry import MeshTemplate, ShapeEntry, read_mesh, weights_of_mesh
from gltf_bullet.dialects.reading import (
    AS_ABSENT,
    LIST_EMPTY,
    known_keys,
    read_block,
    read_table,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import (
    SHAPE_LEFT_OUT,
    BlockParser,
    parse_typed_shape,
    read_box,
    read_capsule,
    read_cylinder,
    read_sphere,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import (
    JsonObject,
    read_bool,
    read_index,
    read_numbers,
)
from gltf_bullet.model import MeshShape
from gltf_bullet.model.properties import MESH, Dialect

EXTENSION: Final = "KHR_collision_shapes"

WEIGHTS_TWICE = warning(
    "WEIGHTS_TWICE",
    "the mesh shape has weights and useNodeWeights; must have at most one; weights are used",
)

_HULL_EXTENSION: Final = "KHR_physics_rigid_bodies"
_MESH: Final = known_keys("mesh", "skin", "weights", "useNodeWeights")


def read_shapes(document: Document, diagnostics: Diagnostics) -> tuple[ShapeEntry | None, ...]:
    """The shape table; an entry that cannot be used is ``None`` and was reported."""
    at = ROOT / "extensions" / EXTENSION
    root = document.root_extension(EXTENSION)
    report_unknown(root, known_keys("shapes"), EXTENSION, at, diagnostics)
    parsers: Mapping[str, BlockParser[ShapeEntry | None]] = {
        "sphere": partial(read_sphere, dialect=Dialect.KHR),
        "box": partial(read_box, dialect=Dialect.KHR),
        "capsule": partial(read_capsule, dialect=Dialect.KHR),
        "cylinder": partial(read_cylinder, dialect=Dialect.KHR),
        "mesh": partial(_parse_mesh, document=document),
        "convex": partial(_parse_early_mesh, document=document, convex_hull=True),
        "trimesh": partial(_parse_early_mesh, document=document, convex_hull=False),
    }
    return read_table(
        root, "shapes", at, diagnostics, partial(_parse_shape, parsers=parsers), required=True
    )


def _parse_shape(
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    parsers: Mapping[str, BlockParser[ShapeEntry | None]],
) -> ShapeEntry | None:
    shape = parse_typed_shape(entry, at, diagnostics, parsers, block_required=True)
    convex_hull = _reads_convex_hull(entry, at, diagnostics)
    # "This flag has no effect on the remaining shape types" (000, "Convex Hull Colliders").
    if convex_hull and isinstance(shape, (MeshShape, MeshTemplate)):
        return dataclasses.replace(shape, convex_hull=True)
    return shape


def _reads_convex_hull(entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> bool:
    extensions = read_block(entry, "extensions", at, diagnostics) or {}
    at = at / "extensions"
    block = read_block(extensions, _HULL_EXTENSION, at, diagnostics) or {}
    at = at / _HULL_EXTENSION
    report_unknown(block, known_keys("convexHull"), "the shape's extension", at, diagnostics)
    return read_bool(block, "convexHull", at, diagnostics, default=False)


def _parse_early_mesh(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    document: Document,
    convex_hull: bool,
) -> MeshShape | None:
    report_unknown(block, known_keys("mesh"), "a mesh shape", at, diagnostics)
    return read_mesh(block, at, diagnostics, document, convex_hull=convex_hull)


def _parse_mesh(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, *, document: Document
) -> MeshTemplate | None:
    report_unknown(block, _MESH, "a mesh shape", at, diagnostics)
    require(block, "mesh", "the index of a mesh", at, diagnostics, instead=SHAPE_LEFT_OUT)
    count = document.count("meshes")
    mesh = read_index(
        block, "mesh", at, diagnostics, count=count, instead=SHAPE_LEFT_OUT, refers=True
    )
    count = document.count("skins")
    skin = read_index(block, "skin", at, diagnostics, count=count, instead=AS_ABSENT)
    weights = read_numbers(
        block, "weights", at, diagnostics, instead=AS_ABSENT, allowed=MESH["weights"].carried
    )
    if weights == ():
        diagnostics.report(LIST_EMPTY, at / "weights", key="weights", got="empty")
        weights = None
    use_node_weights = read_bool(block, "useNodeWeights", at, diagnostics, default=False)
    # The schema forbids the two keys together, whatever useNodeWeights says.
    if "weights" in block and "useNodeWeights" in block:
        diagnostics.report(WEIGHTS_TWICE, at)
        use_node_weights = False
    if mesh is None:
        return None
    weights = weights_of_mesh(weights, mesh, at / "weights", diagnostics, document)
    return MeshTemplate(
        mesh=mesh,
        skin=skin,
        weights=weights,
        use_node_weights=use_node_weights,
        convex_hull=False,
        pointer=at,
    )
