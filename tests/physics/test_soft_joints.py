"""Bodies on joints that give way: small ones far from their joints do not run away."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.physics.scenes import G, Jointed, world

MASS = 1.0


def ball_on_springs(stiffness: float, turning: float, arm: float, radius: float) -> bytes:
    """A ball that springs hold at a point beside it, upright and at rest: all limits are [0, 0].

    Args:
        stiffness: [N/m] of the linear limits, damped by a hundredth of it.
        turning: [N m/rad] of the angular ones, not damped.
        arm: [m] from the springs to the ball.
        radius: [m]
    """
    scenery = Jointed()
    ball = scenery.shape("sphere", radius=radius)
    base = scenery.node("Base")
    body = scenery.node("Ball", at=(arm, 0, 0), shape=ball, motion={"mass": MASS})
    fixed = {"min": 0, "max": 0}
    linear = {"stiffness": stiffness, "damping": 0.01 * stiffness, **fixed}
    limits = [{"linearAxes": [k], **linear} for k in range(3)]
    limits += [{"angularAxes": [k], "stiffness": turning, **fixed} for k in range(3)]
    ends = scenery.attachment(base, (0, 0, 0)), scenery.attachment(body, (-arm, 0, 0))
    scenery.join(*ends, limits=limits)
    return scenery.bytes()


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize(
    ("stiffness", "turning"), [(10.0, 1.0), (100.0, 10.0), (1000.0, 0.1), (1e4, 100.0)]
)
@pytest.mark.parametrize("arm", [0.0, 0.3, 1.0])
def test_a_small_ball_on_soft_springs_gets_no_faster_than_its_weight_makes_it(
    stiffness: float, turning: float, arm: float, rate: float
) -> None:
    """Its moment about itself is up to 25 000 times less than about the springs."""
    lowest = 2.0 * (MASS * G / stiffness + arm)
    fastest = math.sqrt(2.0 * G * lowest)
    with world(ball_on_springs(stiffness, turning, arm, 0.01), rate=rate) as scene:
        for _ in range(int(3.0 * rate)):
            scene.step()
            assert np.linalg.norm(scene.bodies["Ball"].linear_velocity) <= 1.05 * fastest


def test_a_spring_about_one_place_pulls_as_it_pushes() -> None:
    """A weight on a damped spring passes its rest and comes back: the period is the formula's."""
    stiffness, rate = 100.0, 240.0
    with world(ball_on_springs(stiffness, 1.0, 0.0, 0.1), rate=rate) as scene:
        heights = []
        for _ in range(int(2.0 * rate)):
            scene.step()
            heights.append(float(scene.world_from_node("Ball")[1, 3]))
    sag = MASS * G / stiffness
    frequency = math.sqrt(stiffness / MASS)
    decay = 0.5 * 0.01 * stiffness / MASS
    damped = math.sqrt(frequency**2 - decay**2)
    times = np.arange(1, len(heights) + 1) / rate
    swing = np.cos(damped * times) + decay / damped * np.sin(damped * times)
    expected = -sag * (1.0 - np.exp(-decay * times) * swing)
    assert np.allclose(heights, expected, atol=0.03 * sag)
