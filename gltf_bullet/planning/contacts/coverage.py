"""Coverage of materials and collision filters: what is exact, approximated or left out."""

from __future__ import annotations

from typing import Final

from gltf_bullet.coverage import approximated, covers, exact
from gltf_bullet.planning.contacts.surfaces import FLAT_LANDING, MATERIALS_APPROXIMATED, SLOW_BOUNCE

__all__ = ["COVERAGE"]

_FRICTION: Final = "tests/physics/test_friction.py"
_PAIRS: Final = "tests/physics/test_random_materials.py"
_FILTERS: Final = "tests/physics/test_filters.py"

COVERAGE: Final = covers(
    "Materials and filters",
    exact(
        "staticFriction",
        shown_by=f"{_FRICTION}::test_static_friction_holds_where_dynamic_friction_would_not",
        how="acts below a slip of max(0.05, 1.5 g dt) m/s",
    ),
    approximated("staticFriction", when="dynamic friction of the pair is 0", how="0 at rest, too"),
    exact(
        "dynamicFriction",
        shown_by=f"{_FRICTION}::test_stopping_distance_follows_the_combined_coefficient",
        how="stopping distance within 2 %",
    ),
    approximated(
        "restitution",
        when="above 0",
        how="within 0.05 for balls at 240 Hz, else 0.08",
    ),
    approximated("restitution", when="pairs that meet at less than 0.2 m/s", by=SLOW_BOUNCE),
    approximated(
        "restitution",
        when="hulls and cylinders that land flat, boxes that do on others",
        by=FLAT_LANDING,
    ),
    approximated(
        "restitution",
        when="0, on ground that nothing bounces on",
        how="up to 0.1 more, as in bare PyBullet",
    ),
    exact(
        "frictionCombine",
        shown_by=f"{_PAIRS}::test_boxes_of_random_materials_rub_as_combined",
        when="pairs of up to 24 classes",
        how="factored, or on links of their own",
    ),
    exact(
        "restitutionCombine",
        shown_by=f"{_PAIRS}::test_balls_of_random_materials_bounce_as_combined",
        when="pairs of up to 24 classes",
        how="factored, or on links of their own; as near as `restitution`",
    ),
    approximated(
        "frictionCombine", "restitutionCombine", when="more classes", by=MATERIALS_APPROXIMATED
    ),
    exact(
        "collisionSystems",
        "collideWithSystems",
        "notCollideWithSystems",
        shown_by=f"{_FILTERS}::test_contacts_are_exactly_the_pairs_of_the_predicate",
        how="29 filter classes by bits, more by pair rules",
    ),
    exact(
        "collisionSystems",
        when="absent or empty",
        shown_by="tests/spec/test_khr_filters.py::test_a_collider_in_no_system_is_admitted_by_all",
        how="admitted by all",
    ),
)
