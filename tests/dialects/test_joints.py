"""Joints, limits and drives of KHR_physics_rigid_bodies, and what robots state in ``extras``."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.dialects.joints import (
    AXIS_REPEATED,
    DRIVE_PAIR_INCOMPLETE,
    DRIVE_WORD_UNKNOWN,
    LIMIT_AXES_EMPTY,
    LIMIT_BOTH_AXES,
    LIMIT_RANGE_EMPTY,
    LIMIT_RESTRICTS_NOTHING,
    LIMIT_WITHOUT_AXES,
)
from gltf_bullet.dialects.khr.physics_rigid_bodies import JOINTS_OF_FIRST_DRAFTS
from gltf_bullet.dialects.reading import NEGATIVE_AS_UNLIMITED, UNKNOWN_PROPERTY
from gltf_bullet.dialects.references import (
    JOINT_MOVES_NOTHING,
    JOINT_WITHIN_BODY,
)
from gltf_bullet.gltf.fields import (
    ABSENCE_MENDED,
    INDEX_MEANS_NONE,
    INDEX_MENDED,
    NUMBER_AS_UNLIMITED,
    RANGE_MENDED,
    REFERENCE_MISSING,
    TYPE_MENDED,
)
from gltf_bullet.model import (
    DofKind,
    DriveMode,
    JointDrive,
    JointLimit,
)
from tests.dialects.khr_nodes import (
    DRIVE,
    DRIVE_AT,
    KHR,
    LIMIT_AT,
    NODE,
    Json,
    Read,
    on_node,
)
from tests.physics.scenes import Jointed


def read_joint(read: Read, description: Json) -> Any:
    nodes = [
        on_node(motion={}, joint={"connectedNode": 1, "joint": 0, "enableCollision": True}),
        {},
    ]
    return read(nodes, {KHR: {"physicsJoints": [description]}}).joints[0]


def test_every_property_of_a_limit_is_read(read: Read) -> None:
    limit = {"linearAxes": [2, 0], "min": -1, "max": 2, "stiffness": 3, "damping": 4}
    joint = read_joint(read, {"limits": [limit]})
    assert (joint.node, joint.connected_node, joint.enable_collision) == (0, 1, True)
    assert joint.pointer == f"{NODE}/joint"
    assert joint.description.limits == (
        JointLimit(
            kind=DofKind.LINEAR,
            axes=(0, 2),
            minimum=-1.0,
            maximum=2.0,
            stiffness=3.0,
            damping=4.0,
        ),
    )
    assert joint.description.limits[0].pointer == LIMIT_AT


def test_a_limit_is_hard_and_open_where_nothing_is_said(read: Read) -> None:
    joint = read_joint(read, {"limits": [{"angularAxes": [1], "max": 0}]})
    assert joint.description.limits == (
        JointLimit(
            kind=DofKind.ANGULAR,
            axes=(1,),
            minimum=-math.inf,
            maximum=0.0,
            stiffness=math.inf,
            damping=0.0,
        ),
    )


def test_an_empty_list_beside_a_good_one_limits_nothing(
    read: Read, diagnostics: Diagnostics
) -> None:
    limit = {"linearAxes": [], "angularAxes": [1], "min": 0}
    found = read_joint(read, {"limits": [limit]}).description.limits
    assert [(limit.kind, limit.axes) for limit in found] == [(DofKind.ANGULAR, (1,))]
    assert diagnostics.take(LIMIT_AXES_EMPTY).pointer == LIMIT_AT + "/linearAxes"


@pytest.mark.parametrize(
    ("limit", "kind", "place"),
    [
        ({"min": 0}, LIMIT_WITHOUT_AXES, ""),
        ({"linearAxes": [0], "min": 1e30}, RANGE_MENDED, "/min"),
        ({"linearAxes": [0], "max": -1e30}, RANGE_MENDED, "/max"),
        ({"linearAxes": [], "min": 0}, LIMIT_AXES_EMPTY, "/linearAxes"),
        ({"angularAxes": [3], "min": 0}, INDEX_MENDED, "/angularAxes/0"),
        ({"angularAxes": ["x"], "min": 0}, TYPE_MENDED, "/angularAxes/0"),
        ({"linearAxes": None, "min": 0}, TYPE_MENDED, "/linearAxes"),
    ],
)
def test_a_limit_that_cannot_be_used_is_left_out(
    read: Read, diagnostics: Diagnostics, limit: Json, kind: IssueKind, place: str
) -> None:
    assert not read_joint(read, {"limits": [limit]}).description.limits
    assert diagnostics.take(kind).pointer == LIMIT_AT + place
    while diagnostics.issues:  # 1e30 is more than the engine carries, which is told as well
        diagnostics.take(NUMBER_AS_UNLIMITED)


def test_both_lists_of_a_limit_count(read: Read, diagnostics: Diagnostics) -> None:
    limit = {"linearAxes": [0], "angularAxes": [1, 2], "min": 0, "max": 1}
    found = read_joint(read, {"limits": [limit]}).description.limits
    assert [(one.kind, one.axes, one.minimum, one.maximum) for one in found] == [
        (DofKind.LINEAR, (0,), 0.0, 1.0),
        (DofKind.ANGULAR, (1, 2), 0.0, 1.0),
    ]
    assert diagnostics.take(LIMIT_BOTH_AXES).pointer == LIMIT_AT


@pytest.mark.parametrize(
    ("minimum", "maximum", "expected"),
    [(1, -2, (-2.0, 1.0)), (1, -3.4e38, (-math.inf, 1.0)), (3.4e38, -1, (-1.0, math.inf))],
)
def test_a_range_the_wrong_way_round_is_turned(
    read: Read,
    diagnostics: Diagnostics,
    minimum: float,
    maximum: float,
    expected: tuple[float, float],
) -> None:
    limit = {"linearAxes": [0], "min": minimum, "max": maximum}
    (found,) = read_joint(read, {"limits": [limit]}).description.limits
    assert (found.minimum, found.maximum) == expected
    assert diagnostics.take(LIMIT_RANGE_EMPTY).pointer == LIMIT_AT
    while diagnostics.issues:
        diagnostics.take(NUMBER_AS_UNLIMITED)


@pytest.mark.parametrize(
    ("limit", "kind", "place"),
    [
        ({"linearAxes": [1, 1], "min": 0}, AXIS_REPEATED, "/linearAxes"),
        ({"linearAxes": [1]}, LIMIT_RESTRICTS_NOTHING, ""),
        ({"linearAxes": 1, "min": 0}, TYPE_MENDED, "/linearAxes"),
        ({"linearAxes": [1], "min": 0, "stiffness": -1}, NEGATIVE_AS_UNLIMITED, "/stiffness"),
        ({"linearAxes": [1], "min": 0, "damping": -1}, RANGE_MENDED, "/damping"),
        ({"linearAxes": [1], "min": 0, "springConstant": 1}, UNKNOWN_PROPERTY, "/springConstant"),
    ],
)
def test_a_doubtful_limit_is_reported_and_kept(
    read: Read, diagnostics: Diagnostics, limit: Json, kind: IssueKind, place: str
) -> None:
    (found,) = read_joint(read, {"limits": [limit]}).description.limits
    assert (found.axes, found.stiffness, found.damping) == ((1,), math.inf, 0.0)
    assert diagnostics.take(kind).pointer == LIMIT_AT + place


def test_every_property_of_a_drive_is_read(read: Read) -> None:
    rest = {
        "maxForce": 1,
        "positionTarget": 2,
        "velocityTarget": 3,
        "stiffness": 4,
        "damping": 5,
    }
    joint = read_joint(read, {"drives": [DRIVE | rest]})
    assert joint.description.drives == (
        JointDrive(
            kind=DofKind.LINEAR,
            mode=DriveMode.FORCE,
            axis=2,
            max_force=1.0,
            position_target=2.0,
            velocity_target=3.0,
            stiffness=4.0,
            damping=5.0,
        ),
    )
    assert joint.description.drives[0].pointer == DRIVE_AT


def test_a_drive_is_unlimited_where_nothing_is_said(read: Read) -> None:
    drive = {"type": "angular", "mode": "acceleration", "axis": 0}
    joint = read_joint(read, {"drives": [drive]})
    assert joint.description.drives == (
        JointDrive(kind=DofKind.ANGULAR, mode=DriveMode.ACCELERATION, axis=0, max_force=math.inf),
    )


@pytest.mark.parametrize("mode", [{}, {"mode": None}])
def test_a_drive_without_a_mode_is_one_of_force(
    read: Read, diagnostics: Diagnostics, mode: Json
) -> None:
    drive = {key: value for key, value in DRIVE.items() if key != "mode"} | mode
    (found,) = read_joint(read, {"drives": [drive]}).description.drives
    assert found.mode is DriveMode.FORCE
    assert diagnostics.take(TYPE_MENDED if mode else ABSENCE_MENDED)


@pytest.mark.parametrize("missing", ["type", "axis"])
def test_a_drive_needs_type_and_axis(read: Read, diagnostics: Diagnostics, missing: str) -> None:
    drive = {key: value for key, value in DRIVE.items() if key != missing}
    assert not read_joint(read, {"drives": [drive]}).description.drives
    issue = diagnostics.take(ABSENCE_MENDED)
    assert issue.pointer == DRIVE_AT
    assert issue.values["key"] == missing


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("type", "rotary", DRIVE_WORD_UNKNOWN),
        ("mode", "impulse", DRIVE_WORD_UNKNOWN),
        ("type", 1, TYPE_MENDED),
        ("axis", 3, INDEX_MENDED),
        ("axis", 0.5, TYPE_MENDED),
    ],
)
def test_a_drive_that_cannot_be_used_is_left_out(
    read: Read, diagnostics: Diagnostics, key: str, value: object, kind: IssueKind
) -> None:
    assert not read_joint(read, {"drives": [DRIVE | {key: value}]}).description.drives
    assert diagnostics.take(kind).pointer == f"{DRIVE_AT}/{key}"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("maxForce", NEGATIVE_AS_UNLIMITED),
        ("stiffness", RANGE_MENDED),
        ("damping", RANGE_MENDED),
    ],
)
def test_a_negative_gain_is_none_and_a_negative_force_unlimited(
    read: Read, diagnostics: Diagnostics, key: str, kind: IssueKind
) -> None:
    pair = {"positionTarget": 0, "velocityTarget": 0, "stiffness": 0, "damping": 0}
    (found,) = read_joint(read, {"drives": [DRIVE | pair | {key: -1}]}).description.drives
    assert (found.max_force, found.stiffness, found.damping) == (math.inf, 0.0, 0.0)
    assert diagnostics.take(kind).pointer == f"{DRIVE_AT}/{key}"


@pytest.mark.parametrize("key", ["positionTarget", "velocityTarget", "stiffness", "damping"])
def test_half_a_pair_is_accepted_with_a_zero_for_the_other_half(
    read: Read, diagnostics: Diagnostics, key: str
) -> None:
    drive = read_joint(read, {"drives": [DRIVE | {key: 1}]}).description.drives[0]
    gains_and_targets = {
        "positionTarget": drive.position_target,
        "velocityTarget": drive.velocity_target,
        "stiffness": drive.stiffness,
        "damping": drive.damping,
    }
    assert gains_and_targets == {name: float(name == key) for name in gains_and_targets}
    assert diagnostics.take(DRIVE_PAIR_INCOMPLETE).pointer == DRIVE_AT


@pytest.mark.parametrize(
    ("joint", "kind", "place"),
    [
        ({"joint": 0}, ABSENCE_MENDED, ""),
        ({"connectedNode": 1}, ABSENCE_MENDED, ""),
        ({"joint": 0, "connectedNode": 2}, REFERENCE_MISSING, "/connectedNode"),
        ({"joint": 0, "connectedNode": -1}, INDEX_MEANS_NONE, "/connectedNode"),
        ({"joint": 1, "connectedNode": 1}, REFERENCE_MISSING, "/joint"),
    ],
)
def test_a_joint_with_a_missing_end_is_left_out(
    read: Read, diagnostics: Diagnostics, joint: Json, kind: IssueKind, place: str
) -> None:
    nodes = [on_node(motion={}, joint=joint), {}]
    assert not read(nodes, {KHR: {"physicsJoints": [{}]}}).joints
    assert diagnostics.take(kind).pointer == f"{NODE}/joint{place}"


def test_a_joint_within_one_body_is_warned_about(read: Read, diagnostics: Diagnostics) -> None:
    joint = {"joint": 0, "connectedNode": 1}
    nodes = [on_node(children=[1], motion={}, joint=joint), {}]
    read(nodes, {KHR: {"physicsJoints": [{}]}})
    assert diagnostics.take(JOINT_WITHIN_BODY).pointer == f"{NODE}/joint"


@pytest.mark.parametrize("motion", [{}, {"motion": {"isKinematic": True}}])
def test_a_joint_that_can_move_nothing_is_warned_about(
    read: Read, diagnostics: Diagnostics, motion: Json
) -> None:
    nodes = [on_node(joint={"joint": 0, "connectedNode": 1}, **motion), {}]
    read(nodes, {KHR: {"physicsJoints": [{}]}})
    assert diagnostics.take(JOINT_MOVES_NOTHING).pointer == f"{NODE}/joint"


def test_joints_of_first_drafts_are_those_of_msft(read: Read, diagnostics: Diagnostics) -> None:
    limit = {"linearAxes": [0, 2], "min": 0, "max": 0.5, "springConstant": 10, "springDamping": 2}

    def joint_of(extension: str) -> Any:
        nodes = [
            {"extensions": {extension: {"motion": {}}}},
            {"extensions": {extension: {
                "motion": {}, "joint": {"connectedNode": 0, "jointLimits": 0},
            }}},
        ]  # fmt: skip
        return read(nodes, {extension: {"physicsJointLimits": [{"limits": [limit]}]}}).joints[1]

    assert joint_of(KHR) == joint_of("MSFT_rigid_bodies")
    words = {diagnostics.take(JOINTS_OF_FIRST_DRAFTS).values["got"] for _ in range(2)}
    assert words == {"physicsJointLimits", "jointLimits"}


# --- extras ---------------------------------------------------------------------------------------

KEPT = ("maxVelocity", "maxForce", "friction")


def joint_with(stated: dict[str, object]) -> tuple[float, float, float]:
    scenery = Jointed()
    box = scenery.shape("box", size=[1, 1, 1])
    bodies = [
        scenery.node(f"Box{k}", at=(2 * k, 0, 0), shape=box, motion={"mass": 1.0}) for k in (0, 1)
    ]
    ends = [
        scenery.attachment(body, (side, 0, 0)) for body, side in zip(bodies, (1, -1), strict=True)
    ]
    axes = [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]
    scenery.join(ends[0], ends[1], limits=[*axes, {"angularAxes": [0, 1, 2], "min": 0, "max": 0}])
    root = json.loads(scenery.bytes())
    root["nodes"][ends[0]]["extras"] = {"gltf_bullet": stated}
    (joint,) = gb.read_asset(json.dumps(root).encode()).physics.joints.values()
    return joint.max_velocity, joint.max_force, joint.friction


def test_numbers_are_kept() -> None:
    assert joint_with({"maxVelocity": 2, "maxForce": 3.5, "friction": 0.25}) == (2.0, 3.5, 0.25)


@pytest.mark.parametrize("value", [10**400, -(10**400), True, "7", None, [1.0]])
def test_what_is_no_number_of_ours_states_nothing(value: object) -> None:
    """A whole number of 400 digits is JSON, and ended in an OverflowError."""
    assert joint_with(dict.fromkeys(KEPT, value)) == (0.0, 0.0, 0.0)
