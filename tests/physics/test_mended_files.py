"""Files that are wrong somewhere and still say what they mean: what then moves, and how.

Every scene is loaded as :func:`gltf_bullet.load_gltf` loads it; expected places are formulas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tests.physics.scenes import KHR, SHAPES, G, world

Json = dict[str, Any]

STEPS = 480
RESTS = 0.01
"""[m]: what a body at rest may be off."""
FALLEN = -G * (STEPS / 240) * (STEPS / 240 + 1 / 240) / 2
"""[m] that a free body falls in the engine's semi-implicit steps."""


@contextmanager
def after(root: Json, *codes: str) -> Iterator[gb.Scene]:
    """The scene some time later; the file's findings are warnings of these codes alone."""
    text = json.dumps({"asset": {"version": "2.0"}, "scenes": [{"nodes": roots(root)}], **root})
    with world(text.encode()) as scene:
        read = scene.asset.issues
        assert {issue.code for issue in read if issue.severity.name != "INFO"} == set(codes)
        scene.step(STEPS)
        yield scene


def roots(root: Json) -> list[int]:
    below = {child for node in root["nodes"] for child in node.get("children", ())}
    return [index for index in range(len(root["nodes"])) if index not in below]


def height(scene: gb.Scene, name: str) -> float:
    return float(scene.world_from_node(name)[1, 3])


def khr(shapes: list[Json], *nodes: Json, members: Json | None = None, **tables: Any) -> Json:
    """A file of KHR physics; a node's own members but for its place are its extension's."""
    return {
        "nodes": [
            {"name": node.pop("name"), "translation": node.pop("at", [0, 0, 0]),
             "extensions": {KHR: node}}
            for node in nodes
        ],
        "extensionsUsed": [KHR, SHAPES],
        "extensions": {SHAPES: {"shapes": shapes}, KHR: tables},
        **(members or {}),
    }  # fmt: skip


BALL = {"type": "sphere", "sphere": {"radius": 0.25}}
CUBE = {"type": "box", "box": {"size": [1, 1, 1]}}


def solid(shape: int, **more: Any) -> Json:
    return {"geometry": {"shape": shape}, **more}


# --- 1: sizes -----------------------------------------------------------------------------------


def shape_in(dialect: str, entry: Json) -> Json:
    """A static node "Shape" of one dialect under a ball of KHR that starts 1 m above it."""
    ball = {"name": "Ball", "at": [0, 1, 0], "motion": {"mass": 1}, "collider": solid(0)}
    root = khr([BALL, entry], ball)
    kind = entry["type"]
    node: Json = {"name": "Shape"}
    if dialect == "KHR_implicit_shapes":
        node["extensions"] = {KHR: {"collider": solid(1)}}
    elif dialect == "shapes":
        # The core's table and that of KHR_implicit_shapes go by the same indices.
        root["extensions"] = {KHR: {}}
        root |= {"asset": {"version": "2.1"}, "shapes": [BALL, entry]}
        root["extensionsUsed"] = [KHR]
        node["extensions"] = {KHR: {"collider": solid(1)}}
    elif dialect == "KHR_collision_shapes":
        root["extensions"][dialect] = {"shapes": [entry]}
        root["extensions"][SHAPES]["shapes"].pop()
        node["extensions"] = {KHR: {"collider": {"shape": 0}}}
    elif dialect == "OMI_physics_shape":
        root["extensions"][dialect] = {"shapes": [entry]}
        root["extensions"][SHAPES]["shapes"].pop()
        node["extensions"] = {"OMI_physics_body": {"collider": {"shape": 0}}}
    else:
        fields = dict(entry[kind])
        if "radiusTop" in fields:
            fields = {"height": fields["height"], "radius": fields["radiusTop"]}
        root["extensions"][dialect] = {"colliders": [{"type": kind, **fields}]}
        root["extensions"][SHAPES]["shapes"].pop()
        node["extensions"] = {dialect: {"collider": 0}}
    used = [name for name in (dialect, *node["extensions"]) if name != "shapes"]
    root["extensionsUsed"] = list(dict.fromkeys([*root["extensionsUsed"], *used]))
    root["nodes"].append(node)
    return root


DIALECTS = [
    "KHR_implicit_shapes", "KHR_collision_shapes", "shapes", "OMI_physics_shape", "OMI_collider",
]  # fmt: skip


