"""Kinematic bodies keep their velocity while they spin, and what hangs on them feels only that."""

from __future__ import annotations

import numpy as np
import pytest

from tests.physics.scenes import Scenery, world

HELD = {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0}


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize("center", [(0.0, 0.0, 0.0), (0.5, 0.2, 0.0)])
def test_a_spinning_kinematic_body_goes_straight(rate: float, center: tuple[float, ...]) -> None:
    """The centre of mass moves by v t whatever the spin."""
    velocity, spin = np.array([2.0, 0.5, -1.0]), [1.0, 5.0, 2.0]
    scenery = Scenery()
    node = scenery.node("Body", motion={
        "isKinematic": True, "centerOfMass": list(center),
        "linearVelocity": velocity.tolist(), "angularVelocity": spin,
    })  # fmt: skip
    with world(scenery.bytes(), rate=rate) as scene:
        scene.step(int(2 * rate))
        found = scene.world_from_node(node) @ [*center, 1.0]
        assert found[:3] == pytest.approx(np.array(center) + velocity * 2.0, abs=1e-6)
        assert scene.bodies[node].linear_velocity == pytest.approx(velocity, abs=1e-9)


@pytest.mark.parametrize("speed", [1.0, 3.0])
def test_a_pendulum_hangs_straight_from_a_spinning_carriage_at_constant_speed(
    speed: float,
) -> None:
    """Neither constant speed nor a spin about the pivot's vertical accelerates the pivot."""
    velocity = [speed, 0.0, 0.0]
    scenery = Scenery()
    ball = scenery.entry("physicsJoints", limits=[HELD])
    carriage = scenery.node("Carriage", at=(0, 2, 0), motion={
        "isKinematic": True, "linearVelocity": velocity, "angularVelocity": [0.0, speed, 0.0],
    })  # fmt: skip
    pivot = scenery.node("Pivot", at=(0, 1, 0), joint={"connectedNode": carriage, "joint": ball})
    bob = scenery.node("Bob", at=(0, 1, 0), children=[pivot], motion={
        "mass": 1, "inertiaDiagonal": [0.01] * 3, "linearVelocity": velocity,
    })  # fmt: skip
    with world(scenery.bytes()) as scene:
        scene.step(240)
        hanging = scene.bodies[bob].center_of_mass
        assert hanging == pytest.approx([speed, 1.0, 0.0], abs=2e-3)
