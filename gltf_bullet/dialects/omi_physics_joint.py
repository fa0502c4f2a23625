"""OMI_physics_joint: joints with limits and drives in an extension of their own.

A limit may hold linear and angular axes at once and then means two limits; a negative stiffness is
rigid, a negative maxForce unlimited (002, "Joint Limits" and "Joint Drives").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.dialects.joint_drives import DriveRules
from gltf_bullet.dialects.joint_limits import LimitRules
from gltf_bullet.dialects.joint_tables import parse_joint_description, parse_node_joint
from gltf_bullet.dialects.parts import PhysicsParts, node_extension_pointer
from gltf_bullet.dialects.properties import known_keys, read_table, report_unknown
from gltf_bullet.gltf.document import Document

__all__ = ["EXTENSION", "parse"]

EXTENSION: Final = "OMI_physics_joint"

_LIMITS: Final = LimitRules(
    may_mix_axes=True,
    may_be_empty=True,
    negative_stiffness_is_rigid=True,
    locked_without_range=False,
)
_DRIVES: Final = DriveRules(negative_force_is_unlimited=True, gain_needs_target=True)


def parse(
    document: Document, nodes: Sequence[int], parts: PhysicsParts, diagnostics: Diagnostics
) -> None:
    """Read the document's joint table and the extension on ``nodes`` into ``parts``."""
    at: JsonPointer = ROOT / "extensions" / EXTENSION
    root = document.root_extension(EXTENSION)
    report_unknown(root, known_keys("physicsJoints"), EXTENSION, at, diagnostics)
    parse_description = partial(parse_joint_description, limit_rules=_LIMITS, drive_rules=_DRIVES)
    table = read_table(root, "physicsJoints", at, diagnostics, parse_description, required=True)
    for node in nodes:
        extension = document.node_extension(node, EXTENSION)
        if extension is None:
            continue
        at = node_extension_pointer(node, EXTENSION)
        joint = parse_node_joint(
            extension, node, at, diagnostics, table, node_count=len(document.tree)
        )
        if joint is not None:
            parts.joints[node] = joint