def round_shape(kind: str, height: float, radius: float) -> Json:
    return {"type": kind, kind: {"height": height, "radiusTop": radius, "radiusBottom": radius}}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("entry", "top"),
    [
        ({"type": "box", "box": {"size": [2, 0, 2]}}, 0.0),
        ({"type": "box", "box": {"size": [2, -1, 2]}}, 0.5),
        (round_shape("cylinder", 0, 0.5), 0.0),
    ],
    ids=["flat box", "negative box", "disc"],
)
def test_a_flat_shape_carries_what_falls_on_it(dialect: str, entry: Json, top: float) -> None:
    with after(shape_in(dialect, entry), "RANGE_MENDED") as scene:
        assert height(scene, "Ball") == pytest.approx(top + 0.25, abs=RESTS)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "OMI_collider"])
def test_a_capsule_of_height_zero_is_a_sphere(dialect: str) -> None:
    """In OMI_collider a height is total: 0 there is less than the radius wants."""
    with after(shape_in(dialect, round_shape("capsule", 0, 0.5)), "RANGE_MENDED") as scene:
        assert height(scene, "Ball") == pytest.approx(0.75, abs=RESTS)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"type": "box", "box": {"size": [0, 0, 0]}}, "SHAPE_WITHOUT_EXTENT"),
        ({"type": "sphere", "sphere": {"radius": 0}}, "SHAPE_WITHOUT_EXTENT"),
        ({"type": "sphere", "sphere": {"radius": -1}}, "RANGE_MENDED"),
        (round_shape("capsule", -0.1, 0.5), "RANGE_MENDED"),
    ],
    ids=["point box", "point", "negative radius", "negative height"],
)
def test_a_shape_of_no_size_is_left_out(dialect: str, entry: Json, code: str) -> None:
    with after(shape_in(dialect, entry), code) as scene:
        assert height(scene, "Ball") == pytest.approx(1.0 + FALLEN, abs=1e-3)


# --- 2, 3, 5, 7: joints -------------------------------------------------------------------------


def hung(limits: list[Json], drives: list[Json] | None = None, **joint: Any) -> Json:
    """A body of 2 kg at the origin, jointed to a node of the world that stands there."""
    body = {
        "name": "Body",
        "motion": {"mass": 2},
        "collider": solid(0),
        "joint": {"joint": 0, "connectedNode": 1, **joint},
    }
    description: Json = {"limits": limits, "drives": drives or []}
    root = khr([CUBE], body, {"name": "World"}, physicsJoints=[description])
    root["nodes"][1] = {"name": "World"}
    return root


