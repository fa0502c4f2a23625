"""Mass, inertia and velocities of a motion: the parts that carry a rule.

KHR_physics_rigid_bodies, "Motions": JSON has no infinity, so a 0 in ``mass`` or in a component of
``inertiaDiagonal`` means infinite. OMI_physics_body reads a zero inertia as "compute".
"""

from __future__ import annotations

import math
from typing import Final

from gltf_bullet.coverage import approximated, covers, refused
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.properties import AS_ABSENT, read_vector
from gltf_bullet.gltf.fields import JsonObject, read_optional_number
from gltf_bullet.transforms import Vec3

__all__ = [
    "COVERAGE",
    "INERTIA_NEGATIVE",
    "MASS_NEGATIVE",
    "finite_or_infinite",
    "read_inertia_diagonal",
    "read_mass",
]

MASS_NEGATIVE = IssueKind(
    "MASS_NEGATIVE", Severity.ERROR, "mass is {got:g} kg; must be >= 0 (0 means infinite)"
)
INERTIA_NEGATIVE = IssueKind(
    "INERTIA_NEGATIVE",
    Severity.WARNING,
    "{key} has a principal moment of {got:g} kg m^2; must be >= 0; the shapes' inertia is used",
)

COVERAGE: Final = covers(
    "Motions",
    refused("mass", when="negative", by=MASS_NEGATIVE),
    approximated("inertiaDiagonal", "inertiaTensor", when="negative", by=INERTIA_NEGATIVE),
)


def read_mass(
    motion: JsonObject, at: JsonPointer, diagnostics: Diagnostics, *, default: float | None
) -> float | None:
    """Mass [kg]; ``default`` when absent (``None``: derive from shapes), infinite for 0."""
    mass = read_optional_number(motion, "mass", at, diagnostics, instead=AS_ABSENT)
    if mass is None:
        return default
    if mass < 0.0:
        diagnostics.report(MASS_NEGATIVE, at / "mass", got=mass)
        return default
    return finite_or_infinite(mass)


def finite_or_infinite(value: float) -> float:
    """A mass or moment as the model has it: what the file can only write as 0 is infinite."""
    return math.inf if value == 0.0 else value


def read_inertia_diagonal(
    motion: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> Vec3 | None:
    """The moments [kg m^2] as written, zeros and all; ``None`` where absent or wrong."""
    diagonal = read_vector(motion, "inertiaDiagonal", at, diagnostics, default=None)
    if diagonal is None:
        return None
    smallest = min(diagonal)
    if smallest < 0.0:
        diagnostics.report(
            INERTIA_NEGATIVE, at / "inertiaDiagonal", key="inertiaDiagonal", got=smallest
        )
        return None
    return diagonal
