"""MSFT_rigid_bodies and its MSFT_collision_primitives, the later spelling.

Motion is as in KHR, collider and trigger stand beside each other. Its motion schema puts the centre
of mass at the node's origin; mass and inertia that are not given come from the geometry, as the
successor's text says. Sizes may be 0. ``height`` of a capsule is the distance between the cap
centres.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.dialects.filters import parse_filter
from gltf_bullet.dialects.materials import parse_material
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.motions import parse_motion
from gltf_bullet.dialects.older_joint_forms import parse_msft_joint, read_joint_limits
from gltf_bullet.dialects.parts import MemberReader, PhysicsParts, read_node_members
from gltf_bullet.dialects.reading import (
    known_keys,
    read_entry,
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
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.model import (
    CollisionFilter,
    JointDescription,
    MeshShape,
    PhysicsMaterial,
    Shape,
)
from gltf_bullet.model.properties import Dialect

EXTENSION: Final = "MSFT_rigid_bodies"
_DIALECT: Final = Dialect.MSFT_LATER
_SHAPES: Final = "MSFT_collision_primitives"

_ROOT_KEYS: Final = known_keys("physicsMaterials", "collisionFilters", "physicsJointLimits")
_NODE_KEYS: Final = known_keys("motion", "collider", "trigger", "joint")
_COLLIDER_KEYS: Final = known_keys("collider", "physicsMaterial", "collisionFilter")
_TRIGGER_KEYS: Final = known_keys("collider", "collisionFilter")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """The tables that nodes refer to by index."""

    shapes: tuple[Shape | None, ...]
    materials: tuple[PhysicsMaterial, ...]
    filters: tuple[CollisionFilter, ...]
    joints: tuple[JointDescription, ...]


def parse(
    document: Document, nodes: Sequence[int], parts: PhysicsParts, diagnostics: Diagnostics
) -> None:
    """Read the document's tables and the extension on ``nodes`` into ``parts``."""
    tables = _read_tables(document, diagnostics)
    parts.collision_filters = parts.collision_filters or tables.filters
    parts.note_tables(tables.shapes, tables.materials, tables.joints)

    def read_motion(motion: JsonObject, node: int, at: JsonPointer) -> None:
        parts.motions[node] = parse_motion(motion, at, diagnostics, _DIALECT)

    readers: dict[str, MemberReader] = {
        "motion": read_motion,
        "collider": partial(_parse_collider, diagnostics=diagnostics, tables=tables, parts=parts),
        "trigger": partial(_parse_trigger, diagnostics=diagnostics, tables=tables, parts=parts),
        "joint": lambda joint, node, at: parts.add_joint(
            parse_msft_joint(
                joint, node, at, diagnostics, tables.joints, node_count=len(document.tree)
            )
        ),
    }
    read_node_members(document, nodes, EXTENSION, _NODE_KEYS, readers, diagnostics)


def _read_tables(document: Document, diagnostics: Diagnostics) -> _Tables:
    root = document.root_extension(EXTENSION)
    at = ROOT / "extensions" / EXTENSION
    report_unknown(root, _ROOT_KEYS, EXTENSION, at, diagnostics)
    return _Tables(
        shapes=_read_shapes(document, diagnostics),
        materials=read_table(
            root,
            "physicsMaterials",
            at,
            diagnostics,
            partial(parse_material, dialect=_DIALECT),
        ),
        filters=read_table(root, "collisionFilters", at, diagnostics, parse_filter),
        joints=read_joint_limits(root, at, diagnostics),
    )


def _read_shapes(document: Document, diagnostics: Diagnostics) -> tuple[Shape | None, ...]:
    """The collider table; an entry that cannot be used is ``None`` and was reported."""
    at = ROOT / "extensions" / _SHAPES
    root = document.root_extension(_SHAPES)
    report_unknown(root, known_keys("colliders"), _SHAPES, at, diagnostics)
    parsers: Mapping[str, BlockParser[Shape | None]] = {
        "sphere": partial(read_sphere, dialect=_DIALECT),
        "box": partial(read_box, dialect=_DIALECT),
        "capsule": partial(read_capsule, dialect=_DIALECT),
        "cylinder": partial(read_cylinder, dialect=_DIALECT),
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


def _parse_collider(
    collider: JsonObject,
    node: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    tables: _Tables,
    parts: PhysicsParts,
) -> None:
    report_unknown(collider, _COLLIDER_KEYS, "a collider", at, diagnostics)
    require(
        collider, "collider", "the index of a collider", at, diagnostics, instead=SHAPE_LEFT_OUT
    )
    shape = read_entry(collider, "collider", at, diagnostics, tables.shapes, instead=SHAPE_LEFT_OUT)
    material = read_entry(collider, "physicsMaterial", at, diagnostics, tables.materials)
    collision_filter = read_entry(collider, "collisionFilter", at, diagnostics, tables.filters)
    parts.add_collider(node, shape, material, collision_filter, at)


def _parse_trigger(
    trigger: JsonObject,
    node: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    tables: _Tables,
    parts: PhysicsParts,
) -> None:
    report_unknown(trigger, _TRIGGER_KEYS, "a trigger", at, diagnostics)
    require(trigger, "collider", "the index of a collider", at, diagnostics, instead=SHAPE_LEFT_OUT)
    shape = read_entry(trigger, "collider", at, diagnostics, tables.shapes, instead=SHAPE_LEFT_OUT)
    collision_filter = read_entry(trigger, "collisionFilter", at, diagnostics, tables.filters)
    parts.add_trigger(node, shape, collision_filter, at)
