"""KHR_physics_rigid_bodies, in its three revisions, told apart collider by collider.

Motion, materials, filters, triggers and joints are the same in all of them; how a collider names
its geometry is in :mod:`gltf_bullet.dialects.khr.geometry`. First drafts still had the joints of
MSFT_rigid_bodies: ``jointLimits`` that name an entry of ``physicsJointLimits``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, note
from gltf_bullet.dialects.filters import parse_filter
from gltf_bullet.dialects.joints import parse_joint_description, parse_node_joint
from gltf_bullet.dialects.khr.geometry import KhrShapes, has_geometry, read_geometry
from gltf_bullet.dialects.materials import parse_material
from gltf_bullet.dialects.mesh_geometry import MeshTemplate
from gltf_bullet.dialects.motions import parse_motion
from gltf_bullet.dialects.older_joint_forms import JOINT_KEYS, read_joint_limits
from gltf_bullet.dialects.parts import MemberReader, PhysicsParts, read_node_members
from gltf_bullet.dialects.reading import known_keys, read_entry, read_table, report_unknown
from gltf_bullet.dialects.triggers import (
    TRIGGER_SHAPE_AND_NODES,
    TRIGGER_WITHOUT_SHAPE,
    is_compound,
    read_part_nodes,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import (
    CollisionFilter,
    Joint,
    JointDescription,
    PhysicsMaterial,
)
from gltf_bullet.model.properties import Dialect

EXTENSION: Final = "KHR_physics_rigid_bodies"

JOINTS_OF_FIRST_DRAFTS = note(
    "JOINTS_OF_FIRST_DRAFTS",
    "{got} is a word of first drafts; should be {present}; it is read as in MSFT_rigid_bodies",
)

_ROOT_KEYS: Final = known_keys("physicsMaterials", "collisionFilters", "physicsJoints")
_OLDER_JOINTS: Final = "physicsJointLimits"
_OLDER_JOINT: Final = "jointLimits"
_NODE_KEYS: Final = known_keys("motion", "collider", "trigger", "joint")
_COLLIDER_KEYS: Final = known_keys("geometry", "shape", "physicsMaterial", "collisionFilter")
_TRIGGER_KEYS: Final = known_keys("geometry", "shape", "nodes", "collisionFilter")


class _Tables(Struct, frozen=True, kw_only=True):
    """The tables that nodes refer to by index."""

    document: Document
    shapes: KhrShapes
    materials: tuple[PhysicsMaterial, ...]
    filters: tuple[CollisionFilter, ...]
    joints: tuple[JointDescription, ...]


def parse(
    document: Document, nodes: Sequence[int], parts: PhysicsParts, diagnostics: Diagnostics
) -> None:
    """Read the document's tables and the extension on ``nodes`` into ``parts``."""
    tables = _read_tables(document, diagnostics)
    parts.collision_filters = parts.collision_filters or tables.filters
    shapes = tables.shapes
    parts.note_tables(shapes.implicit, shapes.collision, tables.materials, tables.joints)
    templates = [entry for entry in shapes.collision if isinstance(entry, MeshTemplate)]
    parts.tables += filter(None, (template.on_no_node() for template in templates))

    def read_motion(motion: Reader, node: int) -> None:
        parts.motions[node] = parse_motion(motion, Dialect.KHR)

    readers: dict[str, MemberReader] = {
        "motion": read_motion,
        "collider": partial(_parse_collider, tables=tables, parts=parts),
        "trigger": partial(_parse_trigger, tables=tables, parts=parts),
        "joint": lambda joint, node: parts.add_joint(_parse_joint(joint, node, tables)),
    }
    read_node_members(document, nodes, EXTENSION, _NODE_KEYS, readers, diagnostics)


def _read_tables(document: Document, diagnostics: Diagnostics) -> _Tables:
    root = document.root_reader(EXTENSION, diagnostics)
    older = _OLDER_JOINTS in root and "physicsJoints" not in root
    report_unknown(root, _ROOT_KEYS | {_OLDER_JOINTS} if older else _ROOT_KEYS, EXTENSION)
    parse_joint = partial(parse_joint_description, dialect=Dialect.KHR)
    return _Tables(
        document=document,
        shapes=KhrShapes.of(document, diagnostics),
        materials=read_table(
            root, "physicsMaterials", partial(parse_material, dialect=Dialect.KHR)
        ),
        filters=read_table(root, "collisionFilters", parse_filter),
        joints=_read_older_joints(root)
        if older
        else read_table(root, "physicsJoints", parse_joint),
    )


def _read_older_joints(root: Reader) -> tuple[JointDescription, ...]:
    root.report(JOINTS_OF_FIRST_DRAFTS, _OLDER_JOINTS, got=_OLDER_JOINTS, present="physicsJoints")
    return read_joint_limits(root)


def _parse_joint(joint: Reader, node: int, tables: _Tables) -> Joint | None:
    parse_one = partial(parse_node_joint, node_count=len(tables.document.tree))
    if _OLDER_JOINT in joint and "joint" not in joint:
        joint.report(JOINTS_OF_FIRST_DRAFTS, _OLDER_JOINT, got=_OLDER_JOINT, present="joint")
        parse_one = partial(parse_one, dialect=Dialect.MSFT_LATER, known=JOINT_KEYS)
    return parse_one(joint, node, tables.joints)


def _parse_collider(collider: Reader, node: int, tables: _Tables, parts: PhysicsParts) -> None:
    report_unknown(collider, _COLLIDER_KEYS, "a collider")
    shape = read_geometry(collider, "collider", node, tables.shapes)
    material = read_entry(collider, "physicsMaterial", tables.materials)
    collision_filter = read_entry(collider, "collisionFilter", tables.filters)
    parts.add_collider(node, shape, collider, material, collision_filter)


def _parse_trigger(trigger: Reader, node: int, tables: _Tables, parts: PhysicsParts) -> None:
    report_unknown(trigger, _TRIGGER_KEYS, "a trigger")
    if is_compound(trigger):
        if has_geometry(trigger):
            trigger.report(TRIGGER_SHAPE_AND_NODES, key="geometry")
        part_nodes = read_part_nodes(trigger, tables.document)
        parts.add_compound_trigger(node, part_nodes, trigger)
        return
    if not has_geometry(trigger):
        trigger.report(TRIGGER_WITHOUT_SHAPE, key="geometry")
        return
    shape = read_geometry(trigger, "trigger", node, tables.shapes)
    collision_filter = read_entry(trigger, "collisionFilter", tables.filters)
    parts.add_trigger(node, shape, trigger, collision_filter)
