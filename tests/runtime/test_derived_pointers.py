"""What a file leaves to the engine reads as the file would state it."""

from __future__ import annotations

import math

import numpy as np

from gltf_bullet.transforms import matrices_from_quats
from tests.physics.scenes import KHR, Scenery, world

MOTION = f"/nodes/{{}}/extensions/{KHR}/motion/"
TURN = (0.0, math.sin(math.pi / 12.0), 0.0, math.cos(math.pi / 12.0))
SIZE = np.array([0.2, 0.4, 0.8])


def turned_box(scale: float) -> bytes:
    """A body (1) of one box of 3 kg, 0.5 off its node and turned by 30 degrees."""
    scenery = Scenery()
    box = scenery.shape("box", size=SIZE.tolist())
    child = scenery.node("Shape", at=(0.5, 0, 0), rotation=TURN, shape=box)
    scenery.node(
        "Body", at=(1, 2, 3), rotation=(0.5, 0.5, 0.5, 0.5), scale=[scale] * 3, children=[child],
        motion={"mass": 3.0},
    )  # fmt: skip
    return scenery.bytes()


def test_a_derived_centre_is_in_node_space() -> None:
    pointer = MOTION.format(1) + "centerOfMass"
    for scale in (2.0, -0.5):
        with world(turned_box(scale)) as scene:
            before = scene.bodies[1].center_of_mass
            np.testing.assert_allclose(scene.get(pointer), (0.5, 0, 0), atol=1e-9)
            scene.set(pointer, scene.get(pointer))
            np.testing.assert_allclose(scene.bodies[1].center_of_mass, before, atol=1e-6)


def test_derived_moments_come_with_their_axes() -> None:
    squares = SIZE**2
    about_own = np.diag(3.0 / 12.0 * (squares.sum() - squares))
    turn = matrices_from_quats(np.array(TURN))
    with world(turned_box(1.0)) as scene:
        axes = matrices_from_quats(scene.get(MOTION.format(1) + "inertiaOrientation"))
        moments = scene.get(MOTION.format(1) + "inertiaDiagonal")
    np.testing.assert_allclose(
        axes @ np.diag(moments) @ axes.T, turn @ about_own @ turn.T, atol=1e-9
    )
