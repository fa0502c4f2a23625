"""MSFT_RigidBodies and its MSFT_CollisionPrimitives (004), the camel-case spelling.

Colliders, whose only shape key is the type, have their filter with them and are solid only with a
material. The schemas require every size; the text only says "the height of the capsule, centred
along Y", which is read as the distance between the cap centres, with a warning.

A node names its collider in the node extension MSFT_CollisionPrimitives, or (some files) in
MSFT_RigidBodies as an index or as a nested object. "If a collider has no physics material assigned,
that collider should not generate impulses": it is a trigger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from gltf_bullet.coverage import approximated, covers, exact
from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, warning
from gltf_bullet.dialects.filters import FILTER_KEYS, SYSTEMS, read_filter
from gltf_bullet.dialects.materials import parse_material
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.motions import read_inertia_tensor, read_motion
from gltf_bullet.dialects.older_joint_forms import parse_msft_joint, read_joint_limits
from gltf_bullet.dialects.parts import PhysicsParts, node_extension_pointer
from gltf_bullet.dialects.reading import (
    AS_ABSENT,
    keys_of,
    known_keys,
    read_block,
    read_entry,
    read_property,
    read_table,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import (
    SHAPE_LEFT_OUT,
    read_box,
    read_extent,
    read_sphere,
    with_extent,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.model import (
    Box,
    Capsule,
    CollisionFilter,
    Cylinder,
    JointDescription,
    MeshShape,
    Motion,
    PhysicsMaterial,
    Shape,
    Sphere,
)
from gltf_bullet.model.properties import (
    BOX,
    CAPSULE,
    CYLINDER,
    MOTION,
    SPHERE,
    Dialect,
    Properties,
)

EXTENSION: Final = "MSFT_RigidBodies"
_PRIMITIVES: Final = "MSFT_CollisionPrimitives"
_DIALECT: Final = Dialect.MSFT_CAMEL

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

COVERAGE: Final = covers(
    "Objects and references",
    exact(
        "colliders", "box", "sphere", "capsule", "cylinder",
        shown_by="tests/dialects/test_msft.py::test_the_key_of_a_collider_is_its_type",
    ),
    approximated("height", when="capsules of MSFT", by=CAPSULE_HEIGHT_LOOSE),
    exact(
        "collisionSystem",
        when="the older spelling of collisionSystems",
        shown_by="tests/dialects/test_msft.py::test_the_filter_stands_on_the_collider",
    ),
)  # fmt: skip

COLLIDER_TWICE = warning(
    "COLLIDER_TWICE",
    "the node names a collider in MSFT_CollisionPrimitives and in MSFT_RigidBodies; "
    "must name it once; the first is used",
)
MATERIAL_WITHOUT_COLLIDER = warning(
    "MATERIAL_WITHOUT_COLLIDER",
    "the node has a physicsMaterial but no collider; should have one; the material has no effect",
)

_OLDER_SYSTEMS: Final = "collisionSystem"
_ROOT_KEYS: Final = known_keys("physicsMaterials", "physicsJointLimits")
_NODE_KEYS: Final = known_keys("rigidBody", "collider", "physicsMaterial", "joint")
_NESTED_KEYS: Final = known_keys("collider", "physicsMaterial")
_BODY_KEYS: Final = known_keys("inertiaTensor", *MOTION.names(_DIALECT))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColliderEntry:
    """A shape and the filter that stands on it."""

    shape: Shape
    filter: CollisionFilter | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """The tables that nodes refer to by index."""

    document: Document
    colliders: tuple[_ColliderEntry | None, ...]
    materials: tuple[PhysicsMaterial, ...]
    joints: tuple[JointDescription, ...]


def parse(
    document: Document, nodes: Sequence[int], parts: PhysicsParts, diagnostics: Diagnostics
) -> None:
    """Read the document's tables and both extensions on ``nodes`` into ``parts``."""
    root = document.root_extension(EXTENSION)
    at: JsonPointer = ROOT / "extensions" / EXTENSION
    report_unknown(root, _ROOT_KEYS, EXTENSION, at, diagnostics)
    tables = _Tables(
        document=document,
        colliders=_read_colliders(document, diagnostics),
        materials=read_table(
            root, "physicsMaterials", at, diagnostics, partial(parse_material, dialect=_DIALECT)
        ),
        joints=read_joint_limits(root, at, diagnostics),
    )
    shapes = [entry.shape for entry in tables.colliders if entry is not None]
    parts.note_tables(shapes, tables.materials, tables.joints)
    for node in nodes:
        extension = document.node_extension(node, EXTENSION) or {}
        at = node_extension_pointer(node, EXTENSION)
        report_unknown(extension, _NODE_KEYS, EXTENSION, at, diagnostics)
        if (body := read_block(extension, "rigidBody", at, diagnostics)) is not None:
            parts.motions[node] = _parse_body(body, at / "rigidBody", diagnostics)
        if (joint := read_block(extension, "joint", at, diagnostics)) is not None:
            parts.add_joint(
                parse_msft_joint(
                    joint,
                    node,
                    at / "joint",
                    diagnostics,
                    tables.joints,
                    node_count=len(document.tree),
                )
            )
        _parse_collider(extension, node, at, diagnostics, tables, parts)


