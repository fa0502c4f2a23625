"""Collision bits that the user sets stay, whatever the scene does to its contacts."""

from __future__ import annotations

from collections.abc import Callable

import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import Scenery, world

TOP, RATE = 1.0, 240.0
FALL = -0.5 * 9.81 * 1.0**2
"""[m] In the second after which is looked: far below the floor, whose top is at 0."""


def scenery() -> Scenery:
    """A box above a slab, and another one beside it; static friction is not dynamic friction."""
    made = Scenery()
    rough = made.material(staticFriction=0.9, dynamicFriction=0.3)
    slab, box = made.shape("box", size=[20, 1, 20]), made.shape("box", size=[0.4, 0.4, 0.4])
    made.node("Floor", at=(0, -0.5, 0), shape=slab, material=rough)
    for name, x in (("Free", 0.0), ("Other", 2.0)):
        made.node(name, at=(x, 0.2, 0), shape=box, material=rough, motion={"mass": 1.0})
    return made


def let_through(scene: gb.Scene) -> None:
    """What PyBullet's users call to let a body pass through everything."""
    body = scene.bodies["Free"]
    pybullet.setCollisionFilterGroupMask(
        body.body_id, body.link_index, 0, 0, physicsClientId=scene.client_id
    )


def nothing(scene: gb.Scene) -> None:
    """Only the first step."""


def save_and_restore(scene: gb.Scene) -> None:
    scene.restore_state(scene.save_state())


def reset(scene: gb.Scene) -> None:
    scene.reset()


def change_a_material(scene: gb.Scene) -> None:
    pointer = "/extensions/KHR_physics_rigid_bodies/physicsMaterials/0/dynamicFriction"
    scene.set(pointer, 0.5)


@pytest.mark.parametrize("act", [nothing, save_and_restore, reset, change_a_material])
@pytest.mark.parametrize("steps", [0, 60])
def test_a_body_that_the_user_lets_through_falls(
    steps: int, act: Callable[[gb.Scene], None]
) -> None:
    """Set before the first step, and after a quarter of a second at rest on the floor."""
    with world(scenery().bytes(), rate=RATE) as scene:
        scene.step(steps)
        let_through(scene)
        act(scene)
        scene.step(int(RATE))
        free = scene.world_from_node("Free")[1, 3]
        assert free < 0.9 * FALL
        assert scene.world_from_node("Other")[1, 3] == pytest.approx(0.2, abs=2e-3)


def test_replays_of_what_the_user_lets_through_are_equal_to_the_bit() -> None:
    with world(scenery().bytes(), rate=RATE) as scene:
        let_through(scene)
        scene.step(30)
        start = scene.save_state()
        ends = []
        for _ in range(2):
            scene.step(60)
            ends.append(scene.world_from_node("Free").tobytes())
            scene.restore_state(start)
        assert ends[0] == ends[1]
