"""Joint drives under the rules of one dialect.

KHR_physics_rigid_bodies, "Joints"; OMI_physics_joint, "Joint Drives". MSFT has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from gltf_bullet.coverage import approximated, covers, ignored
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.joint_limits import NEGATIVE_AS_UNLIMITED, read_unlimited
from gltf_bullet.dialects.properties import known_keys, report_unknown, require
from gltf_bullet.gltf.fields import (
    ABSENCE_MENDED,
    RANGE_MENDED,
    JsonObject,
    read_index,
    read_number,
    read_string,
)
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
    ignored("drives", when="without type or axis", by=ABSENCE_MENDED),
    approximated(
        "maxForce", when="negative, in KHR", by=NEGATIVE_AS_UNLIMITED, how="unlimited, as in OMI"
    ),
    approximated(
        "stiffness", when="of a drive, negative", by=RANGE_MENDED, how="0 is used"
    ),
    approximated("mode", when="missing", by=ABSENCE_MENDED, how="force is used"),
    ignored("stiffness", "damping", when="OMI, without a target", by=DRIVE_GAIN_UNUSED),
)  # fmt: skip

T = TypeVar("T")

_LEFT_OUT: Final = "the drive is left out"
_FORCE: Final = "force is used"
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
    """One drive; ``None`` where its type or axis is missing or wrong, or its mode another word."""
    report_unknown(entry, _KEYS, "a joint drive", at, diagnostics)
    require(entry, "type", "linear or angular", at, diagnostics, instead=_LEFT_OUT)
    require(entry, "mode", "force or acceleration", at, diagnostics, instead=_FORCE)
    require(entry, "axis", "0, 1 or 2", at, diagnostics, instead=_LEFT_OUT)
    kind = _word(entry, "type", at, diagnostics, _KINDS, instead=_LEFT_OUT)
    mode = _word(entry, "mode", at, diagnostics, _MODES, instead=_FORCE)
    if not isinstance(entry.get("mode"), str):
        mode = DriveMode.FORCE
    axis = read_index(entry, "axis", at, diagnostics, count=3, instead=_LEFT_OUT)
    max_force = read_unlimited(
        entry,
        "maxForce",
        at,
        diagnostics,
        negative_is_unlimited=rules.negative_force_is_unlimited,
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
        max_force=max_force,
        position_target=position_target,
        velocity_target=velocity_target,
        stiffness=stiffness,
        damping=damping,
        pointer=at,
    )


def _word(
    entry: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    known: Mapping[str, T],
    *,
    instead: str,
) -> T | None:
    """What a word stands for; the schemas of KHR and OMI allow any string."""
    value = read_string(entry, key, at, diagnostics, instead=instead)
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
