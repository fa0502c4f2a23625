"""States hold whether bodies slide, whatever ids their bodies have."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gltf_bullet as gb
from tests.physics.scenes import Scenery, world

STEPS = 60
BOX = "/extensions/KHR_implicit_shapes/shapes/1/box/size"


def slide() -> bytes:
    """A box (1) that slides on a floor (0), one (2) that lies there, and two without a shape."""
    scenery = Scenery()
    slab = scenery.shape("box", size=[40, 1, 40])
    box = scenery.shape("box", size=[0.5, 0.5, 0.5])
    sticky = scenery.material(staticFriction=0.8, dynamicFriction=0.2, restitution=0.0)
    scenery.node("Floor", at=(0, -0.5, 0), shape=slab, material=sticky)
    for x, speed in ((0, 2.0), (5, 0.0)):
        scenery.node(
            "Box", at=(x, 0.25, 0), shape=box, material=sticky,
            motion={"mass": 1.0, "linearVelocity": [0, 0, speed]},
        )  # fmt: skip
    for x in (10, 15):
        motion = {"mass": 1.0, "inertiaDiagonal": [1, 1, 1]}
        scenery.node("Without shape", at=(x, 9, 0), motion=motion)
    return scenery.bytes()


def onward(scene: gb.Scene) -> np.ndarray:
    frames = []
    for _ in range(STEPS):
        scene.step()
        frames.append(scene.node_matrices.copy())
    return np.array(frames)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("is_set_before", [False, True])
def test_a_state_is_taken_back_by_bodies_that_were_made_anew(
    is_set_before: bool, times: int
) -> None:
    """PyBullet gives ids out again in another order: back, and then forth again."""
    with world(slide()) as scene:
        scene.step(20)
        if is_set_before:
            scene.set(BOX, [0.6, 0.5, 0.6])
            scene.step(20)
        state, then = scene.save_state(), onward(scene)
        for size in (0.4, 0.3)[:times]:
            scene.set(BOX, [size, 0.5, size])  # makes the bodies anew
            scene.step(5)
        scene.restore_state(state)
        np.testing.assert_allclose(onward(scene), then, atol=1e-9)


def test_a_state_is_taken_by_a_scene_with_other_ids() -> None:
    with world(slide()) as scene:
        scene.step(5)
        scene.set(BOX, [0.5, 0.5, 0.6])  # makes the bodies anew
        scene.step(20)
        state, then = pickle.dumps(scene.save_state()), onward(scene)
    with world(slide()) as other:
        other.step(3)
        other.restore_state(pickle.loads(state))  # noqa: S301  # ours
        np.testing.assert_allclose(onward(other), then, atol=1e-9)
