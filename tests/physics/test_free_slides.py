"""Joints that let a body slide and turn: the same motion whichever side has the joint's node."""

from __future__ import annotations

import numpy as np
import pytest

from tests.physics.scenes import G, Jointed, world

UPRIGHT = {"angularAxes": [0, 1], "min": 0, "max": 0}
IN_PLANE = {"linearAxes": [2], "min": 0, "max": 0}


def joined(side: str, lever: float, limits: list[dict[str, object]], **motion: object) -> bytes:
    """A cube of 1 kg that a joint holds at a lever off its middle, where the world's origin is."""
    scenery = Jointed()
    cube = scenery.shape("box", size=[0.2, 0.2, 0.2])
    body = scenery.node("Body", at=(-lever, 0, 0), shape=cube, motion={"mass": 1.0, **motion})
    end, base = scenery.attachment(body, (lever, 0, 0)), scenery.node("Base")
    nodes = (end, base) if side == "body" else (base, end)
    scenery.join(*nodes, limits=limits)
    return scenery.bytes()


@pytest.mark.parametrize("side", ["body", "world"])
@pytest.mark.parametrize("spin", [6.0, 15.0])
@pytest.mark.parametrize("limits", [[UPRIGHT], [UPRIGHT, IN_PLANE]], ids=["space", "plane"])
def test_what_slides_freely_flies_freely(
    limits: list[dict[str, object]], spin: float, side: str
) -> None:
    """Held at its middle: v t and g t^2 / 2, by steps of which each has the velocity at its end.

    Those are at most as long as the world's: fast bodies get finer ones.
    """
    source = joined(side, 0.0, limits, linearVelocity=[1, 0, 0], angularVelocity=[0, 0, spin])
    with world(source, rate=240.0) as scene:
        scene.step(240)
        place, velocity = scene.world_from_node("Body")[:3, 3], scene.bodies[0].linear_velocity
    np.testing.assert_allclose(place[[0, 2]], [1.0, 0.0], atol=1e-3)
    assert 0.5 * G - 1e-3 <= -place[1] <= 0.5 * G * (1.0 + 1.0 / 240.0) + 1e-3
    np.testing.assert_allclose(velocity, [1.0, -G, 0.0], atol=1e-3)


@pytest.mark.parametrize("side", ["body", "world"])
@pytest.mark.parametrize("lever", [0.2, 0.3, 0.5])
@pytest.mark.parametrize("axes", [[0, 1, 2], [0, 1]], ids=["rope", "ring"])
def test_a_rope_takes_energy_and_gives_none(axes: list[int], lever: float, side: str) -> None:
    """Gravity and one inelastic bound of 0.5 m: the energy at the start is the most there is."""
    rope = {"linearAxes": axes, "max": 0.5}
    limits = [rope, UPRIGHT] + ([IN_PLANE] if axes == [0, 1] else [])
    source = joined(side, lever, limits, angularVelocity=[0, 0, 6])
    moment = 0.2**2 / 6.0
    energies, lengths = [], []
    with world(source) as scene:
        body = scene.bodies[0]
        for _ in range(480):
            matrix = scene.world_from_node("Body")
            speed, spin = np.linalg.norm(body.linear_velocity), body.angular_velocity[2]
            energies.append(0.5 * speed**2 + 0.5 * moment * spin**2 + G * matrix[1, 3])
            lengths.append(np.linalg.norm(matrix[:3, 3] + lever * matrix[:3, 0]))
            scene.step()
    assert max(energies) <= energies[0] + 0.02
    assert max(lengths) < 0.505
