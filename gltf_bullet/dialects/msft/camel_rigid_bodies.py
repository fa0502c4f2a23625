"""MSFT_RigidBodies and its MSFT_CollisionPrimitives (004), the camel-case spelling.

Colliders, whose only shape key is the type, have their filter with them and are solid only with a
material. The schemas require every size; the text only says "the height of the capsule, centred
along Y", which is read as the distance between the cap centres, with a warning.

A node names its collider in the node extension MSFT_CollisionPrimitives, or (some files) in
MSFT_RigidBodies as an index or as a nested object. "If a collider has no physics material assigned,
that collider should not generate impulses": it is a trigger.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from gltf_bullet import model
from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.dialects.filters import FILTER_KEYS, SYSTEMS, read_filter
from gltf_bullet.dialects.joints import parse_node_joint
from gltf_bullet.dialects.materials import parse_material
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.motions import read_inertia_tensor, read_motion
from gltf_bullet.dialects.older_joint_forms import JOINT_KEYS, read_joint_limits
from gltf_bullet.dialects.parts import PhysicsParts
from gltf_bullet.dialects.reading import (
    AS_ABSENT,
    keys_of,
    known_keys,
    read_entry,
    read_only_table,
    read_property,
    read_root,
    read_table,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import (
    SHAPE_LEFT_OUT,
    BlockParser,
    read_box,
    read_extent,
    read_sphere,
    with_extent,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import properties
from gltf_bullet.records import replace

EXTENSION: Final = "MSFT_RigidBodies"
_PRIMITIVES: Final = "MSFT_CollisionPrimitives"
_DIALECT: Final = properties.Dialect.MSFT_CAMEL

COLLIDER_TYPE_UNCLEAR = warning(
    "COLLIDER_TYPE_UNCLEAR",
    "the collider has {got}; must have exactly one of {allowed}; whatever has it is left out",
)
SIZE_MISSING = warning("SIZE_MISSING", "{key} is missing; must be given; {default} is used")
CAPSULE_HEIGHT_LOOSE = warning(
    "CAPSULE_HEIGHT_LOOSE",
    "the text does not say between which points a capsule's height is measured; "
    "it is read as the distance between the cap centres",
)

COLLIDER_TWICE = warning(
    "COLLIDER_TWICE",
    "the node names a collider in MSFT_CollisionPrimitives and in MSFT_RigidBodies; "
    "must name it once; the first is used",
)
MATERIAL_WITHOUT_COLLIDER = warning(
    "MATERIAL_WITHOUT_COLLIDER",
    "the node has a physicsMaterial but no collider; should have one; the material has no effect",
)

_SHAPES: Final = ("sphere", "box", "capsule", "cylinder", "convex", "trimesh")
_OLDER_SYSTEMS: Final = "collisionSystem"
_ROOT_KEYS: Final = known_keys("physicsMaterials", "physicsJointLimits")
_NODE_KEYS: Final = known_keys("rigidBody", "collider", "physicsMaterial", "joint")
_NESTED_KEYS: Final = known_keys("collider", "physicsMaterial")
_BODY_KEYS: Final = known_keys("inertiaTensor", *properties.MOTION.names(_DIALECT))


class _ColliderEntry(Struct, frozen=True, kw_only=True):
    """A shape and the filter that stands on it."""

    shape: model.Shape
    filter: model.CollisionFilter | None


class _Tables(Struct, frozen=True, kw_only=True):
    """The tables that nodes refer to by index."""

    document: Document
    colliders: tuple[_ColliderEntry | None, ...]
    materials: tuple[model.PhysicsMaterial, ...]
    joints: tuple[model.JointDescription, ...]


def parse(
    document: Document, nodes: Sequence[int], parts: PhysicsParts, diagnostics: Diagnostics
) -> None:
    """Read the document's tables and both extensions on ``nodes`` into ``parts``."""
    root = read_root(document, EXTENSION, _ROOT_KEYS, diagnostics)
    parse_entry = partial(_parse_entry, parsers=_parsers(document))
    tables = _Tables(
        document=document,
        colliders=read_only_table(document, _PRIMITIVES, "colliders", parse_entry, diagnostics),
        materials=read_table(root, "physicsMaterials", partial(parse_material, dialect=_DIALECT)),
        joints=read_joint_limits(root),
    )
    shapes = [entry.shape for entry in tables.colliders if entry is not None]
    parts.note_tables(shapes, tables.materials, tables.joints)
    parse_joint = partial(
        parse_node_joint, node_count=len(document.tree), dialect=_DIALECT, known=JOINT_KEYS
    )
    for node in nodes:
        owner = document.node_reader(node, EXTENSION, diagnostics)
        report_unknown(owner, _NODE_KEYS, EXTENSION)
        if (body := owner.member("rigidBody", instead=AS_ABSENT)) is not None:
            parts.motions[node] = _parse_body(body)
        if (joint := owner.member("joint", instead=AS_ABSENT)) is not None:
            parts.add_joint(parse_joint(joint, node, tables.joints))
        _parse_collider(owner, node, tables, parts)


def _parse_body(body: Reader) -> model.Motion:
    report_unknown(body, _BODY_KEYS, "a rigid body")
    kind = read_property(body, properties.MOTION["isKinematic"], _DIALECT)
    diagonal, orientation = read_inertia_tensor(body, "inertiaTensor")
    return read_motion(
        body, _DIALECT, kind=kind, inertia_diagonal=diagonal, inertia_orientation_xyzw=orientation
    )


