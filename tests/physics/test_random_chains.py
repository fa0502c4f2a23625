"""Chains of any bodies on any joints: nothing leaves at a speed that nobody gave it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.physics.scenes import Jointed, world

DURATION = 1.5
"""[s]"""
FASTEST = 60.0
"""[m/s] Four times what a free fall of that long reaches: springs and drives do work as well."""


def _limits(rng: np.random.Generator, mass: float) -> list[dict[str, Any]]:
    """Each axis is locked, springy, bounded or free."""
    limits: list[dict[str, Any]] = []
    for axes in ("linearAxes", "angularAxes"):
        for axis in range(3):
            kind = rng.random()
            if kind < 0.45:
                limits.append({axes: [axis], "min": 0, "max": 0})
            elif kind < 0.75:
                stiffness = 10 ** rng.uniform(0, 5)
                damping = 2.0 * rng.choice([0.0, 0.1, 1.0]) * math.sqrt(stiffness * mass)
                reach = 0.0 if rng.random() < 0.6 else rng.uniform(0, 0.5)
                limits.append({
                    axes: [axis], "min": -float(reach), "max": float(reach),
                    "stiffness": float(stiffness), "damping": float(damping),
                })  # fmt: skip
            elif kind < 0.85:
                limits.append({axes: [axis], "min": -0.3, "max": 0.3})
    return limits


def _drives(rng: np.random.Generator) -> list[dict[str, Any]]:
    if rng.random() < 0.5:
        return []
    return [{
        "type": str(rng.choice(["linear", "angular"])), "axis": int(rng.integers(3)),
        "mode": str(rng.choice(["force", "acceleration"])),
        "positionTarget": float(rng.uniform(-0.5, 0.5)), "velocityTarget": 0.0,
        "stiffness": float(10 ** rng.uniform(0, 5)), "damping": float(10 ** rng.uniform(-1, 3)),
        "maxForce": float(10 ** rng.uniform(0, 5)),
    }]  # fmt: skip


def chain(rng: np.random.Generator) -> bytes:
    """One to three balls of 5 mm to 0.5 m and 10 g to 100 kg, joined anywhere between them."""
    scenery = Jointed()
    above, origin = scenery.node("Base"), np.zeros(3)
    for k in range(int(rng.integers(1, 4))):
        radius, mass = 10 ** rng.uniform(-2.3, -0.3), 10 ** rng.uniform(-2, 2)
        step = rng.normal(size=3) * rng.choice([0.05, 0.3, 1.0])
        ball = scenery.shape("sphere", radius=float(radius))
        place = origin + step
        body = scenery.node(f"Ball{k}", at=place.tolist(), shape=ball, motion={"mass": float(mass)})
        joint = origin + step * rng.uniform(-0.5, 1.0)
        ends = [scenery.attachment(above, (joint - origin).tolist()),
                scenery.attachment(body, (joint - place).tolist())]  # fmt: skip
        parts = {"limits": _limits(rng, mass), "drives": _drives(rng)}
        scenery.join(*ends, **{name: part for name, part in parts.items() if part})
        above, origin = body, place
    return scenery.bytes()


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize(
    "seed",
    [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 25))],
)
def test_no_body_runs_away(seed: int, rate: float) -> None:
    """It did in 14 of these 50 before the guard knew the laws of springs and drives.

    Of 150 seeds 48 were faster at 60 Hz then and 36 at 240; now 3 each. One of those, 83 at 60 Hz,
    still runs away: its loads are far too heavy for its links, which an issue names at load. The
    other five stay below 130 m/s. None is among these seeds.
    """
    with world(chain(np.random.default_rng(seed)), rate=rate) as scene:
        for _ in range(int(DURATION * rate)):
            scene.step()
            for body in scene.bodies.values():
                assert np.linalg.norm(body.linear_velocity) < FASTEST
