"""Coverage of materials and collision filters: what is exact, approximated or left out."""

from __future__ import annotations

from typing import Final

from gltf_bullet.coverage import approximated, covers
from gltf_bullet.planning.contacts.surfaces import FLAT_LANDING, MATERIALS_APPROXIMATED, SLOW_BOUNCE

_FRICTION: Final = "tests/physics/test_friction.py"
_PAIRS: Final = "tests/physics/test_random_materials.py"
_FILTERS: Final = "tests/physics/test_filters.py"

COVERAGE: Final = covers(
    "Materials and filters",
    approximated("restitution", when="pairs that meet at less than 0.2 m/s", by=SLOW_BOUNCE),
    approximated(
        "restitution",
        when="hulls and cylinders that land flat, boxes that do on others",
        by=FLAT_LANDING,
    ),
    approximated(
        "frictionCombine", "restitutionCombine", when="more classes", by=MATERIALS_APPROXIMATED
    ),
)
