"""KHR_collision_shapes: the shape table of KHR_physics_rigid_bodies before KHR_implicit_shapes.

Sphere, box, capsule and cylinder as there, and ``mesh`` with ``skin``, ``weights`` and
``useNodeWeights``. A convex hull is asked for by the extension object
``KHR_physics_rigid_bodies`` on the shape; files of early 2024 say type ``convex`` or ``trimesh``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.dialects.mesh_geometry import MeshTemplate, ShapeEntry, read_mesh, weights_of_mesh
from gltf_bullet.dialects.reading import (
    AS_ABSENT,
    LIST_EMPTY,
    known_keys,
    read_only_table,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import (
    SHAPE_LEFT_OUT,
    BlockParser,
    parse_typed_shape,
    primitive_parsers,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import MeshShape
from gltf_bullet.model.properties import MESH, Dialect
from gltf_bullet.records import replace

EXTENSION: Final = "KHR_collision_shapes"

WEIGHTS_TWICE = warning(
    "WEIGHTS_TWICE",
    "the mesh shape has weights and useNodeWeights; must have at most one; weights are used",
)

_HULL_EXTENSION: Final = "KHR_physics_rigid_bodies"
_MESH: Final = known_keys("mesh", "skin", "weights", "useNodeWeights")


def read_shapes(document: Document, diagnostics: Diagnostics) -> tuple[ShapeEntry | None, ...]:
    """The shape table; an entry that cannot be used is ``None`` and was reported."""
    early = partial(read_mesh, document=document, what="a mesh shape")
    parsers: dict[str, BlockParser[ShapeEntry | None]] = {
        **primitive_parsers(Dialect.KHR),
        "mesh": partial(_parse_mesh, document=document),
        "convex": partial(early, convex_hull=True),
        "trimesh": partial(early, convex_hull=False),
    }
    parse = partial(_parse_shape, parsers=parsers)
    return read_only_table(document, EXTENSION, "shapes", parse, diagnostics)


def _parse_shape(
    entry: Reader, *, parsers: Mapping[str, BlockParser[ShapeEntry | None]]
) -> ShapeEntry | None:
    shape = parse_typed_shape(entry, parsers, block_required=True)
    convex_hull = _reads_convex_hull(entry)
    # "This flag has no effect on the remaining shape types" (000, "Convex Hull Colliders").
    if convex_hull and isinstance(shape, (MeshShape, MeshTemplate)):
        return replace(shape, convex_hull=True)
    return shape


def _reads_convex_hull(entry: Reader) -> bool:
    extensions = entry.member_or_empty("extensions", instead=AS_ABSENT)
    block = extensions.member_or_empty(_HULL_EXTENSION, instead=AS_ABSENT)
    report_unknown(block, known_keys("convexHull"), "the shape's extension")
    return block.boolean("convexHull", default=False)


def _parse_mesh(block: Reader, *, document: Document) -> MeshTemplate | None:
    report_unknown(block, _MESH, "a mesh shape")
    require(block, "mesh", "the index of a mesh", instead=SHAPE_LEFT_OUT)
    count = document.count("meshes")
    mesh = block.index("mesh", count=count, instead=SHAPE_LEFT_OUT, refers=True)
    count = document.count("skins")
    skin = block.index("skin", count=count, instead=AS_ABSENT)
    weights = block.numbers("weights", instead=AS_ABSENT, allowed=MESH["weights"].carried)
    if weights == ():
        block.report(LIST_EMPTY, "weights", key="weights", got="empty")
        weights = None
    use_node_weights = block.boolean("useNodeWeights", default=False)
    # The schema forbids the two keys together, whatever useNodeWeights says.
    if "weights" in block and "useNodeWeights" in block:
        block.report(WEIGHTS_TWICE)
        use_node_weights = False
    if mesh is None:
        return None
    weights = weights_of_mesh(weights, mesh, block.at / "weights", block.diagnostics, document)
    return MeshTemplate(
        mesh=mesh,
        skin=skin,
        weights=weights,
        use_node_weights=use_node_weights,
        convex_hull=False,
        pointer=block.at,
    )