def _parse_body(body: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> Motion:
    report_unknown(body, _BODY_KEYS, "a rigid body", at, diagnostics)
    kind = read_property(body, MOTION["isKinematic"], at, diagnostics, _DIALECT)
    diagonal, orientation = read_inertia_tensor(body, "inertiaTensor", at, diagnostics)
    return read_motion(
        body,
        at,
        diagnostics,
        _DIALECT,
        kind=kind,
        inertia_diagonal=diagonal,
        inertia_orientation_xyzw=orientation,
    )


def _parse_collider(
    extension: JsonObject,
    node: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    tables: _Tables,
    parts: PhysicsParts,
) -> None:
    nested: JsonObject = {}
    if isinstance(extension.get("collider"), dict):
        nested = read_block(extension, "collider", at, diagnostics) or {}
        report_unknown(nested, _NESTED_KEYS, "a collider", at / "collider", diagnostics)
    entry, is_named = _read_named(extension, nested, node, at, diagnostics, tables)
    # Exporters that write -1 for none mean what the text says of colliders without a material.
    has_material = any(owner.get("physicsMaterial", -1) != -1 for owner in (extension, nested))
    instead = "the default material is used" if has_material else AS_ABSENT
    outer, inner = (
        read_entry(owner, "physicsMaterial", place, diagnostics, tables.materials, instead=instead)
        for owner, place in ((extension, at), (nested, at / "collider"))
    )
    material = outer if outer is not None else inner
    if has_material and not is_named:
        diagnostics.report(MATERIAL_WITHOUT_COLLIDER, at)
    if entry is None:
        return
    if has_material:
        parts.add_collider(node, entry.shape, material, entry.filter, at)
    else:
        parts.add_trigger(node, entry.shape, entry.filter, at)


def _read_named(
    extension: JsonObject,
    nested: JsonObject,
    node: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    tables: _Tables,
) -> tuple[_ColliderEntry | None, bool]:
    """The collider that the node names in one of three places, and true if it names one."""
    name = _PRIMITIVES
    primitives = tables.document.node_extension(node, name)
    if primitives is not None:
        primitives_at = node_extension_pointer(node, name)
        report_unknown(primitives, known_keys("collider"), name, primitives_at, diagnostics)
        require(
            primitives,
            "collider",
            "the index of a collider",
            primitives_at,
            diagnostics,
            instead=SHAPE_LEFT_OUT,
        )
        if "collider" in extension:
            diagnostics.report(COLLIDER_TWICE, at / "collider")
        return (
            read_entry(
                primitives,
                "collider",
                primitives_at,
                diagnostics,
                tables.colliders,
                instead=SHAPE_LEFT_OUT,
            ),
            True,
        )
    if nested or isinstance(extension.get("collider"), dict):
        at = at / "collider"
        require(
            nested, "collider", "the index of a collider", at, diagnostics, instead=SHAPE_LEFT_OUT
        )
        return read_entry(
            nested, "collider", at, diagnostics, tables.colliders, instead=SHAPE_LEFT_OUT
        ), True
    entry = read_entry(
        extension, "collider", at, diagnostics, tables.colliders, instead=SHAPE_LEFT_OUT
    )
    return entry, "collider" in extension


# --- colliders ------------------------------------------------------------------------------------


def _read_colliders(
    document: Document, diagnostics: Diagnostics
) -> tuple[_ColliderEntry | None, ...]:
    """The collider table; an entry that cannot be used is ``None`` and was reported."""
    at = ROOT / "extensions" / _PRIMITIVES
    root = document.root_extension(_PRIMITIVES)
    report_unknown(root, known_keys("colliders"), _PRIMITIVES, at, diagnostics)
    parse = partial(_parse_entry, document=document)
    return read_table(root, "colliders", at, diagnostics, parse, required=True)


def _parse_entry(
    entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics, *, document: Document
) -> _ColliderEntry | None:
    known = known_keys(*_PARSERS, *FILTER_KEYS, _OLDER_SYSTEMS, "type")
    report_unknown(entry, known, "a collider", at, diagnostics)
    collision_filter: CollisionFilter | None = None
    if _OLDER_SYSTEMS in entry or any(key in entry for key in FILTER_KEYS):
        # The schema says collisionSystem, files and the later dialect say collisionSystems.
        is_newer = SYSTEMS.key in entry or _OLDER_SYSTEMS not in entry
        systems = SYSTEMS if is_newer else replace(SYSTEMS, key=_OLDER_SYSTEMS)
        collision_filter = read_filter(entry, at, diagnostics, systems=systems)
    present = [key for key in _PARSERS if key in entry]
    if len(present) != 1:
        diagnostics.report(
            COLLIDER_TYPE_UNCLEAR,
            at,
            got=" and ".join(present) or "no shape",
            allowed=", ".join(_PARSERS),
        )
        return None
    kind = present[0]
    block = read_block(entry, kind, at, diagnostics) or {}
    shape = _PARSERS[kind](block, at / kind, diagnostics, document)
    return None if shape is None else _ColliderEntry(shape=shape, filter=collision_filter)


def _warn_missing(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, table: Properties
) -> None:
    for _, key, default in table.entries(_DIALECT):
        if key not in block:
            diagnostics.report(SIZE_MISSING, at, key=key, default=default)


def _parse_box(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, _document: Document
) -> Box | None:
    _warn_missing(block, at, diagnostics, BOX)
    return read_box(block, at, diagnostics, dialect=_DIALECT)


def _parse_sphere(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, _document: Document
) -> Sphere | None:
    _warn_missing(block, at, diagnostics, SPHERE)
    return read_sphere(block, at, diagnostics, dialect=_DIALECT)


def _read_round(
    block: JsonObject, what: str, at: JsonPointer, diagnostics: Diagnostics, table: Properties
) -> tuple[float, float] | None:
    """Height and radius, if they make a shape."""
    report_unknown(block, keys_of(table, _DIALECT), table.what, at, diagnostics)
    _warn_missing(block, at, diagnostics, table)
    height = read_extent(block, table["height"], at, diagnostics, _DIALECT)
    radius = read_extent(block, table["radius"], at, diagnostics, _DIALECT)
    if height is None or radius is None:
        return None
    return with_extent((height, radius), what, (height, radius), at, diagnostics)


def _parse_capsule(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, _document: Document
) -> Capsule | None:
    sizes = _read_round(block, "capsule", at, diagnostics, CAPSULE)
    if sizes is None:
        return None
    height, radius = sizes
    diagnostics.report(CAPSULE_HEIGHT_LOOSE, at / "height")
    return Capsule(mid_height=height, radius_bottom=radius, radius_top=radius, pointer=at)


def _parse_cylinder(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, _document: Document
) -> Cylinder | None:
    sizes = _read_round(block, "cylinder", at, diagnostics, CYLINDER)
    if sizes is None:
        return None
    height, radius = sizes
    return Cylinder(height=height, radius_bottom=radius, radius_top=radius, pointer=at)


def _parse_mesh(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    document: Document,
    *,
    what: str,
    convex_hull: bool,
) -> MeshShape | None:
    report_unknown(block, known_keys("mesh"), what, at, diagnostics)
    return read_mesh(block, at, diagnostics, document, convex_hull=convex_hull)


_PARSERS: Final[
    Mapping[str, Callable[[JsonObject, JsonPointer, Diagnostics, Document], Shape | None]]
] = {
    "sphere": _parse_sphere,
    "box": _parse_box,
    "capsule": _parse_capsule,
    "cylinder": _parse_cylinder,
    "convex": partial(_parse_mesh, what="a convex collider", convex_hull=True),
    "trimesh": partial(_parse_mesh, what="a trimesh collider", convex_hull=False),
}
