"""OMI_physics_joint: joints with limits and drives in an extension of their own.

A limit may hold linear and angular axes at once and then means two limits; a negative stiffness is
rigid, a negative maxForce unlimited (002, "Joint Limits" and "Joint Drives").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, note
from gltf_bullet.dialects.joints import parse_joint_description, parse_node_joint
from gltf_bullet.dialects.parts import PhysicsParts, node_extension_pointer
from gltf_bullet.dialects.reading import known_keys, read_table, report_unknown
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject, read_object
from gltf_bullet.model import JointDescription
from gltf_bullet.model.properties import Dialect

EXTENSION: Final = "OMI_physics_joint"

LEGACY_JOINT_PLACE = note(
    "LEGACY_JOINT_PLACE",
    "joints stand here in older files; should stand in OMI_physics_joint; they are read",
)

_BODY: Final = "OMI_physics_body"
_TABLE: Final = "physicsJoints"


def parse(
    document: Document, nodes: Sequence[int], parts: PhysicsParts, diagnostics: Diagnostics
) -> None:
    """Read the document's joint table and the joints on ``nodes`` into ``parts``."""
    table = _read_table(document, diagnostics)
    parts.note_tables(table)
    for node in nodes:
        at, joint = _find_joint(document, node, diagnostics)
        if joint is None:
            continue
        parsed = parse_node_joint(
            joint, node, at, diagnostics, table, node_count=len(document.tree)
        )
        if parsed is not None:
            parts.joints[node] = parsed


def _read_table(document: Document, diagnostics: Diagnostics) -> tuple[JointDescription, ...]:
    at = ROOT / "extensions" / EXTENSION
    root = document.root_extension(EXTENSION)
    report_unknown(root, known_keys(_TABLE), EXTENSION, at, diagnostics)
    older = document.root_extension(_BODY)
    if _TABLE in older:
        # 002 itself says once that the table is "in the OMI_physics_body extension".
        older_at = ROOT / "extensions" / _BODY
        diagnostics.report(LEGACY_JOINT_PLACE, older_at / _TABLE)
        if _TABLE not in root:
            at, root = older_at, older
    parse_description = partial(parse_joint_description, dialect=Dialect.OMI)
    required = root is not older
    return read_table(root, _TABLE, at, diagnostics, parse_description, required=required)


def _find_joint(
    document: Document, node: int, diagnostics: Diagnostics
) -> tuple[JsonPointer, JsonObject | None]:
    """The joint object of a node: the extension, or an object "joint" inside it or in the body."""
    at = node_extension_pointer(node, EXTENSION)
    joint = document.node_extension(node, EXTENSION)
    nested = joint if joint is not None and isinstance(joint.get("joint"), dict) else None
    if nested is None and joint is None:
        at = node_extension_pointer(node, _BODY)
        nested = document.node_extension(node, _BODY)
    if nested is None or "joint" not in nested:
        return at, joint
    diagnostics.report(LEGACY_JOINT_PLACE, at / "joint")
    return at / "joint", read_object(nested, "joint", at, diagnostics)
