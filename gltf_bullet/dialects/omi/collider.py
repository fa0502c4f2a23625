"""OMI_collider (archived): shapes with flat fields that say themselves whether they are triggers.

There are no bodies. ``height`` of a capsule is the total height and at least twice the radius.
Other revisions put a whole collider on the node, and call hulls ``convex`` and trimeshes ``mesh``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.parts import PhysicsParts, node_extension_pointer
from gltf_bullet.dialects.reading import (
    known_keys,
    read_entry,
    read_table,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import (
    SHAPE_IN_OTHER_FORM,
    SHAPE_LEFT_OUT,
    SHAPE_TYPE_UNKNOWN,
    read_box,
    read_sphere,
    read_straight_cylinder,
    read_total_height_capsule,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject, read_bool, read_string
from gltf_bullet.model import Collider, Shape, Trigger
from gltf_bullet.model.properties import BOX, CAPSULE, CYLINDER, SPHERE, Dialect

EXTENSION: Final = "OMI_collider"

_KEYS: Final = {
    "box": known_keys("type", "isTrigger", *BOX.names(Dialect.OMI_COLLIDER)),
    "sphere": known_keys("type", "isTrigger", *SPHERE.names(Dialect.OMI_COLLIDER)),
    "capsule": known_keys("type", "isTrigger", *CAPSULE.names(Dialect.OMI_COLLIDER)),
    "cylinder": known_keys("type", "isTrigger", *CYLINDER.names(Dialect.OMI_COLLIDER)),
    "hull": known_keys("type", "isTrigger", "mesh"),
    "trimesh": known_keys("type", "isTrigger", "mesh"),
}
_LEFT_OUT: Final = "the collider is left out"
_OTHER_NAMES: Final = {"convex": "hull", "mesh": "trimesh"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    shape: Shape
    is_trigger: bool


def parse(
    document: Document, nodes: Sequence[int], parts: PhysicsParts, diagnostics: Diagnostics
) -> None:
    """Read the document's colliders and the extension on ``nodes`` into ``parts``."""
    at: JsonPointer = ROOT / "extensions" / EXTENSION
    root = document.root_extension(EXTENSION)
    report_unknown(root, known_keys("colliders"), EXTENSION, at, diagnostics)
    parse_entry = partial(_parse_entry, document=document)
    table = read_table(root, "colliders", at, diagnostics, parse_entry, required=True)
    parts.note_tables([entry.shape for entry in table if entry is not None])
    for node in nodes:
        extension = document.node_extension(node, EXTENSION) or {}
        at = node_extension_pointer(node, EXTENSION)
        if "type" in extension and "collider" not in extension:
            diagnostics.report(
                SHAPE_IN_OTHER_FORM, at, got="a whole collider on a node", present="its index"
            )
            entry = parse_entry(extension, at, diagnostics)
        else:
            report_unknown(extension, known_keys("collider"), EXTENSION, at, diagnostics)
            require(
                extension, "collider", "the index of a collider", at, diagnostics, instead=_LEFT_OUT
            )
            entry = read_entry(extension, "collider", at, diagnostics, table, instead=_LEFT_OUT)
        if entry is None:
            continue
        if entry.is_trigger:
            parts.triggers[node] = Trigger(node=node, shape=entry.shape, pointer=at)
        else:
            parts.colliders[node] = Collider(node=node, shape=entry.shape, pointer=at)


def _parse_entry(
    entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics, *, document: Document
) -> _Entry | None:
    is_trigger = read_bool(entry, "isTrigger", at, diagnostics, default=False)
    require(entry, "type", "one of " + ", ".join(_KEYS), at, diagnostics, instead=SHAPE_LEFT_OUT)
    kind = read_string(entry, "type", at, diagnostics, instead=SHAPE_LEFT_OUT)
    if kind is None:
        return None
    if kind in _OTHER_NAMES:
        present = _OTHER_NAMES[kind]
        diagnostics.report(
            SHAPE_IN_OTHER_FORM, at / "type", got=f'type "{kind}"', present=f'type "{present}"'
        )
        kind = present
    if kind not in _KEYS:
        # "compound" of early files stands for the colliders on child nodes, which are read there.
        diagnostics.report(
            SHAPE_TYPE_UNKNOWN, at / "type", got=repr(kind[:60]), known=", ".join(_KEYS)
        )
        return None
    report_unknown(entry, _KEYS[kind], f"a {kind} collider", at, diagnostics)
    shape = _parse_shape(kind, entry, at, diagnostics, document)
    return None if shape is None else _Entry(shape=shape, is_trigger=is_trigger)


def _parse_shape(
    kind: str,
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    document: Document,
) -> Shape | None:
    """The text's defaults apply although the schema requires every field of a type."""
    if kind == "box":
        return read_box(_only("size", entry), at, diagnostics, dialect=Dialect.OMI_COLLIDER)
    if kind in ("hull", "trimesh"):
        return read_mesh(entry, at, diagnostics, document, convex_hull=kind == "hull")
    if kind == "capsule":
        return read_total_height_capsule(entry, at, diagnostics)
    if kind == "cylinder":
        return read_straight_cylinder(entry, at, diagnostics)
    return read_sphere(_only("radius", entry), at, diagnostics, dialect=Dialect.OMI_COLLIDER)


def _only(key: str, entry: JsonObject) -> JsonObject:
    """The fields of a shape without those of the collider that they stand among."""
    return {key: entry[key]} if key in entry else {}
