"""MSFT_RigidBodies (004): bodies, and colliders that are solid only with a material.

A node names its collider in the node extension MSFT_CollisionPrimitives, or (some files) in
MSFT_RigidBodies as an index or as a nested object. "If a collider has no physics material assigned,
that collider should not generate impulses": it is a trigger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.inertia_tensor import read_inertia_tensor
from gltf_bullet.dialects.joint_limit_tables import parse_msft_joint, read_joint_limits
from gltf_bullet.dialects.mass_properties import read_mass
from gltf_bullet.dialects.materials import parse_material
from gltf_bullet.dialects.msft import camel_collision_primitives as msft_camel_collision_primitives
from gltf_bullet.dialects.msft.camel_collision_primitives import ColliderEntry
from gltf_bullet.dialects.parts import PhysicsParts, node_extension_pointer
from gltf_bullet.dialects.properties import (
    AS_ABSENT,
    known_keys,
    read_block,
    read_entry,
    read_table,
    read_vector,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import SHAPE_LEFT_OUT
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject, read_bool, read_number
from gltf_bullet.model import (
    JointDescription,
    Motion,
    MotionKind,
    PhysicsMaterial,
)
from gltf_bullet.transforms import Vec3

__all__ = ["COLLIDER_TWICE", "EXTENSION", "MATERIAL_WITHOUT_COLLIDER", "parse"]

EXTENSION: Final = "MSFT_RigidBodies"

COLLIDER_TWICE = IssueKind(
    "COLLIDER_TWICE",
    Severity.WARNING,
    "the node names a collider in MSFT_CollisionPrimitives and in MSFT_RigidBodies; "
    "must name it once; the first is used",
)
MATERIAL_WITHOUT_COLLIDER = IssueKind(
    "MATERIAL_WITHOUT_COLLIDER",
    Severity.WARNING,
    "the node has a physicsMaterial but no collider; should have one; the material has no effect",
)

_ZERO: Final[Vec3] = (0.0, 0.0, 0.0)
_ROOT_KEYS: Final = known_keys("physicsMaterials", "physicsJointLimits")
_NODE_KEYS: Final = known_keys("rigidBody", "collider", "physicsMaterial", "joint")
_NESTED_KEYS: Final = known_keys("collider", "physicsMaterial")
_BODY_KEYS: Final = known_keys(
    "isKinematic",
    "mass",
    "centerOfMass",
    "inertiaTensor",
    "linearVelocity",
    "angularVelocity",
    "gravityFactor",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """What the nodes refer to by index."""

    document: Document
    colliders: tuple[ColliderEntry | None, ...]
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
        colliders=msft_camel_collision_primitives.read_colliders(document, diagnostics),
        materials=read_table(
            root, "physicsMaterials", at, diagnostics, partial(parse_material, unstated=None)
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
    is_kinematic = read_bool(body, "isKinematic", at, diagnostics, default=False)
    diagonal, orientation = read_inertia_tensor(body, "inertiaTensor", at, diagnostics)
    return Motion(
        kind=MotionKind.KINEMATIC if is_kinematic else MotionKind.DYNAMIC,
        mass=read_mass(body, at, diagnostics, default=1.0),
        center_of_mass=read_vector(body, "centerOfMass", at, diagnostics, default=_ZERO),
        inertia_diagonal=diagonal,
        inertia_orientation_xyzw=orientation,
        linear_velocity=read_vector(body, "linearVelocity", at, diagnostics, default=_ZERO),
        angular_velocity=read_vector(body, "angularVelocity", at, diagnostics, default=_ZERO),
        gravity_factor=read_number(body, "gravityFactor", at, diagnostics, default=1.0),
        pointer=at,
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
) -> tuple[ColliderEntry | None, bool]:
    """The collider that the node names in one of three places, and whether it names one."""
    name = msft_camel_collision_primitives.EXTENSION
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
