"""OMI_physics_joint: joints with limits and drives in an extension of their own.

A limit may hold linear and angular axes at once and then means two limits; a negative stiffness is
rigid, a negative maxForce unlimited (002, "Joint Limits" and "Joint Drives").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import Diagnostics, note
from gltf_bullet.dialects.joints import parse_joint_description, parse_node_joint
from gltf_bullet.dialects.parts import PhysicsParts
from gltf_bullet.dialects.reading import known_keys, read_root, read_table
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
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
        joint = _find_joint(document, node, diagnostics)
        if joint is not None:
            parts.add_joint(parse_node_joint(joint, node, table, node_count=len(document.tree)))


def _read_table(document: Document, diagnostics: Diagnostics) -> tuple[JointDescription, ...]:
    root = read_root(document, EXTENSION, known_keys(_TABLE), diagnostics)
    older = document.root_reader(_BODY, diagnostics)
    if _TABLE in older:
        # 002 itself says once that the table is "in the OMI_physics_body extension".
        older.report(LEGACY_JOINT_PLACE, _TABLE)
        if _TABLE not in root:
            root = older
    parse_description = partial(parse_joint_description, dialect=Dialect.OMI)
    return read_table(root, _TABLE, parse_description, required=root is not older)


def _find_joint(document: Document, node: int, diagnostics: Diagnostics) -> Reader | None:
    """The joint object of a node: the extension, or an object "joint" inside it or in the body."""
    is_joint = document.node_extension(node, EXTENSION) is not None
    owner = document.node_reader(node, EXTENSION if is_joint else _BODY, diagnostics)
    if "joint" not in owner or (is_joint and not isinstance(owner["joint"], dict)):
        return owner if is_joint else None
    owner.report(LEGACY_JOINT_PLACE, "joint")
    return owner.member("joint")
