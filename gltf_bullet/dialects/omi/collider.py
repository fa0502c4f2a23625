"""OMI_collider (archived): shapes with flat fields that say themselves whether they are triggers.

There are no bodies. ``height`` of a capsule is the total height and at least twice the radius.
Other revisions put a whole collider on the node, and call hulls ``convex`` and trimeshes ``mesh``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.parts import PhysicsParts
from gltf_bullet.dialects.reading import (
    known_keys,
    read_entry,
    read_only_table,
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
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import Shape
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


class _Entry(Struct, frozen=True, kw_only=True):
    shape: Shape
    is_trigger: bool


def parse(
    document: Document, nodes: Sequence[int], parts: PhysicsParts, diagnostics: Diagnostics
) -> None:
    """Read the document's colliders and the extension on ``nodes`` into ``parts``."""
    parse_entry = partial(_parse_entry, document=document)
    table = read_only_table(document, EXTENSION, "colliders", parse_entry, diagnostics)
    parts.note_tables([entry.shape for entry in table if entry is not None])
    for node in nodes:
        owner = document.node_reader(node, EXTENSION, diagnostics)
        if "type" in owner and "collider" not in owner:
            owner.report(SHAPE_IN_OTHER_FORM, got="a whole collider on a node", present="its index")
            entry = parse_entry(owner)
        else:
            report_unknown(owner, known_keys("collider"), EXTENSION)
            require(owner, "collider", "the index of a collider", instead=_LEFT_OUT)
            entry = read_entry(owner, "collider", table, instead=_LEFT_OUT)
        if entry is not None:
            add = parts.add_trigger if entry.is_trigger else parts.add_collider
            add(node, entry.shape, owner)


def _parse_entry(entry: Reader, *, document: Document) -> _Entry | None:
    is_trigger = entry.boolean("isTrigger", default=False)
    require(entry, "type", "one of " + ", ".join(_KEYS), instead=SHAPE_LEFT_OUT)
    kind = entry.string("type", instead=SHAPE_LEFT_OUT)
    if kind is None:
        return None
    if kind in _OTHER_NAMES:
        present = _OTHER_NAMES[kind]
        entry.report(SHAPE_IN_OTHER_FORM, "type", got=f'type "{kind}"', present=f'type "{present}"')
        kind = present
    if kind not in _KEYS:
        # "compound" of early files stands for the colliders on child nodes, which are read there.
        entry.report(SHAPE_TYPE_UNKNOWN, "type", got=repr(kind[:60]), known=", ".join(_KEYS))
        return None
    report_unknown(entry, _KEYS[kind], f"a {kind} collider")
    shape = _parse_shape(kind, entry, document)
    return None if shape is None else _Entry(shape=shape, is_trigger=is_trigger)


def _parse_shape(kind: str, entry: Reader, document: Document) -> Shape | None:
    """The text's defaults apply although the schema requires every field of a type."""
    if kind in ("hull", "trimesh"):
        return read_mesh(entry, document, convex_hull=kind == "hull")
    if kind == "capsule":
        return read_total_height_capsule(entry)
    if kind == "cylinder":
        return read_straight_cylinder(entry)
    # The fields of the shape without those of the collider that they stand among.
    sizes = {key: entry[key] for key in ("size" if kind == "box" else "radius",) if key in entry}
    block = Reader(sizes, entry.at, entry.diagnostics)
    if kind == "box":
        return read_box(block, dialect=Dialect.OMI_COLLIDER)
    return read_sphere(block, dialect=Dialect.OMI_COLLIDER)
