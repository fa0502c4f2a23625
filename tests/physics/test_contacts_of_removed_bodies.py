"""Robots whose next step reckons with contacts of bodies that are gone by then."""

from __future__ import annotations

import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import G, Jointed, Scenery

HINGE = {
    "limits": [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1], "min": 0, "max": 0},
        {"angularAxes": [2], "min": -0.5, "max": 0.5},
    ]
}


pytestmark = pytest.mark.world(gravity=(0.0, -G, 0.0))


def arm() -> bytes:
    """A fixed post and a box on a hinge."""
    scenery = Jointed()
    box = scenery.shape("box", size=[1, 0.2, 0.2])
    post = scenery.node("Post", shape=box)
    lever = scenery.node("Lever", at=(1, 0, 0), shape=box, motion={"mass": 1.0})
    ends = scenery.attachment(post, (0.5, 0, 0)), scenery.attachment(lever, (-0.5, 0, 0))
    scenery.join(*ends, **HINGE)
    return scenery.bytes()


def weight() -> bytes:
    """A box that lies on the lever."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.4, 0.4, 0.4])
    scenery.node("Weight", at=(1.2, 0.3, 0), shape=box, motion={"mass": 1.0})
    return scenery.bytes()


def load(source: bytes, client: int) -> gb.Scene:
    return gb.load_gltf(source, client, up_axis="y", options=gb.LoadOptions(visuals="none"))


def take_away(scene: gb.Scene, by: str, client: int) -> None:
    if by == "scene":
        scene.remove()
    else:
        pybullet.removeBody(scene.bodies["Weight"].body_id, physicsClientId=client)


@pytest.mark.parametrize("by", ["scene", "user"])
def test_another_scene_that_stepped_may_go_before_a_first_step(client: int, by: str) -> None:
    """Its step saved the start of all scenes, with the contacts that there were."""
    robot, other = load(arm(), client), load(weight(), client)
    pybullet.performCollisionDetection(physicsClientId=client)
    other.step()
    take_away(other, by, client)
    robot.step(10)


@pytest.mark.parametrize("by", ["scene", "user"])
def test_a_state_is_restored_without_the_bodies_that_touched_then(client: int, by: str) -> None:
    robot, other = load(arm(), client), load(weight(), client)
    robot.step(5)
    state = robot.save_state(own_bodies_only=True)
    take_away(other, by, client)
    robot.restore_state(state)
    robot.step(10)


def test_a_body_of_fewer_links_may_get_the_id(client: int) -> None:
    """PyBullet tells of a link that a body lacks whatever memory holds, or ends the process."""
    robot = load(arm(), client)
    other = gb.load_gltf(
        arm(), client, up_axis="y", position=(0.3, 0.19, 0.0),
        options=gb.LoadOptions(visuals="none"),
    )  # fmt: skip
    robot.step(5)
    found = robot.contacts("Lever")
    state = robot.save_state(own_bodies_only=True)
    body = other.bodies["Lever"].body_id
    assert body in {*found.body_a.tolist(), *found.body_b.tolist()}
    other.remove()
    while load(weight(), client).bodies["Weight"].body_id < body:
        pass
    robot.restore_state(state)
    robot.step(10)
