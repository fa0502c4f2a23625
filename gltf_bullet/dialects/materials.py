"""Physics materials: the same object in every dialect but for the default of the combine modes.

KHR_physics_rigid_bodies, "Physics Materials"; ``*.material.schema.json`` of KHR, OMI and MSFT.
"""

from __future__ import annotations

from typing import Final

from gltf_bullet.coverage import approximated, covers
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.properties import AS_ABSENT, known_keys, report_unknown
from gltf_bullet.gltf.fields import JsonObject, read_number, read_string
from gltf_bullet.model import CombineMode, PhysicsMaterial

__all__ = ["COMBINE_MODE_UNKNOWN", "COVERAGE", "parse_material"]

COMBINE_MODE_UNKNOWN = IssueKind(
    "COMBINE_MODE_UNKNOWN",
    Severity.WARNING,
    '{key} is "{got}"; must be average, minimum, maximum or multiply; average is used',
)

COVERAGE: Final = covers(
    "Materials and filters",
    approximated(
        "frictionCombine", "restitutionCombine", when="another word", by=COMBINE_MODE_UNKNOWN
    ),
)

_KEYS: Final = known_keys(
    "staticFriction", "dynamicFriction", "restitution", "frictionCombine", "restitutionCombine"
)
_MODES: Final = {mode.value: mode for mode in CombineMode}


def parse_material(
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    unstated: CombineMode | None,
) -> PhysicsMaterial:
    """A material; ``unstated`` is what the dialect makes of a combine mode that is not given."""
    report_unknown(entry, _KEYS, "a physics material", at, diagnostics)
    return PhysicsMaterial(
        static_friction=read_number(
            entry, "staticFriction", at, diagnostics, default=0.6, at_least=0.0
        ),
        dynamic_friction=read_number(
            entry, "dynamicFriction", at, diagnostics, default=0.6, at_least=0.0
        ),
        restitution=read_number(entry, "restitution", at, diagnostics, default=0.0, at_least=0.0),
        friction_combine=_combine_mode(entry, "frictionCombine", at, diagnostics, unstated),
        restitution_combine=_combine_mode(entry, "restitutionCombine", at, diagnostics, unstated),
        pointer=at,
    )


def _combine_mode(
    entry: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    unstated: CombineMode | None,
) -> CombineMode | None:
    stated = read_string(entry, key, at, diagnostics, instead=AS_ABSENT)
    if stated is None:
        return unstated
    # MSFT spells the modes in capitals, KHR and OMI in lower case; files mix them up.
    mode = _MODES.get(stated.lower())
    if mode is None:
        diagnostics.report(COMBINE_MODE_UNKNOWN, at / key, key=key, got=stated[:60])
        return CombineMode.AVERAGE
    return mode
