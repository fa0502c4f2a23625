"""``check`` asks about masses that nothing has, and velocities that joints take away."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gltf_bullet as gb

PHYSICS, SHAPES = "KHR_physics_rigid_bodies", "KHR_implicit_shapes"
KINDS = {"DENSITY_UNLIKELY", "JOINT_TAKES_VELOCITY"}
POINT = {"linearAxes": [0, 1, 2], "min": 0, "max": 0}


def slips(*nodes: dict[str, Any], limits: list[dict[str, Any]] | None = None) -> list[gb.Issue]:
    document = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [PHYSICS, SHAPES],
        "extensions": {
            SHAPES: {"shapes": [{"type": "box", "box": {"size": [1, 1, 1]}}]},
            PHYSICS: {"physicsJoints": [{"limits": [POINT] if limits is None else limits}]},
        },
        "scene": 0,
        "scenes": [{"nodes": [k for k, n in enumerate(nodes) if not n.get("below")]}],
        "nodes": [{k: v for k, v in node.items() if k != "below"} for node in nodes],
    }
    report = gb.check(json.dumps(document).encode())
    return [issue for issue in report.issues if issue.code in KINDS]


def body(x: float = 0.0, children: tuple[int, ...] = (), **motion: Any) -> dict[str, Any]:
    physics = {"motion": motion, "collider": {"geometry": {"shape": 0}}}
    node = {"translation": [x, 0, 0], "extensions": {PHYSICS: physics}}
    return node | ({"children": list(children)} if children else {})


def joint(other: int) -> dict[str, Any]:
    return {"extensions": {PHYSICS: {"joint": {"connectedNode": other, "joint": 0}}}}


@pytest.mark.parametrize(("mass", "word"), [(0.01, "any gas"), (2e5, "any metal")])
def test_a_density_that_nothing_has_is_asked_about(mass: float, word: str) -> None:
    (issue,) = slips(body(mass=mass), body(3.0, mass=mass), body(6.0, mass=1000.0))
    assert (issue.code, str(issue.pointer)) == ("DENSITY_UNLIKELY", "/nodes/0")
    assert issue.values["density"] == pytest.approx(mass)
    assert word in issue.message
    assert "and those of 1 other bodies" in issue.message


@pytest.mark.parametrize("mass", [0.1, 1000.0, 2e4, None, 0.0])
def test_usual_and_unstated_masses_are_not(mass: float | None) -> None:
    assert slips(body() if mass is None else body(mass=mass)) == []


def test_a_door_whose_turn_its_hinge_would_stop_is_told() -> None:
    """1.5 rad/s about a centre that is half a metre off: 0.75 m/s at the hinge."""
    frame = {"translation": [-0.5, 0, 0], "below": True}
    post = {"translation": [-0.5, 0, 0]} | joint(2)
    (issue,) = slips(body(children=(2,), angularVelocity=[0, 1.5, 0], mass=9), post, frame)
    assert (issue.code, str(issue.pointer)) == (
        "JOINT_TAKES_VELOCITY", f"/nodes/1/extensions/{PHYSICS}/joint"
    )  # fmt: skip
    assert issue.values["speed"] == pytest.approx(0.75)
    # With the velocity of the centre, w x r = (0, 1.5, 0) x (0.5, 0, 0), it turns about the hinge.
    motion = {"angularVelocity": [0, 1.5, 0], "linearVelocity": [0, 0, -0.75], "mass": 9}
    assert slips(body(children=(2,), **motion), post, frame) == []


def test_joints_that_let_go_and_bodies_that_fly_together_take_nothing() -> None:
    frame, post = {"below": True}, joint(2)
    moving = body(children=(2,), linearVelocity=[0, 2, 0], mass=9)
    slide = [{"linearAxes": [0, 2], "min": 0, "max": 0}]
    assert slips(moving, post, frame, limits=slide) == []
    both = body(1.0, children=(3,), linearVelocity=[0, 2, 0], mass=9)
    ends = {"translation": [0.5, 0, 0], "below": True}
    other = {"translation": [-0.5, 0, 0], "below": True} | joint(2)
    first = body(children=(2,), linearVelocity=[0, 2, 0], mass=9)
    assert slips(first, both, ends, other) == []
