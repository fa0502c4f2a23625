"""Joint limits: axes, range and softness, under the rules of one dialect.

KHR_physics_rigid_bodies, "Joints"; OMI_physics_joint, "Joint Limits"; MSFT_RigidBodies, "Joints".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from gltf_bullet.coverage import covers, ignored, refused
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.properties import known_keys, report_unknown
from gltf_bullet.gltf.fields import JsonObject, read_indices, read_number
from gltf_bullet.model import DofKind, JointLimit

__all__ = [
    "AXIS_REPEATED",
    "COVERAGE",
    "LIMIT_AXES_EMPTY",
    "LIMIT_BOTH_AXES",
    "LIMIT_ONE_SIDED",
    "LIMIT_RANGE_EMPTY",
    "LIMIT_RESTRICTS_NOTHING",
    "LIMIT_WITHOUT_AXES",
    "LIMIT_WITHOUT_RANGE_LOCKED",
    "LimitRules",
    "parse_limit",
]

LIMIT_WITHOUT_AXES = IssueKind(
    "LIMIT_WITHOUT_AXES",
    Severity.WARNING,  # OMI: "the joint limit ... is invalid"; its joint is not
    "the limit names no axes; must have linearAxes or angularAxes; it is left out",
)
LIMIT_BOTH_AXES = IssueKind(
    "LIMIT_BOTH_AXES",
    Severity.ERROR,
    "the limit has linearAxes and angularAxes; must have exactly one of them",
)
LIMIT_AXES_EMPTY = IssueKind(
    "LIMIT_AXES_EMPTY",
    Severity.WARNING,
    "{key} is empty; must hold one to three axes; it limits nothing",
)
AXIS_REPEATED = IssueKind(
    "AXIS_REPEATED", Severity.ERROR, "{key} is {got}; must name each axis at most once"
)
LIMIT_RANGE_EMPTY = IssueKind(
    "LIMIT_RANGE_EMPTY",
    Severity.ERROR,
    "min is {minimum:g} and max is {maximum:g}; must be min <= max",
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

COVERAGE: Final = covers(
    "Joints",
    refused("min", "max", when="min above max", by=LIMIT_RANGE_EMPTY),
    ignored("limits", when="neither min nor max", by=LIMIT_RESTRICTS_NOTHING),
    refused("linearAxes", "angularAxes", when="both, in KHR and MSFT", by=LIMIT_BOTH_AXES),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRules:
    """What differs between the dialects."""

    stiffness_key: str = "stiffness"
    damping_key: str = "damping"
    may_mix_axes: bool
    """Both lists in one limit mean two limits; else an error."""
    may_be_empty: bool
    """An empty list means "not limited"; else an error."""
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
        return ()
    if not axes_by_kind:
        # A list that is there but wrong was reported by itself.
        if not present or (rules.may_be_empty and all(entry[key] == [] for key in present)):
            diagnostics.report(LIMIT_WITHOUT_AXES, at)
        return ()
    # A bound at the wrong infinity leaves nothing: min 1e30 means that nothing is far enough.
    if minimum > maximum or minimum == math.inf or maximum == -math.inf:
        diagnostics.report(LIMIT_RANGE_EMPTY, at, minimum=minimum, maximum=maximum)
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
    axes = read_indices(entry, key, at, diagnostics, count=3)
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
    stiffness = read_number(
        entry,
        rules.stiffness_key,
        at,
        diagnostics,
        default=math.inf,
        at_least=None if rules.negative_stiffness_is_rigid else 0.0,
    )
    if stiffness < 0.0:
        stiffness = math.inf
    damping = read_number(entry, rules.damping_key, at, diagnostics, default=0.0, at_least=0.0)
    return stiffness, damping
