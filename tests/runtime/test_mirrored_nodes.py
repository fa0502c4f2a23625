"""Mirrored nodes are read, written and recorded with the signs of scale that the file has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from tests.physics.scenes import Scenery, world

MIRRORS = [(1, -1, 1), (1, 1, -2), (-1, -1, 1), (-1, -2, -1), (-1, 1, 1)]
TURN = (0.5, 0.1, 0.7, 0.5)
NODE = 0


def mirrored(scale: tuple[float, ...], below: tuple[float, ...] = (1, 1, 1)) -> bytes:
    """A spinning body (0) of uneven moments; (1) holds it, mirrored by ``below``."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.2, 0.4, 0.8])
    scenery.node(
        "Body", at=(1, 2, 3), rotation=TURN, scale=scale, shape=box,
        motion={"mass": 2.0, "linearVelocity": [1, 2, 3], "angularVelocity": [3, -1, 2]},
    )  # fmt: skip
    scenery.node("Above", scale=below, children=[NODE])
    return scenery.bytes()


@pytest.mark.parametrize("scale", MIRRORS)
def test_transforms_read_as_authored(scale: tuple[float, ...]) -> None:
    turn = np.array(TURN) / np.linalg.norm(TURN)
    with world(mirrored(scale)) as scene:
        np.testing.assert_allclose(scene.get("/nodes/0/scale"), scale, atol=1e-12)
        assert abs(scene.get("/nodes/0/rotation") @ turn) == pytest.approx(1.0)
        np.testing.assert_allclose(scene.nodes[NODE].scale, scale, atol=1e-12)
        assert abs(scene.nodes[NODE].rotation @ turn) == pytest.approx(1.0)
        before = scene.world_from_node(NODE)
        scene.set("/nodes/0/rotation", list(TURN))
        scene.set("/nodes/0/scale", list(scale))
        np.testing.assert_allclose(scene.world_from_node(NODE), before, atol=1e-6)


@pytest.mark.parametrize("below", [(1, 1, 1), (1, -1, 1)])
@pytest.mark.parametrize("scale", MIRRORS)
def test_an_exported_scene_goes_on_as_it_was(
    scale: tuple[float, ...], below: tuple[float, ...], tmp_path: Path
) -> None:
    path = tmp_path / "now.glb"
    with world(mirrored(scale, below)) as scene:
        scene.step(30)
        scene.export_glb(path)
        was = (scene.node_matrices.copy(), *velocities(scene))
    with world(str(path)) as scene:
        for now, then in zip((scene.node_matrices, *velocities(scene)), was, strict=True):
            np.testing.assert_allclose(now, then, atol=1e-5)


@pytest.mark.parametrize("scale", MIRRORS)
def test_a_recording_plays_what_was_seen(scale: tuple[float, ...], tmp_path: Path) -> None:
    path = tmp_path / "rollout.glb"
    with world(mirrored(scale)) as scene:
        recording = gb.record(scene, fps=240.0)
        scene.step(30)
        seen = scene.node_matrices.copy()
        recording.export_glb(path)
    with world(str(path)) as scene:
        scene.animations[0].loop = False
        scene.step(30)
        np.testing.assert_allclose(scene.node_matrices, seen, atol=1e-3)


def velocities(scene: gb.Scene) -> tuple[np.ndarray, np.ndarray]:
    body = scene.bodies[NODE]
    return body.linear_velocity, body.angular_velocity
