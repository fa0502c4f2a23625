"""KHR_physics_rigid_bodies, "Joints": attachment frames and "the columns of the basis" (000, 001).

Where negative scales mirror a frame its columns point the other way; what turns about them turns as
the mirror image does, as spins do.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tests.spec.files import Json, codes, file, loaded, node

KHR = "KHR_physics_rigid_bodies"
BODY: Json = {"mass": 1, "inertiaDiagonal": [0.1, 0.1, 0.1]}
LOCKED: Json = {"angularAxes": [0, 1, 2], "min": 0, "max": 0}
SIGNS = list(itertools.product((1, -1), repeat=3))


def slider(scale: tuple[int, ...], axis: int, joint: Json, *, both: bool = False) -> bytes:
    """A body (2) in the frame of a static joint node (1) below a node (0) that mirrors it."""
    other = [k for k in range(3) if k != axis]
    limits = [LOCKED, {"linearAxes": other, "min": 0, "max": 0}, *joint.pop("limits", ())]
    tables = {KHR: {"physicsJoints": [{"limits": limits, **joint}]}}
    nodes = [
        node(scale=list(scale), children=[1]),
        node({KHR: {"joint": {"connectedNode": 3 if both else 2, "joint": 0}}}),
        node({KHR: {"motion": BODY}}, **({"children": [3]} if both else {})),
        *([node(scale=list(scale))] if both else []),
    ]
    return file(nodes, tables)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("scale", SIGNS)
def test_a_linear_limit_is_along_the_column_of_its_axis(
    scale: tuple[int, ...], axis: int, both: bool
) -> None:
    """-0.2 to 0.1 along a column that points up or down: pushed to both ends."""
    limit = {"linearAxes": [axis], "min": -0.2, "max": 0.1}
    content = slider(scale, axis, {"limits": [limit]}, both=both)
    column = scale[axis] * np.eye(3)[axis]
    for push, end in ((-5.0, -0.2), (5.0, 0.1)):
        with loaded(content, gravity=0.0) as scene:
            for _ in range(240):
                scene.bodies[2].apply_force(push * column)
                scene.step()
            at = scene.world_from_node(2)[:3, 3]
            assert column @ at == pytest.approx(end, abs=1e-3)
            assert at - (column @ at) * column == pytest.approx(np.zeros(3), abs=1e-6)
    assert codes(content) == set()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("scale", SIGNS)
def test_a_linear_drive_is_along_the_column_of_its_axis(scale: tuple[int, ...], axis: int) -> None:
    drive = {
        "type": "linear", "mode": "force", "axis": axis,
        "positionTarget": 0.3, "stiffness": 100, "damping": 20,
    }  # fmt: skip
    content = slider(scale, axis, {"drives": [drive]})
    with loaded(content, gravity=0.0) as scene:
        scene.step(480)
        assert scene.world_from_node(2)[axis, 3] == pytest.approx(0.3 * scale[axis], abs=1e-3)
        (dof,) = scene.joints[1].degrees_of_freedom
        assert dof.position == pytest.approx(0.3, abs=1e-3)
        assert dof.axis == axis


@pytest.mark.parametrize("scale", SIGNS)
def test_a_limit_that_is_set_is_along_the_column(scale: tuple[int, ...]) -> None:
    limit = {"linearAxes": [0], "min": -0.2, "max": 0.1}
    with loaded(slider(scale, 0, {"limits": [limit]}), gravity=0.0) as scene:
        scene.step()
        scene.set(f"/extensions/{KHR}/physicsJoints/0/limits/2/max", 0.3)
        for _ in range(240):
            scene.bodies[2].apply_force((5.0 * scale[0], 0, 0))
            scene.step()
        assert scene.world_from_node(2)[0, 3] == pytest.approx(0.3 * scale[0], abs=1e-3)


def hinge(scale: tuple[int, ...], axis: int) -> bytes:
    joint = {
        "limits": [
            {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
            {"angularAxes": [k for k in range(3) if k != axis], "min": 0, "max": 0},
            {"angularAxes": [axis], "min": -0.2, "max": 0.5},
        ]
    }
    nodes = [
        node(scale=list(scale), children=[1]),
        node({KHR: {"joint": {"connectedNode": 2, "joint": 0}}}),
        node({KHR: {"motion": BODY}}),
    ]
    return file(nodes, {KHR: {"physicsJoints": [joint]}})


def turned(scene: gb.Scene, axis: int) -> float:
    """Of body 2 about an axis of the world [rad]."""
    matrix = scene.world_from_node(2)[:3, :3]
    i, j = (axis + 1) % 3, (axis + 2) % 3
    return float(np.arctan2(matrix[j, i], matrix[i, i]))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("scale", SIGNS)
def test_an_angular_limit_turns_as_the_mirror_image_does(scale: tuple[int, ...], axis: int) -> None:
    sense = float(np.prod(scale)) * scale[axis]
    for push, end in ((-1.0, -0.2), (1.0, 0.5)):
        with loaded(hinge(scale, axis), gravity=0.0) as scene:
            for _ in range(240):
                scene.bodies[2].apply_torque(push * sense * np.eye(3)[axis])
                scene.step()
            assert sense * turned(scene, axis) == pytest.approx(end, abs=5e-3)


def machine(scale: tuple[int, ...]) -> bytes:
    """A driven arm of a slide and a hinge with soft and hard limits, all below one node."""
    hinge: Json = {
        "limits": [
            {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
            {"angularAxes": [0, 1], "min": 0, "max": 0},
            {"angularAxes": [2], "min": -0.3, "max": 1.2, "stiffness": 40, "damping": 3},
        ]
    }
    slide: Json = {
        "limits": [
            LOCKED,
            {"linearAxes": [1, 2], "min": 0, "max": 0},
            {"linearAxes": [0], "min": -0.1, "max": 0.4},
        ],
        "drives": [
            {"type": "linear", "mode": "force", "axis": 0, "velocityTarget": 0.5, "damping": 30}
        ],
    }
    spring: Json = {"limits": [{"linearAxes": [1], "min": 0.1, "max": 0.2, "stiffness": 60}]}
    nodes: list[Any] = [
        node(scale=list(scale), children=[1, 2, 3]),
        node({KHR: {"joint": {"connectedNode": 2, "joint": 0}}}),
        node({KHR: {"motion": BODY, "joint": {"connectedNode": 3, "joint": 1}}}),
        node({KHR: {"motion": BODY}}, translation=[0.3, 0, 0], children=[4]),
        node({KHR: {"joint": {"connectedNode": 5, "joint": 2}}}, translation=[0.1, 0.2, 0.3]),
        node({KHR: {"motion": BODY}}, translation=[0.5, 0.9, 0.3], scale=list(scale)),
    ]
    nodes[5]["translation"] = [s * x for s, x in zip(scale, nodes[5]["translation"], strict=True)]
    return file(nodes, {KHR: {"physicsJoints": [slide, hinge, spring]}})


@pytest.mark.parametrize("scale", SIGNS)
def test_a_machine_in_a_mirror_moves_as_its_image(scale: tuple[int, ...]) -> None:
    """Positions are mirrored, for a second under gravity along all axes, steps and loops alike."""
    ways = []
    for signs in ((1, 1, 1), scale):
        with loaded(machine(signs), gravity=0.0) as scene:
            gravity = 3.0 * np.array([1.0, -2.0, 0.5]) * signs
            way = []
            for _ in range(240):
                for body in scene.bodies.values():
                    body.apply_force(body.mass * gravity)
                scene.step()
                way.append(scene.node_matrices[[2, 3, 5], :3, 3] * signs)
            ways.append(np.array(way))
    assert np.abs(ways[0][-1] - ways[0][0]).max() > 0.1
    assert np.abs(ways[1] - ways[0]).max() < 1e-4
