"""Filters hold for bodies that got the ids of earlier ones, whatever these were to each other."""

from __future__ import annotations

import gc
import weakref

import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import G, Scenery

pytestmark = pytest.mark.world(gravity=(0.0, -G, 0.0))


def roped() -> bytes:
    """A slab (0) and a box (1) on a rope, which therefore do not collide."""
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 1, 1])
    scenery.node("Slab", shape=box)
    rope = scenery.entry("physicsJoints", limits=[{"linearAxes": [0, 1, 2], "max": 9}])
    scenery.node(
        "Box", at=(0, 3, 0), shape=box, motion={"mass": 1.0},
        joint={"connectedNode": 0, "joint": rope},
    )  # fmt: skip
    return scenery.bytes()


def loners(*names: str) -> bytes:
    """A slab, a box 2 m above it, or both, that refuse whatever has their filter."""
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 1, 1])
    alone = scenery.entry("collisionFilters", collisionSystems=["a"], notCollideWithSystems=["a"])
    for name in names:
        scenery.node(
            name, at=(0, 3 if name == "Box" else 0, 0), shape=box, collision_filter=alone,
            motion={"mass": 1.0} if name == "Box" else None,
        )  # fmt: skip
    return scenery.bytes()


def load(source: bytes, client: int) -> gb.Scene:
    return gb.load_gltf(source, client, up_axis="y", options=gb.LoadOptions(visuals="none"))


def height(scene: gb.Scene) -> float:
    return float(scene.world_from_node("Box")[1, 3])


def test_a_filter_holds_where_jointed_bodies_were_before(client: int) -> None:
    load(roped(), client).remove()
    scene = load(loners("Slab", "Box"), client)
    scene.step(240)
    assert height(scene) == pytest.approx(3.0 - G / 2.0, abs=0.05)


def test_filters_of_two_scenes_hold_and_leave_nothing_to_others(client: int) -> None:
    load(roped(), client).remove()
    slab = load(loners("Slab"), client)
    box = load(loners("Box"), client)
    start = box.save_state(own_bodies_only=True)
    box.step(240)
    assert height(box) == pytest.approx(3.0 - G / 2.0, abs=0.05)
    slab.remove()
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[0.5] * 3, physicsClientId=client
    )
    pybullet.createMultiBody(0, shape, physicsClientId=client)  # under the id of the slab
    box.restore_state(start)
    box.step(480)
    assert height(box) == pytest.approx(1.0, abs=0.02)


def test_a_slab_that_stays_keeps_nothing_of_the_boxes_that_go(client: int) -> None:
    load(roped(), client).remove()
    slab = load(loners("Slab"), client)
    box = load(loners("Box"), client)
    rules = weakref.ref(box.core.world.pair_rules)
    box.remove()
    del box
    gc.collect()
    assert rules() is None
    assert slab.bodies == {}
