"""Springs and drives give back what was put into them, and no more, however stiff they are.

Chains of bodies in free space, on a post, held by springs and turned by drives far from their
centres of mass: what moves, with what the springs and drives hold, does not grow. Springs swing
with up to 2000 rad/s here: what a step finds of the energy differs by a part of what they hold.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

import gltf_bullet as gb
from tests.figures import Figure
from tests.laws.closed_systems import ledger
from tests.physics.scenes import Jointed, world

Floats = npt.NDArray[np.float64]
SEEDS = [range(24, 27), pytest.param(range(27, 32), marks=pytest.mark.slow)]
SECONDS = 1.0
STRETCH = 0.05
"""[m] of springs at the start."""
TURN = 0.4
"""[rad] by which drives are away from their targets at the start."""


class SprungChain:
    """Four bodies of 1 to 30 kg on a post, some on springs, some on driven hinges."""

    def __init__(self, seed: int) -> None:
        rng, scenery = np.random.default_rng(seed), Jointed()
        self.springs: list[tuple[int, int, float]] = []
        """Nodes of the ends, stiffness [N/m]."""
        self.drives: list[tuple[int, int, float]] = []
        """Nodes of the frames, stiffness [N m/rad]."""
        last, place = scenery.node("Post"), np.zeros(3)
        for number in range(4):
            near, far = rng.uniform(-0.4, 0.4, (2, 3))
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
            mass = float(rng.choice([1.0, 3.0, 30.0]))
            is_spring = bool(rng.integers(2)) and number > 0
            gap = rng.normal(size=3) if is_spring else np.zeros(3)
            if is_spring:
                gap *= STRETCH / np.linalg.norm(gap)
            place = place + near + gap - far
            moments = mass * rng.uniform(1e-3, 1e-2, 3)
            motion = {"mass": mass, "inertiaDiagonal": moments.tolist()}
            body = scenery.node("Body", at=place.tolist(), motion=motion)
            own = scenery.attachment(body, far.tolist(), turn.tolist())
            other = scenery.attachment(last, near.tolist(), turn.tolist())
            hinge = {"angularAxes": [1, 2], "min": 0, "max": 0}
            if is_spring:
                stiffness = float(rng.choice([1e3, 1e4, 1e5]))
                soft = {"linearAxes": [0, 1, 2], "min": 0, "max": 0, "stiffness": stiffness}
                scenery.join(own, other, limits=[soft, hinge])
                self.springs.append((own, other, stiffness))
            else:
                stiffness = float(rng.choice([100.0, 1e3, 1e4]))
                drive = {
                    "type": "angular", "axis": 0, "mode": "force", "damping": 0.0,
                    "positionTarget": TURN, "stiffness": stiffness,
                }  # fmt: skip
                held = {"linearAxes": [0, 1, 2], "min": 0, "max": 0}
                scenery.join(own, other, limits=[held, hinge], drives=[drive])
                self.drives.append((own, other, stiffness))
            last = body
        self.source = scenery.bytes()

    def energy(self, scene: gb.Scene) -> float:
        """Of motion, springs and drives [J]."""
        total = ledger(scene).energy
        for own, other, stiffness in self.springs:
            gap = scene.world_from_node(own)[:3, 3] - scene.world_from_node(other)[:3, 3]
            total += 0.5 * stiffness * float(gap @ gap)
        for own, other, stiffness in self.drives:
            turned = scene.world_from_node(own)[:3, :3].T @ scene.world_from_node(other)[:3, :3]
            angle = math.atan2(turned[2, 1], turned[1, 1])
            total += 0.5 * stiffness * (angle - TURN) ** 2
        return total


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("rate", [60.0, 120.0, 240.0])
def test_springs_and_drives_make_no_energy(rate: float, seeds: range, figure: Figure) -> None:
    """30 times its start came from nothing: mean velocities without what the springs do."""
    worst = 0.0
    for seed in seeds:
        chain = SprungChain(seed)
        with world(chain.source, rate=rate, gravity=0.0) as scene:
            start = chain.energy(scene)
            for _ in range(int(SECONDS * rate)):
                scene.step()
                worst = max(worst, chain.energy(scene) / start)
    figure(f"energy of chains on springs at {rate:g} Hz", worst, most=2.0, unit="of the start")