def _parse_collider(owner: Reader, node: int, tables: _Tables, parts: PhysicsParts) -> None:
    nested: Reader | None = None
    if isinstance(owner.get("collider"), dict):
        nested = owner.member_or_empty("collider")
        report_unknown(nested, _NESTED_KEYS, "a collider")
    entry, is_named = _read_named(owner, nested, node, tables)
    # Exporters that write -1 for none mean what the text says of colliders without a material.
    places = [owner] if nested is None else [owner, nested]
    has_material = any(place.get("physicsMaterial", -1) != -1 for place in places)
    instead = "the default material is used" if has_material else AS_ABSENT
    found = [
        read_entry(place, "physicsMaterial", tables.materials, instead=instead) for place in places
    ]
    material = next((one for one in found if one is not None), None)
    if has_material and not is_named:
        owner.report(MATERIAL_WITHOUT_COLLIDER)
    if entry is None:
        return
    if has_material:
        parts.add_collider(node, entry.shape, owner, material, entry.filter)
    else:
        parts.add_trigger(node, entry.shape, owner, entry.filter)


def _read_named(
    extension: Reader, nested: Reader | None, node: int, tables: _Tables
) -> tuple[_ColliderEntry | None, bool]:
    """The collider that the node names in one of three places, and true if it names one."""
    owner = extension if nested is None else nested
    is_required = nested is not None
    if tables.document.node_extension(node, _PRIMITIVES) is not None:
        owner, is_required = tables.document.node_reader(node, _PRIMITIVES, owner.diagnostics), True
        report_unknown(owner, known_keys("collider"), _PRIMITIVES)
    if is_required:
        require(owner, "collider", "the index of a collider", instead=SHAPE_LEFT_OUT)
    if owner is not nested and owner is not extension and "collider" in extension:
        extension.report(COLLIDER_TWICE, "collider")
    entry = read_entry(owner, "collider", tables.colliders, instead=SHAPE_LEFT_OUT)
    return entry, is_required or "collider" in extension


# --- colliders ------------------------------------------------------------------------------------


def _parse_entry(
    entry: Reader, *, parsers: dict[str, BlockParser[model.Shape | None]]
) -> _ColliderEntry | None:
    known = known_keys(*_SHAPES, *FILTER_KEYS, _OLDER_SYSTEMS, "type")
    report_unknown(entry, known, "a collider")
    collision_filter: model.CollisionFilter | None = None
    if _OLDER_SYSTEMS in entry or any(key in entry for key in FILTER_KEYS):
        # The schema says collisionSystem, files and the later dialect say collisionSystems.
        is_newer = SYSTEMS.key in entry or _OLDER_SYSTEMS not in entry
        systems = SYSTEMS if is_newer else replace(SYSTEMS, key=_OLDER_SYSTEMS)
        collision_filter = read_filter(entry, systems=systems)
    present = [key for key in _SHAPES if key in entry]
    if len(present) != 1:
        entry.report(
            COLLIDER_TYPE_UNCLEAR,
            got=" and ".join(present) or "no shape",
            allowed=", ".join(_SHAPES),
        )
        return None
    kind = present[0]
    shape = parsers[kind](entry.member_or_empty(kind, instead=AS_ABSENT))
    return None if shape is None else _ColliderEntry(shape=shape, filter=collision_filter)


def _warn_missing(block: Reader, table: properties.Properties) -> None:
    for _, key, default in table.entries(_DIALECT):
        if key not in block:
            block.report(SIZE_MISSING, key=key, default=default)


def _parse_box(block: Reader) -> model.Box | None:
    _warn_missing(block, properties.BOX)
    return read_box(block, dialect=_DIALECT)


def _parse_sphere(block: Reader) -> model.Sphere | None:
    _warn_missing(block, properties.SPHERE)
    return read_sphere(block, dialect=_DIALECT)


def _read_round(
    block: Reader, what: str, table: properties.Properties
) -> tuple[float, float] | None:
    """Height and radius, if they make a shape."""
    report_unknown(block, keys_of(table, _DIALECT), table.what)
    _warn_missing(block, table)
    height = read_extent(block, table["height"], _DIALECT)
    radius = read_extent(block, table["radius"], _DIALECT)
    if height is None or radius is None:
        return None
    return with_extent((height, radius), what, (height, radius), block)


def _parse_capsule(block: Reader) -> model.Capsule | None:
    sizes = _read_round(block, "capsule", properties.CAPSULE)
    if sizes is None:
        return None
    height, radius = sizes
    block.report(CAPSULE_HEIGHT_LOOSE, "height")
    return model.Capsule(
        mid_height=height, radius_bottom=radius, radius_top=radius, pointer=block.at
    )


def _parse_cylinder(block: Reader) -> model.Cylinder | None:
    sizes = _read_round(block, "cylinder", properties.CYLINDER)
    if sizes is None:
        return None
    height, radius = sizes
    return model.Cylinder(height=height, radius_bottom=radius, radius_top=radius, pointer=block.at)


def _parsers(document: Document) -> dict[str, BlockParser[model.Shape | None]]:
    mesh = partial(read_mesh, document=document)
    return {
        "sphere": _parse_sphere,
        "box": _parse_box,
        "capsule": _parse_capsule,
        "cylinder": _parse_cylinder,
        "convex": partial(mesh, what="a convex collider", convex_hull=True),
        "trimesh": partial(mesh, what="a trimesh collider", convex_hull=False),
    }
