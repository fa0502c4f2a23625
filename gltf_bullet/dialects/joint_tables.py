"""Tables of joint descriptions: limits and drives that several joints may share."""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import Diagnostics, JsonPointer
from gltf_bullet.dialects.joint_drives import DriveRules, parse_drive
from gltf_bullet.dialects.joint_limits import LimitRules, parse_limit
from gltf_bullet.dialects.properties import known_keys, report_unknown
from gltf_bullet.gltf.fields import JsonObject, read_objects
from gltf_bullet.model import JointDescription

__all__ = ["parse_joint_description"]

_KEYS: Final = known_keys("limits", "drives")


def parse_joint_description(
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    limit_rules: LimitRules,
    drive_rules: DriveRules,
) -> JointDescription:
    """An entry of ``physicsJoints``; limits and drives that are wrong are left out."""
    report_unknown(entry, _KEYS, "a joint description", at, diagnostics)
    limits = tuple(
        limit
        for _, pointer, item in read_objects(entry, "limits", at, diagnostics)
        for limit in parse_limit(item, pointer, diagnostics, rules=limit_rules)
    )
    drives = tuple(
        drive
        for _, pointer, item in read_objects(entry, "drives", at, diagnostics)
        if (drive := parse_drive(item, pointer, diagnostics, rules=drive_rules)) is not None
    )
    return JointDescription(limits=limits, drives=drives, pointer=at)
