"""Coverage of joints, limits and drives: what is exact, approximated or left out."""

from __future__ import annotations

from typing import Final

from gltf_bullet.coverage import approximated, covers, exact, ignored
from gltf_bullet.planning.inner_motion import ANIMATED_WITHIN_BODY
from gltf_bullet.planning.joints.articulation_builder import JOINT_LOOP_CLOSED, JOINT_TREE_SPLIT
from gltf_bullet.planning.joints.articulations import JOINT_WITHOUT_EFFECT
from gltf_bullet.planning.joints.layout import JOINT_LIMITS_CONTRADICT, JOINT_STARTS_VIOLATED
from gltf_bullet.planning.joints.rows import JOINT_DRIVE_ON_LOCKED_AXIS
from gltf_bullet.planning.skewed_axes import AXES_SKEWED

_MECHANICS: Final = "tests/physics/test_joints_mechanics.py"
_DRIVES: Final = "tests/physics/test_joint_drives.py"
_CONTACTS: Final = "tests/physics/test_joints_contacts.py"
_PLANS: Final = "tests/planning/test_articulations.py"
_IMPLICIT: Final = "implicit: stable for any value"

COVERAGE: Final = covers(
    "Joints",
    exact(
        "connectedNode",
        shown_by=f"{_MECHANICS}::test_a_double_pendulum_keeps_its_energy",
        when="trees of joints",
    ),
    approximated("connectedNode", when="loops of joints", by=JOINT_LOOP_CLOSED),
    approximated("connectedNode", when="more than 127 links", by=JOINT_TREE_SPLIT),
    approximated("connectedNode", when="animated within a dynamic body", by=ANIMATED_WITHIN_BODY),
    exact(
        "limits",
        "linearAxes",
        "angularAxes",
        "min",
        "max",
        shown_by=f"{_MECHANICS}::test_a_hinge_falls_onto_its_stop_and_stays",
        when="hard limits of one axis",
        how="within 1 mm and 0.2 degrees at 240 Hz",
    ),
    exact(
        "linearAxes",
        "angularAxes",
        "min",
        "max",
        shown_by=f"{_MECHANICS}::test_a_cone_holds_within_a_tenth_of_a_degree",
        when="limits of two or three axes together",
        how="by their common length or angle",
    ),
    approximated("min", "max", when="limits that leave nothing", by=JOINT_LIMITS_CONTRADICT),
    approximated("min", "max", when="frames outside at load", by=JOINT_STARTS_VIOLATED),
    approximated("linearAxes", "angularAxes", when="below scales that turn axes", by=AXES_SKEWED),
    exact(
        "linearAxes",
        "angularAxes",
        "axis",
        shown_by="tests/spec/test_khr_joint_frames.py"
        "::test_a_machine_in_a_mirror_moves_as_its_image",
        when="below negative scales",
        how="slides along the columns of the basis, turns as the mirror image",
    ),
    ignored("limits", "drives", when="neither is given", by=JOINT_WITHOUT_EFFECT),
    exact(
        "springConstant",
        "springDamping",
        shown_by="tests/equivalence/test_one_scene_in_every_dialect.py"
        "::test_the_scene_reads_the_same_in_every_dialect_with_bodies",
        how="the spelling of MSFT for stiffness and damping of limits",
    ),
    exact(
        "drives",
        shown_by=f"{_DRIVES}::test_stiff_spring_holds_its_load_at_once",
    ),
    exact(
        "mode",
        shown_by=f"{_DRIVES}::test_acceleration_drives_do_not_depend_on_the_mass",
        how="acceleration: scaled by the effective mass of the axis",
    ),
    exact(
        "axis",
        shown_by=f"{_PLANS}::test_free_rotation_is_one_ball_and_free_translation_three_slides",
    ),
    ignored("axis", when="a drive on a locked axis", by=JOINT_DRIVE_ON_LOCKED_AXIS),
)
