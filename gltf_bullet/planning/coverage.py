"""Coverage of motions, triggers and gravity: what is exact, approximated or left out."""

from __future__ import annotations

from typing import Final

from gltf_bullet.coverage import approximated, covers, exact
from gltf_bullet.planning.inner_motion import ANIMATED_SIZE, ANIMATED_WITHIN_BODY
from gltf_bullet.planning.mass_planner import INFINITE_AS_LARGE, VELOCITY_LIMITED
from gltf_bullet.planning.skewed_axes import AXES_SKEWED
from gltf_bullet.planning.triggers import TRIGGER_DECOMPOSED, TRIGGER_PLANE

_FREE: Final = "tests/physics/test_free_bodies.py"
_BODIES: Final = "tests/planning/test_bodies.py"
_POINTERS: Final = "tests/runtime/test_pointers.py"
_SENSING: Final = "tests/runtime/test_triggers.py"
_FIELDS: Final = "tests/physics/test_gravity_fields.py"
_A_FORCE: Final = "a force on this scene's bodies, at their centres of mass"

MOTIONS: Final = covers(
    "Motions",
    exact("motion", shown_by=f"{_FREE}::test_nested_motions_are_independent_bodies"),
    exact(
        "rigidBody",
        shown_by="tests/dialects/test_msft.py::test_every_property_of_a_body_is_read",
    ),
    approximated("mass", when="0 (infinite)", by=INFINITE_AS_LARGE),
    exact(
        "inertiaTensor",
        shown_by="tests/dialects/test_msft.py"
        "::test_a_tensor_is_the_product_of_its_axes_and_moments",
        when="finite",
        how="principal moments and axes, then as inertiaDiagonal",
    ),
    approximated("inertiaDiagonal", "inertiaTensor", when="0 (infinite)", by=INFINITE_AS_LARGE),
    approximated("linearVelocity", "angularVelocity", when="faster", by=VELOCITY_LIMITED),
    approximated(
        "linearVelocity", "angularVelocity", when="below scales that turn axes", by=AXES_SKEWED
    ),
    exact(
        "collider",
        shown_by="tests/physics/test_carried_colliders.py"
        "::test_a_lift_below_a_kinematic_root_carries_a_box_up",
        when="animated, or within an animated or kinematic body",
        how="carries what lies on it",
    ),
    approximated("collider", when="animated within a dynamic body", by=ANIMATED_WITHIN_BODY),
    exact(
        "collider",
        shown_by="tests/spec/test_khr_colliders_follow.py"
        "::test_the_own_scale_of_a_node_is_animated",
        when="of an animated scale",
        how="made anew when off by 1 % of its size",
    ),
    approximated("motion", when="dynamic, of an animated scale", by=ANIMATED_SIZE),
    exact(
        "inertiaDiagonal",
        "inertiaTensor",
        shown_by="tests/spec/test_omi_physics_body.py"
        "::test_inertia_is_calculated_about_the_center_of_mass",
        when="absent",
        how="from the shapes, about the body's centre of mass; a stated centre moves mass along "
        "that is absent, too",
    ),
    approximated(
        "inertiaDiagonal",
        "inertiaTensor",
        when="absent in MSFT",
        how="from the shapes as elsewhere, not the 1 kg m^2 about each axis of its schemas",
    ),
)

TRIGGERS: Final = covers(
    "Triggers",
    exact(
        "trigger",
        shown_by=f"{_SENSING}::test_a_ball_falls_into_and_out_of_a_volume_when_the_formula_says",
        when="convex shapes",
    ),
    exact(
        "isTrigger",
        shown_by="tests/dialects/test_omi_collider.py::test_a_flag_makes_a_trigger",
    ),
    exact(
        "trigger",
        shown_by=f"{_SENSING}::test_a_trigger_on_a_body_senses_the_floor_that_it_falls_on",
        when="static colliders",
        how="sensed by triggers that move",
    ),
    exact(
        "trigger",
        shown_by="tests/spec/test_khr_triggers.py::test_without_a_motion_node_it_is_minus_1",
        when="either set elsewhere, static colliders",
        how="entering is when an intersection begins: what overlaps at rest from load on is silent "
        "until it is set apart, and then exits",
    ),
    approximated("trigger", when="concave meshes", by=TRIGGER_DECOMPOSED),
    approximated("trigger", when="planes", by=TRIGGER_PLANE),
    exact(
        "nodes",
        shown_by=f"{_SENSING}::test_a_compound_reports_once_as_the_node_that_lists_its_parts",
        how="a compound reports once, as the node that holds the list",
    ),
)

GRAVITY: Final = covers(
    "Gravity (OMI)",
    exact(
        "gravity",
        "direction",
        shown_by=f"{_FIELDS}::test_the_worlds_gravity_is_the_files_where_it_states_one",
        how=_A_FORCE,
    ),
    exact(
        "directional",
        shown_by=f"{_FIELDS}::test_a_directional_field_turns_with_its_node_and_ends_with_its_volume",
        how=_A_FORCE,
    ),
    exact(
        "point",
        "unitDistance",
        shown_by=f"{_FIELDS}::test_point_gravity_falls_off_with_the_square_of_the_distance",
        how=_A_FORCE,
    ),
    exact(
        "disc",
        "torus",
        "line",
        "points",
        "shaped",
        "radius",
        "shape",
        shown_by=f"{_FIELDS}::test_fields_pull_to_their_nearest_point",
        how=_A_FORCE,
    ),
    exact(
        "priority",
        "replace",
        "stop",
        shown_by=f"{_FIELDS}::test_priority_replace_and_stop",
        how="a stop of negative priority leaves the world's gravity on",
    ),
    exact(
        "directional",
        "point",
        "disc",
        "torus",
        "line",
        "shaped",
        shown_by="tests/spec/test_omi_physics_gravity.py"
        "::test_a_body_is_in_a_volume_when_its_centre_of_mass_is",
        when="bodies that are partly inside",
        how="by their centre of mass",
    ),
    exact(
        "unitDistance",
        "radius",
        shown_by="tests/spec/test_omi_physics_gravity.py"
        "::test_unit_distance_is_a_length_of_the_node_and_scales_with_it",
        when="below an even scale",
        how="a length of the node, scaled with it",
    ),
)
