"""Files with several scenes: what belongs to the one that is loaded, and what leads out of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.planning.scene_plan import JOINT_LEAVES_SCENE

BODIES = "KHR_physics_rigid_bodies"
WELD = {"limits": [{"linearAxes": [0, 1, 2], "min": 0, "max": 0},
                   {"angularAxes": [0, 1, 2], "min": 0, "max": 0}]}  # fmt: skip


def two_scenes(connected: int) -> bytes:
    """A body welded to a node of its own scene, 1, or of the other one, 2; all at one place."""
    place = [0.0, 3.0, 0.0]
    welded = {"connectedNode": connected, "joint": 0}
    nodes: list[dict[str, Any]] = [
        {"translation": place, "extensions": {BODIES: {"motion": {"mass": 1.0}, "joint": welded}}},
        {"translation": place},
        {"translation": place, "extensions": {BODIES: {"motion": {"mass": 2.0}}}},
    ]
    return json.dumps(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0, 1]}, {"nodes": [2]}],
            "nodes": nodes,
            "extensionsUsed": [BODIES],
            "extensions": {BODIES: {"physicsJoints": [WELD]}},
        }
    ).encode()


@pytest.mark.parametrize(("connected", "named"), [(1, 0), (2, 1)])
def test_a_joint_that_leads_out_of_the_scene_is_named(connected: int, named: int) -> None:
    with headless_world() as client:
        scene = gb.load_gltf(two_scenes(connected), client)
        found = [issue for issue in scene.issues if issue.code == JOINT_LEAVES_SCENE.code]
        assert [str(issue.pointer) for issue in found] == [
            f"/nodes/0/extensions/{BODIES}/joint"
        ] * named
        for _ in range(60):
            scene.step()
        # It holds on to the place either way: y = 3 stands up to z = 3.
        assert scene.world_from_node(0)[:3, 3] == pytest.approx([0.0, 0.0, 3.0], abs=1e-6)


def test_the_other_scene_has_its_body_alone() -> None:
    with headless_world() as client:
        scene = gb.load_gltf(two_scenes(2), client, scene_index=1)
        assert [body.mass for body in scene.bodies.values()] == [2.0]
        assert JOINT_LEAVES_SCENE.code not in {issue.code for issue in scene.issues}
