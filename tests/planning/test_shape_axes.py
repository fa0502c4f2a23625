"""Bodies of a single shape have its axes for their inertial frame where these are principal."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gltf_bullet.planning.mass_planner import principal_moments_about
from gltf_bullet.transforms import IDENTITY_POSE, Pose
from tests.physics.scenes import Scenery, world

QUARTER = math.sqrt(0.5)
ABOUT_X = Pose((-QUARTER, 0.0, 0.0, QUARTER), (0.0, 0.0, 0.0))
ABOUT_Z = Pose((0.0, 0.0, math.sin(0.2), math.cos(0.2)), (0.0, 0.0, 0.0))


def test_axes_in_another_order_have_the_same_moments_in_another_order() -> None:
    assert principal_moments_about(ABOUT_X, (1.1, 2.2, 3.3), IDENTITY_POSE) == (1.1, 3.3, 2.2)


def test_turned_axes_are_principal_where_the_body_is_round_about_their_own() -> None:
    a, b, c = principal_moments_about(ABOUT_Z, (2.0, 2.0, 5.0), IDENTITY_POSE) or (0.0, 0.0, 0.0)
    assert (a, b, c) == pytest.approx((2.0, 2.0, 5.0))
    assert principal_moments_about(ABOUT_Z, (2.0, 3.0, 5.0), IDENTITY_POSE) is None
    # ... but others that the file may be given are not.
    assert principal_moments_about(ABOUT_Z, (2.0, 2.0, 5.0), IDENTITY_POSE, is_any=True) is None


@pytest.mark.parametrize("stated", [False, True])
def test_a_cylinder_is_made_about_its_own_axis_and_turns_as_before(stated: bool) -> None:
    """Its node spins about y; the engine's z is the cylinder's axis."""
    scenery = Scenery()
    shape = scenery.shape("cylinder", radiusBottom=0.2, radiusTop=0.2, height=0.6)
    motion = {"mass": 2.0, "angularVelocity": [0.0, 3.0, 0.0]}
    across, along = 2.0 * (3.0 * 0.04 + 0.36) / 12.0, 0.5 * 2.0 * 0.04
    if stated:
        motion["inertiaDiagonal"] = [across, along, across]
    node = scenery.node("Drum", shape=shape, motion=motion)
    with world(scenery.bytes(), gravity=0.0) as scene:
        plan = scene.core.world.plan.bodies.bodies[node]
        assert plan.inertia_diagonal == pytest.approx((across, across, along))
        axis = plan.body_from_inertial.rotate((0.0, 0.0, 1.0))
        assert np.abs(axis) == pytest.approx((0.0, 1.0, 0.0), abs=1e-12)
        scene.step(60)
        turn = scene.node(node).world_matrix[:3, :3]
        angle = 3.0 * 60 / 240
        expected = [
            [math.cos(angle), 0, math.sin(angle)],
            [0, 1, 0],
            [-math.sin(angle), 0, math.cos(angle)],
        ]
        assert turn == pytest.approx(np.array(expected), abs=1e-6)
