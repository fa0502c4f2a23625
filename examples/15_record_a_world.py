"""Plain PyBullet code, recorded: dominoes fall, and any glTF viewer plays it back.

python examples/15_record_a_world.py
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pybullet
import pybullet_data

import gltf_bullet as gb

OUT = Path(tempfile.mkdtemp(prefix="dominoes_")) / "dominoes.glb"
COUNT = 24


def dominoes(client: int) -> list[int]:
    """Half a circle of tiles on a floor; nothing here knows glTF."""
    pybullet.setAdditionalSearchPath(pybullet_data.getDataPath(), physicsClientId=client)
    pybullet.loadURDF("plane.urdf", physicsClientId=client)
    half = [0.01, 0.03, 0.06]
    tile = pybullet.createCollisionShape(pybullet.GEOM_BOX, -1, half, physicsClientId=client)
    tiles = []
    for k in range(COUNT):
        angle = math.pi * k / COUNT
        look = pybullet.createVisualShape(
            pybullet.GEOM_BOX, halfExtents=half, rgbaColor=[1 - k / COUNT, 0.4, k / COUNT, 1],
            physicsClientId=client,
        )  # fmt: skip
        place = [0.5 * math.cos(angle), 0.5 * math.sin(angle), half[2]]
        turn = pybullet.getQuaternionFromEuler([0, 0, angle + math.pi / 2])
        tiles.append(
            pybullet.createMultiBody(0.05, tile, look, place, turn, physicsClientId=client)
        )
    return tiles


def main(headless: bool = False) -> SimpleNamespace:
    """Push the first tile; three seconds later all have fallen."""
    client = pybullet.connect(pybullet.DIRECT if headless else pybullet.GUI)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    tiles = dominoes(client)
    pybullet.resetBaseVelocity(tiles[0], [0, 0.6, 0], [-6, 0, 0], physicsClientId=client)
    recording = gb.record_world(client, tolerance=1e-3)  # [m] keys only where they are needed
    for _ in range(720):
        pybullet.stepSimulation(physicsClientId=client)
        recording.after_step()
    recording.export_glb(OUT)
    print(
        f"{recording.frame_count} frames of {COUNT} tiles: {OUT.stat().st_size // 1000} kB, {OUT}"
    )
    return SimpleNamespace(client_id=client, tiles=tiles)


def check(world: SimpleNamespace) -> None:
    """All tiles lie, in the world and at the end of the animation; a check for errors is clean."""
    for tile in world.tiles:
        assert pybullet.getBasePositionAndOrientation(tile, world.client_id)[0][2] < 0.05
    assert gb.check(OUT).is_usable
    assert gb.read_asset(OUT).animations[0].duration > 2.9


if __name__ == "__main__":
    check(main(headless=not gb.has_display()))
