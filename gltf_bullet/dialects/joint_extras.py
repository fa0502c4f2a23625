"""What robots say of joints and KHR does not: ``extras.gltf_bullet`` of a joint's node.

Written by ``gltf-bullet convert``; any file may have it::

    "extras": {"gltf_bullet": {"maxVelocity": 2.6, "friction": 0.1, "fixedBase": true,
                               "mimic": {"joint": "finger_1", "multiplier": 1, "offset": 0}}}

Joints that cannot move may have a ``maxForce``, which is for drives otherwise.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, Severity
from gltf_bullet.gltf.document import Document
from gltf_bullet.model import Joint, JointCoupling

__all__ = ["EXTRAS", "JOINT_MIMIC_UNUSABLE", "with_extras"]

EXTRAS: Final = "gltf_bullet"

JOINT_MIMIC_UNUSABLE = IssueKind(
    "JOINT_MIMIC_UNUSABLE",
    Severity.WARNING,
    "the mimic rule {got} names no other joint of the file by its node's name, with numbers for "
    "multiplier and offset; it is ignored",
)


def with_extras(
    joints: dict[int, Joint], document: Document, diagnostics: Diagnostics
) -> dict[int, Joint]:
    """The joints with what their nodes' ``extras`` add."""
    nodes = document.objects("nodes")
    found = dict(joints)
    for number, joint in joints.items():
        extras = nodes[number].get("extras")
        own = extras.get(EXTRAS) if isinstance(extras, dict) else None
        if not isinstance(own, dict):
            continue
        coupling = _coupling(own["mimic"], number, joints, document) if "mimic" in own else None
        if "mimic" in own and coupling is None:
            at = ROOT / "nodes" / number / "extras" / EXTRAS / "mimic"
            diagnostics.report(JOINT_MIMIC_UNUSABLE, at, got=repr(own["mimic"])[:80])
        found[number] = replace(
            joint,
            coupling=coupling,
            max_velocity=_number(own.get("maxVelocity")) or 0.0,
            max_force=_number(own.get("maxForce")) or 0.0,
            friction=_number(own.get("friction")) or 0.0,
            on_fixed_base=own.get("fixedBase") in (True, 1),
        )
    return found


def _coupling(
    rule: Any, follower: int, joints: dict[int, Joint], document: Document
) -> JointCoupling | None:
    if not isinstance(rule, dict):
        return None
    names = document.tree.names
    leaders = [node for node in joints if names[node] and names[node] == rule.get("joint")]
    multiplier, offset = _number(rule.get("multiplier", 1.0)), _number(rule.get("offset", 0.0))
    if len(leaders) != 1 or leaders[0] == follower or multiplier is None or offset is None:
        return None
    return JointCoupling(leader=leaders[0], multiplier=multiplier, offset=offset)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # JSON has whole numbers of any length, which float() refuses.
    return float(value) if abs(value) <= sys.float_info.max else None
