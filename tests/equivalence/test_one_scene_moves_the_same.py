"""The scene that every dialect writes moves the same in each of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gltf_bullet as gb
from tests.equivalence.test_one_scene_in_every_dialect import (
    ANCHOR,
    BODY,
    BOX_NODE,
    CAPSULE_NODE,
    GROUND,
    HINGE,
    WRITTEN,
)
from tests.physics.scenes import world
from tools.gltf_builder import GltfBuilder

SLAB = [(x, y, z) for x in (-9, 9) for y in (-1, 0) for z in (-9, 9)]
FACES = [
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
]  # fmt: skip
PLACES = {
    BODY: (0, 6, 0), BOX_NODE: (0.5, 0, 0), CAPSULE_NODE: (-1, 0.5, 0),
    HINGE: (0, 2, 1), ANCHOR: (0, 8, 1), GROUND: (0, 0, 0),
}  # fmt: skip


def written(dialect: str) -> bytes:
    builder = GltfBuilder()
    builder.mesh(SLAB, FACES)
    root = json.loads(builder.gltf())
    extensions, roots = WRITTEN[dialect]
    nodes: list[dict[str, object]] = [{} for _ in range(7)]
    for node, place in PLACES.items():
        nodes[node]["translation"] = list(place)
    nodes[BODY]["children"] = [BOX_NODE, CAPSULE_NODE, HINGE]
    nodes[GROUND]["mesh"] = 0
    for node, extension in extensions.items():
        nodes[node]["extensions"] = extension
    root["nodes"], root["extensions"] = nodes, roots
    root.pop("scenes", None)
    root.pop("scene", None)
    return json.dumps(root).encode()


def trajectory(dialect: str) -> np.ndarray:
    with world(written(dialect), options=gb.LoadOptions(visuals="none")) as scene:
        frames = []
        for _ in range(240):
            scene.step()
            frames.append(scene.node_matrices.copy())
    return np.array(frames)


@pytest.mark.parametrize("dialect", list(WRITTEN)[1:])
def test_a_dialect_moves_as_the_newest_one(dialect: str) -> None:
    newest = trajectory(next(iter(WRITTEN)))
    assert np.ptp(newest[:, BODY, :3, 3], axis=0).max() > 0.1, "nothing moved"
    assert np.allclose(trajectory(dialect), newest, atol=1e-9)
