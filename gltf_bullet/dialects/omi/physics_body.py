"""OMI_physics_body: motion with a type, colliders, triggers, materials and filters.

OMI's own meaning: mass defaults to 1 kg, the centre of mass to the node's origin, a zero inertia
means "compute", an unstated combine mode is "average", and index -1 means none. In files of 2023 a
node names its shape in OMI_physics_shape itself; below a body that is a trigger it is one, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, TypeVar

from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, note, warning
from gltf_bullet.dialects.filters import parse_filter
from gltf_bullet.dialects.materials import parse_material
from gltf_bullet.dialects.motions import (
    read_inertia_diagonal,
    read_inertia_tensor,
    read_motion,
)
from gltf_bullet.dialects.parts import (
    MemberReader,
    PhysicsParts,
    read_node_members,
)
from gltf_bullet.dialects.reading import (
    known_keys,
    read_entry,
    read_property,
    read_root,
    read_table,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import SHAPE_LEFT_OUT
from gltf_bullet.dialects.triggers import TRIGGER_SHAPE_AND_NODES, is_compound, read_part_nodes
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject, Reader
from gltf_bullet.model import (
    CollisionFilter,
    Motion,
    MotionKind,
    PhysicsMaterial,
    Shape,
)
from gltf_bullet.model.properties import MATERIAL, MOTION, Dialect
from gltf_bullet.transforms import Quat, Vec3

EXTENSION: Final = "OMI_physics_body"
_SHAPE: Final = "OMI_physics_shape"

MOTION_TYPE_MISSING = warning(
    "MOTION_TYPE_MISSING",
    "the motion has no type; must be static, kinematic or dynamic; it is taken as dynamic",
)
MOTION_TYPE_UNKNOWN = warning(
    "MOTION_TYPE_UNKNOWN",
    "the motion's type is {got}; must be static, kinematic or dynamic; it is taken as dynamic",
)
BODY_IN_OLDER_FORM = note(
    "BODY_IN_OLDER_FORM",
    "type and mass stand here in older files; should stand in motion; they are read",
)
INERTIA_PARTLY_ZERO = warning(
    "INERTIA_PARTLY_ZERO",
    "inertiaDiagonal is {got}; must be all zero or all positive; the shapes' inertia is used",
)
COLLIDER_WITHOUT_SHAPE = warning(
    "COLLIDER_WITHOUT_SHAPE", "the collider names no shape; should name one; it is left out"
)
SHAPE_ON_NODE = note(
    "SHAPE_ON_NODE",
    "a node's own OMI_physics_shape is the form of older files; should stand in the {present} of "
    "OMI_physics_body; it is read as one",
)
SHAPE_ON_NODE_UNUSED = warning(
    "SHAPE_ON_NODE_UNUSED",
    "node {node} has a {present} with a shape of its own; should name its shape once; this one is "
    "ignored",
)

# Joints stand here in old files; omi_physics_joint reads them.
_ROOT_KEYS: Final = known_keys("physicsMaterials", "collisionFilters", "physicsJoints")
_NODE_KEYS: Final = known_keys("motion", "collider", "trigger", "joint")
_MOTION_KEYS: Final = known_keys("type", *MOTION.names(Dialect.OMI))
_OLDER_KEYS: Final = known_keys("inertiaTensor")
"""Members of a motion that does not state its inertia in the present words."""
_FLAT_KEYS: Final = _MOTION_KEYS | _OLDER_KEYS
_COLLIDER_KEYS: Final = known_keys("shape", "physicsMaterial", "collisionFilter")
_TRIGGER_KEYS: Final = known_keys("shape", "nodes", "collisionFilter")
_ORIENTATION: Final = MOTION["inertiaOrientation"]
_IDENTITY: Final[Quat] = _ORIENTATION.default
_KINDS: Final = {kind.value: kind for kind in MotionKind}
_DEFAULT_MATERIAL: Final = PhysicsMaterial(**MATERIAL.defaults(Dialect.OMI))
"""The material of a collider without one: the schema's defaults, whose mode outranks others."""

T = TypeVar("T")


