"""Files larger than the engine's limits for what comes from memory."""

from __future__ import annotations

import time

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"


def grid(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A square of ``count`` x ``count`` vertices at height 0, 20 m wide."""
    x, z = np.meshgrid(np.linspace(-10.0, 10.0, count), np.linspace(-10.0, 10.0, count))
    points = np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3)
    index = np.arange(count * count).reshape(count, count)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    triangles = np.concatenate(
        [np.stack([a, b, c], axis=-1).reshape(-1, 3), np.stack([a, c, d], axis=-1).reshape(-1, 3)]
    )
    return points, triangles


def ground(points: np.ndarray, triangles: np.ndarray | None) -> bytes:
    builder = GltfBuilder()
    mesh = builder.mesh(points, triangles)
    collider = {"collider": {"geometry": {"mesh": mesh}}}
    builder.node("ground", mesh=mesh, extensions={KHR: collider})
    return builder.glb()


def carries(client: int) -> float:
    """The height of a ball of radius 0.2 m that fell on the ground far from the middle."""
    ball = pybullet.createMultiBody(
        1.0,
        pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.2, physicsClientId=client),
        basePosition=[8.0, 8.0, 0.5],
        physicsClientId=client,
    )
    for _ in range(240):
        pybullet.stepSimulation(client)
    return float(pybullet.getBasePositionAndOrientation(ball, client)[0][2])


def test_a_static_mesh_beyond_the_limit_collides_all_over(client: int) -> None:
    points, triangles = grid(320)
    assert triangles.size > 524288
    begin = time.process_time()
    scene = gb.load_gltf(ground(points, triangles), client)
    assert time.process_time() - begin < 20.0
    assert carries(client) == pytest.approx(0.2, abs=0.01)
    hit = scene.ray_cast((-9.0, 9.0, 1.0), (-9.0, 9.0, -1.0))
    assert hit is not None
    assert hit.node == 0
    scene.remove()


@pytest.mark.slow
def test_a_million_vertices_without_indices_load(client: int) -> None:
    points, triangles = grid(409)
    begin = time.process_time()
    scene = gb.load_gltf(ground(points[triangles].reshape(-1, 3), None), client)
    assert time.process_time() - begin < 40.0
    assert "VISUAL_REDUCED" in [issue.code for issue in scene.issues]
    assert carries(client) == pytest.approx(0.2, abs=0.01)
