"""Joint drives under the rules of one dialect.

KHR_physics_rigid_bodies, "Joints"; OMI_physics_joint, "Joint Drives". MSFT has none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from gltf_bullet.coverage import approximated, covers, ignored
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.properties import known_keys, report_unknown, require
from gltf_bullet.gltf.fields import JsonObject, read_index, read_number, read_string
from gltf_bullet.model import DofKind, DriveMode, JointDrive

__all__ = [
    "COVERAGE",
    "DRIVE_GAIN_UNUSED",
    "DRIVE_PAIR_INCOMPLETE",
    "DRIVE_WORD_UNKNOWN",
    "DriveRules",
    "parse_drive",
]

DRIVE_PAIR_INCOMPLETE = IssueKind(
    "DRIVE_PAIR_INCOMPLETE",
    Severity.WARNING,
    "the drive has {key} without {missing}; should have both; {missing} is taken as 0",
)
DRIVE_GAIN_UNUSED = IssueKind(
    "DRIVE_GAIN_UNUSED",
    Severity.WARNING,
    "the drive has {key} without {missing}; should have both; {key} has no effect",
)

DRIVE_WORD_UNKNOWN = IssueKind(
    "DRIVE_WORD_UNKNOWN",
    Severity.WARNING,
    "the drive's {key} is {got}, which is neither {known}; the drive is left out",
)

COVERAGE: Final = covers(
    "Joints",
    approximated(
        "positionTarget", "velocityTarget", "stiffness", "damping",
        when="KHR, one of a pair missing",
        by=DRIVE_PAIR_INCOMPLETE,
    ),
    ignored("type", "mode", when="another word", by=DRIVE_WORD_UNKNOWN),
    ignored("stiffness", "damping", when="OMI, without a target", by=DRIVE_GAIN_UNUSED),
)  # fmt: skip

T = TypeVar("T")

_KEYS: Final = known_keys(
    "type", "mode", "axis", "maxForce", "positionTarget", "velocityTarget", "stiffness", "damping"
)
_KINDS: Final = {kind.value: kind for kind in DofKind}
_MODES: Final = {mode.value: mode for mode in DriveMode}


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveRules:
    """What differs between the dialects."""

    negative_force_is_unlimited: bool
    gain_needs_target: bool
    """OMI: a gain without its target does nothing. KHR: the missing target is taken as 0."""


def parse_drive(
    entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics, *, rules: DriveRules
) -> JointDrive | None:
    """One drive, or ``None`` where its type, mode or axis is missing or wrong."""
    report_unknown(entry, _KEYS, "a joint drive", at, diagnostics)
    require(entry, "type", "linear or angular", at, diagnostics)
    require(entry, "mode", "force or acceleration", at, diagnostics)
    require(entry, "axis", "0, 1 or 2", at, diagnostics)
    kind = _word(entry, "type", at, diagnostics, _KINDS)
    mode = _word(entry, "mode", at, diagnostics, _MODES)
    axis = read_index(entry, "axis", at, diagnostics, count=3)
    max_force = read_number(
        entry,
        "maxForce",
        at,
        diagnostics,
        default=math.inf,
        at_least=None if rules.negative_force_is_unlimited else 0.0,
    )
    position_target = read_number(entry, "positionTarget", at, diagnostics, default=0.0)
    velocity_target = read_number(entry, "velocityTarget", at, diagnostics, default=0.0)
    stiffness = read_number(entry, "stiffness", at, diagnostics, default=0.0, at_least=0.0)
    damping = read_number(entry, "damping", at, diagnostics, default=0.0, at_least=0.0)
    if rules.gain_needs_target:
        stiffness, damping = _gains_with_targets(entry, at, diagnostics, stiffness, damping)
    else:
        _report_incomplete_pairs(entry, at, diagnostics)
    if kind is None or mode is None or axis is None:
        return None
    return JointDrive(
        kind=kind,
        axis=axis,
        mode=mode,
        max_force=math.inf if max_force < 0.0 else max_force,
        position_target=position_target,
        velocity_target=velocity_target,
        stiffness=stiffness,
        damping=damping,
        pointer=at,
    )


def _word(
    entry: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, known: Mapping[str, T]
) -> T | None:
    """What a word stands for; the schemas of KHR and OMI allow any string."""
    value = read_string(entry, key, at, diagnostics)
    if value is not None and value not in known:
        words = " nor ".join(known)
        diagnostics.report(DRIVE_WORD_UNKNOWN, at / key, key=key, got=repr(value[:60]), known=words)
    return None if value is None else known.get(value)


def _report_incomplete_pairs(entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> None:
    """KHR drive schema, ``dependencies``; published files break them (Joint_08 to _10)."""
    for target, gain in (("positionTarget", "stiffness"), ("velocityTarget", "damping")):
        if (target in entry) != (gain in entry):
            key, missing = (target, gain) if target in entry else (gain, target)
            diagnostics.report(DRIVE_PAIR_INCOMPLETE, at, key=key, missing=missing)


def _gains_with_targets(
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    stiffness: float,
    damping: float,
) -> tuple[float, float]:
    """The gains that have a target to work towards.

    OMI_physics_joint, "Joint Drives": without a position target the drive "is not a spring",
    without a velocity target "not a motor"; a spring's damping needs no velocity target.
    """
    if stiffness and "positionTarget" not in entry:
        diagnostics.report(DRIVE_GAIN_UNUSED, at, key="stiffness", missing="positionTarget")
        stiffness = 0.0
    if damping and "positionTarget" not in entry and "velocityTarget" not in entry:
        diagnostics.report(DRIVE_GAIN_UNUSED, at, key="damping", missing="velocityTarget")
        damping = 0.0
    return stiffness, damping
