"""MSFT_rigid_bodies and its MSFT_collision_primitives, the later spelling.

Motion is as in KHR, collider and trigger stand beside each other. Its motion schema puts the centre
of mass at the node's origin; mass and inertia that are not given come from the geometry, as the
successor's text says. Sizes may be 0. ``height`` of a capsule is the distance between the cap
centres.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.filters import parse_filter
from gltf_bullet.dialects.joints import parse_node_joint
from gltf_bullet.dialects.materials import parse_material
from gltf_bullet.dialects.mesh_geometry import read_mesh
from gltf_bullet.dialects.motions import parse_motion
from gltf_bullet.dialects.older_joint_forms import JOINT_KEYS, read_joint_limits
from gltf_bullet.dialects.parts import MemberReader, PhysicsParts, read_node_members
from gltf_bullet.dialects.reading import (
    known_keys,
    read_entry,
    read_only_table,
    read_root,
    read_table,
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
from gltf_bullet.model import (
    CollisionFilter,
    JointDescription,
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


class _Tables(Struct, frozen=True, kw_only=True):
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

    def read_motion(motion: Reader, node: int) -> None:
        parts.motions[node] = parse_motion(motion, _DIALECT)

    parse_joint = partial(
        parse_node_joint, node_count=len(document.tree), dialect=_DIALECT, known=JOINT_KEYS
    )

    readers: dict[str, MemberReader] = {
        "motion": read_motion,
        "collider": partial(_parse_collider, tables=tables, parts=parts),
        "trigger": partial(_parse_trigger, tables=tables, parts=parts),
        "joint": lambda joint, node: parts.add_joint(parse_joint(joint, node, tables.joints)),
    }
    read_node_members(document, nodes, EXTENSION, _NODE_KEYS, readers, diagnostics)


def _read_tables(document: Document, diagnostics: Diagnostics) -> _Tables:
    root = read_root(document, EXTENSION, _ROOT_KEYS, diagnostics)
    return _Tables(
        shapes=_read_shapes(document, diagnostics),
        materials=read_table(root, "physicsMaterials", partial(parse_material, dialect=_DIALECT)),
        filters=read_table(root, "collisionFilters", parse_filter),
        joints=read_joint_limits(root),
    )


def _read_shapes(document: Document, diagnostics: Diagnostics) -> tuple[Shape | None, ...]:
    """The collider table; an entry that cannot be used is ``None`` and was reported."""
    mesh = partial(read_mesh, document=document, what="a mesh collider")
    parsers: dict[str, BlockParser[Shape | None]] = {
        **primitive_parsers(_DIALECT),
        "convex": partial(mesh, convex_hull=True),
        "trimesh": partial(mesh, convex_hull=False),
    }
    parse = partial(parse_typed_shape, parsers=parsers, block_required=True)
    return read_only_table(document, _SHAPES, "colliders", parse, diagnostics)


def _parse_collider(collider: Reader, node: int, tables: _Tables, parts: PhysicsParts) -> None:
    report_unknown(collider, _COLLIDER_KEYS, "a collider")
    require(collider, "collider", "the index of a collider", instead=SHAPE_LEFT_OUT)
    shape = read_entry(collider, "collider", tables.shapes, instead=SHAPE_LEFT_OUT)
    material = read_entry(collider, "physicsMaterial", tables.materials)
    collision_filter = read_entry(collider, "collisionFilter", tables.filters)
    parts.add_collider(node, shape, collider, material, collision_filter)


def _parse_trigger(trigger: Reader, node: int, tables: _Tables, parts: PhysicsParts) -> None:
    report_unknown(trigger, _TRIGGER_KEYS, "a trigger")
    require(trigger, "collider", "the index of a collider", instead=SHAPE_LEFT_OUT)
    shape = read_entry(trigger, "collider", tables.shapes, instead=SHAPE_LEFT_OUT)
    collision_filter = read_entry(trigger, "collisionFilter", tables.filters)
    parts.add_trigger(node, shape, trigger, collision_filter)