class _Tables(Struct, frozen=True, kw_only=True):
    """The tables that nodes refer to by index."""

    document: Document
    shapes: tuple[Shape | None, ...]
    materials: tuple[PhysicsMaterial, ...]
    filters: tuple[CollisionFilter, ...]


def parse(
    document: Document,
    nodes: Sequence[int],
    shapes: tuple[Shape | None, ...],
    parts: PhysicsParts,
    diagnostics: Diagnostics,
) -> None:
    """Read the document's tables and the extension on ``nodes`` into ``parts``."""
    tables = _read_tables(document, shapes, diagnostics)
    parts.collision_filters = parts.collision_filters or tables.filters
    parts.note_tables(shapes, tables.materials)

    def read_motion(motion: Reader, node: int) -> None:
        parts.motions[node] = _parse_motion(motion)

    readers: dict[str, MemberReader] = {
        "motion": read_motion,
        "collider": partial(_parse_collider, tables=tables, parts=parts),
        "trigger": partial(_parse_trigger, tables=tables, parts=parts),
    }
    for node in nodes:
        body = document.node_reader(node, EXTENSION, diagnostics)
        known = _NODE_KEYS
        if "type" in body and "motion" not in body:
            # The form of the days of OMI_collider, later also beside a collider or trigger.
            known = _NODE_KEYS | _FLAT_KEYS
            body.report(BODY_IN_OLDER_FORM)
            if body["type"] != "trigger":  # what its colliders say of themselves
                motion = {key: value for key, value in body.json.items() if key in _FLAT_KEYS}
                read_motion(Reader(motion, body.at, diagnostics), node)
        read_node_members(document, [node], EXTENSION, known, readers, diagnostics)
        if document.node_extension(node, _SHAPE) is not None:
            _parse_shape_on_node(node, diagnostics, tables, parts)


def _parse_shape_on_node(
    node: int, diagnostics: Diagnostics, tables: _Tables, parts: PhysicsParts
) -> None:
    """The collider or trigger that a shape on a node stands for, where none is stated."""
    document = tables.document
    owner = document.node_reader(node, _SHAPE, diagnostics)
    report_unknown(owner, known_keys("shape"), _SHAPE)
    body = document.node_extension(node, EXTENSION) or {}
    for key in ("collider", "trigger"):
        if isinstance(stated := body.get(key), dict):
            if _names(stated, "shape") or stated.get("nodes"):
                owner.report(SHAPE_ON_NODE_UNUSED, node=node, present=key)
            return
    require(owner, "shape", "the index of a shape", instead=SHAPE_LEFT_OUT)
    is_trigger = _is_trigger_body(_body_above(node, document))
    shape = _read_shape_on_node(node, "trigger" if is_trigger else "collider", diagnostics, tables)
    if is_trigger:
        parts.add_trigger(node, shape, owner)
    else:
        parts.add_collider(node, shape, owner, _DEFAULT_MATERIAL)


def _read_shape_on_node(
    node: int, present: str, diagnostics: Diagnostics, tables: _Tables
) -> Shape | None:
    owner = tables.document.node_reader(node, _SHAPE, diagnostics)
    if not _names(owner, "shape"):
        return None
    owner.report(SHAPE_ON_NODE, present=present)
    return read_entry(owner, "shape", tables.shapes, instead=SHAPE_LEFT_OUT)


def _body_above(node: int, document: Document) -> JsonObject:
    """The nearest body of OMI_physics_body at a node or above it; empty without one."""
    while node >= 0:
        body = document.node_extension(node, EXTENSION) or {}
        if not body.keys().isdisjoint(("type", "motion", "trigger")):
            return body
        node = int(document.tree.parents[node])
    return {}


def _is_trigger_body(body: JsonObject) -> bool:
    """True if a body is made of triggers: by its older type, or by a trigger without a shape."""
    if "motion" in body:
        return False
    if body.get("type") == "trigger":
        return True
    trigger = body.get("trigger")
    return isinstance(trigger, dict) and not _names(trigger, "shape") and not trigger.get("nodes")


def _read_tables(
    document: Document, shapes: tuple[Shape | None, ...], diagnostics: Diagnostics
) -> _Tables:
    root = read_root(document, EXTENSION, _ROOT_KEYS, diagnostics)
    parse = partial(parse_material, dialect=Dialect.OMI)
    return _Tables(
        document=document,
        shapes=shapes,
        materials=read_table(root, "physicsMaterials", parse),
        filters=read_table(root, "collisionFilters", parse_filter),
    )


