"""Joints: descriptions of limits and drives in tables, and the joints on nodes that name them.

KHR_physics_rigid_bodies, "Joints", and OMI_physics_joint, "Joint Limits" and "Joint Drives", have
the same objects under rules that differ where a dialect is asked for below; MSFT has limits in the
same words (:mod:`.older_joint_forms`). What robots say of joints and KHR does not stands in
``extras.gltf_bullet`` of a joint's node. Written by ``gltf-bullet convert``; any file may have it::

    "extras": {"gltf_bullet": {"maxVelocity": 2.6, "friction": 0.1, "fixedBase": true,
                               "mimic": {"joint": "finger_1", "multiplier": 1, "offset": 0}}}

Joints that cannot move may have a ``maxForce`` there, which is for drives otherwise.

The file is long because a joint is: limits, drives, references and extras are read in one place.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.dialects.reading import (
    AS_EMPTY,
    keys_of,
    known_keys,
    read_entry,
    read_values,
    report_unknown,
    require,
)
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import (
    DofKind,
    DriveMode,
    Joint,
    JointCoupling,
    JointDescription,
    JointDrive,
    JointLimit,
    properties,
)
from gltf_bullet.records import replace

# OMI: "the joint limit ... is invalid"; its joint is not.
LIMIT_WITHOUT_AXES = warning(
    "LIMIT_WITHOUT_AXES",
    "the limit names no axes; must have linearAxes or angularAxes; it is left out",
)
LIMIT_BOTH_AXES = warning(
    "LIMIT_BOTH_AXES",
    "the limit has linearAxes and angularAxes; must have exactly one of them; both count, as two "
    "limits",
)
LIMIT_AXES_EMPTY = warning(
    "LIMIT_AXES_EMPTY", "{key} is empty; must hold one to three axes; it limits nothing"
)
AXIS_REPEATED = warning(
    "AXIS_REPEATED", "{key} is {got}; must name each axis at most once; it counts once"
)
LIMIT_RANGE_EMPTY = warning(
    "LIMIT_RANGE_EMPTY",
    "min is {minimum:g} and max is {maximum:g}; must be min <= max; they are swapped",
)
LIMIT_RESTRICTS_NOTHING = warning(
    "LIMIT_RESTRICTS_NOTHING",
    "the limit has neither min nor max; should have one of them; it restricts nothing",
)
LIMIT_WITHOUT_RANGE_LOCKED = warning(
    "LIMIT_WITHOUT_RANGE_LOCKED",
    "the limit has neither min nor max; should have both; its axes are locked at 0",
)
LIMIT_ONE_SIDED = warning(
    "LIMIT_ONE_SIDED",
    "the limit has no {key}; should have both min and max; it is taken as unbounded on that side",
)
DRIVE_PAIR_INCOMPLETE = warning(
    "DRIVE_PAIR_INCOMPLETE",
    "the drive has {key} without {missing}; should have both; {missing} is taken as 0",
)
DRIVE_GAIN_UNUSED = warning(
    "DRIVE_GAIN_UNUSED",
    "the drive has {key} without {missing}; should have both; {key} has no effect",
)

DRIVE_WORD_UNKNOWN = warning(
    "DRIVE_WORD_UNKNOWN",
    "the drive's {key} is {got}, which is neither {known}; the drive is left out",
)

JOINT_MIMIC_UNUSABLE = warning(
    "JOINT_MIMIC_UNUSABLE",
    "the mimic rule {got} names no other joint of the file by its node's name, with numbers for "
    "multiplier and offset; it is ignored",
)

T = TypeVar("T")

EXTRAS: Final = "gltf_bullet"
"""The member of ``extras`` that is this library's."""
JOINT_LEFT_OUT: Final = "the joint is left out"
_DRIVE_LEFT_OUT: Final = "the drive is left out"
_FORCE: Final = "force is used"

_DESCRIPTION_KEYS: Final = known_keys("limits", "drives")
_JOINT_KEYS: Final = known_keys(
    "connectedNode", "joint", *properties.JOINT.names(properties.Dialect.KHR)
)
_AXES_KEYS: Final = known_keys("linearAxes", "angularAxes")
_DRIVE_KEYS: Final = known_keys("type", "mode", "axis")
_AXES: Final = {"linearAxes": DofKind.LINEAR, "angularAxes": DofKind.ANGULAR}
_KINDS: Final = {kind.value: kind for kind in DofKind}
_MODES: Final = {mode.value: mode for mode in DriveMode}
_GAIN_OF_TARGET: Final = {"positionTarget": "stiffness", "velocityTarget": "damping"}
_LOCKING: Final = (properties.Dialect.MSFT_LATER, properties.Dialect.MSFT_CAMEL)
"""Dialects whose limits lock their axes at 0 without a range; elsewhere they restrict nothing."""


