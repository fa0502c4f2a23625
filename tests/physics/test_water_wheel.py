"""Balls of 8.8 mm poured over a hinged wheel of one concave mesh end on the floor, a mesh as well.

What the Khronos sample WaterWheel shows, made small enough for a test.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import gltf_bullet as gb
from tests.physics.scenes import KHR, world
from tools.bench.baselines.contact_scenes import ContactScene, flat_grid

RADIUS = 0.0044
"""[m] of the balls."""
PADDLES, REACH, WIDTH = 8, 0.08, 0.06
"""Of the wheel; [m]."""
FLOOR = 10.0
"""[m] from its middle to its edge: balls roll on for ever."""
AXLE = 0.12
"""[m] above the floor."""


def paddle_wheel() -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """Thin boxes about the Z axis, each a closed part of one mesh."""
    corners = np.array([(x, y, z) for x in (0, 1) for y in (-1, 1) for z in (-1, 1)], float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    points, triangles = [], []
    for k in range(PADDLES):
        turn = 2.0 * math.pi * k / PADDLES
        box = corners * (REACH, 0.0015, 0.5 * WIDTH)
        x, y = box[:, 0].copy(), box[:, 1].copy()
        box[:, 0] = math.cos(turn) * x - math.sin(turn) * y
        box[:, 1] = math.sin(turn) * x + math.cos(turn) * y
        for a, b, c, d in faces:
            first = 8 * k
            triangles += [
                (first + a, first + b, first + c), (first + a, first + c, first + d)
            ]  # fmt: skip
        points.append(box)
    return np.concatenate(points), triangles


def water_wheel() -> tuple[bytes, int, list[int]]:
    """The file, the wheel's node and those of the balls."""
    scene = ContactScene()
    scene.node(scene.mesh(*flat_grid(20, FLOOR)))
    wheel = scene.node(scene.mesh(*paddle_wheel()), at=(0.0, AXLE, 0.0), motion={"mass": 0.2})
    ball, mass = scene.shape("sphere", radius=RADIUS), 1000.0 * 4.0 / 3.0 * math.pi * RADIUS**3
    balls = [
        scene.node(
            ball,
            at=(0.04 + 0.011 * (k % 2), 0.25 + 0.012 * (k // 6), -0.011 + 0.011 * (k % 6 // 2)),
            motion={"mass": mass},
        )
        for k in range(48)
    ]
    asset = json.loads(scene.bytes())
    asset["nodes"] += [
        {"name": "Axle"},
        {
            "name": "Bearing", "translation": [0.0, AXLE, 0.0],
            "extensions": {KHR: {"joint": {"connectedNode": len(asset["nodes"]), "joint": 0}}},
        },
    ]  # fmt: skip
    asset["nodes"][wheel]["children"] = [len(asset["nodes"]) - 2]
    asset["scenes"][0]["nodes"].append(len(asset["nodes"]) - 1)
    asset["extensions"][KHR]["physicsJoints"] = [
        {
            "limits": [
                {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
                {"angularAxes": [0, 1], "min": 0.0, "max": 0.0},
            ]
        }
    ]
    return json.dumps(asset).encode(), wheel, balls


@pytest.mark.parametrize("rate", [60, pytest.param(240, marks=pytest.mark.slow)])
def test_no_ball_falls_through_the_floor_where_a_hull_stands_in_for_the_wheel(rate: int) -> None:
    content, _, balls = water_wheel()
    with world(content, rate=rate, options=gb.LoadOptions(concave="hull")) as scene:
        for _ in range(3 * rate):
            scene.step()
        places = scene.node_matrices[balls, :3, 3]
    assert np.abs(places[:, [0, 2]]).max() < FLOOR
    assert places[:, 1].min() > RADIUS - 1e-3


@pytest.mark.parametrize(
    ("rate", "seconds"), [(60, 4.0), pytest.param(60, 8.0, marks=pytest.mark.slow)]
)
def test_the_balls_turn_the_wheel_and_stay_above_the_floor(rate: int, seconds: float) -> None:
    content, wheel, balls = water_wheel()
    options = gb.LoadOptions(concave="bvh")  # of triangles, as with balls and no floor
    with world(content, rate=rate, options=options) as scene:
        fastest = 0.0
        for _ in range(int(seconds * rate)):
            scene.step()
            fastest = max(fastest, abs(float(scene.bodies[wheel].angular_velocity[2])))
        places = scene.node_matrices[balls, :3, 3]
    assert fastest > 1.0
    assert np.abs(places[:, [0, 2]]).max() < FLOOR
    # PyBullet rests balls up to 1 mm off a mesh.
    assert places[:, 1].min() > RADIUS - 1e-3
