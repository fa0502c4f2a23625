"""Triggers whose volume is a mesh or a hull."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tests.runtime.trigger_scenes import (
    DT,
    PLANE,
    SHAPES,
    G,
    ball,
    node,
    solid,
    told,
)

pytestmark = pytest.mark.world(gravity=(0.0, -G, 0.0))


def mesh_scene(client: int, *nodes: dict[str, Any], **builder: Any) -> gb.Scene:
    """Nodes beside an L-shaped mesh 0, three unit cubes about an edge, 1 m deep."""
    from tools.gltf_builder import GltfBuilder

    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float)
    cap = np.array([[0, 1, 3], [1, 2, 3], [0, 3, 5], [3, 4, 5]])
    sides = [
        t for k in range(6)
        for t in ([k, (k + 1) % 6, k + 6], [(k + 1) % 6, (k + 1) % 6 + 6, k + 6])
    ]  # fmt: skip
    points = np.concatenate([np.c_[outline, np.zeros(6)], np.c_[outline, np.ones(6)]])
    b = GltfBuilder()
    b.mesh(points, np.concatenate([cap[:, ::-1], cap + 6, sides]))
    b.root_extension("KHR_implicit_shapes", {"shapes": SHAPES})
    for entry in nodes:
        b.node(
            entry.get("name", ""),
            translation=entry["translation"],
            children=entry.get("children", ()),
            extensions=entry.get("extensions"),
        )
    return gb.load_gltf(b.gltf(), client, up_axis="y", **builder)


@pytest.mark.parametrize("convex", [False, True])
def test_a_small_ball_deep_inside_a_mesh_trigger_is_sensed(
    client: int, convex: bool, tmp_path: Any
) -> None:
    geometry = {"mesh": 0, "convexHull": convex}
    scene = mesh_scene(
        client,
        node(trigger={"geometry": geometry}),
        ball((0.5, 0.5, 0.5)),
        ball((1.7, 0.5, 0.5)),
        ball((0.5, 1.7, 0.5)),
        ball((1.4, 1.4, 0.5)),
        ball((1.6, 1.6, 0.5)),
        options=gb.LoadOptions(cache_folder=tmp_path),
    )
    scene.step()
    # (1.4, 1.4) lies in the notch: in the hull (below x + y = 3), not in the L. (1.6, 1.6) is
    # 0.2 / sqrt(2) = 0.141 m outside the hull: more than the ball's radius.
    assert scene.triggers[0].overlapping == ((1, 2, 3, 4) if convex else (1, 2, 3))
    assert scene.triggers[0].shape_kind == ("convex" if convex else "mesh")


def test_hull_colliders_enter_a_hull_trigger_without_the_engines_margin(client: int) -> None:
    # The faces are 0.4 mm apart; Bullet's own margins would add 1 mm for each hull.
    geometry = {"mesh": 0, "convexHull": True}
    still = {"gravityFactor": 0.0, "mass": 1.0}
    for gap, expected in ((4e-4, ()), (-4e-4, (1,))):
        scene = mesh_scene(
            client,
            node(trigger={"geometry": geometry}),
            node((2.0 + gap, 0.0, 0.0), motion=still, collider={"geometry": geometry}),
        )
        scene.step()
        assert scene.triggers[0].overlapping == expected
        scene.remove()


def test_a_moving_mesh_below_a_kill_plane_is_sensed(client: int) -> None:
    # Bullet finds nothing between a plane and a triangle mesh.
    scene = mesh_scene(
        client,
        node((0, 0, 0), trigger=solid(PLANE)),
        node((0, 0.5, 0), motion={"mass": 1.0}, collider={"geometry": {"mesh": 0}}),
        options=gb.LoadOptions(concave="bvh"),
    )
    events: list[gb.TriggerEvent] = []
    scene.on_trigger(events.append)
    scene.step(120)
    assert told(events) == [("entered", 0, 1, 1)]
    assert events[0].time == pytest.approx(math.sqrt(2 * 0.5 / G), abs=2 * DT)
