"""A limit that is set says what the same number in the file says, whatever rows that takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.physics.scenes import KHR, Jointed, world

POINTER = f"/extensions/{KHR}/physicsJoints/0/limits/1/max"
FIXED = {"linearAxes": [0, 1, 2], "min": 0, "max": 0}
SOFT = {"stiffness": 50.0, "damping": 5.0}


def ball(
    limit: dict[str, Any],
    drives: list[dict[str, Any]],
    centre: float = 0.3,
    moments: Sequence[float] = (0.1, 0.12, 0.15),
) -> bytes:
    """A body (0) on a ball about its node, with its centre of mass ``centre`` to the side."""
    scenery = Jointed()
    motion = {"mass": 1.0, "inertiaDiagonal": list(moments), "centerOfMass": [centre, 0, 0]}
    body = scenery.node("Body", motion=motion)
    post = scenery.node("Post")
    scenery.join(post, scenery.attachment(body, (0, 0, 0)), limits=[FIXED, limit], drives=drives)
    return scenery.bytes()


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.3), (0.3, 0.6), (0.6, 0.0)])
def test_a_soft_total_angle_gives_way_from_where_it_is_set(before: float, after: float) -> None:
    """A torque of 5 N m against 50 N m/rad: 0.1 rad beyond."""
    limit = {"angularAxes": [0, 1, 2], "max": before} | SOFT
    with world(ball(limit, [], 0.0, (0.1, 0.1, 0.1)), gravity=0.0) as scene:
        scene.set(POINTER, after)
        for _ in range(720):
            scene.bodies[0].apply_torque((0.0, 4.0, 3.0))
            scene.step()
        cosine = (np.trace(scene.world_from_node(0)[:3, :3]) - 1.0) / 2.0
        assert math.acos(cosine) == pytest.approx(after + 0.1, abs=1e-3)


DRIVE = {
    "type": "angular", "mode": "force", "axis": 0, "stiffness": 10.0, "damping": 1.0,
    "positionTarget": 0.2, "velocityTarget": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("drives", [[], [DRIVE]], ids=["free", "driven"])
@pytest.mark.parametrize(
    ("limit", "after"),
    [
        ({"angularAxes": [0, 1, 2], "max": 0.9}, 0.0),
        ({"angularAxes": [0, 1, 2], "max": 0.5}, 1.9),
        ({"angularAxes": [0, 1], "max": 1.0}, 0.0),
        ({"angularAxes": [0, 1], "max": 1.0}, 1.9),
        ({"angularAxes": [0, 1], "max": 0.8} | SOFT, 0.0),
        ({"angularAxes": [0, 1], "max": 0.0} | SOFT, 0.8),
    ],
)
def test_a_limit_that_is_set_is_that_of_a_file(
    limit: dict[str, Any], after: float, drives: list[dict[str, Any]]
) -> None:
    found = []
    for stated in (False, True):
        with world(ball(limit | ({"max": after} if stated else {}), drives)) as scene:
            if not stated:
                scene.set(POINTER, after)
            frames = []
            for _ in range(120):
                scene.step()
                frames.append(scene.world_from_node(0))
            found.append(np.array(frames))
    np.testing.assert_allclose(*found, atol=1e-9)
