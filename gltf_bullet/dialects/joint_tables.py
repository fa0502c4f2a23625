"""Tables of joint descriptions, and the joints on nodes that refer to them.

KHR_physics_rigid_bodies, "Joints"; OMI_physics_joint has the same two objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gltf_bullet.coverage import covers, exact
from gltf_bullet.diagnostics import Diagnostics, JsonPointer
from gltf_bullet.dialects.joint_drives import DriveRules, parse_drive
from gltf_bullet.dialects.joint_limits import LimitRules, parse_limit
from gltf_bullet.dialects.properties import (
    AS_EMPTY,
    known_keys,
    read_entry,
    report_unknown,
    require,
)
from gltf_bullet.gltf.fields import JsonObject, read_bool, read_index, read_objects
from gltf_bullet.model import Joint, JointDescription

__all__ = ["COVERAGE", "JOINT_LEFT_OUT", "parse_joint_description", "parse_node_joint"]

COVERAGE: Final = covers(
    "Joints",
    exact(
        "physicsJoints", "joint",
        shown_by="tests/dialects/test_khr_joints.py::test_every_property_of_a_limit_is_read",
    ),
)  # fmt: skip

JOINT_LEFT_OUT: Final = "the joint is left out"
_DESCRIPTION_KEYS: Final = known_keys("limits", "drives")
_JOINT_KEYS: Final = known_keys("connectedNode", "joint", "enableCollision")


def parse_joint_description(
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    limit_rules: LimitRules,
    drive_rules: DriveRules,
) -> JointDescription:
    """An entry of ``physicsJoints``; limits and drives that are wrong are left out."""
    report_unknown(entry, _DESCRIPTION_KEYS, "a joint description", at, diagnostics)
    limits = tuple(
        limit
        for _, pointer, item in read_objects(entry, "limits", at, diagnostics, instead=AS_EMPTY)
        for limit in parse_limit(item, pointer, diagnostics, rules=limit_rules)
    )
    drives = tuple(
        drive
        for _, pointer, item in read_objects(entry, "drives", at, diagnostics, instead=AS_EMPTY)
        if (drive := parse_drive(item, pointer, diagnostics, rules=drive_rules)) is not None
    )
    return JointDescription(limits=limits, drives=drives, pointer=at)


def parse_node_joint(
    joint: JsonObject,
    node: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    table: Sequence[JointDescription],
    *,
    node_count: int,
) -> Joint | None:
    """The joint on ``node``; ``None`` where a reference is missing or wrong."""
    report_unknown(joint, _JOINT_KEYS, "a joint", at, diagnostics)
    for key, what in (("connectedNode", "a node"), ("joint", "a physics joint")):
        require(joint, key, f"the index of {what}", at, diagnostics, instead=JOINT_LEFT_OUT)
    connected = read_index(
        joint,
        "connectedNode",
        at,
        diagnostics,
        count=node_count,
        instead=JOINT_LEFT_OUT,
        refers=True,
    )
    description = read_entry(joint, "joint", at, diagnostics, table, instead=JOINT_LEFT_OUT)
    enable_collision = read_bool(joint, "enableCollision", at, diagnostics, default=False)
    if connected is None or description is None:
        return None
    return Joint(
        node=node,
        connected_node=connected,
        description=description,
        enable_collision=enable_collision,
        pointer=at,
    )
