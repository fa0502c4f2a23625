"""The core ``shapes`` of the glTF 2.1 draft: reader and writer.

KHR_physics_rigid_bodies refers to them as to those of KHR_implicit_shapes, which they replace. The
defaults differ: a capsule is 1 m between its centres, a cylinder 2 m high, both with a radius of
0.5 m; planes have one side; meshes are shapes as well (not merged into the draft yet).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.dialects.khr.moved_pointers import with_moved_pointers
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.reading import read_table
from gltf_bullet.dialects.shape_table import (
    BlockParser,
    parse_typed_shape,
    primitive_parsers,
    read_plane,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import Shape
from gltf_bullet.model.properties import PLANE, Dialect

PLANE_ONE_SIDED = warning(
    "PLANE_ONE_SIDED",
    "planes of glTF 2.1 have one side; this one is double-sided; it is written with one",
)

_TWO_SIDES: Final = PLANE["doubleSided"].key
_IMPLICIT: Final = "KHR_implicit_shapes"
_BODIES: Final = "KHR_physics_rigid_bodies"


def read_core_shapes(document: Document, diagnostics: Diagnostics) -> tuple[Shape | None, ...]:
    """The shapes of the root; an entry that cannot be used is ``None`` and was reported."""
    if "shapes" not in document.json:
        return ()
    parsers: dict[str, BlockParser[Shape | None]] = {
        **primitive_parsers(Dialect.CORE),
        "plane": partial(read_plane, dialect=Dialect.CORE),
        "mesh": partial(read_mesh, document=document, convex_hull=False),
        "convexMesh": partial(read_mesh, document=document, convex_hull=True),
    }
    parse = partial(parse_typed_shape, parsers=parsers, block_required=False)
    return read_table(Reader(document.json, ROOT, diagnostics), "shapes", parse)


def with_core_shapes(root: Mapping[str, Any], diagnostics: Diagnostics) -> dict[str, Any]:
    """A root of current KHR physics with its shapes in the core, meshes included.

    Args:
        root: As ``write_physics`` makes it; what is changed is copied.
        diagnostics: Receives what the core cannot say.
    """
    result = dict(root)
    extensions = dict(result.get("extensions", {}))
    table = [dict(entry) for entry in extensions.pop(_IMPLICIT, {}).get("shapes", ())]
    for index, entry in enumerate(table):
        if _TWO_SIDES in entry.get("plane", {}):
            entry["plane"] = {k: v for k, v in entry["plane"].items() if k != _TWO_SIDES}
            diagnostics.report(PLANE_ONE_SIDED, ROOT / "shapes" / index)
    index_of_mesh: dict[tuple[int, bool], int] = {}

    def shaped(owner: dict[str, Any]) -> dict[str, Any]:
        geometry = owner.get("geometry", {})
        if "mesh" not in geometry:
            return owner
        key = (geometry["mesh"], bool(geometry.get("convexHull", False)))
        if key not in index_of_mesh:
            index_of_mesh[key] = len(table)
            kind = "convexMesh" if key[1] else "mesh"
            table.append({"type": kind, kind: {"mesh": key[0]}})
        return {**owner, "geometry": {"shape": index_of_mesh[key]}}

    nodes = []
    for node in result.get("nodes", ()):
        physics = node.get("extensions", {}).get(_BODIES)
        if physics is not None:
            changed = {
                key: shaped(value) if key in ("collider", "trigger") else value
                for key, value in physics.items()
            }
            node = {**node, "extensions": {**node["extensions"], _BODIES: changed}}
        nodes.append(node)
    if nodes:
        result["nodes"] = nodes
    if table:
        result["shapes"] = table
    result["asset"] = {**result["asset"], "version": "2.1"}
    for key in ("extensionsUsed", "extensionsRequired"):
        kept = [name for name in result.get(key, ()) if name != _IMPLICIT]
        result.pop(key, None)
        if kept:
            result[key] = kept
    result.pop("extensions", None)
    if extensions:
        result["extensions"] = extensions
    return with_moved_pointers(result, _moved_to_core)


def _moved_to_core(pointer: str) -> str:
    old = f"/extensions/{_IMPLICIT}/shapes"
    return f"/shapes{pointer.removeprefix(old)}" if pointer.startswith(old) else pointer
