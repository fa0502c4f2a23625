"""A gripper of two driven fingers closes on a block, holds it and lifts it, at any rate."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.physics.scenes import KHR, Jointed, world

LIFT = 0.1
"""[m] By which the palm rises in a second."""
TARGET = f"/extensions/{KHR}/physicsJoints/0/drives/0/positionTarget"
FORCES = (20.0, 30.0, 50.0, 70.0, 100.0)
"""[N] Of each finger of 0.1 kg, on a block of 0.1 kg."""


def locked(linear: Sequence[int], angular: Sequence[int]) -> list[dict[str, object]]:
    return [
        {"linearAxes": list(linear), "min": 0, "max": 0},
        {"angularAxes": list(angular), "min": 0, "max": 0},
    ]


def gripper(width: float, force: float) -> bytes:
    """A palm on a vertical slide, two fingers on horizontal ones, a block between them."""
    scenery = Jointed()
    rough = scenery.material(staticFriction=1, dynamicFriction=1)
    finger = scenery.shape("box", size=[0.01, 0.04, 0.02])
    scenery.node(
        "Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[1, 1, 1]), material=rough
    )
    scenery.node(
        "Block", at=(0, 0.025, 0), shape=scenery.shape("box", size=[width, 0.05, 0.05]),
        material=rough, motion={"mass": 0.1},
    )  # fmt: skip
    palm = scenery.node(
        "Palm", at=(0, 0.1, 0), shape=scenery.shape("box", size=[0.12, 0.02, 0.04]),
        motion={"mass": 1},
    )  # fmt: skip
    spring = {
        "type": "linear", "mode": "acceleration", "axis": 1, "positionTarget": 0,
        "stiffness": 400, "damping": 40,
    }  # fmt: skip
    scenery.join(
        scenery.attachment(palm, (0, 0, 0)), scenery.node("Anchor", at=(0, 0.1, 0)),
        limits=locked([0, 2], [0, 1, 2]), drives=[spring],
    )  # fmt: skip
    for name, side in (("L", -1.0), ("R", 1.0)):
        node = scenery.node(
            name, at=(0.04 * side, 0.02, 0), shape=finger, material=rough, motion={"mass": 0.1}
        )
        travel = {"linearAxes": [0], "min": min(0.04 * side, 0.0), "max": max(0.04 * side, 0.0)}
        closing = {
            "type": "linear", "mode": "force", "axis": 0, "velocityTarget": 0.2 * side,
            "damping": 1000, "maxForce": force,
        }  # fmt: skip
        scenery.join(
            scenery.attachment(node, (0, 0, 0)),
            scenery.attachment(palm, (0.04 * side, -0.08, 0)),
            limits=[*locked([1, 2], [0, 1, 2]), travel],
            drives=[closing],
        )
    return scenery.bytes()


@pytest.mark.parametrize("rate", [60, 120, 240, pytest.param(480, marks=pytest.mark.slow)])
@pytest.mark.parametrize("width", [0.01, 0.03])
def test_a_block_is_held_and_lifted(width: float, rate: int) -> None:
    """It rises with the palm within 5 mm; fingers jumped through it at 60 Hz, and let it slide."""
    for force in FORCES:
        with world(gripper(width, force), rate=float(rate)) as scene:
            scene.step(rate)

            def height(name: str) -> float:
                return float(scene.world_from_node(name)[1, 3])

            block, palm = height("Block"), height("Palm")
            for k in range(rate):
                scene.set(TARGET, -LIFT * (k + 1) / rate)
                scene.step()
            rise = height("Palm") - palm
            assert rise > 0.5 * LIFT  # the spring carries the weight and lags behind
            assert height("Block") - block == pytest.approx(rise, abs=5e-3), force
