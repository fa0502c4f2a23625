"""Ropes with loads: named at load where a usual time step is too long for them, finite anyway."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tests.physics.scenes import G, world

KHR = "KHR_physics_rigid_bodies"
SEGMENT, LENGTH, COUNT = 0.1, 0.1, 20
"""Mass [kg], length [m] and number of a rope's segments."""
TILT = math.radians(30.0)


def rope(load: float, count: int = COUNT) -> bytes:
    """Segments on ball joints, hanging 30 degrees aside, with ``load`` [kg] at the end."""
    nodes: list[dict[str, Any]] = [{}]
    roots, above = [0], 0
    for number in range(count + 1):
        body, mass = len(nodes), SEGMENT if number < count else load
        roots.append(body)
        joint = {"joint": {"connectedNode": above, "joint": 0}}
        physics = {"motion": {"mass": mass}, "collider": {"geometry": {"shape": 0}}}
        nodes += [
            {
                "translation": [0.0, -LENGTH * (number + 0.5), 0.0],
                "children": [body + 1, body + 2],
                "extensions": {KHR: physics},
            },
            {"translation": [0.0, 0.5 * LENGTH, 0.0], "extensions": {KHR: joint}},
            {"translation": [0.0, -0.5 * LENGTH, 0.0]},
        ]
        above = body + 2
    turned = [0.0, 0.0, math.sin(0.5 * TILT), math.cos(0.5 * TILT)]
    nodes.append({"children": roots, "rotation": turned})
    ball_joint = {"limits": [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]}
    capsule = {"radiusTop": 0.01, "radiusBottom": 0.01, "height": 0.06}
    return json.dumps(
        {
            "asset": {"version": "2.0"},
            "extensionsUsed": [KHR, "KHR_implicit_shapes"],
            "extensions": {
                "KHR_implicit_shapes": {"shapes": [{"type": "capsule", "capsule": capsule}]},
                KHR: {"physicsJoints": [ball_joint]},
            },
            "nodes": nodes,
            "scenes": [{"nodes": [len(nodes) - 1]}],
            "scene": 0,
        }
    ).encode()


@pytest.mark.parametrize("load", [0.1, 10.0, 100.0])
def test_a_load_on_light_links_is_named_with_the_step_that_it_needs(load: float) -> None:
    """The uppermost segment swings at sqrt(M g l / I) about its joint."""
    issues = gb.check(rope(load)).issues
    (issue,) = [found for found in issues if found.code != "DENSITY_UNLIKELY"]
    assert (issue.code, issue.pointer) == ("LOAD_ON_LIGHT_LINK", "/nodes/1")
    hanging = SEGMENT * (COUNT - 1) + load
    assert issue.values["ratio"] == pytest.approx(hanging / SEGMENT)
    # A rod of 0.08 m with round ends, about a point 0.05 m from its middle: within a few percent.
    inertia = SEGMENT * (0.08**2 / 12.0 + (0.5 * LENGTH) ** 2)
    speed = math.sqrt(hanging * G * LENGTH / inertia)
    assert float(str(issue.values["step"])) == pytest.approx(0.7 / speed, rel=0.05)


def test_a_short_chain_is_not_named() -> None:
    assert not gb.check(rope(SEGMENT, count=3)).issues


@pytest.mark.parametrize("load", [0.1, 10.0, pytest.param(100.0, marks=pytest.mark.slow)])
def test_a_rope_at_60_steps_a_second_stays_finite_and_whole(load: float) -> None:
    """Such ropes blow up in Bullet and in MuJoCo."""
    with world(rope(load), rate=60) as scene:
        last = 3 * COUNT + 1
        for _ in range(240):
            scene.step()
            place = scene.world_from_node(last)[:3, 3]
            assert np.isfinite(place).all()
            assert np.linalg.norm(place) <= LENGTH * (COUNT + 0.5) + 1e-3
