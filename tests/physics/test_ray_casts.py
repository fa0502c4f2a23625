"""Ray casts into whole scenes: which collider, how far, which way its surface looks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.physics.scenes import Scenery, world

HALF = 0.05
SPACING = 0.2


@pytest.mark.parametrize("count", [1, 2, 17, 40])
@pytest.mark.parametrize("steps", [0, 1])
def test_a_ray_names_every_collider_of_a_compound(count: int, steps: int) -> None:
    """At load as well: the boxes of a body stand off its node, as does its centre of mass."""
    scenery = Scenery()
    box = scenery.shape("box", size=[2.0 * HALF] * 3)
    children = [
        scenery.node(f"Box {k}", at=((k + 1) * SPACING, 0, 0), shape=box) for k in range(count)
    ]
    scenery.node("Body", motion={"mass": 1}, children=children)
    with world(scenery.bytes(), gravity=0.0) as scene:
        scene.step(steps)
        for k, child in enumerate(children):
            x = (k + 1) * SPACING
            hit = scene.ray_cast((x, 1.0, 0.0), (x, -1.0, 0.0))
            assert hit is not None
            assert hit.node == child
            assert hit.fraction == pytest.approx(0.5 * (1.0 - HALF))
            assert hit.normal == pytest.approx([0, 1, 0], abs=1e-9)


def test_a_ray_meets_a_jointed_body_at_load() -> None:
    """The base of the multibody has its centre of mass off its node."""
    scenery = Scenery()
    box = scenery.shape("box", size=[2.0 * HALF] * 3)
    ball = scenery.entry("physicsJoints", limits=[{"linearAxes": [0, 1, 2], "min": 0, "max": 0}])
    far = scenery.node("Far box", at=(1, 0, 0), shape=box)
    pivot = scenery.node("Pivot", at=(2, 0, 0))
    other_box = scenery.node("Other box", at=(2, 0, 0), shape=box)
    scenery.node("Body", motion={"mass": 1}, children=[far, pivot])
    scenery.node("Other", at=(1, 0, 0), motion={"mass": 1}, children=[other_box],
                 joint={"connectedNode": pivot, "joint": ball})  # fmt: skip
    with world(scenery.bytes(), gravity=0.0) as scene:
        for node, x in ((far, 1.0), (other_box, 3.0)):
            hit = scene.ray_cast((x, 1.0, 0.0), (x, -1.0, 0.0))
            assert hit is not None
            assert hit.node == node
            assert hit.fraction == pytest.approx(0.5 * (1.0 - HALF))


def test_a_ray_meets_a_scaled_mirrored_box_where_the_matrices_say() -> None:
    """Along each axis c of the node's matrix the surface is half the size times |c| away."""
    size = np.array([0.2, 0.3, 0.4])
    scenery = Scenery()
    box = scenery.shape("box", size=size.tolist())
    turned = [math.sin(0.3), 0.0, 0.0, math.cos(0.3)]
    child = scenery.node("Box", at=(0.1, 0.2, 0.3), rotation=turned, scale=(1, -2, 3), shape=box)
    scenery.node("Body", at=(1, 2, 3), rotation=[0, math.sin(0.4), 0, math.cos(0.4)],
                 scale=(-2, -2, -2), motion={"mass": 1}, children=[child])  # fmt: skip
    with world(scenery.bytes(), gravity=0.0, up_axis="z", position=(3, 1, 2), scale=0.5) as scene:
        matrix = scene.world_from_node(child)
        for axis in range(3):
            start = matrix[:3, 3] + 2.0 * matrix[:3, axis]
            hit = scene.ray_cast(start, matrix[:3, 3])
            assert hit is not None
            assert hit.node == child
            assert hit.fraction == pytest.approx(1.0 - 0.25 * size[axis], abs=1e-6)
            outward = matrix[:3, axis] / np.linalg.norm(matrix[:3, axis])
            assert hit.normal == pytest.approx(outward, abs=1e-6)


def test_an_infinite_plane_is_met_from_its_front_only() -> None:
    """It is a half-space: a ray from behind starts in the solid, and rays that do so miss it."""
    scenery = Scenery()
    turn = (0.0, 0.0, math.sin(math.pi / 12), math.cos(math.pi / 12))
    plane = scenery.node("Plane", shape=scenery.shape("plane"), rotation=turn)
    ball = scenery.node("Ball", at=(0, 2, 0), shape=scenery.shape("sphere", radius=0.5))
    with world(scenery.bytes()) as scene:
        front = scene.ray_cast((1, 5, 0), (1, -5, 0))
        assert front is not None
        assert front.node == plane
        # The plane is turned by 30 degrees about Z: it is met at y = x tan 30.
        assert front.position[1] == pytest.approx(math.tan(math.pi / 6), abs=1e-6)
        assert front.normal == pytest.approx([-0.5, math.sqrt(0.75), 0], abs=1e-6)
        assert scene.ray_cast((1, -5, 0), (1, 5, 0)) is None
        behind = scene.ray_cast((0, -5, 0), (0, 5, 0))
        assert behind is not None
        assert (behind.node, round(behind.position[1], 6)) == (ball, 1.5)


@pytest.mark.parametrize("shield", ["sphere", "capsule", "cylinder", "box"])
@pytest.mark.parametrize("depth", [0.01, 0.4, 0.9, 1.5])
def test_a_ray_finds_what_stands_in_what_its_filter_refuses(shield: str, depth: float) -> None:
    """A shield of radius 1 about a ball: its surface is ``depth`` behind that of the shield."""
    sizes = {
        "sphere": {"radius": 1.0},
        "capsule": {"height": 2.0, "radiusBottom": 1.0, "radiusTop": 1.0},
        "cylinder": {"height": 3.0, "radiusBottom": 1.0, "radiusTop": 1.0},
        "box": {"size": [2.0, 2.0, 2.0]},
    }
    scenery = Scenery()
    ghost = scenery.entry("collisionFilters", collisionSystems=["ghosts"])
    looker = scenery.entry("collisionFilters", notCollideWithSystems=["ghosts"])
    scenery.node(
        "Shield", shape=scenery.shape(shield, **sizes[shield]), collision_filter=ghost,
        motion={"mass": 1.0},
    )  # fmt: skip
    small = scenery.shape("sphere", radius=0.05)
    ball = scenery.node("Ball", at=(1 - depth - 0.05, 0, 0), shape=small)
    with world(scenery.bytes(), gravity=0.0) as scene:
        hit = scene.ray_cast((5, 0, 0), (-5, 0, 0), looker)
        assert hit is not None
        assert hit.node == ball
        assert hit.fraction == pytest.approx((4 + depth) / 10, abs=1e-6)
