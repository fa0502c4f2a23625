"""Long runs: random drives, impulses and resets; memory and time per step stay flat, all finite.

``GLTF_BULLET_SOAK_STEPS=200000`` makes 2 000 000 steps of the ten runs together.
"""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.trust.test_memory import resident_kb

pytestmark = pytest.mark.soak

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
SCENES = ("cart_pole", "falling_box", "six_axis_arm", "vehicle", "ragdoll")
STEPS = int(os.environ.get("GLTF_BULLET_SOAK_STEPS", "4000"))
PARTS = 8


def disturb(scene: gb.Scene, rng: np.random.Generator) -> None:
    """Something that a program may do between two steps."""
    choice = rng.random()
    nodes = list(scene.bodies)
    if choice < 0.5 and nodes:
        node = nodes[int(rng.integers(len(nodes)))]
        if 0.0 < scene.bodies[node].mass < 1e6:
            impulse = 0.2 * scene.bodies[node].mass * rng.normal(size=3)
            scene.apply_impulse(node, impulse.tolist(), (0.0, 0.0, 0.0))
    elif choice < 0.98:
        for joint in scene.joints.values():
            for drive in joint.drives:
                scene.set(f"{drive.pointer}/positionTarget", float(rng.uniform(-0.5, 0.5)))
    else:
        scene.reset()


@pytest.mark.parametrize("rate", [60, 240])
@pytest.mark.parametrize("name", SCENES)
def test_a_long_run_stays_finite_and_flat(name: str, rate: int) -> None:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
        pybullet.setTimeStep(1.0 / rate, physicsClientId=client)
        floor = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client)
        pybullet.createMultiBody(0.0, floor, basePosition=[0, 0, -5], physicsClientId=client)
        scene = gb.load_gltf(ASSETS / f"{name}.gltf", client)
        rng = np.random.default_rng(rate)
        seconds, memory = [], []
        done = 0
        for _ in range(PARTS):
            begin, first = time.process_time(), done
            while done - first < STEPS // PARTS:
                count = min(20, STEPS // PARTS - (done - first))
                scene.step(count)
                done += count
                disturb(scene, rng)
                # What flies away for good is put back: a plane does not end, an impulse goes on.
                if not np.abs(scene.node_matrices[:, :3, 3]).max() < 1e3:
                    assert np.isfinite(scene.node_matrices).all()
                    scene.reset()
            seconds.append((time.process_time() - begin) / (done - first))
            gc.collect()
            memory.append(resident_kb())
            assert np.isfinite(scene.node_matrices).all()
        grown = memory[-1] - memory[PARTS // 2]
        slower = min(seconds[PARTS // 2 :]) / min(seconds[: PARTS // 2])
        print(
            f"{name} at {rate} Hz: {done} steps, {1e6 * np.median(seconds):.0f} us each, "
            f"second half {slower:.2f} times the first, {grown:.0f} KB more"
        )
        assert slower < 1.5
        assert grown < 2000.0
    finally:
        pybullet.disconnect(client)
