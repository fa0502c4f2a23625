"""A restart is ``restore_state`` and ``set``, also where other values make other bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tests.physics.scenes import KHR, Jointed, world

MOTION = f"/nodes/{{}}/extensions/{KHR}/motion/{{}}"
LIMIT = f"/extensions/{KHR}/physicsJoints/0/limits/1/max"


def pair() -> bytes:
    """Two bodies (0, 1) that fly on a ball with a soft total angle, and a free one (2)."""
    scenery = Jointed()
    for k, mass in enumerate((1.0, 2.0, 3.0)):
        scenery.node(
            f"Body{k}", at=(2.0 * k, 0, 0),
            motion={"mass": mass, "inertiaDiagonal": [0.1, 0.12, 0.15]},
        )  # fmt: skip
    ends = scenery.attachment(0, (1, 0, 0)), scenery.attachment(1, (-1, 0, 0))
    soft = {"angularAxes": [0, 1, 2], "max": 0.0, "stiffness": 5.0, "damping": 0.1}
    scenery.join(*ends, limits=[{"linearAxes": [0, 1, 2], "min": 0, "max": 0}, soft])
    return scenery.bytes()


@pytest.mark.parametrize(
    "values",
    [
        {MOTION.format(2, "centerOfMass"): [0.3, 0.1, 0.0]},
        {MOTION.format(0, "centerOfMass"): [0.3, 0.1, 0.0]},
        {MOTION.format(0, "mass"): 9.0},  # the heaviest is the base of what flies
        {MOTION.format(1, "inertiaOrientation"): [0.0, 0.6, 0.0, 0.8]},
        {LIMIT: 0.5},  # away from an angle instead of along each axis
        {LIMIT: 0.5, MOTION.format(2, "mass"): 1.0},
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_a_restart_begins_where_the_state_was(values: dict[str, Any], own: bool) -> None:
    found = []
    for is_restart in (True, False):
        with world(pair()) as scene:
            scene.step(5)
            state = scene.save_state(own_bodies_only=own)
            then = scene.node_matrices.copy()
            for _ in range(2):
                scene.step(20)
                go(scene, state, values, is_restart=is_restart)
                np.testing.assert_allclose(scene.node_matrices, then, atol=1e-6)
            scene.apply_impulse(1, (0.0, 0.5, 0.2))
            scene.step(60)
            found.append(scene.node_matrices.copy())
    np.testing.assert_allclose(*found, atol=1e-5)


def go(scene: gb.Scene, state: gb.SceneState, values: dict[str, Any], *, is_restart: bool) -> None:
    if is_restart:
        scene.restart(state, values)
        return
    scene.restore_state(state)
    for pointer, value in values.items():
        scene.set(pointer, value)