# --- joints on nodes, and their descriptions ------------------------------------------------------


def parse_joint_description(entry: Reader, *, dialect: properties.Dialect) -> JointDescription:
    """An entry of ``physicsJoints``; limits and drives that are wrong are left out."""
    report_unknown(entry, _DESCRIPTION_KEYS, "a joint description")
    limits = tuple(
        limit
        for item in entry.entries("limits", instead=AS_EMPTY)
        for limit in parse_limit(item, dialect)
    )
    drives = tuple(
        drive
        for item in entry.entries("drives", instead=AS_EMPTY)
        if (drive := _parse_drive(item, dialect)) is not None
    )
    return JointDescription(limits=limits, drives=drives, pointer=entry.at)


def parse_node_joint(
    joint: Reader,
    node: int,
    table: Sequence[JointDescription],
    *,
    node_count: int,
    dialect: properties.Dialect = properties.Dialect.KHR,
    known: frozenset[str] = _JOINT_KEYS,
) -> Joint | None:
    """The joint on ``node``; ``None`` where a reference is missing or wrong.

    MSFT: without ``connectedNode`` it holds on to "a fixed point in space".
    """
    is_msft = dialect in _LOCKING
    msft, khr = ("jointLimits", "an entry of physicsJointLimits"), ("joint", "a physics joint")
    key, what = msft if is_msft else khr
    report_unknown(joint, known, properties.JOINT.what)
    if not is_msft:
        require(joint, "connectedNode", "the index of a node", instead=JOINT_LEFT_OUT)
    require(joint, key, f"the index of {what}", instead=JOINT_LEFT_OUT)
    # In MSFT -1 for none says that it holds on to the world.
    means_none = is_msft and joint.get("connectedNode", -1) == -1
    instead = "the joint holds on to the world" if means_none else JOINT_LEFT_OUT
    connected = joint.index("connectedNode", count=node_count, instead=instead, refers=True)
    description = read_entry(joint, key, table, instead=JOINT_LEFT_OUT)
    values = read_values(joint, properties.JOINT, dialect)
    if description is None or (connected is None and not means_none):
        return None
    return Joint(
        node=node, connected_node=connected, description=description, **values, pointer=joint.at
    )


# --- limits --------------------------------------------------------------------------------------


def parse_limit(entry: Reader, dialect: properties.Dialect) -> tuple[JointLimit, ...]:
    """The limits that one object states: one, two in OMI with both lists, none where it is wrong.

    OMI: a limit may hold linear and angular axes, and an empty list means "not limited".
    """
    is_omi = dialect is properties.Dialect.OMI
    report_unknown(entry, keys_of(properties.LIMIT, dialect) | _AXES_KEYS, properties.LIMIT.what)
    axes_by_kind = {
        kind: axes
        for key, kind in _AXES.items()
        if (axes := _read_axes(entry, key, may_be_empty=is_omi))
    }
    values = _read_limit_values(entry, dialect)
    present = [key for key in _AXES if key in entry]
    if len([key for key in present if entry[key] != []]) == 2 and not is_omi:
        entry.report(LIMIT_BOTH_AXES)
    if not axes_by_kind:
        # A list that is there but wrong was reported by itself.
        if not present or (is_omi and all(entry[key] == [] for key in present)):
            entry.report(LIMIT_WITHOUT_AXES)
        return ()
    minimum, maximum = values["minimum"], values["maximum"]
    if minimum > maximum:
        # What turning an axis around leaves of a range in exporters that only change the signs.
        entry.report(LIMIT_RANGE_EMPTY, minimum=minimum, maximum=maximum)
        values |= {"minimum": maximum, "maximum": minimum}
    elif minimum == maximum and math.isinf(minimum):
        # Numbers that count as unlimited, of a bound that nothing then reaches.
        key = "min" if minimum > 0.0 else "max"
        entry.out_of_range(key, entry[key], "within reach", "the limit is left out")
        return ()
    return tuple(
        JointLimit(kind=kind, axes=axes, **values, pointer=entry.at)
        for kind, axes in axes_by_kind.items()
    )


