"""300 scenes in one world: each costs what one costs, and removal touches nobody else."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pybullet
import pytest

import gltf_bullet as gb

pytestmark = pytest.mark.soak

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
FEW, MANY = 40, 300


def costs(asset: gb.Asset, count: int, steps: int) -> tuple[float, float, float]:
    """Processor time [s] of loading, stepping and removing ``count`` scenes."""
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
        begin = time.process_time()
        scenes = [
            asset.instantiate(client, position=(20.0 * (k % 20), 20.0 * (k // 20), 0.0))
            for k in range(count)
        ]
        loaded = time.process_time()
        for _ in range(steps):
            for scene in scenes:
                scene.before_step()
            pybullet.stepSimulation(client)
            for scene in scenes:
                scene.after_step()
        stepped = time.process_time()
        for scene in scenes:
            scene.remove()
        removed = time.process_time()
        assert pybullet.getNumBodies(client) == 0
        return loaded - begin, stepped - loaded, removed - stepped
    finally:
        pybullet.disconnect(client)


@pytest.mark.parametrize("name", ["falling_box", "cart_pole"])
def test_a_scene_among_300_costs_what_one_among_40_does(name: str) -> None:
    asset = gb.read_asset(ASSETS / f"{name}.gltf")
    costs(asset, 2, 2)
    few, many = costs(asset, FEW, 20), costs(asset, MANY, 20)
    ratios = [b / MANY / max(a / FEW, 1e-5) for a, b in zip(few, many, strict=True)]
    print(f"{name}: load, 20 steps, removal of {MANY}: {many}; per scene against {FEW}: {ratios}")
    assert max(ratios) < 3.0


def bodies(client: int) -> dict[int, Any]:
    ids = [
        pybullet.getBodyUniqueId(k, physicsClientId=client)
        for k in range(pybullet.getNumBodies(client))
    ]
    return {
        body: (
            pybullet.getBasePositionAndOrientation(body, client),
            pybullet.getBaseVelocity(body, client),
        )
        for body in ids
    }


def test_removing_one_scene_leaves_all_others_as_they_are() -> None:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        asset = gb.read_asset(ASSETS / "falling_box.gltf")
        scenes = [asset.instantiate(client, position=(20.0 * k, 0.0, 0.0)) for k in range(20)]
        for _ in range(30):
            for scene in scenes:
                scene.before_step()
            pybullet.stepSimulation(client)
            for scene in scenes:
                scene.after_step()
        before = bodies(client)
        scenes[7].remove()
        after = bodies(client)
        assert len(after) < len(before)
        assert all(after[body] == before[body] for body in after)
    finally:
        pybullet.disconnect(client)
