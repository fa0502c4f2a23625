"""Where one node stands, asked for alone, is where all nodes have it."""

from __future__ import annotations

import json

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tools.bench.assets import ASSETS


@pytest.mark.parametrize("name", ["ragdoll", "cart_pole", "vehicle", "suspension_bridge"])
def test_a_node_stands_where_all_nodes_have_it(client: int, name: str) -> None:
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene = gb.load_gltf(
        ASSETS / f"{name}.gltf",
        client,
        position=(1.0, 2.0, 3.0),
        scale=1.5,
        orientation=(0, 0, 1, 1),
    )
    scene.step(25)
    alone = [scene.world_from_node(node) for node in range(len(scene.nodes))]
    size = np.abs(scene.node_matrices).max()
    assert np.abs(np.array(alone) - scene.node_matrices).max() <= 1e-14 * size


def test_a_joint_that_somebody_else_turns_moves_nodes_at_once(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "cart_pole.gltf", client)
    before = scene.node_matrices.copy()
    body = scene.core.world.articulations.body_ids[0]
    for joint in range(pybullet.getNumJoints(body, physicsClientId=client)):
        if pybullet.getJointInfo(body, joint, physicsClientId=client)[2] == pybullet.JOINT_REVOLUTE:
            pybullet.resetJointState(body, joint, 0.5, physicsClientId=client)
    alone = np.array([scene.world_from_node(node) for node in range(len(scene.nodes))])
    assert np.abs(alone - before).max() > 0.1
    assert alone == pytest.approx(scene.node_matrices, abs=1e-14)


def test_a_body_that_somebody_removed_is_named(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "cart_pole.gltf", client)
    pybullet.removeBody(scene.core.world.articulations.body_ids[0], physicsClientId=client)
    with pytest.raises(gb.WorldChangedError):
        scene.world_from_node(len(scene.nodes) - 1)


def test_a_name_of_several_nodes_means_the_body_or_the_node_above_the_others(client: int) -> None:
    physics = "KHR_physics_rigid_bodies"
    document = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [physics],
        "scene": 0,
        "scenes": [{"nodes": [1, 3, 5, 6]}],
        "nodes": [
            {"name": "foot"},
            {"name": "foot", "children": [0], "extensions": {physics: {"motion": {"mass": 1}}}},
            {"name": "rail"},
            {"name": "rail", "children": [4]},
            {"children": [2]},
            {"name": "twin"},
            {"name": "twin"},
        ],
    }
    scene = gb.load_gltf(json.dumps(document).encode(), client)
    assert scene.node("foot").index == scene.bodies["foot"].node == 1
    assert scene.node("rail").index == 3
    with pytest.raises(KeyError, match=r"'twin' names 2 nodes; use an index: \[5, 6\]"):
        scene.node("twin")
