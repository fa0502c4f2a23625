"""Static colliders that are put elsewhere between two steps keep their bodies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.envs import EnvConfig, GltfEnv
from tests.physics.scenes import bodies_in

BODIES = "KHR_physics_rigid_bodies"
QUARTER = (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))
"""Rotation xyzw by a quarter turn about glTF's Y, which is Bullet's Z."""


pytestmark = pytest.mark.world(deterministic=True)


def tables(*, trigger: bool) -> bytes:
    """A table of two boxes, 1 m wide and 0.5 m high, one 0.6 m beside it, a ball 3 m to the right.

    ``trigger``: with one on the table.
    """

    def collider(shape: int) -> dict[str, Any]:
        return {BODIES: {"collider": {"geometry": {"shape": shape}}}}

    nodes: list[dict[str, Any]] = [
        {"name": "Table", "translation": [0, 0.25, 0], "children": [1], "extensions": collider(0)},
        {"name": "Wing", "translation": [0.6, 0, 0], "extensions": collider(1)},
        {
            "name": "Ball", "translation": [3, 1, 0],
            "extensions": {BODIES: {
                "motion": {"mass": 1}, "collider": {"geometry": {"shape": 2}},
            }},
        },
    ]  # fmt: skip
    if trigger:
        nodes[0]["children"].append(3)
        field = {BODIES: {"trigger": {"geometry": {"shape": 0}}}}
        nodes.append({"name": "Field", "translation": [0, 0.5, 0], "extensions": field})
    return json.dumps(
        {
            "asset": {"version": "2.0"},
            "extensionsUsed": [BODIES, "KHR_implicit_shapes"],
            "scene": 0,
            "scenes": [{"nodes": [0, 2]}],
            "nodes": nodes,
            "extensions": {
                "KHR_implicit_shapes": {
                    "shapes": [
                        {"type": "box", "box": {"size": [1, 0.5, 1]}},
                        {"type": "box", "box": {"size": [0.2, 0.5, 0.2]}},
                        {"type": "sphere", "sphere": {"radius": 0.1}},
                    ]
                }
            },
        }
    ).encode()


def test_colliders_below_a_node_move_with_it_and_carry(client: int) -> None:
    scene = gb.load_gltf(tables(trigger=False), client)
    ids = bodies_in(client)
    scene.set("/nodes/0/translation", (3, 0.25, 0))
    scene.set("/nodes/0/rotation", QUARTER)
    assert bodies_in(client) == ids
    assert scene.world_from_node("Table")[:3, 3] == pytest.approx([3, 0, 0.25])
    # X of glTF is turned to its -Z, which is Bullet's Y.
    assert scene.world_from_node("Wing")[:3, 3] == pytest.approx([3, 0.6, 0.25], abs=1e-6)
    for name in ("Table", "Wing"):
        body = scene.core.world.static_ids[scene.node(name).index]
        place, _ = pybullet.getBasePositionAndOrientation(body, client)
        assert place == pytest.approx(scene.world_from_node(name)[:3, 3], abs=1e-6)
    scene.step(240)
    assert scene.world_from_node("Ball")[:3, 3] == pytest.approx([3, 0, 0.6], abs=2e-3)
    assert scene.get("/nodes/0/translation").tolist() == [3, 0.25, 0]


def test_what_was_put_elsewhere_goes_back_with_the_state(client: int) -> None:
    scene = gb.load_gltf(tables(trigger=False), client)
    start = scene.save_state()
    scene.set("/nodes/0/translation", (3, 0.25, 0))
    moved = scene.save_state()
    scene.step(200)
    rest = scene.world_from_node("Ball")[:3, 3].copy()
    for _ in range(2):
        scene.restore_state(start)
        assert scene.world_from_node("Table")[:3, 3] == pytest.approx([0, 0, 0.25])
        scene.step(200)
        assert scene.world_from_node("Ball")[2, 3] < -1.0
        scene.restore_state(moved)
        assert scene.world_from_node("Wing")[:3, 3] == pytest.approx([3.6, 0, 0.25])
        scene.step(200)
        assert (scene.world_from_node("Ball")[:3, 3] == rest).all()


def test_it_moves_as_bodies_made_anew_do(client: int) -> None:
    scene = gb.load_gltf(tables(trigger=False), client)
    scene.set("/nodes/0/translation", (2.6, 0.2, 0.1))
    scene.step(200)
    found = scene.world_from_node("Ball").copy()
    scene.reset()
    scene.remove()
    document = json.loads(tables(trigger=False))
    document["nodes"][0]["translation"] = [2.6, 0.2, 0.1]
    other = gb.load_gltf(json.dumps(document).encode(), client)
    other.step(200)
    assert other.world_from_node("Ball") == pytest.approx(found, abs=1e-9)


def test_a_size_needs_other_bodies(client: int) -> None:
    scene = gb.load_gltf(tables(trigger=False), client)
    scene.set("/nodes/0/scale", (1, 2, 1))
    scene.set("/nodes/0/translation", (3, 0.25, 0))
    scene.step(240)
    assert scene.world_from_node("Ball")[2, 3] == pytest.approx(0.25 + 0.5 + 0.1, abs=2e-3)


def test_a_trigger_goes_along_and_notices_who_comes(client: int) -> None:
    scene = gb.load_gltf(tables(trigger=True), client)
    scene.set("/nodes/0/translation", (1.0, 0.25, 0))  # from now on triggers know that it may move
    ids = bodies_in(client)
    scene.set("/nodes/0/translation", (3, 0.25, 0))
    assert bodies_in(client) == ids
    kinds = []
    for _ in range(240):
        scene.step()
        kinds += [(e.kind, e.motion_node) for e in scene.events if e.motion_node >= 0]
    assert kinds == [("entered", scene.node("Ball").index)]
    scene.set("/nodes/0/translation", (-3, 0.25, 0))
    scene.step()
    assert [e.kind for e in scene.events if e.motion_node >= 0] == ["exited"]


def test_a_reset_puts_a_goal_elsewhere_without_other_bodies(tmp_path: Path) -> None:
    path = tmp_path / "tables.gltf"
    path.write_bytes(tables(trigger=True))
    place = "/nodes/0/translation"
    config = EnvConfig(
        actions=(), nodes=("Field",), randomization={place: ((2.9, 0.25, -0.1), (3.1, 0.25, 0.1))}
    )
    env = GltfEnv(path, config)
    env.reset(seed=1)
    ids = bodies_in(env.scene.client_id)
    nothing = np.zeros(0, np.float32)
    names = env.observation_names
    for seed in range(3):
        observed, info = env.reset(seed=seed)
        x, y, z = info["randomization"][place]
        where = [observed[names.index(f"Field {axis}")] for axis in "xyz"]
        assert where == pytest.approx([x, -z, y + 0.5], abs=1e-6)
        for _ in range(60):
            observed, *_ = env.step(nothing)
        assert observed[names.index("Ball z")] == pytest.approx(0.6, abs=5e-3)
        assert observed[names.index("Field inside")] == 1.0
        assert bodies_in(env.scene.client_id) == ids
    env.close()
