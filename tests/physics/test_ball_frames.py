"""A ball and its body are one link where their frames agree, and move as the two links would."""

from __future__ import annotations

import json

import numpy as np
import pybullet
import pytest
from scipy.spatial.transform import Rotation

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world

EXTENSION = "KHR_physics_rigid_bodies"
INERTIA_TURN = Rotation.from_euler("xyz", [0.3, 0.2, 0.1])
PIVOT_TURN = Rotation.from_euler("xyz", [0.1, 0.4, -0.2])


def pendulum(between: Rotation, *, from_the_child: bool) -> bytes:
    """A body on a ball joint; ``between`` turns the joint's frames against its principal axes."""
    point = {"limits": [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]}
    nodes: list[dict[str, object]] = [
        {"translation": [0, 1, 0], "rotation": (PIVOT_TURN * between).as_quat().tolist()},
        {
            "translation": [0, 1, 0],
            "rotation": (PIVOT_TURN * INERTIA_TURN.inv()).as_quat().tolist(),
            "children": [2],
            "extensions": {
                EXTENSION: {
                    "motion": {
                        "mass": 1,
                        "centerOfMass": [0.02, -0.3, 0.05],
                        "inertiaDiagonal": [0.01, 0.02, 0.015],
                        "inertiaOrientation": INERTIA_TURN.as_quat().tolist(),
                        "angularVelocity": [0.5, 3.0, -1.0],
                    }
                }
            },
        },
        {"rotation": (INERTIA_TURN * between).as_quat().tolist()},
    ]
    near, far = (2, 0) if from_the_child else (0, 2)
    nodes[near]["extensions"] = {EXTENSION: {"joint": {"joint": 0, "connectedNode": far}}}
    return json.dumps(
        {
            "asset": {"version": "2.0"},
            "extensionsUsed": [EXTENSION],
            "scenes": [{"nodes": [0, 1]}],
            "nodes": nodes,
            "extensions": {EXTENSION: {"physicsJoints": [point]}},
        }
    ).encode()


@pytest.mark.parametrize("from_the_child", [False, True])
def test_one_link_swings_as_two_do(from_the_child: bool) -> None:
    """Met from either side; the joint's frame stands along the principal axes, or does not."""
    counts, ways = [], []
    for between in (Rotation.identity(), Rotation.from_euler("xyz", [0.5, 0.3, 0.2])):
        with headless_world() as client:
            scene = gb.load_gltf(pendulum(between, from_the_child=from_the_child), client)
            (body,) = scene.bodies.values()
            counts.append(pybullet.getNumJoints(body.body_id, physicsClientId=client))
            way = []
            for _ in range(20):
                scene.step(12)
                way.append(scene.world_from_node(1))
            ways.append(np.array(way))
    assert counts == [1, 2]
    assert np.ptp(ways[0][:, :3, :3], axis=0).max() > 0.5  # it does swing
    assert ways[0] == pytest.approx(ways[1], abs=1e-9)