LOCKED = [
    {"linearAxes": [0, 2], "min": 0, "max": 0},
    {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
]
UP = {"linearAxes": [1]}


def test_a_range_the_wrong_way_round_holds() -> None:
    """The world rises at most 0.3 m relative to the body: the body sinks by as much."""
    limits = [*LOCKED, {**UP, "min": 0.3, "max": -0.7}]
    with after(hung(limits), "LIMIT_RANGE_EMPTY") as scene:
        assert height(scene, "Body") == pytest.approx(-0.3, abs=RESTS)


def test_both_lists_of_a_limit_hold() -> None:
    limits = [{"linearAxes": [0, 1, 2], "angularAxes": [0, 1, 2], "min": 0, "max": 0}]
    with after(hung(limits), "LIMIT_BOTH_AXES") as scene:
        assert scene.world_from_node("Body") == pytest.approx(np.eye(4), abs=1e-3)


def test_an_axis_named_twice_is_held_once() -> None:
    """Twice the spring would sink half as deep."""
    limits = [*LOCKED, {"linearAxes": [1, 1], "min": 0, "max": 0, "stiffness": 100, "damping": 40}]
    with after(hung(limits), "AXIS_REPEATED") as scene:
        assert height(scene, "Body") == pytest.approx(-2 * G / 100, abs=RESTS)


def test_a_negative_stiffness_is_rigid() -> None:
    limits = [*LOCKED, {**UP, "min": 0, "max": 0, "stiffness": -1}]
    with after(hung(limits), "NEGATIVE_AS_UNLIMITED") as scene:
        assert height(scene, "Body") == pytest.approx(0.0, abs=1e-3)


SPRING = {"type": "linear", "axis": 1, "positionTarget": 0, "stiffness": 100}


@pytest.mark.parametrize(
    ("drive", "code"),
    [
        ({"mode": "force", "maxForce": -1}, "NEGATIVE_AS_UNLIMITED"),
        ({}, "ABSENCE_MENDED"),
    ],
    ids=["negative force", "no mode"],
)
def test_a_drive_holds_with_the_force_of_its_spring(drive: Json, code: str) -> None:
    """k x = m g; a mode of acceleration would make it k x = g."""
    drive = SPRING | {"velocityTarget": 0, "damping": 40} | drive
    with after(hung(LOCKED, [drive]), code) as scene:
        assert height(scene, "Body") == pytest.approx(-2 * G / 100, abs=RESTS)


@pytest.mark.parametrize(
    ("drive", "code"),
    [
        ({"axis": 3}, "INDEX_MENDED"),
        ({"type": None}, "TYPE_MENDED"),
    ],
)
def test_a_drive_without_a_degree_of_freedom_is_left_out(drive: Json, code: str) -> None:
    drive = SPRING | {"mode": "force", "velocityTarget": 0, "damping": 40} | drive
    with after(hung(LOCKED, [drive]), code) as scene:
        assert height(scene, "Body") == pytest.approx(FALLEN, rel=1e-3)


@pytest.mark.parametrize(
    ("joint", "code"),
    [
        ({"connectedNode": -1}, "INDEX_MEANS_NONE"),
        ({"connectedNode": 7}, "REFERENCE_MISSING"),
        ({"joint": 7}, "REFERENCE_MISSING"),
    ],
)
def test_a_joint_that_leads_nowhere_is_left_out(joint: Json, code: str) -> None:
    with after(hung(LOCKED, **joint), code) as scene:
        assert height(scene, "Body") == pytest.approx(FALLEN, rel=1e-3)


def test_the_first_form_of_omi_joints_holds_in_the_frame_of_its_node() -> None:
    """X of the joint node points up: B sinks relative to A down to lowerLimit."""
    joint = {"constraints": [0, 1], "nodeA": 0, "nodeB": 1}
    upright = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    dynamic = {"motion": {"type": "dynamic"}, "collider": {"shape": 0}}
    root = {
        "nodes": [
            {"name": "A", "translation": [0, 5, 0],
             "extensions": {"OMI_physics_body": {"motion": {"type": "static"}}}},
            {"name": "B", "translation": [1, 5, 0],
             "extensions": {"OMI_physics_body": dynamic}},
            {"name": "Slide", "translation": [0.5, 5, 0], "rotation": upright,
             "extensions": {"OMI_physics_joint": joint}},
        ],
        "extensionsUsed": ["OMI_physics_body", "OMI_physics_joint", "OMI_physics_shape"],
        "extensions": {
            "OMI_physics_shape": {"shapes": [CUBE]},
            "OMI_physics_joint": {"constraints": [
                {"linearAxes": [0], "lowerLimit": -0.3, "upperLimit": 0.7},
                {"linearAxes": [1, 2], "angularAxes": [0, 1, 2]},
            ]},
        },
    }  # fmt: skip
    with after(root, "JOINT_IN_FIRST_FORM") as scene:
        assert scene.world_from_node("B")[:3, 3] == pytest.approx([1.0, 4.7, 0.0], abs=RESTS)
        assert scene.world_from_node("B")[:3, :3] == pytest.approx(np.eye(3), abs=1e-3)


# --- 4: filters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("admitted", "refused", "lands_on"),
    [
        (["upper", "lower"], ["upper"], 0.0),
        (["upper"], [], 1.0),
        ([], ["upper"], 0.0),
    ],
)
def test_a_ball_passes_what_one_of_both_lists_refuses(
    admitted: list[str], refused: list[str], lands_on: float
) -> None:
    both = {"collideWithSystems": admitted, "notCollideWithSystems": refused}
    root = khr(
        [BALL, {"type": "box", "box": {"size": [2, 0.5, 2]}}],
        {"name": "Ball", "at": [0, 2, 0], "motion": {"mass": 1},
         "collider": solid(0, collisionFilter=0)},
        {"name": "Upper", "at": [0, 0.75, 0], "collider": solid(1, collisionFilter=1)},
        {"name": "Lower", "at": [0, -0.25, 0], "collider": solid(1, collisionFilter=2)},
        collisionFilters=[both, *({"collisionSystems": [name]} for name in ("upper", "lower"))],
    )  # fmt: skip
    with after(root, "FILTER_BOTH_LISTS") as scene:
        assert height(scene, "Ball") == pytest.approx(lands_on + 0.25, abs=RESTS)


# --- 6, 8, 9, 10: what is left out costs nothing else -------------------------------------------

RESTING = [
    {"name": "Ball", "at": [0, 1, 0], "motion": {"mass": 1}, "collider": solid(0)},
    {"name": "Floor", "at": [0, -0.5, 0], "collider": solid(1)},
]


def resting(members: Json | None = None, *nodes: Json) -> Json:
    """A ball that comes to rest at 0.25 m, beside whatever else."""
    copies = json.loads(json.dumps([*RESTING, *nodes]))
    return khr([BALL, CUBE], *copies, members=members)


