"""Joint limits: axes, range and softness, under the rules of one dialect.

KHR_physics_rigid_bodies, "Joints"; OMI_physics_joint, "Joint Limits"; MSFT_RigidBodies, "Joints".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from gltf_bullet.coverage import approximated, covers, ignored
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.properties import known_keys, report_unknown
from gltf_bullet.gltf.fields import RANGE_MENDED, JsonObject, read_indices, read_number
from gltf_bullet.model import DofKind, JointLimit

__all__ = [
    "AXIS_REPEATED",
    "COVERAGE",
    "LIMIT_AXES_EMPTY",
    "LIMIT_BOTH_AXES",
    "LIMIT_ONE_SIDED",
    "LIMIT_OUT_OF_REACH",
    "LIMIT_RANGE_EMPTY",
    "LIMIT_RESTRICTS_NOTHING",
    "LIMIT_WITHOUT_AXES",
    "LIMIT_WITHOUT_RANGE_LOCKED",
    "NEGATIVE_AS_UNLIMITED",
    "LimitRules",
    "parse_limit",
    "read_unlimited",
]

LIMIT_WITHOUT_AXES = IssueKind(
    "LIMIT_WITHOUT_AXES",
    Severity.WARNING,  # OMI: "the joint limit ... is invalid"; its joint is not
    "the limit names no axes; must have linearAxes or angularAxes; it is left out",
)
LIMIT_BOTH_AXES = IssueKind(
    "LIMIT_BOTH_AXES",
    Severity.WARNING,
    "the limit has linearAxes and angularAxes; must have exactly one of them; both count, as two "
    "limits",
)
LIMIT_AXES_EMPTY = IssueKind(
    "LIMIT_AXES_EMPTY",
    Severity.WARNING,
    "{key} is empty; must hold one to three axes; it limits nothing",
)
AXIS_REPEATED = IssueKind(
    "AXIS_REPEATED",
    Severity.WARNING,
    "{key} is {got}; must name each axis at most once; it counts once",
)
LIMIT_RANGE_EMPTY = IssueKind(
    "LIMIT_RANGE_EMPTY",
    Severity.WARNING,
    "min is {minimum:g} and max is {maximum:g}; must be min <= max; they are swapped",
)
LIMIT_OUT_OF_REACH = IssueKind(
    "LIMIT_OUT_OF_REACH",
    Severity.WARNING,
    "min and max are both {got:g}, where nothing gets; the limit is left out",
)
LIMIT_RESTRICTS_NOTHING = IssueKind(
    "LIMIT_RESTRICTS_NOTHING",
    Severity.WARNING,
    "the limit has neither min nor max; should have one of them; it restricts nothing",
)
LIMIT_WITHOUT_RANGE_LOCKED = IssueKind(
    "LIMIT_WITHOUT_RANGE_LOCKED",
    Severity.WARNING,
    "the limit has neither min nor max; should have both; its axes are locked at 0",
)
LIMIT_ONE_SIDED = IssueKind(
    "LIMIT_ONE_SIDED",
    Severity.WARNING,
    "the limit has no {key}; should have both min and max; it is taken as unbounded on that side",
)

NEGATIVE_AS_UNLIMITED = IssueKind(
    "NEGATIVE_AS_UNLIMITED",
    Severity.WARNING,
    "{key} is {got:g}; must be >= 0; it is taken as unlimited",
)

COVERAGE: Final = covers(
    "Joints",
    approximated(
        "min", "max", when="min above max", by=LIMIT_RANGE_EMPTY, how="they are swapped"
    ),
    ignored("limits", when="both ends at the same infinity", by=LIMIT_OUT_OF_REACH),
    ignored("limits", when="neither min nor max", by=LIMIT_RESTRICTS_NOTHING),
    approximated(
        "linearAxes", "angularAxes", when="both, in KHR and MSFT", by=LIMIT_BOTH_AXES,
        how="as two limits",
    ),
    approximated(
        "stiffness", "springConstant", when="of a limit, negative, in KHR and MSFT",
        by=NEGATIVE_AS_UNLIMITED, how="rigid, as OMI says it",
    ),
    approximated(
        "damping", "springDamping", when="negative", by=RANGE_MENDED, how="0 is used"
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRules:
    """What differs between the dialects."""

    stiffness_key: str = "stiffness"
    damping_key: str = "damping"
    may_mix_axes: bool
    """Both lists in one limit mean two limits; else that is said."""
    may_be_empty: bool
    """An empty list means "not limited"; else that is said."""
    negative_stiffness_is_rigid: bool
    locked_without_range: bool
    """Neither ``min`` nor ``max`` means locked at 0; else unlimited."""


_LISTS: Final = (
    ("linearAxes", DofKind.LINEAR),
    ("angularAxes", DofKind.ANGULAR),
)


def parse_limit(
    entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics, *, rules: LimitRules
) -> tuple[JointLimit, ...]:
    """The limits that one object states: one, two where it may mix axes, none where it is wrong."""
    known = known_keys(
        "linearAxes", "angularAxes", "min", "max", rules.stiffness_key, rules.damping_key
    )
    report_unknown(entry, known, "a joint limit", at, diagnostics)
    axes_by_kind = {
        kind: axes
        for key, kind in _LISTS
        if (axes := _read_axes(entry, key, at, diagnostics, may_be_empty=rules.may_be_empty))
    }
    minimum, maximum = _read_range(entry, at, diagnostics, rules)
    stiffness, damping = _read_softness(entry, at, diagnostics, rules)
    present = [key for key, _ in _LISTS if key in entry]
    if len([key for key in present if entry[key] != []]) == 2 and not rules.may_mix_axes:
        diagnostics.report(LIMIT_BOTH_AXES, at)
    if not axes_by_kind:
        # A list that is there but wrong was reported by itself.
        if not present or (rules.may_be_empty and all(entry[key] == [] for key in present)):
            diagnostics.report(LIMIT_WITHOUT_AXES, at)
        return ()
    if minimum > maximum:
        # What turning an axis around leaves of a range in exporters that only change the signs.
        diagnostics.report(LIMIT_RANGE_EMPTY, at, minimum=minimum, maximum=maximum)
        minimum, maximum = maximum, minimum
    if minimum == maximum and math.isinf(minimum):
        diagnostics.report(LIMIT_OUT_OF_REACH, at, got=minimum)
        return ()
    return tuple(
        JointLimit(
            kind=kind,
            axes=axes,
            minimum=minimum,
            maximum=maximum,
            stiffness=stiffness,
            damping=damping,
            pointer=at,
        )
        for kind, axes in axes_by_kind.items()
    )


def _read_axes(
    entry: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, may_be_empty: bool
) -> tuple[int, ...]:
    axes = read_indices(entry, key, at, diagnostics, count=3, instead="it is left out")
    if axes is None:
        return ()
    if entry[key] == [] and not may_be_empty:
        diagnostics.report(LIMIT_AXES_EMPTY, at / key, key=key)
    distinct = tuple(sorted(set(axes)))
    if len(distinct) != len(axes):
        diagnostics.report(AXIS_REPEATED, at / key, key=key, got=list(axes)[:10])
    return distinct


def _read_range(
    entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics, rules: LimitRules
) -> tuple[float, float]:
    """The range [m] or [rad]; an absent side is infinite."""
    if "min" not in entry and "max" not in entry:
        if rules.locked_without_range:
            diagnostics.report(LIMIT_WITHOUT_RANGE_LOCKED, at)
            return (0.0, 0.0)
        diagnostics.report(LIMIT_RESTRICTS_NOTHING, at)
    elif rules.locked_without_range:
        for key in ("min", "max"):
            if key not in entry:
                # MSFT: "Each constraint contains a min and max parameter", nothing on its absence.
                diagnostics.report(LIMIT_ONE_SIDED, at, key=key)
    return (
        read_number(entry, "min", at, diagnostics, default=-math.inf),
        read_number(entry, "max", at, diagnostics, default=math.inf),
    )


def _read_softness(
    entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics, rules: LimitRules
) -> tuple[float, float]:
    key = rules.stiffness_key
    stiffness = read_unlimited(
        entry, key, at, diagnostics, negative_is_unlimited=rules.negative_stiffness_is_rigid
    )
    damping = read_number(entry, rules.damping_key, at, diagnostics, default=0.0, at_least=0.0)
    return stiffness, damping


def read_unlimited(
    entry: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    negative_is_unlimited: bool,
) -> float:
    """A strength that is infinite where absent or negative; whether the dialect says the latter."""
    value = read_number(entry, key, at, diagnostics, default=math.inf)
    if value >= 0.0:
        return value
    if not negative_is_unlimited:
        diagnostics.report(NEGATIVE_AS_UNLIMITED, at / key, key=key, got=value)
    return math.inf
