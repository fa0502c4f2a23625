"""``check`` notes what touches at load: overlaps, heavy bodies on light ones, sheared boxes."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb

PHYSICS, SHAPES = "KHR_physics_rigid_bodies", "KHR_implicit_shapes"
KINDS = {"BODIES_BEGIN_INSIDE", "HEAVY_ON_LIGHT", "BOX_AS_HULL"}
BOX = {"type": "box", "box": {"size": [1, 1, 1]}}
BALL = {"type": "sphere", "sphere": {"radius": 0.5}}
CAPSULE = {"type": "capsule", "capsule": {"radiusTop": 0.5, "radiusBottom": 0.5, "height": 1.0}}
CYLINDER = {"type": "cylinder", "cylinder": {"radiusTop": 0.5, "radiusBottom": 0.5, "height": 1.0}}


def document(*nodes: dict[str, Any], shapes: tuple[Any, ...] = (BOX,), **physics: Any) -> bytes:
    used = [PHYSICS, SHAPES]
    roots = set(range(len(nodes))) - {k for node in nodes for k in node.get("children", ())}
    return json.dumps(
        {
            "asset": {"version": "2.0"}, "extensionsUsed": used, "scene": 0, "nodes": nodes,
            "scenes": [{"nodes": sorted(roots)}],
            "extensions": {SHAPES: {"shapes": shapes}, PHYSICS: physics},
        }
    ).encode()  # fmt: skip


def body(place: list[float], shape: int = 0, mass: float | None = 1.0, **more: Any) -> Any:
    physics: dict[str, Any] = {"collider": {"geometry": {"shape": shape}}}
    if mass is not None:
        physics["motion"] = {"mass": mass}
    physics |= more.pop("physics", {})
    return {"translation": place, "extensions": {PHYSICS: physics}, **more}


def slips(data: bytes) -> list[gb.Issue]:
    return [issue for issue in gb.check(data).issues if issue.code in KINDS]


TURNED = {"rotation": [0, 0, math.sin(math.pi / 8), math.cos(math.pi / 8)]}  # 45 degrees about Z


@pytest.mark.parametrize(
    ("shapes", "apart", "more", "depth"),
    [
        ((BOX, BOX), 0.9, {}, 0.1),
        ((BALL, BALL), 0.75, {}, 0.25),
        ((BOX, BALL), 0.8, {}, 0.2),
        ((CAPSULE, CAPSULE), 0.9, {}, 0.1),
        ((CYLINDER, BOX), 0.7, {}, 0.3),
        # A cube's edge, turned by 45 degrees, reaches sqrt(1/2) to the other's face.
        ((BOX, BOX), 1.1, TURNED, math.sqrt(0.5) + 0.5 - 1.1),
    ],
)
@pytest.mark.parametrize("fixed", [False, True])
def test_depths_are_those_of_geometry(
    shapes: tuple[Any, ...], apart: float, more: dict[str, Any], depth: float, fixed: bool
) -> None:
    first = body([0, 0, 0], 0, None if fixed else 1.0)
    data = document(first, body([apart, 0, 0], 1, **more), shapes=shapes)
    (issue,) = slips(data)
    assert (issue.code, str(issue.pointer), issue.values["other"]) == (
        "BODIES_BEGIN_INSIDE", "/nodes/1", 0,
    )  # fmt: skip
    assert issue.values["depth"] == pytest.approx(depth, rel=0.02)


def test_of_many_pairs_the_deepest_are_named_and_the_others_counted() -> None:
    """A row of 9 boxes of 1 m, closer from pair to pair: 8 neighbours, 0.2 to 0.48 m deep."""
    places = np.cumsum([0.8 - 0.04 * k for k in range(9)])
    data = document(*(body([float(x), 0, 0]) for x in places))
    near = {(b, a) for a in range(9) for b in range(a + 1, 9) if places[b] - places[a] < 0.998}
    found = slips(data)
    assert [issue.code for issue in found] == ["BODIES_BEGIN_INSIDE"] * 5
    depths = [issue.values["depth"] for issue in found]
    assert depths == sorted(depths, reverse=True)
    assert depths[0] == pytest.approx(1.0 - (places[8] - places[7]), rel=0.02)
    assert f"so do {len(near) - 5} further pairs" in found[-1].message
    assert "further" not in found[0].message


@pytest.mark.parametrize("shapes", [(BOX, BOX), (BALL, BOX), (CYLINDER, CYLINDER)])
@pytest.mark.parametrize("apart", [1.0, 1.0005, 1.2])
def test_bodies_that_touch_or_do_not_are_not_inside(shapes: tuple[Any, ...], apart: float) -> None:
    assert slips(document(body([0, 0, 0]), body([apart, 0, 0], 1), shapes=shapes)) == []


def test_corners_of_boxes_pass_each_other() -> None:
    """Their bounding boxes overlap by 0.2 m; a face's direction separates them."""
    data = document(body([0, 0, 0], **TURNED), body([1.0, 1.0, 0]))
    assert slips(data) == []


def test_what_is_jointed_or_filtered_may_overlap() -> None:
    limits = [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]
    joint = {"joint": {"joint": 0, "connectedNode": 0}}
    jointed = document(
        body([0, 0, 0]), body([0.5, 0, 0], physics=joint), physicsJoints=[{"limits": limits}]
    )
    assert slips(jointed) == []
    own = {"collider": {"geometry": {"shape": 0}, "collisionFilter": 0}}
    kept = [{"collisionSystems": ["a"], "notCollideWithSystems": ["a"]}]
    filtered = document(
        body([0, 0, 0], physics=own), body([0.5, 0, 0], physics=own), collisionFilters=kept
    )
    assert slips(filtered) == []


@pytest.mark.parametrize(("ratio", "is_told"), [(1000.0, True), (500.0, False)])
def test_a_heavy_body_on_a_light_one_is_told(ratio: float, is_told: bool) -> None:
    floor = body([0, -0.5, 0], mass=None)
    light, heavy = body([0, 0.5, 0], mass=2.0), body([0, 1.5, 0], mass=2.0 * ratio)
    found = slips(document(floor, light, heavy))
    assert [issue.values for issue in found] == (
        [{"heavy": 2.0 * ratio, "light": 2.0, "ratio": ratio, "other": 1}] if is_told else []
    )
    # Light upon heavy holds, and what is apart does not touch.
    light["translation"], heavy["translation"] = [0, 1.5, 0], [0, 0.5, 0]
    assert slips(document(floor, light, heavy)) == []
    light["translation"], heavy["translation"] = [0, 0.5, 0], [0, 1.6, 0]
    assert slips(document(floor, light, heavy)) == []


def test_a_box_that_a_parent_shears_is_told() -> None:
    below = body([0, 0, 0], **TURNED)
    parent = {"scale": [1, 2, 1], "children": [1]}
    (issue,) = slips(document(parent, below))
    assert (issue.code, str(issue.pointer)) == (
        "BOX_AS_HULL", f"/nodes/1/extensions/{PHYSICS}/collider",
    )  # fmt: skip
    parent["scale"] = [2, 2, 2]
    assert slips(document(parent, below)) == []