AT_THE_BALL = {"name": "Other", "at": [0, 0.5, 0]}


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"collider": {"geometry": {"shape": 9}}}, "REFERENCE_MISSING"),
        ({"collider": {"geometry": {"shape": -1}}}, "INDEX_MEANS_NONE"),
        ({"collider": {"geometry": {"mesh": -1}}}, "INDEX_MEANS_NONE"),
        ({"collider": {"geometry": {"node": 0}}}, "GEOMETRY_NODE_WITHOUT_MESH"),
        ({"collider": {"geometry": None}}, "TYPE_MENDED"),
        ({"motion": None}, "TYPE_MENDED"),
    ],
)
def test_what_names_no_geometry_is_not_in_the_way(other: Json, code: str) -> None:
    with after(resting(None, AT_THE_BALL | other), code) as scene:
        assert height(scene, "Ball") == pytest.approx(0.25, abs=RESTS)


@pytest.mark.parametrize("key", ["physicsMaterial", "collisionFilter"])
@pytest.mark.parametrize(("index", "code"), [(-1, "INDEX_MEANS_NONE"), (9, "REFERENCE_MISSING")])
def test_a_collider_does_without_what_is_not_there(key: str, index: int, code: str) -> None:
    root = resting()
    root["nodes"][0]["extensions"][KHR]["collider"][key] = index
    with after(root, code) as scene:
        assert height(scene, "Ball") == pytest.approx(0.25, abs=RESTS)


def test_beside_a_node_the_shape_is_the_geometry() -> None:
    root = resting()
    root["nodes"][1]["extensions"][KHR]["collider"]["geometry"]["node"] = 0
    with after(root, "GEOMETRY_AMBIGUOUS") as scene:
        assert height(scene, "Ball") == pytest.approx(0.25, abs=RESTS)


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"type": "compound"}, "SHAPE_TYPE_UNKNOWN"),
        ({"type": "trimesh", "mesh": -1}, "INDEX_MEANS_NONE"),
    ],
)
def test_an_omi_collider_of_no_shape_leaves_those_below_it(entry: Json, code: str) -> None:
    """A compound stands for the colliders on its child nodes."""
    root = shape_in("OMI_collider", {"type": "box", "box": {"size": [1, 1, 1]}})
    root["extensions"]["OMI_collider"]["colliders"].append(entry)
    compound = {"name": "Compound", "extensions": {"OMI_collider": {"collider": 1}}}
    root["nodes"].append(compound | {"children": [1]})
    with after(root, code) as scene:
        assert height(scene, "Ball") == pytest.approx(0.75, abs=RESTS)


TURNED = {"path": "rotation", "node": 0}
CORE = [
    ({"animations": [{"channels": [{"target": TURNED, "sampler": 0}], "samplers": []}]},
     "PASSED_OVER"),
    ({"animations": None}, "TYPE_MENDED"),
    ({"materials": 5}, "TYPE_MENDED"),
    ({"scene": 3}, "INDEX_MENDED"),
    ({"extensionsUsed": "KHR_physics_rigid_bodies"}, "TYPE_MENDED"),
]  # fmt: skip


@pytest.mark.parametrize(("members", "code"), CORE)
def test_core_gltf_that_moves_nothing_is_passed_over(members: Json, code: str) -> None:
    codes = {code} | ({"EXTENSION_UNDECLARED"} if "extensionsUsed" in members else set())
    with after(resting(members), *codes) as scene:
        assert height(scene, "Ball") == pytest.approx(0.25, abs=RESTS)


@pytest.mark.parametrize(
    ("node", "code"),
    [
        ({"mesh": 7}, "INDEX_MENDED"),
        ({"skin": 7}, "INDEX_MENDED"),
        ({"camera": -1}, "INDEX_MEANS_NONE"),
        ({"name": 5}, "TYPE_MENDED"),
        ({"rotation": [0, 0, 0, 0]}, "RANGE_MENDED"),
        ({"extensions": {"VENDOR_thing": None}}, "TYPE_MENDED"),
        (
            {"matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 9, 0, 0, 1], "translation": [0, 0, 0]},
            "NODE_MATRIX_AND_TRS",
        ),
        ({"matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 9, 0, 0, 2]}, "MATRIX_NOT_AFFINE"),
    ],
)
def test_a_node_does_without_what_is_wrong_in_it(node: Json, code: str) -> None:
    root = resting()
    root["nodes"].append(node)
    with after(root, code) as scene:
        assert height(scene, "Ball") == pytest.approx(0.25, abs=RESTS)
        if "matrix" in node:
            assert scene.node_matrices[2, :3, 3] == pytest.approx([9.0, 0.0, 0.0])