def _read_axes(entry: Reader, key: str, *, may_be_empty: bool) -> tuple[int, ...]:
    axes = entry.indices(key, count=3, instead="it is left out")
    if axes is None:
        return ()
    if entry[key] == [] and not may_be_empty:
        entry.report(LIMIT_AXES_EMPTY, key, key=key)
    distinct = tuple(sorted(set(axes)))
    if len(distinct) != len(axes):
        entry.report(AXIS_REPEATED, key, key=key, got=list(axes)[:10])
    return distinct


def _read_limit_values(entry: Reader, dialect: properties.Dialect) -> dict[str, Any]:
    """Range and softness; an absent side of the range is infinite."""
    given: dict[str, Any] = {}
    if "min" not in entry and "max" not in entry:
        if dialect in _LOCKING:
            entry.report(LIMIT_WITHOUT_RANGE_LOCKED)
            given = {"minimum": 0.0, "maximum": 0.0}
        else:
            entry.report(LIMIT_RESTRICTS_NOTHING)
    elif dialect in _LOCKING:
        for key in ("min", "max"):
            if key not in entry:
                # MSFT: "Each constraint contains a min and max parameter", nothing on its absence.
                entry.report(LIMIT_ONE_SIDED, key=key)
    return read_values(entry, properties.LIMIT, dialect, given=given)


# --- drives --------------------------------------------------------------------------------------


def _parse_drive(entry: Reader, dialect: properties.Dialect) -> JointDrive | None:
    """One drive; ``None`` where its type or axis is missing or wrong, or its mode another word."""
    report_unknown(entry, keys_of(properties.DRIVE, dialect) | _DRIVE_KEYS, properties.DRIVE.what)
    require(entry, "type", "linear or angular", instead=_DRIVE_LEFT_OUT)
    require(entry, "mode", "force or acceleration", instead=_FORCE)
    require(entry, "axis", "0, 1 or 2", instead=_DRIVE_LEFT_OUT)
    kind = _word(entry, "type", _KINDS, instead=_DRIVE_LEFT_OUT)
    mode = _word(entry, "mode", _MODES, instead=_FORCE)
    if not isinstance(entry.get("mode"), str):
        mode = DriveMode.FORCE
    axis = entry.index("axis", count=3, instead=_DRIVE_LEFT_OUT)
    values = read_values(entry, properties.DRIVE, dialect)
    if dialect is properties.Dialect.OMI:
        _drop_gains_without_targets(entry, values)
    else:
        _report_incomplete_pairs(entry)
    if kind is None or mode is None or axis is None:
        return None
    return JointDrive(kind=kind, axis=axis, mode=mode, **values, pointer=entry.at)


def _word(entry: Reader, key: str, known: Mapping[str, T], *, instead: str) -> T | None:
    """The meaning of a word; the schemas of KHR and OMI allow any string."""
    value = entry.string(key, instead=instead)
    if value is not None and value not in known:
        words = " nor ".join(known)
        entry.report(DRIVE_WORD_UNKNOWN, key, key=key, got=repr(value[:60]), known=words)
    return None if value is None else known.get(value)


def _report_incomplete_pairs(entry: Reader) -> None:
    """Report targets without gains and gains without targets, whose target is taken as 0.

    KHR drive schema, ``dependencies``; published files break them (Joint_08 to _10).
    """
    for target, gain in _GAIN_OF_TARGET.items():
        if (target in entry) != (gain in entry):
            key, missing = (target, gain) if target in entry else (gain, target)
            entry.report(DRIVE_PAIR_INCOMPLETE, key=key, missing=missing)


def _drop_gains_without_targets(entry: Reader, values: dict[str, Any]) -> None:
    """Set the gains to 0 that have no target to work towards.

    OMI_physics_joint, "Joint Drives": without a position target the drive "is not a spring",
    without a velocity target "not a motor"; a spring's damping needs no velocity target.
    """
    if "positionTarget" in entry:
        return
    for target, gain in _GAIN_OF_TARGET.items():
        if values[gain] and target not in entry:
            entry.report(DRIVE_GAIN_UNUSED, key=gain, missing=target)
            values[gain] = 0.0


# --- what robots say besides ----------------------------------------------------------------------


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
        stated = {e.field: _extra(own.get(e.key), e) for e in properties.JOINT_EXTRAS}
        found[number] = replace(joint, coupling=coupling, **stated)
    return found


def _extra(value: object, entry: properties.Property) -> Any:
    return value in (True, 1) if entry.is_boolean else _number(value) or entry.default


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