def _parse_motion(motion: Reader) -> Motion:
    known = _MOTION_KEYS if "inertiaDiagonal" in motion else _MOTION_KEYS | _OLDER_KEYS
    report_unknown(motion, known, MOTION.what)
    diagonal, orientation = _read_inertia(motion)
    return read_motion(
        motion,
        Dialect.OMI,
        kind=_read_kind(motion),
        inertia_diagonal=diagonal,
        inertia_orientation_xyzw=orientation,
    )


def _read_kind(motion: Reader) -> MotionKind:
    kind = motion.string("type", instead="it is taken as dynamic")
    if "type" not in motion:
        motion.report(MOTION_TYPE_MISSING)
    elif kind is not None and kind not in _KINDS:
        # Older files say "rigid", "vehicle" and "character".
        motion.report(MOTION_TYPE_UNKNOWN, "type", got=kind[:60])
    return _KINDS.get(kind or "", MotionKind.DYNAMIC)


def _read_inertia(motion: Reader) -> tuple[Vec3 | None, Quat]:
    """Principal moments and the rotation (xyzw) of their axes.

    ``None`` for zero: "the inertia should be calculated automatically"; then no axes are asked for.
    """
    if "inertiaTensor" in motion and "inertiaDiagonal" not in motion:
        # Of older files: nine numbers, of which zeros say what they say of the diagonal.
        if motion["inertiaTensor"] == [0] * 9:
            return None, _IDENTITY
        return read_inertia_tensor(motion, "inertiaTensor")
    diagonal = read_inertia_diagonal(motion)
    if diagonal is not None and not all(diagonal):
        if any(diagonal):
            motion.report(INERTIA_PARTLY_ZERO, "inertiaDiagonal", got=list(diagonal))
        diagonal = None
    if diagonal is None and motion.get(_ORIENTATION.key) == [0, 0, 0, 0]:
        return None, _IDENTITY
    return diagonal, read_property(motion, _ORIENTATION, Dialect.OMI)


def _parse_collider(collider: Reader, node: int, tables: _Tables, parts: PhysicsParts) -> None:
    report_unknown(collider, _COLLIDER_KEYS, "a collider")
    if _names(collider, "shape"):
        shape = _read_shape(collider, tables)
    elif (shape := _read_shape_on_node(node, "collider", collider.diagnostics, tables)) is None:
        collider.report(COLLIDER_WITHOUT_SHAPE)
    material = _read_named(collider, "physicsMaterial", tables.materials)
    collision_filter = _read_named(collider, "collisionFilter", tables.filters)
    parts.add_collider(node, shape, collider, material or _DEFAULT_MATERIAL, collision_filter)


def _parse_trigger(trigger: Reader, node: int, tables: _Tables, parts: PhysicsParts) -> None:
    report_unknown(trigger, _TRIGGER_KEYS, "a trigger")
    if is_compound(trigger):
        if _names(trigger, "shape"):
            trigger.report(TRIGGER_SHAPE_AND_NODES, key="shape")
        part_nodes = read_part_nodes(trigger, tables.document)
        parts.add_compound_trigger(node, part_nodes, trigger)
        return
    if _names(trigger, "shape"):
        shape = _read_shape(trigger, tables)
    elif (shape := _read_shape_on_node(node, "trigger", trigger.diagnostics, tables)) is None:
        parts.empty_triggers[node] = trigger.at
    collision_filter = _read_named(trigger, "collisionFilter", tables.filters)
    parts.add_trigger(node, shape, trigger, collision_filter)


def _names(owner: Reader | JsonObject, key: str) -> bool:
    """True if an index is given; the schemas' default of -1 means that it is not."""
    return key in owner and owner[key] != -1


def _read_shape(owner: Reader, tables: _Tables) -> Shape | None:
    return read_entry(owner, "shape", tables.shapes, instead=SHAPE_LEFT_OUT)


def _read_named(owner: Reader, key: str, table: Sequence[T]) -> T | None:
    return read_entry(owner, key, table) if _names(owner, key) else None
